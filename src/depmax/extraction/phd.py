"""Principal Hessian directions."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass
from typing import Any, ClassVar, Literal

import numpy as np

from depmax._parameters import FLAG
from depmax.algebra.directions import ALPHA, Alpha, Sphere, alpha_of, units_cancel
from depmax.algebra.row_sums import columns_of
from depmax.algebra.space import Form, space_of
from depmax.data import read_target
from depmax.data.sample import Sample
from depmax.extraction._fitting.prediction import outputs
from depmax.extraction.extractor import EVERY, Answer, Found, SumsExtractor, along
from depmax.kernels import KernelLike


@dataclass(eq=False, repr=False)
class PHD(SumsExtractor):
    """Directions along which the target curves most.

    With the rows sphered (z of unit covariance) and the target y of mean zero and variance 1, the
    directions are the eigenvectors of H = mean(y zzᵀ) with the largest eigenvalues in absolute
    value. For normal z this is the mean Hessian of the regression of y on z (Stein's lemma). A
    linear trend has none: see :class:`SIR`.

    Parameters
    ----------
    n_components : int, float or "auto", default=2
        Number of features, at most the number of rows and the number of columns. A float is a share
        of the dependence. ``"auto"`` takes the smallest number whose 3-fold score is within one
        standard error of the best, up to twice the intrinsic dimension.
    residuals : bool, default=False
        Whether to replace y by the residuals of its linear regression, which removes the effect of
        a trend if z is skewed.
    kernel : kernel, name, callable, transformer or "precomputed", default="linear"
        A transformer (a map) stands for the inner product of its output.
    alpha : float or "auto", default="auto"
        Variance added to every direction of the covariance's range, relative to the mean variance
        there. ``"auto"``: none if there are fewer columns than rows, 0.1 otherwise.
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
        Absolute eigenvalue: that of H for one output, for several the root of that of ΣH², with one
        H per output. Classes are represented by indicators.
    n_components_ : int
        Number of features.
    loadings_, mean_, coordinate_names_
        See :class:`depmax.extraction.DependenceExtractor`; linear only.
    kernel_, target_kernel_ : Kernel
        With every recipe replaced by numbers.

    References
    ----------
    K.-C. Li (1992), On principal Hessian directions for data visualization and dimension reduction.

    Examples
    --------
    >>> import numpy as np
    >>> from depmax import PHD
    >>> X = np.random.default_rng(0).normal(size=(2000, 4))
    >>> PHD(1).fit(X, (X[:, 0] - X[:, 2]) ** 2).components_.round(1) + 0.0
    array([[-0.7,  0. ,  0.7,  0. ]])
    """

    n_components: int | float | Literal["auto"] = 2
    _: KW_ONLY
    residuals: bool = False
    kernel: KernelLike = "linear"
    alpha: Alpha = "auto"
    estimator: Any = None
    scoring: Any = None
    _streams: ClassVar[bool] = True
    _why_numbers_do_not_add: ClassVar[str | None] = (
        "mean(y zzᵀ) is not kept. Cut y into classes, e.g. with numpy.digitize"
    )
    _declared: ClassVar = {"residuals": FLAG, "alpha": ALPHA}

    def _read_answer(self, y: Any, weight: np.ndarray | None) -> Answer:
        return Answer(outputs(read_target(y), "PHD", weight).sample, limit=EVERY)

    def _find(self, data: Sample, answer: Answer, count: int) -> Found:
        space, centred = space_of(data), answer.factor
        with space.solving():
            sphere = Sphere.of_space(space, alpha_of(self, data, space))
            if self.residuals:  # of the linear regression on the coordinates
                cross = space.moments(Form(centred / space.total)).cross
                centred = centred - space.values(sphere.whiten @ (sphere.whiten.T @ cross))
            hessians = [
                sphere.image(space.weighted_scatter(y)) / space.total for y in columns_of(centred)
            ]
            found = sphere.most_curved(hessians, count)
            return along(self, space, found, unit_free=units_cancel(self, data))
