"""Artificial problems with known answers: which columns matter, and which only together."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

Seed = int | np.random.Generator | None


@dataclass(frozen=True, eq=False, repr=False)
class Problem:
    """An artificial problem; ``X, y = problem`` takes the data alone.

    Attributes
    ----------
    X : ndarray of shape (n_samples, n_features)
    y : ndarray of shape (n_samples,)
        Integers for classes, floats for numbers.
    relevant : tuple of int
        Positions of the columns that y depends on, in increasing order.
    interactions : tuple of pairs of int
        Positions of columns that matter together but not alone, the smaller first.
    name : str
    """

    X: np.ndarray
    y: np.ndarray
    relevant: tuple[int, ...]
    interactions: tuple[tuple[int, int], ...]
    name: str

    def __iter__(self) -> Iterator[np.ndarray]:
        return iter((self.X, self.y))

    def __repr__(self) -> str:
        rows, columns = self.X.shape
        return (
            f"Problem({self.name}: {rows} rows, {columns} features, {len(self.relevant)} relevant)"
        )


def make_xor(
    n_samples: int, n_features: int = 22, random_state: Seed = None, *, spread: float = 0.3
) -> Problem:
    """Two classes: the exclusive or of two columns, the first problem of the BAHSIC paper.

    The first two columns are around (1, 1) and (-1, -1) in one class and around (1, -1) and (-1, 1)
    in the other, so neither says anything alone. The others are Gaussian noise.

    Parameters
    ----------
    n_samples : int
    n_features : int, default=22
    random_state : int, Generator or None, default=None
    spread : float, default=0.3
        Standard deviation around the four centres.

    Returns
    -------
    Problem

    References
    ----------
    Song, Smola, Gretton, Bedo and Borgwardt (2012), Feature selection via dependence maximization,
    JMLR 13, section 7.1. The paper shows a picture and no numbers: the centres are ours.

    Examples
    --------
    >>> from depmax.datasets import make_xor
    >>> make_xor(100, random_state=0)
    Problem(xor: 100 rows, 22 features, 2 relevant)
    """
    rng, X = _noise(n_samples, n_features, 2, random_state)
    signs = rng.choice([-1.0, 1.0], size=(n_samples, 2))
    X[:, :2] = signs + spread * X[:, :2]
    y = (signs[:, 0] * signs[:, 1] > 0).astype(np.int64)
    return Problem(X, y, (0, 1), ((0, 1),), "xor")


#: Class centres: the first three on a line, the fourth where it almost cancels their correlation
#: with the class number (0.17 and -0.13 are left at the default spread).
COLLINEAR_CENTRES = np.array([[-1.0, -1.0], [0.0, 0.0], [1.0, 1.0], [-0.93, -1.73]])


def make_collinear_classes(
    n_samples: int, n_features: int = 22, random_state: Seed = None, *, spread: float = 0.2
) -> Problem:
    """Four classes of which three are collinear, the second problem of the BAHSIC paper.

    The class depends on both of the first two columns, each of which already separates some of
    the classes. The others are Gaussian noise.

    Parameters
    ----------
    n_samples : int
    n_features : int, default=22
    random_state : int, Generator or None, default=None
    spread : float, default=0.2
        Standard deviation around the centres (``COLLINEAR_CENTRES``), which are our choice: the
        paper (section 7.1) shows a picture without numbers.

    Returns
    -------
    Problem

    Examples
    --------
    >>> from depmax.datasets import make_collinear_classes
    >>> X, y = make_collinear_classes(100, random_state=0)
    >>> sorted(set(y.tolist()))
    [0, 1, 2, 3]
    """
    rng, X = _noise(n_samples, n_features, 2, random_state)
    y = rng.permutation(np.arange(n_samples) % len(COLLINEAR_CENTRES))
    X[:, :2] = COLLINEAR_CENTRES[y] + spread * X[:, :2]
    return Problem(X, y, (0, 1), (), "collinear classes")


def make_nonlinear_regression(
    n_samples: int, n_features: int = 22, random_state: Seed = None, *, noise: float = 0.05
) -> Problem:
    """A number y = x₁ exp(-x₁² - x₂²) + noise, the third problem of the BAHSIC paper.

    x₁ and x₂, the first two columns, are uniform on [-2, 2]; the others are Gaussian noise.

    Parameters
    ----------
    n_samples : int
    n_features : int, default=22
    random_state : int, Generator or None, default=None
    noise : float, default=0.05
        Standard deviation of the noise in y, whose signal lies within ±0.43. The paper (section
        7.1) gives neither this nor the distribution of the two columns: both are our choice.

    Returns
    -------
    Problem

    Examples
    --------
    >>> from depmax.datasets import make_nonlinear_regression
    >>> make_nonlinear_regression(100, random_state=0).relevant
    (0, 1)
    """
    rng, X = _noise(n_samples, n_features, 2, random_state)
    X[:, :2] = rng.uniform(-2.0, 2.0, size=(n_samples, 2))
    first, second = X[:, 0], X[:, 1]
    y = first * np.exp(-(first**2) - second**2) + noise * rng.normal(size=n_samples)
    return Problem(X, y, (0, 1), (), "nonlinear regression")


def make_mixed(n_samples: int, n_features: int, random_state: Seed = None) -> Problem:
    """Two classes with linear, quadratic and exclusive-or effects, and much noise.

    All columns are standard normal and independent. The class is whether

        x_a - x_b + x_c + (x_d² - 1)/√2 - (x_e² - 1)/√2 + 1.5 sign(x_f x_g) + noise

    is positive, with standard normal noise and seven columns at random positions. Of the variance
    of this sum, each main effect is 12 per cent, the exclusive or 27 and the noise 12. The
    correlation of the class with a linear column is 0.28, with the square of a quadratic one 0.23
    (at 500 rows: six and five standard errors). The two columns of the pair are each independent of
    the class; their product has a correlation of 0.30 with it, which must stand out among
    n_features²/2 products.

    Parameters
    ----------
    n_samples : int
    n_features : int
        At least 7.
    random_state : int, Generator or None, default=None

    Returns
    -------
    Problem
        ``relevant`` are the seven columns, ``interactions`` the one pair among them.

    Examples
    --------
    >>> from depmax.datasets import make_mixed
    >>> problem = make_mixed(500, 200, random_state=0)
    >>> len(problem.relevant), len(problem.interactions)
    (7, 1)
    """
    rng, X = _noise(n_samples, n_features, 7, random_state)
    places = rng.choice(n_features, size=7, replace=False)
    a, b, c, d, e, f, g = X[:, places].T
    linear = a - b + c
    quadratic = (d**2 - e**2) / np.sqrt(2.0)
    latent = linear + quadratic + 1.5 * np.sign(f * g) + rng.normal(size=n_samples)
    pair = (int(min(places[5:])), int(max(places[5:])))
    relevant = tuple(sorted(int(place) for place in places))
    return Problem(X, (latent > 0).astype(np.int64), relevant, (pair,), "mixed")


def make_linear_direction(
    n_samples: int, n_features: int = 5, random_state: Seed = None, *, noise: float = 0.1
) -> Problem:
    """A number y = 2x₁ + 3x₃ + noise of standard normal columns, from the ICA-FX paper.

    Parameters
    ----------
    n_samples : int
    n_features : int, default=5
    random_state : int, Generator or None, default=None
    noise : float, default=0.1
        Standard deviation of the noise. The paper (section 4.1.1) says a variance of 0.1, but its
        errors of 0.09 lie below 0.32, the smallest possible with that variance: they fit a standard
        deviation just below 0.1.

    Returns
    -------
    Problem
        The direction is [2, 0, 3, 0, 0].

    Examples
    --------
    >>> from depmax.datasets import make_linear_direction
    >>> make_linear_direction(100, random_state=0).relevant
    (0, 2)
    """
    rng, X = _noise(n_samples, n_features, 3, random_state)
    y = 2.0 * X[:, 0] + 3.0 * X[:, 2] + noise * rng.normal(size=n_samples)
    return Problem(X, y, (0, 2), (), "linear direction")


def make_sine_direction(
    n_samples: int, n_features: int = 5, random_state: Seed = None, *, noise: float = 0.1
) -> Problem:
    """A number y = sin(x₂ + 2x₄) + noise of standard normal columns, from the ICA-FX paper.

    The correlation of y with the direction [0, 1, 0, 2, 0] is only 0.26.

    Parameters
    ----------
    n_samples : int
    n_features : int, default=5
    random_state : int, Generator or None, default=None
    noise : float, default=0.1
        Standard deviation of the noise; see ``make_linear_direction``.

    Returns
    -------
    Problem

    Examples
    --------
    >>> from depmax.datasets import make_sine_direction
    >>> make_sine_direction(100, random_state=0).relevant
    (1, 3)
    """
    rng, X = _noise(n_samples, n_features, 4, random_state)
    y = np.sin(X[:, 1] + 2.0 * X[:, 3]) + noise * rng.normal(size=n_samples)
    return Problem(X, y, (1, 3), (), "sine direction")


def make_rings(
    n_samples: int, n_features: int = 4, random_state: Seed = None, *, spread: float = 0.1
) -> Problem:
    """Two classes on concentric rings in the plane of the first two columns; the others are noise.

    No direction separates the classes: both have mean zero and are round.

    Parameters
    ----------
    n_samples : int
    n_features : int, default=4
    random_state : int, Generator or None, default=None
    spread : float, default=0.1
        Standard deviation of the radius, which is 1 in one class and 2 in the other.

    Returns
    -------
    Problem

    Examples
    --------
    >>> from depmax.datasets import make_rings
    >>> make_rings(100, random_state=0).interactions
    ((0, 1),)
    """
    rng, X = _noise(n_samples, n_features, 2, random_state)
    y = rng.permutation(np.arange(n_samples) % 2)
    radius = 1.0 + y + spread * rng.normal(size=n_samples)
    angle = rng.uniform(0.0, 2.0 * np.pi, size=n_samples)
    X[:, 0], X[:, 1] = radius * np.cos(angle), radius * np.sin(angle)
    return Problem(X, y, (0, 1), ((0, 1),), "rings")


def make_product(
    n_samples: int, n_features: int = 6, random_state: Seed = None, *, noise: float = 0.1
) -> Problem:
    """A number y = x₁x₂ + noise of standard normal columns, uncorrelated with every column.

    Parameters
    ----------
    n_samples : int
    n_features : int, default=6
    random_state : int, Generator or None, default=None
    noise : float, default=0.1
        Standard deviation of the noise.

    Returns
    -------
    Problem

    Examples
    --------
    >>> from depmax.datasets import make_product
    >>> make_product(100, random_state=0).interactions
    ((0, 1),)
    """
    rng, X = _noise(n_samples, n_features, 2, random_state)
    y = X[:, 0] * X[:, 1] + noise * rng.normal(size=n_samples)
    return Problem(X, y, (0, 1), ((0, 1),), "product")


def _noise(
    n_samples: int, n_features: int, n_relevant: int, random_state: Seed
) -> tuple[np.random.Generator, np.ndarray]:
    """Generator, and columns of standard normal noise."""
    if n_samples < 1:
        raise ValueError(f"n_samples must be at least 1, got {n_samples}.")
    if n_features < n_relevant:
        raise ValueError(
            f"n_features must be at least {n_relevant}, the number of relevant columns, got "
            f"{n_features}."
        )
    rng = np.random.default_rng(random_state)
    return rng, rng.normal(size=(n_samples, n_features))
