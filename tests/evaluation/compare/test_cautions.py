"""Reasons to doubt a comparison are said next to its verdict, and only where there are some."""

from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from sklearn.naive_bayes import GaussianNB

from depmax import compare
from depmax.evaluation import CAUTIONS
from depmax.evaluation.comparison.cautions import cautions_about_rows, code_of, kept_alike

FAST_NUMBERS = {"cv": 4, "random_state": 0}
FAST = {"judge": GaussianNB(), "cv": 4, "random_state": 0}


def rows(n_rows=240, n_columns=5, seed=0):
    rng = np.random.default_rng(seed)
    return rng, rng.normal(size=(n_rows, n_columns)), rng.integers(0, 2, n_rows)


class TestCopies:
    def test_of_rows_with_measurements(self):
        rng, X, y = rows(40)
        order = rng.permutation(np.repeat(np.arange(40), 6))
        (said,) = cautions_about_rows(X[order], y[order], "classes")
        assert said.code == "DM001"
        assert said.text.startswith(
            "200 of 240 rows (83%) repeat other rows exactly, target included."
        )

    def test_a_few_are_not_mentioned(self):
        _, X, y = rows()
        X[:2], y[:2] = X[2:4], y[2:4]
        assert cautions_about_rows(X, y, "classes") == []

    def test_with_other_targets_are_none(self):
        rng, X, _ = rows(60)
        X = np.vstack([X, X])[rng.permutation(120)]
        assert cautions_about_rows(X, rng.normal(size=120), "numbers") == []

    def test_of_answers_to_few_questions_are_expected(self):
        rng, _, y = rows(500)
        frame = pd.DataFrame({f"q{j}": rng.choice(["yes", "no", "?"], 500) for j in range(3)})
        assert cautions_about_rows(frame, y, "classes") == []

    def test_expected_in_one_class_only(self):
        rng, _, y = rows(600)
        healthy = rng.random((600, 9)) < 0.03  # nearly always the same value
        X = np.where(y[:, None] == 0, healthy, rng.integers(1, 11, (600, 9)))
        assert cautions_about_rows(X, y, "classes") == []

    def test_with_groups_are_fine(self):
        _, X, y = rows(40)
        order = np.repeat(np.arange(40), 6)
        assert cautions_about_rows(X[order], y[order], "classes", groups=order) == []


