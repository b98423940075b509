import json
import re
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from sklearn.feature_selection import RFE
from sklearn.preprocessing import StandardScaler
from sklearn.svm import LinearSVC

from depmax.datasets import available, load
from reproduction import (
    Results,
    Table,
    bahsic_artificial,
    bahsic_figure3,
    bahsic_microarrays,
    bahsic_table1,
    merge,
    methods,
    read_csv,
    save_csv,
    tables,
    whole,
)
from reproduction import __main__ as program
from reproduction.figures import compared, published
from reproduction.pages import filling
from reproduction.pages.agreement import KINDS, REASONS, SCALES, agrees, comparable, reason_of
from reproduction.protocol import Fold, folds, gaussian_machine, overlap
from reproduction.table1_data import MOST_ROWS, PROBLEMS, Problem

NAMES = ("bahsic_artificial", "bahsic_microarrays", "bahsic_table1")


@pytest.fixture(autouse=True)
def no_other_data(monkeypatch):
    """Only the sets that come with the package."""
    monkeypatch.delenv("DEPMAX_DATA", raising=False)


# --- registry -------------------------------------------------------------------------------------
def test_every_table_of_the_paper_is_registered():
    assert set(NAMES) <= set(tables())


# --- published figures ----------------------------------------------------------------------------
def test_table1_has_every_set_and_method_with_plausible_figures():
    figures = published("bahsic_table1")["figures"]
    assert len(figures) == 30
    assert {problem.published_name for problem in PROBLEMS} <= set(figures)
    for row in figures.values():
        assert list(row) == list(bahsic_table1.METHODS)
        for figure in filter(None, row.values()):
            value, error = figure
            assert 0 <= value <= 100
            assert 0 <= error < 10


def test_table1_agrees_with_its_printed_summary():
    """The l2 distances to the best method guard the digits."""
    contents = published("bahsic_table1")
    binary = list(contents["figures"].values())[:21]
    # 100.0 stands for what did not finish
    errors = np.array([[100.0 if f is None else f[0] for f in row.values()] for row in binary])
    distances = np.linalg.norm(errors - errors.min(axis=1, keepdims=True), axis=0)
    np.testing.assert_allclose(distances, list(contents["l2_binary"].values()), atol=0.11)


def test_microarray_figures_are_complete():
    figures = published("bahsic_microarrays")["figures"]
    assert list(figures) == [str(number) for number in range(1, 29)]
    for number, row in figures.items():
        expected = bahsic_microarrays.METHODS if int(number) <= 15 else ("lin", "RBF", "dis")
        assert set(row) == set(expected)
        assert all(0 <= error <= 100 and 0 <= common <= 10 for error, common in row.values())
    # l2 distances of Table 4
    errors = np.array([[f[0] for f in figures[str(number)].values()] for number in range(16, 29)])
    distances = np.linalg.norm(errors - errors.min(axis=1, keepdims=True), axis=0)
    np.testing.assert_allclose(distances, [32.4, 37.9, 51.0], atol=0.06)


# --- rows and files -------------------------------------------------------------------------------
def test_a_row_compares_mean_and_standard_error():
    row = compared("set", "method", [1.0, 2.0, 3.0], [1.5, 0.2], note="why")
    assert row["ours"] == 2.0
    assert row["standard_error"] == pytest.approx(1 / np.sqrt(3))
    assert row["difference"] == 0.5
    assert (row["published"], row["published_error"], row["note"]) == (1.5, 0.2, "why")


