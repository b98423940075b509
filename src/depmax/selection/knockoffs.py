"""Columns that beat their knockoffs: selection with a bound on false discoveries."""

from __future__ import annotations

import warnings
from dataclasses import KW_ONLY, dataclass
from typing import Any, ClassVar, Literal

import numpy as np
import sklearn
from scipy import linalg, special, stats
from sklearn.base import clone
from sklearn.covariance import ledoit_wolf
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import LassoCV, MultiTaskLassoCV
from sklearn.utils import check_random_state
from sklearn.utils.fixes import parse_version

from depmax._parameters import FLAG, number
from depmax._resources import warn_if_long
from depmax._warnings import warn_caller
from depmax.data import Target, read_target
from depmax.data.columns import Categories
from depmax.data.sample import require_samples
from depmax.data.table import constant_columns, require_equal_length
from depmax.selection._scores import target_images
from depmax.selection.selector import DependenceSelector, Ranking, best_first

#: Folds and penalties that the default estimator chooses by.
FOLDS, PENALTIES = 5, 30
#: Rounds over the columns in which the distances s to the knockoffs are improved,
SWEEPS = 30
#: or until none changes by more than this part of the largest.
SETTLED = 1e-4
#: Standard errors of what sizes of columns have in common, above which rows differ in scale.
COMMON_SCALE = 3.0
#: Columns with fewer distinct values have no sizes to speak of.
FEWEST_VALUES = 5
#: Seconds for the cube of a column, in ten rounds; what to do where that is much.
SECONDS_PER_CUBE = 1.3e-8
SCREEN_FIRST = "Leave out columns that you know do not matter, or screen them on other rows first."
#: Columns per row from which on changes of s are made among rows, unless 2 - s/e is below this.
FEW_ROWS, ILL_CONDITIONED = 3, 1e-3
#: Room that s leaves to the covariance of columns and knockoffs together.
MARGIN = 1e-6


