"""A leaderboard in the terminal, and a report."""

from __future__ import annotations

import base64
import html
import json
import re
import shlex
import socket
from collections.abc import Callable
from dataclasses import replace
from datetime import datetime, timedelta
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

from depmax.cli.methods import methods, settings_of
from depmax.evaluation.comparison.catalogue import find_method

SMALL = ("-m", "dependence-filter", "-m", "pca", "--dimensions", "1,2", "--folds", 2, "--n-jobs", 1)
Run = Callable[..., Any]


def test_leaderboard_and_report(run: Run, tmp_path: Path) -> None:
    result = run("compare", "bundled:wine", *SMALL, "-m", "BAHSIC")
    assert result.exit_code == 0, result.output
    lines = [line.split("\t") for line in result.stdout.splitlines()]
    assert lines[0][:4] == ["rank", "method", "features", "balanced_accuracy"]
    assert {line[1] for line in lines[1:]} == {"all columns", "BAHSIC", "DependenceFilter", "PCA"}
    assert "On new data expect " in result.stderr
    page = (tmp_path / "report.html").read_text()
    command = "depmax compare bundled:wine --method dependence-filter "
    assert command in page
    assert f"Report: {tmp_path / 'report.html'}" in result.stderr


def test_the_report_makes_parts_of_dates_before_it_takes_columns(run: Run, tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    days = [datetime(2024, 1, 1) + timedelta(days=int(day)) for day in rng.integers(0, 700, 90)]
    late = [float(day.month > 6) for day in days]
    rows = {"day": days, "x": rng.normal(size=90), "y": late + rng.normal(0, 0.1, 90)}
    pl.DataFrame(rows).write_csv(tmp_path / "days.csv")
    result = run("compare", "days.csv", "-t", "y", *SMALL, "-m", "BAHSIC")
    assert result.exit_code == 0, result.output
    page = html.unescape((tmp_path / "report.html").read_text(encoding="utf-8"))
    assert "few = found.expand.transform(X)[['day: month'" in page


def test_the_answer_for_machines(run: Run, table: pl.DataFrame, tmp_path: Path) -> None:
    gaps = table.with_columns(
        age=pl.when(pl.col("dose") == 2).then(None).otherwise(pl.col("age")),
    )
    gaps.write_csv(tmp_path / "gaps.csv")
    arguments = ("compare", "gaps.csv", "-t", "cost", "--impute", "median", *SMALL)
    result = run(*arguments, "--json", "--report", "gaps.html")
    assert result.exit_code == 0, result.output
    answer = json.loads(result.stdout)
    assert answer["metric"] == "r2"
    assert answer["complete"] is True
    assert answer["verdict"]["method"] == answer["recommended"]
    assert answer["verdict"]["headline"] in (tmp_path / "gaps.html").read_text()
    assert {"outcome", "columns", "expected", "loss"} <= set(answer["verdict"])
    assert answer["left_out"] == []
    assert answer["report"] == "gaps.html"
    page = (tmp_path / "gaps.html").read_text()
    assert "Missing values filled (median): age" in page
    (shown,) = re.findall(r"depmax compare gaps[^<]*", page)
    assert "--impute median" in shown


def test_the_shown_command_repeats_the_comparison(
    run: Run, table: pl.DataFrame, tmp_path: Path
) -> None:
    """Every option that changes the result is in it, quoted as a shell wants it."""
    gaps = table.with_columns(
        age=pl.when(pl.col("dose") == 2).then(pl.lit("no value")).otherwise(pl.col("age")),
        row=pl.int_range(table.height),
    )
    gaps.write_csv(tmp_path / "gaps.csv", separator=";")
    options = {
        "-t": "cost",
        "--task": "regression",
        "--drop": "dose",
        "--keep": "row",
        "--impute": "mean",
        "--separator": ";",
        "--missing": "no value",
        "--seed": "3",
        "--dimensions": "1,2",
        "--folds": "2",
        "--scoring": "neg_mean_absolute_error",
    }
    words = [word for option in options.items() for word in option]
    words += ["--method", "FOHSIC", "--method", "DependenceFilter"]
    first = run("compare", "gaps.csv", *words, "--n-jobs", 1)
    assert first.exit_code == 0, first.output
    page = html.unescape((tmp_path / "report.html").read_text())
    (shown,) = re.findall(r"depmax compare gaps[^<]*", page)
    typed = shlex.split(shown)[1:]
    assert sorted(typed) == sorted(["compare", "gaps.csv", *words])
    again = run(*typed, "--n-jobs", 1)
    assert _scores(again.stdout) == _scores(first.stdout)
    (line,) = [line for line in first.stderr.splitlines() if line.startswith("Next: ")]
    assert run(*shlex.split(line)[2:]).exit_code == 0


def test_planted_targets_on_request(run: Run, tmp_path: Path) -> None:
    small = ("-m", "dependence-filter", "--dimensions", "2", "--folds", 2, "--n-jobs", 1)
    result = run("compare", "bundled:wine", *small, "--planted", "--json")
    assert result.exit_code == 0, result.output
    planted = json.loads(result.stdout)["planted"]
    assert planted["n_planted"] == 2
    assert {row["method"] for row in planted["rows"]} == {"DependenceFilter"}
    page = (tmp_path / "report.html").read_text()
    assert "How far can these rows be trusted?" in page
    assert "--planted" in html.unescape(page)


def _scores(leaderboard: str) -> list[list[str]]:
    return [line.split("\t")[:5] for line in leaderboard.splitlines()]


def test_the_next_command_can_be_typed(run: Run, tmp_path: Path) -> None:
    result = run(
        *("compare", "bundled:wine", "-m", "FOHSIC", "--dimensions", "2", "--folds", 2),
        *("--n-jobs", 1, "--margin", 0.5),  # few columns are worth it
    )
    (line,) = [line for line in result.stderr.splitlines() if line.startswith("Next: ")]
    assert line == "Next: depmax fit bundled:wine -m FOHSIC -n 2"
    assert run(*line.split()[2:]).exit_code == 0
    assert (tmp_path / "model.skops").exists()


@pytest.mark.parametrize("name", ["BAHSIC", "FOHSIC", "KernelRidgeElimination"])
def test_settings_that_change_no_column_are_not_typed(name: str) -> None:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(300, 6))
    y = X[:, 4] + X[:, 1] * X[:, 2] + 0.3 * rng.normal(size=300)
    compared, known = find_method(name).make(3), methods()[name.lower()]
    assert settings_of(known, compared, len(X)) == []
    expected = compared.fit(X, y).get_support(indices=True)
    typed = known.make().set_params(n_features_to_select=3).fit(X, y)
    assert list(typed.get_support(indices=True)) == list(expected)
    blocks = [] if name == "KernelRidgeElimination" else ["block_size=1000"]
    assert settings_of(known, find_method(name).make(3), 1001) == blocks


