"""Canonical correlation analysis, in the feature spaces of two kernels."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar, Literal

import numpy as np
from sklearn.utils.validation import check_is_fitted

from depmax._parameters import number
from depmax.algebra import Directions, Form, Space, Sphere
from depmax.algebra.coordinates import Coordinates, coordinates_of
from depmax.data import read_target
from depmax.data.reading import read_target_sample
from depmax.data.sample import Sample
from depmax.extraction._fitting.quotients import Alpha, SpheringExtractor, automatic_alpha
from depmax.kernels import Delta, KernelLike, Linear


@dataclass(frozen=True)
class Pairs(Directions):
    """Directions of X, and those of the target that belong to them."""

    partners: np.ndarray  # in the coordinates of the target, shape (s, n_pairs)


class KernelCCA(SpheringExtractor):
    """Features of X and features of the target with the largest correlation.

    Directions p of the inputs' feature space and q of the target's maximise the correlation
    pᵀCq/√(pᵀ(S_x + αI)p · qᵀ(S_y + α'I)q) with the covariances S and the cross-covariance C; each
    pair is uncorrelated with earlier ones. With linear kernels and without penalties it is
    canonical correlation analysis; with classes, linear discriminant analysis.

    Parameters
    ----------
    n_components : int, float or "auto", default=2
        Number of features, at most the number of rows and the number of columns. A float is a share
        of the dependence. ``"auto"`` takes the smallest number whose 3-fold score is within one
        standard error of the best, up to twice the intrinsic dimension. Beyond the rank of the
        target, directions of largest variance uncorrelated with the others follow.
    kernel : kernel, name, callable, transformer or "precomputed", default="linear"
        A transformer (a map) stands for the inner product of its output.
    target_kernel : kernel, name or "auto", default="auto"
        ``"auto"``: linear for numbers and multi-labels, indicators for classes.
    alpha, target_alpha : float or "auto", default="auto"
        Variance added to every direction of the range of X, and of the target, relative to the mean
        variance there. ``"auto"``: none if there are fewer columns than rows, 0.1 otherwise, since
        any two such sides correlate perfectly.
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
        Correlation of each feature with its partner in the training rows: without penalties the
        canonical correlations. 0 for features without a partner.
    n_pairs_ : int
        Number of features that have a partner.
    n_components_ : int
        Number of features.
    loadings_, mean_, coordinate_names_
        See :class:`depmax.extraction.DependenceExtractor`; linear only.
    kernel_, target_kernel_ : Kernel
        With every recipe replaced by numbers.

    References
    ----------
    H. Hotelling (1936), Relations between two sets of variates. F. Bach, M. Jordan (2002), Kernel
    independent component analysis. D. Hardoon, S. Szedmak, J. Shawe-Taylor (2004), Canonical
    correlation analysis: an overview with application to learning methods.

    Examples
    --------
    >>> import numpy as np
    >>> from depmax import KernelCCA
    >>> rng = np.random.default_rng(0)
    >>> X, Z = rng.normal(size=(200, 4)), rng.normal(size=(200, 2))
    >>> Z[:, 1] += X[:, 0] - X[:, 3]
    >>> model = KernelCCA(1).fit(X, Z)
    >>> pair = np.column_stack([model.transform(X), model.transform_target(Z)])
    >>> bool(np.isclose(np.corrcoef(pair.T)[0, 1], model.dependence_[0]))
    True
    """

    _declared: ClassVar = {"target_alpha": number(0, also=["auto"])}

    def __init__(
        self,
        n_components: int | float | Literal["auto"] = 2,
        *,
        kernel: KernelLike = "linear",
        target_kernel: KernelLike | Literal["auto"] = "auto",
        alpha: Alpha = "auto",
        target_alpha: Alpha = "auto",
        estimator: Any = None,
        scoring: Any = None,
    ) -> None:
        self.n_components = n_components
        self.kernel = kernel
        self.target_kernel = target_kernel
        self.alpha = alpha
        self.target_alpha = target_alpha
        self.estimator = estimator
        self.scoring = scoring

    def transform_target(self, y: Any) -> np.ndarray:
        """Features of the target, partners of the first ``n_pairs_`` features of X.

        Parameters
        ----------
        y : target of the type that was fitted

        Returns
        -------
        ndarray of shape (n_samples, n_pairs)
            With mean 0 and variance 1 in the training rows.
        """
        check_is_fitted(self)
        rows = _read_side(y, self.target_kernel_).rows
        values: np.ndarray = self._target_projection(rows)
        return values

    def _read_target(self, y: Any, mass: np.ndarray | None = None) -> Sample:
        if isinstance(self.target_kernel, str) and self.target_kernel == "auto":
            target = read_target(y)
            if target.kind == "classes":
                return Sample(Delta(dict.fromkeys(target.classes.tolist(), 1.0)), target.labels)
            return Sample(Linear(), target.vectors)
        return read_target_sample(y, self.target_kernel)

    def _extract(self, space: Space, target: Sample, n_components: int) -> Directions:
        self._target_coordinates = coordinates_of(target)
        other = self._target_coordinates.space
        sphere = Sphere.of_space(other, self._target_penalty(target, other))
        if other.dimension == 0 or sphere.rank == 0:
            raise ValueError(
                "y of KernelCCA is constant (one class or value in all rows): nothing can "
                "correlate with it."
            )
        white = other.features(sphere.whiten)  # the target sphered, shape (m, r)
        cross = space.moments(Form(white / space.n_samples)).cross
        found = self._sphere(space, 1).most_correlated(cross, n_components)
        images = cross.T @ found.vectors  # of each direction, along its partner
        lengths = np.linalg.norm(images, axis=0)
        correlated = lengths > 1e-10 * lengths.max(initial=0.0)
        count = min(int(correlated.sum()), sphere.rank)  # the first ones
        partners = sphere.whiten @ (images[:, :count] / lengths[:count])
        spreads = other.features(partners).std(axis=0)
        partners = partners / spreads
        reached = np.zeros(found.vectors.shape[1])
        reached[:count] = lengths[:count] / spreads  # the covariance of two features of variance 1
        return Pairs(found.vectors, reached, partners)

    def _keep(self, coordinates: Coordinates, found: Directions) -> np.ndarray:
        """Remember the partners too, turned as the features are."""
        assert isinstance(found, Pairs)
        directions = super()._keep(coordinates, found)
        flips = np.sign(np.einsum("ij,ij->j", directions, found.vectors))
        self.n_pairs_ = min(found.partners.shape[1], directions.shape[1])
        partners = found.partners[:, : self.n_pairs_] * flips[: self.n_pairs_]
        self._target_projection = self._target_coordinates.project(partners)
        del self._target_coordinates
        return directions

    def _target_penalty(self, target: Sample, space: Space) -> float:
        """The number that ``target_alpha`` stands for."""
        if self.target_alpha != "auto":
            return float(self.target_alpha)
        return automatic_alpha(space, 1, target.kernel)

    def _carriers(self, side: Sample, target: Sample) -> int:
        return int(target.n_coordinates or target.n_samples)

    def _ignores_units(self, side: Sample, target: Sample, n_components: int) -> bool:
        few = n_components <= min(target.n_coordinates or 0, target.n_samples)
        return few and self._units_cancel(side, 1)


def _read_side(y: Any, kernel: Any) -> Sample:
    """New targets, as the kernel that was fitted reads them."""
    if kernel.capabilities.labels:
        return Sample(kernel, read_target(y, is_part=True).labels)
    if kernel.capabilities.vector_input:
        return Sample(kernel, read_target(y, is_part=True).vectors)
    return read_target_sample(y, kernel)
