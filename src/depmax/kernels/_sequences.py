"""Strings and token lists as whole numbers, for the kernels that compare sequences."""

from __future__ import annotations

from collections.abc import Collection, Hashable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from depmax._inputs.objects import object_array
from depmax.kernels.kernel import as_objects


@dataclass(frozen=True)
class Sequences:
    """Sequences of symbols, one after the other in one array."""

    #: Number of the symbol at each position, int32 of shape (n_symbols,).
    codes: np.ndarray
    #: Where each sequence begins in ``codes``, int64 of shape (n_sequences,).
    start: np.ndarray
    #: How many symbols it has, int64 of shape (n_sequences,).
    size: np.ndarray


def read_rows(X: Any, owner: str) -> np.ndarray:
    """One-dimensional array of the sequences in a list, an array or a one-column frame."""
    if isinstance(X, str | bytes):
        raise TypeError(f"X is a single {type(X).__name__}: {owner} compares several, pass [X].")
    ready = isinstance(X, np.ndarray) or hasattr(X, "to_numpy")
    rows = as_objects(X) if ready else object_array(list(X))
    if rows.ndim != 1:
        raise ValueError(
            f"{owner} needs one sequence per row, but X has shape {rows.shape}: pass a list of "
            "strings, or list(map(tuple, X)) if every row is a sequence of tokens."
        )
    return rows


def encode(rows: Collection[Any], owner: str) -> Sequences:
    """Number the symbols: by code point if all rows are strings, else by first appearance.

    Examples
    --------
    >>> encode([["to", "be"], ["be"]], "Example").codes
    array([0, 1, 1], dtype=int32)
    """
    for number, row in enumerate(rows):
        if not isinstance(row, Sequence) and not (isinstance(row, np.ndarray) and row.ndim == 1):
            raise TypeError(
                f"Row {number} is {row!r}, of type {type(row).__name__}: {owner} compares strings "
                "or sequences of tokens. Drop missing rows, or write '' for an empty string."
            )
    size = np.fromiter(map(len, rows), dtype=np.int64, count=len(rows))
    if all(isinstance(row, str) for row in rows):
        text = "".join(rows).encode("utf-32-le", "surrogatepass")
        codes = np.frombuffer(text, dtype="<i4").astype(np.int32)
    else:
        codes = _numbered(rows, owner)
    return Sequences(codes=codes, start=np.cumsum(size) - size, size=size)


def _numbered(rows: Iterable[Iterable[Hashable]], owner: str) -> np.ndarray:
    numbers: dict[Hashable, int] = {}
    try:
        codes = [numbers.setdefault(token, len(numbers)) for row in rows for token in row]
    except TypeError as error:
        raise TypeError(
            f"{owner} compares tokens by equality and needs hashable ones ({error}): "
            "use strings, numbers or tuples as tokens."
        ) from error
    return np.array(codes, dtype=np.int32)
