"""From features back to rows: reconstruction errors, and rows that have given features."""

from __future__ import annotations

import warnings
from dataclasses import dataclass, replace
from typing import Any, Self

import numpy as np
from scipy import linalg, sparse
from scipy.spatial.distance import cdist
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.extmath import row_norms
from sklearn.utils.validation import check_array, check_is_fitted

from depmax._resources import chunk_rows, slices
from depmax._text import counted
from depmax.algebra.row_sums import dense
from depmax.algebra.space import FeatureProjection, Projection, SampleProjection
from depmax.data.sample import read_rows
from depmax.data.scan import by_chunks
from depmax.data.table import is_streamed, refuse_unreadable
from depmax.kernels.kernel import Kernel, is_precomputed
from depmax.maps.feature_map import KernelTransformer, is_linear

#: Steps of a pre-image at most, and the share of its value below which a gain ends them.
STEPS, GAIN = 500, 1e-10
#: Relative step of the derivative of a kernel by its squared distance.
DIFFERENCE = 1e-6


@dataclass(frozen=True)
class Subspace:
    """μ + span(w₁, …, w_k) in the kernel's feature space, where features f = ⟨w, φ(x) - μ⟩ live.

    They determine the projection of a row x: the point of this space that is nearest to φ(x).
    """

    kernel: Kernel
    projection: Projection
    inverse: np.ndarray  # (WᵀW)⁺, shape (k, k)
    mean: np.ndarray | None  # μ, in the kernel's features if it has any, shape (D,)
    shares: np.ndarray | None  # or of the reference rows in μ, shape (m,)
    mean_square: float  # ‖μ‖²

    @classmethod
    def of(cls, model: Any) -> Self:
        """Reconstruction by a fitted extractor."""
        projection, kernel = model._projection, model.kernel_
        centred = bool(getattr(model, "center", True))
        if isinstance(projection, FeatureProjection):
            mean = model.mean_ if is_linear(model) else projection.centre
            mean = np.zeros(len(projection.weights)) if mean is None or not centred else mean
            inverse = linalg.pinvh(projection.inner())
            return cls(kernel, projection, inverse, mean, None, float(mean @ mean))
        reference = projection.reference
        if reference.n_rows < model._n_training and centred:
            raise ValueError(
                f"{type(model).__name__} keeps {reference.n_rows} of its {model._n_training} "
                "training rows, but the mean in feature space needs all of them: pass "
                "center=False, or use a method that keeps all, such as KernelPLS or IterativePCA."
            )
        weight = np.ones(reference.n_rows) if model._weight is None else model._weight
        shares = weight / weight.sum() if centred else np.zeros(reference.n_rows)
        both = replace(projection, weights=np.column_stack([projection.weights, shares])).inner()
        return cls(kernel, projection, linalg.pinvh(both[:-1, :-1]), None, shares, both[-1, -1])

    def errors(self, rows: Any) -> np.ndarray:
        """‖φ(x) - μ‖² - fᵀ(WᵀW)⁺f of some rows, not negative."""
        features = self.projection(rows)
        known = np.einsum("ij,jk,ik->i", features, self.inverse, features)
        return np.maximum(self._from_mean(rows) - known, 0.0)

    def preimages(self, features: np.ndarray) -> np.ndarray:
        """Rows whose images are nearest to the points with these features, for radial kernels.

        The point is Σγᵢφ(xᵢ), and Σγᵢk(z, xᵢ) is to be as large as possible. From the best training
        row on, z moves towards Σaᵢxᵢ/Σaᵢ with aᵢ = -γᵢκ'(‖z - xᵢ‖²), the fixed point, and half as
        far whenever that is no gain.
        """
        assert isinstance(self.projection, SampleProjection)
        assert self.shares is not None
        rows = np.asarray(dense(self.projection.reference.rows), dtype=np.float64)
        gamma = self.shares + features @ self.inverse @ self.projection.weights.T  # (n, m)
        best = np.full(len(gamma), -np.inf)
        found = np.zeros((len(gamma), rows.shape[1]))
        for block in slices(len(rows), chunk_rows(len(rows))):
            values = gamma @ self.kernel(rows, rows[block])
            place = values.argmax(axis=1)
            reached = values[np.arange(len(gamma)), place]
            found[reached > best] = rows[block][place[reached > best]]
            best = np.maximum(best, reached)
        return _climb(self.kernel, rows, gamma, found, best)

    def _from_mean(self, rows: Any) -> np.ndarray:
        """‖φ(x) - μ‖² of some rows."""
        if self.mean is None:
            assert isinstance(self.projection, SampleProjection)
            products = self.projection.reference.against(rows) @ self.shares
            distances: np.ndarray = self.kernel.diag(rows) - 2.0 * products + self.mean_square
            return distances
        phi = self.kernel.features(rows)
        if sparse.issparse(phi):
            products = np.asarray(phi @ self.mean).ravel()
            squares: np.ndarray = row_norms(phi, squared=True) - 2.0 * products
            return squares + self.mean_square
        return row_norms(np.asarray(phi, dtype=np.float64) - self.mean, squared=True)


