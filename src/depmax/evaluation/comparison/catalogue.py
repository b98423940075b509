"""All methods by name: those with settings for comparisons, then every other that depmax exports.

The command line, the types that a model file may name, and the pages have their methods from here.
"""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cache, partial
from inspect import getdoc, isabstract, isclass, signature
from typing import Any

import numpy as np

from depmax import extraction, maps, selection
from depmax.data import TargetKind
from depmax.evaluation.comparison.methods import (
    DIMENSION_PARAMETERS,
    Method,
    Sized,
    all_columns,
    by_ranking,
    leading,
    method_of,
)
from depmax.evaluation.comparison.preparing import NumericTarget
from depmax.evaluation.comparison.problem import Problem
from depmax.extraction import HBFE, HSCA, ICAFX, SIR, SMA, KernelLDA, KernelPLS
from depmax.selection import (
    BAHSIC,
    FOHSIC,
    DependenceFilter,
    HSICLasso,
    KernelRidgeElimination,
    Relief,
)

#: Rows in a block of HSIC; smaller problems are one block.
BLOCK_ROWS = 1000
#: Up to this many rows a regression is fitted to a hundred sets of columns per fold.
RIDGE_ROWS = 50_000
#: Up to this many rows methods without blocks compare every row with every other.
QUADRATIC_ROWS = 5000


@dataclass(frozen=True)
class Suits:
    """Types and sizes that a method is tried on by default; unlike a lambda it can be pickled."""

    kinds: tuple[TargetKind, ...] = ()  # of the target; empty: all
    rows: float = np.inf  # at most
    categorical: bool = True  # whether tables may have categories

    def __call__(self, problem: Problem) -> bool:
        """Whether a problem is of this type and size."""
        return (
            (not self.kinds or problem.kind in self.kinds)
            and problem.n_samples <= self.rows
            and (self.categorical or not problem.categorical)
        )


@dataclass(frozen=True)
class AtMost:
    """The largest number of features: of all columns, at most so many, or one less than classes."""

    number: int | None = None
    below_classes: bool = False

    def __call__(self, problem: Problem) -> int:
        """The number for a problem."""
        most = (
            all_columns(problem) if self.number is None else min(self.number, all_columns(problem))
        )
        return min(most, problem.n_outputs - 1) if self.below_classes else most


def with_weights(method: Method) -> Method:
    """A method that takes weights of rows: the alignment of the filter counts every row once."""
    if method.name != "HSIC filter":
        return method
    return replace(method, make=Sized(DependenceFilter, "n_features_to_select"))


def default_methods(problem: Problem) -> tuple[Method, ...]:
    """Methods that suit the type of the target and the size of the data."""
    suitable = (m for m in compared_methods() if m.by_default and m.suits(problem))
    return tuple(method for method in suitable if method.takes_sparse or not problem.sparse)


@cache
def catalogue() -> dict[str, Method]:
    """Every method by its plain name: a new part is here as soon as its package exports it."""
    known = {plain_name(method.name): method for method in compared_methods()}
    return {plain_name(method.name): method for method in _exported()} | known


def _exported() -> Iterator[Method]:
    """Estimators that packages export, where they have a number of features to choose."""
    for package in (selection, extraction, maps):
        for name in package.__all__:
            kind = getattr(package, name)
            if not isclass(kind) or not hasattr(kind, "transform") or isabstract(kind):
                continue
            if not set(DIMENSION_PARAMETERS).isdisjoint(signature(kind).parameters):
                first = (getdoc(kind) or "").splitlines()[0]
                yield replace(method_of(kind()), description=first, by_default=False)


@cache
def compared_methods() -> tuple[Method, ...]:
    """Methods with settings, sizes and costs for comparisons."""
    return (*_baselines(), *_selectors(), *_extractors(), *_scikit_learn())


