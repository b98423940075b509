"""Profiles of tables: copies, gaps, columns that say the same; nothing where there is nothing."""

import json
from datetime import date, timedelta

import numpy as np
import pandas as pd
import polars as pl
import pytest
from scipy import sparse
from scipy.stats import rankdata

from depmax.evaluation import profile


def _messy(n: int = 240) -> pd.DataFrame:
    rng = np.random.default_rng(0)
    x = rng.normal(size=n)
    city = rng.choice(["Bonn", "Essen", "Ulm"], n)
    return pd.DataFrame(
        {
            "patient": [f"P{i:04d}" for i in range(n)],
            "row": np.arange(n),
            "x": x,
            "grown": np.exp(3 * x),
            "squared": x**2,
            "alone": np.where(np.arange(n) < 12, -99, rng.normal(size=n)),
            "city": city,
            "code": pd.Series(city).map({"Bonn": 7, "Essen": 3, "Ulm": 5}),
            "again": x,
            "when": [
                date(2024, 1, 1) + timedelta(days=int(day)) for day in rng.integers(0, 300, n)
            ],
            "note": [" ".join(rng.choice(list("abcdefgh"), 8)) for _ in range(n)],
            "same": 1.0,
            "never": np.full(n, np.nan),
            "asked": np.where(np.arange(n) % 3, np.nan, rng.normal(size=n)),
            "asked too": np.where(np.arange(n) % 3, np.nan, rng.normal(size=n)),
            "far": np.where(np.arange(n) == 4, np.inf, rng.normal(size=n)),
        }
    )


@pytest.mark.parametrize("library", [pd.DataFrame, pl.from_pandas])
def test_finds_what_was_put_in(library):
    table = _messy()
    table = pd.concat([table, table.iloc[:5]], ignore_index=True)
    table["row"] = np.arange(len(table)) + 1
    table.loc[240:, "patient"] = ["new1", "new2", "new3", "new4", "new5"]
    found = profile(library(table))
    kinds = {column.name: column.kind for column in found.columns}
    assert kinds == {
        "patient": "identifier",
        "row": "identifier",
        **dict.fromkeys(("x", "grown", "squared", "alone", "code", "again"), "number"),
        "city": "category",
        "when": "date",
        "note": "free text",
        "same": "constant",
        "never": "empty",
        **dict.fromkeys(("asked", "asked too", "far"), "number"),
    }
    # rows are copies although their identifiers differ
    assert found.copied_rows.tolist() == [[240 + i, i] for i in range(5)]
    assert [caution.code for caution in found.cautions] == ["DM001", "DM007"]
    assert "-99 in alone (17 rows)" in found.cautions[1].text
    assert found.copied_columns == {"again": "x"}
    assert found.gaps_together == (("asked", "asked too"),)
    groups = {group.first: set(group.others) for group in found.groups}
    assert groups == {"x": {"grown", "squared"}, "city": {"code"}}
    assert not found.pairs
    assert {c.name: c.infinite for c in found.columns}["far"] == 2  # one of them copied
    assert "copy of x" in found.to_frame()["note"].to_list()
    assert type(found.to_frame()).__module__.startswith(type(library(table)).__module__[:6])
    assert json.loads(json.dumps(found.to_dict()))["n_rows"] == 245
    assert "grown" in str(found)


def test_a_share_is_the_adjusted_part_of_the_variance_of_ranks_that_a_regression_explains():
    rng = np.random.default_rng(1)
    x = rng.normal(size=150)
    y = np.sin(x) + 0.5 * rng.normal(size=150)
    pair = profile(np.column_stack([x, y])).pairs[0]
    of, by = (y, x) if pair.column == "x1" else (x, y)
    ranks = rankdata(by) / 150
    powers = np.vander(ranks, 7)
    left = rankdata(of) - powers @ np.linalg.lstsq(powers, rankdata(of), rcond=None)[0]
    adjusted = 1 - (left @ left / 143) / np.var(rankdata(of), ddof=1)
    assert pair.share == pytest.approx(adjusted, abs=1e-3)