@dataclass(eq=False, repr=False)
class Knockoffs(DependenceSelector):
    """Keep columns that matter given all others, with at most a share ``fdr`` of false discoveries.

    Screening finds every column that depends on the target, including those that only resemble one
    that matters. Here each column competes with a knockoff: a copy made without looking at the
    target, which resembles all other columns just as the column itself does. A column that adds
    nothing to the others scores like its knockoff, higher or lower by chance; so the number of
    columns that lose estimates the number of false discoveries among those that win.

    Parameters
    ----------
    n_features_to_select : int, float, "auto" or None, default="auto"
        ``"auto"`` keeps as many as ``fdr`` allows, perhaps none; a number or share keeps the best
        ones, without a guarantee; None is half.
    fdr : float, default=0.1
        Expected share of false discoveries among the columns kept by ``"auto"``. With fewer than
        1/fdr columns to discover (10 at 0.1, 5 at 0.2), nothing can be kept. How many rows that
        takes at least is said before anything is computed, if X has fewer.
    estimator : selector or model, optional
        What scores columns and knockoffs, fitted on them side by side: its ``scores_``, else the
        absolute ``coef_``, else ``feature_importances_``. By default a lasso on Hermite polynomials
        (line, parabola, cubic) of each, with its penalty chosen by cross-validation: it finds
        effects of single columns given all others. For joint effects, pass a forest or another
        model; :class:`DependenceFilter` and :class:`HSICLasso` find less if columns are correlated.
    normal_scores : bool, default=True
        Whether to replace the values of each column by normal scores of their ranks first: the
        model is then a Gaussian copula, and skewed or heavy-tailed columns are harmless.
    random_state : int, RandomState or None, default=0
        Seed of the knockoffs. Another draw may keep other columns; the guarantee holds for each.

    Attributes
    ----------
    scores_ : ndarray of shape (n_features,)
        Score of the column minus that of its knockoff.
    threshold_ : float
        Score from which ``"auto"`` keeps a column; infinite if it keeps none.
    s_ : ndarray of shape (n_features,)
        1 minus the correlation of each column with its knockoff: if it is near 0, the two can
        hardly be told apart, and the column is rarely found.
    scale_excess_ : float
        How much the sizes of columns have in common beyond what their correlations explain, in
        standard errors: above 3, rows differ in scale, the columns are not jointly Gaussian, and a
        warning says that ``fdr`` may be exceeded.
    ranking_, support_, substitutes_, n_features_
        As in every selector; if the guarantee allows no column to be kept, ``support_`` is empty,
        with a :class:`NoDependenceWarning`.

    Notes
    -----
    Columns are modelled as jointly Gaussian with a shrunken correlation matrix (Ledoit and Wolf),
    also if there are more columns than rows; s maximises the entropy of columns and knockoffs
    together. The guarantee holds for columns with that distribution, and in experiments also for
    others (docs/mathematics/knockoffs.md), but not if whole rows are larger than others (rows of
    different scale or noise, a multivariate t distribution): then 0.2 to 0.5 of the columns kept
    at 0.1 were false. This is checked, with a warning, but fewer than a hundred rows rarely show
    it. Dividing every row by its norm is a remedy if its size means nothing. Rows are assumed
    independent: for repeated measurements use :class:`DependenceFilter`, whose ``fit`` takes
    ``groups``. Categorical columns have no such distribution and are refused.

    References
    ----------
    Candès, E., Fan, Y., Janson, L. and Lv, J. (2018). Panning for gold: model-X knockoffs for high
    dimensional controlled variable selection.
    Wainwright, M. J. (2009). Sharp thresholds for high-dimensional and noisy sparsity recovery
    using l1-constrained quadratic programming.
    Spector, A. and Janson, L. (2022). Powerful knockoffs via minimizing reconstructability.

    Examples
    --------
    >>> import numpy as np
    >>> from depmax import Knockoffs
    >>> X = np.random.default_rng(0).normal(size=(400, 20))
    >>> y = X[:, :6].sum(axis=1) + X[:, 6] ** 2
    >>> Knockoffs(fdr=0.2).fit(X, y).get_support(indices=True)
    array([0, 1, 2, 3, 4, 5, 6])
    """

    n_features_to_select: int | float | Literal["auto"] | None = "auto"
    _: KW_ONLY
    fdr: float = 0.1
    estimator: Any = None
    normal_scores: bool = True
    random_state: Any = 0

    path_quantity = "score minus that of the knockoff"
    _decides_how_many = True
    _declared: ClassVar = {"fdr": number(0, 1, ends="()"), "normal_scores": FLAG}

    def _compared_by(self) -> None:
        """Columns are put on one scale first."""

    def _rank(self, X: Any, y: Any, categories: Categories) -> Ranking:
        self._refuse_categories("models columns as jointly Gaussian")
        require_samples(len(X), unbiased=True)
        target = read_target(y)
        require_equal_length(len(X), target.n_samples)
        rng = np.random.default_rng(
            check_random_state(self.random_state).randint(np.iinfo(np.int32).max)
        )
        constant = constant_columns(X)
        varying = np.flatnonzero(~constant)
        self.s_, self.scale_excess_ = np.zeros(X.shape[1]), 0.0
        scores = np.zeros(X.shape[1])
        decides = self.n_features_to_select == "auto"
        if decides and self.estimator is None:
            _warn_of_few_rows(target, len(varying), self.fdr)
        if len(varying):
            columns = _standardised(X[:, varying], self.normal_scores)
            self.scale_excess_ = scale_excess(X[:, varying])
            if self.scale_excess_ > COMMON_SCALE and decides:
                warn_caller(_why_not_gaussian(self.scale_excess_, self.fdr), UserWarning)
            knockoffs, self.s_[varying] = gaussian_knockoffs(columns, rng)
            scores[varying] = self._contest(columns, knockoffs, y, rng)
        self.threshold_ = knockoff_threshold(scores, self.fdr)
        order = best_first(scores, constant)
        n_significant = int(np.sum(scores >= self.threshold_))
        why_none = _why_none(scores, self.fdr)
        return Ranking(order, scores, n_significant=n_significant, why_none=why_none)

    def _contest(
        self, columns: np.ndarray, knockoffs: np.ndarray, y: Any, rng: np.random.Generator
    ) -> np.ndarray:
        """Score of each column minus that of its knockoff.

        Which of the two comes first is left to chance, so that no rule for ties favours columns.
        """
        d = columns.shape[1]
        swapped = rng.integers(0, 2, d).astype(bool)
        both = np.hstack(
            [np.where(swapped, knockoffs, columns), np.where(swapped, columns, knockoffs)]
        )
        if self.estimator is None:
            importance = polynomial_lasso(both, target_images(read_target(y)))
        else:
            importance = importances(clone(self.estimator).fit(both, y), 2 * d)
        return np.where(swapped, -1.0, 1.0) * (importance[:d] - importance[d:])


