"""The contract of a kernel, as a check that anybody can run on their own."""

from __future__ import annotations

from collections.abc import Callable
from functools import reduce
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.base import clone

from depmax.kernels import Kernel, as_kernel


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
