"""Arrow data that come from a file: checked before any other code reads their buffers.

Arrow takes offsets, indices and lengths in a file at their word. A changed byte then lets later
code read beyond a buffer. Validation looks at every one of them; it must come first.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc


class DamagedFileError(ValueError):
    """A file whose contents contradict themselves."""


def validated(table: Any, name: object) -> Any:
    """The table or record batch, if all of its buffers are sound.

    Parameters
    ----------
    table : pyarrow.Table or pyarrow.RecordBatch
        As it was read, before anything else has looked at its cells.
    name : what messages call the file

    Raises
    ------
    DamagedFileError
        If lengths, offsets or indices point outside their buffers, or text is not UTF-8.

    Examples
    --------
    >>> import pyarrow as pa
    >>> validated(pa.table({"x": [1, 2]}), "a.parquet").num_rows
    2
    """
    try:
        table.validate(full=True)
    except (pa.ArrowException, ValueError) as error:
        raise DamagedFileError(
            f"{name} is damaged: its cells contradict themselves ({first_line(error)})."
        ) from None
    return table


def first_line(error: BaseException) -> str:
    """What an error says, on one line that is not too long."""
    lines = str(error).strip().splitlines()
    return lines[0].rstrip(".")[:160] if lines else type(error).__name__


def is_plain(kind: Any) -> bool:
    """Whether cells of a type are single values rather than lists, records or runs."""
    types = pa.types
    if types.is_dictionary(kind):
        return is_plain(kind.value_type) and not types.is_dictionary(kind.value_type)
    return bool(
        types.is_null(kind)
        or types.is_boolean(kind)
        or types.is_integer(kind)
        or types.is_floating(kind)
        or types.is_temporal(kind)
        or types.is_decimal(kind)
        or is_text(kind)
    )


def is_text(kind: Any) -> bool:
    """Whether cells of a type are text."""
    types = pa.types
    return bool(types.is_string(kind) or types.is_large_string(kind) or types.is_string_view(kind))


def bytes_written_out(table: Any) -> int:
    """Bytes of the cells of a validated table or batch, with shared text counted each time."""
    return sum(
        max(8 * len(chunk), chunk.nbytes, _text_bytes(chunk))
        for column in table.columns
        for chunk in _chunks(column)
    )


def _chunks(column: Any) -> Iterator[Any]:
    yield from column.chunks if isinstance(column, pa.ChunkedArray) else (column,)


def _text_bytes(array: Any) -> int:
    """Bytes of text that several cells share, as dictionaries and views let them."""
    kind = array.type
    if pa.types.is_dictionary(kind) and is_text(kind.value_type):
        return int(
            pc.sum(pc.take(pa.array(_lengths(array.dictionary)), array.indices)).as_py() or 0
        )
    return int(_lengths(array).sum()) if pa.types.is_string_view(kind) else 0


def _lengths(array: Any) -> np.ndarray:
    """Bytes of every cell of text."""
    if not pa.types.is_string_view(array.type):
        lengths = pc.binary_length(array).fill_null(0)
        return np.asarray(lengths, dtype=np.int64)
    views = np.frombuffer(array.buffers()[1], dtype=np.int32)[::4]  # 16 bytes, the length first
    lengths = views[array.offset : array.offset + len(array)].astype(np.int64)
    return np.where(np.asarray(array.is_valid()), lengths, 0)