def _baselines() -> tuple[Method, ...]:
    from sklearn.preprocessing import FunctionTransformer

    return (
        Method(
            "all columns",
            Sized(FunctionTransformer(feature_names_out="one-to-one")),
            has_dimension=False,
            takes_sparse=True,
            description="No selection: the predictor uses every column.",
            complexity=0,
        ),
    )


def _selectors() -> tuple[Method, ...]:
    def selector(
        name: str, estimator: Any, description: str, complexity: int = 2, **options: Any
    ) -> Method:
        return Method(
            name,
            Sized(estimator, "n_features_to_select"),
            nested=by_ranking,
            selects=True,
            takes_categories=True,
            largest=_every_column,
            description=description,
            complexity=complexity,
            **options,
        )

    return (
        selector(
            "KernelRidgeElimination",
            partial(KernelRidgeElimination, pvalues=False),
            "Backward elimination with kernel ridge regression: redundant columns count once.",
            suits=Suits(rows=RIDGE_ROWS),
        ),
        selector(
            "BAHSIC",
            partial(BAHSIC, None, block_size=BLOCK_ROWS, pvalues=False),
            "Backward elimination with HSIC: columns are judged together.",
        ),
        selector(
            "FOHSIC",
            partial(FOHSIC, None, block_size=BLOCK_ROWS, pvalues=False),
            "Forward selection with HSIC: columns are added one by one.",
            by_default=False,
        ),
        selector(
            "HSIC filter",
            partial(DependenceFilter, score_func="alignment"),
            "Ranks each column by its own dependence on the target, linear or not.",
            complexity=1,
            takes_sparse=True,
        ),
        selector(
            "correlation filter",
            partial(DependenceFilter, score_func="pearson"),
            "Ranks each column by its squared correlation with the target.",
            complexity=1,
            takes_sparse=True,
            suits=Suits(categorical=False),
            by_default=False,
        ),
        selector(
            "HSIC-Lasso",
            HSICLasso,
            "Columns that depend on the target and not on each other.",
        ),
        selector(
            "Relief",
            Relief,
            "Columns that differ between near neighbours of different targets.",
            suits=Suits(rows=QUADRATIC_ROWS),
        ),
    )


def _extractors() -> tuple[Method, ...]:
    return (
        Method(
            "HBFE",
            Sized(HBFE, "n_components"),
            nested=leading,
            takes_sparse=True,
            description="Orthogonal directions that depend most on the target.",
            by_default=False,
        ),
        Method(
            "HSCA",
            Sized(HSCA, "n_components"),
            nested=leading,
            takes_sparse=True,
            description="Directions that depend on the target and not on each other.",
        ),
        Method(
            "KernelLDA",
            Sized(partial(KernelLDA, kernel="gaussian"), "n_components"),
            nested=leading,
            largest=AtMost(below_classes=True),
            suits=Suits(("classes",), rows=BLOCK_ROWS),
            complexity=4,
            description="Nonlinear features that separate the class means best.",
            by_default=False,
        ),
        Method(
            "SIR",
            Sized(SIR, "n_components"),
            nested=leading,
            takes_sparse=True,
            suits=Suits(("numbers", "multioutput")),
            description="Directions along which the means of the columns change with the target.",
            by_default=False,
        ),
        Method(
            "KernelPLS",
            Sized(partial(KernelPLS, kernel="gaussian"), "n_components"),
            nested=leading,
            suits=Suits(rows=BLOCK_ROWS),
            complexity=4,
            description="Nonlinear features with the largest covariance with the target.",
        ),
        Method(
            "SMA",
            Sized(SMA, "n_components"),
            nested=leading,
            complexity=4,
            description="Nonlinear features that each need one kernel value for a new row.",
            by_default=False,
        ),
        Method(
            "ICAFX",
            Sized(ICAFX, "n_components"),
            largest=AtMost(5),
            by_default=False,
            description="Supervised independent components.",
        ),
    )


