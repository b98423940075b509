"""Units of columns that a search keeps or drops together: single columns, or groups of them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Iterable, Mapping, Sequence, Set
from dataclasses import dataclass
from hashlib import blake2b
from typing import Any

import numpy as np
from scipy import sparse

from depmax.data.columns import Categories, Missing, is_missing
from depmax.data.table import constant_columns, has_missing
from depmax.kernels.kernel import Kernel
from depmax.kernels.mixed import indicator_scales
from depmax.kernels.neutral import Gaps

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
    cells: Sequence[np.ndarray] = ()  # columns of X that are missing together in some rows

    def unit_of_inputs(self) -> np.ndarray:
        """The unit that each input column belongs to."""
        result = np.empty(sum(len(members) for members in self.members), dtype=np.intp)
        for unit, members in enumerate(self.members):
            result[members] = unit
        return result

    def columns_of(self, units: Sequence[int] | np.ndarray) -> np.ndarray:
        """All columns of X that some units have."""
        return np.concatenate([np.empty(0, dtype=np.intp), *(self.columns[u] for u in units)])

    def n_inputs(self, units: Sequence[int] | np.ndarray) -> int:
        """How many input columns some units have."""
        return sum(len(self.members[unit]) for unit in units)

    def uninformative(self) -> np.ndarray:
        """Units that say nothing new: constant, or an exact copy of an earlier one."""
        if sparse.issparse(self.X):
            return np.zeros(len(self.columns), dtype=bool)
        constant = constant_columns(self.X)
        result = np.array([bool(constant[columns].all()) for columns in self.columns])
        beginnings = [self.X[:BEGINNING, columns].tobytes() for columns in self.columns]
        alike = Counter(beginnings)  # missing cells are alike, too
        seen: set[bytes] = set()
        for number, columns in enumerate(self.columns):
            if alike[beginnings[number]] > 1:
                key = blake2b(self.X[:, columns].tobytes(), digest_size=16).digest()
                result[number] |= key in seen
                seen.add(key)
        return result


def n_leading(sizes: Sequence[int] | np.ndarray, n_requested: int) -> int:
    """How many of the first units have at most ``n_requested`` columns together, at least one.

    Examples
    --------
    >>> n_leading([2, 3, 1], 4), n_leading([2, 3, 1], 5), n_leading([2, 3, 1], 1)
    (1, 2, 1)
    """
    return max(1, int(np.searchsorted(np.cumsum(sizes), n_requested, side="right")))


def make_units(
    X: Any,
    column_groups: Any,
    categories: Categories,
    kernel: Kernel,
    missing: Missing = "refuse",
    weight: np.ndarray | None = None,
) -> Units:
    """Units of a matrix with optional groups (one label per column) and categorical columns.

    With kernels of distances the indicators of categories are scaled as ``Mixed`` scales them, so
    that the kernel of the expanded matrix is the kernel of the table. A column of numbers whose
    missing cells are a level of their own has one more column, which tells where they are.
    """
    n_features = X.shape[1]
    scaled = kernel.capabilities.joins_categories == "distance"
    tells_gaps = missing == "level" and has_missing(X)
    expanded, places = _expand(X, categories, scaled, tells_gaps, weight)
    if column_groups is None:
        members = [np.array([column]) for column in range(n_features)]
    else:
        members = _groups(column_groups, n_features)
    columns = [np.concatenate([places[member] for member in unit]) for unit in members]
    owners = np.repeat(np.arange(n_features), [len(place) for place in places])
    cells: list[np.ndarray] = []
    if has_missing(expanded):
        incomplete = np.isnan(expanded).any(axis=0)
        cells = [place[incomplete[place]] for place in places if incomplete[place].any()]
        if kernel.capabilities.is_linear:  # the mean embedding is the mean
            expanded, cells = Gaps.of(expanded, cells).filled(expanded), []
    return Units(expanded, owners, columns, members, categories, cells)


def _groups(column_groups: Any, n_features: int) -> list[np.ndarray]:
    """Columns of each group, groups in the order of their first column."""
    is_list = isinstance(column_groups, Iterable) and getattr(column_groups, "ndim", 1) == 1
    if not is_list or isinstance(column_groups, str | Mapping | Set):
        raise ValueError(
            f"column_groups must be a list of labels, one per column of X ({n_features}), got "
            f"{column_groups!r}."
        )
    labels = list(column_groups)
    if len(labels) != n_features or not all(isinstance(label, Hashable) for label in labels):
        raise ValueError(
            f"column_groups must hold one label per column of X ({n_features}), such as a number "
            f"or a name, got {len(labels)}: {labels!r}."
        )
    members: dict[Any, list[int]] = {}
    for column, label in enumerate(labels):
        if is_missing(label):
            raise ValueError(
                f"column_groups has no label for column {column} ({label!r}): give a column that "
                "belongs to no group a label of its own."
            )
        members.setdefault(label, []).append(column)
    return [np.array(group) for group in members.values()]


def _expand(
    X: Any, categories: Categories, scaled: bool, tells_gaps: bool, weight: np.ndarray | None
) -> tuple[Any, list[np.ndarray]]:
    """Replace categorical columns by indicators, and say where each input column went."""
    if not categories and not tells_gaps:
        return X, [np.array([column]) for column in range(X.shape[1])]
    scales = dict.fromkeys(categories, 1.0)
    numeric = [column for column in range(X.shape[1]) if column not in categories]
    if scaled:
        found = indicator_scales(X, numeric, list(categories), weight)
        scales = dict(zip(categories, found.tolist(), strict=True))
    blocks, places, start = [], [], 0
    for column in range(X.shape[1]):
        values = X[:, [column]]
        absent = np.isnan(values)
        if column in categories:
            indicators = values == np.arange(len(categories[column]))
            values = indicators.astype(X.dtype) * X.dtype.type(scales[column])
            values[absent[:, 0]] = np.nan
        elif tells_gaps and absent.any() and not absent.all():
            codes = np.column_stack([X, absent]) if scaled else None
            scale = 1.0 if codes is None else indicator_scales(codes, numeric, [X.shape[1]])[0]
            # as the two indicators of a category with two levels
            values = np.hstack([values, absent * X.dtype.type(np.sqrt(2.0) * scale)])
        blocks.append(values)
        places.append(np.arange(start, start + values.shape[1]))
        start += values.shape[1]
    return np.hstack(blocks), places
