"""The one door through which every estimator reads X."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import sparse
from sklearn.utils.validation import _check_feature_names, check_is_fitted, validate_data

from depmax._inputs.table import (
    Categories,
    encode_frame,
    is_frame,
    read_objects,
    refuse_unreadable,
    require_finite,
    require_numbers,
)


def read_fit(
    estimator: Any,
    X: Any,
    *,
    vector_input: bool = True,
    accept_sparse: bool = False,
    check_finite: bool = True,
) -> tuple[Any, Categories]:
    """Rows for ``fit`` and the levels of categorical columns; sets ``n_features_in_``.

    Without ``check_finite`` the estimator calls ``require_finite_rows`` where it meets a NaN.
    """
    return _read(estimator, X, None, vector_input, accept_sparse, check_finite, reset=True)


def require_finite_rows(estimator: Any, rows: Any) -> None:
    """Refuse NaN and infinity in rows that ``fit`` has read."""
    names = getattr(estimator, "feature_names_in_", None)
    require_finite(rows, None if names is None else tuple(names), "X")


def read_new(
    estimator: Any,
    X: Any,
    *,
    categories: Categories,
    vector_input: bool = True,
    accept_sparse: bool = False,
) -> Any:
    """Rows for ``transform``, checked against what ``fit`` saw."""
    check_is_fitted(estimator)
    return _read(estimator, X, categories, vector_input, accept_sparse, True, reset=False)[0]


def _read(
    estimator: Any,
    X: Any,
    categories: Categories | None,
    vector_input: bool,
    accept_sparse: bool,
    check_finite: bool,
    reset: bool,
) -> tuple[Any, Categories]:
    refuse_unreadable(X, "X")
    if not vector_input:
        rows = read_objects(X)
        if rows.shape[0] == 0:
            raise ValueError("X is empty: found 0 sample(s), at least 1 is needed.")
        if reset:
            estimator.n_features_in_ = 1 if rows.ndim == 1 else rows.shape[1]
            _check_feature_names(estimator, X, reset=True)
        return rows, {}
    found: Categories = {}
    if is_frame(X):
        X, found = encode_frame(X, categories, "X")
    elif categories:
        raise TypeError(
            f"{type(estimator).__name__} was fitted on a data frame with categorical columns: pass "
            "a frame with the same columns, since the numbers of an array are no levels."
        )
    elif isinstance(X, np.ndarray):
        require_numbers(X, "X")
    elif isinstance(X, list | tuple):
        require_numbers(np.asarray(X[:1]), "X")  # the first row tells
    if sparse.issparse(X) and not accept_sparse:
        raise TypeError(
            f"Sparse data was passed to {type(estimator).__name__}, but dense data is required: "
            "its kernel is no function of inner products. Use X.toarray()."
        )
    values = validate_data(
        estimator,
        X,
        reset=reset,
        accept_sparse="csr" if accept_sparse else False,
        dtype=[np.float64, np.float32],
        ensure_all_finite=False,
    )
    if check_finite:
        require_finite_rows(estimator, values)
    return values, found