def _scikit_learn() -> tuple[Method, ...]:
    from sklearn.cross_decomposition import PLSRegression
    from sklearn.decomposition import PCA, FastICA
    from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
    from sklearn.manifold import LocallyLinearEmbedding
    from sklearn.neighbors import NeighborhoodComponentsAnalysis

    return (
        Method(
            "PCA",
            Sized(PCA(svd_solver="full"), "n_components"),
            nested=leading,
            by_default=False,
            description="Directions of largest variance, ignoring the target.",
        ),
        Method(
            "PLS",
            Sized(NumericTarget(PLSRegression()), "transformer__n_components"),
            nested=leading,
            description="Directions with the largest covariance with the target.",
        ),
        Method(
            "LDA",
            Sized(LinearDiscriminantAnalysis(), "n_components"),
            nested=leading,
            largest=AtMost(below_classes=True),
            suits=Suits(("classes",)),
            description="Directions that separate the class means best.",
            by_default=False,
        ),
        Method(
            "FastICA",
            Sized(FastICA(whiten="unit-variance", whiten_solver="svd", tol=1e-3), "n_components"),
            by_default=False,
            description="Independent components, ignoring the target.",
        ),
        Method(
            "NCA",
            Sized(NeighborhoodComponentsAnalysis(max_iter=50), "n_components"),
            largest=AtMost(2),
            suits=Suits(("classes",)),
            by_default=False,
            description="A projection for nearest neighbours, learnt by gradient descent.",
        ),
        Method(
            "LLE",
            Sized(
                LocallyLinearEmbedding(
                    n_neighbors=10, eigen_solver="dense", neighbors_algorithm="brute"
                ),
                "n_components",
            ),
            largest=AtMost(5),
            by_default=False,
            description="Locally linear embedding: keeps neighbours together, ignoring the target.",
        ),
    )


def _every_column(problem: Problem) -> int:  # with a name, so that a comparison can be pickled
    return problem.n_features


Methods = Mapping[str, Any] | Iterable[Any] | str | None


def read_methods(methods: Methods, problem: Problem) -> tuple[Method, ...]:
    """Methods from None (chosen by the data), names, estimators, or a dictionary of both."""
    if methods is None:
        return default_methods(problem)
    if isinstance(methods, str):
        methods = [methods]
    if isinstance(methods, Mapping):
        found = [_named(name, part) for name, part in methods.items()]
    else:
        found = [_unnamed(part) for part in methods]
    if not found:
        raise ValueError("methods is empty: name at least one, or pass None to let depmax choose.")
    names = [method.name for method in found]
    twice = sorted({name for name in names if names.count(name) > 1})
    if twice:
        raise ValueError(
            f"Two methods are called {twice[0]!r}: pass a dictionary, with a name for each."
        )
    if all(method.complexity for method in found) and problem.names:
        found = [*_baselines(), *found]  # what few columns cost is known only beside all of them
    return tuple(found)


def _named(name: str, part: Any) -> Method:
    return replace(_unnamed(part), name=str(name))


def _unnamed(part: Any) -> Method:
    if isinstance(part, str):
        return find_method(part)
    if isinstance(part, Method):
        return part
    return method_of(part)


def find_method(name: str) -> Method:
    """Method of the catalogue with a name, spelled with any case, spaces or hyphens."""
    known = catalogue()
    if plain_name(name) in known:
        return known[plain_name(name)]
    near = difflib.get_close_matches(plain_name(name), known)
    names = ", ".join(repr(m.name) for m in [known[key] for key in near] or compared_methods())
    raise ValueError(f"There is no method named {name!r}: try {names}, or pass an estimator.")


def plain_name(name: str) -> str:
    """A name without case, spaces and hyphens.

    Examples
    --------
    >>> plain_name("HSIC-Lasso")
    'hsiclasso'
    """
    return "".join(letter for letter in name.lower() if letter.isalnum())
