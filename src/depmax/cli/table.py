"""A table and its target, prepared for a method, with everything worth mentioning."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
import polars as pl

from depmax._text import counted, listed
from depmax.cli.errors import DataError, UserError, nearest
from depmax.cli.output import Output
from depmax.cli.reading.source import Source, kind_of
from depmax.data import Target, Task, read_target, role_of_text
from depmax.data.columns import counts_rows
from depmax.data.survival import EVENT, TIME, checked_times, require_events
from depmax.data.weights import read_weights

if TYPE_CHECKING:
    from depmax.evaluation import Expand

ColumnType = Literal["number", "category", "boolean", "date", "text"]  # text: sentences
TYPES: dict[str, ColumnType] = {
    "number": "number",
    "text": "category",
    "boolean": "boolean",
    "date": "date",
}

#: Fewer rows show nothing (the unbiased measures need four); classes that may be grades or counts.
FEWEST_ROWS, FEWEST_GRADES = 4, 4


@dataclass(frozen=True)
class Request:
    """Which columns are the target, which are ignored, and how gaps are filled."""

    targets: tuple[str, ...]
    drop: tuple[str, ...] = ()
    keep: tuple[str, ...] = ()
    impute: str | None = None
    task: Task = "auto"
    groups: str | None = None  # column that says which rows are not independent
    weight: str | None = None  # column that says how many rows each stands for
    #: Column that says whether the target, a time, is not censored; or it, "=" and what says so.
    event: str | None = None
    #: Whether random rows may stand for a large table.
    draws_rows: bool = False
    seed: int = 0
    #: Whether missing values of X are used as they are.
    uses_missing: bool = False
    #: Features that are confounders.
    given: tuple[str, ...] = ()
    #: Whether dates and sentences become numbers.
    expand: bool = True

    @property
    def named(self) -> list[tuple[str, str]]:
        """Columns that have a role beside the target, each with its option."""
        return [*self.beside, *(("--given", name) for name in self.given)]

    @property
    def beside(self) -> list[tuple[str, str]]:
        """Columns that describe the rows and are not features, each with its option."""
        named = (("--groups", self.groups), ("--weight", self.weight), ("--event", self.event))
        return [(option, name) for option, name in named if name is not None]


@dataclass(frozen=True)
class Table:
    """Features as a frame of numbers, booleans and categories, and the target."""

    X: pl.DataFrame
    #: The features before dates and sentences became numbers.
    raw: pl.DataFrame
    y: Any  # a series, or a frame of several targets
    #: The target as it is in the file.
    answers: pl.DataFrame
    target: Target
    target_names: tuple[str, ...]
    types: dict[str, ColumnType]
    notes: list[str] = field(default_factory=list)
    #: What made numbers of dates and sentences, if there are any.
    expand: Expand | None = None
    #: What fills gaps, as a person asked for or as the method needs; None if they stay.
    fill: str | None = None
    #: How the file was written, for files of the same kind.
    written: dict[str, Any] = field(default_factory=dict)
    #: The group of every row, if rows are not independent.
    groups: np.ndarray | None = None
    #: How many rows each stands for, if not one.
    weights: np.ndarray | None = None

    @property
    def about(self) -> str:
        """Rows, columns and the type of the target in words."""
        size = f"{counted(self.X.height, 'row')}, {counted(self.X.width, 'column')}"
        return f"{size}; target: {listed(self.target_names, 4)} ({self.about_target})"

    @property
    def about_target(self) -> str:
        """Type of the target in words."""
        if self.target.times is not None:
            events, last = int(self.target.times[:, 0].sum()), self.target.times[:, 1].max()
            censored = 100 * (1 - events / self.target.n_samples)
            return f"times to {last:.4g}, {counted(events, 'event')}, {censored:.0f}% censored"
        if self.target.kind == "classes":
            classes = self.target.classes
            return f"{len(classes)} classes: {listed(map(str, classes), 6)}"
        if self.target.kind == "numbers":
            values = np.asarray(self.target.values, dtype=float)
            return f"numbers from {values.min():.4g} to {values.max():.4g}"
        outputs = self.target.values.shape[1]
        what = "labels, several per row" if self.target.kind == "multilabel" else "numeric outputs"
        return f"{outputs} {what}"


#: Cells of a table from which on commands work on some of its rows.
LARGE_TABLE = 100_000_000
#: Rows that they draw.
DRAWN_ROWS = 100_000


def is_large(source: Source) -> bool:
    """Whether a table is too large to work on all of its rows in memory."""
    rows = source.n_rows()
    return rows is not None and rows > DRAWN_ROWS and rows * len(source.schema()) > LARGE_TABLE


def read_rows(source: Source, columns: list[str], notes: list[str], seed: int = 0) -> pl.DataFrame:
    """All rows or, of a large table, random ones, with a note."""
    if not is_large(source):
        return source.read(columns)
    notes.append(
        f"{source.name} has {source.n_rows():,} rows: the results below come from {DRAWN_ROWS:,} "
        f"of them, drawn at random (seed {seed})."
    )
    return source.sample(columns, DRAWN_ROWS, seed)


def make_table(source: Source, request: Request) -> Table:
    """Read a file, or random rows of a large one, and split it into features and target."""
    schema = source.schema()
    event, seen = request.event, ""
    if event and event not in schema and "=" in event:
        event, _, seen = event.rpartition("=")
        request = replace(request, event=event)
    notes = source.assumptions()
    targets = request.targets or source.default_targets
    for option, names in (
        ("--target", targets),
        ("--drop", request.drop),
        ("--keep", request.keep),
        *((option, (name,)) for option, name in request.named),
    ):
        require_columns(names, list(schema), option, source.name)
    if not targets:
        raise UserError(
            f"Which column of {source.name} should be predicted? Pass --target COLUMN; the columns "
            f"are {listed(schema, 12)}."
        )
    twice = [name for name in targets if targets.count(name) > 1]
    if twice:
        raise UserError(f"--target names {twice[0]!r} twice.")
    for own, column in [*(("--drop", name) for name in request.drop), *request.named]:
        for option, names in (("--target", targets), ("--drop", request.drop)):
            if own != option and column in names:
                raise UserError(f"{column!r} is named by both {option} and {own}.")
    beside = dict(request.beside)
    used = {name: dtype for name, dtype in schema.items() if name not in request.drop}
    features = {name: used[name] for name in used if name not in beside.values()}
    read = {*_usable(features, targets, request, notes), *beside.values()}
    wanted = [name for name in used if name in read]
    draws = request.draws_rows
    frame = read_rows(source, wanted, notes, request.seed) if draws else source.read(wanted)
    frame, y = _split_target(frame, targets, request.task, notes)
    if frame.height < FEWEST_ROWS:
        raise DataError(
            f"{source.name} has {counted(frame.height, 'row')} with a target: at least "
            f"{FEWEST_ROWS} are needed to detect any dependence."
        )
    if request.event is not None:
        y = _times_of_rows(frame, targets, request.event, seen, request.task)
    groups = None if request.groups is None else _groups_of_rows(frame, request.groups, notes)
    weights = None if request.weight is None else _weights_of_rows(frame, request.weight, notes)
    raw = _features(frame.drop([*targets, *beside.values()]), request, notes)
    raw, X, expand = _expanded(raw, request, notes)
    if not X.width:
        raise DataError(
            f"{source.name} has no column left to learn from. {' '.join(notes)}".strip()
        )
    _require_finite(X)
    fill = _report_missing(X, request.impute, request.uses_missing, notes)
    target = read_target(y, task=request.task, is_part=True)
    _mention_doubt(target, targets, request.task, notes)
    _require_useful(target, targets, request.task)
    types = {name: TYPES[kind_of(dtype)] for name, dtype in raw.schema.items()}
    types |= {name: "text" for name, dtype in raw.schema.items() if dtype == pl.String}
    answers = frame.select(*targets, *filter(None, [request.event]))
    about = (tuple(targets), types, notes, expand, fill, source.written())
    return Table(X, raw, y, answers, target, *about, groups, weights)


def as_features(frame: pl.DataFrame, sentences: Iterable[str] = ()) -> pl.DataFrame:
    """Text as categories, sentences and everything else as they are."""
    text = [name for name, dtype in frame.schema.items() if dtype == pl.String]
    text = [name for name in text if name not in sentences]
    return frame.with_columns(pl.col(text).cast(pl.Categorical)) if text else frame


def _expanded(
    raw: pl.DataFrame, request: Request, notes: list[str]
) -> tuple[pl.DataFrame, pl.DataFrame, Expand | None]:
    """Features that are used, and with numbers in the place of dates and sentences, with a note."""
    from depmax.evaluation.expand import expanded

    if not any(dtype.is_temporal() or dtype == pl.String for dtype in raw.schema.values()):
        return raw, raw, None
    X, expand = expanded(raw)
    assert expand is not None
    mute = [name for name, words in expand.words_.items() if not words]
    if mute:
        notes.append(f"{_ignored('free-text', mute)} (override with --keep).")
    fixed = [name for name, parts in expand.dates_.items() if not parts]
    if fixed:
        notes.append(f"{_ignored('constant', fixed)}.")
    if mute or fixed:
        return _expanded(raw.drop(*mute, *fixed), request, notes)
    for name in request.given:
        if name in expand.dates_ or name in expand.words_:
            raise DataError(
                f"--given: column {name!r} holds dates or sentences, and a confounder is one "
                "column of numbers or categories."
            )
    used = [f"{name!r} as {listed(parts)}" for name, parts in expand.dates_.items()]
    used += [f"{name!r} as {counted(len(words), 'word')}" for name, words in expand.words_.items()]
    notes.append(f"Dates and texts are used: {listed(used, 6)} (--no-expand ignores them).")
    return raw, X, expand


def require_columns(names: Sequence[str], known: Sequence[str], option: str, where: str) -> None:
    """Refuse names of columns that do not exist, and suggest the nearest."""
    for name in names:
        if name not in known:
            raise DataError(
                f"{option}: {where} has no column named {name!r}.{nearest(name, known)}"
            )


def _usable(
    schema: Mapping[str, pl.DataType], targets: Sequence[str], request: Request, notes: list[str]
) -> list[str]:
    """Columns without nested values, before any row is read; the others are noted."""
    for name in targets:
        if kind_of(schema[name]) in ("date", "other", "empty"):
            raise DataError(_why_not(name, schema[name], "The target"))
    dates = [name for name, dtype in schema.items() if kind_of(dtype) == "date"]
    dates = [] if request.expand else dates
    nested = [name for name, dtype in schema.items() if kind_of(dtype) == "other"]
    for name in [*dates, *nested]:
        if name in request.keep:
            raise DataError(_why_not(name, schema[name], "Column"))
    if dates:
        notes.append(f"{_ignored('date', dates)} (--no-expand).")
    if nested:
        notes.append(f"{_ignored('nested', nested)}: neither numbers nor categories.")
    unused = {*dates, *nested}
    return [name for name in schema if name not in unused]


def _split_target(
    frame: pl.DataFrame, names: Sequence[str], task: Task, notes: list[str]
) -> tuple[pl.DataFrame, Any]:
    """Rows with a target, and the target as classes or numbers where that was requested."""
    known = frame.drop_nulls(list(names))
    numeric = [name for name in names if frame.schema[name].is_float()]
    known = known.filter(pl.all_horizontal(pl.col(numeric).is_not_nan())) if numeric else known
    lost = frame.height - known.height
    if lost:
        notes.append(f"Rows without a target are ignored: {lost} of {frame.height}.")
    y = known.select(names)
    if task == "classification" and len(names) == 1:
        y = y.with_columns(_labels(y.to_series()))
    elif task == "regression":
        try:
            y = y.with_columns(pl.all().cast(pl.Float64))
        except pl.exceptions.PolarsError:
            raise DataError(
                f"--task regression: {listed(names)} holds values that are not numbers."
            ) from None
    y = y.with_columns(pl.col(pl.Enum).cast(pl.Categorical))  # an order is not used
    return known, (y.to_series() if len(names) == 1 else y)


def _labels(values: pl.Series) -> pl.Series:
    """Classes as text, so that no method takes them for numbers; 3.0 is the class 3."""
    if values.dtype.is_float() and bool((values == values.floor()).all()):
        values = values.cast(pl.Int64, strict=False)
    return values.cast(pl.String)


def _mention_doubt(target: Target, names: Sequence[str], task: Task, notes: list[str]) -> None:
    """Say so where whole numbers might be classes instead of numbers, or the other way round."""
    numeric = target.kind == "numbers"
    if task != "auto" or not (numeric or target.kind == "classes"):
        return
    distinct = np.unique(np.asarray(target.values if numeric else target.classes))
    whole = distinct.dtype.kind in "fiu" and bool((distinct == np.floor(distinct)).all())
    seen = f"The target {names[0]!r} has {len(distinct)} distinct whole numbers and is treated as"
    if whole and numeric and len(distinct) <= target.n_samples / 5:
        notes.append(f"{seen} numeric; if they are classes, pass --task classification.")
    if whole and not numeric and len(distinct) >= FEWEST_GRADES:
        notes.append(f"{seen} classes; if they are grades or counts, pass --task regression.")


def _features(frame: pl.DataFrame, request: Request, notes: list[str]) -> pl.DataFrame:
    """Columns that a method can use; what is left out is noted. Only sentences stay strings."""
    from depmax.evaluation.expand import is_sentences

    unused: dict[str, list[str]] = {
        kind: [] for kind in ("empty", "constant", "identifier", "free-text")
    }
    sentences = []
    distinct = frame.select(pl.all().drop_nulls().n_unique()).row(0) if frame.width else ()
    present = frame.select(pl.all().count()).row(0) if frame.width else ()
    for name, levels, count in zip(frame.columns, distinct, present, strict=True):
        if name in request.keep:
            continue
        series = frame.get_column(name)
        if count == 0:
            unused["empty"].append(name)
        elif levels <= 1 and count == frame.height:
            unused["constant"].append(name)
        elif request.expand and is_sentences(series):
            sentences.append(name)
        elif _is_identifier(series, levels):
            unused["identifier"].append(name)
        elif kind_of(series.dtype) == "text" and (
            role_of_text(levels, count, frame.height) != "category"
        ):
            unused["free-text"].append(name)
    for kind, names in unused.items():
        if names:
            remedy = "" if kind in ("empty", "constant") else " (override with --keep)"
            notes.append(f"{_ignored(kind, names)}{remedy}.")
    return as_features(frame.drop([name for names in unused.values() for name in names]), sentences)


def _ignored(kind: str, names: Sequence[str]) -> str:
    """What was ignored: ``Ignored free-text column 'note'``."""
    return f"Ignored {kind} column{'s' * (len(names) > 1)} {listed(map(repr, names))}"


def _is_identifier(series: pl.Series, levels: int) -> bool:
    """Text or a number named id that differs in every row, or whole numbers that count the rows."""
    if kind_of(series.dtype) == "text":
        if role_of_text(levels, series.count(), series.len()) != "identifier":
            return False
        is_short = series.cast(pl.String).str.count_matches(r"\s+") < 3  # not a sentence
        return 2 * int(is_short.sum()) > series.count()
    if levels < max(2, series.len()) or series.null_count() or not series.dtype.is_integer():
        return False
    low, high = int(series.min()), int(series.max())  # type: ignore[arg-type]  # of integers
    return counts_rows(series.name, low, high, levels)


def _require_finite(X: pl.DataFrame) -> None:
    floats = [name for name, dtype in X.schema.items() if dtype.is_float()]
    infinite = X.select(pl.col(floats).is_infinite().sum()).row(0) if floats else ()
    for name, count in zip(floats, infinite, strict=True):
        if count:
            raise DataError(
                f"Column {name!r} holds infinity in {count} of {X.height} rows: clip it, or drop "
                f"it with --drop {name!r}."
            )


def missing_counts(X: pl.DataFrame) -> dict[str, int]:
    """Number of missing values of every column that has some; NaN counts as missing."""
    gaps = [
        (pl.col(name).is_null() | pl.col(name).is_nan()).sum()
        if dtype.is_float()
        else pl.col(name).null_count()
        for name, dtype in X.schema.items()
    ]
    counts = X.select(gaps).row(0) if gaps else ()
    return {name: n for name, n in zip(X.columns, counts, strict=True) if n}


def _report_missing(
    X: pl.DataFrame, impute: str | None, uses_missing: bool, notes: list[str]
) -> str | None:
    """What fills gaps: the user's choice, else the median where a method cannot use them."""
    fill = impute or (None if uses_missing else "median")
    missing = missing_counts(X)
    if not missing:
        return fill
    shown = listed([f"{name} ({count} of {X.height})" for name, count in missing.items()])
    empty = [name for name, count in missing.items() if count == X.height]
    if empty:
        raise DataError(f"Columns without any value: {listed(empty)}. Drop them with --drop.")
    notes.append(f"Missing values {f'filled ({fill})' if fill else 'not filled'}: {shown}.")
    return fill


