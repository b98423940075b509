"""NPZ: arrays of numpy by name."""

from __future__ import annotations

import lzma
import math
import struct
import sys
import tokenize
import zlib
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from functools import cached_property
from typing import IO, Any
from zipfile import BadZipFile, ZipFile, ZipInfo

import numpy as np
import polars as pl
from numpy.lib import format as npy

from depmax._limits import FileTooLargeError
from depmax.cli.errors import DataError
from depmax.cli.reading.source import Source, require_distinct

_NAMES = "feature_names"
#: Types of cells: booleans, numbers, text and dates.
_KINDS = "biufUSMm"
#: What damaged, encrypted or oddly compressed archives and headers raise.
_DAMAGE = (
    BadZipFile,
    EOFError,
    KeyError,
    NotImplementedError,
    OSError,
    OverflowError,
    RuntimeError,
    SyntaxError,
    TypeError,
    ValueError,
    lzma.LZMAError,
    struct.error,
    tokenize.TokenError,
    zlib.error,
)


@dataclass(frozen=True)
class _Header:
    """What the first bytes of an array tell: its shape and type, and the order of its cells."""

    shape: tuple[int, ...]
    fortran: bool
    dtype: np.dtype[Any]

    @classmethod
    def of(cls, stream: IO[bytes]) -> _Header:
        """Read it; the stream is then at the first cell."""
        version = npy.read_magic(stream)
        if version not in ((1, 0), (2, 0)):
            raise ValueError(f"its format version {version} is not known")
        read = npy.read_array_header_1_0 if version == (1, 0) else npy.read_array_header_2_0
        header = cls(*read(stream))
        if header.dtype.hasobject:
            raise ValueError("it holds Python objects, and loading them could run code")
        if header.dtype.kind not in _KINDS or header.dtype.itemsize == 0:
            raise ValueError(f"cells of type {header.dtype} are neither numbers nor text")
        return header

    @classmethod
    def of_member(cls, archive: ZipFile, member: ZipInfo) -> _Header:
        """That of an array in an archive, if it declares as many bytes as the archive holds."""
        with archive.open(member) as stream:
            header = cls.of(stream)
            declared = stream.tell() + header.n_bytes
        if declared != member.file_size:
            raise ValueError(
                f"the array {member.filename.removesuffix('.npy')!r} declares {declared} bytes and "
                f"has {member.file_size}"
            )
        return header

    @property
    def native(self) -> np.dtype[Any]:
        """The type with this machine's order of bytes."""
        return self.dtype.newbyteorder("=")

    @property
    def n_bytes(self) -> int:
        """Bytes of all cells, as the header declares."""
        return self.dtype.itemsize * math.prod(self.shape)

    @property
    def row_bytes(self) -> int:
        """Bytes of one row, where rows lie one after the other."""
        return self.dtype.itemsize * math.prod(self.shape[1:])


