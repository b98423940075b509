"""Distances to what features tell of rows, and rows from features, for all extractors."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import optimize, sparse

from depmax import HBFE, HSCA, LPP, SMA, SMC, IterativePCA, KernelLDA, KernelPLS
from depmax.kernels import Gaussian, InverseMultiquadric, Laplace
from depmax.maps import NystroemMap

rng = np.random.default_rng(3)
X = rng.normal(size=(40, 3))
NEW = rng.normal(size=(7, 3))
Y = np.where(X[:, 0] + X[:, 1] ** 2 > 0.5, 1, 0)
MODELS = [
    IterativePCA(3),
    HBFE(2, target_kernel="linear"),
    HSCA(1, target_kernel="linear"),
    KernelPLS(2),
    KernelLDA(1),
    LPP(2),
]


def with_kernel(model, kernel):
    return model.__class__(**{**model.get_params(deep=False), "kernel": kernel})


def name_of(model):
    return type(model).__name__


@pytest.mark.parametrize("model", MODELS, ids=name_of)
@pytest.mark.parametrize(
    "kernel", ["linear", Gaussian(1.5), NystroemMap(12, random_state=0)], ids=repr
)
def test_error_is_the_distance_to_the_span(model, kernel):
    """Directions w with f(x) = <w, φ(x) - μ>, in exact coordinates of all rows at once."""
    y = Y.astype(float) if isinstance(model, KernelPLS) else Y
    fitted = with_kernel(model, kernel).fit(X, y)
    everything = np.vstack([X, NEW])
    values, vectors = np.linalg.eigh(fitted.kernel_(everything))
    phi = vectors * np.sqrt(np.maximum(values, 0.0))
    about = phi - phi[: len(X)].mean(axis=0)
    # the directions lie in the span of the training rows: the solution of least norm there
    W = np.linalg.pinv(about[: len(X)], rcond=1e-9) @ fitted.transform(X)
    rest = about - about @ W @ np.linalg.pinv(W)
    expected = np.square(rest).sum(axis=1)
    found = fitted.reconstruction_error(everything)
    np.testing.assert_allclose(found, expected, atol=2e-5 * np.square(about).sum(axis=1).max())


def test_without_centring_the_span_goes_through_zero():
    fitted = SMC(2, kernel=Gaussian(1.5), center=False).fit(X, Y)
    chosen = X[fitted.basis_indices_]
    K, crossed = fitted.kernel_(chosen), fitted.kernel_(NEW, chosen)
    expected = 1.0 - np.einsum("ij,jk,ik->i", crossed, np.linalg.inv(K), crossed)
    np.testing.assert_allclose(fitted.reconstruction_error(NEW), expected, atol=1e-9)


def test_a_mean_that_is_not_kept_is_refused_with_the_remedy():
    fitted = SMA(2, kernel=Gaussian(1.5)).fit(X, Y)
    with pytest.raises(ValueError, match=r"2 of its 40 .*center=False"):
        fitted.reconstruction_error(NEW)
    assert SMA(2, kernel="linear").fit(X, Y).reconstruction_error(NEW).shape == (
        7,
    )  # its mean is known


@pytest.mark.parametrize(
    "kernel", [Gaussian(1.2), InverseMultiquadric(1.0), Laplace(2.0, norm=2)], ids=repr
)
def test_preimages_are_the_nearest_rows(kernel):
    """No row that a general optimiser finds from the same points has a nearer image."""
    model = IterativePCA(3, kernel=kernel).fit(X)
    features = model.transform(NEW)
    found = model.inverse_transform(features)
    K = model.kernel_(X)
    H = np.eye(len(X)) - 1 / len(X)
    values, vectors = np.linalg.eigh(H @ K @ H)
    A = H @ vectors[:, ::-1][:, :3] / np.sqrt(values[::-1][:3])  # directions of unit length
    A *= np.sign(np.sum(((K - K.mean(axis=0)) @ A) * model.transform(X), axis=0))
    for row, point in zip(found, features, strict=True):
        gamma = 1 / len(X) + A @ point

        def distance(z, gamma=gamma):
            return float(gamma @ K @ gamma + 1 - 2 * model.kernel_(z[None], X)[0] @ gamma)

        starts = [row, *X[np.argsort([distance(x) for x in X])[:1]]]
        best = min(optimize.minimize(distance, z, method="Nelder-Mead").fun for z in starts)
        assert distance(row) <= best + 1e-4


@pytest.mark.parametrize("model", MODELS, ids=name_of)
def test_every_method_with_a_kernel_of_distances_has_preimages(model):
    y = Y.astype(float) if isinstance(model, KernelPLS) else Y
    fitted = with_kernel(model, Gaussian(1.5)).fit(X, y)
    rebuilt = fitted.inverse_transform(fitted.transform(X))
    assert rebuilt.shape == X.shape
    assert np.isfinite(rebuilt).all()
    with pytest.raises(ValueError, match="component"):
        fitted.inverse_transform(np.zeros((1, 9)))


def test_enough_features_give_the_rows_back():
    model = IterativePCA(39, kernel=Gaussian(1.0)).fit(X)
    np.testing.assert_allclose(model.inverse_transform(model.transform(X)), X, atol=1e-5)
    rows = sparse.csr_matrix(X)
    model = IterativePCA(39, kernel=Gaussian(1.0)).fit(rows)
    np.testing.assert_allclose(model.inverse_transform(model.transform(rows)), X, atol=1e-5)


def test_other_kernels_and_categories_have_none():
    pd = pytest.importorskip("pandas", reason="pandas is not installed")
    assert not hasattr(IterativePCA(2, kernel="polynomial").fit(X), "inverse_transform")
    K = Gaussian(1.0)(X)
    assert not hasattr(IterativePCA(2, kernel="precomputed").fit(K), "inverse_transform")
    frame = pd.DataFrame({"a": X[:, 0], "b": pd.Categorical(np.where(Y, "x", "z"))})
    assert not hasattr(IterativePCA(2, kernel=Gaussian(1.0)).fit(frame), "inverse_transform")
