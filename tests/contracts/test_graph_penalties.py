"""Every extractor with a graph sees it: in every feature, and however much weight it has."""

from __future__ import annotations

import inspect
from itertools import product
from typing import Any

import numpy as np
import pytest

from depmax import NeighborGraph, extraction
from depmax.extraction import DependenceExtractor
from depmax.kernels import Gaussian
from tests.contracts.discovery import classes

rng = np.random.default_rng(3)
X = rng.normal(size=(80, 4)) @ rng.normal(size=(4, 4))
TWO = np.where(np.arange(80) % 2 == 0, X[:, 0] > 0, np.nan)
MANY = np.where(np.arange(80) % 2 == 0, np.digitize(X[:, 0], [-1.0, 1.0]), np.nan)
KERNELS = ["linear", Gaussian(3.0)]

WITH_GRAPH = {
    name: cls
    for name, cls in classes(extraction, DependenceExtractor).items()
    if {"beta", "graph"} <= set(inspect.signature(cls).parameters)
}
CHOICES = [
    (name, penalty)
    for name, cls in WITH_GRAPH.items()
    for penalty in (
        ("published", "normalised")
        if "graph_penalty" in inspect.signature(cls).parameters
        else (None,)
    )
]


def fitted(name: str, penalty: str | None, n_components: int, y: Any, **options: Any) -> Any:
    if penalty is not None:
        options["graph_penalty"] = penalty
    return WITH_GRAPH[name](n_components, **options).fit(X, y)


@pytest.mark.parametrize("kernel", KERNELS, ids=repr)
@pytest.mark.parametrize(("name", "penalty"), CHOICES)
def test_every_feature_sees_the_graph(name: str, penalty: str | None, kernel: Any) -> None:
    """With two classes too, whose dependence is that of one direction."""
    few, many = (
        fitted(name, penalty, 3, TWO, kernel=kernel, beta=0.3, graph=NeighborGraph(count))
        for count in (6, 25)
    )
    differences = np.abs(few.transform(X) - many.transform(X)).max(axis=0)
    assert (differences > 1e-4 * np.abs(few.transform(X)).max(axis=0)).all()


@pytest.mark.parametrize("kernel", KERNELS, ids=repr)
@pytest.mark.parametrize(("name", "penalty"), CHOICES)
def test_the_graph_alone_counts_where_it_has_all_the_weight(
    name: str, penalty: str | None, kernel: Any
) -> None:
    if name not in ("HBFE", "HSCA"):
        pytest.skip("the graph is in the denominator: the target always counts")
    options = {"kernel": kernel, "beta": 1.0}
    if (name, penalty) == ("HSCA", "published"):
        with pytest.raises(ValueError, match="graph_penalty='normalised'"):
            fitted(name, penalty, 2, TWO, **options)
        return
    near = fitted(name, penalty, 2, TWO, graph=NeighborGraph(6), **options).transform(X)
    far = fitted(name, penalty, 2, TWO, graph=NeighborGraph(25), **options).transform(X)
    assert (np.abs(near - far).max(axis=0) > 1e-4 * np.abs(near).max(axis=0)).all()
    other = fitted(name, penalty, 1, MANY, graph=NeighborGraph(6), **options).transform(X)
    np.testing.assert_allclose(np.abs(other[:, 0]), np.abs(near[:, 0]), atol=1e-8)


@pytest.mark.parametrize(
    ("name", "scale"), list(product([n for n, c in CHOICES if c == "normalised"], [1e-3, 1e4]))
)
def test_relative_weights_have_no_units(name: str, scale: float) -> None:
    cls = WITH_GRAPH[name]
    for penalty in ("published", "normalised"):
        model = cls(2, beta=0.2, graph_penalty=penalty)
        features = model.fit_transform(X, MANY)
        scaled = model.fit_transform(scale * X, MANY)
        np.testing.assert_allclose(
            scaled / np.abs(scaled).max(), features / np.abs(features).max(), atol=1e-6
        )


@pytest.mark.parametrize("name", sorted({n for n, c in CHOICES if c == "normalised"}))
def test_wrong_penalties_are_refused_by_name(name: str) -> None:
    for wrong in ("laplacian", None, True):
        with pytest.raises(ValueError, match=f"graph_penalty of {name}"):
            WITH_GRAPH[name](1, beta=0.2, graph_penalty=wrong).fit(X, MANY)
    with pytest.raises(ValueError, match=f"relative of {name}"):
        WITH_GRAPH[name](1, beta=0.2, relative="no").fit(X, MANY)
