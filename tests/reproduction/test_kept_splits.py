"""Runs that go on from the splits of earlier ones, and the variants beside the papers' rows."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import linalg

from depmax import hsic
from reproduction.dimension_choice import Inputs
from reproduction.half_splits import half_splits
from reproduction.kept_splits import KeptSplits
from reproduction.pages import agreement as agreements
from reproduction.pages.agreement import agreement
from reproduction.thesis_accuracy import Stage, accuracy_rows, run_splits
from reproduction.thesis_methods import FULL, LINEAR
from reproduction.thesis_variants import (
    RIDGE,
    KernelColumns,
    largest_eigenvalue_hsca,
    renamed,
    ridge_discriminant,
    unbiased_form,
)

COLUMNS = ("dataset", "method", "errors", "numbers")
A, B = ("toy", "a"), ("toy", "b")


class Job:
    """Gives the number of the split, and notes what was asked for."""

    def __init__(self):
        self.asked = []

    def __call__(self, split, keys):
        self.asked.append((split, [method for _, method in keys]))
        return dict.fromkeys(keys, (split / 10, split))


def test_only_missing_splits_are_run(tmp_path):
    path = tmp_path / "splits.csv"
    first = Job()
    assert KeptSplits(COLUMNS, path).complete([A], 2, first) == 2
    assert first.asked == [(0, ["a"]), (1, ["a"])]
    again = Job()
    kept = KeptSplits(COLUMNS, path)
    assert kept.complete([A, B], 3, again) == 3
    assert again.asked == [(0, ["b"]), (1, ["b"]), (2, ["a", "b"])]
    assert KeptSplits(COLUMNS, path).values(A) == [[0, 0.1, 0.2], [0, 1, 2]]
    assert kept.values(B, 2) == [[0, 0.1], [0, 1]]
    assert kept.count(("toy", "c")) == 0


def test_an_interrupted_run_keeps_what_is_done(tmp_path):
    class Failing(Job):
        def __call__(self, split, keys):
            if split == 2:
                raise KeyboardInterrupt
            return super().__call__(split, keys)

    path = tmp_path / "splits.csv"
    with pytest.raises(KeyboardInterrupt):
        KeptSplits(COLUMNS, path).complete([A], 5, Failing())
    assert KeptSplits(COLUMNS, path).count(A) == 2


def test_methods_and_time_limit_what_is_run():
    job = Job()
    assert KeptSplits(COLUMNS, methods=["b"]).complete([A, B], 1, job) == 0
    assert job.asked == [(0, ["b"])]
    assert KeptSplits(COLUMNS, minutes=0).complete([A], 1, job) == 0
    assert len(job.asked) == 1


def test_rows_do_not_wait_for_variants(rng):
    X = rng.normal(size=(24, 3))
    y = np.where(X[:, 0] > 0, 1.0, -1.0)
    pca = tuple(method for method in LINEAR if method.name == "PCA")
    stages = [
        Stage(Inputs(X), (FULL, *pca), 2),
        Stage(Inputs(X), renamed(pca, ", again"), 2, variant=True),
    ]
    kept = KeptSplits(("dataset", "neighbors", "method", "accuracies", "numbers"))
    kept.methods = ("Full", "PCA")
    results = run_splits(stages, y, "toy", kept, n_splits=2, n_jobs=None)
    assert {name for name, _ in results} == {"Full", "PCA"}
    kept.methods = None
    results = run_splits(stages, y, "toy", kept, n_splits=2, n_jobs=None)
    assert results["PCA, again", 3] == results["PCA", 3]
    kept.methods = ("PCA",)  # splits of one row are no others' business
    results = run_splits(stages, y, "toy", kept, n_splits=3, n_jobs=None)
    assert [len(results[name, 1]) for name in ("Full", "PCA", "PCA, again")] == [2, 3, 2]
    for row in accuracy_rows("toy", results, {}, {}, ""):
        assert row["n_splits"] == (3 if row["method"] == "PCA" else 2)


def test_labels_of_rows_whatever_their_class(rng):
    y = np.where(np.arange(60) < 12, 1.0, -1.0)
    counts = set()
    for split in half_splits(y, 20, labelled=0.3, by_class=False):
        assert len(split.labelled) == 9 or np.sum(y[split.labelled] > 0) == 2
        counts.add(int(np.sum(y[split.labelled] > 0)))
    assert len(counts) > 2


def test_variants_of_the_thesis_are_what_they_say(rng):
    Z = rng.normal(size=(14, 3))
    y = np.where(Z[:, 0] + rng.normal(size=14) > 0, 1.0, -1.0)
    feature = Z @ rng.normal(size=3)
    found = feature @ unbiased_form(np.outer(y, y)) @ feature / (14 * 11)
    expected = hsic(feature[:, None], y, kernel="linear", target_kernel="linear", unbiased=True)
    assert found == pytest.approx(expected)
    centred = Z - Z.mean(axis=0)
    direction = ridge_discriminant(Z, y, 1)(np.eye(3))[:, 0]
    rest = (centred.T @ centred + RIDGE * np.eye(3)) @ direction - centred.T @ (y - y.mean())
    np.testing.assert_allclose(rest, 0, atol=1e-9)
    P = largest_eigenvalue_hsca(Z, y, 2)(np.eye(3))
    first = centred @ P[:, :1]
    A1 = centred.T @ unbiased_form(np.outer(y, y)) @ centred
    B1 = centred.T @ unbiased_form(first @ first.T) @ centred + RIDGE * np.eye(3)
    quotient = (P[:, 1] @ A1 @ P[:, 1]) / (P[:, 1] @ B1 @ P[:, 1])
    np.testing.assert_allclose(A1 @ P[:, 1], quotient * B1 @ P[:, 1], atol=1e-8)
    values = linalg.eigvals(A1, B1)
    assert quotient == pytest.approx(values.real[np.abs(values.imag) < 1e-9].max())
    assert KernelColumns(Z).coordinates(np.arange(5), {"scale": 1.0}).shape == (14, 5)


def test_agreement_counts_comparable_figures_and_lists_variants(tmp_path, monkeypatch):
    def row(dataset, method, published, ours, note="same data"):
        return {
            "dataset": dataset,
            "method": method,
            "published": published,
            "published_error": 0.03,
            "ours": ours,
            "standard_error": 0.004,
            "n_splits": 15,
            "note": note,
        }

    # standard errors 0.004 and 0.03/√15: twice that of the difference is 0.0174
    rows = [
        row("a", "PLS", 0.2, 0.217),
        row("a", "SMC", 0.2, 0.218),
        row("a", "SMC, no constant removed", None, 0.21),
        row("b", "PLS", 0.2, 0.5, "stand-in: other rows"),
        row("c", "PLS", None, 0.5),
    ]
    nothing = tmp_path / "reasons.json"
    nothing.write_text('{"sparse_pls_machines": [{"data": ["b"], "methods": "*"}]}')
    monkeypatch.setattr(agreements, "REASONS", nothing)
    lines = agreement("sparse_pls_machines", rows)
    assert "**1 of 2 comparable figures (50 %)" in lines[1]
    assert "the bar of 85 % is missed.** 2 of 2 have as many folds" in lines[1]
    assert lines[3] == "The one that differs: 1 where nothing was tried."
    assert lines[5] == "- **Open** · *a* SMC (+0.018): No reason is known."
    assert lines[-1] == "| a, SMC | no constant removed | 15 | 0.200 | 0.218 | 0.210 |"
    assert agreement("sparse_pls_text", rows) == []
