"""What wins a comparison can be used: the line that ``compare`` prints works for every method."""

from __future__ import annotations

import json
import shlex
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

import depmax
import depmax.evaluation
from depmax import Comparison
from depmax.evaluation.comparison.catalogue import compared_methods

METHODS = [method.name for method in compared_methods()]
SELECTORS = [method.name for method in compared_methods() if method.selects]
#: Methods that begin at random, from another state in a comparison than in a fit.
RANDOM = ("FastICA", "NCA", "ICAFX")
NUMBERS_ONLY = ("correlation filter",)
Run = Callable[..., Any]


@pytest.fixture(name="kept")
def keep_comparisons(monkeypatch: pytest.MonkeyPatch) -> list[Comparison]:
    """Comparisons of the commands that a test runs, without their reports.

    The method that is named is the only one: as if it were the simplest, none is put beside it.
    """
    kept: list[Comparison] = []
    whole = depmax.evaluation.compare

    def compare(X: Any, y: Any, methods: dict[str, Any], **kwargs: Any) -> Comparison:
        alone = {name: replace(method, complexity=0) for name, method in methods.items()}
        kept.append(whole(X, y, alone, **kwargs))
        return kept[-1]

    monkeypatch.setattr(depmax.evaluation, "compare", compare)
    monkeypatch.setattr(Comparison, "to_html", lambda self, path, **options: path)
    return kept


def _table(target: str, folder: Path, *, categories: bool) -> Path:
    """A messy file: names with spaces and hyphens, gaps, an identifier, perhaps a category."""
    rng = np.random.default_rng(0)
    n = 60
    columns: dict[str, Any] = {f"blood pressure {j}": rng.normal(120, 15, n) for j in range(3)}
    columns["-dose"] = rng.gamma(2.0, size=n)
    columns["patient"] = [f"p{j:03}" for j in range(n)]
    score = columns["-dose"] + 0.03 * columns["blood pressure 1"] + rng.normal(size=n)
    if categories:
        columns["ward's name"] = rng.choice(["north", "south", "east"], n)
        score += columns["ward's name"] == "east"
    classes = np.digitize(score, np.quantile(score, [0.33, 0.66])).astype(str)
    columns["the outcome"] = np.char.add("level ", classes) if target == "classes" else score
    frame = pl.DataFrame(columns).with_columns(
        pl.when(pl.int_range(n) % 11 == 3).then(None).otherwise(pl.col("-dose")).alias("-dose")
    )
    path = folder / "some patients.csv"
    frame.write_csv(path)
    return path


def _next(run: Run, path: Path, name: str, *options: object) -> list[str]:
    result = run(
        *("compare", path, "-t", "the outcome", "-m", name, "--impute", "median"),
        *("--drop", "blood pressure 2", "--folds", 2, "--n-jobs", 1, *options),
    )
    assert result.exit_code == 0, result.output
    (line,) = [line for line in result.stderr.splitlines() if line.startswith("Next: ")]
    words = shlex.split(line.removeprefix("Next: "))
    assert words[:2] == ["depmax", "fit"]
    return words[1:]


