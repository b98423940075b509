"""One data set: the rows, the target, and where they come from."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

import narwhals.stable.v2 as nw
import numpy as np


@dataclass(frozen=True, eq=False, repr=False)
class Dataset:
    """Rows and target with their origin; the arrays are read-only, so copy before you write.

    Attributes
    ----------
    X : ndarray
        Floats of shape (n_samples, n_features) when every feature is a number; strings of shape
        (n_samples,) when text is the only feature; otherwise objects of shape (n_samples,
        n_features), where a cell is a float or a string. A missing number is NaN, a missing text
        is None.
    y : ndarray of shape (n_samples,) or (n_samples, n_targets)
        Integers, floats or strings, as in the file.
    feature_names : tuple of str
    target_name : str or tuple of str
        A tuple when the target has several columns.
    name, title, source, citation, licence, notes : str
        The short name, the full name, and what the licence file beside the data says.
    """

    X: np.ndarray
    y: np.ndarray
    feature_names: tuple[str, ...]
    target_name: str | tuple[str, ...]
    name: str
    title: str
    source: str
    citation: str
    licence: str
    notes: str

    def __post_init__(self) -> None:
        self.X.flags.writeable = False
        self.y.flags.writeable = False

    def __repr__(self) -> str:
        if self.y.ndim == 2:
            target = f"{self.y.shape[1]} targets"
        elif self.y.dtype.kind == "f" or len(np.unique(self.y)) > 20:
            target = "numbers as target"
        else:
            target = f"{len(np.unique(self.y))} classes"
        features = len(self.feature_names)
        plural = "" if features == 1 else "s"
        return f"Dataset({self.name}: {len(self.y)} rows, {features} feature{plural}, {target})"

    def to_frame(self, library: Literal["pandas", "polars"] = "pandas") -> Any:
        """Features, then the target, as a data frame of pandas or polars."""
        if library not in ("pandas", "polars"):
            raise ValueError(f"library must be 'pandas' or 'polars', not {library!r}.")
        targets = (self.target_name,) if isinstance(self.target_name, str) else self.target_name
        matrices = (_as_columns(self.X), _as_columns(self.y))
        columns = [matrix[:, j] for matrix in matrices for j in range(matrix.shape[1])]
        names = (*self.feature_names, *targets)
        # tolist() lets the frame find the type of each column of an array of objects.
        data = {name: column.tolist() for name, column in zip(names, columns, strict=True)}
        try:
            return nw.from_dict(data, backend=library).to_native()
        except ModuleNotFoundError as error:
            raise ModuleNotFoundError(
                f"to_frame({library!r}) needs {library}: pip install {library}, "
                "or use the arrays X and y."
            ) from error


def _as_columns(array: np.ndarray) -> np.ndarray:
    return array[:, np.newaxis] if array.ndim == 1 else array
