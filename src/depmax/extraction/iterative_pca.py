"""Principal components, one after another."""

from __future__ import annotations

import warnings
from typing import Any, ClassVar, Literal

import numpy as np
from scipy import sparse
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.extmath import row_norms
from sklearn.utils.validation import check_is_fitted

from depmax._threads import chunk_rows, slices
from depmax.extraction.extractor import WeightedExtractor
from depmax.kernels import KernelLike
from depmax.pencils import Basis, Directions, Gram, Space, completed, principal
from depmax.samples import Sample, is_precomputed, read_rows


class IterativePCA(WeightedExtractor):
    """Directions of largest variance by deflation, blind to the target.

    Each direction is the principal eigenvector of the scatter matrix of what the earlier ones left
    of the samples. The features are those of principal component analysis, with any kernel those of
    kernel PCA.

    Parameters
    ----------
    n_components : int, float or "auto", default=2
        Number of features, at most the number of rows and of columns. A float is a share of the
        variance; ``"auto"`` the intrinsic dimension.
    kernel : kernel, name, callable, transformer or "precomputed", default="linear"
        A transformer (a map) stands for the inner product of its output.

    Attributes
    ----------
    components_ : ndarray of shape (n_components, n_features)
        Orthonormal directions; with ``kernel="linear"`` only.
    dependence_ : ndarray of shape (n_components,)
        Variance of each feature: the eigenvalues of the scatter matrix over m - 1.
    n_components_ : int
        Number of features.
    loadings_, mean_, coordinate_names_
        See :class:`depmax.extraction.DependenceExtractor`; linear only.
    kernel_ : Kernel
        With every recipe replaced by numbers.

    Warns
    -----
    ConvergenceWarning
        Where fewer features than requested have any variance.

    References
    ----------
    P. Daniušis (2012), Feature extraction via dependence structure optimization, section 3.1.

    Examples
    --------
    >>> import numpy as np
    >>> from depmax import IterativePCA
    >>> X = np.random.default_rng(0).normal(size=(100, 3)) * [1.0, 5.0, 2.0]
    >>> abs(IterativePCA(2).fit(X).components_).round(1)
    array([[0., 1., 0.],
           [0., 0., 1.]])
    """

    _supervised: ClassVar[bool] = False
    _mean_image: np.ndarray | None  # μ in the kernel's coordinates; None without any
    _mass: np.ndarray | None  # how many rows each training row stands for; None: one

    def __init__(
        self, n_components: int | float | Literal["auto"] = 2, *, kernel: KernelLike = "linear"
    ) -> None:
        self.n_components = n_components
        self.kernel = kernel

    def _extract(self, space: Space, target: Any, n_components: int) -> Directions:
        found = principal(space.scatter, n_components, space.eps)
        count = found.vectors.shape[1]
        if count == 0:
            raise ValueError(
                f"All rows of X are equal (n_samples = {space.n_samples}): no direction has any "
                "variance."
            )
        if count < n_components:
            warnings.warn(
                f"IterativePCA found {count} of n_components={n_components} features: no other "
                "direction has any variance.",
                ConvergenceWarning,
                stacklevel=5,  # where fit is called
            )
        return Directions(found.vectors, found.dependence / max(space.total - 1, 1))

    def reconstruction_error(self, X: Any) -> np.ndarray:
        """Squared distance of rows, in the kernel's feature space, to the span of the directions.

        How little a row is like the training rows: novelty. What ``score_samples`` of outlier
        detectors gives is its negative.

        Parameters
        ----------
        X : as in ``transform``

        Returns
        -------
        ndarray of shape (n_samples,)
            ‖φ(x) - μ‖² - ‖f(x)‖² with the mean μ of the training rows and the features f, not
            negative.

        Examples
        --------
        >>> import numpy as np
        >>> from depmax import IterativePCA
        >>> from depmax.kernels import Gaussian
        >>> angle = np.linspace(0, 6.28, 100)
        >>> ring = np.column_stack([np.cos(angle), np.sin(angle)])
        >>> model = IterativePCA(5, kernel=Gaussian(0.7)).fit(ring)
        >>> on_ring, centre = model.reconstruction_error([[0.6, 0.8], [0.0, 0.0]])
        >>> bool(centre > 10 * on_ring)
        True
        """
        check_is_fitted(self)
        if is_precomputed(self.kernel):
            raise ValueError(
                'reconstruction_error needs k(x, x) of new rows, which kernel="precomputed" does '
                "not have: fit with the kernel itself, or with Precomputed(matrix) and row numbers."
            )
        rows = read_rows(self, X, self._abilities())
        errors = np.empty(rows.shape[0])
        for block in slices(rows.shape[0], chunk_rows(self._width())):
            some = rows[block]
            lengths = np.square(self._projection(some)).sum(axis=1)
            errors[block] = self._from_mean(some) - lengths
        return np.maximum(errors, 0.0)

    def _from_mean(self, rows: Any) -> np.ndarray:
        """‖φ(x) - μ‖² of some rows."""
        if self._mean_image is None:
            values = self._projection.reference.against(rows)  # type: ignore[union-attr]  # all training rows are the reference of a kernel without features
            products = np.average(values, axis=1, weights=self._mass)
            distances: np.ndarray = self.kernel_.diag(rows) - 2.0 * products
            return distances + self._mean_square
        phi = self.kernel_.features(rows)
        if sparse.issparse(phi):
            products = np.asarray(phi @ self._mean_image).ravel()
            squares: np.ndarray = row_norms(phi, squared=True) - 2.0 * products
            return squares + float(self._mean_image @ self._mean_image)
        return row_norms(np.asarray(phi, dtype=np.float64) - self._mean_image, squared=True)

    def _prepare(self, side: Sample, labels: Any) -> None:
        """Remember the mean image of the rows, where the kernel has coordinates."""
        self._mean_image = None
        if side.has_features:
            mass = np.ones(side.n_samples) if side.mass is None else side.mass
            parts = ((side.coordinates(rows), mass[rows]) for rows in side.chunks())
            self._mean_image = np.sum([part.T @ each for part, each in parts], axis=0) / side.total

    def _keep(self, coordinates: Any, found: Directions) -> np.ndarray:
        if self._mean_image is None:
            self._mass = coordinates.space.mass
            means = coordinates.mean  # of the columns of K
            self._mean_square = float(np.average(means, weights=self._mass))  # ‖μ‖²
        return super()._keep(coordinates, found)

    def _grows(self) -> bool:
        return True

    def _span(self, gram: Gram, target: Any, n_components: int) -> Basis | None:
        """The directions of most variance: there is no dependence to come before them."""
        return completed(Basis(gram), n_components)