class TestCodesOfMissingValues:
    @pytest.mark.parametrize(
        ("column", "code"),
        [
            ([9.6, 12.5, 17.8, 999, 999], 999),
            ([31, 62, 18, 45, -9, -9], -9),
            ([1, 2, 3, 4, 5, 9, 9], 9),
            ([1, 12, 5, 98, 99, 99], 99),
            ([18, 92, 40, 99, 99], None),  # an age
            ([9.6, 12.5, 17.8, 999], None),  # once
            ([0] * 500 + [1, 2, 9, 9], None),  # a count of words
            ([9, 9, 1, 1], None),  # two levels
            ([np.nan, 9, 9], None),
        ],
    )
    def test_lie_far_from_all_others(self, column, code):
        found, n_rows = code_of(np.array(column, dtype=float))
        assert (found if n_rows else None) == code

    @pytest.mark.parametrize("groups", [None, np.arange(240) // 2])
    def test_in_columns_and_target(self, groups):
        _, X, _ = rows()
        X[:9, 1], y = 999, X[:, 0].copy()
        y[3:6] = -99
        (said,) = cautions_about_rows(X, y, "numbers", groups)
        assert said.code == "DM007"
        assert said.text.startswith("999 in x1 (9 rows), -99 in the target (3 rows) lie apart")
        assert "--missing 999" in said.text


class TestNeighbours:
    def test_in_time(self):
        rng, *_ = rows()
        walks = rng.normal(size=(300, 5)).cumsum(axis=0)
        (said,) = cautions_about_rows(walks[:, 1:], walks[:, 0], "numbers")
        assert said.code == "DM002"
        assert "--groups" in said.text

    def test_of_one_patient(self):
        rng, *_ = rows()
        patient = np.repeat(np.arange(40), 8)
        X = rng.normal(size=(40, 6))[patient] + 0.3 * rng.normal(size=(320, 6))
        assert len(cautions_about_rows(X, rng.integers(0, 2, 40)[patient], "classes")) == 1

    @pytest.mark.parametrize("name", ["patient", "PatientNo", "group"])
    def test_of_one_patient_in_any_order(self, name):
        rng, *_ = rows()
        patient = rng.permutation(np.repeat(np.arange(40), 8))
        X = rng.normal(size=(40, 6))[patient] + 0.3 * rng.normal(size=(320, 6))
        frame = pd.DataFrame(X).rename(columns=str)
        y = rng.integers(0, 2, 40)[patient]
        assert cautions_about_rows(frame, y, "classes") == []  # nothing names the patient
        numbered = cautions_about_rows(frame.assign(**{name: patient}), y, "classes")
        text = [f"P{number}" for number in patient]
        (said,) = cautions_about_rows(frame.assign(**{name: text}), y, "classes")
        assert said.code == "DM003"
        assert said.text.startswith(f"Rows with the same {name} are alike")
        assert numbered == ([] if name == "group" else [said])

    def test_of_one_city_that_only_predicts(self):
        rng, X, _ = rows(400)
        city = rng.integers(0, 30, 400)
        frame = pd.DataFrame(X).rename(columns=str).assign(city=[f"C{code}" for code in city])
        y = 2 * rng.normal(size=30)[city] + rng.normal(size=400)
        assert cautions_about_rows(frame, y, "numbers") == []

    @pytest.mark.parametrize("kind", ["classes", "numbers"])
    def test_in_a_table_sorted_by_its_target(self, kind):
        rng, X, _ = rows(400)
        y = X[:, 0] + 0.3 * rng.normal(size=400)
        y = y if kind == "numbers" else (y > 0).astype(int)
        order = np.argsort(y, kind="stable")
        assert cautions_about_rows(X[order], y[order], kind) == []

    def test_in_a_table_sorted_by_a_column(self):
        rng, X, _ = rows(400)
        y = X[:, 0] + 0.3 * rng.normal(size=400)
        order = np.argsort(X[:, 0])
        assert cautions_about_rows(X[order], y[order], "numbers") == []

    def test_in_random_order_with_gaps_and_categories(self):
        rng, X, y = rows(400)
        X[rng.random(X.shape) < 0.2] = np.nan
        frame = pd.DataFrame(X).rename(columns=str).assign(group=rng.choice(list("abc"), 400))
        assert cautions_about_rows(frame, y, "classes") == []


class TestTheVerdict:
    @pytest.mark.parametrize("method", ["HSIC filter", "all columns"])
    def test_a_column_that_holds_the_target(self, method):
        _, X, y = rows(120, 12)
        names = np.where(y == 1, "ill", "well")
        frame = pd.DataFrame(X).rename(columns=str).assign(diagnosis=np.where(y == 1, "J45", "Z00"))
        found = compare(frame, names, [method], **FAST)
        (caution,) = found.verdict.cautions
        said = str(caution)
        assert said.startswith("DM004: Check diagnosis: by itself it tells")
        assert said in str(found.verdict)
        assert said in repr(found)
        assert said in found._repr_html_()
        assert f"Caution {said}" in found.report().answer

    def test_a_number_that_is_cut_into_the_target(self):
        _, X, _ = rows(200, 12)
        found = compare(X, X[:, 3] > 0, ["correlation filter"], cv=4, random_state=0)
        assert found.verdict.columns == ("x3",)
        assert "Check x3: by itself" in str(found.verdict.cautions[0])
        assert "On new data expect" not in str(found.verdict)

    def test_one_that_was_looked_into_is_silent(self):
        _, X, _ = rows(200, 12)
        settings = {"cv": 4, "random_state": 0, "ignore": ["dm004"]}
        found = compare(X, X[:, 3] > 0, ["correlation filter"], **settings)
        assert found.verdict.cautions == ()
        assert found.to_dict()["cautions"] == []
        assert "On new data expect" in str(found.verdict)

    def test_codes_that_do_not_exist(self):
        _, X, y = rows()
        with pytest.raises(ValueError, match=r"DM404.*DM001"):
            compare(X, y, ignore="DM404")

    def test_ordinary_columns_are_not_suspected(self):
        rng, X, _ = rows(120, 12)
        y = X[:, 0] + X[:, 1] + 0.3 * rng.normal(size=120) > 0
        verdict = compare(X, y, ["correlation filter"], **FAST).verdict
        assert verdict.cautions == ()
        assert "On new data expect" in str(verdict)

    def test_a_few_rows_decide(self):
        rng, X, _ = rows(300)
        price = np.exp(2 * X[:, 0] + 2 * rng.standard_t(3, size=300))
        found = compare(X, price, ["correlation filter"], cv=4, random_state=0)
        assert "3 rows of 300 hold" in str(found.verdict.cautions[0])
        assert "logarithm" in str(found.verdict.cautions[0])
        (told,) = found.to_dict()["cautions"]
        assert told["code"] == "DM005"
        assert compare(X, np.log(price), ["correlation filter"], cv=4).verdict.cautions == ()


class TestKeptAlike:
    """Three wavelengths beside each other, and columns that stand alone."""

    def spectrum(self):
        rng, X, _ = rows(120, 6)
        X[:, 1:3] = X[:, :1] + 0.2 * rng.normal(size=(120, 2))
        return pd.DataFrame(X, columns=[f"nm{j}" for j in range(6)])

    def test_near_copies_are_named(self):
        text = kept_alike(self.spectrum()[["nm2", "nm0", "nm1"]], "BAHSIC")
        assert text.startswith("nm0, nm1 are near copies of better columns")
        assert "KernelRidgeElimination" in text
        assert "column_groups" in text
        # the remedy itself: what it keeps adds something
        assert kept_alike(self.spectrum()[["nm0", "nm1"]], "KernelRidgeElimination") == ""

    @pytest.mark.parametrize("kept", [["nm0"], ["nm0", "nm3"], ["nm0", "nm1", "nm3", "nm4", "nm5"]])
    def test_few_of_many_are_not_mentioned(self, kept):
        assert kept_alike(self.spectrum()[kept], "BAHSIC") == ""

    def test_of_a_comparison(self):
        X = self.spectrum()
        y = X[["nm0", "nm1", "nm2"]].sum(axis=1).to_numpy()
        y = y + 0.5 * np.random.default_rng(1).normal(size=120)
        options = {**FAST_NUMBERS, "dimensions": [3], "margin": 0.5}
        found = compare(X, y, ["HSIC filter"], **options)
        assert [one.code for one in found.verdict.cautions] == ["DM006"]
        again = compare(X, y, ["HSIC filter"], ignore="DM006", **options)
        assert again.verdict.cautions == ()


@pytest.mark.pages
@pytest.mark.parametrize("caution", CAUTIONS.values(), ids=list(CAUTIONS))
def test_every_code_has_a_section(caution):
    page = Path(__file__).parents[3] / "docs" / "guide" / "cautions.md"
    assert f"\n## {caution.code}: {caution.title}\n" in page.read_text("utf-8")


class TestGroups:
    """Columns and target are alike within patients and have nothing to do with each other."""

    def patients(self, n_patients):
        rng = np.random.default_rng(0)
        patient = np.repeat(np.arange(n_patients), 8)
        X = rng.normal(size=(n_patients, 6))[patient] + 0.2 * rng.normal(size=(len(patient), 6))
        return X, rng.permutation(n_patients)[patient] % 2, patient

    def test_columns_are_tested_by_whole_groups(self):
        X, y, patient = self.patients(60)
        found = compare(X, y, ["HSIC filter"], groups=patient, **FAST)
        assert found.verdict.outcome in ("nothing", "too few rows")
        assert found.verdict.n_dependent == 0
        assert (found.screening.pvalues_adjusted > 0.05).all()
        without = compare(X, y, ["HSIC filter"], **FAST)
        assert (without.screening.pvalues_adjusted < 0.05).any()

    def test_too_few_groups_to_test_columns(self):
        X, _, patient = self.patients(3)
        y = np.arange(len(patient)) % 2
        found = compare(X, y, ["HSIC filter"], groups=patient, judge=GaussianNB(), cv=3)
        assert (found.screening.pvalues == 1.0).all()
        assert found.verdict.n_dependent == 0

    def test_groups_of_many_sizes(self):
        X, y, patient = self.patients(60)
        kept = np.random.default_rng(1).random(len(y)) < 0.6
        y = y + np.random.default_rng(2).normal(size=len(y))  # differs within groups
        found = compare(X[kept], y[kept], ["HSIC filter"], groups=patient[kept], **FAST_NUMBERS)
        assert (found.screening.pvalues_adjusted > 0.05).all()
