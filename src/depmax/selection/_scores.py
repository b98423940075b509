"""Scores of columns alone: how targets are read, the question, the answer; kernels and counts."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from scipy.special import digamma

from depmax._resources import cached_property, each_column
from depmax.data import Table, Target, read_target
from depmax.data.columns import Categories
from depmax.data.sample import Sample, read_target_sample
from depmax.data.table import constant_columns, is_streamed
from depmax.data.target import Indicators
from depmax.dependence._nulls.screening import FOUND, Asked, RowScreening, screening_of
from depmax.dependence._terms import cosine
from depmax.dependence.exchange import exchange_of
from depmax.dependence.quadratic_mutual_information import quadratic_mutual_information
from depmax.kernels import Kernel, Linear, as_kernel
from depmax.selection._moments import ColumnMoments, column_moments

if TYPE_CHECKING:
    from depmax.dependence._nulls.counted import CountedScreening


def centred_outputs(target: Target, weight: np.ndarray | None = None) -> np.ndarray:
    """Numbers in columns of mean zero, of shape (n_samples, n_outputs).

    Two classes are one column of -1 and +1, more are an indicator each, since classes have no
    order even where their labels are whole numbers.
    """
    if target.kind == "classes":
        outputs = Indicators(target.classes, signs=len(target.classes) == 2)(target.values)
    else:
        outputs = np.array(target.values)
    outputs -= np.average(outputs, axis=0, weights=weight)
    return outputs


def class_codes(target: Target) -> np.ndarray:
    """Position of each row's class among the sorted classes."""
    return np.unique(target.values, return_inverse=True)[1]


def one_dimensional(target: Target) -> np.ndarray:
    """Labels or numbers as scikit-learn's functions take them: 1-D unless there are several."""
    values = target.values
    return values[:, 0] if values.ndim == 2 and values.shape[1] == 1 else values


#: A column whose standard deviation is below so many roundings of its largest value is constant.
NOISE = 16


def standardized(values: np.ndarray, weight: np.ndarray | None = None) -> np.ndarray:
    """Columns with mean 0 and variance 1, constant ones 0; a row counts by its weight.

    Examples
    --------
    >>> standardized(np.array([[1.0, 5.0, 1e300], [3.0, 5.0, -1e300]]))
    array([[-1.,  0.,  1.],
           [ 1.,  0., -1.]])
    """
    result = np.array(values, dtype=np.float64)
    digits = np.finfo(values.dtype if values.dtype.kind == "f" else np.float64).eps
    largest = np.abs(result).max(axis=0)
    result /= np.where(largest > 0.0, largest, 1.0)  # so that no square overflows
    result -= np.average(result, axis=0, weights=weight)
    spread = np.sqrt(np.average(result**2, axis=0, weights=weight))
    return result / np.where(spread <= NOISE * digits, np.inf, spread)


def target_images(target: Target, weight: np.ndarray | None = None) -> np.ndarray:
    """What is predicted: centred columns of total variance 1; a row counts by its weight.

    Examples
    --------
    >>> from depmax.data import read_target
    >>> target_images(read_target([1.0, 2.0, 3.0, 6.0]))[:, 0].round(2)
    array([-1.07, -0.53,  0.  ,  1.6 ])
    """
    several = target.kind == "multioutput"
    values = standardized(target.values, weight) if several else centred_outputs(target, weight)
    return images_of(values, weight)


def images_of(values: np.ndarray, weight: np.ndarray | None = None) -> np.ndarray:
    """Columns about their means, of total variance 1."""
    images = values - np.average(values, axis=0, weights=weight)
    squares = np.einsum("ij,ij->i", images, images)
    scale = float(np.sqrt(np.average(squares, weights=weight)))
    if not scale > 0.0:
        raise ValueError(
            "y has one class only, or one value in all rows that are searched: there is nothing to "
            "predict."
        )
    images /= scale
    return images


