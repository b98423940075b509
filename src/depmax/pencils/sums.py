"""Sums over samples that the matrices of a criterion are made of."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import sparse

from depmax.pencils.form import Form

#: Columns of Ψ, as a share of those of Φ, up to which one product gives ΦᵀΦ and ΦᵀΨ.
JOINED = 0.125


class Sums:
    """Sums over chunks of samples, their coordinates φ measured from an origin.

    Parameters
    ----------
    form : Form
        Tells which sums are needed.
    origin : ndarray of shape (s,)
        Zero for sparse coordinates.
    dtype : dtype
        Precision of the products within a chunk; sums over chunks are float64.
    """

    def __init__(self, form: Form, origin: np.ndarray, dtype: Any = np.float64) -> None:
        size, width = len(origin), form.factor.shape[1]
        self._form, self._size = form, size
        self._origin = origin.astype(dtype)
        # Φ, a column of ones and, if it is narrow, Ψ: one symmetric product for all of them
        self._joined = width <= JOINED * size
        columns = size + 1 + (width if self._joined else 0)
        self._buffer = np.ones((0, columns), dtype)
        self._product = np.empty((columns, columns), dtype)
        self._joint = np.zeros((columns, columns))
        self._apart = np.zeros((size, width))
        #: Σwφφᵀ of shape (s, s), Σwφ and Σφ over labelled samples, of shape (s,).
        self.weighted = None if form.weights is None else np.zeros((size, size))
        self.pull, self.known = np.zeros(size), np.zeros(size)

    @property
    def total(self) -> np.ndarray:
        """Σφ of shape (s,)."""
        return self._joint[: self._size, self._size]

    @property
    def scatter(self) -> np.ndarray:
        """Σφφᵀ of shape (s, s)."""
        return self._joint[: self._size, : self._size]

    @property
    def cross(self) -> np.ndarray:
        """ΦᵀΨ of shape (s, r)."""
        return self._joint[: self._size, self._size + 1 :] if self._joined else self._apart

    def add(self, rows: slice, phi: Any) -> None:
        """One more chunk of coordinates, not centred."""
        if sparse.issparse(phi):
            self._add_sparse(phi, self._form.factor[rows])
        else:
            phi = self._add_dense(phi, self._form.factor[rows])
        weights = self._form.weights
        if weights is None or self.weighted is None:
            return
        product = phi.T @ _times(weights[rows], phi)
        self.weighted += product.toarray() if sparse.issparse(product) else product
        self.pull += phi.T @ weights[rows]
        if self._form.labelled is not None:
            self.known += phi.T @ self._form.labelled[rows].astype(np.float64)

    def without_buffers(self) -> Sums:
        """These sums, with no room for further chunks kept."""
        self._buffer = self._buffer[:0].copy()
        self._product = np.empty((0, 0))
        return self

    def merge(self, other: Sums) -> None:
        """Add the sums over other samples, about the same origin."""
        self._joint += other._joint
        self._apart += other._apart
        self.pull += other.pull
        self.known += other.known
        if self.weighted is not None and other.weighted is not None:
            self.weighted += other.weighted

    def _add_dense(self, phi: np.ndarray, factor: np.ndarray) -> np.ndarray:
        """Chunk in the buffer; what is returned is measured from the origin."""
        if len(self._buffer) < len(phi):
            self._buffer = np.ones((len(phi), self._buffer.shape[1]), self._buffer.dtype)
        joint = self._buffer[: len(phi)]
        moved = joint[:, : self._size]
        np.subtract(phi, self._origin, out=moved, casting="same_kind")
        if self._joined:
            joint[:, self._size + 1 :] = factor
        else:
            self._apart += moved.T @ factor
        self._joint += np.matmul(joint.T, joint, out=self._product)
        return moved

    def _add_sparse(self, phi: Any, factor: np.ndarray) -> None:
        self.scatter[:] += (phi.T @ phi).toarray()
        self.total[:] += phi.T @ np.ones(phi.shape[0])
        self.cross[:] += phi.T @ factor


def _times(weights: np.ndarray, phi: Any) -> Any:
    """diag(w)Φ."""
    return sparse.diags(weights) @ phi if sparse.issparse(phi) else phi * weights[:, np.newaxis]