def test_a_share_of_categories_is_adjusted_tau():
    rng = np.random.default_rng(2)
    city = rng.integers(0, 4, 300)
    land = np.where(rng.random(300) < 0.2, rng.integers(0, 2, 300), city // 2)
    text = pl.DataFrame({"city": city, "land": land}).select(pl.all().cast(pl.String))
    pair = profile(text).pairs[0]
    assert pair.predictor == "city"
    counts = np.array([np.bincount(land[city == level], minlength=2) for level in range(4)])
    total = counts.sum(0) / 300
    within = (counts.sum(1) - (counts**2).sum(1) / counts.sum(1)).sum() / 300
    tau = 1 - within / (1 - total @ total)
    assert pair.share == pytest.approx(1 - (1 - tau) * 299 / 296, abs=1e-3)


def test_independent_columns_of_any_shape_are_hardly_ever_related():
    found = 0
    for seed in range(10):
        rng = np.random.default_rng(seed)
        rare = np.where(rng.random((300, 12)) < 0.05, rng.exponential(size=(300, 12)), 0.0)
        binary, heavy = rng.random((300, 12)) < 0.04, rng.standard_cauchy((300, 12))
        gaps = np.where(rng.random((300, 12)) < 0.5, np.nan, rng.normal(size=(300, 12)))
        table = pd.DataFrame(np.hstack([rare, binary, heavy, gaps]))
        for k in range(12):
            table[f"c{k}"] = rng.geometric(0.4, 300).astype(str)
        found += profile(table).n_dependent > 0
    assert found <= 3  # of ten tables, each at 0.05


def test_the_page_draws_pairs_of_any_types(tmp_path):
    rng = np.random.default_rng(3)
    x = rng.normal(size=200)
    table = pl.DataFrame(
        {
            "x": x,
            "y": np.where(rng.random(200) < 0.1, np.nan, x**2 + 0.4 * rng.normal(size=200)),
            "band": np.where(x + rng.normal(size=200) > 0, "high", "low"),
            "flag": x + rng.normal(size=200) > 1,
            "day": [
                date(2024, 1, 1) + timedelta(days=int(9 * value))
                for value in x + rng.normal(size=200)
            ],
        }
    )
    found = profile(table)
    drawn = {frozenset((pair.predictor, pair.column)) for pair in found.pairs}
    assert {frozenset("xy"), frozenset(("x", "band")), frozenset(("x", "flag"))} <= drawn
    page = found.to_html(tmp_path / "page.html", title="Pairs").read_text()
    assert page.count("<svg") >= 3
    assert all(0 < pair.pvalue_adjusted <= 0.05 for pair in found.pairs)


def test_copies_that_few_values_explain_are_no_caution():
    found = profile(np.random.default_rng(0).integers(0, 3, (200, 3)))
    assert len(found.copied_rows) >= 170
    assert not found.cautions


@pytest.mark.parametrize(
    "X",
    [
        pl.DataFrame({"a": [], "b": []}),
        pd.DataFrame({"a": [1.0]}),
        np.ones((5, 1)),
        np.zeros((30, 3)),
        np.arange(12.0),
        pl.DataFrame({"a": [None, None], "b": [[1], [1, 2]], "c": [timedelta(1), None]}),
        pl.DataFrame({"a": [2**60, 2**60 + 1, None], "b": [True, None, False]}),
    ],
)
def test_any_table_has_a_profile(X, tmp_path):
    found = profile(X)
    assert str(found)
    assert found.to_html(tmp_path / "page.html").exists()
    assert len(found.to_frame("pandas")) == len(found.columns)


def test_many_rows_and_columns_are_sampled():
    rng = np.random.default_rng(0)
    long = rng.normal(size=(5000, 3))
    long[-1] = long[7]
    found = profile(long)
    assert found.rows_compared == 2000
    assert found.copied_rows.tolist() == [[4999, 7]]


def test_sparse_rows_are_refused_with_the_remedy():
    with pytest.raises(TypeError, match="toarray"):
        profile(sparse.eye_array(4))
