"""The report of a comparison: the answer in words, honest p-values, every kind of problem."""

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from sklearn.naive_bayes import GaussianNB

from depmax import compare, screen
from depmax.evaluation import Comparison
from depmax.evaluation.comparison.findings import Findings
from depmax.evaluation.comparison.page_columns import positions_of
from depmax.plotting import FeatureScatterDisplay, HeatMapDisplay, LoadingsDisplay

QUICK = {"estimator": GaussianNB(), "cv": 3, "dimensions": [1, 2], "random_state": 0}


@pytest.fixture(name="data", scope="module")
def make_data():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(80, 6))
    y = np.where(X[:, 1] + X[:, 4] + 0.4 * rng.normal(size=80) > 0, "yes", "no")
    frame = pd.DataFrame(X, columns=["age", "dose", "height", "pulse", "weight", "dose copy"])
    frame["dose copy"] = frame["dose"] + 0.05 * rng.normal(size=80)
    return frame, pd.Series(y, name="healed")


@pytest.fixture(name="found", scope="module")
def run(data):
    methods = ["correlation filter", "BAHSIC", "PLS", "all columns"]
    return compare(*data, methods, **QUICK)


@pytest.fixture(name="report", scope="module")
def make_report(found):
    return found.report(title="A trial", command="depmax compare trial.csv", notes=("A note.",))


def section(report, title):
    return next(part for part in report.sections if part.title == title)


def test_the_answer_comes_first(found, report):
    assert report.answer[0] == found.verdict.headline
    text = " ".join(report.answer)
    assert all(reason in text for reason in found.verdict.reasons)
    assert f"{found.winner_score.mean:.3f}" in text
    assert "All columns score" in text
    assert report.title == "A trial"
    assert "6 columns predict healed (classes, 80 rows)" in report.question


def test_every_part_is_there(report):
    assert [part.title for part in report.sections] == [
        "How to use it",
        "The data",
        "How healed depends on single columns",
        "Which columns?",
        "Which columns are redundant?",
        "Which method?",
        "How many features?",
        "How well is each class predicted?",
        "Redundancy and interactions",
        "What do the new features show?",
        "Worth knowing",
        "What does it cost?",
        "How to reproduce this",
    ]
    assert section(report, "Worth knowing").points == ("A note.",)
    assert section(report, "How to reproduce this").code == "depmax compare trial.csv"
    assert "Seed: 0" in section(report, "How to reproduce this").text[0]


def test_pvalues_are_those_of_the_screening_over_all_columns(data, report):
    screening = screen(*data)
    (table,) = section(report, "Which columns?").tables
    titles = [column.title for column in table.columns]
    for row in table.rows:
        place = list(screening.names).index(row[titles.index("column")])
        assert row[titles.index("p (adjusted)")] == screening.pvalues_adjusted[place]
    assert len(table.rows) <= 2


def test_substitutes_and_frequencies(found):
    findings = Findings(found)
    (here,) = {1, 5} & set(findings.kept)  # the dose or its copy
    other = {1: "dose copy", 5: "dose"}[here]
    assert other in findings.replaced_by(here)
    trials = found.outcomes.by_method[findings.selector.name]
    expected = np.mean([trial.dimension for trial in trials])
    assert findings.frequencies.sum() == pytest.approx(expected)


def test_redundant_columns_beside_those_kept(found, report):
    findings = Findings(found)
    (table,) = section(report, "Which columns are redundant?").tables
    (here,) = {1, 5} & set(findings.kept)
    row = next(row for row in table.rows if row[0] == findings.names[here])
    assert row[1] == len(findings.replaced_by(here))
    assert row[2] >= 1
    assert {1: "dose copy", 5: "dose"}[here] in row[3]


def test_matrices(found):
    findings = Findings(found)
    which = np.array([1, 5, 0])
    redundancy = findings.redundancy(which)
    assert redundancy[0, 1] > 0.9 > 0.2 > redundancy[0, 2]
    joint = findings.joint_dependence(which)
    np.testing.assert_array_equal(joint, joint.T)
    assert joint[0, 0] > joint[2, 2]


def test_the_scatter_shows_held_out_rows(found, report):
    scatter, loadings = section(report, "What do the new features show?").pictures
    assert isinstance(scatter.display, FeatureScatterDisplay)
    assert scatter.display.held_out.sum() == len(found.splits[0][1])
    assert isinstance(loadings.display, LoadingsDisplay)
    assert set(loadings.display.names) >= {"age", "dose"}


def test_written(found, tmp_path):
    path = found.to_html(tmp_path / "report.html")
    text = path.read_text(encoding="utf-8")
    assert "What predicts healed?" in text
    assert text.count("<svg") == 6 + len(found.kept)
    assert "from depmax import compare" in text


def test_plot(found):
    from matplotlib.figure import Figure

    display = found.plot(ax=Figure().add_subplot())
    assert set(display.curves) == {"correlation filter", "BAHSIC", "PLS"}
    assert list(display.levels) == ["all columns"]


def test_noise_is_called_noise():
    rng = np.random.default_rng(1)
    X, y = rng.normal(size=(60, 5)), np.tile([0, 1], 30)
    report = compare(X, y, ["correlation filter", "PCA"], **QUICK).report()
    assert report.answer[0] == "Nothing here predicts y: no better than guessing (0.50)."