# --- what extractors offer ------------------------------------------------------------------------
def reconstruction_error(self: Any, X: Any) -> np.ndarray:
    """Squared distance of rows, in the kernel's feature space, to the span of the directions.

    The larger it is, the less of a row the features hold. With ``IterativePCA`` it measures how
    unlike the training rows a row is: novelty. ``score_samples`` of outlier detectors is its
    negative.

    Parameters
    ----------
    X : as in ``transform``

    Returns
    -------
    ndarray of shape (n_samples,)
        The least squared distance of φ(x) to μ + span(w₁, …, w_k), with the mean μ of the
        training rows (zero for ``center=False``) and the directions w of the features.

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
    span = Subspace.of(self)
    rows = read_rows(self, X, self._abilities())
    errors = np.empty(rows.shape[0])
    for block in slices(rows.shape[0], chunk_rows(self._width())):
        errors[block] = span.errors(rows[block])
    return errors


def inverse_transform(self: Any, X: Any) -> np.ndarray:
    """Rows with given features.

    With a linear kernel, those of the least squares regression on the features. With a kernel
    of distances (Gaussian, Laplace, …), the rows whose images in feature space are nearest to
    the point with these features: pre-images. ``inverse_transform(transform(X))`` removes noise
    from rows, as far as the features do not hold it.

    Parameters
    ----------
    X : array-like of shape (n_samples, n_components)
        Features.

    Returns
    -------
    ndarray of shape (n_samples, n_features)
        In the columns that ``coordinate_names_`` names, or the columns of X.

    Warns
    -----
    ConvergenceWarning
        Where pre-images still move after 500 steps.

    Examples
    --------
    >>> import numpy as np
    >>> from depmax import IterativePCA
    >>> from depmax.kernels import Gaussian
    >>> rng = np.random.default_rng(0)
    >>> angle = rng.uniform(0, 6.28, 200)
    >>> ring = np.column_stack([np.cos(angle), np.sin(angle)])
    >>> noisy = ring + 0.2 * rng.normal(size=ring.shape)
    >>> model = IterativePCA(4, kernel=Gaussian(1.0)).fit(noisy)
    >>> clean = model.inverse_transform(model.transform(noisy))
    >>> def off_ring(rows):
    ...     return np.abs(np.linalg.norm(rows, axis=1) - 1).mean()
    >>> bool(off_ring(clean) < 0.6 * off_ring(noisy))
    True
    """
    check_is_fitted(self)
    linear = is_linear(self)
    if is_streamed(X):
        width = len(self.mean_) if linear else self.n_features_in_
        return by_chunks(self.inverse_transform, X, width)
    features = read_features(self, X)
    if linear:
        rows = features @ self.loadings_ + self.mean_
    else:
        rows = Subspace.of(self).preimages(features.astype(np.float64))
    return rows.astype(features.dtype, copy=False)


def has_preimages(model: KernelTransformer) -> bool:
    """Whether rows can be found from features: kernels that are linear, or of distances.

    Categorical columns, known once it is fitted, have no rows between their levels.
    """
    kernel = getattr(model, "kernel_", None)
    abilities = model._abilities() if kernel is None else kernel.capabilities
    return is_linear(model) or (abilities.radial and not is_precomputed(model.kernel))


def read_features(model: Any, X: Any) -> np.ndarray:
    """Features that a user gives, one column per component."""
    refuse_unreadable(X, "X", type(model).__name__)
    features: np.ndarray = check_array(X, dtype=[np.float64, np.float32])
    if features.shape[1] != model._n_features_out:
        raise ValueError(
            f"X has {counted(features.shape[1], 'column')}, but {type(model).__name__} has "
            f"{counted(model._n_features_out, 'component')}."
        )
    return features


def _climb(
    kernel: Kernel, rows: np.ndarray, gamma: np.ndarray, start: np.ndarray, value: np.ndarray
) -> np.ndarray:
    """Rows z with large Σγᵢk(z, xᵢ), of shape (n, d), from a start and its values."""
    z, value = start.copy(), value.copy()
    share = np.ones(len(z))  # how far towards the fixed point the next step goes
    moving = np.arange(len(z))
    for _ in range(STEPS):
        squares = cdist(z[moving], rows, "sqeuclidean")
        step = DIFFERENCE * (squares + squares.mean(axis=1, keepdims=True))
        slopes = kernel.of_squares(squares.copy()) - kernel.of_squares(squares + step)
        pull = gamma[moving] * slopes / step  # aᵢ
        total = pull.sum(axis=1, keepdims=True)
        with np.errstate(divide="ignore", invalid="ignore"):
            way = pull @ rows / total - z[moving]
        way[~np.isfinite(way).all(axis=1) | (total[:, 0] <= 0)] = 0.0  # nothing pulls: it stays
        trial = z[moving] + share[moving, np.newaxis] * way
        reached = (gamma[moving] * kernel.of_squares(cdist(trial, rows, "sqeuclidean"))).sum(axis=1)
        gain = reached - value[moving]
        better = gain > 0
        z[moving[better]], value[moving[better]] = trial[better], reached[better]
        share[moving] = np.where(better, np.minimum(2.0 * share[moving], 1.0), share[moving] / 2)
        small = np.abs(gain) <= GAIN * np.abs(value[moving])
        moving = moving[~small & (share[moving] > 1e-6) & way.any(axis=1)]
        if len(moving) == 0:
            return z
    warnings.warn(
        f"Pre-images of {len(moving)} of {len(z)} rows still move after {STEPS} steps; they are "
        "returned as they are.",
        ConvergenceWarning,
        stacklevel=4,
    )
    return z