def polynomial_lasso(columns: np.ndarray, images: np.ndarray) -> np.ndarray:
    """Norm of each column's coefficients in a lasso on its first three Hermite polynomials."""
    terms = np.hstack([columns, columns**2 - 1.0, columns**3 - 3.0 * columns])
    terms = terms - terms.mean(axis=0)
    size = terms.std(axis=0)
    terms /= np.where(size > 0.0, size, 1.0)  # the square of a column of two values is constant
    folds = min(FOLDS, len(columns))
    # scikit-learn renamed the number of penalties in 1.7
    named = "alphas" if parse_version(sklearn.__version__) >= parse_version("1.7") else "n_alphas"
    grid: dict[str, Any] = {named: PENALTIES}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)  # a score need not be exact
        if images.shape[1] == 1:
            model = LassoCV(cv=folds, random_state=0, **grid).fit(terms, images[:, 0])
        else:
            model = MultiTaskLassoCV(cv=folds, random_state=0, **grid).fit(terms, images)
    squares = np.sum(np.atleast_2d(model.coef_) ** 2, axis=0)
    return np.sqrt(squares.reshape(3, -1).sum(axis=0))


def importances(fitted: Any, n_columns: int) -> np.ndarray:
    """One number per column of a fitted selector or model, larger for a column that matters."""
    for name in ("scores_", "coef_", "feature_importances_"):
        values = getattr(fitted, name, None)
        if values is not None:
            break
    else:
        raise TypeError(
            f"{type(fitted).__name__} has no scores_, coef_ or feature_importances_ after fit, by "
            "which columns and knockoffs could be compared."
        )
    values = np.asarray(values, dtype=np.float64)
    if name == "coef_":
        values = np.abs(np.atleast_2d(values)).sum(axis=0)
    if values.shape != (n_columns,):
        raise ValueError(
            f"{name} of {type(fitted).__name__} has shape {values.shape}, but there are "
            f"{n_columns} columns and knockoffs."
        )
    return values


# --- knockoffs ------------------------------------------------------------------------------------
def gaussian_knockoffs(
    columns: np.ndarray, rng: np.random.Generator
) -> tuple[np.ndarray, np.ndarray]:
    """Knockoffs of standardised columns by the conditional Gaussian law, and s.

    With correlation matrix Σ and S = diag(s) they are X - XΣ⁻¹S + N with noise of covariance
    2S - SΣ⁻¹S, so that columns and knockoffs have covariances Σ, Σ and Σ - S between them.
    """
    sigma, shrinkage = ledoit_wolf(columns, assume_centered=True)
    scale = np.sqrt(np.diag(sigma))
    # Σ is a diagonal matrix and the scatter of the rows
    sigma = sigma / np.outer(scale, scale)
    spread = columns * (np.sqrt((1.0 - shrinkage) / len(columns)) / scale)
    s = entropy_distances(sigma, spread)
    projected = linalg.solve(sigma, np.diag(s), assume_a="pos")  # Σ⁻¹S
    noise = 2.0 * np.diag(s) - s[:, np.newaxis] * projected
    values, vectors = linalg.eigh(0.5 * (noise + noise.T))
    root = vectors * np.sqrt(np.maximum(values, 0.0))
    drawn = rng.standard_normal(columns.shape) @ root.T
    return columns - columns @ projected + drawn, s


