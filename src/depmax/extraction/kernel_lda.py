"""Linear discriminant analysis in the feature space of a kernel."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass
from typing import Any, ClassVar, Literal

import numpy as np

from depmax.algebra.directions import ALPHA, Alpha, units_cancel
from depmax.algebra.graphs import GraphLike
from depmax.algebra.row_sums import rank_of_factor
from depmax.algebra.space import space_of
from depmax.data import read_target
from depmax.data.sample import Labels, Sample
from depmax.data.target import MAX_INTEGER_CLASSES, AnyTarget
from depmax.data.target_messages import refuse_one_class
from depmax.extraction._fitting.semi_supervised import (
    LabelledRows,
    SemiSupervisedExtractor,
    explained,
)
from depmax.extraction.extractor import Answer, Found, along
from depmax.kernels import Delta, KernelLike


def class_labels(target: AnyTarget, name: str, weight: np.ndarray | None = None) -> Labels:
    """Classes of the labelled rows, under the balanced delta kernel."""
    known = LabelledRows.of(target, name, weight)
    if target.kind != "classes":
        found = {"numbers": "numbers", "multilabel": "several labels per row"}
        found["censored"] = "survival times"
        raise ValueError(
            f"{name} separates classes, but y holds {found.get(target.kind, 'several outputs')} "
            "(Unknown label type): use SIR or HBFE, or turn y into classes, as text or whole "
            f"numbers of at most {MAX_INTEGER_CLASSES} different values."
        )
    rows = known.target.labels if target.is_streamed else known.target.values
    sample = Sample(Delta(weights="balanced"), rows, weight=known.weight).resolved()
    if not target.is_streamed and sample.n_coordinates == 1:  # one indicator per class
        refuse_one_class(name)
    return known.labels(sample)


@dataclass(eq=False, repr=False)
class KernelLDA(SemiSupervisedExtractor):
    """Directions along which the class means differ most, relative to the variance.

    The directions p in the kernel's feature space maximise pᵀS_b p / pᵀ(S_t + αI)p with the scatter
    S_b between classes and the total scatter S_t; features are uncorrelated. With the linear kernel
    and α = 0 they are those of linear discriminant analysis. With ``beta`` > 0, features that
    change much between neighbouring rows, labelled or not, are penalised (semi-supervised
    discriminant analysis).

    Parameters
    ----------
    n_components : int, float or "auto", default=2
        Number of features, at most the number of rows and the number of columns. Beyond the number
        of classes minus one, directions of largest variance uncorrelated with the others follow. A
        float is a share of the dependence. ``"auto"`` takes the smallest number whose 3-fold score
        is within one standard error of the best, up to twice the intrinsic dimension.
    kernel : kernel, name, callable, transformer or "precomputed", default="linear"
        A transformer (a map) stands for the inner product of its output.
    alpha : float or "auto", default="auto"
        Variance added to every direction of the denominator's range, relative to the mean there.
        ``"auto"``: none if there are fewer columns than rows minus classes; 0.1 otherwise, since
        any classes could be separated.
    beta : float, default=0.0
        Weight of the graph, from 0 to 1: the denominator is (1-β)·S_t + β·ΦᵀΔΦ, each divided by its
        trace, with Δ the Laplacian. With 0, unlabelled rows are ignored, with a warning.
    graph : {"neighbors", "radius", "gaussian"}, graph, matrix or callable, default="neighbors"
        Which rows are neighbours in the kernel's feature space: a ``NeighborGraph``,
        ``RadiusGraph`` or ``GaussianGraph``; or your own weights, a matrix or a function of the
        rows (``GivenGraph``). Used with ``beta`` > 0.
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
        Share of each feature's variance that lies between classes, pᵀS_b p / pᵀS_t p.
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
    P. Daniušis (2012), Feature extraction via dependence structure optimization, section 3.2.
    D. Cai, X. He, J. Han (2007), Semi-supervised discriminant analysis.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from depmax import KernelLDA
    >>> X, y = load_iris(return_X_y=True)
    >>> KernelLDA(2).fit(X, y).dependence_.round(3)
    array([0.97 , 0.222])
    """

    n_components: int | float | Literal["auto"] = 2
    _: KW_ONLY
    kernel: KernelLike = "linear"
    alpha: Alpha = "auto"
    beta: float = 0.0
    graph: GraphLike = "neighbors"
    unlabeled: Literal["auto"] | None = "auto"
    estimator: Any = None
    scoring: Any = None
    _one_label: ClassVar[bool] = True
    _declared: ClassVar = {"alpha": ALPHA}

    @property
    def _target_rules(self) -> dict[str, Any]:  # type: ignore[override]  # depends on parameters
        """Whole numbers are classes here, even as floats."""
        return {**super()._target_rules, "whole_classes": True}

    def _read_answer(self, y: Any, weight: np.ndarray | None) -> Answer:
        self._require_no_graph(weight)
        labels = class_labels(read_target(y, **self._target_rules), "KernelLDA", weight)
        n_classes = int(labels.sample.n_coordinates or 1)
        return self._counted(Answer.of(labels, limit=n_classes - 1))

    def _batch_labels(self, y: Any) -> np.ndarray:
        return read_target(y, **self._target_rules).values

    def _find(self, data: Sample, answer: Answer, count: int) -> Found:
        """One mean per class; CCᵀ of their indicators e_y/√p_y is the scatter between classes."""
        n_classes, space = answer.factor.shape[1], space_of(data)
        with space.solving():
            found = explained(self, data, space, answer, count, n_classes).directions
            unit_free = self.beta == 0 and units_cancel(self, data, n_classes)
            unit_free = unit_free and count <= rank_of_factor(answer.factor)
            return along(self, space, found, unit_free=unit_free)