def _require_useful(target: Target, names: Sequence[str], task: Task) -> None:
    """Refuse targets that cannot be predicted: one value, free text, as many classes as rows."""
    where = f"The target {listed(map(repr, names))}"
    values = target.values
    if len(np.unique(values, axis=0)) == 1:
        raise DataError(f"{where} has the same value in all rows: there is nothing to predict.")
    if target.kind != "classes":
        return
    if len(target.classes) == target.n_samples:
        raise DataError(
            f"{where} has a different value in every row: it looks like an identifier. Name "
            "another column, or pass --task regression if they are numbers."
        )
    role = role_of_text(len(target.classes), target.n_samples, target.n_samples)
    if role == "free text" and task == "auto" and target.values.dtype.kind in "UO":
        raise DataError(
            f"{where} has {len(target.classes)} different values in {target.n_samples} rows, as "
            "free text does. Name another column, or pass --task classification if they are "
            "classes."
        )


def _why_not(name: str, dtype: pl.DataType, what: str) -> str:
    if dtype.is_temporal():
        return (
            f"{what} {name!r} holds dates: turn them into meaningful numbers, such as the month or "
            "the days since an event."
        )
    if dtype == pl.Null:
        return f"{what} {name!r} has no value in any row."
    return f"{what} {name!r} holds {dtype} values, neither numbers nor categories."


