"""Parquet and Arrow files and folders of them, as tables in pieces."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from os import PathLike, fspath
from pathlib import Path
from typing import Any

from depmax._extras import require
from depmax._files import validated
from depmax._limits import max_memory, require_memory, table_bytes
from depmax.samples.pieces import Chunk, LocalPieces, rows_of_piece, split_target

#: Bytes of each column that are read from a Parquet file at a time.
PAGE_BYTES = 2**16
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
            with _Naming(file.path):
                groups = file.fragment.split_by_row_group() if _has_groups(file) else None
                if groups is None:
                    found.append((file, file.fragment, int(file.fragment.count_rows())))
                    continue
                for group in groups:  # count_rows would count those of the whole file
                    found.append((file, group, sum(one.num_rows for one in group.row_groups)))
        return found

    def read(self, number: int, columns: Sequence[str] | None) -> Iterator[Chunk]:
        """Batches of a row group, of the columns that are asked for."""
        file, group, _ = self.pieces[number]
        file.require_unchanged()
        chosen = list(self.names if columns is None else columns)
        targets = _as_list(self.target)
        size = self.rows_per_chunk or rows_of_piece(len(chosen))
        if any(str(self.schema.field(name).type) in TEXT for name in (*chosen, *targets)):
            size = min(size, TEXT_ROWS)
        with _Naming(file.path):
            for batch in self._batches(file, group, [*chosen, *targets], size):
                yield self._chunk(validated(batch, file.path), len(chosen))
        file.require_unchanged()

    def _chunk(self, batch: Any, n_inputs: int) -> Chunk:
        """The first columns of a batch as X, the others as y; nothing is copied."""
        import pyarrow as pa

        table = _with_types(pa.Table.from_batches([batch]), self.schema)
        x = table.select(range(n_inputs)) if n_inputs else None
        if self.target is None:
            return Chunk(x)
        if isinstance(self.target, str):
            return Chunk(x, table.column(n_inputs))
        return Chunk(x, table.select(range(n_inputs, table.num_columns)))

    def _batches(self, file: TableFile, group: Any, columns: list[str], size: int) -> Iterator[Any]:
        """Batches of some rows each; of Parquet no more than these are decoded at a time."""
        if _has_groups(file) and file.fragment.schema.names == file.fragment.physical_schema.names:
            import pyarrow.parquet as pq

            rows = pq.ParquetFile(
                file.path, metadata=file.fragment.metadata, buffer_size=PAGE_BYTES, pre_buffer=False
            )
            numbers = [one.id for one in group.row_groups]
            with rows:
                # row groups are decoded in threads of ours, columns of the only one in Arrow's
                alone = len(self.pieces) == 1
                for batch in rows.iter_batches(size, numbers, columns, use_threads=alone):
                    yield batch.select(columns)  # in this order
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
    return FilePieces(table.read, len(table.pieces), empty, lengths, files=files)


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
        with _Naming(name):
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


class _Naming:
    """Errors of pyarrow with the name of the file."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def __enter__(self) -> None:
        return None

    def __exit__(self, kind: Any, error: Any, trace: Any) -> None:
        if error is None or isinstance(error, GeneratorExit | ChangedFileError):
            return
        import pyarrow as pa

        if isinstance(error, FileNotFoundError):
            raise FileNotFoundError(f"{self.path} is missing: {error}") from error
        if isinstance(error, UnicodeDecodeError):
            raise ValueError(f"{self.path} holds text that is not valid UTF-8.") from error
        if isinstance(error, OSError | pa.ArrowException):
            raise ValueError(
                f"{self.path} cannot be read: {str(error).rstrip('.')}. It is damaged or "
                "incomplete; write it again, or remove it."
            ) from error
