"""``profile``: what is in a table, before there is a target."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import asdict, dataclass, field, replace
from functools import partial
from pathlib import Path
from time import perf_counter
from typing import Any

import narwhals.stable.v2 as nw
import numpy as np

from depmax._extras import make_frame
from depmax._text import counted, html_table, listed, share
from depmax.data.columns import is_frame
from depmax.data.table import library_of, refuse_unreadable, some_rows
from depmax.evaluation.comparison.cautions import (
    COPIED_ROWS,
    MISSING_CODED,
    Caution,
    code_of,
    missing_coded,
)
from depmax.evaluation.comparison.problem import Listener, Progress, read_listener
from depmax.evaluation.profiling.columns import ColumnProfile, ColumnRead, columns_of
from depmax.evaluation.profiling.copies import CopiesFound
from depmax.evaluation.profiling.ties import MOST_COLUMNS, SAME, ColumnGroup, ColumnPair, Ties
from depmax.evaluation.profiling.ties import rows_compared as n_compared

#: Pairs that are kept, those that are drawn, and columns that a sentence lists.
PAIRS, DRAWN, LISTED = 50, 6, 5


@dataclass(frozen=True)
class Profile:
    """What :func:`profile` found.

    Attributes
    ----------
    n_rows : int
    columns : tuple of ColumnProfile
        Kind, gaps, infinite cells, distinct values and a summary of every column.
    copied_rows : ndarray of shape (n_copies, 2)
        Position of each row that repeats an earlier one, and of that one; from 0.
    copied_columns : dict
        The first of the columns that each copy repeats in every row.
    gaps_together : tuple of tuple of str
        Columns that lack values in exactly the same rows.
    groups : tuple of ColumnGroup
        ``first`` predicts at least 80% of the variation of each of the ``others``.
    pairs : tuple of ColumnPair
        The 50 strongest pairs, two groups standing for their first columns.
    n_pairs, n_dependent : int
        Pairs of columns that were compared, and those that depend on each other significantly.
    rows_compared, columns_compared : int
        What they were compared on; of many rows and columns a sample with a fixed seed.
    cautions : tuple of Caution
        DM001 if more rows are copied than chance would have it, DM007 if numbers look like codes
        of missing values.
    """

    n_rows: int
    columns: tuple[ColumnProfile, ...]
    copied_rows: np.ndarray
    copied_columns: dict[str, str]
    gaps_together: tuple[tuple[str, ...], ...]
    groups: tuple[ColumnGroup, ...]
    pairs: tuple[ColumnPair, ...]
    n_pairs: int
    n_dependent: int
    rows_compared: int
    columns_compared: int
    cautions: tuple[Caution, ...] = ()
    _drawn: dict[str, ColumnRead] = field(default_factory=dict, repr=False)
    _library: str | None = field(default=None, repr=False)

    @property
    def findings(self) -> list[str]:
        """What a person should know, in sentences."""
        return [sentence for sentence in self._sentences() if sentence]

    def _sentences(self) -> Iterator[str]:
        """About cells and rows, then about columns; some are empty."""
        n_rows, columns = self.n_rows, self.columns
        kinds = Counter(column.kind for column in columns)
        named = ", ".join(f"{count:,} {kind}" for kind, count in kinds.items())
        yield f"{counted(n_rows, 'row')}, {counted(len(columns), 'column')}: {named}."
        gaps = sorted((c for c in columns if c.missing), key=lambda column: -column.missing)
        if gaps:
            cells = share(sum(column.missing for column in gaps), n_rows * len(columns))
            most = [f"{column.name} {share(column.missing, n_rows)}" for column in gaps]
            where = f"in {counted(len(gaps), 'column')}:"
            yield _about(f"{cells} of the cells have no value, {where}", most)
        for together in self.gaps_together[:2]:
            yield f"Always missing together: {listed(together, LISTED)}."
        yield _about("Infinite numbers in", [column.name for column in columns if column.infinite])
        again = len(self.copied_rows)
        if again:
            aside = " but identifiers" * ("identifier" in kinds)
            beyond = COPIED_ROWS.code in {caution.code for caution in self.cautions}
            why = f" ({COPIED_ROWS.code})" if beyond else "; with few values that is chance"
            yield (
                f"{counted(again, 'row')} ({share(again, n_rows)}) like an earlier one in every "
                f"column{aside}{why}."
            )
        for kind in ("constant", "empty"):
            names = [column.name for column in columns if column.kind == kind]
            yield _about(f"{kind.capitalize()}:", names)
        copies = [f"{name} (of {first})" for name, first in self.copied_columns.items()]
        yield _about(f"{counted(len(copies), 'column')} equal to another:", copies)
        if self.groups:
            predicted, first = sum(len(group.others) for group in self.groups), self.groups[0]
            yield (
                f"{counted(predicted, 'column')} can be predicted from "
                f"{counted(len(self.groups), 'other')}: {first.first} predicts at least "
                f"{SAME:.0%} of {listed(first.others, LISTED)}."
            )
        if self.n_pairs:
            pairs = f"{self.n_dependent:,} of {counted(self.n_pairs, 'pair')} of columns"
            yield f"{pairs} depend{'s' * (self.n_dependent == 1)} on each other beyond chance."

    @property
    def notes(self) -> dict[str, str]:
        """What columns have to do with others: the one that each copies, or that predicts it."""
        found = {name: f"copy of {first}" for name, first in self.copied_columns.items()}
        for group in self.groups:
            for name, part in zip(group.others, group.shares, strict=True):
                found[name] = f"predicted by {group.first} ({part:.2f})"
        return found

    def cells(self) -> dict[str, list[Any]]:
        """The columns of :meth:`to_frame`."""
        keys = ("name", "kind", "missing", "infinite", "distinct", "values")
        found = {key: [getattr(column, key) for column in self.columns] for key in keys}
        notes = self.notes
        return {"column": found.pop("name"), **found,
                "note": [notes.get(column.name, "") for column in self.columns]}  # fmt: skip

    def to_frame(self, library: str | None = None) -> Any:
        """Data frame of all columns, in the library of X (or the one named)."""
        return make_frame(self.cells(), library or self._library)

    def to_dict(self) -> dict[str, Any]:
        """Everything as plain values, for JSON."""
        found = {key: value for key, value in vars(self).items() if key[0] != "_"}
        named = ("columns", "groups", "pairs", "cautions")
        return {
            **found,
            "findings": self.findings,
            "copied_rows": self.copied_rows.tolist(),
            **{key: [asdict(one) for one in found[key]] for key in named},
        }

    def to_html(self, path: str | Path, *, title: str = "", command: str = "") -> Path:
        """Write the report: one self-contained page. Needs the extra ``report``.

        Parameters
        ----------
        path : path of the file
        title : str, optional
        command : str, optional
            What makes the page again.

        Returns
        -------
        Path
        """
        from depmax.evaluation.profiling.page import report_of
        from depmax.report import write_html

        return write_html(report_of(self, title=title, command=command), path)

    def __repr__(self) -> str:
        """The findings and the strongest pairs."""
        best = [f"{p.predictor} predicts {p.share:.0%} of {p.column}" for p in self.pairs[:LISTED]]
        return "\n  ".join(["\n".join(self.findings), *best])

    def _repr_html_(self) -> str:
        """The findings and all columns, for notebooks."""
        cells = self.cells()
        rows = [list(map(str, row)) for row in zip(*cells.values(), strict=True)]
        return html_table(list(cells), rows[:100], " ".join(self.findings))


def _about(what: str, names: list[str]) -> str:
    return f"{what} {listed(names, LISTED)}." if names else ""


def profile(X: Any, *, progress: bool | Listener = False) -> Profile:
    """What is in a table: kinds, gaps, copies, columns that say the same, the strongest pairs.

    There is no target: pass the whole table, the columns to predict among the others. Nothing is
    changed, and nothing is refused for being untidy.

    Parameters
    ----------
    X : array-like or data frame of shape (n_samples, n_features)
        Columns of any types. Dates count by their order; identifiers and free text are described,
        but not compared with other columns.
    progress : bool or callable, default=False
        True prints it; a function is called with each :class:`depmax.evaluation.Progress`.

    Returns
    -------
    Profile
        ``findings``, ``columns``, ``copied_rows``, ``copied_columns``, ``groups``, ``pairs``,
        ``to_frame()``, ``to_dict()``, ``to_html(path)``.

    Notes
    -----
    *Share.* How much of the variation of a column another one predicts, from 0 to 1 and less what
    chance alone gives: of numbers and dates the variance of the ranks, by a polynomial of at most
    degree six of the other's ranks (so every increasing function predicts all of it, and x
    predicts x²); of categories the variance of the indicators of levels, Goodman and Kruskal's
    tau. It is comparable between columns of any types, and has a direction: x² does not predict
    the sign of x. It says nothing of relations that leave the mean as it is, such as points on a
    circle: :func:`depmax.hsic_test` finds these. Cells without a value count as not predicted.

    *Significance.* A share counts only if its p-value, times all pairs in both directions, is at
    most 0.05: of Pillai's trace (an F-test where one of the two is numbers) where ten rows for each
    term are expected to differ from the most frequent value in both columns, of the linear term
    alone where ten are, and of the number of such rows, by a bound, where values are rarer.

    *Groups.* The column that predicts at least 80% of most others takes them, then the next: a
    group can be dropped but for its first column. 0.8 is a correlation of ranks of 0.9.

    *Limits.* Copies are looked for in all rows and columns. Shares are those of at most 2,000
    rows, drawn with a fixed seed (463 of a table of 12,000 columns), and of at most 12,000 columns,
    evenly spaced. Fewer than ten rows are not compared, of categories 30. Where rows are copied by
    more than chance, their copies are not compared again.

    Examples
    --------
    >>> import numpy as np
    >>> import pandas as pd
    >>> from depmax.evaluation import profile
    >>> table = pd.DataFrame({"x": np.arange(80) / 9 - 4, "size": ["S", "L", "M", "S"] * 20})
    >>> table["squared"] = table["x"] ** 2
    >>> table["code"] = table["size"].map({"S": 1, "M": 2, "L": 3})
    >>> for group in profile(table).groups:
    ...     print(group.first, group.others)
    size ('code',)
    x ('squared',)
    """
    refuse_unreadable(X, "X", "profile")
    frame = nw.from_native(X, eager_only=True) if is_frame(X) else X
    n_rows, n_columns = (*np.shape(frame), 1)[:2]
    sample = some_rows(n_rows, n_compared(n_rows, n_columns))
    copies, listener, began = CopiesFound(n_rows), read_listener(progress), perf_counter()

    def tell(step: str, done: int, total: int) -> None:
        listener(Progress(done, total, perf_counter() - began, "", step))

    read: list[ColumnRead] = []
    codes: dict[str, tuple[float, int]] = {}
    about: list[ColumnProfile] = []
    for done, column in enumerate(columns_of(X), 1):
        copies.add(column)
        about.append(column.about)
        if column.about.kind == "number":
            codes[column.about.name] = code_of(column.cells)
        if column.is_compared and column.about.name not in copies.columns:
            read.append(replace(column, cells=column.cells[sample]))
        if done % max(1, n_columns // 50) == 0:
            tell("reading columns", done, n_columns)
    again, beyond = copies.rows()
    if beyond:
        first = ~np.isin(sample, again[:, 0])
        read = [replace(column, cells=column.cells[first]) for column in read]
        sample = sample[first]
    if len(read) > MOST_COLUMNS:
        places = np.linspace(0, len(read) - 1, MOST_COLUMNS).astype(int)
        read = [read[place] for place in places]
    ties = Ties.of(read, partial(tell, "comparing columns"))
    pairs = ties.pairs(PAIRS)
    shown = {name for pair in pairs[:DRAWN] for name in (pair.predictor, pair.column)}
    text = f"{counted(len(again), 'row')} of {n_rows:,} repeat others exactly. {COPIED_ROWS.about}"
    cautions = [replace(COPIED_ROWS, text=text)] if beyond else []
    if coded := missing_coded(codes):
        cautions.append(replace(MISSING_CODED, text=coded))
    return Profile(
        n_rows=n_rows,
        columns=tuple(about),
        copied_rows=again,
        copied_columns=copies.columns,
        gaps_together=tuple(tuple(names) for names in copies.gaps.values() if len(names) > 1),
        groups=ties.groups(),
        pairs=pairs,
        n_pairs=ties.n_pairs,
        n_dependent=ties.n_dependent,
        rows_compared=len(sample),
        columns_compared=len(ties.names),
        cautions=tuple(cautions),
        _drawn={c.about.name: c for c in read if c.about.name in shown and c.about.kind != "date"},
        _library=library_of(X),
    )
