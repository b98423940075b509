"""Parquet and Arrow files and folders of them, as tables in pieces."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from os import PathLike, fspath
from pathlib import Path
from typing import Any

from depmax._extras import require
from depmax._files import DamagedFileError, naming, validated
from depmax._limits import max_memory, require_memory, table_bytes
from depmax.data.pieces import Chunk, LocalPieces, has_numbers, rows_of_piece, split_target
from depmax.data.sources import RowGroup

#: Bytes that row groups may take which threads read at the same time; at least one is read.
READING_BYTES = 2**29
#: Bytes that Arrow holds of every column of a long row group of which it decodes some rows at a
#: time: a dictionary and a page, of a megabyte each as most files have them.
COLUMN_BYTES = 11 * 2**18
#: Bytes of a column up to which it takes less memory, and less time, to decode the whole of it, ...
WHOLE_BYTES = 2**21
#: ... and those of all columns.
GROUP_BYTES = 2**28
#: Endings of the files that are read, and pyarrow's names of their formats.
FORMATS = {
    ".parquet": "parquet",
    ".pq": "parquet",
    ".arrow": "ipc",
    ".ipc": "ipc",
    ".feather": "ipc",
}
#: Rows that are read at a time where cells are of Arrow's types of text: a file of two kilobytes
#: can repeat one long text a million times.
TEXT_ROWS, TEXT = 4096, ("string", "large_string", "string_view")


class ChangedFileError(RuntimeError):
    """A file was written while its rows were being visited: the sums would mix old and new rows."""


@dataclass(frozen=True)
class TableFile:
    """One file of a table, as it was when the table was opened."""

    path: Path
    fragment: Any  # of a pyarrow dataset; its rows in row groups
    size: int
    changed_at: int  # nanoseconds

    @classmethod
    def of(cls, path: Path, fragment: Any) -> TableFile:
        """The file as it is now."""
        status = path.stat()
        return cls(path, fragment, status.st_size, status.st_mtime_ns)

    def require_unchanged(self) -> None:
        """Refuse a file that is not the one that was opened."""
        try:
            status = self.path.stat()
        except FileNotFoundError:
            raise FileNotFoundError(
                f"{self.path} has been removed since the table was opened: put it back, or call "
                "depmax.scan again on the remaining files."
            ) from None
        if (status.st_size, status.st_mtime_ns) != (self.size, self.changed_at):
            raise ChangedFileError(
                f"{self.path} has changed since the table was opened. Sums over several visits "
                "would mix old and new rows: call depmax.scan again once nothing is writing to it."
            )

    @cached_property
    def has_untyped(self) -> bool:
        """Whether a column has no value, and the type "null" for that."""
        import pyarrow as pa

        return any(pa.types.is_null(column.type) for column in self.fragment.schema)


@dataclass(frozen=True)
class FilePieces(LocalPieces):
    """Row groups of one or several files of one table."""

    files: tuple[TableFile, ...] = field(default=())


@dataclass(frozen=True)
class _Table:
    """The files of a table and what is read of them."""

    files: tuple[TableFile, ...]
    schema: Any
    target: str | Sequence[str] | None
    names: tuple[str, ...]  # of the columns of X
    rows_per_chunk: int | None

    @cached_property
    def pieces(self) -> list[tuple[TableFile, Any, int]]:
        """File, row group and number of rows of every piece."""
        found = []
        for file in self.files:
            with naming(file.path):
                groups = file.fragment.split_by_row_group() if _has_groups(file) else None
                if groups is None:
                    found.append((file, file.fragment, int(file.fragment.count_rows())))
                    continue
                for group in groups:  # count_rows would count those of the whole file
                    found.append((file, group, sum(one.num_rows for one in group.row_groups)))
        return found

    @cached_property
    def readers(self) -> int:
        """Row groups that may be read at the same time."""
        width = len(self.names) + len(_as_list(self.target))
        most = max((rows for file, _, rows in self.pieces if _has_groups(file)), default=0)
        held = 8 * most * width
        return max(1, READING_BYTES // max(1, min(held, COLUMN_BYTES * width)))

    def read(self, number: int, columns: Sequence[str] | None) -> Iterator[Chunk]:
        """Batches of a row group, of the columns that are asked for."""
        file, group, _ = self.pieces[number]
        file.require_unchanged()
        chosen = list(self.names if columns is None else columns)
        asked = [*chosen, *_as_list(self.target)]
        with naming(file.path):
            for batch in self._batches(file, group, asked, self._n_rows_at_once(chosen)):
                yield self._chunk(file, batch, len(chosen))
        file.require_unchanged()

    def read_matrices(
        self, number: int, columns: Sequence[str] | None, *, partly: bool = False
    ) -> Iterator[Chunk]:
        """The same with matrices of all inputs, where columns of numbers are short enough.

        ``partly`` says that the first rows may be enough.
        """
        file, group, n_rows = self.pieces[number]
        if columns is not None or not self._has_short_numbers(file, n_rows):
            yield from self.read(number, columns)
            return
        file.require_unchanged()
        targets, size = _as_list(self.target), self._n_rows_at_once(self.names)
        with naming(file.path):
            answers = self._batches(file, group, targets, size) if targets else None
            for x in _row_group(file, group).matrices(self.names, size, partly=partly):
                if answers is None:
                    yield Chunk(x)
                    continue
                batch = next(answers, None)
                if batch is None or batch.num_rows != len(x):
                    raise DamagedFileError(f"{file.path} is damaged: its columns differ in length.")
                yield Chunk(x, self._chunk(file, batch, 0).y)
        file.require_unchanged()

    def _n_rows_at_once(self, chosen: Sequence[str]) -> int:
        """Rows of a chunk."""
        size = self.rows_per_chunk or rows_of_piece(len(chosen))
        asked = (*chosen, *_as_list(self.target))
        has_text = any(str(self.schema.field(name).type) in TEXT for name in asked)
        return min(size, TEXT_ROWS) if has_text else size

    def _has_short_numbers(self, file: TableFile, n_rows: int) -> bool:
        """Whether the inputs are numbers, and so few rows that each is decoded as a whole."""
        is_short = 8 * n_rows <= min(WHOLE_BYTES, GROUP_BYTES // max(1, len(self.names)))
        if n_rows <= 0 or not (is_short and self._has_own_columns(file)) or file.has_untyped:
            return False
        return has_numbers(self._schema_of_inputs)

    @cached_property
    def _schema_of_inputs(self) -> Any:
        import pyarrow as pa

        return pa.schema([self.schema.field(name) for name in self.names])

    def _has_own_columns(self, file: TableFile) -> bool:
        """Whether a Parquet file holds all columns, and names of folders none."""
        fragment = file.fragment
        return _has_groups(file) and fragment.schema.names == fragment.physical_schema.names

    def _chunk(self, file: TableFile, batch: Any, n_inputs: int) -> Chunk:
        """The first columns of a batch as X, the others as y; nothing is copied."""
        import pyarrow as pa

        table = pa.Table.from_batches([validated(batch, file.path)])
        if file.has_untyped:
            table = _with_types(table, self.schema)
        x = table.select(range(n_inputs)) if n_inputs else None
        if self.target is None:
            return Chunk(x)
        if isinstance(self.target, str):
            return Chunk(x, table.column(n_inputs))
        return Chunk(x, table.select(range(n_inputs, table.num_columns)))

    def _batches(self, file: TableFile, group: Any, columns: list[str], size: int) -> Iterator[Any]:
        """Batches of some rows each; of Parquet no more than these are decoded at a time."""
        if self._has_own_columns(file):
            # row groups are decoded in threads of ours, columns of a single one in Arrow's
            threads = min(self.readers, len(self.pieces)) == 1
            yield from _row_group(file, group).batches(columns, size, threads=threads)
            return
        # other formats, and columns that the names of folders hold: all of a row group at a time
        n_rows = int(group.count_rows())
        require_memory(
            table_bytes(n_rows, len(columns)), max_memory(), str(file.path), f"{n_rows} rows"
        )
        yield from group.scanner(
            schema=self.schema,
            columns=columns,
            batch_size=size,
            batch_readahead=0,
            fragment_readahead=0,
            use_threads=False,
        ).to_batches()


def open_files(
    paths: Sequence[str | PathLike[str]],
    target: str | Sequence[str] | None,
    columns: Sequence[str] | None,
    rows_per_chunk: int | None,
) -> FilePieces:
    """A table of Parquet or Arrow files, or of folders of them; every file is looked at once."""
    require("A table of files", "pyarrow", extra="distributed")
    import pyarrow as pa

    fragments = [found for path in paths for found in _fragments(Path(fspath(path)))]
    files = tuple(TableFile.of(path, fragment) for path, fragment in fragments)
    if not files:
        raise FileNotFoundError(
            f"There are no Parquet or Arrow files in {', '.join(map(str, paths))}: their names end "
            f"in {', '.join(FORMATS)}."
        )
    schema, known = _common_schema(files, columns, target)
    targets = _as_list(target)
    wanted = [name for name in (columns or known) if name not in targets]
    _require_known([*wanted, *targets], known, files[0].path)
    schema = pa.schema([schema.field(name) for name in [*wanted, *targets]])
    table = _Table(files, schema, target, tuple(wanted), rows_per_chunk)
    empty = split_target(schema.empty_table(), target)
    lengths = [rows for _, _, rows in table.pieces]
    return FilePieces(
        table.read,
        len(table.pieces),
        empty,
        lengths,
        read_matrices=table.read_matrices,
        readers=table.readers,
        files=files,
    )


def _fragments(path: Path) -> list[tuple[Path, Any]]:
    """The files of a folder, in the order of their names, or one file."""
    import pyarrow.dataset as ds

    if not path.exists():
        raise FileNotFoundError(f"{path} does not exist.")
    if path.is_file():
        names = [path]
    else:
        names = sorted(
            file
            for file in path.rglob("*")
            if file.suffix.lower() in FORMATS
            and not file.is_dir()
            and not any(part.startswith(("_", ".")) for part in file.relative_to(path).parts)
        )
    found = []
    for name in names:
        if name.suffix.lower() not in FORMATS:
            raise ValueError(
                f"{name} is not a file that can be read a part at a time: its name should end in "
                f"{', '.join(FORMATS)}. depmax.cli reads other formats as a whole."
            )
        with naming(name):
            options: dict[str, Any] = {"format": FORMATS[name.suffix.lower()]}
            if path.is_dir():
                options |= {"partitioning": "hive", "partition_base_dir": str(path)}
            dataset = ds.dataset([str(name)], **options)
            found += [
                (name, _Fragment(part, dataset.schema, ds.get_partition_keys))
                for part in dataset.get_fragments()
            ]
    return found


class _Fragment:
    """A fragment of a dataset, with the columns that the names of folders add."""

    def __init__(self, fragment: Any, schema: Any, keys_of: Callable[[Any], Any]) -> None:
        self.fragment, self.schema = fragment, schema
        self.keys = dict(keys_of(fragment.partition_expression))
        self.names = list(schema.names)  # fails here where one is not text

    def __getattr__(self, name: str) -> Any:
        return getattr(self.fragment, name)


def _row_group(file: TableFile, group: Any) -> RowGroup:
    (one,) = group.row_groups
    return RowGroup(file.path, file.fragment.metadata, one.id, one.num_rows)


def _has_groups(file: TableFile) -> bool:
    return hasattr(file.fragment.fragment, "split_by_row_group")


def _common_schema(
    files: Sequence[TableFile],
    columns: Sequence[str] | None,
    target: str | Sequence[str] | None,
) -> tuple[Any, list[str]]:
    """One type per column; a column that has another type, or is missing, in a file is named.

    A column without a value in some files, which writers give the type "null", has that of the
    others.
    """
    import pyarrow as pa

    first, names = files[0], files[0].fragment.names
    typed = dict.fromkeys(names, first)  # the first file in which the column has a type
    chosen = set(names if columns is None else columns) | set(_as_list(target))
    for file in files[1:]:
        schema = file.fragment.schema
        for name in names:
            if name not in chosen:
                continue
            if name not in schema.names:
                raise ValueError(f"{file.path} lacks the column {name!r} that {first.path} has.")
            here, there = schema.field(name).type, typed[name].fragment.schema.field(name).type
            if pa.types.is_null(there):
                typed[name] = file
            elif here != there and not pa.types.is_null(here):
                raise TypeError(
                    f"Column {name!r} holds {there} values in {typed[name].path} but {here} values "
                    f"in {file.path}: write it with one type in all files."
                )
        more = [name for name in schema.names if name not in names]
        if more and columns is None:
            raise ValueError(
                f"{file.path} has a column {more[0]!r} that {first.path} lacks: write the same "
                "columns to all files, or pass columns= of depmax.scan with those that all have."
            )
    return pa.schema([file.fragment.schema.field(name) for name, file in typed.items()]), names


def _with_types(table: Any, schema: Any) -> Any:
    """The same with columns of the type "null" in that of the other files."""
    import pyarrow as pa

    for place, column in enumerate(table.schema):
        if pa.types.is_null(column.type):
            cells = pa.nulls(table.num_rows, schema.field(column.name).type)
            table = table.set_column(place, column.name, cells)
    return table


def _require_known(wanted: Sequence[str], known: Sequence[str], path: Path) -> None:
    for name in wanted:
        if name not in known:
            raise ValueError(
                f"{path} has no column named {name!r}: its columns are {', '.join(known)}."
            )


def _as_list(target: str | Sequence[str] | None) -> list[str]:
    return [] if target is None else [target] if isinstance(target, str) else list(target)
