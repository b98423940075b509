"""Kernels of class labels: the delta kernel, and the balanced kernel of two classes."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Literal

import numpy as np

from depmax._parameters import Rule
from depmax._resources import require_values
from depmax.kernels.kernel import Capabilities, Facts, Kernel, count_distinct

#: Weights of classes by label.
ClassWeights = Mapping[Hashable, float]
#: Numbers of labels up to which comparing with each costs less than sorting the rows.
FEW_LABELS = 16
#: Indicators that any limit of memory allows: three times an eighth of a megabyte.
FREE_VALUES = 2**14
#: Weight of a class by its share.
RULES: dict[Any, Callable[[float], float]] = {
    None: lambda share: 1.0,
    "balanced": lambda share: 1.0 / share,
    "one_vs_rest": lambda share: 1.0 / (share * (1.0 - share)) ** 2,
}


def _are_weights(value: Any) -> bool:
    if isinstance(value, Mapping):
        return all(np.isfinite(weight) and weight >= 0 for weight in value.values())
    return value is None or (isinstance(value, str) and value in RULES)


@dataclass(eq=False, repr=False)
class Delta(Kernel):
    """Delta kernel, k(y, y') = c_y if y = y', else 0, for labels of any type.

    Parameters
    ----------
    weights : None, {"balanced", "one_vs_rest"} or mapping from label to weight, default=None
        ``None``: c_y = 1. ``"balanced"``: c_y = 1/p_y with p_y the share of class y (the MUL kernel
        of Song et al., 2012). ``"one_vs_rest"``: c_y = 1/(p_y (1 - p_y))², one feature per class
        against the rest. Shares instead of counts keep HSIC on one scale for any number of samples.
        A label that a mapping does not contain has weight zero.

    Examples
    --------
    >>> from depmax.kernels import Delta
    >>> Delta()(["a", "b", "a"])
    array([[1., 0., 1.],
           [0., 1., 0.],
           [1., 0., 1.]])
    """

    weights: Literal["balanced", "one_vs_rest"] | ClassWeights | None = None

    _capabilities: ClassVar[Capabilities] = Capabilities(vector_input=False, labels=True)
    _declared: ClassVar = {
        "weights": Rule(
            _are_weights,
            "None, 'balanced', 'one_vs_rest' or a mapping to finite numbers >= 0",
            "below zero the kernel is not positive semidefinite",
        )
    }

    @property
    def is_resolved(self) -> bool:
        """Whether the weights are numbers."""
        return not isinstance(self.weights, str)

    def _estimated(self, facts: Facts) -> Kernel:
        """Copy with one weight per label."""
        if isinstance(self.weights, Mapping):
            return self
        shares = shares_of(facts, self, by_counts=self.weights is not None)
        if self.weights == "one_vs_rest" and len(shares) < 2:
            raise ValueError("weights='one_vs_rest' of Delta needs at least two classes.")
        rule = RULES[self.weights]
        return self._copy_with(weights={label: rule(share) for label, share in shares.items()})

    @property
    def has_features(self) -> bool:
        """One indicator per known label, once resolved."""
        return self.weights is not None and self.is_resolved

    def features(self, X: Any) -> np.ndarray:
        """Indicators √c_y e_y of shape (n_samples, n_labels)."""
        weights: Any = self.weights
        labels, roots = self._read(X), np.sqrt(list(weights.values()))
        require_indicators(len(labels), len(roots))
        places = places_of(labels, list(weights))
        (rows,) = np.nonzero(places >= 0)
        indicators = np.zeros((len(labels), len(roots)))
        indicators[rows, places[rows]] = roots[places[rows]]
        return indicators

    def _gram(self, X: Any, Z: Any) -> np.ndarray:
        same = (X[:, np.newaxis] == Z[np.newaxis, :]).astype(np.float64)
        return same if self.weights is None else same * self._diag(X)[:, np.newaxis]

    def _diag(self, X: Any) -> np.ndarray:
        weights: Any = self.weights
        return np.ones(X.shape[0]) if weights is None else weights_at(X, weights)


@dataclass(eq=False, repr=False)
class ClassBalanced(Kernel):
    """Balanced kernel of two classes: k(y, y') = w_y w_y' with w = ∓1/p for classes with shares p.

    The BIN kernel of Song et al. (2012), with shares instead of counts. The kernel matrix is
    already centred, and m²/(m-1)² times the biased squared MMD between the classes is HSIC₀.

    Parameters
    ----------
    weights : mapping from label to weight, optional
        Signed weights of the two labels; ``resolve`` computes them from the labels, with the first
        in sorted order negative.

    Examples
    --------
    >>> from depmax.kernels import ClassBalanced
    >>> ClassBalanced()(["sick", "well", "well", "well"]).round(2)
    array([[16.  , -5.33, -5.33, -5.33],
           [-5.33,  1.78,  1.78,  1.78],
           [-5.33,  1.78,  1.78,  1.78],
           [-5.33,  1.78,  1.78,  1.78]])
    """

    weights: ClassWeights | None = None

    _capabilities: ClassVar[Capabilities] = Capabilities(vector_input=False, labels=True)
    _recipe: ClassVar[tuple[str, ...]] = ("weights",)

    def _estimated(self, facts: Facts) -> Kernel:
        """Copy with the signed weights of two labels."""
        if self.weights is not None:
            return self
        shares = shares_of(facts, self, by_counts=True)
        if len(shares) != 2:
            raise ValueError(
                f"ClassBalanced compares two classes, but the labels have {len(shares)}: "
                "use Delta(weights='balanced') for many."
            )
        (negative, p_negative), (positive, p_positive) = shares.items()
        return self._copy_with(weights={negative: -1.0 / p_negative, positive: 1.0 / p_positive})

    def features(self, X: Any) -> np.ndarray:
        """The signed weights as one column."""
        weights: Any = self.weights
        return weights_at(self._read(X), weights)[:, np.newaxis]


def frequencies(labels: np.ndarray, weight: np.ndarray | None = None) -> dict[Hashable, float]:
    """Share of each label, in sorted order of the labels; a row counts as often as its weight says.

    Examples
    --------
    >>> frequencies(np.array(["b", "a", "b", "b"]))
    {'a': 0.25, 'b': 0.75}
    """
    if weight is None:
        values, counts = count_distinct(labels)
    else:
        values, positions = np.unique(labels, return_inverse=True)
        counts = np.bincount(positions, weights=weight)
    return dict(zip(values.tolist(), (counts / counts.sum()).tolist(), strict=True))


def shares_of(facts: Facts, kernel: Kernel, by_counts: bool) -> dict[Hashable, float]:
    """Share of each label of rows, in sorted order; ``by_counts`` if it must be the true one."""
    if not facts.is_streamed:
        return frequencies(kernel._read(facts.rows), facts.weight)
    if facts.rows.distinct is None:
        raise TypeError(
            f"{type(kernel).__name__} compares labels, but there are too many different ones to "
            "count in a table that is read a chunk at a time: merge rare ones."
        )
    values, counts = facts.rows.distinct
    if counts is None and by_counts:
        raise TypeError(
            f"{kernel!r} weights the levels of a column by how often they occur, which are not "
            "counted in a table that is read a chunk at a time: use Delta()."
        )
    shares = np.ones(len(values)) if counts is None else counts / counts.sum()
    return dict(zip(values.tolist(), shares.tolist(), strict=True))


def require_indicators(n_rows: int, n_classes: int) -> None:
    """Refuse to hold an indicator per class and row, as methods do about three times at once.

    Examples
    --------
    >>> require_indicators(20_000, 100)
    >>> require_indicators(20_000, 10_000)
    Traceback (most recent call last):
    ...
    depmax._resources.TooManyRowsError: Indicators of 10,000 classes in 20,000 rows would take
    4.47 GB of memory, and the limit is 4 GB. Merge rare classes; or are they identifiers or numbers
    that were read as text? Pass numbers as floats. If you have the memory, allow more: --max-memory
    8GB on the command line, or DEPMAX_MAX_MEMORY=8GB in the environment.
    """
    if n_rows * n_classes > FREE_VALUES:
        require_values(
            f"Indicators of {n_classes:,} classes in {n_rows:,} rows",
            3 * n_rows * n_classes,
            "Merge rare classes; or are they identifiers or numbers that were read as text? Pass "
            "numbers as floats.",
        )


def weights_at(labels: np.ndarray, weights: ClassWeights) -> np.ndarray:
    """Weight of each label; a label without a weight gets zero."""
    return np.array([*weights.values(), 0.0])[places_of(labels, list(weights))]


def places_of(labels: np.ndarray, known: Sequence[Hashable]) -> np.ndarray:
    """Place of each label among the known ones, -1 if it is not."""
    if len(known) <= FEW_LABELS:
        places = np.full(labels.shape, -1)
        for place, label in enumerate(known):
            places[labels == label] = place
        return places
    values, codes = np.unique(labels, return_inverse=True)
    table = {label: place for place, label in enumerate(known)}
    return np.array([table.get(value, -1) for value in values.tolist()])[codes]