# 60 rows with indicators of all levels: the iteration need not converge here
@pytest.mark.filterwarnings("ignore:FastICA did not converge")
@pytest.mark.parametrize("name", METHODS)
@pytest.mark.parametrize("categories", [False, True], ids=["numbers", "categories"])
def test_the_printed_line_fits_what_won(
    run: Run, kept: list[Comparison], tmp_path: Path, name: str, categories: bool
) -> None:
    """Typed as it is printed, it fits, saves, loads and transforms, and gives what was judged."""
    if categories and name in NUMBERS_ONLY:
        pytest.skip("this method takes numbers only, and says so")
    path = _table("numbers" if name == "SIR" else "classes", tmp_path, categories=categories)
    fitted = run(*_next(run, path, name, "--dimensions", "2"))
    assert fitted.exit_code == 0, fitted.output
    new = pl.read_csv(path)[::-1]
    new.write_csv(tmp_path / "new.csv")
    result = run("transform", "model.skops", "new.csv", "-o", "out.csv", "--keep", "patient")
    assert result.exit_code == 0, result.output
    features = pl.read_csv(tmp_path / "out.csv").drop("patient")
    assert features.height == 60
    (found,) = kept
    judged = found.transformer(name)
    if found.methods[0].selects:
        names = found.setting.problem.names
        support = judged[-1].get_support()
        assert features.columns == [n for n, here in zip(names, support, strict=True) if here]
        used = depmax.load_model(tmp_path / "model.skops")[-1]
        ours, theirs = used.get_params(), judged[-1].get_params()
        assert ours.keys() == theirs.keys()
        ours["random_state"] = theirs["random_state"] = None  # `compare` draws its own
        # the same columns are kept, as is seen above: these change none of so few rows
        left_out = {"pvalues": (True, False), "block_size": ("auto", 1000)}
        for key in ours:
            assert ours[key] == theirs[key] or (ours[key], theirs[key]) == left_out[key], key
    elif name not in RANDOM:
        expected = np.asarray(judged.transform(found.X))[::-1]
        np.testing.assert_allclose(features.to_numpy(), expected, rtol=1e-6, atol=1e-8)
    for model, act in ((found.estimator(), "predict"), (found.transformer(), "transform")):
        depmax.save_model(model, tmp_path / "winner.skops")  # the same from Python
        again = depmax.load_model(tmp_path / "winner.skops")
        here, there = (np.asarray(getattr(m, act)(found.X)) for m in (model, again))
        np.testing.assert_array_equal(here, there)
        assert len(here) == 60


@pytest.mark.parametrize("name", SELECTORS)
def test_every_selector_of_the_leaderboard_selects(run: Run, name: str) -> None:
    result = run("select", "bundled:wine", "-m", name, "-n", 2, "--json", "-q")
    assert result.exit_code == 0, result.output
    assert len(json.loads(result.stdout)["selected"]) == 2


@pytest.mark.parametrize(
    "name", ["lda", " L D A", "Correlation-Filter", "ALL COLUMNS", "hsicLasso"]
)
def test_names_are_matched_forgivingly(run: Run, name: str) -> None:
    assert run("fit", "bundled:wine", "-m", name).exit_code == 0


def test_settings_of_a_method_of_scikit_learn(run: Run, tmp_path: Path) -> None:
    arguments = ("-n", 2, "--set", "whiten=true", "--set", "svd_solver=covariance_eigh")
    assert run("fit", "bundled:wine", "-m", "pca", *arguments).exit_code == 0
    model = depmax.load_model(tmp_path / "model.skops")[-1]
    assert (model.n_components, model.whiten) == (2, True)
    assert run("fit", "bundled:wine", "-m", "PLS").exit_code == 0  # the method's own number
    assert depmax.load_model(tmp_path / "model.skops")[-1].transformer_.n_components == 2


def test_what_a_method_cannot_do(fails: Callable[..., str]) -> None:
    line = fails(2, "fit", "bundled:wine", "-m", "all columns", "-n", 3)
    assert "all columns has no number of features to choose; omit -n" in line
    assert "whole number for LDA" in fails(2, "fit", "bundled:wine", "-m", "LDA", "-n", 0.5)
    line = fails(2, "select", "bundled:wine", "-m", "LDA")
    assert "LDA makes new features and selects no columns: use depmax fit" in line
    assert "Did you mean LDA" in fails(2, "fit", "bundled:wine", "-m", "LDAA")


@pytest.mark.parametrize("scale", ["--scale", "--no-scale"])
def test_categories_reach_scikit_learn_as_indicators(run: Run, tmp_path: Path, scale: str) -> None:
    path = _table("classes", tmp_path, categories=True)
    options = ("-t", "the outcome", "--impute", "median", "-m", "all columns", scale)
    assert run("fit", path, *options).exit_code == 0
    assert run("transform", "model.skops", path, "-o", "out.csv").exit_code == 0
    features = pl.read_csv(tmp_path / "out.csv")
    indicators = [name for name in features.columns if name.startswith("ward's name=")]
    assert len(indicators) == 3
    assert (features.select(indicators).sum_horizontal() == 1).all()
    assert (abs(features["blood pressure 0"].mean()) < 1e-9) == (scale == "--scale")
