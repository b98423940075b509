"""Weights of a sum of kernels, against brute-force searches for the largest dependence."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from scipy import optimize

from depmax import (
    BAHSIC,
    HBFE,
    HSCA,
    KernelPLS,
    alignment,
    hsic,
    hsic_test,
    load_model,
    resolve,
    save_model,
    scan,
    screen,
)
from depmax.kernels import Columns, Gaussian, Laplace, Linear, Polynomial, Spectrum, WeightedSum

rng = np.random.default_rng(0)
X = rng.normal(size=(70, 3))
Y = np.sin(2 * X[:, 0]) + 0.3 * X[:, 1] + 0.2 * rng.normal(size=70)
LABELS = np.digitize(Y, [-0.4, 0.5])
PARTS = [Linear(), Gaussian(0.3), Gaussian(1.0), Laplace(2.0), Polynomial(2)]
H = np.eye(70) - 1 / 70


def centred(kernel):
    return H @ kernel(X) @ H


def reached(weights, target_kernel="linear", y=Y):
    kernel = WeightedSum(PARTS, np.maximum(weights, 0.0).tolist())
    return alignment(X, y, kernel=kernel, target_kernel=target_kernel)


@pytest.mark.parametrize(
    ("y", "target_kernel"), [(Y, "linear"), (Y, "gaussian"), (LABELS, "delta")]
)
class TestAlignment:
    def test_no_weights_align_better(self, y, target_kernel):
        found = resolve(WeightedSum(PARTS), X, y, target_kernel=target_kernel)
        best = reached(found.weights, target_kernel, y)
        assert sum(found.weights) == pytest.approx(1.0)
        assert min(found.weights) >= 0
        draws = np.random.default_rng(1).dirichlet(np.full(5, 0.5), size=60)
        draws = np.vstack([draws, np.eye(5), np.full((1, 5), 0.2)])
        assert max(reached(draw, target_kernel, y) for draw in draws) <= best + 1e-12

    def test_a_general_solver_finds_the_same(self, y, target_kernel):
        found = resolve(WeightedSum(PARTS), X, y, target_kernel=target_kernel)
        sizes = np.array([np.linalg.norm(centred(part)) for part in PARTS])
        result = optimize.minimize(
            lambda u: -reached(u / sizes, target_kernel, y),
            np.full(5, 0.2),
            bounds=[(1e-9, None)] * 5,
            tol=1e-12,
        )
        assert reached(found.weights, target_kernel, y) == pytest.approx(-result.fun, abs=1e-6)


def test_hsic_is_largest_among_weights_of_parts_of_unit_size():
    found = resolve(WeightedSum(PARTS, "hsic"), X, Y, target_kernel="linear")
    L = np.outer(Y - Y.mean(), Y - Y.mean())
    units = [centred(part) / np.linalg.norm(centred(part)) for part in PARTS]
    values = np.array([np.sum(unit * L) for unit in units])
    sizes = np.array([np.linalg.norm(centred(part)) for part in PARTS])
    u = np.array(found.weights) * sizes
    u /= np.linalg.norm(u)
    draws = np.abs(np.random.default_rng(2).normal(size=(2000, 5)))
    draws /= np.linalg.norm(draws, axis=1, keepdims=True)
    assert u @ values >= (draws @ values).max()
    np.testing.assert_allclose(u, values / np.linalg.norm(values))


@pytest.mark.parametrize("weights", ["alignment", "hsic"])
class TestProperties:
    def test_sizes_of_parts_do_not_matter(self, weights):
        plain = resolve(WeightedSum(PARTS, weights), X, Y)
        scaled = [factor * part for factor, part in zip([100, 1, 0.01, 3, 1], PARTS, strict=True)]
        other = resolve(WeightedSum(scaled, weights), X, Y)
        ratio = other(X) / plain(X)
        np.testing.assert_allclose(ratio, ratio[0, 0], rtol=1e-8)

    def test_equal_parts_are_one(self, weights):
        single = resolve(WeightedSum([Gaussian(1.0), Linear()], weights), X, Y)
        twice = resolve(WeightedSum([Gaussian(1.0), Gaussian(1.0), Linear()], weights), X, Y)
        if weights == "alignment":
            assert alignment(X, Y, kernel=twice) == pytest.approx(alignment(X, Y, kernel=single))
        else:
            assert twice.weights[0] == pytest.approx(twice.weights[1])

    def test_parts_are_resolved_first(self, weights):
        found = resolve(WeightedSum(["linear", Gaussian("maximize"), "laplace"], weights), X, Y)
        assert found.is_resolved
        assert all(part.is_resolved for part in found.kernels)
        assert resolve(found, X, -Y) is not None
        assert found.resolve(X).weights == found.weights

    def test_constant_parts_count_nothing(self, weights):
        still = Columns([("first", Linear(), [0])])
        rows = np.column_stack([np.full(70, 3.0), X])
        found = resolve(WeightedSum([still, Gaussian(1.0)], weights), rows, Y)
        np.testing.assert_allclose(found.weights, [0.0, 1.0], atol=1e-12)
        with pytest.raises(ValueError, match="constant on these rows"):
            resolve(WeightedSum([still], weights), rows, Y)

    def test_only_labelled_rows_teach(self, weights):
        y = np.where(np.arange(70) < 40, LABELS, np.nan)
        model = HBFE(2, kernel=WeightedSum([Linear(), Gaussian(1.0)], weights), beta=0.3).fit(X, y)
        expected = resolve(
            WeightedSum([Linear(), Gaussian(1.0)], weights),
            X[:40],
            LABELS[:40].astype(float),
            target_kernel=model.target_kernel_,
        )
        np.testing.assert_allclose(model.kernel_.weights, expected.weights)

    def test_estimators_learn_them(self, weights, tmp_path):
        kernel = WeightedSum([Linear(), Gaussian(1.0)], weights)
        model = HSCA(2, kernel=kernel).fit(X, Y)
        assert kernel.weights == weights  # the parameter stays a recipe
        fixed = HSCA(2, kernel=model.kernel_).fit(X, Y)
        np.testing.assert_allclose(model.transform(X), fixed.transform(X))
        assert KernelPLS(2, kernel=kernel).fit(X, Y).transform(X).shape == (70, 2)
        assert hsic(X, Y, kernel=kernel) == pytest.approx(hsic(X, Y, kernel=resolve(kernel, X, Y)))
        assert len(BAHSIC(1, kernel=kernel).fit(X, Y).get_support(indices=True)) == 1
        pytest.importorskip("skops", reason="the extra 'save' is not installed")
        save_model(model, tmp_path / "model.skops")
        again = load_model(tmp_path / "model.skops")
        np.testing.assert_allclose(again.transform(X), model.transform(X), rtol=1e-12)

    def test_frames_with_categories(self, weights):
        frame = pd.DataFrame(X, columns=list("abc")).assign(kind=pd.Categorical(LABELS > 0))
        parts = [Gaussian(), Laplace()]
        model = HSCA(1, kernel=WeightedSum(parts, weights)).fit(frame, Y)
        assert sum(model.kernel_.weights) == pytest.approx(1.0)

    def test_strings(self, weights):
        words = np.array(["abab", "baba", "aabb", "cdcd", "dccd", "ddcc"], dtype=object)
        kernel = WeightedSum([Spectrum(1), Spectrum(2)], weights)
        model = HBFE(1, kernel=kernel).fit(words, np.array([0, 0, 0, 1, 1, 1]))
        assert model.transform(words).shape == (6, 1)

    @pytest.mark.parametrize("ask", [hsic_test, screen])
    def test_tests_refuse_what_was_learned_on_their_rows(self, weights, ask):
        with pytest.raises(ValueError, match="weights of WeightedSum"):
            ask(X, Y, kernel=WeightedSum([Linear(), Gaussian(1.0)], weights))
        assert hsic_test(X, Y, kernel=WeightedSum([Linear(), Gaussian(1.0)], [1, 2])).pvalue < 0.05

    def test_a_target_is_needed(self, weights):
        kernel = WeightedSum([Linear(), Gaussian(1.0)], weights)
        with pytest.raises(ValueError, match=r"target .*depmax.resolve"):
            resolve(kernel, X)
        with pytest.raises(TypeError, match="rows in memory"):
            HSCA(1, kernel=kernel).fit(
                scan(pd.DataFrame(X, columns=list("abc")).assign(y=Y), target="y")
            )


def test_features_of_sparse_parts():
    from scipy import sparse

    rows = sparse.random(20, 5, density=0.4, random_state=0, format="csr")
    kernel = WeightedSum([Linear(), Linear()], [1.0, 2.0])
    np.testing.assert_allclose(kernel(rows), 3.0 * (rows @ rows.T).toarray())
    assert kernel.features(rows).shape == (20, 10)


@pytest.mark.parametrize(
    ("kernel", "message"),
    [
        (WeightedSum([Linear()], "equal"), "weights of WeightedSum must be 'alignment', 'hsic'"),
        (WeightedSum([Linear()], [1.0, 2.0]), "one number >= 0 for every kernel"),
        (WeightedSum([Linear(), Gaussian(1.0)], [1.0, -2.0]), "one number >= 0 for every kernel"),
        (WeightedSum([Linear()], [0.0]), "not all of them 0"),
        (WeightedSum([]), "must be a list of kernels"),
        (WeightedSum("linear"), "must be a list of kernels"),
    ],
    ids=repr,
)
def test_refusals(kernel, message):
    with pytest.raises(ValueError, match=message):
        resolve(kernel, X, Y)
