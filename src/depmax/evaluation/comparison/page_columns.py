"""The part of a report about the data and its columns: those kept, drawn, and alike."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import narwhals.stable.v2 as nw
import numpy as np
from scipy import sparse
from sklearn.utils import _safe_indexing

from depmax._text import counted, listed, share, short_effect
from depmax.data.columns import is_frame
from depmax.dependence import alignment
from depmax.evaluation.comparison.methods import Method
from depmax.evaluation.comparison.verdict import LEVEL
from depmax.evaluation.comparison.words import class_balance
from depmax.evaluation.prepare import Prepare
from depmax.evaluation.profiling.profile import profile
from depmax.plotting import (
    FeatureScatterDisplay,
    HeatMapDisplay,
    LoadingsDisplay,
    RankingDisplay,
    TargetByColumnDisplay,
)
from depmax.report import Column, Picture, Section, Table

if TYPE_CHECKING:
    from depmax.evaluation.comparison.comparison import Comparison

#: Columns that are drawn against the target, and that are listed.
DRAWN = 6
LISTED = 50
#: Rows that similarities of columns are computed from, and columns that they show.
MATRIX_ROWS = 500
MATRIX_COLUMNS = 12


def data_section(comparison: Comparison) -> Section:
    """What a profile finds in the rows that were compared, and the target."""
    given, used = comparison.n_rows_given or len(comparison.y), len(comparison.y)
    points = [f"{given:,} rows, of which {used:,} were drawn at random."] if given > used else []
    problem, y = comparison.setting.problem, comparison.y
    if problem.sparse:
        X = sparse.csr_array(comparison.X)
        cells = share(X.nnz, max(1, X.shape[0] * X.shape[1]))
        sizes = f"{counted(used, 'row')}, {counted(problem.n_features, 'column')}"
        points.append(f"{sizes}; {cells} of the cells are not zero.")
    else:
        found = profile(comparison.X)
        points += found.findings
        if comparison.setting.fill and any(column.missing for column in found.columns):
            filled = f"Cells without a value are filled with the {comparison.setting.fill}"
            points.append(f"{filled} of their column, in categories with the most frequent value.")
    target = class_balance(comparison) or problem.about_target
    if problem.kind == "numbers":
        target += f" from {y.min():.4g} to {y.max():.4g}, median {np.median(y):.4g}"
    return Section("The data", points=(*points, f"Target: {comparison.target_name}, {target}."))


def target_section(comparison: Comparison) -> Section:
    """The target by the values of each column that matters most."""
    if comparison.verdict.columns:
        which, why = (
            comparison.kept,
            f"The columns that {comparison.recommended} keeps, best first.",
        )
    else:
        which = np.argsort(comparison.screening.ranking)
        why = "The columns that depend most on the target by themselves."
    pictures = tuple(_target_picture(comparison, int(column)) for column in which[:DRAWN])
    shares = comparison.setting.problem.kind in ("classes", "multilabel")
    rows = "groups of rows that belong together" if comparison.candidates.units is not None else ""
    drawn = (
        f"The {'share of each class' if shares else 'mean of the target'} among rows with similar "
        f"values of the column, with its 95% interval{f' from whole {rows}' if rows else ''}; "
        "dashed: all rows. Since these columns were chosen on these rows, expect their effects to "
        "be a little smaller on new ones."
    )
    title = f"How {comparison.target_name} depends on single columns"
    return Section(title, (f"{why} {drawn}",), pictures=pictures)


def _target_picture(comparison: Comparison, column: int) -> Picture:
    problem = comparison.setting.problem
    name = problem.names[column]
    values, categorical = _raw_column(comparison, column)
    display = TargetByColumnDisplay.from_predictions(
        values,
        comparison.y,
        name=name,
        target_name=comparison.target_name,
        categorical=categorical,
        classes=problem.kind == "classes",
        sample_weight=comparison.setting.sample_weight,
        groups=comparison.candidates.units,
    )
    pvalue = float(comparison.screening.pvalues_adjusted[column])
    alone = "p < 0.001" if pvalue < 1e-3 else f"p = {pvalue:.2g}"
    caption = f"{comparison.target_name} by {name} (alone: adjusted {alone})"
    return Picture(display, caption, f"{caption}. {_in_words(display)}", width=3.4, height=2.5)


def _in_words(display: TargetByColumnDisplay) -> str:
    """The first class or output that is drawn, for those who cannot see it."""
    mean, low, high = display.means[0], display.low[0], display.high[0]
    least, most = int(np.argmin(mean)), int(np.argmax(mean))
    ends = [
        f"{mean[place]:.3g} ({low[place]:.3g} to {high[place]:.3g}) near {display.place(place)}"
        for place in (least, most)
    ]
    what = display.label if len(display.series) == 1 else f"{display.label}, {display.series[0]}"
    return f"{what}: from {ends[0]} to {ends[1]}."


def _raw_column(comparison: Comparison, column: int) -> tuple[Any, bool]:
    """Values of a column as they were given, with gaps, and whether it is a category."""
    X = comparison.X
    if is_frame(X):
        frame = nw.from_native(X, eager_only=True)
        series = frame.get_column(frame.columns[column])
        return series.to_native(), not series.dtype.is_numeric()
    part = X[:, [column]].toarray() if sparse.issparse(X) else np.asarray(X)[:, [column]]
    return part.ravel(), False


def columns_section(comparison: Comparison) -> Section | None:
    """The columns that the best selector keeps, how alike they are, and the screening of all."""
    method = best_of(comparison, lambda method: method.selects)
    if method is None:
        return None
    kept = comparison.kept_by(method.name)
    text = (
        f"Kept by {method.name} when it is fitted on all rows. The p-value comes from screening "
        "each column alone, adjusted over all columns (false discovery rate); it does not test "
        "the kept columns as a set, since the rows that chose them cannot also test them.",
    )
    pictures = [_ranking_picture(comparison, method, kept)]
    if len(kept) > 1:
        pictures.append(_similarity_picture(comparison, kept[:MATRIX_COLUMNS]))
    table = _kept_table(comparison, method, kept)
    return Section("Which columns?", text, (table,), tuple(pictures))


def _kept_table(comparison: Comparison, method: Method, kept: np.ndarray) -> Table:
    names, screening = comparison.setting.problem.names, comparison.screening
    model = comparison.model_of(method.name)
    selector = getattr(model, "named_steps", {}).get("features", model)
    substitutes = getattr(selector, "substitutes_", np.full(len(names), -1))
    place = next(
        p for p in comparison.leaders if comparison.candidates.all[p].method == method.name
    )
    masks = comparison.candidates.masks(comparison.candidates.all[place])
    chosen = None if masks is None else masks.mean(axis=0)
    shares = (screening.effects, screening.effects_low, screening.effects_high)
    rows = tuple(
        (
            position + 1,
            names[column],
            None if chosen is None else float(chosen[column]),
            short_effect(*(ends[column] for ends in shares)),
            float(screening.pvalues_adjusted[column]),
            listed([names[other] for other in np.flatnonzero(substitutes == column)], 4) or None,
        )
        for position, column in enumerate(kept[:LISTED])
    )
    more = f", the best {LISTED} of them shown" if len(kept) > LISTED else ""
    return Table(
        f"{counted(len(kept), 'column')} kept{more}.",
        (
            Column("rank", "d"),
            Column("column"),
            Column("chosen on folds", "bar", "share of the training parts on which it was kept"),
            Column(
                "effect alone",
                "",
                "dependence of the column alone on the target, from 0 (independent) to 1, with a "
                "95% interval: comparable between columns of different units and types",
            ),
            Column("p (adjusted)", "p", "of this column alone, adjusted over all columns"),
            Column(
                "substitute for",
                "",
                "dropped columns that share at least a quarter of their variation with it, and "
                "more than with any other kept column",
            ),
        ),
        rows,
    )


def _ranking_picture(comparison: Comparison, method: Method, which: np.ndarray) -> Picture:
    screening, names = comparison.screening, comparison.setting.problem.names
    kept = np.zeros(len(names), dtype=bool)
    kept[which] = True
    display = RankingDisplay(
        names=names,
        scores=screening.effects,
        ranking=screening.ranking,
        pvalues_adjusted=screening.pvalues_adjusted,
        kept=kept,
        label="effect of the column alone, 0 to 1",
        n_shown=15,
    )
    order = np.argsort(screening.ranking)
    shown = min(15, len(order))
    significant = int((screening.pvalues_adjusted <= LEVEL).sum())
    caption = (
        f"The {shown} columns that each depend most on the target, with adjusted p-values; those "
        f"that {method.name} keeps are in colour. A column that matters only together with others "
        "may still be kept."
    )
    alternative = (
        f"Bar chart. {significant} of {len(order)} columns have an adjusted p-value of at most "
        f"{LEVEL:g}; the strongest are {listed([names[j] for j in order[:5]], 5)}."
    )
    return Picture(display, caption, alternative, height=0.9 + 0.24 * shown)


def _similarity_picture(comparison: Comparison, which: np.ndarray) -> Picture:
    """Centred kernel alignment of every pair of columns: 1 if one repeats the other."""
    rows = np.arange(len(comparison.y))
    if len(rows) > MATRIX_ROWS:
        rng = np.random.default_rng(comparison.setting.seed)
        rows = np.sort(rng.choice(rows, MATRIX_ROWS, replace=False))
    prepared = Prepare(None).fit_transform(_safe_indexing(comparison.filled, rows))
    sides = [_safe_indexing(prepared, [int(column)], axis=1) for column in which]
    sides = [side.toarray() if sparse.issparse(side) else side for side in sides]
    values = np.eye(len(which))
    for one, other in zip(*np.tril_indices(len(which), -1), strict=True):
        value = alignment(sides[one], sides[other], kernel="gaussian", target_kernel="gaussian")
        values[one, other] = values[other, one] = value
    names = [comparison.setting.problem.names[column] for column in which]
    display = HeatMapDisplay.from_predictions(values, names=names, label="alignment")
    lower = np.tril(values, -1)
    first, second = np.unravel_index(np.argmax(lower), lower.shape)
    caption = (
        f"How alike the {len(which)} best columns kept are: 1 if one column repeats another "
        f"(centred kernel alignment). The most alike are {names[second]} and {names[first]} "
        f"({lower[first, second]:.2f})."
    )
    return Picture(display, caption, f"Heat map. {caption}", height=4.4)


def best_of(comparison: Comparison, accepts: Any) -> Method | None:
    """The recommended method if it is accepted, else the best that is."""
    names = [comparison.candidates.all[place].method for place in comparison.leaders]
    methods = [comparison.method(name) for name in (comparison.recommended, *names)]
    return next((method for method in methods if accepts(method)), None)


def features_section(comparison: Comparison) -> Section | None:
    """The first two features of the best extractor, and how they weigh the columns."""
    method = best_of(comparison, lambda m: m.has_dimension and not m.selects and not m.predicts)
    if method is None or not comparison.setting.prepare:
        return None
    pictures = [_scatter(comparison, method), _loadings(comparison, method)]
    drawn = tuple(picture for picture in pictures if picture is not None)
    text = (f"{method.name} makes the best new features. {method.description}",)
    return Section("What do the new features show?", text, pictures=drawn) if drawn else None


def _scatter(comparison: Comparison, method: Method) -> Picture | None:
    """Features of all rows, as the method makes them when fitted on all rows."""
    if comparison.y.ndim != 1:
        return None
    model = comparison.model_of(method.name)
    made = model[: list(model.named_steps).index("features") + 1].transform(comparison.X)
    features = np.asarray(made)[:, :2]
    display = FeatureScatterDisplay.from_predictions(
        features, comparison.y, target_name=comparison.target_name
    )
    which = "first two features" if features.shape[1] > 1 else "feature"
    caption = f"The {which} of all rows, fitted on all rows: held-out rows would be less apart."
    if display.n_merged:
        caption += f" The {display.n_merged} rarest classes are drawn as one, in grey."
    return Picture(display, caption, f"Scatter plot coloured by the target. {caption}", height=4.0)


def _loadings(comparison: Comparison, extractor: Method) -> Picture | None:
    model = comparison.model_of(extractor.name)
    names = comparison.setting.problem.names
    if "prepare" in model.named_steps:
        prepared = model["prepare"].get_feature_names_out(list(names))
        names = tuple(str(name) for name in prepared)
    try:
        display = LoadingsDisplay.from_estimator(model["features"])
    except ValueError:  # no linear directions
        return None
    if display.weights.shape[1] != len(names):
        return None
    display = LoadingsDisplay.from_predictions(display.weights, names=names)
    largest = [
        f"feature {number + 1}: {listed([names[j] for j in np.argsort(-np.abs(row))[:3]], 3)}"
        for number, row in enumerate(display.weights)
    ]
    caption = (
        "Weights of the standardised columns in the directions, fitted on all rows. Largest in "
        f"{'; '.join(largest)}."
    )
    curves = display.positions is not None
    height = 3.4 if curves else 1.0 + 0.24 * min(display.n_shown, len(names))
    kind = "Curves" if curves else "Bar chart"
    return Picture(display, caption, f"{kind}. {caption}", height=height)
