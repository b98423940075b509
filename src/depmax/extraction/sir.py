"""Sliced inverse regression."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass
from typing import Any, ClassVar, Literal

import numpy as np

from depmax._parameters import integer
from depmax.algebra.directions import ALPHA, Alpha, Sphere, alpha_of, units_cancel
from depmax.algebra.row_sums import rank_of_factor
from depmax.algebra.space import Form, space_of
from depmax.data import read_target
from depmax.data.sample import Sample
from depmax.data.stream import beside
from depmax.data.target import AnyTarget
from depmax.data.target_messages import refuse_one_class
from depmax.extraction.extractor import Answer, Found, SumsExtractor, along
from depmax.kernels import Columns, Delta, KernelLike


def sliced(values: np.ndarray, n_slices: int, weight: np.ndarray | None = None) -> np.ndarray:
    """Number of the slice of each value, for slices of nearly equal counts.

    Equal values share a slice, that of the middle one of them, so that the order of the samples
    does not matter; there may be fewer slices then. A value counts as often as its weight says.

    Examples
    --------
    >>> sliced(np.array([3.0, 1.0, 2.0, 2.0, 5.0]), 2)
    array([1, 0, 0, 0, 1])
    """
    _, inverse = np.unique(values, return_inverse=True)
    counts = np.bincount(inverse, weights=weight)
    reached = np.cumsum(counts)
    middle = reached - (counts + 1) // 2  # rank of the middle one of equal values
    size, larger = divmod(float(reached[-1]), n_slices)  # the first slices have one more
    ends = np.arange(1, n_slices) * size + np.minimum(np.arange(1, n_slices), larger)
    slices_of_values = np.searchsorted(ends, middle, side="right")
    return np.unique(slices_of_values[inverse], return_inverse=True)[1]


def grouped(target: AnyTarget, n_slices: int, name: str, weight: np.ndarray | None) -> Sample:
    """One grouping of the samples per output: its classes, or slices of its numbers.

    Under the balanced delta kernel, that of the scatter between groups; those of several outputs
    are added. A target that is the same for all rows is refused.
    """
    if target.is_streamed:
        groups = list(target.groups(n_slices))
        numbers = [len(group.distinct[0]) for group in groups]
    else:
        groups = [target.values] if target.kind == "classes" else list(target.values.T)
        if target.kind not in ("classes", "multilabel"):
            groups = [sliced(column, n_slices, weight) for column in groups]
        numbers = [len(np.unique(group)) for group in groups]
    if max(numbers) < 2:
        refuse_one_class(name)
    kernel = Delta(weights="balanced")
    if len(groups) == 1:
        return Sample(kernel, groups[0], weight=weight).resolved()
    kernels = [Sample(kernel, group, weight=weight).resolved().kernel for group in groups]
    parts = [(f"y{column}", own, column) for column, own in enumerate(kernels)]
    rows = beside(groups) if target.is_streamed else np.column_stack(groups).astype(np.float64)
    return Sample(Columns(parts, combine="add"), rows, weight=weight)


@dataclass(eq=False, repr=False)
class SIR(SumsExtractor):
    """Directions along which the mean of X changes with the target.

    The rows are divided into slices with similar targets; the directions of unit variance along
    which the means of the slices differ most are chosen. If the target is classes, each is a slice,
    and SIR is discriminant analysis. If X is elliptically distributed, the directions lie in the
    space through which the target depends on X. Dependence that is symmetric about the mean does
    not affect the means of slices: see :class:`PHD`.

    Parameters
    ----------
    n_components : int, float or "auto", default=2
        Number of features, at most the number of rows and the number of columns. A float is a share
        of the dependence. ``"auto"`` takes the smallest number whose 3-fold score is within one
        standard error of the best, up to twice the intrinsic dimension. Beyond the number of slices
        minus one, directions of largest variance follow.
    n_slices : int, default=10
        Number of slices, with nearly equal numbers of rows; rows with equal targets share a slice.
        Increasing functions of y have the same slices. If the rows cannot be divided evenly, the
        slices of the smallest targets have one more, so that those of -y may be cut elsewhere.
        Each of several outputs has its own slices, and their criteria are added. Not used for
        classes.
    kernel : kernel, name, callable, transformer or "precomputed", default="linear"
        A transformer (a map) stands for the inner product of its output.
    alpha : float or "auto", default="auto"
        Variance added to every direction of the covariance's range, relative to the mean variance
        there. ``"auto"``: none if there are fewer columns than rows minus slices; 0.1 otherwise,
        since the covariance within slices is then singular.
    estimator : estimator, optional
        Predicts y from features for ``n_components="auto"``; by default the five nearest
        neighbours.
    scoring : str or callable, optional
        Its score, as in scikit-learn; by default the estimator's own.

    Attributes
    ----------
    components_ : ndarray of shape (n_components, n_features)
        Directions of features with variance 1; only with ``kernel="linear"``.
    dependence_ : ndarray of shape (n_components,)
        Share of each feature's variance that lies between slices, summed over outputs.
    n_components_ : int
        Number of features.
    loadings_, mean_, coordinate_names_
        See :class:`depmax.extraction.DependenceExtractor`; linear only.
    kernel_, target_kernel_ : Kernel
        With every recipe replaced by numbers.

    References
    ----------
    K.-C. Li (1991), Sliced inverse regression for dimension reduction.

    Examples
    --------
    >>> import numpy as np
    >>> from depmax import SIR
    >>> X = np.random.default_rng(0).normal(size=(500, 4))
    >>> SIR(1).fit(X, np.exp(X[:, 0] - X[:, 2])).components_.round(1) + 0.0
    array([[-0.7,  0. ,  0.7,  0. ]])
    """

    n_components: int | float | Literal["auto"] = 2
    _: KW_ONLY
    n_slices: int = 10
    kernel: KernelLike = "linear"
    alpha: Alpha = "auto"
    estimator: Any = None
    scoring: Any = None
    _streams: ClassVar[bool] = True
    _why_numbers_do_not_add: ClassVar[str | None] = (
        "slices are cut at quantiles of all rows. Cut y yourself, e.g. with numpy.digitize"
    )
    _declared: ClassVar = {"n_slices": integer(2), "alpha": ALPHA}

    def _read_answer(self, y: Any, weight: np.ndarray | None) -> Answer:
        return Answer(grouped(read_target(y), int(self.n_slices), "SIR", weight))

    def _find(self, data: Sample, answer: Answer, count: int) -> Found:
        space, factor = space_of(data), answer.factor
        n_groups = factor.shape[1]
        with space.solving():
            cross = space.moments(Form(factor / space.total)).cross
            sphere = Sphere.of_space(space, alpha_of(self, data, space, n_groups))
            found = sphere.most_correlated(cross, count)
            unit_free = units_cancel(self, data, n_groups) and count <= rank_of_factor(factor)
            return along(self, space, found, unit_free=unit_free)