def test_saved_rows_come_back_and_are_replaced_by_set(tmp_path):
    path = tmp_path / "new" / "table.csv"
    rows = [compared("a", "m", [1.0, 2.0]), compared("b", "m", None, [3.0], note="x, y")]
    columns = ("dataset", "method", "published", "ours", "note")
    assert read_csv(path) == []
    save_csv(path, rows, columns)
    back = read_csv(path)
    assert back[0]["ours"] == 1.5
    assert back[1] == {
        "dataset": "b",
        "method": "m",
        "published": 3.0,
        "ours": None,
        "note": "x, y",
    }
    merged = merge(back, [compared("a", "m", [9.0]), compared("c", "m", [1.0])])
    assert [(row["dataset"], row["ours"]) for row in merged] == [("a", 9), ("b", None), ("c", 1)]
    kept = merge([*back, compared("a", "n", [2.0])], [compared("a", "m", [9.0])], keep_methods=True)
    assert [(row["method"], row["ours"]) for row in kept] == [("m", 9), ("m", None), ("n", 2)]
    assert [file.name for file in path.parent.iterdir()] == ["table.csv"]


def _toy(quick, n_jobs, datasets, n_splits=3):
    """Two sets of two rows; the second set fails before its last row."""
    yield from whole(compared("a", m, [1.0] * n_splits, n_splits=n_splits) for m in "xy")
    yield compared("b", "x", [2.0] * n_splits, n_splits=n_splits)
    raise KeyboardInterrupt


TOY = Table("toy", "", "", _toy, ("dataset", "method", "ours", "n_splits"), n_splits=3)


def test_a_set_is_kept_as_soon_as_it_is_complete(tmp_path):
    path = tmp_path / "toy.csv"
    results, lines = Results(TOY, path), []

    def report(row):
        results.add(row)
        lines.append(len(read_csv(path)))

    with pytest.raises(KeyboardInterrupt):
        TOY.run(report=report)
    assert lines == [0, 2, 2]
    assert [row["dataset"] for row in read_csv(path)] == ["a", "a"]
    results.save()
    assert len(read_csv(path)) == 3


def test_value_of_every_split_is_kept_beside(tmp_path):
    table = replace(TOY, paired=("dataset", "method", "values"))
    results = Results(table, tmp_path / "toy.csv", tmp_path / "splits.csv")
    row = {"dataset": "a", "method": "x", "ours": 1.5, "n_splits": 2, "last": False}
    results.add(row | {"values": [1.0, 2.0]})
    results.add(row | {"dataset": "b", "ours": None, "values": None, "last": True})
    assert read_csv(tmp_path / "splits.csv") == [
        {"dataset": "a", "method": "x", "values": "1 2"},
    ]
    assert len(read_csv(tmp_path / "toy.csv")) == 2


def test_fewer_splits_are_asked_for_by_number():
    rows = []
    with pytest.raises(KeyboardInterrupt):
        TOY.run(report=rows.append, n_splits=2)
    assert [row["n_splits"] for row in rows] == [2, 2, 2]
    assert [row["last"] for row in rows] == [False, True, False]
    with pytest.raises(ValueError, match="from 1 to 3 for toy, got 4"):
        TOY.run(n_splits=4)
    with pytest.raises(ValueError, match="no repeated splits"):
        tables()["bahsic_table1"].run(n_splits=2)
    assert {name for name, table in tables().items() if table.n_splits} >= {
        *(f"thesis_{part}" for part in ("gaussian", "linear", "promoters", "yahoo")),
        "ica_housing",
    }


# --- methods and protocol -------------------------------------------------------------------------
@pytest.mark.parametrize("order", [methods.rfe, methods.pearson, methods.mutual_information])
def test_methods_put_the_relevant_column_first(order):
    X = np.random.default_rng(0).normal(size=(80, 12))
    assert order(X, (X[:, 7] > 0).astype(int), 1)[0] == 7


def test_elimination_with_one_column_a_round_is_that_of_scikit_learn():
    data = load("wine")
    X = StandardScaler().fit_transform(data.X)[:, :9]  # a tenth is less than one column
    machine = LinearSVC(C=1.0, dual="auto", max_iter=20_000, random_state=0)
    expected = RFE(machine, n_features_to_select=3, step=1).fit(X, data.y).get_support(True)
    order = methods.rfe(X, data.y, 3)
    assert sorted(order[:3].tolist()) == expected.tolist()
    assert sorted(order.tolist()) == list(range(9))  # every column, those that left behind


