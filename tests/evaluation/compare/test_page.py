"""The report of a comparison: the answer in words, honest p-values, every kind of problem."""

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from sklearn.naive_bayes import GaussianNB

from depmax import compare, screen
from depmax.evaluation import profile
from depmax.plotting import FeatureScatterDisplay, HeatMapDisplay, LoadingsDisplay

QUICK = {"judge": GaussianNB(), "cv": 3, "dimensions": [1, 2], "random_state": 0}


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
    assert f"{found.verdict.expected.value:.3f}" in text
    assert report.title == "A trial"
    assert "6 columns predict healed (2 classes, 80 rows)" in report.question


def test_every_part_is_there(report):
    assert [part.title for part in report.sections] == [
        "How to use it",
        "The data",
        "How healed depends on single columns",
        "Which columns?",
        "Which method?",
        "How many features?",
        "How well is each class predicted?",
        "What do the new features show?",
        "Worth knowing",
        "How to reproduce this",
    ]
    assert section(report, "Worth knowing").points == ("A note.",)
    assert section(report, "How to reproduce this").code == "depmax compare trial.csv"
    assert "Seed: 0" in section(report, "How to reproduce this").text[0]


def test_the_data_are_described_as_a_profile_does(data, report):
    *found, target = section(report, "The data").points
    assert found == profile(data[0]).findings
    assert target.startswith("Target: healed, 2 classes")


def test_pvalues_are_those_of_the_screening_over_all_columns(data, report):
    screening = screen(*data)
    (table,) = section(report, "Which columns?").tables
    titles = [column.title for column in table.columns]
    for row in table.rows:
        place = list(screening.names).index(row[titles.index("column")])
        assert row[titles.index("p (adjusted)")] == screening.pvalues_adjusted[place]
    assert len(table.rows) <= 2


def test_substitutes_and_how_often_columns_were_chosen(found, report):
    (table,) = section(report, "Which columns?").tables
    titles = [column.title for column in table.columns]
    rows = {row[titles.index("column")]: row for row in table.rows}
    (here,) = {"dose", "dose copy"} & set(rows)
    other = {"dose": "dose copy", "dose copy": "dose"}[here]
    assert other in rows[here][titles.index("substitute for")]
    shares = [row[titles.index("chosen on folds")] for row in table.rows]
    assert all(0.0 <= share <= 1.0 for share in shares)
    assert max(shares) > 0.5


def test_columns_that_are_alike(report):
    """The heat map names the most alike of the columns kept."""
    drawn = [p.display for part in report.sections for p in part.pictures]
    maps = [display for display in drawn if isinstance(display, HeatMapDisplay)]
    assert all(0.0 <= display.values.min() <= display.values.max() <= 1.0 for display in maps)


def test_features_are_drawn(found, report):
    scatter, loadings = section(report, "What do the new features show?").pictures
    assert isinstance(scatter.display, FeatureScatterDisplay)
    assert isinstance(loadings.display, LoadingsDisplay)
    assert set(loadings.display.names) >= {"age", "dose"}


def test_classes_are_judged_on_held_out_rows(found, report):
    (table,) = section(report, "How well is each class predicted?").tables
    assert [row[0] for row in table.rows] == ["no", "yes"]
    assert sum(row[1] for row in table.rows) == 80
    recalls = [row[3] for row in table.rows]
    assert np.mean(recalls) == pytest.approx(found.verdict.score.value)


def test_the_leaderboard_is_the_table(found, report):
    (table,) = section(report, "Which method?").tables
    titles = [column.title for column in table.columns]
    shown = [str(row[titles.index("method")].text) for row in table.rows]
    assert shown == found.table["method"].tolist()
    assert shown[table.emphasised[0]] == found.recommended
    scores = [row[titles.index("balanced accuracy")] for row in table.rows]
    assert scores == found.table["balanced_accuracy"].tolist()


def test_written(found, tmp_path):
    path = found.to_html(tmp_path / "report.html")
    text = path.read_text(encoding="utf-8")
    assert "What predicts healed?" in text
    pictures = sum(len(part.pictures) for part in found.report().sections)
    assert text.count("<svg") == pictures
    assert "from depmax import compare" in text


