"""The methods that are compared when the user names none."""

from __future__ import annotations

from typing import Any

from depmax.evaluation.comparison.methods import Method, all_columns, by_ranking, leading
from depmax.evaluation.comparison.preparing import NumericTarget
from depmax.evaluation.comparison.problem import Problem
from depmax.extraction import HBFE, HSCA, ICAFX, SIR, SMA, KernelLDA, KernelPLS
from depmax.selection import BAHSIC, FOHSIC, DependenceFilter, HSICLasso, Relief

#: Rows in a block of HSIC; smaller problems are one block.
BLOCK_ROWS = 1000
#: Up to so many rows the second search with HSIC is tried beside the first.
SEARCH_ROWS = 2000
#: Up to so many rows methods without blocks compare every row with every other.
QUADRATIC_ROWS = 5000
#: Up to so many cells (rows times columns) methods that search anew per dimension are tried.
SMALL_CELLS = 30_000


def default_methods(problem: Problem) -> tuple[Method, ...]:
    """Methods that suit the type of the target and the size of the data."""
    return tuple(
        method
        for method in catalogue()
        if method.suits(problem) and (method.takes_sparse or not problem.sparse)
    )


def catalogue() -> tuple[Method, ...]:
    """All methods known by name."""
    return (*_baselines(), *_selectors(), *_extractors(), *_scikit_learn())


def _baselines() -> tuple[Method, ...]:
    from sklearn.preprocessing import FunctionTransformer

    return (
        Method(
            "all columns",
            lambda count: FunctionTransformer(feature_names_out="one-to-one"),
            has_dimension=False,
            takes_sparse=True,
            description="No selection at all: the predictor on every column.",
        ),
    )


def _selectors() -> tuple[Method, ...]:
    def selector(name: str, make: Any, description: str, **options: Any) -> Method:
        return Method(
            name,
            make,
            nested=by_ranking,
            selects=True,
            takes_categories=True,
            largest=lambda problem: problem.n_features,
            description=description,
            **options,
        )

    return (
        selector(
            "BAHSIC",
            lambda count: BAHSIC(count, block_size=BLOCK_ROWS, pvalues=False),
            "Backward elimination with HSIC: columns judged together.",
        ),
        selector(
            "FOHSIC",
            lambda count: FOHSIC(count, block_size=BLOCK_ROWS, pvalues=False),
            "Forward selection with HSIC: columns join one by one.",
            suits=lambda problem: (
                problem.n_samples * problem.n_features <= SMALL_CELLS
                and problem.n_samples <= SEARCH_ROWS
            ),
        ),
        selector(
            "HSIC filter",
            lambda count: DependenceFilter(count),
            "Each column by its own dependence on the target, linear or not.",
            takes_sparse=True,
        ),
        selector(
            "correlation filter",
            lambda count: DependenceFilter(count, score="pearson"),
            "Each column by its squared correlation with the target.",
            takes_sparse=True,
            suits=lambda problem: not problem.categorical,
        ),
        selector(
            "HSIC-Lasso",
            lambda count: HSICLasso(count),
            "Columns that depend on the target and not on each other.",
        ),
        selector(
            "Relief",
            lambda count: Relief(count),
            "Columns that differ between near neighbours of different targets.",
            suits=lambda problem: problem.n_samples <= QUADRATIC_ROWS,
        ),
    )


def _extractors() -> tuple[Method, ...]:
    return (
        Method(
            "HBFE",
            lambda count: HBFE(count),
            nested=leading,
            takes_sparse=True,
            description="Orthogonal directions of the largest dependence on the target.",
        ),
        Method(
            "HSCA",
            lambda count: HSCA(count),
            nested=leading,
            takes_sparse=True,
            description="Directions that depend on the target and not on each other.",
        ),
        Method(
            "KernelLDA",
            lambda count: KernelLDA(count, kernel="gaussian"),
            nested=leading,
            largest=lambda problem: min(problem.n_outputs - 1, all_columns(problem)),
            suits=lambda problem: problem.kind == "classes" and problem.n_samples <= BLOCK_ROWS,
            description="Nonlinear features that separate the class means best.",
        ),
        Method(
            "SIR",
            lambda count: SIR(count),
            nested=leading,
            takes_sparse=True,
            suits=lambda problem: problem.kind in ("numbers", "multioutput"),
            description="Directions along which the columns' means move with the target.",
        ),
        Method(
            "KernelPLS",
            lambda count: KernelPLS(count, kernel="gaussian"),
            nested=leading,
            suits=lambda problem: problem.n_samples <= BLOCK_ROWS,
            description="Nonlinear features of the largest covariance with the target.",
        ),
        Method(
            "SMA",
            lambda count: SMA(count),
            nested=leading,
            description="Nonlinear features that need one kernel value each for a new row.",
        ),
        Method(
            "ICAFX",
            lambda count: ICAFX(count),
            largest=lambda problem: min(5, all_columns(problem)),
            suits=lambda problem: (
                problem.n_samples * problem.width <= SMALL_CELLS and problem.width <= 30
            ),
            description="Supervised independent components.",
        ),
    )


def _scikit_learn() -> tuple[Method, ...]:
    from sklearn.cross_decomposition import PLSRegression
    from sklearn.decomposition import PCA, FastICA
    from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
    from sklearn.neighbors import NeighborhoodComponentsAnalysis

    return (
        Method(
            "PCA",
            lambda count: PCA(count, svd_solver="full"),
            nested=leading,
            description="Directions of the largest variance, blind to the target.",
        ),
        Method(
            "PLS",
            lambda count: NumericTarget(PLSRegression(count)),
            nested=leading,
            description="Directions of the largest covariance with the target.",
        ),
        Method(
            "LDA",
            lambda count: LinearDiscriminantAnalysis(n_components=count),
            nested=leading,
            largest=lambda problem: min(problem.n_outputs - 1, problem.n_features),
            suits=lambda problem: problem.kind == "classes",
            description="Directions that separate the class means best.",
        ),
        Method(
            "FastICA",
            lambda count: FastICA(count, whiten="unit-variance", whiten_solver="eigh", tol=1e-3),
            suits=lambda problem: problem.n_samples * problem.width <= SMALL_CELLS,
            description="Independent components, blind to the target.",
        ),
        Method(
            "NCA",
            lambda count: NeighborhoodComponentsAnalysis(count, max_iter=50),
            largest=lambda problem: min(2, all_columns(problem)),
            suits=lambda problem: (
                problem.kind == "classes"
                and problem.n_samples * problem.width <= SMALL_CELLS
                and problem.n_samples <= 1000
            ),
            description="A projection for nearest neighbours, learnt by gradient.",
        ),
    )