def test_a_perfect_column_leaves_no_error():
    y = np.repeat([0, 1, 2], 20)
    X = np.column_stack([y + 0.0, np.random.default_rng(0).normal(size=60)])
    results = folds(X, y, "multiclass", methods.bahsic, 1, gaussian_machine, n_folds=4)
    assert results == [Fold((0,), 0.0)] * 4
    assert overlap(results) == 1


def test_large_sets_are_sampled_with_as_many_of_every_class():
    y = np.repeat([0, 1, 2], [5000, 900, 700])
    rows = Problem("x", "x", "multiclass")._sample(y)
    assert len(rows) <= MOST_ROWS
    assert np.bincount(y[rows]).tolist() == [666] * 3
    assert rows.tolist() == Problem("x", "x", "multiclass")._sample(y).tolist()


# --- tiny runs ------------------------------------------------------------------------------------
def test_quick_table1_on_a_bundled_set():
    reported = []
    rows = tables()["bahsic_table1"].run(quick=True, datasets=["wine"], report=reported.append)
    assert [row | {"last": row is rows[-1]} for row in rows] == reported
    assert [row["method"] for row in rows] == list(bahsic_table1.METHODS)
    ours = {row["method"]: row["ours"] for row in rows}
    assert all(value < 15 for value in ours.values() if value is not None)
    assert rows[0]["difference"] == pytest.approx(ours["BAHSIC"] - 1.7)


def test_regression_follows_the_dashes_of_the_paper(monkeypatch):
    assert "abalone" in available()
    monkeypatch.setattr("reproduction.table1_data.MOST_ROWS", 150)
    rows = tables()["bahsic_table1"].run(quick=True, datasets=["abalone"])
    ours = {row["method"]: row["ours"] for row in rows}
    assert all(ours[method] is None for method in ("RFE", "RELIEF", "L0", "R2W2"))
    assert 20 < ours["BAHSIC"] < 100


def test_sets_that_are_not_at_hand_are_rows_with_a_reason():
    rows = tables()["bahsic_table1"].run(quick=True, datasets=["musk"])
    assert all(row["ours"] is None and row["note"] for row in rows)
    with pytest.raises(ValueError, match="nonsense"):
        tables()["bahsic_table1"].run(datasets=["nonsense"])


def test_quick_microarrays_on_a_bundled_set(monkeypatch):
    monkeypatch.setattr(bahsic_microarrays, "COSTS", (1, 100))
    monkeypatch.setattr(bahsic_microarrays, "WIDTHS", (1, 10))
    rows = tables()["bahsic_microarrays"].run(quick=True, datasets=["wine"])
    assert [row["method"] for row in rows] == ["lin", "RBF", "dis"]
    assert all(row["ours"] < 15 and row["published"] is None for row in rows)
    assert all(0 <= row["overlap"] <= 10 for row in rows)


def test_quick_artificial(monkeypatch):
    monkeypatch.setattr(bahsic_artificial, "QUICK_SIZES", (200,))
    rows = tables()["bahsic_artificial"].run(quick=True)
    ranks = {(row["dataset"], row["method"]): row["ours"] for row in rows}
    assert ranks["xor", "BAHSIC"] == 1.5
    assert ranks["classes", "BAHSIC"] == 1.5
    assert ranks["xor", "Pearson"] > 3
    assert ("regression", "Relief") not in ranks


ROOT = Path(__file__).parents[2]
RESULTS = ROOT / "reproduction" / "results"


