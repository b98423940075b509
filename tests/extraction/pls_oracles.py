"""Partial least squares the slow way: NIPALS as in R's pls, orthogonal PLS as published, VIP."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np


class Nipals(NamedTuple):
    weights: np.ndarray  # W, (D, k)
    loadings: np.ndarray  # P, (D, k)
    scores: np.ndarray  # T, (m, k)
    target_loadings: np.ndarray  # Q, (r, k)
    mean: np.ndarray
    target_mean: np.ndarray

    def predict(self, X: np.ndarray, count: int) -> np.ndarray:
        W, P, Q = (part[:, :count] for part in (self.weights, self.loadings, self.target_loadings))
        return (X - self.mean) @ W @ np.linalg.solve(P.T @ W, Q.T) + self.target_mean


def nipals(X: np.ndarray, Y: np.ndarray, count: int) -> Nipals:
    """X and Y are deflated by every score in turn."""
    Y = Y.reshape(len(X), -1)
    mean, target_mean = X.mean(axis=0), Y.mean(axis=0)
    E, F = X - mean, Y - target_mean
    parts = []
    for _ in range(count):
        w = np.linalg.svd(E.T @ F, full_matrices=False)[0][:, 0]
        t = E @ w
        p, q = E.T @ t / (t @ t), F.T @ t / (t @ t)
        E, F = E - np.outer(t, p), F - np.outer(t, q)
        parts.append((w, p, t, q))
    return Nipals(*(np.array(part).T for part in zip(*parts, strict=True)), mean, target_mean)


def vip(model: Nipals) -> np.ndarray:
    """Wold's formula."""
    squares = (model.scores**2).sum(axis=0) * (model.target_loadings**2).sum(axis=0)
    n_features = len(model.weights)
    return np.sqrt(n_features * (model.weights**2 @ squares) / squares.sum())


def opls(X: np.ndarray, Y: np.ndarray, n_orthogonal: int, new: np.ndarray):
    """The filter of Trygg and Wold (2002): orthogonal scores and filtered rows, also of new ones.

    With several targets the loading is made orthogonal to all columns of XᵀY.
    """
    Y = Y.reshape(len(X), -1)
    E, rest = X - X.mean(axis=0), new - X.mean(axis=0)
    F = Y - Y.mean(axis=0)
    basis = np.linalg.svd(E.T @ F, full_matrices=False)[0]  # T_w
    scores, others = [], []
    for _ in range(n_orthogonal):
        w = np.linalg.svd(E.T @ F, full_matrices=False)[0][:, 0]
        t = E @ w
        p = E.T @ t / (t @ t)
        for column in basis.T:
            p = p - (column @ p) / (column @ column) * column
        w_orthogonal = p / np.linalg.norm(p)
        t_orthogonal = E @ w_orthogonal
        p_orthogonal = E.T @ t_orthogonal / (t_orthogonal @ t_orthogonal)
        E = E - np.outer(t_orthogonal, p_orthogonal)
        t_new = rest @ w_orthogonal
        rest = rest - np.outer(t_new, p_orthogonal)
        scores.append(t_orthogonal)
        others.append(t_new)
    return np.array(scores).T, E, np.array(others).T, rest
