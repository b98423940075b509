"""Batches of rows for ``partial_fit``, of which an estimator keeps only sums, in ``_batches``."""

from __future__ import annotations

from typing import Any

from depmax._inputs.table import is_streamed, read_fit, read_new


def keeps_sums(estimator: Any) -> bool:
    """Refuse to continue after ``fit``, which does not keep the sums that batches are added to."""
    if hasattr(estimator, "n_features_in_") and not hasattr(estimator, "_batches"):
        raise AttributeError(
            f"{type(estimator).__name__} was fitted by fit, which keeps no sums to continue from: "
            "pass all batches to partial_fit of a clone."
        )
    return True


def read_batch(estimator: Any, X: Any) -> Any:
    """Rows of a batch as numbers; the first batch sets the estimator's attributes about columns."""
    name = type(estimator).__name__
    if is_streamed(X):
        raise TypeError(
            f"partial_fit of {name} takes batches in memory: fit reads a Dask collection or a "
            "scan a chunk at a time by itself."
        )
    if hasattr(estimator, "_batches") and estimator.__sklearn_is_fitted__():
        return read_new(estimator, X, categories={}, accept_sparse=True)
    known = getattr(estimator, "n_features_in_", None)
    rows, categories = read_fit(estimator, X, accept_sparse=True)
    if known is not None and known != rows.shape[1]:
        raise ValueError(f"X has {rows.shape[1]} features, but {name} expects {known}.")
    if categories:
        names = [str(estimator.feature_names_in_[column]) for column in categories]
        estimator.__dict__.pop("n_features_in_")
        raise TypeError(
            f"partial_fit of {name} takes numbers, but X has categorical columns "
            f"({', '.join(names)}): encode them, e.g. with sklearn.preprocessing.OneHotEncoder."
        )
    return rows
