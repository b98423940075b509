"""One way to get few features from many, as a comparison sees it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

import narwhals.stable.v2 as nw
import numpy as np
from sklearn.base import clone

from depmax._inputs.table import is_frame
from depmax.evaluation.comparison.setting import Problem


def all_columns(problem: Problem) -> int:
    """As many features as there are columns, or training rows less one if these are fewer."""
    return max(1, min(problem.n_features, problem.n_samples - 1))


def as_many_as_rows(problem: Problem) -> int:
    """As many features as training rows less one, however few columns there are."""
    return max(1, problem.n_samples - 1)


def any_problem(problem: Problem) -> bool:
    """Suits every problem."""
    return True


@dataclass(frozen=True)
class Sized:
    """Copies of an estimator with a number of features, as ``make`` of a :class:`Method`.

    Unlike a function written on the spot it can be pickled, and tells what it makes.

    Parameters
    ----------
    estimator : unfitted transformer or predictor, or a class or ``partial`` of one
    parameter : str, optional
        The parameter that takes the number; without one the number is ignored.

    Examples
    --------
    >>> from sklearn.decomposition import PCA
    >>> from depmax.evaluation import Sized
    >>> Sized(PCA(whiten=True), "n_components")(3)
    PCA(n_components=3, whiten=True)
    """

    estimator: Any
    parameter: str | None = None

    def make(self) -> Any:
        """An unfitted copy with the number of features that the estimator has by itself."""
        made = self.estimator
        return made() if isinstance(made, type | partial) else clone(made)

    def __call__(self, count: int) -> Any:
        """An unfitted copy with so many features."""
        copy = self.make()
        return copy if self.parameter is None else copy.set_params(**{self.parameter: count})


@dataclass(frozen=True)
class Method:
    """How a method is made for a number of features, and what it can do.

    Parameters
    ----------
    name : str
    make : callable
        Takes the number of features and returns an unfitted transformer, or a predictor if
        ``predicts``. Methods without a choice of dimension ignore the number. A :class:`Sized`
        estimator, or a function of a module, lets the comparison be pickled; a lambda does not.
    nested : callable, optional
        ``nested(fitted, rows)`` returns a function from k to the first k features of rows, from a
        transformer fitted with more of them. Declared by methods that are nested in dimension,
        which are then fitted once instead of once per dimension: :func:`by_ranking` for selectors
        with ``ranking_``, :func:`leading` for extractors whose first features do not depend on
        their number.
    has_dimension : bool, default=True
    selects : bool, default=False
        Whether it keeps columns as they are (``get_support``).
    predicts : bool, default=False
        Whether it is a predictor of its own and needs none after it.
    takes_categories, takes_sparse : bool, default=False
        Other methods are given categories as indicators, and no sparse data.
    largest : callable, optional
        Largest number of features for a problem.
    suits : callable, optional
        Whether the method is tried by default on a problem.
    description : str
        One sentence for reports.
    complexity : int, default=3
        Of methods that predict equally well the one with the least is recommended: 0 no method at
        all, 1 columns judged one at a time, 2 columns searched together, 3 linear features, 4
        nonlinear features.
    slow : bool, default=False
        Whether it is tried by default only in a thorough comparison.
    stays : bool, default=False
        Whether it is tried on every split whatever its score in a first round.
    thorough : callable, optional
        As ``make``, for a thorough comparison, where more exact settings take longer.
    """

    name: str
    make: Callable[[int], Any]
    nested: Callable[[Any, Any], Callable[[int], Any]] | None = None
    has_dimension: bool = True
    selects: bool = False
    predicts: bool = False
    takes_categories: bool = False
    takes_sparse: bool = False
    largest: Callable[[Problem], int] = all_columns
    suits: Callable[[Problem], bool] = any_problem
    description: str = ""
    complexity: int = 3
    slow: bool = False
    stays: bool = False
    thorough: Callable[[int], Any] | None = None


def by_ranking(selector: Any, rows: Any) -> Callable[[int], Any]:
    """The best columns by ``ranking_``, in the order of the table.

    Parameters
    ----------
    selector : a fitted selector
    rows : array or data frame of shape (n_samples, n_features)

    Returns
    -------
    callable
        From a number of columns to the rows of these columns.
    """
    ranking = np.asarray(selector.ranking_)

    def best(count: int) -> Any:
        kept = np.flatnonzero(ranking <= count)
        if is_frame(rows):
            frame = nw.from_native(rows, eager_only=True)
            return frame.select([frame.columns[column] for column in kept]).to_native()
        return rows[:, kept]

    return best


def leading(extractor: Any, rows: Any) -> Callable[[int], Any]:
    """The first extracted features.

    Parameters
    ----------
    extractor : a fitted extractor
    rows : array or data frame of shape (n_samples, n_features)

    Returns
    -------
    callable
        From a number of features to the features of the rows.
    """
    features = np.asarray(extractor.transform(rows))
    return lambda count: features[:, :count]


def support_of(transformer: Any, count: int | None, n_features: int) -> np.ndarray | None:
    """Which input columns a fitted selector keeps; None for anything else."""
    if count is not None and hasattr(transformer, "ranking_"):
        mask = np.asarray(transformer.ranking_) <= count
    elif hasattr(transformer, "get_support"):
        mask = np.asarray(transformer.get_support())
    else:
        return None
    return mask if len(mask) == n_features else None


def kernel_evaluations(transformer: Any, n_train: int) -> float:
    """Kernel values that one new row needs: none, those of a basis, or all training rows.

    NaN where the fitted attributes do not tell.
    """
    transformer = getattr(transformer, "transformer_", transformer)
    if hasattr(transformer, "basis_indices_"):
        return float(len(transformer.basis_indices_))
    if hasattr(transformer, "eigenvectors_") and hasattr(transformer, "X_fit_"):
        return float(n_train)  # scikit-learn's kernel PCA
    if type(transformer).__name__ == "FunctionTransformer":
        return 0.0
    linear = ("components_", "get_support", "x_rotations_", "scalings_", "ranking_")
    if any(hasattr(transformer, name) for name in linear):
        return 0.0
    if hasattr(transformer, "kernel_"):
        return float(n_train)
    return float("nan")


#: Parameters that say how many features come out.
DIMENSION_PARAMETERS = ("n_components", "n_features_to_select", "k")


def method_of(estimator: Any) -> Method:
    """A scikit-learn estimator as a method.

    A transformer whose parameters (or those of the last step of a pipeline) hold ``n_components``,
    ``n_features_to_select`` or ``k`` has its dimension chosen; a predictor stands by itself.
    """
    if isinstance(estimator, type) or not hasattr(estimator, "get_params"):
        raise TypeError(
            f"A method is a name, an unfitted estimator or a Method, got {estimator!r}."
        )
    name = _name_of(estimator)
    if not hasattr(estimator, "transform"):
        if not hasattr(estimator, "predict"):
            raise TypeError(f"{name} can neither transform nor predict.")
        return Method(name, Sized(clone(estimator)), has_dimension=False, predicts=True)
    parameter = _dimension_parameter(estimator)
    selects = hasattr(estimator, "get_support")
    categories = type(estimator).__module__.startswith("depmax.") and selects
    return Method(
        name,
        Sized(clone(estimator), parameter),
        has_dimension=parameter is not None,
        selects=selects,
        takes_categories=categories,
        takes_sparse=True,
        complexity=2 if selects else 3,
        largest=all_columns if selects or not _has_kernel(estimator) else as_many_as_rows,
    )


def _has_kernel(estimator: Any) -> bool:
    """Whether features may outnumber columns, as those of a kernel do."""
    while getattr(estimator, "steps", None):
        estimator = estimator.steps[-1][1]
    return "kernel" in estimator.get_params(deep=False)


def _name_of(estimator: Any) -> str:
    steps = getattr(estimator, "steps", None)
    return " + ".join(_name_of(step) for _, step in steps) if steps else type(estimator).__name__


def _dimension_parameter(estimator: Any) -> str | None:
    prefix = ""
    while getattr(estimator, "steps", None):
        name, estimator = estimator.steps[-1]
        prefix += f"{name}__"
    parameters = estimator.get_params(deep=False) if hasattr(estimator, "get_params") else {}
    found = next((name for name in DIMENSION_PARAMETERS if name in parameters), None)
    return None if found is None else prefix + found
