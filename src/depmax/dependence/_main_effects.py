"""Main effects of single columns, taken off a target and off products; what chance gives then."""

from __future__ import annotations

from collections.abc import Sequence
from copy import deepcopy
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from scipy import optimize, sparse, special, stats

from depmax._resources import slices
from depmax.data import Target, read_target
from depmax.data.sample import kernel_of_target, read_target_sample
from depmax.data.table import require_equal_length
from depmax.dependence._nulls.sorted_columns import TargetCoordinates
from depmax.dependence.exchange import PermutationScheme
from depmax.kernels import KernelLike
from depmax.maps.incomplete_cholesky import factor_to

#: Where outliers of a target are cut, in robust standard deviations.
CLIP = 3.0
#: A square that its own column explains up to this (a column with two values) is left out.
FLAT = 1e-6
#: Columns transformed at once.
CHUNK = 512


@dataclass(frozen=True)
class ColumnBases:
    """Every column's orthonormal basis; averages over rows are the inner product.

    The rows of ``linear`` and ``square`` have mean 0 and mean square 1 and are orthogonal to each
    other; those of a constant column, and the square of a column with two values, are zero.
    """

    linear: np.ndarray  # p, of shape (n_features, n_samples): the standardised column
    square: np.ndarray  # q, what p² adds to 1 and p
    skew: np.ndarray  # a and
    curve: np.ndarray  # b of p² = 1 + a p + b q
    constant: np.ndarray  # whether the column has one value only

    @classmethod
    def of(cls, values: np.ndarray) -> ColumnBases:
        """Bases of the columns of a matrix of shape (n_samples, n_features)."""
        m, d = values.shape
        linear, square = np.empty((d, m)), np.empty((d, m))
        skew, curve, constant = np.empty(d), np.empty(d), np.empty(d, dtype=bool)
        for start in range(0, d, CHUNK):
            part = slice(start, min(start + CHUNK, d))
            rows = np.ascontiguousarray(values[:, part].T, dtype=np.float64)
            p = normal_scores(rows)
            constant[part] = _standardise(p)
            q = p * p
            skew[part] = np.einsum("ij,ij->i", q, p) / m
            q -= 1.0 + skew[part, np.newaxis] * p
            norm = np.sqrt(np.einsum("ij,ij->i", q, q) / m)
            flat = constant[part] | (norm < FLAT)
            curve[part] = np.where(flat, 0.0, norm)
            q[flat] = 0.0
            q[~flat] /= norm[~flat, np.newaxis]
            linear[part], square[part] = p, q
        return cls(linear, square, skew, curve, constant)

    @property
    def n_features(self) -> int:
        """Number of columns."""
        return int(self.linear.shape[0])

    @property
    def n_samples(self) -> int:
        """Number of rows of the data."""
        return int(self.linear.shape[1])

    def of_columns(self, positions: Sequence[int]) -> np.ndarray:
        """Both functions of some columns, of shape (2 n_columns, n_samples)."""
        return np.concatenate([self.linear[list(positions)], self.square[list(positions)]])


def normal_scores(rows: np.ndarray) -> np.ndarray:
    """Normal quantiles of the ranks in each row, ties at their average rank."""
    m = rows.shape[-1]
    order = np.argsort(rows, axis=-1)
    ordered = np.take_along_axis(rows, order, axis=-1)
    tied = (ordered[:, 1:] == ordered[:, :-1]).any(axis=-1)
    scores = np.empty(rows.shape)
    quantiles = special.ndtri(np.arange(1, m + 1) / (m + 1.0))
    np.put_along_axis(scores, order, np.broadcast_to(quantiles, rows.shape), axis=-1)
    if tied.any():
        scores[tied] = special.ndtri(stats.rankdata(rows[tied], axis=-1) / (m + 1.0))
    return scores


def clipped(rows: np.ndarray) -> np.ndarray:
    """Rows centred at the median, in robust standard deviations, cut at ``CLIP``."""
    middle, spread = _robust_scale(rows)
    return np.clip((rows - middle) / spread, -CLIP, CLIP)


def cut_outliers(rows: np.ndarray) -> np.ndarray:
    """Rows in their own units, cut at ``CLIP`` robust standard deviations from the median."""
    middle, spread = _robust_scale(rows)
    return np.clip(rows, middle - CLIP * spread, middle + CLIP * spread)


