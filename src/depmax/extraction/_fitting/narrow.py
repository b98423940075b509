"""Partial least squares from XᵀX and XᵀY alone, for features that are few."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from scipy import linalg, sparse

from depmax._inputs.table import LARGEST
from depmax._threads import small_problems
from depmax.extraction._fitting.deflation import Extracted, Summary
from depmax.extraction._fitting.targets import CodedTarget
from depmax.pencils import Form, Space, leading
from depmax.pencils.projection import FeatureProjection
from depmax.pencils.streamed import BlockImages
from depmax.samples import Sample

#: Kernel values from which on single precision saves time worth having.
MANY = 2**22
#: Rows on which the error of single precision is measured.
SAMPLE = 128
#: Its error, relative to the length of features, up to which it is enough.
LARGEST_ERROR = 1e-5


def unmixed_space(side: Sample, mixing: np.ndarray) -> Space:
    """The rows in the features of a kernel before their last product.

    A map of landmarks is an approximation, and its kernel values need not be more precise than
    it is. Where they are many they are computed and multiplied in single precision and summed
    over chunks of rows in double precision, unless features of some rows tell that more than
    their fifth digit would change: a last product may blow rounding errors up.
    """
    if side.is_streamed:
        images = BlockImages(side.kernel, side.rows.view, unmixed=True)
        return Space.of_blocks(images, side, len(mixing))
    many = side.n_samples * len(mixing) >= MANY
    if not many or not _single_is_enough(side, mixing):
        return Space(
            lambda part: side.kernel.unmixed(side.rows[part]),
            side.n_samples,
            len(mixing),
            concurrent=side.is_array,
        )
    return Space(
        lambda part: side.kernel.unmixed(side.rows[part].astype(np.float32, copy=False)),
        side.n_samples,
        len(mixing),
        float(np.finfo(np.float32).eps),
        dtype=np.float32,
        concurrent=True,
    )


def _single_is_enough(side: Sample, mixing: np.ndarray) -> bool:
    """Whether features of a sample stay what they are when rows are rounded."""
    if not side.is_array:
        return False
    sample = side.rows[:: max(1, side.n_samples // SAMPLE)][:SAMPLE]
    with np.errstate(over="ignore", invalid="ignore"):
        exact = side.kernel.unmixed(sample.astype(np.float64, copy=False)) @ mixing
        rounded = side.kernel.unmixed(sample.astype(np.float32, copy=False)) @ mixing
        error = np.linalg.norm(rounded - exact)
    return bool(error <= LARGEST_ERROR * np.linalg.norm(exact))


#: Features per component up to which one product XᵀX costs less than visits for each component.
FEATURES_PER_COMPONENT = 64
#: What is left of XᵀY, relative to √tr(XᵀX)‖Y‖, to be more than rounding errors.
EXHAUSTED = 1e-13
#: The same for squares: ‖Y_j‖² relative to ‖Y‖², and ‖Xr‖² relative to tr(XᵀX)‖r‖².
EXHAUSTED_SQUARE = 1e-14
#: Roundings of sums in single precision that count as nothing, where these exceed the above.
NOISE = 8.0
#: Features up to which products with S are left to one thread.
SMALL = 1000
#: Ratio of the squared columns of a mixing matrix up to which sums over rows lose few digits.
LARGEST_RATIO = 1e6


def is_narrow(side: Sample, n_components: int) -> bool:
    """Whether the kernel has dense features, and few of them."""
    if side.is_streamed:  # each visit reads the rows again
        return True
    width = side.n_coordinates
    if width is None or sparse.issparse(side.coordinates(slice(0, 1))):
        return False
    return width <= min(side.n_samples, FEATURES_PER_COMPONENT * n_components)


def pls_of_moments(
    side: Sample, target: CodedTarget, n_components: int, refuse: Callable[[], None]
) -> Extracted:
    """Partial least squares from one visit to the rows; T itself is not made.

    With S = XᵀX, C = XᵀY: u is the first left singular vector of C_j, r = u made conjugate to
    earlier ones, p = Sr/rᵀSr, and C_{j+1} = C_j - p rᵀC_j. ``refuse`` looks for what is not
    finite among the rows, if the sums are not.
    """
    centred = target.centred
    mixing = _stable_mixing(side)
    if mixing is None:
        space = Space.of_sample(side)
        moments = space.moments(Form(centred))
        scatter, cross, mean = moments.scatter, moments.cross, space.mean
    else:
        space = unmixed_space(side, mixing)
        moments = space.moments(Form(centred))
        scatter = mixing.T @ moments.scatter @ mixing
        cross, mean = mixing.T @ moments.cross, space.mean @ mixing
    if not (np.isfinite(cross).all() and np.diagonal(scatter).max() <= LARGEST**2):
        refuse()
    # many small products: threads would cost more than they gain
    with small_problems(len(scatter) <= SMALL):
        weights = conjugate_directions(scatter, cross, target.square, n_components, moments.eps)
        image = scatter @ weights
    squares = np.einsum("ij,ij->j", weights, image)
    summary = Summary(cross.T @ weights, squares, image / squares, mean, space, mixing)
    return Extracted(FeatureProjection(side.kernel, weights, mean @ weights), None, summary)


def _stable_mixing(side: Sample) -> np.ndarray | None:
    """The last product of the features, if it can follow the sums over rows without loss."""
    mixing = side.kernel.mixing
    if mixing is None:
        return None
    squares = np.square(mixing).sum(axis=0)
    return mixing if squares.max() <= LARGEST_RATIO * squares.min() else None


def conjugate_directions(
    scatter: np.ndarray,
    cross: np.ndarray,
    square: float,
    n_components: int,
    eps: float = float(np.finfo(np.float64).eps),
) -> np.ndarray:
    """R = U(PᵀU)⁻¹ of shape (D, k), fewer columns where nothing is left.

    Parameters
    ----------
    scatter : ndarray of shape (D, D)
        S = XᵀX.
    cross : ndarray of shape (D, r)
        C = XᵀY.
    square : float
        ‖Y‖².
    n_components : int
    eps : float
        Relative precision of the sums.
    """
    width = len(scatter)
    nothing, no_square = max(EXHAUSTED, NOISE * eps), max(EXHAUSTED_SQUARE, NOISE * eps)
    conjugate = np.empty((width, n_components))  # R
    loadings = np.empty((width, n_components))  # P
    size = np.sqrt(max(float(np.trace(scatter)), 0.0))
    left = square
    for j in range(n_components):
        reached = float(linalg.norm(cross))
        explained = left <= no_square * square
        if explained or not reached > nothing * size * np.sqrt(square):
            return conjugate[:, :j]
        direction = cross[:, 0]
        if cross.shape[1] > 1:
            direction = cross @ leading(cross.T @ cross, 1)[1][:, 0]
        direction = direction / linalg.norm(direction)
        vector = direction - conjugate[:, :j] @ (loadings[:, :j].T @ direction)
        image = scatter @ vector
        length = float(vector @ image)  # ‖τ_j‖²
        if not length > no_square * size**2 * float(vector @ vector):
            return conjugate[:, :j]
        conjugate[:, j], loadings[:, j] = vector, image / length
        covariance = vector @ cross  # τ_jᵀY
        cross = cross - np.outer(loadings[:, j], covariance)
        left = max(left - float(covariance @ covariance) / length, 0.0)
    return conjugate
