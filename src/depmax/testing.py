"""The contracts of depmax's parts, as checks that anyone can run on their own parts."""

from __future__ import annotations

from collections.abc import Callable
from functools import reduce
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.base import clone

from depmax.kernels import Kernel, as_kernel

__all__ = ["check_extractor", "check_kernel", "check_map", "check_measure", "check_selector"]


def check_kernel(
    kernel: Any,
    X: Any,
    *,
    oracle: Callable[[Any, Any], float] | None = None,
    tol: float = 1e-9,
) -> None:
    """Check that a kernel keeps the contract on the rows X.

    Symmetry, positive semidefiniteness, its diagonal, blocks equal to parts of the whole,
    permutation of rows, a parameter round trip, recipes refused for two sets of rows, exact
    coordinates, and every capability it declares.

    Parameters
    ----------
    kernel : Kernel or anything ``as_kernel`` takes
    X : at least four rows that the kernel compares
    oracle : function of two single rows, optional
        k(x, z) computed the slow way.
    tol : float, default=1e-9
        Relative to the largest entry of the matrix.

    Examples
    --------
    >>> import numpy as np
    >>> from depmax.kernels import Gaussian
    >>> from depmax.testing import check_kernel
    >>> check_kernel(Gaussian(), np.random.default_rng(0).normal(size=(10, 2)))
    """
    recipe = as_kernel(kernel)
    _check_parameters(recipe)
    _check_recipe(recipe, X)
    resolved = recipe.resolve(X)
    assert resolved.is_resolved, "resolve must return a kernel whose parameters are numbers"
    K = resolved(X)
    atol = tol * max(1.0, float(np.abs(K).max()))
    _check_matrix(resolved, X, K, atol)
    _check_rows(resolved, X, K, atol)
    if oracle is not None:
        slow = np.array([[oracle(x, z) for z in X] for x in X])
        np.testing.assert_allclose(K, slow, atol=atol, err_msg="k(x, z) differs from the oracle")
    if resolved.has_features:
        phi = resolved.features(X)
        phi = phi.toarray() if sparse.issparse(phi) else phi
        np.testing.assert_allclose(
            phi @ phi.T, K, atol=atol, err_msg="features do not reproduce the kernel"
        )
    _check_capabilities(resolved, X, K, atol)


def _check_parameters(kernel: Kernel) -> None:
    copy = clone(kernel)
    assert repr(copy) == repr(kernel), "a clone must have the same parameters"
    for name in kernel.get_params(deep=False):
        assert hasattr(kernel, name), f"__init__ must store the parameter {name} under its name"


def _check_recipe(kernel: Kernel, X: Any) -> None:
    if kernel.is_resolved:
        return
    try:
        kernel(X, X)
    except ValueError:
        return
    raise AssertionError("an unresolved kernel must refuse two sets of rows")


def _check_matrix(kernel: Kernel, X: Any, K: np.ndarray, atol: float) -> None:
    m = len(X) if not sparse.issparse(X) else X.shape[0]
    assert K.shape == (m, m), f"k(X) must have shape {(m, m)}, got {K.shape}"
    assert np.isfinite(K).all(), "k(X) must be finite"
    np.testing.assert_allclose(K, K.T, atol=atol, err_msg="k(x, z) must equal k(z, x)")
    np.testing.assert_allclose(
        kernel.diag(X), np.diag(K), atol=atol, err_msg="diag must equal the diagonal of k(X)"
    )
    smallest = np.linalg.eigvalsh(K)[0]
    assert smallest >= -m * atol, f"k(X) must be positive semidefinite, has {smallest:g}"


def _check_rows(kernel: Kernel, X: Any, K: np.ndarray, atol: float) -> None:
    """Blocks and permutations of rows give blocks and permutations of the matrix."""
    rows = X if hasattr(X, "shape") else np.array(X, dtype=object)
    cut = rows.shape[0] // 2
    np.testing.assert_allclose(
        kernel(rows[:cut], rows[cut:]), K[:cut, cut:], atol=atol, err_msg="a block differs"
    )
    order = np.random.default_rng(0).permutation(rows.shape[0])
    np.testing.assert_allclose(
        kernel(rows[order]), K[np.ix_(order, order)], atol=atol, err_msg="a permutation differs"
    )


