"""The feature with which linear regression predicts the target."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass
from typing import Any, ClassVar, Literal

import numpy as np

from depmax._parameters import number
from depmax.algebra.directions import ALPHA, Alpha, units_cancel
from depmax.algebra.graphs import GraphLike
from depmax.algebra.row_sums import rank_of_factor, square_of
from depmax.algebra.space import Directions, space_of
from depmax.data import read_target
from depmax.data.sample import Sample
from depmax.data.target import is_flat, label_type
from depmax.extraction._fitting.prediction import Readout, keep_readout, outputs, predicted, scored
from depmax.extraction._fitting.semi_supervised import (
    LabelledRows,
    SemiSupervisedExtractor,
    explained,
)
from depmax.extraction.extractor import Answer, Found, along
from depmax.kernels import KernelLike


@dataclass(eq=False, repr=False)
class LinearRegressionFeature(SemiSupervisedExtractor):
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

    n_components: int | float | Literal["auto"] = 2
    _: KW_ONLY
    kernel: KernelLike = "linear"
    alpha: Alpha = "auto"
    beta: float = 0.0
    graph: GraphLike = "neighbors"
    relative: bool = True
    unlabeled: Literal["auto"] | None = "auto"
    estimator: Any = None
    scoring: Any = None
    _declared: ClassVar = {"alpha": ALPHA, "beta": number(0)}

    def predict(self, X: Any) -> np.ndarray:
        """Targets of new rows, by the regression on the features.

        Parameters
        ----------
        X : as in ``transform``

        Returns
        -------
        ndarray of shape (n_samples,) or (n_samples, n_targets)
            Numbers, classes or labels, in the form of the target that ``fit`` was given.
        """
        return predicted(self, X)

    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """R² of the predictions, or their accuracy if ``fit`` saw classes or labels.

        Parameters
        ----------
        X, y : as in ``fit``
        sample_weight : array-like of shape (n_samples,), optional

        Returns
        -------
        float
        """
        return scored(self, X, y, sample_weight)

    def _read_answer(self, y: Any, weight: np.ndarray | None) -> Answer:
        self._require_no_graph(weight)
        target = read_target(y, **self._target_rules)
        known = LabelledRows.of(target, "LinearRegressionFeature", weight)
        sample, spread, coding = outputs(known.target, "LinearRegressionFeature", known.weight)
        classes, mean = coding.classes, np.asarray(coding.shift)
        if classes is not None and not target.is_streamed:
            classes = label_type(classes, y)
        size = len(mean)
        codes = np.arange(2.0)[:, np.newaxis] if size == 1 else np.eye(size)
        blank = Readout(
            np.diag(np.where(np.isinf(spread), 0.0, spread)),
            mean,
            classes,
            None if classes is None else codes,
            0.5 if target.kind == "multilabel" else None,
            classes is not None or is_flat(y),
        )
        limit = int(sample.n_coordinates or 1)
        return self._counted(Answer.of(known.labels(sample), limit=limit, more=blank))

    def _find(self, data: Sample, answer: Answer, count: int) -> Found:
        space, target, rank = space_of(data), answer.sample, rank_of_factor(answer.factor)
        with space.solving():
            found = explained(self, data, space, answer, count, 1)
            vectors, loadings = found.directions.vectors, found.coefficients()
            loadings[rank:] = 0.0  # features beyond those of the outputs
            middle = np.zeros(vectors.shape[1])
            if answer.labelled is not None:  # whose mean is not that of all rows
                middle = space.features(vectors)[answer.labelled].mean(axis=0)
            total = (
                square_of(answer.factor, target.weight) / target.total
            )  # variance of the outputs
            directions = Directions(vectors, found.directions.dependence / total)
            unit_free = self.beta == 0 and units_cancel(self, data) and count <= rank
            more = loadings, middle
            return along(self, space, directions, unit_free=unit_free, more=more)

    def _keep_more(self, found: Found, answer: Answer) -> None:
        """The regression on the features, in the units of y."""
        loadings, middle = (part[: found.count] for part in found.more)
        blank: Readout = answer.more
        loadings = loadings @ blank.loadings  # times the spread of every output
        intercept = blank.intercept - middle @ loadings
        keep_readout(self, blank.with_fit(loadings * found.turns[:, np.newaxis], intercept))

    def _check_parameters(self) -> None:
        super()._check_parameters()
        if self.relative and self.beta > 1:
            raise ValueError(
                "beta of LinearRegressionFeature must be a number from 0 to 1, got "
                f"{self.beta!r}: larger ones are λ of the thesis, with relative=False."
            )
