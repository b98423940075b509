"""The number of components that was asked for, in each of its forms."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from numbers import Integral, Real
from typing import Any, Protocol

import numpy as np

from depmax.extraction.how_many import enough
from depmax.samples import Sample

#: Rounding error of a share.
ROUNDING = 1e-12


@dataclass(frozen=True)
class Possible:
    """What the data allow, and what an extractor knows about the number of components."""

    owner: str  # name of the extractor
    side: Sample
    carriers: Callable[[], int]  # how many may carry dependence
    predicted: Callable[[], int]  # how many predict as well as the best number
    limited: bool = True  # whether there are no more than rows and columns
    beyond_rows: bool = False  # whether there may be more components than rows

    @property
    def most(self) -> int:
        """Largest possible number of components."""
        return most_possible(self.side, beyond_rows=self.beyond_rows)


class Wanted(Protocol):
    """How many components to find, and how many of those found to keep."""

    @property
    def is_exact(self) -> bool:
        """Whether fewer are an error or a warning."""

    def count(self, possible: Possible) -> int:
        """Number of components to find."""

    def kept(self, dependence: np.ndarray) -> int:
        """Number of components to keep, given the dependence that each reaches."""

    def is_reached(self, share: float) -> bool:
        """Whether components that reach this share of all dependence are enough."""


@dataclass(frozen=True)
class Exactly:
    """A number that the user gave."""

    number: int
    is_exact = True

    def count(self, possible: Possible) -> int:
        """The number, if the data have so many."""
        if possible.limited:
            require_possible(
                possible.side, self.number, possible.owner, beyond_rows=possible.beyond_rows
            )
        return self.number

    def kept(self, dependence: np.ndarray) -> int:
        """All of them."""
        return len(dependence)

    def is_reached(self, share: float) -> bool:
        """A share was not asked for."""
        return True


@dataclass(frozen=True)
class AtMost:
    """As many as there are, up to a number."""

    number: int
    is_exact = False

    def count(self, possible: Possible) -> int:
        """The number, or fewer."""
        return min(self.number, possible.most)

    def kept(self, dependence: np.ndarray) -> int:
        """All of them."""
        return len(dependence)

    def is_reached(self, share: float) -> bool:
        """A share was not asked for."""
        return True


@dataclass(frozen=True)
class Share:
    """As many as reach a share of the dependence."""

    share: float
    is_exact = False

    def count(self, possible: Possible) -> int:
        """All that may carry dependence."""
        return max(1, min(possible.carriers(), possible.most))

    def kept(self, dependence: np.ndarray) -> int:
        """The fewest that reach the share."""
        return enough(dependence, self.share)

    def is_reached(self, share: float) -> bool:
        """Whether it is as much as was asked for, up to rounding errors."""
        return share >= self.share - ROUNDING


@dataclass(frozen=True)
class ByPrediction:
    """As many as predict the target about as well as the best number does."""

    is_exact = False

    def count(self, possible: Possible) -> int:
        """What held-out rows say."""
        return min(possible.predicted(), possible.most)

    def kept(self, dependence: np.ndarray) -> int:
        """All of them."""
        return len(dependence)

    def is_reached(self, share: float) -> bool:
        """A share was not asked for."""
        return True


def read_wanted(value: Any, owner: str) -> Wanted:
    """The form of ``n_components``: a whole number, a share, or ``"auto"``.

    Examples
    --------
    >>> read_wanted(0.9, "HBFE")
    Share(share=0.9)
    """
    if isinstance(value, Integral) and not isinstance(value, bool) and int(value) >= 1:
        return Exactly(int(value))
    if isinstance(value, Real) and not isinstance(value, Integral) and 0 < float(value) <= 1:
        return Share(float(value))
    if isinstance(value, str) and value == "auto":
        return ByPrediction()
    raise ValueError(
        f"n_components of {owner} must be an integer >= 1, a share of the dependence (a float up "
        f"to 1.0) or 'auto', got {value!r}."
    )


def most_possible(side: Sample, *, beyond_rows: bool = False) -> int:
    """Largest number of components that rows with a kernel can have."""
    width = side.n_coordinates
    if width is None:
        return side.n_samples
    return width if beyond_rows else min(width, side.n_samples)


def require_possible(side: Sample, count: int, owner: str, *, beyond_rows: bool = False) -> None:
    """Refuse more components than columns, or than rows unless these are no bound."""
    if count > side.n_samples and not (beyond_rows and side.n_coordinates is not None):
        raise ValueError(
            f"n_components={count} of {owner} is more than the number of training rows, "
            f"n_samples = {side.n_samples}."
        )
    width = side.n_coordinates
    if width is not None and count > width:
        raise ValueError(
            f"n_components={count} of {owner} is more than the number of columns, "
            f"n_features = {width}."
        )