def scale_excess(X: np.ndarray) -> float:
    """What squares of normal scores have in common beyond a Gaussian law, in standard errors.

    For a Gaussian law cov(x_j², x_k²) = 2ρ_jk². If every row has a scale of its own, all of these
    are larger, and so is the variance of Σ_j x_j² beyond that of the single squares. Its estimate
    from n rows has the variance (2 + 12 tr R⁴/(tr R²)²)/n times the square of 2 tr R².

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(300, 20))
    >>> scale_excess(X) < 3 < scale_excess(X * np.exp(0.4 * rng.normal(size=(300, 1))))
    True
    """
    has_sizes = [len(np.unique(column)) >= FEWEST_VALUES for column in X.T]
    columns = _standardised(X[:, has_sizes], normal_scores=True)
    n, d = columns.shape
    if d < 2:
        return 0.0
    gram = columns @ columns.T if d > n else columns.T @ columns
    values = np.maximum(linalg.eigvalsh(gram), 0.0) / n  # of R
    second, fourth = float(np.sum(values**2)), float(np.sum(values**4))
    # Σ_{j≠k} ρ_jk², without what chance adds to a squared correlation
    shared = max((n * (second - d) - d * (d - 1)) / (n - 1), 0.0)
    squares = columns**2
    found = float(squares.sum(axis=1).var() - squares.var(axis=0).sum())
    error = 2.0 * (d + shared) * np.sqrt((2.0 + 12.0 * fourth / second**2) / n)
    return float((found - 2.0 * shared) / error)


def entropy_distances(sigma: np.ndarray, spread: np.ndarray | None = None) -> np.ndarray:
    """S with the largest Σ log s_j + log det(2Σ - diag(s)), one coordinate at a time.

    The determinant is linear in each s_j: with P the inverse of 2Σ - diag(s) the best value is
    half of s_j + 1/P_jj.

    Parameters
    ----------
    sigma : ndarray of shape (d, d)
    spread : ndarray of shape (m, d), optional
        V with Σ - VᵀV diagonal. With few rows it makes a change cost m² instead of d².
    """
    smallest = float(linalg.eigvalsh(sigma, subset_by_index=[0, 0])[0])
    s = np.full(len(sigma), min(1.0, max(smallest, MARGIN)))
    if spread is not None and len(s) > FEW_ROWS * len(spread):
        found = _entropy_distances_of_few_rows(sigma, spread, s)
        if found is not None:
            return (1.0 - MARGIN) * found
    warn_if_long(f"Knockoffs of {len(s):,} columns", SECONDS_PER_CUBE * len(s) ** 3, SCREEN_FIRST)
    inverse = linalg.inv(2.0 * sigma - np.diag(s))
    for _ in range(SWEEPS):
        largest_change = 0.0
        for j in range(len(s)):
            change = 0.5 * (1.0 / inverse[j, j] - s[j])
            s[j] += change
            row = inverse[j]
            inverse += np.outer(row, row) * (change / (1.0 - change * inverse[j, j]))
            largest_change = max(largest_change, abs(change))
        if largest_change <= SETTLED * s.max():
            break
    return (1.0 - MARGIN) * s


def _entropy_distances_of_few_rows(
    sigma: np.ndarray, spread: np.ndarray, s: np.ndarray
) -> np.ndarray | None:
    """The same with Σ = diag(e) + VᵀV; None where a row decides a column, which is ill-conditioned.

    With a = 2e - s and M the inverse of I/2 + Σ_i v_i v_iᵀ/a_i over i ≠ j, 1/P_jj = a_j + v_jᵀMv_j.
    """
    own = np.diag(sigma) - np.einsum("ij,ij->j", spread, spread)
    s, a = s.copy(), 2.0 * own - s
    if (a < ILL_CONDITIONED * own).any():
        return None
    columns = np.ascontiguousarray(spread.T)
    for _ in range(SWEEPS):
        largest_change = 0.0
        inverse = linalg.inv(0.5 * np.eye(len(spread)) + (spread / a) @ columns)
        for j, v in enumerate(columns):
            image = inverse @ v
            q = float(v @ image)
            without = q * a[j] / (a[j] - q)  # of the inverse without j
            change = own[j] + 0.5 * without - s[j]
            weight = 1.0 / (a[j] - change) - 1.0 / a[j]
            s[j] += change
            a[j] -= change
            if a[j] < ILL_CONDITIONED * own[j]:
                return None
            inverse -= np.outer(image, image) * (weight / (1.0 + weight * q))
            largest_change = max(largest_change, abs(change))
        if largest_change <= SETTLED * s.max():
            break
    return s