def _robust_scale(rows: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Median and robust standard deviation of each row; the plain one if half its values agree."""
    low, middle, high = np.quantile(rows, [0.25, 0.5, 0.75], axis=-1, keepdims=True)
    spread = (high - low) / (2.0 * special.ndtri(0.75))
    spread = np.where(spread > 0.0, spread, rows.std(axis=-1, keepdims=True))
    return middle, np.where(spread > 0.0, spread, 1.0)


def _standardise(rows: np.ndarray) -> np.ndarray:
    """Give each row mean 0 and mean square 1 in place; constant rows become 0 and are marked."""
    constant = np.ptp(rows, axis=-1) == 0.0
    rows -= rows.mean(axis=-1, keepdims=True)
    spread = np.sqrt(np.einsum("ij,ij->i", rows, rows) / rows.shape[-1])
    rows[constant] = 0.0
    rows /= np.where(constant, 1.0, spread)[:, np.newaxis]
    return constant


#: Most columns whose main effects are found one by one, and never more than a tenth of the rows.
MAX_MAIN_EFFECTS = 30
#: A main effect is found while its p-value times the number of columns is at most this.
LEVEL = 0.05
#: Directions with a smaller root mean square have nothing left.
NOTHING = 1e-6
#: Ridge penalty of the logistic model, whose columns have mean square 1.
PENALTY = 1.0
#: Functions of all columns are projected out if they are at most this share of the rows;
JOINT_SHARE = 0.25
#: beyond, they are removed by ridge regression, with one of these penalties in units of the mean
#: eigenvalue.
RIDGES = np.logspace(-3, 3, 13)
#: Part of the largest eigenvalue below which functions of columns repeat others.
REPEATED = 1e-10
#: Most steps of the robust additive fit, and the share of its spread below which it has settled.
ROBUST_STEPS, SETTLED = 12, 1e-3


@dataclass(frozen=True)
class MainEffects:
    """Linear and quadratic functions of all columns, which are removed from a target jointly.

    Removing them column by column is not enough: what correlated columns leave of an effect can be
    explained by the product of two others. With B the bases of all columns as rows and BBᵀ = UΛUᵀ,
    the fitted values are Σ λ/(λ + α) u uᵀ t. With few functions in comparison with the rows, α = 0;
    otherwise it is a ridge regression, after the columns with significant effects.
    """

    bases: ColumnBases
    values: np.ndarray  # Λ, eigenvalues above rounding
    axes: np.ndarray  # orthonormal functions of the columns, of shape (rank, n_samples)

    @classmethod
    def of(cls, bases: ColumnBases) -> MainEffects:
        """Principal axes of the bases of all columns, from the smaller of both Gram matrices."""
        rows = np.concatenate([bases.linear, bases.square[bases.curve > 0.0]])
        fewer = len(rows) <= bases.n_samples
        values, vectors = np.linalg.eigh(rows @ rows.T if fewer else rows.T @ rows)
        kept = values > REPEATED * max(float(values[-1]), np.finfo(float).tiny)
        values, vectors = values[kept], vectors[:, kept]
        axes = (vectors / np.sqrt(values)).T @ rows if fewer else vectors.T
        return cls(bases, values, axes)

    @property
    def n_removed(self) -> int:
        """Dimensions that are projected out; 0 where ridge regression removes the effects."""
        rank = len(self.values)
        return rank if rank <= JOINT_SHARE * self.bases.n_samples else 0

    def remove(self, directions: np.ndarray, columns: tuple[int, ...]) -> np.ndarray:
        """What all columns leave of each direction; ``columns`` have significant effects."""
        if self.n_removed or not len(self.values):
            return self.project(directions)
        left = residuals(directions, self.bases, columns)
        left = np.array([self._ridge(each) for each in left]).reshape(left.shape)
        return residuals(left, self.bases, columns)

    def project(self, rows: np.ndarray) -> np.ndarray:
        """Rows without what the functions that are projected out explain."""
        return rows - (rows @ self.axes.T) @ self.axes

    def _ridge(self, direction: np.ndarray) -> np.ndarray:
        """Residuals of ridge regression with the penalty of least generalised cross-validation."""
        m = len(direction)
        shares = self.axes @ direction
        beyond = max(float(direction @ direction - shares @ shares), 0.0)
        penalties = RIDGES * float(self.values.mean())
        kept = penalties[:, np.newaxis] / (self.values + penalties[:, np.newaxis])  # of I - S
        errors = kept**2 @ shares**2 + beyond
        freedom = kept.sum(axis=1) + m - 1.0 - len(self.values)
        best = int(np.argmin(errors / freedom**2))
        return direction - ((1.0 - kept[best]) * shares) @ self.axes

    def find(self, directions: np.ndarray, start: tuple[int, ...] = ()) -> tuple[int, ...]:
        """Columns whose linear and quadratic functions explain the target, found one by one.

        Each step takes the column that explains most of what the earlier ones left, while that is
        significant over all columns.

        Parameters
        ----------
        directions : ndarray of shape (n_directions, n_samples)
            With mean 0.
        start : tuple of int
            Columns to begin with.
        """
        bases = self.bases
        chosen = list(start)
        while len(chosen) < min(MAX_MAIN_EFFECTS, bases.n_samples // 10):
            left = residuals(directions, bases, tuple(chosen))
            scale = root_mean_square(left)
            alive = scale > NOTHING
            if not alive.any():
                break
            unit = (left[alive] / scale[alive, np.newaxis]).T / np.sqrt(bases.n_samples)
            gains = ((bases.linear @ unit) ** 2 + (bases.square @ unit) ** 2).sum(axis=1)
            best = int(np.argmax(gains))
            pvalue = special.chdtrc(2 * unit.shape[1], gains[best])
            if best in chosen or pvalue * bases.n_features > LEVEL:
                break
            chosen.append(best)
        return tuple(chosen)

    def fit_robustly(self, rows: np.ndarray) -> np.ndarray:
        """Additive part of numbers, one row each, by Huber's regression.

        Residuals are cut, not the numbers: numbers cut at a limit are no longer a sum of main
        effects, and the cut would look like an interaction. Each step fits the numbers whose
        residuals of the step before are cut.
        """
        fitted = np.zeros_like(rows)
        for _ in range(ROBUST_STEPS):
            left = rows - fitted
            cut = fitted + cut_outliers(left)
            cut -= cut.mean(axis=-1, keepdims=True)
            found = self.find(whitened(cut)) if not self.n_removed else ()
            before, fitted = fitted, cut - self.remove(cut, found)
            moved = root_mean_square(fitted - before)
            if (moved <= SETTLED * root_mean_square(cut)).all():
                break
        return fitted


def residuals(directions: np.ndarray, bases: ColumnBases, columns: tuple[int, ...]) -> np.ndarray:
    """What least squares on the bases of some columns leaves of each direction."""
    if not columns:
        return directions
    span, _ = np.linalg.qr(bases.of_columns(columns).T)
    return directions - (directions @ span) @ span.T


def class_residuals(
    indicators: np.ndarray, bases: ColumnBases, columns: tuple[int, ...]
) -> np.ndarray:
    """Indicators minus the probabilities of an additive logistic model.

    Two main effects behind a threshold make probabilities that are not additive although nothing
    interacts; the logistic link takes this out.

    Parameters
    ----------
    indicators : ndarray of shape (n_classes, n_samples)
    bases : ColumnBases
    columns : tuple of int
    """
    left = indicators - indicators.mean(axis=1, keepdims=True)
    if not columns:
        return left
    inputs = np.concatenate([np.ones((1, bases.n_samples)), bases.of_columns(columns)])
    shape = (len(indicators), len(inputs))
    penalties = np.full(shape[1], PENALTY)
    penalties[0] = 0.0

    def loss(flat: np.ndarray) -> tuple[float, np.ndarray]:
        weights = flat.reshape(shape)
        scores = weights @ inputs
        logs = special.log_softmax(scores, axis=0)
        gradient = (np.exp(logs) - indicators) @ inputs.T + penalties * weights
        value = -np.sum(indicators * logs) + 0.5 * np.sum(penalties * weights**2)
        return float(value), gradient.ravel()

    start = np.zeros(shape)
    start[:, 0] = np.log(indicators.mean(axis=1))
    found = optimize.minimize(loss, start.ravel(), jac=True, method="L-BFGS-B")
    left = indicators - special.softmax(found.x.reshape(shape) @ inputs, axis=0)
    return left - left.mean(axis=1, keepdims=True)


def root_mean_square(rows: np.ndarray) -> np.ndarray:
    """Root mean square of each row."""
    return np.sqrt(np.einsum("ij,ij->i", rows, rows) / rows.shape[1])


#: Most directions of a target; ten classes have nine.
MAX_DIRECTIONS = 9
#: Part of the trace that a target kernel without exact coordinates may lose.
TARGET_TOL = 1e-3
#: What rounding may leave of nothing.
ROUNDING = 1e-12


@dataclass(frozen=True)
class PairTarget:
    """What single columns leave unexplained of a target."""

    directions: np.ndarray  # shape (n_directions, n_samples), uncorrelated, mean 0, mean square 1
    main_effects: tuple[int, ...]  # columns whose linear and quadratic effects are significant

    @classmethod
    def of(
        cls, y: Any, target_kernel: KernelLike | Literal["auto"], effects: MainEffects
    ) -> PairTarget:
        """Directions of a target of any type, with the main effects of all columns removed."""
        m = effects.bases.n_samples
        if isinstance(target_kernel, str) and target_kernel == "auto":
            target = read_target(y)
            require_equal_length(m, target.n_samples)
            if target.kind == "classes":
                return cls._of_classes(target, effects)
            if target.kind not in ("multilabel", "censored"):
                return cls._of_numbers(target.vectors, effects)
        coordinates = _coordinates(y, target_kernel)
        require_equal_length(m, coordinates.shape[1])
        directions = whitened(coordinates, ROUNDING * float(np.abs(coordinates).max()))
        found = effects.find(directions)
        return cls(whitened(effects.remove(directions, found)), found)

    def within(self, codes: np.ndarray) -> PairTarget:
        """The target without what the rows of a group have in common."""
        counts = np.bincount(codes)
        means = np.array([np.bincount(codes, row) / counts for row in self.directions])
        left = self.directions - means.reshape(len(self.directions), -1)[:, codes]
        return PairTarget(whitened(left), self.main_effects)

    @classmethod
    def _of_classes(cls, target: Target, effects: MainEffects) -> PairTarget:
        """Indicators of the classes minus their probabilities in an additive logistic model."""
        kernel_of_target(target)  # refuses a single class
        indicators = (target.values == target.classes[:, np.newaxis]).astype(np.float64)
        found = effects.find(whitened(indicators))
        left = class_residuals(indicators, effects.bases, found)
        return cls(whitened(effects.remove(left, found)), found)

    @classmethod
    def _of_numbers(cls, vectors: np.ndarray, effects: MainEffects) -> PairTarget:
        """Normal scores of what main effects leave; a single number also gives their square.

        The square is taken of what is left: that of the number itself would turn any two main
        effects into an interaction.
        """
        rows = np.ascontiguousarray(vectors.T, dtype=np.float64)
        _standardise(rows)
        found = effects.find(whitened(clipped(rows)))
        scores = whitened(normal_scores(rows - effects.fit_robustly(rows)))
        if len(scores) == 1:
            scores = whitened(np.concatenate([scores, scores**2]))
        found = effects.find(scores, found)
        return cls(whitened(effects.remove(scores, found)), found)


def whitened(rows: np.ndarray, floor: float = NOTHING) -> np.ndarray:
    """The leading principal directions of rows, each with mean 0 and mean square 1.

    Directions whose root mean square is at most ``floor`` are left out.
    """
    if not len(rows):
        return rows
    psi = TargetCoordinates.of(rows.T, tol=ROUNDING).psi[:, :MAX_DIRECTIONS].T
    norms = root_mean_square(psi)
    kept = norms > floor
    return psi[kept] / norms[kept, np.newaxis]


def _coordinates(y: Any, target_kernel: KernelLike | Literal["auto"]) -> np.ndarray:
    """Coordinates of the target kernel as rows, exact where it has them."""
    side = read_target_sample(y, target_kernel)
    if side.is_narrow:
        exact = side.coordinates(slice(None))
        return np.asarray(exact.toarray() if sparse.issparse(exact) else exact, dtype=np.float64).T
    return np.asarray(factor_to(side, TARGET_TOL).factor).T


# --- products of columns without main effects, beside permuted targets ----------------------------

#: Pairs and permutations handled at once,
PAIRS, PERMUTATIONS = 64, 256
#: fewer where rows are so many that they would hold more numbers than this (128 MB).
HELD = 2**24


def chance_pvalues(
    pairs: np.ndarray,
    effects: MainEffects,
    directions: np.ndarray,
    n_draws: int,
    rng: np.random.Generator,
    how: PermutationScheme | np.ndarray,
) -> np.ndarray:
    """Share of random targets that score a pair at least as high as the data do.

    The rows of ``directions``, from which main effects are already removed, are permuted together
    (Freedman and Lane, 1983); every permutation is used for all pairs. Where main effects were
    projected out, a permuted direction has a part in each of these dimensions and the observed
    one does not: permuted scores are raised by what that part takes.

    Where units of rows are independent, and rows are not, units have random signs instead (the wild
    bootstrap): what main effects leave of the target has mean zero, and its sign in a unit is as
    good as any where there is no interaction.

    Parameters
    ----------
    pairs : ndarray of shape (n_pairs, 2)
    effects : MainEffects
    directions : ndarray of shape (n_directions, n_samples)
    n_draws : int
    rng : Generator
    how : PermutationScheme, or ndarray of int
        How rows are exchanged, or the independent unit of every row.

    Returns
    -------
    ndarray of shape (n_pairs,)
        At least 1 / (n_draws + 1).
    """
    m, raised, signs = effects.bases.n_samples, 1.0, np.empty((0, 0))
    if isinstance(how, np.ndarray):
        signs = rng.choice([-1.0, 1.0], size=(how.max() + 1, n_draws))
    else:
        raised = m / (m - effects.n_removed)
    at_once = int(np.clip(HELD // (2 * m * max(1, len(directions))), 1, PERMUTATIONS))
    reached = np.zeros(len(pairs), dtype=np.int64)
    for part in slices(len(pairs), max(1, HELD // m)):
        left = interactions(pairs[part], effects)
        least = np.full((len(directions), len(left)), np.finfo(float).tiny)
        if isinstance(how, np.ndarray):
            least = np.maximum(least, [_between(left * t, how) for t in directions])
        observed = scores(left, directions[:, np.newaxis], least)
        count, draws = reached[part], deepcopy(rng)  # the same permutations for every part
        for some in slices(n_draws, at_once):
            if isinstance(how, np.ndarray):
                moved = directions[:, np.newaxis] * signs[how, some].T
            else:
                moved = directions[:, how.orders(some.stop - some.start, draws)]
            for few in slices(len(left), PAIRS):
                found = raised * scores(left[few], moved, least[:, few])
                # a permutation that only exchanges equal values must count in spite of rounding
                count[few] += (found >= observed[few] * (1.0 - 1e-10)).sum(axis=1)
    return (reached + 1) / (n_draws + 1)


def _between(products: np.ndarray, units: np.ndarray) -> np.ndarray:
    """Σ over units of the squares of their sums, over the rows, for every row of products."""
    by_unit, counts = np.argsort(units, kind="stable"), np.bincount(units)
    sums = np.add.reduceat(products[:, by_unit], np.cumsum(counts) - counts, axis=1)
    return np.asarray((sums**2).mean(axis=1) * (len(counts) / len(units)))


def interactions(pairs: np.ndarray, effects: MainEffects) -> np.ndarray:
    """The products z of pairs of columns without what main effects explain.

    Of both columns, and of all where these are projected out of the target.
    """
    bases = effects.bases
    first, second = pairs.T
    z = bases.linear[first] * bases.linear[second]
    left = np.empty_like(z)
    for position, (i, j) in enumerate(pairs):
        nuisance = np.concatenate([np.ones((1, z.shape[1])), bases.of_columns((i, j))]).T
        explained = nuisance @ np.linalg.lstsq(nuisance, z[position], rcond=1e-10)[0]
        left[position] = z[position] - explained
    return effects.project(left) if effects.n_removed else left


def scores(left: np.ndarray, directions: np.ndarray, least: np.ndarray) -> np.ndarray:
    """Scores of pairs (``interactions``) with several targets.

    Parameters
    ----------
    left : ndarray of shape (n_pairs, n_samples)
    directions : ndarray of shape (n_directions, n_targets, n_samples)
    least : ndarray of shape (n_directions, n_pairs)
        Least variance of a covariance.

    Returns
    -------
    ndarray of shape (n_pairs, n_targets)
    """
    m = left.shape[1]
    squares = left**2
    plain = squares.mean(axis=1)[:, np.newaxis]
    total = np.zeros((len(left), directions.shape[1]))
    for t, variance in zip(directions, least, strict=True):
        covariance = left @ t.T / m
        robust = np.maximum(squares @ (t**2).T / m, variance[:, np.newaxis])
        total += covariance**2 / np.maximum(robust, plain * np.mean(t**2, axis=1))
    return total
