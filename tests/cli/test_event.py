"""``--event``: a column that says whether the time in the target is complete."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

from depmax import screen

Run = Callable[..., Any]

rng = np.random.default_rng(0)
X = rng.normal(size=(90, 3))
TRUE, END = rng.exponential(size=90) * np.exp(-X[:, 1]), 2 * rng.exponential(size=90)
FRAME = pl.DataFrame(X, schema=["a", "b", "c"]).with_columns(
    days=np.minimum(TRUE, END), died=(TRUE <= END).astype(int), text=pl.lit("no")
)


@pytest.fixture
def followed(tmp_path: Path) -> Path:
    FRAME.drop("text").write_csv(tmp_path / "followed.csv")
    return tmp_path / "followed.csv"


def test_screen_reads_times_as_python_does(run: Run, followed: Path) -> None:
    found = run("screen", followed, "-t", "days", "--event", "died", "--json", "--n-jobs", 1)
    assert found.exit_code == 0
    assert f"{int((TRUE <= END).sum())} events" in found.stderr
    answer = json.loads(found.stdout)
    assert answer["target"]["type"] == "censored"
    y = pl.DataFrame({"event": FRAME["died"], "time": FRAME["days"]})
    expected = screen(FRAME.select("a", "b", "c"), y)
    assert {row["column"]: row["pvalue"] for row in answer["columns"]} == pytest.approx(
        dict(zip("abc", expected.pvalues.tolist(), strict=True)), rel=1e-6
    )


def test_select_and_fit_take_times(run: Run, followed: Path, tmp_path: Path) -> None:
    found = run("select", followed, "-t", "days", "--event", "died", "-n", 1, "--json")
    assert [row["column"] for row in json.loads(found.stdout)["columns"] if row["kept"]] == ["b"]
    assert (
        run("fit", followed, "-t", "days", "--event", "died", "-m", "HBFE", "-o", "m").exit_code
        == 0
    )


@pytest.mark.parametrize(
    ("coded", "seen"), [(["alive", "dead"], "dead"), ([1, 2], 2), ([False, True], 1)]
)
def test_events_in_another_coding_are_named(
    run: Run, followed: Path, coded: list[Any], seen: Any
) -> None:
    """As R has them, 1 and 2, or in words; the selected columns are written with what was read."""
    died = [coded[each] for each in FRAME["died"]]
    FRAME.drop("text").with_columns(died=pl.Series(died)).write_csv(followed)
    words = ("select", followed, "-t", "days", "-n", 1, "-o", "few.csv", "--event")
    if seen != 1:
        assert f"--event died={seen}" in run(*words, "died").stderr
    assert run(*words, f"died={seen}").exit_code == 0
    few = pl.read_csv("few.csv")
    assert few.columns == ["b", "days", "died"]
    assert few["died"].to_list() == died


@pytest.mark.parametrize(
    ("code", "options", "words"),
    [
        (3, ("-t", "days", "--event", "a"), "--event: column 'a' holds"),
        (3, ("-t", "days", "--event", "died=2"), "'died' holds 0, 1"),
        (2, ("-t", "days", "--event", "days"), "'days' is named by both --target and --event"),
        (3, ("-t", "a", "--event", "died"), "--target: column 'a' has negative times"),
        (2, ("-t", "days", "-t", "a", "--event", "died"), "one --target"),
        (2, ("-t", "days", "--event", "died", "--task", "regression"), "not with --task"),
        (3, ("-t", "days", "--event", "dead"), "no column named 'dead'"),
    ],
)
def test_what_cannot_be_is_refused(
    fails: Callable[..., str], followed: Path, code: int, options: tuple[str, ...], words: str
) -> None:
    assert words in fails(code, "screen", followed, *options)


def test_a_column_of_text_and_a_comparison_are_refused(
    fails: Callable[..., str], followed: Path
) -> None:
    FRAME.write_csv(followed)
    assert "'text' holds no" in fails(3, "screen", followed, "-t", "days", "--event", "text")
    assert "not numbers" in fails(3, "screen", followed, "-t", "text", "--event", "died")
    assert "depmax screen" in fails(2, "compare", followed, "-t", "days", "--event", "died")
