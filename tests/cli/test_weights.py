"""``--weight``: a column that says how many rows each row stands for."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

from depmax.persistence import load_model

Run = Callable[..., Any]

ROWS = np.random.default_rng(0).normal(size=(60, 3))
COUNTS = np.arange(60) % 3


@pytest.fixture
def counted(tmp_path: Path) -> tuple[Path, Path]:
    """A table with a column of counts, and the same table with its rows repeated."""
    frame = pl.DataFrame(
        {
            "a": ROWS[:, 0],
            "b": ROWS[:, 1],
            "c": ROWS[:, 2],
            "n": COUNTS,
            "y": ROWS[:, 0] ** 2 + 0.1 * ROWS[:, 1],
        }
    )
    frame.write_csv(tmp_path / "counted.csv")
    frame[np.repeat(np.arange(60), COUNTS)].drop("n").write_csv(tmp_path / "repeated.csv")
    return tmp_path / "counted.csv", tmp_path / "repeated.csv"


def test_columns_are_scored_by_weight(run: Run, counted: tuple[Path, Path]) -> None:
    found = run("screen", counted[0], "-t", "y", "--weight", "n", "--json", "--n-jobs", 1)
    assert found.exit_code == 0
    assert "weighted by 'n', which is not used as a column; 20 have a weight of 0" in found.stderr
    columns = json.loads(found.stdout)["columns"]
    assert columns[0]["column"] == "a"
    assert {row["column"] for row in columns} == {"a", "b", "c"}
    assert columns[0]["pvalue"] < 0.01
    assert "effect" not in columns[0]


def test_a_model_is_fitted_by_weight(run: Run, counted: tuple[Path, Path], tmp_path: Path) -> None:
    models = []
    for number, (table, options) in enumerate(zip(counted, (("--weight", "n"), ()), strict=True)):
        place = tmp_path / f"{number}.skops"
        arguments = ("-t", "y", "-m", "HBFE", "-n", 1, "--no-scale", "-o", place)
        assert run("fit", table, *arguments, *options).exit_code == 0
        models.append(load_model(place))
    features = [model.transform(pl.DataFrame(ROWS, schema=["a", "b", "c"])) for model in models]
    np.testing.assert_allclose(features[0].to_numpy(), features[1].to_numpy(), rtol=1e-8)


@pytest.mark.parametrize("method", [(), ("-m", "BAHSIC"), ("-m", "HSICLasso")])
def test_columns_are_selected_by_weight(
    method: tuple[str, ...], run: Run, counted: tuple[Path, Path]
) -> None:
    found = run("select", counted[0], "-t", "y", "-n", 1, "--weight", "n", *method, "--json")
    assert json.loads(found.stdout)["selected"] == ["a"]


def test_bad_weights_are_refused_by_name(
    run: Run, counted: tuple[Path, Path], tmp_path: Path
) -> None:
    def message(*arguments: Any) -> str:
        result = run(*arguments)
        assert result.exit_code not in (0, 1)
        return str(result.stderr)

    table = counted[0]
    assert "named by both --target and --weight" in message(
        "screen", table, "-t", "y", "--weight", "y"
    )
    assert "Negative values" in message("screen", table, "-t", "y", "--weight", "a")
    assert "--groups and --weight cannot be combined" in message(
        "screen", table, "-t", "y", "--weight", "n", "--groups", "a"
    )
    assert "PCA counts every row once" in message(
        "fit", table, "-t", "y", "-m", "PCA", "-n", 1, "--weight", "n", "-o", tmp_path / "p.skops"
    )


def test_gaps_with_weights_are_filled_by_the_median(run: Run, tmp_path: Path) -> None:
    values = np.random.default_rng(0).normal(size=(40, 2))
    table = pl.DataFrame(values, schema=["a", "y"]).with_columns(n=pl.lit(2), b=pl.col("a") * 2)
    place = tmp_path / "gaps.csv"
    table.with_columns(b=pl.when(pl.col("b") > -1).then(pl.col("b"))).write_csv(place)
    for command in (("screen",), ("select", "-m", "BAHSIC", "-n", 1)):
        asked = (command[0], place, "-t", "y", "--weight", "n", *command[1:])
        by_itself = run(*asked)
        assert "Missing values filled (median): b" in by_itself.stderr
        assert by_itself.stdout == run(*asked, "--impute", "median").stdout