def ask(out: Output, source: Source, request: Request) -> Table:
    """The table and its target, with a line about each and notes on what was ignored."""
    with out.working(f"reading {source.name}"):
        table = make_table(source, request)
    out.say(f"{source.name}: {table.about}")
    out.note(table.notes)
    out.result("rows", table.X.height)
    out.result("target", {"columns": list(table.target_names), "type": table.target.kind})
    out.result("notes", table.notes)
    return table


# --- what is known of the rows
def _times_of_rows(
    frame: pl.DataFrame, targets: Sequence[str], name: str, seen: str, task: Task
) -> Any:
    """The target as survival times, of which a value of a column says that they are complete."""
    if len(targets) > 1 or task != "auto":
        other = f"--task {task}" if task != "auto" else "several targets"
        raise UserError(f"--event goes with one --target, the column of times, not with {other}.")
    events, times = f"--event: column {name!r}", f"--target: column {targets[0]!r}"
    if kind_of(frame.schema[targets[0]]) != "number":
        raise DataError(f"{times} holds {kind_of(frame.schema[targets[0]])}, not numbers.")
    column = frame.get_column(name)
    labels = _labels(column.cast(pl.Float64) if column.dtype == pl.Boolean else column)
    values = labels.drop_nulls().unique().sort().to_list()
    if seen not in values and (seen or not {*values} <= {"0", "1"}):
        raise DataError(
            f"{events} holds {listed(values, 4)}. It says whether the event was seen (1) or the "
            "time is censored (0). If another value says that it was seen, name it, as in --event "
            f"{name}={values[-1]}."
        )
    known = [(labels == (seen or "1")).cast(pl.Float64), frame.get_column(targets[0])]
    event, time = (each.cast(pl.Float64).fill_null(np.nan).to_numpy() for each in known)
    try:
        require_events(rows := checked_times(event, time, events, times))
    except ValueError as error:
        raise DataError(str(error)) from error
    return pl.DataFrame(rows, schema=[EVENT, TIME])