def test_ordered_columns_are_drawn_as_bands_and_curves(data):
    rng = np.random.default_rng(0)
    spectra = pd.DataFrame(
        np.cumsum(rng.normal(size=(50, 14)), axis=1),
        columns=[f"{w} nm" for w in range(400, 540, 10)],
    )
    found = compare(spectra, spectra["450 nm"] - spectra["420 nm"], ["HSIC filter", "PLS"], cv=2)
    report = found.report()
    bands = section(report, "Redundancy and interactions").pictures[0].display
    assert isinstance(bands, HeatMapDisplay)
    assert bands.row_label == "upper edge (nm)"
    loadings = section(report, "What do the new features show?").pictures[1].display
    assert loadings.positions[0] == 400
    assert "cannot be reproduced" in section(report, "How to reproduce this").text[0]


@pytest.mark.parametrize(
    "names", [["a", "b"] * 10, [f"x{j}" for j in range(12)], [f"b{j}" for j in (3, 1, 2) * 4]]
)
def test_columns_without_an_order(names):
    assert positions_of(names) is None


def test_categories_labels_and_failures(data):
    frame, y = data
    frame = frame.assign(level=pd.Categorical(np.where(y == "yes", "high", "low")))
    labels = np.column_stack([y == "yes", frame["age"] > 0]).astype(int)
    found = compare(frame, labels, ["BAHSIC", "PLS", "LDA"], cv=2, dimensions=[2], random_state=0)
    report = found.report()
    assert "LDA failed" in section(report, "Worth knowing").points[0]
    assert "level" in " ".join(report.answer)


def test_rows_as_they_are(data):
    frame, y = data
    found = compare(frame.to_numpy(), y, ["PCA", "all columns"], prepare=False, **QUICK)
    titles = [part.title for part in found.report().sections]
    assert "Which columns?" not in titles


def _words(report):
    """Everything that the page says."""
    parts = [*report.answer]
    for part in report.sections:
        parts += [*part.text, *part.points, *(table.caption for table in part.tables)]
        parts += [picture.caption for picture in part.pictures]
    return "\n".join(parts)


@pytest.mark.parametrize("last", [1, 2, 3, 4, 5])
def test_an_interrupted_report_speaks_of_what_is_finished(data, last):
    def stop(state):
        if state.done == last:
            raise KeyboardInterrupt

    found = compare(*data, ["correlation filter", "PCA"], progress=stop, **QUICK)
    assert isinstance(found, Comparison)
    done = max(1, last // 2)
    assert sorted(set(found.scores["split"])) == list(range(done))
    report = found.report()
    said = f"Interrupted after {done} of 3 splits"
    assert said in section(report, "Worth knowing").points[0]
    assert said in report.answer[1]
    assert said in repr(found)
    words = _words(report)
    assert f"on {done} of 3 test parts" in words
    assert "on 3 test parts" not in words
    assert f"columns, {done} of 3 splits," in repr(found)
    assert "3 outer splits, some of which the interruption left unfinished." in words
    assert ("Splits that some method did not finish are not counted." in words) == (last in (3, 5))
    assert (", before PCA." in words) == (last == 1)


def test_interrupted_without_a_split_in_common(data):
    found = compare(*data, ["correlation filter", "PCA"], **QUICK)
    apart = tuple(trial for trial in found.trials if (trial.method == "PCA") == (trial.split == 1))
    apart = replace(found, trials=apart, complete=False)
    assert "had finished the same split" in _words(apart.report())
    assert "cannot be compared" in repr(apart)
    assert np.isnan(apart.significance["pvalue"]).all()


@pytest.mark.parametrize(
    ("methods", "label"),
    [
        (["correlation filter", "PCA"], "columns it keeps"),
        (["PCA", "HBFE"], "features it uses"),
        (["all columns"], None),
    ],
)
def test_key_figures_are_those_of_one_method(data, methods, label):
    """Whatever is recommended, each figure is of that method, or of guessing."""
    frame, y = data
    found = compare(frame, y, methods, **QUICK)
    figures = {figure.label: figure for figure in found.report().figures}
    assert figures["recommended method"].value == found.recommended
    row = list(found.table["method"]).index(found.recommended)
    score = found.table["balanced_accuracy"][row]
    assert figures["its balanced accuracy"].value == f"{score:.3f}"
    expected = ["recommended method", "its balanced accuracy", "guessing", label]
    assert list(figures) == [name for name in expected if name]
    others = set(methods) - {found.recommended}
    shown = " ".join(f"{figure.label} {figure.value} {figure.note}" for figure in figures.values())
    assert not any(name in shown for name in others)


def test_warnings_that_differ_in_numbers_are_one_point(data):
    found = compare(*data, ["correlation filter", "PCA"], **QUICK)
    noisy = [
        replace(trial, warnings=(f"UserWarning: stopped after {n} rounds.",))
        for n, trial in enumerate(found.trials)
    ]
    points = section(replace(found, trials=tuple(noisy)).report(), "Worth knowing").points
    (point,) = [point for point in points if "stopped after" in point]
    assert point.endswith("rounds. (correlation filter: 3 times, PCA: 3 times)")


def test_a_warning_that_came_once(data):
    found = compare(*data, ["PCA"], **QUICK)
    first, *others = found.trials
    noisy = replace(found, trials=(replace(first, warnings=("UserWarning: slow.",)), *others))
    assert "UserWarning: slow. (PCA: once)" in section(noisy.report(), "Worth knowing").points


def test_scores_of_a_search_that_rise_with_the_rank_are_explained():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(200, 6))
    y = (X[:, 2] * X[:, 4] > 0).astype(int)  # each explains little without the other
    found = compare(X, y, ["KernelRidgeElimination"], cv=3, random_state=0)
    assert sorted(found.kept) == [2, 4]
    said = section(found.report(), "Which columns?").text
    assert any(text.startswith("Each score belongs to the round") for text in said)
