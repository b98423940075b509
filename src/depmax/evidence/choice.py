"""The rule that chooses one of several candidates: the cheapest that loses next to nothing."""

from __future__ import annotations

import numpy as np

#: Share of the gain over guessing that fewer columns may cost before a person would care.
MARGIN = 0.02


def choose(
    scores: np.ndarray, costs: np.ndarray, guess: np.ndarray | float, *, margin: float = MARGIN
) -> np.ndarray:
    """The cheapest candidate whose score is within a margin of the best.

    Parameters
    ----------
    scores : array of shape (..., n_candidates)
        Larger is better; NaN for candidates that have none.
    costs : array of shape (n_candidates,)
        Such as the number of columns. Of equal costs, the higher score wins.
    guess : float or array of shape (...)
        Score of the best constant prediction: the margin is a share of the gain over it.
    margin : float, default=0.02
        Share of the gain of the best candidate that may be lost.

    Returns
    -------
    ndarray of int of shape (...)
        Place of the chosen candidate. It is never both worse and dearer than another.

    Examples
    --------
    >>> import numpy as np
    >>> scores = np.array([0.80, 0.895, 0.90])  # with 2, 5 and 30 columns
    >>> choose(scores, np.array([2, 5, 30]), guess=0.5)
    array(1)
    """
    known = np.where(np.isnan(scores), -np.inf, scores)
    best = known.max(axis=-1, keepdims=True)
    allowed = margin * np.maximum(best - np.expand_dims(np.asarray(guess), -1), 0.0)
    near = known >= best - allowed
    least = np.where(near, costs, np.inf).min(axis=-1, keepdims=True)
    return np.asarray(np.where(near & (costs == least), known, -np.inf).argmax(axis=-1))
