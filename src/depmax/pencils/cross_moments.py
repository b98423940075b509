"""Sums over rows from which every dependence measure of two maps follows."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from scipy import sparse


@dataclass(frozen=True)
class CrossMoments:
    """The nine row-additive moments of two maps φ and ψ, about an origin of each.

    Additive over rows and closed under a change of origin: chunks may be summed in any order and
    about different origins, and merged afterwards. With weights every sum is weighted.
    """

    weight: float  # Σ w, the number of rows when unweighted
    sum_x: np.ndarray  # Σ φ, shape (D,)
    sum_y: np.ndarray  # Σ ψ, shape (E,)
    cross: np.ndarray  # Σ φψᵀ, shape (D, E)
    norm_x: float  # Σ ‖φ‖²
    norm_y: float  # Σ ‖ψ‖²
    norm_xy: float  # Σ ‖φ‖²‖ψ‖²
    norm_x_y: np.ndarray  # Σ ‖φ‖²ψ, shape (E,)
    norm_y_x: np.ndarray  # Σ ‖ψ‖²φ, shape (D,)
    origin_x: np.ndarray  # what φ was measured from, shape (D,)
    origin_y: np.ndarray  # what ψ was measured from, shape (E,)

    @classmethod
    def of(
        cls,
        phi: Any,
        psi: Any,
        weights: np.ndarray | None = None,
        origin_x: np.ndarray | None = None,
        origin_y: np.ndarray | None = None,
    ) -> CrossMoments:
        """Moments of some rows, about the given origins (by default the rows' own means).

        Sparse rows are kept sparse and measured from zero.
        """
        phi, origin_x = _about(phi, origin_x)
        psi, origin_y = _about(psi, origin_y)
        w = np.ones(phi.shape[0]) if weights is None else np.asarray(weights, dtype=np.float64)
        squares_x, squares_y = _squares(phi), _squares(psi)
        weighted = psi * w[:, np.newaxis] if not sparse.issparse(psi) else sparse.diags(w) @ psi
        cross = phi.T @ weighted
        return cls(
            weight=float(w.sum()),
            sum_x=phi.T @ w,
            sum_y=psi.T @ w,
            cross=cross.toarray() if sparse.issparse(cross) else cross,
            norm_x=float(w @ squares_x),
            norm_y=float(w @ squares_y),
            norm_xy=float(w @ (squares_x * squares_y)),
            norm_x_y=psi.T @ (w * squares_x),
            norm_y_x=phi.T @ (w * squares_y),
            origin_x=origin_x,
            origin_y=origin_y,
        )

    def about(self, origin_x: np.ndarray, origin_y: np.ndarray) -> CrossMoments:
        """The same rows measured from other origins."""
        a, b = origin_x - self.origin_x, origin_y - self.origin_y  # φ' = φ - a, ψ' = ψ - b
        aa, bb = a @ a, b @ b
        squares_x = self.norm_x - 2 * a @ self.sum_x + self.weight * aa
        squares_y = self.norm_y - 2 * b @ self.sum_y + self.weight * bb
        # Σ (‖φ‖² - 2aᵀφ + ‖a‖²) ψ and its mirror image
        mixed_y = self.norm_x_y - 2 * self.cross.T @ a + aa * self.sum_y
        mixed_x = self.norm_y_x - 2 * self.cross @ b + bb * self.sum_x
        both = (
            self.norm_xy
            - 2 * a @ self.norm_y_x
            - 2 * b @ self.norm_x_y
            + 4 * a @ self.cross @ b
            + aa * (self.norm_y - 2 * b @ self.sum_y + self.weight * bb)
            + bb * (self.norm_x - 2 * a @ self.sum_x)
        )
        return replace(
            self,
            sum_x=self.sum_x - self.weight * a,
            sum_y=self.sum_y - self.weight * b,
            cross=self.cross
            - np.outer(a, self.sum_y)
            - np.outer(self.sum_x, b)
            + self.weight * np.outer(a, b),
            norm_x=float(squares_x),
            norm_y=float(squares_y),
            norm_xy=float(both),
            norm_x_y=mixed_y - b * squares_x,
            norm_y_x=mixed_x - a * squares_y,
            origin_x=origin_x,
            origin_y=origin_y,
        )

    def __add__(self, other: CrossMoments) -> CrossMoments:
        """Moments of the rows of both, about the origins of the left one."""
        other = other.about(self.origin_x, self.origin_y)
        return replace(
            self,
            weight=self.weight + other.weight,
            sum_x=self.sum_x + other.sum_x,
            sum_y=self.sum_y + other.sum_y,
            cross=self.cross + other.cross,
            norm_x=self.norm_x + other.norm_x,
            norm_y=self.norm_y + other.norm_y,
            norm_xy=self.norm_xy + other.norm_xy,
            norm_x_y=self.norm_x_y + other.norm_x_y,
            norm_y_x=self.norm_y_x + other.norm_y_x,
        )

    def centred(self) -> CrossMoments:
        """The same rows measured from their own means."""
        return self.about(
            self.origin_x + self.sum_x / self.weight, self.origin_y + self.sum_y / self.weight
        )


def _about(rows: Any, origin: np.ndarray | None) -> tuple[Any, np.ndarray]:
    """Rows measured from an origin, in float64."""
    if sparse.issparse(rows):
        return rows.astype(np.float64), np.zeros(rows.shape[1])
    rows = np.asarray(rows, dtype=np.float64)
    origin = rows.mean(axis=0) if origin is None else origin
    return rows - origin, origin


def _squares(rows: Any) -> np.ndarray:
    """Squared norm of each row."""
    if sparse.issparse(rows):
        return np.asarray(rows.multiply(rows).sum(axis=1)).ravel()
    return np.einsum("ij,ij->i", rows, rows)