def test_the_page_shows_the_results(tmp_path):
    written = ROOT / "docs" / "reproduction.md"
    if not written.is_file():
        pytest.skip("the documentation is not part of the source package")
    copy = tmp_path / "page.md"
    stale = re.sub(  # the tables that are filled, with other content
        r"(<!-- (\w+) -->\n).*?(<!-- end of \2 -->)",
        r"\1| stale |\n\3",
        written.read_text(encoding="utf-8"),
        flags=re.DOTALL,
    )
    shown = re.findall(r"<!-- end of (\w+) -->", stale)
    assert stale.count("| stale |") == len(shown)
    run = {file.stem for file in RESULTS.glob("*.csv")}
    assert set(shown) == run & set(filling.TABLES)
    assert {name for name in tables() if name.startswith("thesis")} <= set(shown)
    copy.write_text(stale, encoding="utf-8")
    filling.fill_page(copy, RESULTS)
    tables_of = [
        [line for line in path.read_text(encoding="utf-8").splitlines() if line.startswith("|")]
        for path in (written, copy)
    ]
    assert tables_of[0] == tables_of[1]
    copy.write_text("no tables here", encoding="utf-8")
    with pytest.raises(ValueError, match="<!-- bahsic_figure1 -->"):
        filling.fill_page(copy, RESULTS)


@pytest.mark.parametrize("name", SCALES)
def test_every_figure_that_differs_has_its_reason(name):
    rows = read_csv(RESULTS / f"{name}.csv")
    unexplained = [
        (row["dataset"], row["method"])
        for row in comparable(rows)
        if not agrees(row, SCALES[name]) and reason_of(name, row) is None
    ]
    assert not unexplained, "write to reproduction/pages/reasons.json why, or what was tried"


def test_reasons_are_of_known_kinds():
    entries = json.loads(REASONS.read_text(encoding="utf-8"))
    assert set(entries) <= set(SCALES)
    assert {entry["kind"] for found in entries.values() for entry in found} <= set(KINDS)


def test_the_program_lists_the_tables():
    command = [sys.executable, "-m", "reproduction", "--list"]
    shown = subprocess.run(command, capture_output=True, text=True, cwd=ROOT)
    assert shown.returncode == 0, shown.stderr
    assert all(name in shown.stdout for name in NAMES)


def test_the_program_keeps_the_rows_of_a_table(tmp_path, monkeypatch, capsys):
    def stream(quick, n_jobs, datasets, n_splits=2):
        for name in datasets or ["one", "two"]:
            ours = 1.0 if quick else n_splits / 2 + 0.5
            yield {"dataset": name, "method": "m", "published": 2.0, "ours": ours, "last": True}

    known = {"toy": Table("toy", "A toy table", "Nobody (2020)", stream, n_splits=9)}
    monkeypatch.setattr(program, "tables", lambda: known)
    monkeypatch.setattr(program, "RESULTS", tmp_path)
    program.main(["toy", "--quick"])
    assert "one m: 1" in capsys.readouterr().out
    assert not list(tmp_path.iterdir())
    program.main(["toy"])
    program.main(["toy", "--sets", "two", "--splits", "7"])
    assert [row["ours"] for row in read_csv(tmp_path / "toy.csv")] == [1.5, 4.0]
    with pytest.raises(ValueError, match="from 1 to 9"):
        program.main(["toy", "--splits", "10"])


def test_quick_curves_on_a_bundled_set(monkeypatch):
    monkeypatch.setattr(bahsic_figure3, "COUNTS", (2, 5))
    monkeypatch.setattr(bahsic_figure3, "METHODS", {"BAHSIC": methods.bahsic, "RFE": methods.rfe})
    rows = tables()["bahsic_figure3"].run(quick=True, datasets=["ionosphere", "vehicle"])
    *ours, missing = rows
    n_columns = load("ionosphere").X.shape[1]
    assert [(row["method"], row["n_features"]) for row in ours] == [
        (method, count) for method in ("BAHSIC", "RFE") for count in (2, 5, n_columns)
    ]
    assert ours[2]["ours"] == pytest.approx(ours[5]["ours"], abs=1.5)  # all columns
    assert ours[2]["ours"] < ours[0]["ours"]
    assert missing["dataset"] == "vehicle"
    assert missing["ours"] is None
    with pytest.raises(ValueError, match="nonsense"):
        tables()["bahsic_figure3"].run(datasets=["nonsense"])
    lines = filling.curves(rows)
    assert lines[0] == "| data (folds) | method | 2 | 5 | all |"
    assert len(lines) == 4
