from __future__ import annotations

from contextlib import contextmanager, nullcontext
from functools import partial

import numpy as np
import pytest
from scipy import sparse

from depmax.algebra import row_sums as module
from depmax.algebra.space import Form, Space, hsic_form

rng = np.random.default_rng(0)
PHI = rng.normal(loc=(0.0, 5.0, -1.0), size=(300, 3))
PSI = rng.normal(size=(300, 2))
PSI = PSI - PSI.mean(axis=0)
WEIGHTS = rng.normal(size=300)


@pytest.fixture(params=[2**17, 3 * 64], ids=["one chunk", "many"])
def _chunks(request, monkeypatch):
    monkeypatch.setattr(module, "CHUNK", request.param)


@pytest.mark.usefixtures("_chunks")
class TestMoments:
    @pytest.mark.parametrize("offset", [0.0, 1e6])
    @pytest.mark.parametrize("form", [Form(PSI), Form(PSI, WEIGHTS)], ids=["plain", "weighted"])
    def test_equal_sums_over_centred_rows(self, form, offset):
        space = Space(PHI + offset)
        moments = space.moments(form)
        phi = PHI - PHI.mean(axis=0)
        atol = 1e-16 * offset * 300
        np.testing.assert_allclose(moments.cross, phi.T @ PSI, atol=1e-10 + 10 * atol)
        np.testing.assert_allclose(moments.scatter, phi.T @ phi, atol=1e-10 + 100 * atol)
        A = phi.T @ PSI @ PSI.T @ phi
        if form.diagonal is not None:
            A -= phi.T @ np.diag(WEIGHTS) @ phi
        np.testing.assert_allclose(moments.criterion, A, rtol=1e-7, atol=1e-8 + 1e4 * atol)
        np.testing.assert_allclose(space.mean, PHI.mean(axis=0) + offset)

    def test_sparse_rows_stay_sparse(self):
        dense = Space(PHI).moments(Form(PSI, WEIGHTS))
        thin = Space(sparse.csr_matrix(PHI)).moments(Form(PSI, WEIGHTS))
        np.testing.assert_allclose(thin.cross, dense.cross, atol=1e-9)
        np.testing.assert_allclose(thin.scatter, dense.scatter, atol=1e-9)
        np.testing.assert_allclose(thin.weighted, dense.weighted, atol=1e-9)

    @pytest.mark.parametrize("rows", [PHI, sparse.csr_matrix(PHI)], ids=["dense", "sparse"])
    def test_other_sums(self, rows):
        phi = PHI - PHI.mean(axis=0)
        space = Space(rows)
        np.testing.assert_allclose(space.centred(), phi, atol=1e-12)
        np.testing.assert_allclose(space.cross(PSI), phi.T @ PSI, atol=1e-10)
        np.testing.assert_allclose(space.features(np.eye(3)[:, :2]), phi[:, :2], atol=1e-12)
        np.testing.assert_allclose(
            space.weighted_scatter(WEIGHTS), phi.T @ (WEIGHTS[:, None] * phi), atol=1e-9
        )
        np.testing.assert_allclose(space.scatter, phi.T @ phi, atol=1e-9)


@pytest.mark.parametrize("center", [True, False])
@pytest.mark.parametrize(
    ("make", "offset"),
    [(np.asarray, 0.0), (np.asarray, 1e7), (sparse.csr_matrix, 0.0), (sparse.csr_matrix, 1e3)],
    ids=["dense", "dense, far", "sparse", "sparse, far"],
)
def test_products_with_samples_of_any_offset(make, offset, center):
    rows = PHI + offset
    phi = rows - rows.mean(axis=0) if center else rows
    space = Space(make(rows), center=center)
    values = PSI - PSI.mean(axis=0)
    scale = np.abs(rows).max() if make is not np.asarray or not center else 1.0
    tolerance = 1e-12 * max(scale, 10.0) + 1e-15 * offset
    np.testing.assert_allclose(space.cross(values), phi.T @ values, atol=300 * tolerance)
    np.testing.assert_allclose(space.features(np.eye(3)), phi, atol=tolerance)
    np.testing.assert_allclose(space.variance, np.sum(phi**2), rtol=1e-9 * scale)
    if not center:
        assert not space.mean.any()


def test_samples_are_visited_once():
    visits = []

    def block(rows):
        visits.append(rows)
        return PHI[rows]

    space = Space(block, (300, 3))
    space.moments(hsic_form(PSI, unbiased=True))
    assert len(visits) == 1
    assert space.mean.shape == (3,)
    assert len(visits) == 1


@pytest.mark.parametrize("unbiased", [False, True])
def test_parts_in_threads(unbiased, monkeypatch):
    form = hsic_form(PSI, unbiased=unbiased)
    whole = Space(PHI).moments(form)
    monkeypatch.setattr(module, "CHUNK", 1)  # 64 samples at a time
    rows = np.tile(np.arange(300), 4)  # 19 chunks
    several = hsic_form(PSI[rows], unbiased=unbiased)
    found = []
    for threads in (1, 3):
        monkeypatch.setattr(module, "blas_threads_for_parts", partial(nullcontext, threads))
        space = Space(PHI[rows])
        found.append((space.moments(several), space.mean))
    np.testing.assert_array_equal(found[0][0].criterion, found[1][0].criterion)
    np.testing.assert_array_equal(found[0][0].scatter, found[1][0].scatter)
    np.testing.assert_array_equal(found[0][1], found[1][1])
    np.testing.assert_allclose(found[0][0].scatter, 4 * whole.scatter)
    one_by_one = Space(lambda part: PHI[rows][part], (1200, PHI.shape[1]))
    criterion = one_by_one.moments(several).criterion
    np.testing.assert_allclose(
        found[0][0].criterion, criterion, atol=1e-12 * np.abs(criterion).max()
    )


@contextmanager
def _three_threads():
    yield 3


@pytest.mark.parametrize("width", [1, 2, 7], ids=["joined", "joined, two", "apart"])
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_threads_and_precision(width, dtype, monkeypatch, rng):
    """Sums of coordinates in single precision are in double, too."""
    monkeypatch.setattr(module, "CHUNK", 64 * 16)
    monkeypatch.setattr(module, "blas_threads_for_parts", _three_threads)
    given = rng.normal(loc=3.0, size=(500, 16)).astype(dtype)
    phi = given.astype(np.float64)
    form = Form(rng.normal(size=(500, width)), rng.normal(size=500))
    space = Space(lambda rows: given[rows], (500, 16), concurrent=True)
    moments = space.moments(form)
    centred = phi - phi.mean(axis=0)
    tolerance = 1e-10
    np.testing.assert_allclose(space.mean, phi.mean(axis=0), rtol=tolerance)
    np.testing.assert_allclose(moments.scatter, centred.T @ centred, atol=tolerance)
    np.testing.assert_allclose(moments.cross, centred.T @ form.factor, atol=tolerance)
    weighted = centred.T @ (form.diagonal[:, np.newaxis] * centred)
    np.testing.assert_allclose(moments.weighted, weighted, atol=10 * tolerance)
    assert moments.scatter.dtype == np.float64


@pytest.mark.parametrize("offset", [0.0, 1e6])
@pytest.mark.parametrize("center", [True, False])
def test_mean_and_variance_of_rows_in_memory(offset, center):
    rows = PHI + offset
    space = Space(rows, center=center)
    mean = rows.mean(axis=0) if center else np.zeros(3)
    np.testing.assert_array_equal(space.mean, mean)
    np.testing.assert_allclose(space.variance, np.sum((rows - mean) ** 2), rtol=1e-12)