class Npz(Source):
    """A matrix X with columns x0, x1, … (or ``feature_names``), and other arrays by their names."""

    def default_targets(self) -> tuple[str, ...]:
        """The array y, by convention."""
        return tuple(name for name in self.schema() if name == "y")

    def n_rows(self) -> int | None:
        """Number of rows, from the headers of the arrays."""
        return next(iter(self._headers.values())).shape[0]

    def _read(self, columns: list[str]) -> pl.DataFrame:
        """All rows: the columns of each matrix, and each vector as a column."""
        headers = self._headers.values()
        n_bytes = sum(header.n_bytes for header in headers)
        self.require_room(self.n_rows() or 1, len(columns), n_bytes)
        (rows,) = self._batches(columns, self.n_rows() or 1)
        return rows

    def _batches(self, columns: list[str], size: int) -> Iterator[pl.DataFrame]:
        """Batches of ``size`` rows; a matrix whose columns lie one after the other is held whole.

        The cells are unpacked as they are needed, in a compressed archive too.
        """
        chosen = set(columns)
        requested = {
            name: [(j, column) for j, column in enumerate(labels) if column in chosen]
            for name, labels in self._columns.items()
        }
        requested = {name: labels for name, labels in requested.items() if labels}
        with self._open() as archive, ExitStack() as stack:
            for name in requested:
                header = self._headers[name]
                if header.fortran:  # held whole
                    self.require_room(1, 1, header.n_bytes)
            rows = {
                name: _rows(stack.enter_context(archive.open(f"{name}.npy")), size)
                for name in requested
            }
            for parts in zip(*rows.values(), strict=True):
                cells = {
                    column: part[:, j]
                    for part, labels in zip(parts, requested.values(), strict=True)
                    for j, column in labels
                }
                yield pl.DataFrame(cells).select(columns)

    def _find_types(self) -> Mapping[str, pl.DataType]:
        """Types of the columns, from the headers of the arrays."""
        none = {
            column: np.empty(0, self._headers[name].native)
            for name, labels in self._columns.items()
            for column in labels
        }
        return dict(pl.DataFrame(none).schema)

    @cached_property
    def _headers(self) -> dict[str, _Header]:
        """Headers of the arrays of rows."""
        with self._open() as archive:
            members = [name for name in archive.namelist() if name.endswith(".npy")]
            names = [name.removesuffix(".npy") for name in members]
            if {"indptr", "indices", "data", "shape"} <= set(names):
                raise DataError(
                    f"{self.name} holds a scipy sparse matrix: write it with scikit-learn's "
                    "dump_svmlight_file, which also stores the target."
                )
            found = {
                name: _Header.of_member(archive, archive.getinfo(f"{name}.npy")) for name in names
            }
        found.pop(_NAMES, None)
        for name, header in found.items():
            if len(header.shape) not in (1, 2):
                raise DataError(
                    f"The array {name!r} in {self.name} has {len(header.shape)} dimensions: "
                    "matrices (rows by columns) and vectors are needed."
                )
            if len(header.shape) == 2:
                self.require_room(0, header.shape[1])
        lengths = {header.shape[0] for header in found.values()}
        if len(lengths) != 1 or lengths == {0}:
            shapes = ", ".join(f"{name} {header.shape}" for name, header in found.items())
            raise DataError(
                f"{self.name} needs arrays with the same number of rows, at least one: found "
                f"{shapes or 'none'}."
            )
        return found

    @cached_property
    def _columns(self) -> dict[str, list[str]]:
        """Names of the columns of every array."""
        found = {}
        given = self._feature_names()
        for name, header in self._headers.items():
            if len(header.shape) == 1:
                found[name] = [name]
            elif name == "X" and given is not None and len(given) == header.shape[1]:
                found[name] = given
            else:
                prefix = "x" if name == "X" else name
                found[name] = [f"{prefix}{j}" for j in range(header.shape[1])]
        require_distinct([column for labels in found.values() for column in labels], self.name)
        return found

    def _feature_names(self) -> list[str] | None:
        with self._open() as archive:
            if f"{_NAMES}.npy" not in archive.namelist():
                return None
            member = archive.getinfo(f"{_NAMES}.npy")
            self.require_room(0, math.prod(_Header.of_member(archive, member).shape))
            with archive.open(member) as stream:
                header = _Header.of(stream)
                return [str(name) for name in _cells(stream, header, math.prod(header.shape))]

    @contextmanager
    def _open(self) -> Iterator[ZipFile]:
        try:
            with ZipFile(self.path) as archive:
                yield archive
        except FileTooLargeError:
            raise
        except _DAMAGE as error:
            reason = " ".join(str(error).split())[:160].rstrip(".").strip("'\"")
            raise DataError(
                f"{self.name} is not a valid NPZ file of plain arrays: {reason}."
            ) from None


def _rows(stream: IO[bytes], size: int) -> Iterator[np.ndarray]:
    """Blocks of rows of an array in a stream, as matrices."""
    header = _Header.of(stream)
    n_rows = header.shape[0]
    columns = header.shape[1] if len(header.shape) == 2 else 1
    if header.fortran and columns > 1:
        whole = _cells(stream, header, n_rows).reshape(columns, n_rows).T
        yield from (whole[start : start + size] for start in range(0, n_rows, size))
        return
    for start in range(0, n_rows, size):
        count = min(size, n_rows - start)
        yield _cells(stream, header, count).reshape(count, columns)


def _cells(stream: IO[bytes], header: _Header, n_rows: int) -> np.ndarray:
    """Cells of the next rows, one after the other."""
    content = stream.read(n_rows * header.row_bytes)
    if len(content) != n_rows * header.row_bytes:
        raise EOFError("an array was cut off")
    cells = np.frombuffer(content, header.dtype).astype(header.native, copy=False)
    if header.dtype.kind == "U":
        codes = cells.view(np.uint32)
        if ((codes > sys.maxunicode) | ((codes >= 0xD800) & (codes < 0xE000))).any():
            raise ValueError("it holds text with invalid characters")
    return cells
