"""Runners of the sparse PLS paper on text and faces, on small data."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.sparse import csr_matrix

from reproduction import sparse_pls_faces, sparse_pls_text, tables
from reproduction.rectangles import PATTERNS, rectangle_features

rng = np.random.default_rng(0)


class Texts:
    """Documents of two topics that share most words."""

    y = np.arange(36) % 2
    X = np.array(
        [
            " ".join([*rng.choice(["bank", "rain", "tree", "road"], 4), topic])
            for topic in np.array(["wheat corn", "gold iron"])[y]
        ],
        dtype=object,
    )


class Faces:
    """Images with a bright middle, and noise."""

    y = np.arange(90) % 2
    X = rng.normal(size=(90, 361)) + np.outer(y, np.repeat([0, 2, 0], [133, 95, 133]))


def test_text(monkeypatch):
    few = [
        sparse_pls_text.Method(method.name, method.make, (2, 4) if method.make else (0,))
        for method in sparse_pls_text.METHODS
    ]
    monkeypatch.setattr(sparse_pls_text, "METHODS", few)
    monkeypatch.setattr(sparse_pls_text, "load_external", lambda name: Texts)
    rows = tables()["sparse_pls_text"].run(quick=True)
    assert [row["method"] for row in rows] == ["All terms", "PLS", "SMA", "SMC"]
    assert all(row["ours"] > 0.9 for row in rows)
    # the figures are those of another collection
    assert [row["published"] for row in rows] == [0.847, None, 0.848, 0.823]
    assert all(row["difference"] is None for row in rows)
    assert [row["n_features"] <= 4 for row in rows] == [False, True, True, True]
    with pytest.raises(ValueError, match="no set named"):
        tables()["sparse_pls_text"].run(datasets=["iris"])


def test_terms_stay_sparse(monkeypatch):
    monkeypatch.setattr(sparse_pls_text, "load_external", lambda name: Texts)
    counts, y = sparse_pls_text.collection("reuters_grain_text")
    assert isinstance(counts, csr_matrix)
    assert counts.shape == (36, 8)
    assert y.tolist() == (Texts.y == 1).tolist()


def test_rectangle_features(rng):
    images = rng.normal(size=(3, 5, 4))
    expected = []
    for high in range(1, 6):
        for wide in range(1, 5):
            for pattern in PATTERNS:
                tall, broad = pattern.shape[0] * high, pattern.shape[1] * wide
                signs = np.kron(pattern, np.ones((high, wide)))
                expected += [
                    (images[:, i : i + tall, j : j + broad] * signs).sum(axis=(1, 2))
                    for i in range(6 - tall)
                    for j in range(5 - broad)
                ]
    np.testing.assert_allclose(rectangle_features(images, 1), np.transpose(expected), atol=1e-5)
    assert rectangle_features(np.zeros((1, 19, 19))).shape == (1, 3280)


def test_faces(monkeypatch):
    monkeypatch.setattr(sparse_pls_faces, "QUICK", sparse_pls_faces.Plan(60, 45, (2, 5), 300))
    monkeypatch.setattr(sparse_pls_faces, "load_external", lambda name: Faces)
    rows = tables()["sparse_pls_faces"].run(quick=True)
    assert [row["method"] for row in rows] == ["SVM", "KPCA", "SMA", "SMC"]
    assert all(row["ours"] > 0.9 and row["false_positives"] <= 0.3 for row in rows)
    assert rows[0]["n_features"] is None
    assert all(row["n_features"] in (2, 5) for row in rows[1:])
    with pytest.raises(ValueError, match="no set named"):
        tables()["sparse_pls_faces"].run(datasets=["iris"])


def test_inner_products_of_faces_by_the_definition():
    train, test = Faces.X[:12], Faces.X[12:15]
    images = np.concatenate([train, test])
    images = (images - images.mean(axis=1, keepdims=True)) / images.std(axis=1, keepdims=True)
    for number, step in ((None, 2), (5000, 1)):
        rows = rectangle_features(images.reshape(-1, 19, 19), step).astype(float)
        if number is not None:
            assert rows.shape[1] == 63_960
            rows = rows[:, np.random.default_rng(0).choice(63_960, number, replace=False)]
        spread = rows[:12].std(axis=0)
        rows = (rows - rows[:12].mean(axis=0)) / np.where(spread > 0, spread, 1)
        rows /= np.linalg.norm(rows, axis=1, keepdims=True)
        inside, across = sparse_pls_faces.inner_products(train, test, number)
        np.testing.assert_allclose(inside, rows[:12] @ rows[:12].T, atol=2e-5)
        np.testing.assert_allclose(across, rows[12:] @ rows[:12].T, atol=2e-5)


def test_near_copies_are_no_test_images():
    images = Faces.X[:4]
    copies = 2 * images[:2] + 1
    nearest = sparse_pls_faces._nearest(np.vstack([copies, Faces.X[10:12]]), images)
    np.testing.assert_allclose(nearest[:2], 1)
    expected = np.corrcoef(Faces.X[10:12], images)[:2, 2:].max(axis=1)
    np.testing.assert_allclose(nearest[2:], expected)
