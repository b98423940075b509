"""The part of the report on partial least squares."""

from __future__ import annotations

import numpy as np

from depmax import compare
from depmax.datasets import load


def test_the_report_shows_the_model_where_pls_is_recommended():
    meat = load("tecator")
    report = compare(meat.X, meat.y, ["PLS"], random_state=0).report()
    (section,) = (part for part in report.sections if "PLS" in part.title)
    assert "Q²" in section.text[0]
    assert [type(picture.display).__name__ for picture in section.pictures] == [
        "DimensionCurveDisplay",
        "LoadingsDisplay",
        "InfluenceDisplay",
    ]


def test_groups_are_held_out_and_permuted_whole():
    rng = np.random.default_rng(0)
    group = np.repeat(np.arange(20), 4)
    X = rng.normal(size=(20, 6))[group] + rng.normal(size=(80, 6))
    found = compare(X, X[:, :5].sum(axis=1), ["PLS"], groups=group, random_state=0)
    (section,) = (part for part in found.report().sections if "PLS" in part.title)
    assert "whole groups" in section.text[0]


def test_no_such_part_for_classes():
    meat = load("tecator")
    report = compare(meat.X[:, ::10], meat.y > 20, ["PLS"], random_state=0).report()
    assert not [part for part in report.sections if "PLS" in part.title]