def test_judge_margin_time_and_weights(run: Run, table: pl.DataFrame, tmp_path: Path) -> None:
    """Options that change the answer reach it, and are in the command that repeats it."""
    weighted = table.with_columns(count=pl.int_range(table.height) % 3 + 1)
    weighted.write_csv(tmp_path / "weighted.csv")
    options = ("--judge", "linear", "--margin", 0.1, "--time", 60, "--weight", "count")
    words = ("compare", "weighted.csv", "-t", "cost", "-m", "pls", "--folds", 2, "--n-jobs", 1)
    result = run(*words, *options, "--json")
    assert result.exit_code == 0, result.output
    answer = json.loads(result.stdout)
    assert answer["verdict"]["judge"] == "ridge regression"
    page = html.unescape((tmp_path / "report.html").read_text())
    (shown,) = re.findall(r"depmax compare weighted[^<]*", page)
    for option in ("--judge linear", "--margin 0.1", "--weight count"):
        assert option in shown


def test_what_there_was_no_time_for_is_said(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    import depmax.evaluation

    whole = depmax.evaluation.compare
    monkeypatch.setattr(
        depmax.evaluation, "compare", lambda *a, **k: replace(whole(*a, **k), left_out=("NCA",))
    )
    result = run("compare", "bundled:wine", *SMALL)
    assert "There was no time for NCA" in result.stderr


def test_all_processors_by_default(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    import depmax.evaluation

    asked = {}

    def stop(*args: Any, **kwargs: Any) -> None:
        asked.update(kwargs)
        raise KeyboardInterrupt

    monkeypatch.setattr(depmax.evaluation, "compare", stop)
    assert run("compare", "bundled:wine").exit_code == 130
    assert asked["n_jobs"] == -1


def test_interrupted_it_reports_what_is_finished(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    import depmax.evaluation

    whole = depmax.evaluation.compare

    def interrupted(*args: Any, **kwargs: Any) -> Any:
        return replace(whole(*args, **kwargs), complete=False)

    monkeypatch.setattr(depmax.evaluation, "compare", interrupted)
    result = run("compare", "bundled:wine", *SMALL)
    assert result.exit_code == 130
    assert "note: Interrupted: scores come from 2 folds." in result.stderr
    assert (tmp_path / "report.html").exists()


def test_what_does_not_exist(fails: Callable[..., str]) -> None:
    line = fails(2, "compare", "bundled:wine", "-m", "BAHSIK")
    assert "there is no method named 'BAHSIK'. Did you mean BAHSIC" in line
    assert "Did you mean roc_auc" in fails(2, "compare", "bundled:wine", "--scoring", "rocauc")
    assert "whole numbers" in fails(2, "compare", "bundled:wine", "--dimensions", "few")
    assert "does not exist" in fails(5, "compare", "bundled:wine", "-o", "nowhere/report.html")
    assert "does not exist" in fails(3, "compare", "nowhere.csv")


def test_names_that_look_like_formulas_reach_the_report(run: Run, tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    x = rng.normal(size=(60, 3))
    columns = {"$x_$": x[:, 0], "<script>a</script>": x[:, 1], "_b^{": x[:, 2]}
    labels = np.where(x[:, 0] > 0, "$c_$", "_no")
    pl.DataFrame(columns | {r"$\frac{$": labels}).write_csv(tmp_path / "names.csv")
    result = run("compare", "names.csv", "-t", r"$\frac{$", *SMALL, "-m", "BAHSIC")
    assert result.exit_code == 0, result.output
    page = (tmp_path / "report.html").read_text(encoding="utf-8")
    assert "$x_$" in page
    assert "$c_$" in page
    assert "<script>a" not in page


def test_names_that_mislead_are_shown_as_they_are(run: Run, tmp_path: Path) -> None:
    """Text that turns the order around is escaped; a spreadsheet gets no formula."""
    x = np.random.default_rng(0).normal(size=(80, 3))
    columns = {"safe\u202etxt": x[:, 0], "=1+1": x[:, 1], "@sum": x[:, 2]}
    labels = np.where(x[:, 1] > 0, "a", "b")
    pl.DataFrame(columns | {"y": labels}).write_csv(tmp_path / "names.csv")
    result = run("compare", "names.csv", "-t", "y", *SMALL, "-m", "BAHSIC")
    assert result.exit_code == 0, result.output
    page = (tmp_path / "report.html").read_text(encoding="utf-8")
    assert "\u202e" not in result.output + page
    assert r"safe\u202etxt" in page
    files = re.findall(r"data:text/csv;charset=utf-8;base64,([\w+/=]+)", page)
    for content in files:
        cells = base64.b64decode(content).decode("utf-8").splitlines()[1:]
        assert not any(cell.startswith(("=", "@")) for cell in cells)
    assert files


@pytest.mark.parametrize("address", ["nonsense", "tcp://no.such.host.invalid:8786", "tcp://a"])
def test_an_address_that_is_none_is_refused_at_once(
    fails: Any, address: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    distributed = pytest.importorskip("distributed", reason="needs Dask")
    monkeypatch.delattr(distributed, "Client")  # which tries for a long time
    line = fails(2, "compare", "bundled:wine", "--scheduler", address)
    assert "--scheduler" in line
    assert address in line


def test_a_host_that_does_not_answer_is_named(fails: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("distributed", reason="needs Dask")
    monkeypatch.setattr(import_module("depmax.evaluation.comparison.cluster"), "ANSWER", 0.2)
    with socket.create_server(("127.0.0.1", 0)) as silent:
        address = f"tcp://127.0.0.1:{silent.getsockname()[1]}"
        assert address in fails(2, "compare", "bundled:wine", "--scheduler", address)
