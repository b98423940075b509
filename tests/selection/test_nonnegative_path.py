"""The path solver against scikit-learn, the optimality conditions and brute force.

Private modules: the solver is compared on designs that no table has.
"""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from scipy.optimize import nnls
from sklearn.linear_model import Lasso, lars_path

from depmax.selection.hsic_lasso import nonnegative_path
from tests.selection.lasso_oracles import ExplicitDesign


def random_design(seed: int, length: int = 40, n_features: int = 12) -> ExplicitDesign:
    """Correlated columns, so that some leave the path again."""
    rng = np.random.default_rng(seed)
    mixed = rng.normal(size=(length, n_features)) @ rng.normal(size=(n_features, n_features))
    target = mixed @ rng.uniform(0, 1, n_features) + 3 * rng.normal(size=length)
    return ExplicitDesign(mixed / np.linalg.norm(mixed, axis=0), target)


@pytest.mark.parametrize("seed", range(8))
def test_equals_the_path_of_scikit_learn(seed: int) -> None:
    design = random_design(seed)
    path = nonnegative_path(design, n_active=12)
    alphas, active, coefs = lars_path(
        design.columns, design.target, method="lasso", positive=True, alpha_min=0.0
    )
    np.testing.assert_allclose(path.penalties, alphas * len(design.target), atol=1e-9)
    assert path.active == list(active)
    # At λ = 0 itself scikit-learn's coefficients are no solution, as its documentation says.
    np.testing.assert_allclose(path.coef, nnls(design.columns, design.target)[0], atol=1e-7)
    for n_active in (1, 2, 3, 5):
        part = nonnegative_path(design, n_active)
        np.testing.assert_allclose(part.coef, coefs[:, len(part.penalties) - 1], atol=1e-9)


def test_some_columns_leave_the_paths_that_are_compared() -> None:
    paths = [nonnegative_path(random_design(seed), 12) for seed in range(8)]
    assert any(np.isfinite(path.entered).sum() > len(path.active) for path in paths)


@pytest.mark.parametrize("n_active", [1, 2, 4])
def test_stops_where_one_more_would_enter_and_is_optimal_there(n_active: int) -> None:
    design = random_design(1)
    path = nonnegative_path(design, n_active)
    penalty = path.penalties[-1]
    gradient = design.columns.T @ (design.target - design.columns @ path.coef)
    assert len(path.active) == n_active
    assert np.all(path.coef[path.active] > 0)
    assert np.count_nonzero(path.coef) == n_active
    np.testing.assert_allclose(gradient[path.active], penalty, atol=1e-10)
    rest = np.delete(gradient, path.active)
    assert rest.max() == pytest.approx(penalty, abs=1e-10)
    lasso = Lasso(alpha=penalty / 40, positive=True, fit_intercept=False, tol=1e-12, max_iter=10**5)
    np.testing.assert_allclose(path.coef, lasso.fit(design.columns, design.target).coef_, atol=1e-7)


def test_ends_at_non_negative_least_squares_by_brute_force() -> None:
    design = random_design(3, n_features=6)
    errors = {}
    for count in range(7):
        for chosen in itertools.combinations(range(6), count):
            some = design.columns[:, list(chosen)]
            coef = np.linalg.lstsq(some, design.target)[0]
            if np.all(coef >= 0):
                errors[chosen] = float(np.sum((design.target - some @ coef) ** 2))
    best = min(errors, key=lambda chosen: errors[chosen])
    path = nonnegative_path(design, n_active=6)
    assert tuple(np.flatnonzero(path.coef)) == best
    left = design.target - design.columns @ path.coef
    assert float(left @ left) == pytest.approx(errors[best], rel=1e-9)
    assert path.penalties[-1] == 0.0


def test_steps_tell_the_alignment() -> None:
    design = random_design(4)
    count, alignment = nonnegative_path(design, 3).steps[-1]
    fitted = design.columns @ nonnegative_path(design, 3).coef
    cosine = fitted @ design.target / np.linalg.norm(fitted) / np.linalg.norm(design.target)
    assert count == 3
    assert alignment == pytest.approx(cosine, rel=1e-12)


def test_copies_and_constants_never_enter() -> None:
    plain = random_design(5, n_features=5)
    doubled = np.column_stack([plain.columns, plain.columns[:, ::-1], np.zeros(40)])
    path = nonnegative_path(ExplicitDesign(doubled, plain.target), 11)
    alone = nonnegative_path(plain, 5)
    assert path.active == alone.active
    np.testing.assert_allclose(path.coef[:5], alone.coef, atol=1e-10)
    assert set(path.copies) == {9 - j for j in np.flatnonzero(np.isfinite(alone.entered))}
    assert np.isnan(path.entered[10])


def test_a_column_that_the_active_ones_reproduce_is_a_copy() -> None:
    rng = np.random.default_rng(0)
    basis = np.linalg.qr(rng.normal(size=(20, 3)))[0]
    columns = np.column_stack([basis, (basis[:, 0] + basis[:, 1]) / 2])
    target = basis @ [3.0, 2.9, 1.0]
    path = nonnegative_path(ExplicitDesign(columns, target), 4)
    assert path.active == [0, 1, 2]
    np.testing.assert_allclose(columns @ path.coef, target, atol=1e-8)


def test_equal_columns_of_equal_strength_enter_in_order() -> None:
    path = nonnegative_path(ExplicitDesign(np.eye(6)[:, :4], np.ones(6)), 4)
    assert path.active == [0, 1, 2, 3]
    np.testing.assert_allclose(path.coef, 1.0, atol=1e-12)
    assert path.penalties == [1.0, 0.0]


def test_nothing_enters_where_nothing_correlates() -> None:
    path = nonnegative_path(ExplicitDesign(np.eye(3), -np.ones(3)), 2)
    assert path.active == []
    assert not path.coef.any()


def test_the_order_does_not_depend_on_how_many_are_asked_for_ahead() -> None:
    design = random_design(6)
    one = nonnegative_path(design, 6)
    design.ahead = lambda n_known: 1
    assert nonnegative_path(design, 6).active == one.active
