"""The contract of a map, as a check that anybody can run on their own."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import sparse
from sklearn.base import clone

from depmax.kernels import as_kernel


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
