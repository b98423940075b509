"""Survival times, as a structured array or as a frame with the columns event and time."""

from __future__ import annotations

from typing import Any

import narwhals.stable.v2 as nw
import numpy as np

from depmax._text import listed
from depmax.data.columns import in_narwhals

#: Columns of a frame that is read as survival times, in any order.
EVENT, TIME = "event", "time"
#: What a field of a structured array is, by its type.
_FIELDS = {"b": EVENT, "f": TIME, "i": TIME, "u": TIME}


def survival_rows(y: Any) -> np.ndarray | None:
    """Rows (event, time) of a target that holds survival times, checked; None for any other.

    That is a structured array of two fields, one of booleans and one of numbers, whatever their
    names (as scikit-survival makes them), or a data frame of the columns ``event`` and ``time``.
    """
    if isinstance(y, np.ndarray):
        places = {_FIELDS.get(y.dtype[name].kind, ""): name for name in y.dtype.names or ()}
        if y.ndim != 1 or len(y.dtype.names or ()) != 2 or sorted(places) != [EVENT, TIME]:
            return None
        names = [f"{places[role]!r} of y" for role in (EVENT, TIME)]
        return checked_times(y[places[EVENT]], y[places[TIME]], *names)
    frame = in_narwhals(y, eager_only=True, allow_series=True)
    if not isinstance(frame, nw.DataFrame) or not are_survival_times(frame):
        return None
    return checked_times(
        _numbers(frame[EVENT]), _numbers(frame[TIME]), "'event' of y", "'time' of y"
    )


def are_survival_times(frame: Any) -> bool:
    """Whether the columns of a frame are those of survival times."""
    return sorted(frame.columns) == [EVENT, TIME]


def checked_times(events: Any, times: Any, event_name: str, time_name: str) -> np.ndarray:
    """Rows (event, time) of numbers, after a look at them; messages call the columns by name."""
    rows = np.column_stack([events, times]).astype(np.float64)
    if not len(rows):
        raise ValueError("y is empty: found 0 sample(s), at least 1 is needed.")
    for name, column in ((event_name, rows[:, 0]), (time_name, rows[:, 1])):
        if missing := int(np.isnan(column).sum()):
            raise ValueError(
                f"{name} is missing in {missing} of {len(rows)} rows: drop these rows. A "
                "row that was followed for an unknown time tells nothing."
            )
    if not np.isin(rows[:, 0], (0.0, 1.0)).all():
        values = [f"{value:g}" for value in np.unique(rows[:, 0])]
        raise ValueError(
            f"{event_name} must be True (1) where the event was seen and False (0) where "
            f"the time is censored, but holds {listed(values, 4)}: compare it with the value that "
            f"says that it was seen, such as event == {values[-1]}."
        )
    for wrong, found in (("infinite", np.isinf(rows[:, 1])), ("negative", rows[:, 1] < 0.0)):
        if found.any():
            raise ValueError(
                f"{time_name} has {wrong} times ({found.sum()} of {len(rows)} rows): times of "
                "events and of censoring are finite numbers from 0 on, counted from the start of "
                "each row's observation."
            )
    return rows


def require_events(rows: np.ndarray) -> None:
    """Refuse times of which every one is censored."""
    if not rows[:, 0].any():
        raise ValueError(
            f"y has no event: all {len(rows)} times are censored, so nothing is known to happen "
            "earlier in one row than in another. Is the event coded the other way round?"
        )


def _numbers(column: Any) -> np.ndarray:
    if not (column.dtype.is_numeric() or column.dtype == nw.Boolean):
        means = "1 where the event was seen and 0 where not" if column.name == EVENT else "numbers"
        raise TypeError(
            f"y has the columns 'event' and 'time', which are survival times, but {column.name!r} "
            f"holds {column.dtype} values: make it {means}."
        )
    return column.cast(nw.Float64).to_numpy()