@dataclass(frozen=True)
class Question:
    """Columns, the target, and the filter with its options."""

    X: Any  # ndarray, CSR matrix, or rows that are read a chunk at a time
    y: Any  # as the user gave it
    categories: Categories
    options: Any  # the filter: kernel, target_kernel, alpha, missing, n_jobs
    groups: Any = None  # of rows that are not independent
    weight: np.ndarray | None = None  # how many rows each stands for

    @property
    def is_streamed(self) -> bool:
        """Whether rows are read a chunk at a time."""
        return is_streamed(self.X)

    def label(self, column: int) -> str:
        """A column as messages call it."""
        names = getattr(self.options, "feature_names_in_", None)
        return str(column) if names is None else repr(str(names[column]))

    @cached_property
    def target(self) -> Target:
        """The target by its type."""
        return read_target(self.y).weighed(self.weight)

    @cached_property
    def side(self) -> Sample:
        """The target with its kernel, which may read y in its own way."""
        return read_target_sample(self.y, self.options.target_kernel, weight=self.weight)

    @cached_property
    def moments(self) -> ColumnMoments:
        """Moments of the columns beside the target."""
        return column_moments(self.X, self.target, self.weight)

    def screened(
        self, side: Sample, **asked: bool
    ) -> tuple[RowScreening | CountedScreening, dict[str, np.ndarray]]:
        """Columns against a target with its kernel, and what is found out about them by name."""
        recipe = as_kernel(self.options.kernel)
        if not recipe.requires_vector_input:
            raise TypeError(
                f"DependenceFilter compares columns of numbers, but {recipe!r} compares objects: "
                "use 'laplace', 'gaussian' or another kernel of vectors."
            )
        screening = screening_of(
            Table(self.X, None, self.categories),
            side,
            TOLERANCE,
            exchange=exchange_of(self.groups),
            omnibus=asked.get("test", True) and recipe.capabilities.telescopes,
            missing=self.options.missing,
        )
        found = screening.found(Asked(recipe, **asked), self.options.n_jobs)
        return screening, dict(zip(FOUND, found.T, strict=True))


@dataclass(frozen=True)
class Scored:
    """One score per column, larger is better, and what else is known of columns."""

    scores: np.ndarray
    pvalues: np.ndarray | None = None
    effects: np.ndarray | None = None  # shares with their intervals, of shape (n_features, 3)
    constant: np.ndarray | None = None  # which columns are, where the score has looked


@dataclass(frozen=True)
class Score:
    """A score by name, and what it can be asked about."""

    name: str
    answer: Callable[[Question], Scored]
    target: Literal["any target", "classes", "two classes"] = "any target"
    categories: bool = False  # categorical columns are compared by equality
    missing: bool = False  # missing cells are used
    target_kernel: bool = False  # y is read by its kernel, which decides what it takes
    in_units: bool = False  # scores are in units of the columns
    kernel: bool = False  # a kernel of a column decides whether they are
    outputs_in_units: bool = False  # several outputs are compared as they are
    normalised: bool = False  # a factor of the kernel makes no difference
    weights: bool = False  # takes weights of rows
    pairs: bool = False  # all pairs or ranks of rows are needed, or the whole table is passed on

    def accepts(self, target: Target) -> bool:
        """Whether the score has a meaning for this type of target."""
        if self.target == "any target":
            return True
        any_number = self.target == "classes"
        return target.kind == "classes" and (any_number or len(target.classes) == 2)

    def compared_by(self, kernel: Kernel) -> Kernel | None:
        """Kernel through which columns in different units are compared; None if they are not."""
        if self.in_units:
            return Linear()
        factor_only = self.normalised and kernel.capabilities.additive_over_features
        return kernel if self.kernel and not factor_only else None


# --- kernels: HSIC, MMD, alignment, quadratic mutual information ----------------------------------

#: Part of the trace of the target kernel that its coordinates may leave out.
TOLERANCE = 1e-6


def hsic(question: Question) -> Scored:
    """Unbiased HSIC of every column: with rows in memory that each count once, effects too."""
    screening, found = question.screened(question.side)
    if question.weight is not None:
        return Scored(found["score"])
    if question.is_streamed:
        return Scored(found["score"], found["pvalue"], constant=screening.constant)
    effects = [found[name] for name in ("effect", "effect_low", "effect_high")]
    return Scored(found["score"], found["pvalue"], np.column_stack(effects))


def mmd(question: Question) -> Scored:
    """Squared maximum mean discrepancy of every column between two classes (V-statistic).

    HSIC₀ with ``ClassBalanced`` is m²/(m-1)² times it.
    """
    m, side = question.target.n_samples, read_target_sample(question.y, "class_balanced")
    screening, found = question.screened(side, unbiased=False, test=False)
    scores = np.maximum(found["score"], 0.0) * ((m - 1) / m) ** 2
    return Scored(np.where(screening.constant, 0.0, scores), constant=screening.constant)


