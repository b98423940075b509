"""What searches over units of columns share, and what BAHSIC and FOHSIC do: rows and blocks."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import KW_ONLY, dataclass, replace
from typing import Any, ClassVar, Literal

import numpy as np
from sklearn.utils import _safe_indexing

from depmax._parameters import FLAG, Rule, integer, is_number, one_of
from depmax._resources import one_blas_thread
from depmax._text import counted
from depmax._warnings import warn_caller
from depmax.data.columns import Categories, Missing
from depmax.data.sample import MINIMUM, Sample, read_target_sample, require_samples
from depmax.data.stream import SampledRowsWarning
from depmax.data.table import constant_columns, has_missing, require_equal_length, some_rows
from depmax.dependence.exchange import Exchange, exchange_of, scheme_of
from depmax.kernels import KernelLike, as_kernel
from depmax.kernels.kernel import Kernel
from depmax.kernels.neutral import Gaps, Neutral, require_embedding
from depmax.selection._search.data import Units, make_units
from depmax.selection._search.how_many import n_predictive
from depmax.selection._search.protection import Observed
from depmax.selection._search.search import Search, column_shares, has_fast_form
from depmax.selection.selector import Ranking, WeightedSelector

#: With block_size="auto" HSIC is taken over all rows at once up to so many, beyond over blocks.
WHOLE_ROWS, BLOCK_ROWS = 5_000, 1_000
#: Rows that are searched, and cells of those of a table that is read a chunk at a time, at most.
MOST_ROWS, MOST_CELLS = 100_000, 10**8
#: Groups of rows that are drawn however large they are: fewer have too few orders for p-values.
FEWEST_GROUPS = 20
#: From so many kernel entries times columns on, products are made in single precision.
SINGLE_FROM = 10**8

#: What may leave or join in one round.
STEP = Rule(
    lambda step: is_number(step) and (0 < step < 1 or (step >= 1 and int(step) == step)),
    "a share between 0 and 1 or a whole number >= 1",
)


class UnitSelector(WeightedSelector):
    """Base of the searches over units of columns; a subclass implements ``_rank``."""

    step: float
    column_groups: Any
    pvalues: bool
    verbose: int
    _decides_how_many = True
    _streams: ClassVar[bool] = True
    _declared: ClassVar = {"step": STEP, "pvalues": FLAG}

    def __sklearn_tags__(self) -> Any:
        """Without a target where the inputs themselves are the target."""
        tags = super().__sklearn_tags__()
        tags.target_tags.required = not self._is_unsupervised()
        return tags

    def _is_unsupervised(self) -> bool:
        return isinstance(self.target_kernel, str) and self.target_kernel == "inputs"

    def _n_decided(self, remaining: int) -> int:
        """How many units one round decides: a share of those left, or a fixed number."""
        return max(1, int(self.step * remaining)) if self.step < 1 else int(self.step)

    def _say(self, count: int, what: str) -> None:
        if self.verbose:
            print(f"[{type(self).__name__}] {counted(count, 'column')}, {what}", flush=True)

    def _ranking(
        self,
        observed: Observed,
        order: Callable[[Observed], Ranking],
        *,
        small: bool = False,
    ) -> Ranking:
        """Ranking of input columns from an order of units, and how many "auto" keeps.

        In a group of columns the most dependent are first. With ``small`` matrices BLAS has one
        thread.
        """
        units, weight = observed.units, observed.target.weight
        has_pvalues = self.pvalues and weight is None and not self._is_unsupervised()
        repeats = weight is not None and not self._is_unsupervised()
        seen = observed.repeated() if repeats else observed
        with one_blas_thread(self.n_jobs, always=small):
            found = order(seen)
        self.pvalues_adjusted_ = seen.pvalues_adjusted if has_pvalues else None
        self.effects_ = seen.alone[:, 3:6] if has_pvalues else None  # with both ends
        groups = [units.members[unit] for unit in found.order]
        if len(groups) < len(units.unit_of_inputs()):
            constant = constant_columns(observed.X, self.missing)
            each = np.where(constant, -np.inf, observed.alone[:, 0])
            groups = [group[np.argsort(-each[group], kind="stable")] for group in groups]
        n_units = found.n_significant
        return Ranking(
            np.concatenate(groups),
            found.scores[units.unit_of_inputs()],
            found.path,
            None if n_units is None else units.n_inputs(found.order[:n_units]),
            np.array([len(group) for group in groups]),
        )


def informative_first(units: Units, order: Callable[[np.ndarray], Ranking]) -> Ranking:
    """An order of the units that say something new, and all others after them."""
    uninformative = units.uninformative()
    candidates, last = np.flatnonzero(~uninformative), np.flatnonzero(uninformative)
    if not len(candidates):
        return Ranking(last, np.zeros(len(last)))
    found = order(candidates)
    return replace(found, order=np.concatenate([found.order, last]))


@dataclass(eq=False, repr=False)
class HSICSelector(UnitSelector):
    """Base of the greedy searches under HSIC; a subclass implements ``_search``."""

    n_features_to_select: int | float | Literal["auto"] | None = None
    _: KW_ONLY
    kernel: KernelLike = "gaussian"
    target_kernel: KernelLike | Literal["auto", "inputs"] = "auto"
    unbiased: bool = True
    step: float = 0.1
    column_groups: Any = None
    block_size: int | Literal["auto"] | None = "auto"
    precision: Literal["auto", "single", "double"] = "auto"
    missing: Missing = "neutral"
    pvalues: bool = True
    n_jobs: int | None = None
    verbose: int = 0

    _sparse_remedy = 'use kernel="linear", with which X stays sparse'
    _declared: ClassVar = {
        "precision": one_of("auto", "single", "double"),
        "block_size": integer(MINIMUM[True], also=["auto", None]),
    }

    @property
    def _accepts_sparse(self) -> bool:  # type: ignore[override]  # depends on parameters here
        """Sparse columns are kept sparse where every column has its own share."""
        return self._can("is_linear")

    def __sklearn_tags__(self) -> Any:
        """With missing cells where the kernel has a meaning for them."""
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan &= self._can("embeds_missing")
        return tags

    def _can(self, ability: str) -> bool:
        """Whether the kernel declares an ability; fit is where a wrong kernel is refused."""
        try:
            return bool(getattr(as_kernel(self.kernel).capabilities, ability))
        except (TypeError, ValueError):
            return False

    def _some_rows(self, inputs: Any, target: Any) -> tuple[Any, Any]:
        """Rows whose blocks are searched, drawn with a fixed seed; their cells fit in memory."""
        n_rows, n_features = inputs.shape
        most = min(MOST_ROWS, max(WHOLE_ROWS, MOST_CELLS // n_features))
        if n_rows > most:
            warn_caller(
                f"{type(self).__name__} searches {most:,} of {n_rows:,} rows, drawn with a fixed "
                "seed: the table is read a chunk at a time, and the search needs rows in memory.",
                SampledRowsWarning,
            )
        rows: tuple[Any, Any] = inputs.some(most)
        return rows

    def _compared_by(self) -> Kernel | None:
        """The kernel of the search, on all columns."""
        return self._recipe()

    def _rank(
        self,
        X: Any,
        y: Any,
        categories: Categories,
        groups: Any = None,
        weight: np.ndarray | None = None,
    ) -> Ranking:
        recipe = self._recipe()
        if has_missing(X):
            column = int(np.flatnonzero(np.isnan(X).any(axis=0))[0])
            names = getattr(self, "feature_names_in_", None)
            where = f"column {column if names is None else repr(names[column])}"
            require_embedding(recipe, type(self).__name__, where)
        target = None
        if not self._is_unsupervised():
            target = read_target_sample(y, self.target_kernel, weight=weight)
            require_equal_length(X.shape[0], target.n_samples)
        exchange = exchange_of(groups)
        scheme_of(exchange, X.shape[0], X if target is None else target.rows, X)  # refuses at once
        if isinstance(self.block_size, str) and not recipe.capabilities.is_linear:
            rows = self._rows_to_search(X.shape[0], exchange)
            if rows is not None:
                X, weight = X[rows], None if weight is None else weight[rows]
                exchange = exchange.take(rows)
                if target is not None:
                    y = _safe_indexing(y, rows)
                    target = read_target_sample(y, self.target_kernel, weight=weight)
        units = make_units(X, self.column_groups, categories, recipe, self.missing, weight)
        if target is None:
            kernel = Neutral(recipe, Gaps.of(units.X, units.cells)) if len(units.cells) else recipe
            kernel = kernel.resolve(units.X, sample_weight=weight, n_columns=X.shape[1])
            target = Sample(kernel, units.X, weight=weight)
        require_samples(target.total, unbiased=True)
        search = self._search_on(np.arange(X.shape[0]), units, target, recipe)
        self._require_any_columns(search)
        self.target_kernel_ = target.kernel
        target_kernel = self.target_kernel
        if target.precomputed:  # row numbers can be split; a matrix would also lose columns
            y, target_kernel = target.rows, target.kernel

        def order(observed: Observed) -> Ranking:
            found = self._decide(search, observed)
            if isinstance(self.n_features_to_select, str):
                found = replace(found, n_significant=n_predictive(self, recipe, observed))
            return found

        every = np.arange(X.shape[0])
        observed = Observed(
            X, y, target_kernel, target, units, every, self.n_jobs, exchange, self.missing
        )
        return self._ranking(observed, order)

    def _rows_to_search(self, n_rows: int, exchange: Exchange) -> np.ndarray | None:
        """Some of very many rows, whole groups of them, drawn with a fixed seed; None: all."""
        if n_rows <= MOST_ROWS:
            return None
        rows = some_rows(n_rows, MOST_ROWS)
        units = exchange.units(n_rows)
        sizes = np.bincount(units)
        if len(sizes) < n_rows:  # parts of groups could not be exchanged
            order = np.random.default_rng(0).permutation(len(sizes))
            n_fitting = int((np.cumsum(sizes[order]) <= MOST_ROWS).sum())
            rows = np.flatnonzero(np.isin(units, order[: max(FEWEST_GROUPS, n_fitting)]))
        warn_caller(
            f"{type(self).__name__} searches {len(rows):,} of {n_rows:,} rows, drawn with a fixed "
            f"seed. To search all of them, pass block_size={BLOCK_ROWS}: the time is then "
            "proportional to the rows.",
            SampledRowsWarning,
        )
        return rows

    def _search_on(self, rows: np.ndarray, units: Units, target: Sample, recipe: Kernel) -> Search:
        """The search on some of the rows, in random blocks if they are many."""
        whole = len(rows) == target.n_samples
        X, side = (units.X, target) if whole else (units.X[rows], target.take(rows))
        m, size = len(rows), self.block_size
        blocks: list[Any] = [slice(None)]
        if isinstance(size, str):
            size = BLOCK_ROWS if m > WHOLE_ROWS else None
        if size is not None and size < m:
            blocks = np.array_split(np.random.default_rng(0).permutation(m), m // size)
        work = m * min(m, size or m) * X.shape[1]
        single = self.precision == "single" or (
            self.precision == "auto" and (X.dtype == np.float32 or work >= SINGLE_FROM)
        )
        return Search(
            X,
            units,
            side,
            recipe,
            blocks,
            self.unbiased,
            np.dtype(np.float32 if single else np.float64),
            self.n_jobs,
        )

    def _decide(self, search: Search, observed: Observed) -> Ranking:
        """Order all units by their shares or by the search, those without information last."""
        if search.recipe.capabilities.is_linear:
            return _by_shares(search)
        return informative_first(search.units, lambda some: self._search(search, some, observed))

    def _search(self, search: Search, candidates: np.ndarray, observed: Observed) -> Ranking:
        """The rule of the method: order the candidates, which are units of ``search``."""
        raise NotImplementedError

    def _report(self, count: int, value: float) -> None:
        self._say(count, f"HSIC = {value:.6g}")

    def _recipe(self) -> Kernel:
        if isinstance(self.kernel, str) and self.kernel == "precomputed":
            raise ValueError(
                f"{type(self).__name__} drops columns, which a precomputed kernel matrix does not "
                "have: pass a kernel of vectors."
            )
        recipe = as_kernel(self.kernel)
        if not recipe.requires_vector_input or hasattr(recipe, "parts"):
            raise ValueError(
                f"{type(self).__name__} drops columns, which {type(recipe).__name__} cannot do: "
                "pass a kernel of vectors such as Gaussian, Laplace, Polynomial or Linear."
            )
        return recipe

    def _require_any_columns(self, search: Search) -> None:
        """Refuse a kernel that compares all columns but not a few of them, before any search."""
        units = search.units
        if has_fast_form(search.recipe):
            return
        candidates = np.flatnonzero(~units.uninformative()).tolist()
        if not candidates:
            return
        n_columns = search.X.shape[1]
        smallest = min((units.columns[unit] for unit in candidates), key=len)
        search.try_kernel(np.arange(n_columns))  # where it fails, its error says why
        try:
            search.try_kernel(smallest)
        except (IndexError, TypeError, ValueError) as error:
            given = self.kernel
            name = given if isinstance(given, str) else getattr(given, "__name__", None)
            raise ValueError(
                f"{type(self).__name__} compares sets of columns of any size, which this "
                f"{name or type(given).__name__} cannot do: it fails on {len(smallest)} of the "
                f"{n_columns} columns ({error}). Pass a kernel of any number of columns, such as "
                "Gaussian. A RidgeKernel without reference rows, or a map that can be fitted to a "
                "single column, also works."
            ) from error


def _by_shares(search: Search) -> Ranking:
    """With a kernel that adds over columns the best set of any size is known at once."""
    units = search.units
    shares = search.weights @ np.array(search.visit(column_shares))
    scores = np.array([shares[columns].sum() for columns in units.columns])
    order = np.argsort(-scores, kind="stable")
    totals, sizes = np.cumsum(scores[order]), np.cumsum([len(units.members[u]) for u in order])
    path = tuple((int(size), float(total)) for size, total in zip(sizes, totals, strict=True))
    return Ranking(order, scores, path[::-1])