def _check_capabilities(kernel: Kernel, X: Any, K: np.ndarray, atol: float) -> None:
    able = kernel.capabilities
    if not (
        able.vector_input and isinstance(X, np.ndarray) and X.dtype.kind == "f" and X.ndim == 2
    ):
        return
    columns = [X[:, [position]] for position in range(X.shape[1])]
    if able.stationary:
        shifted = kernel(X + 1.5)
        np.testing.assert_allclose(shifted, K, atol=10 * atol, err_msg="declared stationary")
    if able.radial:
        squares = np.square(X[:, np.newaxis] - X[np.newaxis]).sum(axis=-1)
        values = kernel.of_squares(squares)
        np.testing.assert_allclose(values, K, atol=10 * atol, err_msg="declared radial")
    if able.additive_over_features:
        parts = reduce(np.add, [kernel(column) for column in columns])
        np.testing.assert_allclose(parts, K, atol=atol, err_msg="declared additive over features")
    if able.factors_over_features:
        parts = reduce(np.multiply, [kernel(column) for column in columns])
        np.testing.assert_allclose(parts, K, atol=atol, err_msg="declared to factor over features")
    if able.is_linear:
        np.testing.assert_allclose(X @ X.T, K, atol=atol, err_msg="declared linear")
    if able.telescopes:
        values = np.sort(X[:, 0])[:3, np.newaxis]
        k = kernel(values)
        assert abs(k[0, 2] - k[0, 1] * k[1, 2]) < atol, "declared to telescope"
    if able.sparse:
        np.testing.assert_allclose(
            kernel(sparse.csr_matrix(X)), K, atol=atol, err_msg="sparse rows differ from dense ones"
        )
    single = kernel(X.astype(np.float32))
    scale = max(1.0, float(np.abs(K).max()))
    np.testing.assert_allclose(single, K, atol=1e-4 * scale, err_msg="float32 rows differ")


