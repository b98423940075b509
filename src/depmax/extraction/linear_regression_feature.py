"""The feature with which linear regression predicts the target."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, ClassVar, Literal

import numpy as np

from depmax._parameters import number
from depmax.algebra import Directions, Space
from depmax.algebra.coordinates import Coordinates
from depmax.algebra.form import rank_of_factor, square_of
from depmax.algebra.graphs import GraphLike
from depmax.data.reading import Labels
from depmax.data.sample import Sample
from depmax.extraction._fitting.prediction import PredictionMixin, Readout
from depmax.extraction._fitting.quotients import Alpha, Explained, ExplainingExtractor
from depmax.extraction._fitting.targets import is_flat, label_type, output_labels, output_scale
from depmax.kernels import KernelLike


class LinearRegressionFeature(PredictionMixin, ExplainingExtractor):
    """The linear combination of the columns that predicts the target best.

    A numeric target has one such feature. Several outputs have as many, ordered by what they
    explain of the outputs together (reduced rank regression, with outputs in units of their
    standard deviation); classes are represented by indicators. With ``beta`` > 0, predictions that
    change much between neighbouring rows, labelled or not, are penalised (Laplacian
    regularisation).

    Parameters
    ----------
    n_components : int, float or "auto", default=2
        Number of features, at most the number of rows and the number of columns. A float is a share
        of the dependence. ``"auto"`` takes the smallest number whose 3-fold score is within one
        standard error of the best, up to twice the intrinsic dimension. Beyond the number of
        outputs, directions of largest variance uncorrelated with the prediction follow.
    kernel : kernel, name, callable, transformer or "precomputed", default="linear"
        A transformer (a map) stands for the inner product of its output.
    alpha : float or "auto", default="auto"
        Variance added to every direction of the covariance's range, relative to the mean variance
        there (ridge regression). ``"auto"``: none if there are fewer columns than rows; 0.1
        otherwise, since any target would be predicted without error.
    beta : float, default=0.0
        Weight of the graph, from 0 to 1: the variance S of the labelled rows is replaced by (1-β)·S
        + β·ΦᵀΔΦ, each divided by its trace, with Δ the Laplacian: least squares with a penalty λ
        fᵀΔf on the predictions f of every output, λ in proportion to β/(1-β). With 0, unlabelled
        rows are ignored, with a warning.
    graph : {"neighbors", "radius", "gaussian"}, graph, matrix or callable, default="neighbors"
        Which rows are neighbours in the kernel's feature space: a ``NeighborGraph``,
        ``RadiusGraph`` or ``GaussianGraph``; or your own weights, a matrix or a function of the
        rows (``GivenGraph``). Used with ``beta`` > 0.
    relative : bool, default=True
        Whether ``beta`` is relative to the sizes of both terms. With False it is λ as printed in
        the thesis, any number from 0 on: features minimise Σ(f - y)² + λ fᵀΔf (2.19).
    unlabeled : "auto" or None, default="auto"
        NaN and None in y are unlabelled rows; with ``beta`` > 0 so is -1 among classes other than
        -1 and +1, but never among numbers. With None, -1 is a class there too.
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
        Share of the variance of the outputs that each feature explains: for one output the squared
        correlation. Computed on the labelled rows.
    target_loadings_ : ndarray of shape (n_components, n_outputs)
        Coefficients of the features in the prediction: those of ridge regression with ``alpha``, of
        Laplacian-regularised regression with ``beta``. Zero for features beyond the outputs.
    intercept_ : ndarray of shape (n_outputs,)
        Its constant.
    classes_ : ndarray of shape (n_classes,)
        The classes, sorted; only if the target has classes. The nearest indicator is predicted.
    n_components_ : int
        Number of features.
    n_unlabeled_ : int
        Number of rows without a label.
    loadings_, mean_, coordinate_names_
        See :class:`depmax.extraction.DependenceExtractor`; linear only.
    kernel_, target_kernel_ : Kernel
        With every recipe replaced by numbers.

    References
    ----------
    P. Daniušis (2012), Feature extraction via dependence structure optimization, section 2.3.

    Examples
    --------
    >>> import numpy as np
    >>> from depmax import LinearRegressionFeature
    >>> X = np.random.default_rng(0).normal(size=(100, 3))
    >>> LinearRegressionFeature(1).fit(X, 2 * X[:, 0] + X[:, 1]).dependence_.round(6)
    array([1.])

    Eight known values of 300 on a spiral; the graph tells how it goes on between them:

    >>> rng = np.random.default_rng(1)
    >>> y = rng.uniform(1, 3, size=300)
    >>> X = np.column_stack([y * np.cos(4 * y), y * np.sin(4 * y)])
    >>> known = np.where(np.arange(300) < 8, y, np.nan)
    >>> from depmax import NeighborGraph
    >>> options = {"kernel": "gaussian", "alpha": 1e-6, "graph": NeighborGraph(8)}
    >>> model = LinearRegressionFeature(1, beta=0.1, **options)
    >>> bool(abs(np.corrcoef(model.fit_transform(X, known)[:, 0], y)[0, 1]) > 0.98)
    True
    """

    _streams: ClassVar[bool] = True
    _declared: ClassVar = {"beta": number(0)}

    def __init__(
        self,
        n_components: int | float | Literal["auto"] = 2,
        *,
        kernel: KernelLike = "linear",
        alpha: Alpha = "auto",
        beta: float = 0.0,
        graph: GraphLike = "neighbors",
        relative: bool = True,
        unlabeled: Literal["auto"] | None = "auto",
        estimator: Any = None,
        scoring: Any = None,
    ) -> None:
        self.n_components = n_components
        self.kernel = kernel
        self.alpha = alpha
        self.beta = beta
        self.graph = graph
        self.relative = relative
        self.unlabeled = unlabeled
        self.estimator = estimator
        self.scoring = scoring

    def _read_labels(self, y: Any, mass: np.ndarray | None = None) -> Labels:
        self._require_no_graph(mass)
        target = self._read_answers(y)
        labels = output_labels(target, "LinearRegressionFeature", mass)
        self.n_unlabeled_ = labels.n_unlabeled
        self._set_blank_readout(y, target, mass)
        return labels

    def _set_blank_readout(self, y: Any, target: Any, mass: np.ndarray | None) -> None:
        """What is known of predictions before there are features."""
        if not target.is_streamed and target.n_unlabeled:
            mass = None if mass is None else mass[target.labelled]
            target = target.take(target.labelled)
        scale = output_scale(target, mass)
        size = len(scale.mean)
        classes = scale.classes
        if classes is not None and not target.is_streamed:
            classes = label_type(classes, y)
        codes = np.arange(2.0)[:, np.newaxis] if size == 1 else np.eye(size)
        self._spread = np.where(np.isinf(scale.spread), 0.0, scale.spread)
        self._readout = Readout(
            np.zeros((0, size)),
            scale.mean,
            classes,
            None if classes is None else codes,
            0.5 if target.kind == "multilabel" else None,
            classes is not None or is_flat(y),
        )

    def _extract(self, space: Space, target: Explained, n_components: int) -> Directions:
        found = self._explaining(space, target, n_components, 1)
        self._keep_coefficients(space, target, found.vectors)
        total = square_of(target.factor, target.mass) / target.total  # their variance
        return Directions(found.vectors, found.dependence / total)

    def _keep_coefficients(self, space: Space, target: Explained, vectors: np.ndarray) -> None:
        """The regression on features along these directions, in the units of y."""
        found = self._sphered(space, target, 1).coefficients(vectors)
        found[rank_of_factor(target.factor) :] = 0.0  # features beyond those of the outputs
        found = found * self._spread
        intercept = self._readout.intercept
        if target.labelled is not None:  # whose mean is not that of all rows
            middle = space.features(vectors)[target.labelled].mean(axis=0)
            intercept = intercept - middle @ found
        self._readout = replace(self._readout, loadings=found, intercept=intercept)

    def _keep(self, coordinates: Coordinates, found: Directions) -> np.ndarray:
        directions = super()._keep(coordinates, found)
        turns = np.where(np.einsum("ij,ij->j", directions, found.vectors) < 0, -1.0, 1.0)
        loadings = self._readout.loadings[: len(turns)] * turns[:, np.newaxis]
        self._keep_readout(replace(self._readout, loadings=loadings))
        return directions

    def _check_parameters(self) -> None:
        super()._check_parameters()
        if self.relative and self.beta > 1:
            raise ValueError(
                "beta of LinearRegressionFeature must be a number from 0 to 1, got "
                f"{self.beta!r}: larger ones are λ of the thesis, with relative=False."
            )

    def _shares(
        self, target: Explained, total: np.ndarray, smooth: np.ndarray
    ) -> tuple[float, float]:
        if self.relative:
            return super()._shares(target, total, smooth)
        return 1.0, float(self.beta) / target.total  # the variance is a mean over labelled rows

    def _carriers(self, side: Sample, target: Explained) -> int:
        return int(target.factor.shape[1])
