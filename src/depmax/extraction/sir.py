"""Sliced inverse regression."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass
from typing import Any, ClassVar, Literal

import numpy as np

from depmax._parameters import integer
from depmax.algebra.space import Form
from depmax.algebra.span import space_of
from depmax.algebra.sphere import ALPHA, Alpha, Sphere, alpha_of, units_cancel
from depmax.algebra.targets import rank_of_factor
from depmax.data import read_target
from depmax.data.sample import Sample
from depmax.extraction._fitting.coded_target import grouped
from depmax.extraction._fitting.search import Answer, Found, along
from depmax.extraction._fitting.sums import SumsExtractor
from depmax.kernels import KernelLike


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
