"""The feature that linear regression predicts the target with."""

from __future__ import annotations

from typing import Any, ClassVar, Literal

import numpy as np

from depmax._inputs import read_target
from depmax.extraction._fitting.sphering import Alpha, SpheringExtractor, told_directions
from depmax.extraction._fitting.targets import side_of_outputs
from depmax.extraction._fitting.weighted import WeightedExtractor
from depmax.kernels import KernelLike
from depmax.pencils import Directions, Form, Space
from depmax.pencils.form import squared_lengths, target_factor
from depmax.samples import Sample


class LinearRegressionFeature(SpheringExtractor, WeightedExtractor):
    """The linear combination of the columns that predicts the target best.

    One number has one such feature. Several outputs have as many, ordered by what they explain of
    the outputs together (reduced rank regression, outputs in units of their standard deviation);
    classes count as outputs that tell membership.

    Parameters
    ----------
    n_components : int, float or "auto", default=2
        Number of features, at most the number of rows and of columns. A float is a share of the
        dependence. ``"auto"`` takes the fewest whose 3-fold score is within one standard error of
        the best, up to twice the intrinsic dimension. Beyond the number of
        outputs, directions of largest variance uncorrelated with the prediction follow.
    kernel : kernel, name, callable, transformer or "precomputed", default="linear"
        A transformer (a map) stands for the inner product of its output.
    alpha : float or "auto", default="auto"
        Variance added to every direction of the covariance's range, relative to the mean variance
        there (ridge regression). ``"auto"``: none where there are fewer columns than rows; 0.1
        otherwise, since any target would be predicted without error.
    estimator : estimator, optional
        What predicts y from features for ``n_components="auto"``: by default the five nearest
        neighbours.
    scoring : str or callable, optional
        Its score, as in scikit-learn; by default the estimator's own.

    Attributes
    ----------
    components_ : ndarray of shape (n_components, n_features)
        Directions of features with variance 1; with ``kernel="linear"`` only.
    dependence_ : ndarray of shape (n_components,)
        Share of the variance of the outputs that each feature explains: for one output the squared
        correlation.
    n_components_ : int
        Number of features.
    loadings_, mean_, coordinate_names_
        See :class:`depmax.extraction.DependenceExtractor`; linear only.
    kernel_, target_kernel_ : Kernel
        With every recipe replaced by numbers.

    Examples
    --------
    >>> import numpy as np
    >>> from depmax import LinearRegressionFeature
    >>> X = np.random.default_rng(0).normal(size=(100, 3))
    >>> LinearRegressionFeature(1).fit(X, 2 * X[:, 0] + X[:, 1]).dependence_.round(6)
    array([1.])
    """

    _streams: ClassVar[bool] = True

    def __init__(
        self,
        n_components: int | float | Literal["auto"] = 2,
        *,
        kernel: KernelLike = "linear",
        alpha: Alpha = "auto",
        estimator: Any = None,
        scoring: Any = None,
    ) -> None:
        self.n_components = n_components
        self.kernel = kernel
        self.alpha = alpha
        self.estimator = estimator
        self.scoring = scoring

    def _read_target(self, y: Any, mass: np.ndarray | None = None) -> Sample:
        return side_of_outputs(read_target(y), "LinearRegressionFeature", mass)

    def _extract(self, space: Space, target: Sample, n_components: int) -> Directions:
        factor = target_factor(target)
        total = squared_lengths(factor, target.mass)[1] / space.total  # variance of all outputs
        cross = space.moments(Form(factor / space.total)).cross
        found = self._sphere(space, 1).most_correlated(cross, n_components)
        return Directions(found.vectors, found.dependence / total)

    def _carriers(self, side: Sample, target: Sample) -> int:
        return int(target.n_coordinates or 1)

    def _ignores_units(self, side: Sample, target: Sample, n_components: int) -> bool:
        factor = target_factor(target)
        return self._units_cancel(side, 1) and n_components <= told_directions(factor)