def knockoff_threshold(scores: np.ndarray, fdr: float) -> float:
    """Least t > 0 with (1 + number of scores ≤ -t) / (number of scores ≥ t) ≤ fdr, or infinity.

    Examples
    --------
    >>> knockoff_threshold(np.array([5.0, 4.0, 3.0, 2.0, -1.0]), 0.25)
    2.0
    >>> knockoff_threshold(np.array([5.0, 4.0, 3.0, 2.0, -1.0]), 0.2)
    inf
    """
    for t in np.unique(np.abs(scores[scores != 0.0])):
        if 1 + np.sum(scores <= -t) <= fdr * np.sum(scores >= t):
            return float(t)
    return float("inf")


def _standardised(X: np.ndarray, normal_scores: bool) -> np.ndarray:
    """Columns with mean 0 and variance 1, by their values or by their ranks."""
    X = np.asarray(X, dtype=np.float64)
    if normal_scores:
        ranks = stats.rankdata(X, axis=0)
        X = special.ndtri(ranks / (len(X) + 1.0))
    X = X - X.mean(axis=0)
    return X / X.std(axis=0)


def _why_not_gaussian(excess: float, fdr: float) -> str:
    return (
        "Columns of X are not jointly Gaussian, even after rank transforms: where one is large, "
        f"others are, too ({excess:.0f} standard errors more than correlations explain). Knockoffs "
        f"then differ from columns, and more than fdr={fdr:g} of the kept columns may be "
        "false. If the size of a row means nothing, divide each row by its norm; or use "
        "DependenceFilter, whose p-values need no model of X."
    )


def _fewest(fdr: float) -> int:
    """How many columns must be found at once for any to be kept."""
    return int(np.ceil(1.0 / fdr - 1e-9))


def _warn_of_few_rows(target: Target, n_columns: int, fdr: float) -> None:
    """Say what can be found at all, before anything is computed.

    A lasso tells k of d columns from the rest only from some multiple of k log(d) rows on, however
    strong their effects (Wainwright 2009); columns and knockoffs are 2d. In simulations with k
    effects and hardly any noise, 0.8 k log(2d) rows showed some in a sixth of the tables at most
    and 2 k log(2d) in all, but with two classes in a sixth (docs/mathematics/knockoffs.md).
    """
    fewest = _fewest(fdr)
    per_column = 2.0 if target.kind == "classes" else 1.0
    needed = int(np.ceil(per_column * fewest * np.log(max(2.0 * n_columns, 2.0))))
    if n_columns < fewest or target.n_samples >= needed:
        return
    warn_caller(
        f"Expect no column from Knockoffs: fdr={fdr:g} takes {fewest} discoveries at once, and to "
        f"tell {fewest} of {n_columns:,} columns from the rest takes more than {needed:,} rows, "
        f"even without noise; X has {target.n_samples:,}. Raise fdr, choose among the columns by "
        "other rows first, or use DependenceFilter('auto'), which tests each column alone.",
        UserWarning,
    )


def _why_none(scores: np.ndarray, fdr: float) -> str:
    fewest = _fewest(fdr)
    winning = int(np.sum(scores > 0.0))
    if len(scores) < fewest:
        return (
            f"Knockoffs kept no column: at fdr={fdr:g} at least {fewest} must be discovered at "
            f"once, and X has {len(scores)}. Raise fdr, or ask for a number of columns, which "
            "comes without a guarantee."
        )
    return (
        f"Knockoffs kept no column: no set of at least {fewest} columns, as fdr={fdr:g} needs, "
        f"beats its knockoffs clearly enough ({winning} of {len(scores)} beat theirs). Raise fdr, "
        "add rows, or ask for a number of columns, which comes without a guarantee."
    )