def check_map(transformer: Any, X: Any, *, kernel: Any = None, tol: float | None = None) -> None:
    """Check that a map keeps the contract on the rows X.

    Training rows and new rows are mapped alike, chunks of rows give chunks of the map, clones and
    repeated fits agree, names match the columns, and the map never exceeds its kernel on the
    diagonal by more than ``tol``.

    Parameters
    ----------
    transformer : a scikit-learn transformer with a ``kernel_`` once fitted
    X : rows
    kernel : kernel, optional
        The kernel that the map's inner products approximate; ``kernel_`` by default.
    tol : float, optional
        If given, largest allowed ``|ΦΦᵀ - K|`` relative to the largest entry of K.

    Examples
    --------
    >>> import numpy as np
    >>> from depmax.maps import KernelMap
    >>> from depmax.testing import check_map
    >>> check_map(KernelMap(), np.random.default_rng(0).normal(size=(10, 2)), tol=1e-8)
    """
    fitted = clone(transformer)
    phi = _dense(fitted.fit_transform(X))
    m = phi.shape[0]
    assert np.isfinite(phi).all(), "the map must be finite"
    np.testing.assert_allclose(
        _dense(fitted.transform(X)), phi, atol=1e-8, err_msg="transform differs from fit_transform"
    )
    rows = X if hasattr(X, "shape") else np.array(X, dtype=object)
    halves = [fitted.transform(rows[: m // 2]), fitted.transform(rows[m // 2 :])]
    np.testing.assert_allclose(
        np.vstack([_dense(half) for half in halves]), phi, atol=1e-8, err_msg="chunks differ"
    )
    again = _dense(clone(transformer).fit(X).transform(X))
    if getattr(transformer, "random_state", 0) is not None:
        np.testing.assert_allclose(again, phi, atol=1e-8, err_msg="a second fit differs")
    assert len(fitted.get_feature_names_out()) == phi.shape[1], "one name per column of the map"
    if tol is not None:
        target = as_kernel(fitted.kernel_ if kernel is None else kernel).resolve(X)
        K = target(X)
        scale = max(1.0, float(np.abs(K).max()))
        np.testing.assert_allclose(
            phi @ phi.T, K, atol=tol * scale, err_msg="inner products differ from the kernel"
        )


def _dense(rows: Any) -> np.ndarray:
    return rows.toarray() if sparse.issparse(rows) else np.asarray(rows)


def check_measure(
    measure: Callable[[Any, Any], float],
    X: np.ndarray,
    y: np.ndarray,
    *,
    shift_invariant: bool = True,
    tol: float = 1e-8,
) -> None:
    """Check that a measure of dependence keeps the contract on paired samples X and y.

    One finite float, the same for any order of the rows, for any memory layout, in float32 within
    its precision, and after a shift of X (if ``shift_invariant``); rows of unequal number and NaN
    are refused with a ValueError.

    Parameters
    ----------
    measure : function of X and y that returns a float
    X, y : paired samples
    shift_invariant : bool, default=True
    tol : float, default=1e-8

    Examples
    --------
    >>> import numpy as np
    >>> from depmax import hsic
    >>> from depmax.testing import check_measure
    >>> X = np.random.default_rng(0).normal(size=(30, 2))
    >>> check_measure(hsic, X, X[:, 0])
    """
    value = measure(X, y)
    assert isinstance(value, float), f"a measure returns a float, got {type(value)}"
    assert np.isfinite(value), f"a measure is finite, got {value}"
    scale = tol * max(1.0, abs(value))
    order = np.random.default_rng(0).permutation(len(X))
    _same(measure(X[order], y[order]), value, scale, "the order of the rows matters")
    _same(measure(np.asfortranarray(X), y), value, scale, "the memory layout matters")
    single = measure(X.astype(np.float32), y)
    _same(single, value, 1e-3 * max(1.0, abs(value)), "float32 rows give another value")
    if shift_invariant:
        _same(measure(X + 3.0, y), value, 10 * scale, "a shift of X matters")
    for bad_x, bad_y, why in ((X[:-1], y, "unequal lengths"), (_with_nan(X), y, "NaN")):
        try:
            measure(bad_x, bad_y)
        except ValueError:
            continue
        raise AssertionError(f"{why} must be refused with a ValueError")


def _same(value: float, expected: float, atol: float, message: str) -> None:
    assert abs(value - expected) <= atol, f"{message}: {value} against {expected}"


def _with_nan(X: np.ndarray) -> np.ndarray:
    spoiled = np.array(X, dtype=np.float64)
    spoiled.flat[0] = np.nan
    return spoiled


def check_selector(selector: Any, X: np.ndarray, y: Any) -> None:
    """Check that a selector keeps the contract on X and y.

    Distinct ranks from 1, the support being the first of them, finite scores, a kept substitute for
    every dropped column, the same answer for a second fit, and constant columns never kept before
    others.

    Parameters
    ----------
    selector : an unfitted selector that keeps fewer columns than X has
    X : ndarray of shape (n_samples, n_features)
    y : target

    Examples
    --------
    >>> import numpy as np
    >>> from depmax import BAHSIC
    >>> from depmax.testing import check_selector
    >>> X = np.random.default_rng(0).normal(size=(40, 5))
    >>> check_selector(BAHSIC(2), X, (X[:, 0] > 0).astype(int))
    """
    fitted = clone(selector).fit(X, y)
    n_features = X.shape[1]
    assert sorted(fitted.ranking_) == list(range(1, n_features + 1)), "ranks must be 1..n_features"
    kept = np.flatnonzero(fitted.support_)
    assert set(fitted.ranking_[kept]) == set(range(1, len(kept) + 1)), "the first ranks are kept"
    assert fitted.scores_.shape == (n_features,), "one score per column"
    assert np.isfinite(fitted.scores_).all(), "scores must be finite"
    np.testing.assert_array_equal(fitted.transform(X), X[:, kept])
    assert (fitted.substitutes_[kept] == -1).all(), "a kept column needs no substitute"
    replaced = fitted.substitutes_[~fitted.support_]
    assert fitted.support_[replaced[replaced >= 0]].all(), "a substitute must be kept itself"
    again = clone(selector).fit(X, y)
    np.testing.assert_array_equal(again.ranking_, fitted.ranking_, err_msg="a second fit differs")
    spoiled = np.column_stack([np.full(len(X), 3.0), X])
    constant = clone(selector).fit(spoiled, y)
    assert constant.ranking_[0] > len(kept), "a constant column must not be kept before others"
    assert np.isfinite(constant.scores_).all(), "a constant column must not spoil the scores"


def check_extractor(extractor: Any, X: np.ndarray, y: Any, *, tol: float = 1e-6) -> None:
    """Check that an extractor keeps the contract on X and y.

    Features with mean zero on the training rows, the same from ``fit_transform`` as from
    ``transform``; one dependence per feature; a feature that neither an offset of X nor the order
    of the rows changes, nor a second fit; names; and for linear features weights that make them.

    Parameters
    ----------
    extractor : an unfitted extractor
    X : ndarray of shape (n_samples, n_features)
    y : target
    tol : float, default=1e-6
        Relative to the largest feature value.

    Examples
    --------
    >>> import numpy as np
    >>> from depmax import HBFE
    >>> from depmax.testing import check_extractor
    >>> X = np.random.default_rng(0).normal(size=(40, 5))
    >>> check_extractor(HBFE(2), X, (X[:, 0] > 0).astype(int))
    """
    fitted = clone(extractor).fit(X, y)
    features = fitted.transform(X)
    count = features.shape[1]
    atol = tol * np.abs(features).max()
    assert np.isfinite(features).all(), "features must be finite"
    assert np.abs(features.mean(axis=0)).max() <= atol, "training features must have mean zero"
    assert len(fitted.get_feature_names_out()) == count, "one name per feature"
    assert np.shape(fitted.dependence_) == (count,), "one dependence per feature"
    assert np.isfinite(fitted.dependence_).all(), "dependence_ must be finite"

    def same(other: np.ndarray, why: str) -> None:
        np.testing.assert_allclose(other, features, atol=atol, err_msg=why)

    same(clone(extractor).fit_transform(X, y), "fit_transform differs from transform")
    same(clone(extractor).fit(X, y).transform(X), "a second fit differs")
    same(clone(extractor).fit_transform(X + 100.0, y), "an offset of X changes the features")
    order = np.random.default_rng(0).permutation(len(X))
    shuffled = clone(extractor).fit(X[order], np.asarray(y)[order]).transform(X)
    same(shuffled, "the order of the rows changes the features")
    if hasattr(fitted, "components_"):
        same((X - X.mean(axis=0)) @ fitted.components_.T, "components_ do not make the features")
        rebuilt = fitted.inverse_transform(features)
        assert rebuilt.shape == X.shape, "inverse_transform must give rows like those of X"
        error = X - rebuilt
        assert np.abs(features.T @ error).max() <= tol * np.abs(features.T @ X).max(), (
            "inverse_transform is not the least squares regression on the features"
        )