def _complete(frame: pl.DataFrame, name: str, option: str, remedy: str) -> pl.Series:
    """A column that says something of every row."""
    missing = missing_counts(frame.select(name)).get(name)
    if missing:
        raise DataError(
            f"{option}: column {name!r} has no value in {missing} of {frame.height} rows. Drop "
            f"these rows, or {remedy}."
        )
    return frame.get_column(name)


def _groups_of_rows(frame: pl.DataFrame, name: str, notes: list[str]) -> np.ndarray:
    """The group of every row as a number; the column is not a feature."""
    column = _complete(frame, name, "--groups", "give each its own group")
    codes = np.unique(np.asarray(column.cast(pl.String).to_list()), return_inverse=True)[1]
    n_groups = int(codes.max()) + 1
    groups = counted(n_groups, "group")
    notes.append(f"{groups} of rows by {name!r}, which is not used as a column.")
    return np.asarray(codes)


def _weights_of_rows(frame: pl.DataFrame, name: str, notes: list[str]) -> np.ndarray:
    """How many rows each row stands for; the column is not a feature."""
    if not frame.schema[name].is_numeric():
        raise DataError(f"--weight: column {name!r} holds {frame.schema[name]}, not numbers.")
    column = _complete(frame, name, "--weight", "give them a weight of 0")
    values = column.cast(pl.Float64).to_numpy()
    try:
        weights = read_weights(values, len(values))
    except ValueError as error:
        raise DataError(f"--weight: column {name!r}: {error}") from error
    left_out = int((weights == 0).sum())
    without = f"; {left_out} have a weight of 0 and are ignored" if left_out else ""
    notes.append(f"Rows are weighted by {name!r}, which is not used as a column{without}.")
    return weights


def mention_doubts(out: Output, table: Table, ignored: tuple[str, ...]) -> None:
    """Say so where rows may be copies of each other, or alike because they belong together."""
    from depmax.evaluation.comparison.cautions import cautions_about_rows

    doubts = cautions_about_rows(table.X, table.target.values, table.target.kind, table.groups)
    found = [str(doubt) for doubt in doubts if doubt.code not in ignored]
    table.notes.extend(found)
    out.note(found)


def mention_searched_rows(out: Output, table: Table, method: str, estimator: Any) -> None:
    """Say so where a selector searches only some of the rows."""
    searched = getattr(getattr(estimator, "selector", estimator), "subsample", None)
    if searched is None or table.X.height <= searched:
        return
    found = [
        f"{method} searches {searched:,} of {table.X.height:,} rows, drawn with a fixed seed: "
        "scores, effects and p-values are theirs (--set subsample=none searches all)."
    ]
    table.notes.extend(found)
    out.note(found)
