"""HSIC Lasso: features that depend on the target but not on each other."""

from __future__ import annotations

import math
from dataclasses import KW_ONLY, dataclass, field
from functools import partial
from typing import Any, ClassVar, Literal

import numpy as np
from scipy import linalg
from sklearn.utils import check_random_state
from threadpoolctl import threadpool_limits

from depmax._parameters import integer
from depmax.data.columns import Categories
from depmax.data.sample import MINIMUM, Sample, read_target_sample, require_samples
from depmax.data.table import require_equal_length
from depmax.dependence.resolve import most_dependent
from depmax.kernels import Gaussian, KernelLike, as_kernel
from depmax.kernels.kernel import Kernel
from depmax.selection._lasso_designs import (
    Design,
    SharedKernel,
    TileDesign,
    column_kernels,
    factor_design,
)
from depmax.selection.selector import DependenceSelector, Ranking


@dataclass(eq=False, repr=False)
class HSICLasso(DependenceSelector):
    """Select features whose weighted sum of kernel matrices comes closest to that of the target.

    Minimises ½‖L̄ - Σ α_j K̄_j‖² + λ Σ α_j over α ≥ 0, where K̄_j is the kernel matrix of feature j
    alone and L̄ that of the target, both centred and scaled to Frobenius norm one. The products
    ⟨K̄_j, L̄⟩ are normalised HSICs, so a feature is rewarded for its dependence on the target,
    linear or not, and penalised for what it shares with the others. The path is computed exactly,
    from the λ where the first feature enters to the λ where one feature too many would enter.

    Features are judged one at a time: two that matter only together (XOR) are not found; ``BAHSIC``
    finds them.

    Parameters
    ----------
    n_features_to_select : int, float or None, default=None
        Number of features, or their share; None is half. If fewer enter the path, the ranking
        supplies the others.
    kernel : kernel, name, callable or transformer, default="gaussian"
        Kernel of each standardised feature (mean 0, standard deviation 1). The name ``"gaussian"``
        stands for ``Gaussian(bandwidth=1.0)``, as published. A policy such as ``"median"`` is
        applied to each feature. Categorical columns of a data frame get ``Delta``.
    target_kernel : kernel, name or "auto", default="auto"
        Kernel of y; "auto" depends on its type.
    block_size : int or None, default=None
        Average over blocks of about this many samples (Climente-González et al., 2019), each
        centred and normalised on its own. None uses all samples at once, which is exact and, with a
        smooth kernel, also linear in their number.
    n_permutations : int, default=1
        Number of random divisions into blocks to average over.
    random_state : int, RandomState or None, default=0
        Seed of these divisions. Without ``block_size`` nothing is random.
    n_jobs : int or None, default=None
        Number of threads; it does not change the result.

    Attributes
    ----------
    ranking_ : ndarray of shape (n_features,)
        Active features in the order in which they entered, then those that entered and left, then
        those that never entered by their HSIC with the target, then copies of active ones and
        constants.
    scores_ : ndarray of shape (n_features,)
        Penalty λ at which a feature entered; for the others, their normalised HSIC with the target,
        at most the last λ; zero for copies and constants.
    coef_ : ndarray of shape (n_features,)
        α at the end of the path.
    alphas_ : ndarray
        λ where the path starts and after each step, in decreasing order.
    path_ : tuple of (int, float)
        After each step: the active features, and the alignment (cosine) between Σ α_j K̄_j and L̄.
    support_, substitutes_, n_features_
        As in every selector.
    kernel_, target_kernel_ : Kernel
        Kernels of the features and of the target, the latter with every recipe replaced by numbers.

    Notes
    -----
    Without blocks, kernel matrices are kept as factors with a Frobenius error of 5e-7 each, so
    products of two are off by at most 1e-6; if that takes too large a rank (the Laplace kernel),
    all entries are computed, up to rounding. With blocks they always are. Neither the matrices nor
    all products of two features are ever stored. The factors take up to some 15 times the memory of
    X, less for features of few values; blocks take next to none.

    References
    ----------
    Yamada, M. et al. (2014). High-dimensional feature selection by feature-wise kernelized Lasso.
    Climente-González, H. et al. (2019). Block HSIC Lasso: model-free biomarker detection for
    ultra-high dimensional data.

    Examples
    --------
    >>> import numpy as np
    >>> from depmax.selection.hsic_lasso import HSICLasso
    >>> X = np.random.default_rng(0).normal(size=(200, 10))
    >>> y = X[:, 3] + X[:, 7] ** 2
    >>> HSICLasso(2).fit(X, y).get_feature_names_out()
    array(['x3', 'x7'], dtype=object)
    """

    n_features_to_select: int | float | None = None
    _: KW_ONLY
    kernel: KernelLike = "gaussian"
    target_kernel: KernelLike | Literal["auto"] = "auto"
    block_size: int | None = None
    n_permutations: int = 1
    random_state: Any = 0
    n_jobs: int | None = None

    path_quantity = "alignment with the target"
    _declared: ClassVar = {
        "block_size": integer(MINIMUM[True], also=[None]),
        "n_permutations": integer(1),
    }

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> HSICLasso:
        """Rank the columns of X by their dependence on y and keep the best.

        Parameters
        ----------
        X : array-like or data frame of shape (n_samples, n_features)
        y : target of any type
        sample_weight : array-like of shape (n_samples,), optional
            How many rows each row stands for: a weight of 3 counts the row three times, a weight of
            0 ignores it. Not with ``block_size``, which divides rows.

        Returns
        -------
        self
        """
        if sample_weight is not None and self.block_size is not None:
            raise ValueError(
                "HSICLasso takes sample_weight only with block_size=None: blocks hold whole rows, "
                "and the copies of one row would fall into several."
            )
        self._fit(X, y, sample_weight)
        return self

    def _compared_by(self) -> None:
        """Columns are put on one scale first."""

    def _rank(
        self, X: Any, y: Any, categories: Categories, weight: np.ndarray | None = None
    ) -> Ranking:
        m, d = X.shape
        recipe = self._recipe()
        target = read_target_sample(y, self.target_kernel, weight=weight)
        require_equal_length(m, target.n_samples)
        require_samples(m, unbiased=True)
        columns = column_kernels(
            X, categories, recipe, partial(most_dependent, target, warn=False), weight
        )
        with threadpool_limits(limits=1, user_api="blas"):  # many small products, in n_jobs threads
            design = self._design(columns, target)
            path = nonnegative_path(design, self._n_requested(d) or d)
        self.kernel_, self.target_kernel_ = recipe, target.kernel
        self.coef_ = path.coef
        self.alphas_ = np.array(path.penalties)
        return _ranking(design, path)

    def _design(self, columns: list[SharedKernel], target: Sample) -> Design:
        blocks = self._blocks(target.n_samples)
        if len(blocks) > 1:
            return TileDesign(columns, target, blocks, self.n_jobs)
        design = factor_design(columns, target, self.n_jobs)
        return TileDesign(columns, target, blocks, self.n_jobs) if design is None else design

    def _blocks(self, n_samples: int) -> list[np.ndarray]:
        """Samples of each block; all in one if there is no need for more."""
        size, divisions = self.block_size, self.n_permutations
        if size is None or n_samples // size < 2:
            return [np.arange(n_samples)]
        rng = check_random_state(self.random_state)
        return [
            block
            for _ in range(divisions)
            for block in np.array_split(rng.permutation(n_samples), n_samples // size)
        ]

    def _recipe(self) -> Kernel:
        if isinstance(self.kernel, str) and self.kernel == "gaussian":
            return Gaussian(bandwidth=1.0)
        if isinstance(self.kernel, str) and self.kernel == "precomputed":
            raise ValueError(
                "HSICLasso needs a kernel for each column, which a precomputed matrix does not "
                "hold: pass a kernel of vectors."
            )
        recipe = as_kernel(self.kernel)
        readable = recipe.requires_vector_input or recipe.capabilities.labels
        if not readable or hasattr(recipe, "parts"):
            raise ValueError(
                f"HSICLasso compares single columns, which {type(recipe).__name__} cannot do: pass "
                "a kernel of vectors such as Gaussian, Laplace or Linear, or Delta."
            )
        return recipe


def _ranking(design: Design, path: LassoPath) -> Ranking:
    """All columns in order: active, left again, never entered, copies, constants."""
    entered = ~np.isnan(path.entered)
    last = path.penalties[-1] if path.penalties else 0.0
    scores = np.where(entered, path.entered, np.clip(design.correlations, 0.0, last))
    tier = np.where(entered, 1, 2)
    tier[path.active] = 0
    tier[path.copies] = 3
    tier[design.squares == 0.0] = 4
    scores[tier >= 3] = 0.0
    place = np.zeros(len(tier))
    place[path.active] = np.arange(len(path.active))
    strength = np.where(entered, path.entered, design.correlations)
    order = np.lexsort((-strength, place, tier))
    return Ranking(order, scores, tuple(path.steps))


# --- the path of non-negative least squares under a falling penalty, column by column (LARS) -----

#: Part of a column that the active ones leave unexplained, in squares; less is a copy of them.
COPY = 1e-8


class KnownProducts:
    """Inner products with the columns asked for so far; a few likely ones are asked for ahead."""

    def __init__(self, design: Design) -> None:
        self._design = design
        self._slots: dict[int, int] = {}  # where the products of a column are kept
        self._store = np.empty((0, len(design.squares)))

    def get(self, column: int, distance: np.ndarray) -> np.ndarray:
        """Products of one column with all, and those of the nearest others on the way.

        Parameters
        ----------
        column : int
        distance : ndarray of shape (n_features,)
            How far each column is from being asked for; infinite if it will not be soon.
        """
        if column not in self._slots:
            distance = distance.copy()
            distance[[column, *self._slots]] = np.inf
            guesses = np.argsort(distance, kind="stable")
            count = max(0, self._design.ahead(len(self._slots)) - 1)
            guesses = guesses[:count][distance[guesses[:count]] < np.inf]
            self._add([column, *guesses.tolist()])
        return self._store[self._slots[column]]

    def combine(self, columns: list[int], weights: np.ndarray) -> np.ndarray:
        """Σ_j w_j <φ_j, φ_k> over these columns j, for rows of weights and all k."""
        spread = np.zeros((len(weights), len(self._slots)))
        spread[:, [self._slots[column] for column in columns]] = weights
        return spread @ self._store[: len(self._slots)]

    def _add(self, columns: list[int]) -> None:
        first = len(self._slots)
        needed = first + len(columns)
        if needed > len(self._store):
            store = np.empty((max(needed, 2 * first), self._store.shape[1]))
            store[:first] = self._store[:first]
            self._store = store
        self._store[first:needed] = self._design.products(np.array(columns))
        self._slots.update({column: first + i for i, column in enumerate(columns)})


class ActiveColumns:
    """The active columns, in order, and the Cholesky factor of their inner products."""

    def __init__(self) -> None:
        self.columns: list[int] = []
        self._factor = np.zeros((0, 0))  # lower triangular

    def add(self, column: int, products: np.ndarray, square: float) -> bool:
        """Append a column, unless the active ones reproduce it.

        Parameters
        ----------
        column : int
        products : ndarray
            Its inner products with the active columns.
        square : float
            Its inner product with itself.
        """
        k = len(self.columns)
        row = linalg.solve_triangular(self._factor, products, lower=True) if k else products
        left = square - float(row @ row)
        if left <= COPY * square:
            return False
        factor = np.zeros((k + 1, k + 1))
        factor[:k, :k] = self._factor
        factor[k, :k], factor[k, k] = row, np.sqrt(left)
        self._factor = factor
        self.columns = [*self.columns, column]
        return True

    def drop(self, position: int) -> None:
        """Take a column out; the rows left of the factor are made triangular again."""
        self.columns = self.columns[:position] + self.columns[position + 1 :]
        rows = np.delete(self._factor, position, axis=0)
        factor = linalg.qr(rows.T, mode="r")[0][: len(rows)].T
        self._factor = factor * np.where(np.diag(factor) < 0, -1.0, 1.0)

    def direction(self) -> np.ndarray:
        """Coefficients along which the correlations of all active columns fall alike."""
        return linalg.cho_solve((self._factor, True), np.ones(len(self.columns)))


#: The path ends where the penalty is this small a part of the first one.
END = 1e-9
#: Columns whose penalties of entry differ by less than this part of the first one enter in order.
TIE = 1e-10
#: Steps per column after which a degenerate path is left.
PATIENCE = 20


@dataclass
class LassoPath:
    """A finished path: which column entered when, and the coefficients where it stopped."""

    coef: np.ndarray  # α, of shape (n_features,)
    entered: np.ndarray  # penalty at which each column entered last; NaN if it never did
    active: list[int] = field(default_factory=list)  # in the order of their last entry
    copies: list[int] = field(default_factory=list)  # columns that the active ones reproduce
    penalties: list[float] = field(default_factory=list)  # λ at the start and after each step
    steps: list[tuple[int, float]] = field(default_factory=list)  # (active columns, alignment)


@dataclass(frozen=True)
class Step:
    """The next event on a path, and how far λ falls until then."""

    length: float
    entering: int | None = None  # a column
    leaving: int | None = None  # a position among the active columns


def nonnegative_path(design: Design, n_active: int) -> LassoPath:
    """Minimise ½‖ψ - Σ α_j φ_j‖² + λ Σ α_j over α ≥ 0 for falling λ, exactly.

    The solution is piecewise linear in λ: a step ends where a column enters or leaves. The path
    stops where one more than ``n_active`` columns would be active, or at λ = 0. Of columns that
    are equally near, the first enters first; one that the active columns reproduce never enters.

    Parameters
    ----------
    design : Design
        Inner products of the columns φ_j and the target ψ.
    n_active : int
        Columns to let in, at least one.

    Returns
    -------
    LassoPath
    """
    walk = _Walk(design)
    step = walk.first_step()
    for _ in range(PATIENCE * (len(design.squares) + 1)):
        if step.entering is not None:
            if len(walk.active.columns) == n_active:
                break
            walk.enter(step.entering)
        elif step.leaving is not None:
            walk.leave(step.leaving)
        else:
            break
        step = walk.step()
    walk.path.active = walk.active.columns
    return walk.path


class _Walk:
    """The current state of a path."""

    def __init__(self, design: Design) -> None:
        self.design = design
        self.known = KnownProducts(design)
        self.active = ActiveColumns()
        size = len(design.squares)
        self.path = LassoPath(np.zeros(size), np.full(size, np.nan))
        self.free = design.squares > 0  # may enter: neither active nor a copy nor constant
        self.penalty = 0.0
        self.distance = np.full(size, np.inf)  # by how much λ falls until a column would enter

    def first_step(self) -> Step:
        """The column that depends most on the target enters."""
        c = np.where(self.free, self.design.correlations, 0.0)
        self.penalty = float(c.max())
        if self.penalty <= 0.0:
            return Step(0.0)
        self.distance = np.where(self.free, self.penalty - c, np.inf)
        self.path.penalties.append(self.penalty)
        return Step(0.0, entering=self._nearest())

    def enter(self, column: int) -> None:
        """Make a column active, or set it aside if the active columns reproduce it."""
        products = self.known.get(column, self.distance)
        squares = self.design.squares
        self.free[column] = False
        if not self.active.add(column, products[self.active.columns], squares[column]):
            self.path.copies.append(column)
            return
        self.path.entered[column] = self.penalty
        same = self.free & (products > (1.0 - COPY) * np.sqrt(squares * squares[column]))
        self.path.copies.extend(np.flatnonzero(same).tolist())
        self.free &= ~same

    def leave(self, position: int) -> None:
        """Take a column, whose coefficient has become zero, out of the active ones."""
        self.free[self.active.columns[position]] = True
        self.active.drop(position)

    def step(self) -> Step:
        """Let λ fall until a column enters or leaves, or to zero."""
        columns = self.active.columns
        beta, weights = self.path.coef[columns], self.active.direction()
        explained, slope = self.known.combine(columns, np.stack([beta, weights]))
        step = self._next(self.design.correlations - explained, slope, beta, weights)
        beta = np.maximum(beta + step.length * weights, 0.0)
        if step.leaving is not None:
            beta[step.leaving] = 0.0
        self.path.coef[columns] = beta
        self.penalty -= step.length
        if step.length > 0.0:
            self.path.penalties.append(self.penalty)
            self.path.steps.append((len(columns), self._alignment(columns, beta)))
        return step

    def _next(
        self, c: np.ndarray, slope: np.ndarray, beta: np.ndarray, weights: np.ndarray
    ) -> Step:
        """The first of: a column enters, a coefficient becomes zero, λ does.

        While λ falls by one, the correlation c_j of a column falls by its slope, which is one for
        the active columns.
        """
        reachable = self.free & (slope < 1.0)
        gap = np.maximum(self.penalty - c[reachable], 0.0)
        self.distance = np.full(len(c), np.inf)
        self.distance[reachable] = gap / (1.0 - slope[reachable])
        entering = self._nearest()
        falling = weights < 0.0
        until_zero = np.full(len(beta), np.inf)
        until_zero[falling] = -beta[falling] / weights[falling]
        leaving = int(np.argmin(until_zero))
        end = self.penalty - END * self.path.penalties[0]
        if end <= min(self.distance[entering], until_zero[leaving]):
            return Step(self.penalty)
        if until_zero[leaving] < self.distance[entering]:
            return Step(float(until_zero[leaving]), leaving=leaving)
        return Step(float(self.distance[entering]), entering=entering)

    def _nearest(self) -> int:
        """The column that enters next, the first of equals."""
        tie = self.distance.min() + TIE * self.path.penalties[0]
        return int(np.argmax(self.distance <= tie))

    def _alignment(self, columns: list[int], beta: np.ndarray) -> float:
        """Cosine between the target and the weighted sum of the active columns."""
        explained = self.known.combine(columns, beta[np.newaxis])[0]
        square = float(explained[columns] @ beta) * self.design.target_square
        cross = float(self.design.correlations[columns] @ beta)
        return cross / math.sqrt(square) if square > 0.0 else 0.0
