"""What leaves or joins a set as a whole: a column, a group of columns, the levels of a category."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from hashlib import blake2b
from typing import Any

import numpy as np
from scipy import sparse

from depmax._inputs.table import Categories
from depmax.kernels.kernel import Kernel
from depmax.kernels.mixed import indicator_scales
from depmax.selection._scores.columns import constant_columns

#: Rows that two columns must share before they are compared as a whole.
BEGINNING = 16


@dataclass(frozen=True)
class Units:
    """Columns of the expanded matrix that belong together, and the input columns they stand for."""

    X: Any  # input columns, categorical ones replaced by scaled indicators of their levels
    owners: np.ndarray  # per column of X: the column of the input that it stands for
    columns: Sequence[np.ndarray]  # per unit: columns of X
    members: Sequence[np.ndarray]  # per unit: columns of the input
    categories: Categories  # levels of the categorical columns of the input

    def unit_of_inputs(self) -> np.ndarray:
        """The unit that each input column belongs to."""
        result = np.empty(sum(len(members) for members in self.members), dtype=np.intp)
        for unit, members in enumerate(self.members):
            result[members] = unit
        return result

    def idle(self) -> np.ndarray:
        """Units that say nothing new: constant, or an exact copy of an earlier one."""
        return np.array([False] * len(self.columns)) if sparse.issparse(self.X) else self._idle()

    def _idle(self) -> np.ndarray:
        constant = constant_columns(self.X)
        result = np.array([bool(constant[columns].all()) for columns in self.columns])
        beginnings = [self.X[:BEGINNING, columns].tobytes() for columns in self.columns]
        alike = Counter(beginnings)
        seen: set[bytes] = set()
        for number, columns in enumerate(self.columns):
            if alike[beginnings[number]] > 1:
                key = blake2b(self.X[:, columns].tobytes(), digest_size=16).digest()
                result[number] |= key in seen
                seen.add(key)
        return result


def make_units(X: Any, groups: Any, categories: Categories, kernel: Kernel) -> Units:
    """Units of a matrix with optional groups (one label per column) and categorical columns.

    With kernels of distances the indicators of categories are scaled as ``Mixed`` scales them, so
    that the kernel of the expanded matrix is the kernel of the table.
    """
    n_features = X.shape[1]
    expanded, places = _expand(X, categories, kernel.capabilities.joins_categories == "distance")
    if groups is None:
        members = [np.array([column]) for column in range(n_features)]
    else:
        labels = np.asarray(groups)
        if labels.shape != (n_features,):
            raise ValueError(
                f"groups must hold one label per column of X ({n_features}), got shape "
                f"{labels.shape}."
            )
        _, first, codes = np.unique(labels, return_index=True, return_inverse=True)
        in_order = np.argsort(first)  # groups in the order of their first column
        members = [np.flatnonzero(codes == code) for code in in_order]
    columns = [np.concatenate([places[member] for member in unit]) for unit in members]
    owners = np.repeat(np.arange(n_features), [len(place) for place in places])
    return Units(expanded, owners, columns, members, categories)


def _expand(X: Any, categories: Categories, scaled: bool) -> tuple[Any, list[np.ndarray]]:
    """Replace categorical columns by indicators, and say where each input column went."""
    if not categories:
        return X, [np.array([column]) for column in range(X.shape[1])]
    scales = dict.fromkeys(categories, 1.0)
    if scaled:
        numeric = [column for column in range(X.shape[1]) if column not in categories]
        scales = dict(
            zip(categories, indicator_scales(X, numeric, list(categories)).tolist(), strict=True)
        )
    blocks, places, start = [], [], 0
    for column in range(X.shape[1]):
        values = X[:, [column]]
        if column in categories:
            indicators = values == np.arange(len(categories[column]))
            values = indicators.astype(X.dtype) * X.dtype.type(scales[column])
        blocks.append(values)
        places.append(np.arange(start, start + values.shape[1]))
        start += values.shape[1]
    return np.hstack(blocks), places
