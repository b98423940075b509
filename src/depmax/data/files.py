"""Parquet and Arrow files and folders of them, read a chunk at a time."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from os import PathLike, fspath
from pathlib import Path
from typing import Any

import numpy as np

from depmax._extras import require
from depmax._files import DamagedFileError, naming, stamp, validated
from depmax._resources import cached_property, max_memory, require_memory, table_bytes
from depmax.data.chunks import (
    Chunk,
    LocalScan,
    Matrices,
    Names,
    require_columns,
    rows_of_piece,
    split_target,
)
from depmax.data.columns import has_numbers

#: Bytes of each column that are read from a Parquet file at a time.
PAGE_BYTES = 2**16
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
    """One file of a table, as it was when the table was opened: row groups of Parquet, or Arrow."""

    path: Path
    schema: Any  # with the columns that the names of folders add
    keys: Mapping[str, Any]  # values of these columns
    lengths: tuple[int, ...]  # rows of each row group; an Arrow file is one
    metadata: Any  # of a Parquet file; None for Arrow
    stamp: tuple[int, ...]

    @classmethod
    def opened(cls, path: Path, folder: Path | None) -> TableFile:
        """The file as it is now, in a folder whose folders may name values."""
        import pyarrow.dataset as ds

        if path.suffix.lower() not in FORMATS:
            raise ValueError(
                f"{path} is not a file that can be read a part at a time: its name should end in "
                f"{', '.join(FORMATS)}. depmax.cli reads other formats as a whole."
            )
        options: dict[str, Any] = {"format": FORMATS[path.suffix.lower()]}
        if folder is not None:
            options |= {"partitioning": "hive", "partition_base_dir": str(folder)}
        with naming(path):
            dataset = ds.dataset([str(path)], **options)
            (fragment,) = dataset.get_fragments()
            dataset.schema.names  # noqa: B018  # fails here where one is not text
            metadata = getattr(fragment, "metadata", None)
            if metadata is None:
                lengths = [int(fragment.count_rows())]
            else:
                groups = range(metadata.num_row_groups)
                lengths = [metadata.row_group(group).num_rows for group in groups]
            keys = dict(ds.get_partition_keys(fragment.partition_expression))
        return cls(path, dataset.schema, keys, tuple(lengths), metadata, stamp(path))

    def require_unchanged(self) -> None:
        """Refuse a file that is not the one that was opened."""
        try:
            found = stamp(self.path)
        except FileNotFoundError:
            raise FileNotFoundError(
                f"{self.path} has been removed since the table was opened: put it back, or call "
                "depmax.scan again on the remaining files."
            ) from None
        if found != self.stamp:
            raise ChangedFileError(
                f"{self.path} has changed since the table was opened. Sums over several visits "
                "would mix old and new rows: call depmax.scan again once nothing is writing to it."
            )

    @cached_property
    def _untyped(self) -> frozenset[str]:
        """Columns without any value, which writers give the type "null"."""
        import pyarrow as pa

        return frozenset(one.name for one in self.schema if pa.types.is_null(one.type))

    def is_plain(self) -> bool:
        """Whether a Parquet file holds all columns, each with a type."""
        return self.metadata is not None and not self.keys and not self._untyped

    def tables(self, group: int, schema: Any, size: int, *, threads: bool) -> Iterator[Any]:
        """Arrow tables of so many rows of a row group, with the columns of a schema."""
        import pyarrow as pa

        own = [name for name in self.schema.names if name not in self.keys]
        asked = [name for name in schema.names if name not in self.keys] or own[:1]
        batches = self._arrow_batches if self.metadata is None else self._parquet_batches
        for batch in batches(group, asked, size, threads):
            checked = validated(batch, self.path)
            if not self.keys and not self._untyped:
                yield pa.Table.from_batches([checked])
                continue
            columns = []
            for one in schema:
                if one.name in self.keys:
                    value = pa.scalar(self.keys[one.name], one.type)
                    columns.append(pa.repeat(value, checked.num_rows))
                elif one.name in self._untyped:
                    columns.append(pa.nulls(checked.num_rows, one.type))
                else:
                    columns.append(checked.column(one.name))
            yield pa.Table.from_arrays(columns, schema=schema)

    def _parquet_batches(
        self, group: int, names: list[str], size: int, threads: bool
    ) -> Iterator[Any]:
        """No more than so many rows are decoded, and a dictionary and a page of every column."""
        with self._parquet() as rows:
            for batch in rows.iter_batches(size, [group], names, use_threads=threads):
                yield batch.select(names)  # in this order

    def _arrow_batches(
        self, group: int, names: list[str], size: int, threads: bool
    ) -> Iterator[Any]:
        """These columns of one record batch are in memory at a time."""
        import pyarrow as pa

        n_rows = self.lengths[group]
        needed = table_bytes(n_rows, len(names))
        require_memory(needed, max_memory(), str(self.path), f"{n_rows} rows")
        places = [self.schema.get_field_index(name) for name in names]
        options = pa.ipc.IpcReadOptions(included_fields=places, use_threads=threads)
        with pa.OSFile(str(self.path)) as file, pa.ipc.open_file(file, options=options) as reader:
            for number in range(reader.num_record_batches):
                batch = reader.get_batch(number).select(names)
                for start in range(0, batch.num_rows, size):
                    yield batch.slice(start, size)

    def matrices(
        self, group: int, names: Sequence[str], size: int, *, partly: bool
    ) -> Iterator[np.ndarray]:
        """Matrices of so many rows, from columns of numbers each of which is decoded as a whole.

        With ``partly`` the first rows come before others are decoded, for whoever needs no others.
        """
        n_rows = self.lengths[group]
        n_full, n_first = n_rows // size, min(size, n_rows)
        if partly:
            first = np.empty((len(names), n_first))
            with self._parquet() as rows:
                for place, name in enumerate(names):
                    batch = next(rows.iter_batches(size, [group], [name], use_threads=False))
                    values = self.checked(batch, n_first).column(name)
                    first[place] = values.to_numpy(zero_copy_only=False)
            yield first.T
        full = np.empty((n_full, len(names), size))  # every matrix column after column
        rest = np.empty((len(names), n_rows - n_full * size))
        with self._parquet() as rows:
            for place, name in enumerate(names):
                column = rows.read_row_group(group, [name], use_threads=False)
                values = self.checked(column, n_rows).column(name).to_numpy()
                full[:, place] = values[: n_full * size].reshape(n_full, size)
                rest[place] = values[n_full * size :]
        for values in [*full, rest][1 if partly else 0 :]:
            if values.size:
                yield values.T

    def checked(self, table: Any, n_rows: int) -> Any:
        """A table or a batch whose buffers are sound, with the rows that it should have."""
        if table.num_rows != n_rows:
            raise DamagedFileError(f"{self.path} is damaged: its columns differ in length.")
        return validated(table, self.path)

    def _parquet(self) -> Any:
        import pyarrow.parquet as pq

        return pq.ParquetFile(
            self.path, metadata=self.metadata, buffer_size=PAGE_BYTES, pre_buffer=False
        )


@dataclass(frozen=True, eq=False, repr=False, kw_only=True)
class FileScan(LocalScan):
    """Row groups of one or several files of one table."""

    files: tuple[TableFile, ...]
    schema: Any  # of all columns that are read
    targets: tuple[str, ...]  # names of the columns that are the target
    names: tuple[str, ...]  # of the columns of X
    rows_per_chunk: int | None

    @classmethod
    def opened(
        cls,
        paths: Sequence[str | PathLike[str]],
        targets: tuple[str, ...],
        columns: Sequence[str] | None,
        rows_per_chunk: int | None,
    ) -> FileScan:
        """Parquet or Arrow files, or folders of them; every file is looked at once."""
        require("A table of files", "pyarrow", extra="distributed")
        import pyarrow as pa

        files = tuple(file for path in paths for file in _files(Path(fspath(path))))
        if not files:
            raise FileNotFoundError(
                f"There are no Parquet or Arrow files in {', '.join(map(str, paths))}: their names "
                f"end in {', '.join(FORMATS)}."
            )
        schema = _common_schema(files, columns, targets)
        names = [name for name in (columns or schema.names) if name not in targets]
        require_columns([*names, *targets], schema.names, str(files[0].path))
        schema = pa.schema([schema.field(name) for name in [*names, *targets]])
        return cls(
            empty=split_target(schema.empty_table(), targets),
            lengths=[length for file in files for length in file.lengths],
            files=files,
            schema=schema,
            targets=targets,
            names=tuple(names),
            rows_per_chunk=rows_per_chunk,
        )

    @cached_property
    def _pieces(self) -> list[tuple[TableFile, int]]:
        """File and row group of every piece."""
        return [(file, group) for file in self.files for group in range(len(file.lengths))]

    @cached_property
    def readers(self) -> int:
        """Row groups that may be read at the same time."""
        parquet = [file for file in self.files if file.metadata is not None]
        most = max((rows for file in parquet for rows in file.lengths), default=0)
        width = len(self.schema)
        return max(1, READING_BYTES // max(1, width * min(8 * most, COLUMN_BYTES)))

    def _read(self, number: int, columns: Names, matrices: Matrices = "none") -> Iterator[Chunk]:
        file, group = self._pieces[number]
        file.require_unchanged()
        chosen = self.names if columns is None else columns
        with naming(file.path):
            asked = [*chosen, *self.targets]
            if matrices == "none" or columns is not None or not self._is_short(file, group):
                for table in self._tables(file, group, asked, self._rows_at_once(asked)):
                    yield self._chunk(table, len(chosen))
            else:
                yield from self._matrices(file, group, partly=matrices == "partly")
        file.require_unchanged()

    def _tables(
        self, file: TableFile, group: int, names: Sequence[str], size: int
    ) -> Iterator[Any]:
        import pyarrow as pa

        # row groups are decoded in threads of ours, columns of a single one in Arrow's
        threads = min(self.readers, len(self._pieces)) == 1
        schema = pa.schema([self.schema.field(name) for name in names])
        return file.tables(group, schema, size, threads=threads)

    def _matrices(self, file: TableFile, group: int, *, partly: bool) -> Iterator[Chunk]:
        """Chunks with matrices of all inputs."""
        targets, size = self.targets, self._rows_at_once([*self.names, *self.targets])
        answers = self._tables(file, group, targets, size) if targets else None
        for x in file.matrices(group, self.names, size, partly=partly):
            if answers is None:
                yield Chunk(x)
            else:
                answer = next(answers, self.schema.empty_table())
                yield Chunk(x, self._chunk(file.checked(answer, len(x)), 0).y)

    def _chunk(self, table: Any, n_inputs: int) -> Chunk:
        """The first columns of a table as X, the others as y; nothing is copied."""
        x = table.select(range(n_inputs)) if n_inputs else None
        if len(self.targets) < 2:
            return Chunk(x, table.column(n_inputs) if self.targets else None)
        return Chunk(x, table.select(range(n_inputs, table.num_columns)))

    def _rows_at_once(self, names: Sequence[str]) -> int:
        """Rows of a chunk."""
        size = self.rows_per_chunk or rows_of_piece(len(names) - len(self.targets))
        has_text = any(str(self.schema.field(name).type) in TEXT for name in names)
        return min(size, TEXT_ROWS) if has_text else size

    def _is_short(self, file: TableFile, group: int) -> bool:
        """Whether the inputs are numbers, and so few rows that each is decoded as a whole."""
        import pyarrow as pa

        n_rows = file.lengths[group]
        is_short = 8 * n_rows <= min(WHOLE_BYTES, GROUP_BYTES // max(1, len(self.names)))
        if n_rows <= 0 or not is_short or not file.is_plain():
            return False
        return has_numbers(pa.schema([self.schema.field(name) for name in self.names]))


def _files(path: Path) -> Iterator[TableFile]:
    """One file, or those of a folder in the order of their names."""
    if not path.exists():
        raise FileNotFoundError(f"{path} does not exist.")
    if path.is_file():
        yield TableFile.opened(path, None)
        return
    for file in sorted(path.rglob("*")):
        hidden = any(part.startswith(("_", ".")) for part in file.relative_to(path).parts)
        if file.suffix.lower() in FORMATS and not file.is_dir() and not hidden:
            yield TableFile.opened(file, path)


def _common_schema(
    files: Sequence[TableFile], columns: Sequence[str] | None, targets: Sequence[str]
) -> Any:
    """One type per column; a column that has another type, or is missing, in a file is named.

    A column without a value in some files, which writers give the type "null", has that of the
    others.
    """
    import pyarrow as pa

    first, names = files[0], files[0].schema.names
    typed = dict.fromkeys(names, first)  # the first file in which the column has a type
    chosen = set(names if columns is None else columns) | set(targets)
    for file in files[1:]:
        schema = file.schema
        for name in names:
            if name not in chosen:
                continue
            if name not in schema.names:
                raise ValueError(f"{file.path} lacks the column {name!r} that {first.path} has.")
            here, there = schema.field(name).type, typed[name].schema.field(name).type
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
    return pa.schema([file.schema.field(name) for name, file in typed.items()])
