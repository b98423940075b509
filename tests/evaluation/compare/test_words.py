"""The sentence of every outcome, from facts: what is said, and what is not."""

from __future__ import annotations

from dataclasses import replace
from typing import get_args

import pytest

from depmax.evaluation import Verdict
from depmax.evaluation.comparison.verdict import Outcome, ScoreInterval

FACTS = Verdict(
    outcome="few columns suffice",
    method="BAHSIC",
    size=3,
    columns=("age", "dose", "weight"),
    score=ScoreInterval(0.876, 0.81, 0.94),
    expected=ScoreInterval(0.869, 0.80, 0.93),
    guess=0.5,
    all_columns=0.88,
    loss=ScoreInterval(0.004, -0.01, 0.018),
    margin=0.0076,
    alternative=None,
    pvalue=0.001,
    n_dependent=4,
    metric="balanced accuracy",
    judge="a support vector machine",
    target="healed",
    n_rows=240,
    n_columns=57,
    n_methods=8,
)


def test_few_columns_suffice() -> None:
    assert FACTS.headline == "3 of 57 columns suffice: age, dose, weight."
    said = str(FACTS)
    assert "BAHSIC reaches balanced accuracy 0.876 on held-out rows" in said
    assert "judged by a support vector machine" in said
    assert "all columns reach 0.880" in said
    assert "with 90% confidence no more than 0.008 is lost" in said
    assert "On new data expect 0.869 (95% interval 0.800 to 0.930)." in said
    assert "Guessing reaches 0.500." in said


def test_one_column_is_singular() -> None:
    one = replace(FACTS, columns=("age",), size=1)
    assert one.headline == "1 of 57 columns suffices: age."
    assert replace(one, outcome="better than all").headline.startswith("1 of 57 columns predicts ")
    priced = replace(one, outcome="few columns at a price")
    assert priced.headline.startswith("1 of 57 columns reaches 0.88, all 57 reach ")


def test_many_columns_are_not_all_listed() -> None:
    many = replace(FACTS, columns=tuple(f"gene {j}" for j in range(20)), size=20)
    assert many.headline.startswith("20 of 57 columns suffice: gene 0, gene 1")
    assert "gene 19" not in many.headline


def test_better_than_all() -> None:
    better = replace(FACTS, outcome="better than all", all_columns=0.79)
    assert better.headline == "3 of 57 columns predict better than all 57: age, dose, weight."
    assert "all columns reach 0.790" in str(better)
    assert "confidence" not in str(better)


def test_few_columns_at_a_price() -> None:
    price = replace(
        FACTS,
        outcome="few columns at a price",
        score=ScoreInterval(0.84, 0.78, 0.9),
        loss=ScoreInterval(0.04, 0.01, 0.07),
    )
    assert "reach 0.84, all 57 reach 0.88" in price.headline
    assert "0.07" in price.headline  # the loss that cannot be ruled out
    assert "suffice" not in str(price)
    alone = replace(price, all_columns=None, loss=None)
    assert alone.headline == "3 of 57 columns reach 0.84: age, dose, weight."


def test_all_columns() -> None:
    whole = replace(
        FACTS,
        outcome="all columns",
        method="all columns",
        size=None,
        columns=(),
        loss=None,
        alternative=("Relief", 5, 0.845),
    )
    assert whole.headline == "Use all 57 columns: fewer predict healed less well."
    alone = replace(whole, fewer_tried=False, alternative=None)
    assert alone.headline == "Use all 57 columns: nothing less was tried."
    assert "All columns reach balanced accuracy 0.876" in str(whole)
    assert "5 columns (Relief) reach 0.845" in str(whole)
    assert replace(whole, n_columns=1).headline == "The only column predicts healed."
    one = replace(whole, alternative=("Relief", 1, 0.845))
    assert "1 column (Relief) reaches 0.845" in str(one)


def test_nothing_but_all_columns_was_tried() -> None:
    """There was no time for a selector: it is not said that nothing predicts."""
    tried = replace(FACTS, columns=(), n_methods=1, fewer_tried=False)
    few = replace(tried, outcome="too few rows")
    assert "too few to tell whether all 57 columns together predict healed; nothing" in few.headline
    nothing = replace(tried, outcome="nothing")
    assert nothing.headline.startswith("All 57 columns together predict healed no better than")


def test_features() -> None:
    features = replace(FACTS, outcome="features", method="PLS", size=2, columns=())
    assert features.headline == "New features help: PLS turns 57 columns into 2 features."
    assert replace(features, size=1).headline.endswith("57 columns into 1 feature.")
    assert "all columns reach 0.880" in str(features)


def test_a_method_that_predicts_by_itself() -> None:
    alone = replace(FACTS, outcome="method", method="RandomForestClassifier", size=None, columns=())
    assert alone.headline == "Use RandomForestClassifier."


def test_nothing() -> None:
    nothing = replace(FACTS, outcome="nothing", columns=(), pvalue=0.4, n_dependent=0)
    assert nothing.headline.startswith("Nothing here predicts healed")
    assert "8 methods" in nothing.headline
    assert "guessing (0.50)" in nothing.headline
    assert "expect" not in str(nothing)
    assert "p = 0.4" in str(nothing)
    assert "depend" not in str(nothing)


def test_too_few_rows() -> None:
    few = replace(FACTS, outcome="too few rows", columns=(), pvalue=0.2)
    assert few.headline == "240 rows are too few to tell whether anything here predicts healed."
    assert "4 of 57 columns depend on healed when tested alone." in str(few)
    one = replace(few, n_dependent=1)
    assert "1 of 57 columns depends on healed" in str(one)
    assert "when tested alone" not in str(replace(few, n_dependent=None))


@pytest.mark.parametrize("outcome", get_args(Outcome))
def test_every_outcome_has_one_sentence_and_reasons(outcome: Outcome) -> None:
    verdict = replace(FACTS, outcome=outcome)
    assert verdict.headline.endswith(".")
    assert verdict.headline.count(". ") == 0
    assert all(reason.endswith(".") for reason in verdict.reasons)
    assert str(verdict).startswith(verdict.headline)
    assert any(reason.startswith("Guessing reaches 0.500") for reason in verdict.reasons)
    assert "nan" not in str(verdict).lower()
    assert "None" not in str(verdict)


@pytest.mark.parametrize("outcome", get_args(Outcome))
def test_cautions_are_said_and_take_back_the_promise(outcome: Outcome) -> None:
    doubtful = replace(FACTS, outcome=outcome, cautions=("Check diagnosis.",))
    assert str(doubtful).endswith("Check diagnosis.")
    assert "On new data expect" not in str(doubtful)


def test_an_interval_of_no_width_is_a_value() -> None:
    certain = replace(FACTS, expected=ScoreInterval(1.0, 1.0, 1.0))
    assert "On new data expect 1.000." in str(certain)