def alignment(question: Question) -> Scored:
    """Centred kernel target alignment of every column: that of :func:`depmax.alignment`.

    HSIC₀ divided by the roots of the HSIC₀ of the column and of the target with themselves. With
    the Laplace kernel a column costs O(m log m), as in ``hsic``.
    """
    screening, found = question.screened(question.side, unbiased=False, test=False, own=True)
    both = zip(found["score"], found["own"], strict=True)
    scores = np.array([cosine(cross, own, screening.own_biased) for cross, own in both])
    return Scored(np.where(screening.constant, 0.0, scores), constant=screening.constant)


def qmi(question: Question) -> Scored:
    """Quadratic mutual information of every column, in units of its standard deviation, with y.

    Mutual information in this form has the unit of a density, so that columns on small scales
    would lead; each column is divided by its standard deviation first, and so is each of several
    outputs. The windows are those of :func:`depmax.quadratic_mutual_information`; a column costs
    O(m²).
    """
    target = question.target
    several = target.kind == "multioutput"
    y = standardized(target.values) if several else one_dimensional(target)
    constant = constant_columns(question.X)

    def scored(column: np.ndarray, position: int) -> float:
        if constant[position]:
            return 0.0
        return quadratic_mutual_information(column / float(np.std(column, ddof=1)), y)

    return Scored(each_column(question.X, scored, question.options.n_jobs), constant=constant)


# --- counts: expected mutual information of discrete columns and targets --------------------------

#: Bins of a column of numbers at most, and rows for each cell of two such columns.
BINS, ROWS = 10, 5


def mutual_information(question: Question) -> Scored:
    """E[I(x; y) | counts] of every column, in nats, summed over the outputs of the target."""
    target = question.target
    if target.kind == "classes":
        outputs = [class_codes(target)]
    else:
        outputs = [binned(column) for column in target.values.T]

    def scored(column: np.ndarray, position: int) -> float:
        is_category = position in question.categories
        codes = np.unique(column, return_inverse=True)[1] if is_category else binned(column)
        return sum(expected_information(_table(codes, output)) for output in outputs)

    return Scored(each_column(question.X, scored, question.options.n_jobs))


def expected_information(counts: np.ndarray) -> float:
    """Posterior mean of the mutual information of two discrete variables, in nats.

    The probabilities of the cells have a Dirichlet law with parameters a = counts + prior, the
    prior being one row spread over all cells (Perks). With E[p log p] = a/n (ψ(a + 1) - ψ(n + 1))
    for cells and margins, the mean is Σ a_ij/n (ψ(a_ij + 1) - ψ(a_i + 1) - ψ(a_j + 1) + ψ(n + 1)).

    Parameters
    ----------
    counts : ndarray of shape (n_levels, n_other_levels)

    Examples
    --------
    >>> round(expected_information(np.array([[50, 0], [0, 50]])), 2)
    0.66
    """
    if 1 in counts.shape:  # a constant tells nothing, not even rounding errors
        return 0.0
    a = counts + 1.0 / counts.size
    n = float(a.sum())
    cells, rows, columns = (part @ digamma(part + 1.0) for part in (a.ravel(), a.sum(1), a.sum(0)))
    return max(0.0, float(cells - rows - columns) / n + float(digamma(n + 1.0)))


def binned(column: np.ndarray) -> np.ndarray:
    """Codes of the values where these are few, else of bins with about equally many rows.

    Examples
    --------
    >>> binned(np.array([0.5, 0.1, 9.0, 0.3])).tolist()
    [1, 0, 1, 0]
    """
    most = min(BINS, max(2, int(np.sqrt(len(column) / ROWS))))
    values, codes, counts = np.unique(column, return_inverse=True, return_counts=True)
    if len(values) <= most:
        return codes
    middle = np.cumsum(counts) - counts / 2.0  # rank of each value, equal ones in one bin
    bins = (middle * most / len(column)).astype(int)
    return np.unique(bins, return_inverse=True)[1][codes]


def _table(codes: np.ndarray, others: np.ndarray) -> np.ndarray:
    """How many rows have each pair of codes."""
    shape = int(codes.max()) + 1, int(others.max()) + 1
    return np.bincount(codes * shape[1] + others, minlength=shape[0] * shape[1]).reshape(shape)