def test_plot(found):
    from matplotlib.figure import Figure

    display = found.plot(ax=Figure().add_subplot())
    assert set(display.curves) == {"correlation filter", "BAHSIC", "PLS"}
    assert list(display.levels) == ["all columns"]


def test_noise_is_called_noise():
    rng = np.random.default_rng(1)
    X, y = rng.normal(size=(60, 5)), np.tile([0, 1], 30)
    found = compare(X, y, ["correlation filter", "PCA"], **QUICK)
    report = found.report()
    assert found.verdict.outcome in ("nothing", "too few rows")
    assert report.answer[0] == found.verdict.headline
    assert "How to use it" not in [part.title for part in report.sections]


def test_ordered_columns_are_drawn_as_curves():
    rng = np.random.default_rng(0)
    spectra = pd.DataFrame(
        np.cumsum(rng.normal(size=(50, 14)), axis=1),
        columns=[f"{w} nm" for w in range(400, 540, 10)],
    )
    found = compare(spectra, spectra["450 nm"] - spectra["420 nm"], ["HSIC filter", "PLS"], cv=2)
    report = found.report()
    loadings = section(report, "What do the new features show?").pictures[1].display
    assert loadings.positions[0] == 400
    assert "cannot be reproduced" in section(report, "How to reproduce this").text[0]


def test_categories_labels_and_failures(data):
    frame, y = data
    frame = frame.assign(level=pd.Categorical(np.where(y == "yes", "high", "low")))
    labels = np.column_stack([y == "yes", frame["age"] > 0]).astype(int)
    found = compare(frame, labels, ["BAHSIC", "PLS", "LDA"], cv=2, dimensions=[2], random_state=0)
    report = found.report()
    assert "LDA failed" in section(report, "Worth knowing").points[0]
    assert "level" in _words(report)


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


@pytest.mark.parametrize("last", [1, 4, 8])
def test_an_interrupted_report_speaks_of_what_is_finished(data, last):
    def stop(state):
        if state.done == last:
            raise KeyboardInterrupt

    found = compare(*data, ["correlation filter", "PCA"], progress=stop, **QUICK)
    done = max(1, last // 3)
    report = found.report()
    said = f"Interrupted: scores come from {done} of 3 folds."
    assert said in section(report, "Worth knowing").points
    assert said in report.answer
    assert said in repr(found)
    assert f"on {done} of 3 folds" in _words(report)


@pytest.mark.parametrize(
    "methods", [["correlation filter", "PCA"], ["PCA", "PLS"], ["all columns"]]
)
def test_key_figures_are_those_of_one_method(data, methods):
    """Whatever is recommended, each figure is of that method, or of guessing."""
    found = compare(*data, methods, **QUICK)
    verdict, figures = found.verdict, {each.label: each for each in found.report().figures}
    assert figures["recommended method"].value == found.recommended
    assert figures["balanced accuracy to expect"].value == f"{verdict.expected.value:.3f}"
    assert figures["guessing"].value == f"{verdict.guess:.3f}"
    assert ("columns it keeps" in figures) == bool(verdict.columns)
    others = {*methods, "all columns"} - {found.recommended}
    shown = " ".join(f"{each.label} {each.value} {each.note}" for each in figures.values())
    assert not any(name in shown.replace("of all columns", "") for name in others)


def with_trials(found, trials):
    return replace(found, candidates=replace(found.candidates, trials=tuple(trials)))


def test_warnings_that_differ_in_numbers_are_one_point(data):
    found = compare(*data, ["correlation filter", "PCA"], **QUICK)
    noisy = [
        replace(trial, warnings=(f"UserWarning: stopped after {n} rounds.",))
        for n, trial in enumerate(found.trials)
    ]
    points = section(with_trials(found, noisy).report(), "Worth knowing").points
    (point,) = [point for point in points if "stopped after" in point]
    assert "rounds. (" in point
    assert "correlation filter: 3 times, PCA: 3 times)" in point


def test_a_warning_that_came_once(data):
    found = compare(*data, ["PCA"], **QUICK)
    others = list(found.trials)
    first = others.pop([trial.method for trial in others].index("PCA"))
    noisy = with_trials(found, [replace(first, warnings=("UserWarning: slow.",)), *others])
    assert "UserWarning: slow. (PCA: once)" in section(noisy.report(), "Worth knowing").points
