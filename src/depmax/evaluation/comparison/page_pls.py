"""What chemometricians look at in a model by partial least squares, for the report."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from depmax._text import counted, listed
from depmax.extraction import KernelPLS
from depmax.plotting import DimensionCurveDisplay, InfluenceDisplay, LoadingsDisplay
from depmax.report import Picture, Section

if TYPE_CHECKING:
    from depmax.evaluation.comparison.comparison import Comparison

#: Methods of a comparison whose features are those of partial least squares.
NAMES = ("PLS",)
#: Permutations of the test of the model.
PERMUTATIONS = 199
#: Rows beyond which the picture of rows, the folds and the test see a seeded draw of them.
ROWS = 5000
#: Numbers of components that are cross-validated at least.
COUNTS = 15


def pls_section(comparison: Comparison) -> Section | None:
    """RMSECV, a test of the model, VIP, and T² against Q of the rows; for a numeric target."""
    numeric = comparison.setting.truth.kind == "numbers" and comparison.y.ndim == 1
    if comparison.recommended not in NAMES or not numeric or comparison.verdict.size is None:
        return None
    pipeline = comparison.model_of(comparison.recommended)
    if "prepare" not in pipeline.named_steps:
        return None
    y, groups = np.asarray(comparison.y, dtype=np.float64), comparison.candidates.units
    rows = np.arange(len(y))
    if len(y) > ROWS:
        rng = np.random.default_rng(comparison.setting.seed)
        rows = np.sort(rng.choice(rows, ROWS, replace=False))
    X = np.asarray(pipeline["prepare"].transform(comparison.X), dtype=np.float64)[rows]
    y, groups = y[rows], None if groups is None else groups[rows]
    model = KernelPLS(comparison.verdict.size).fit(X, y)
    most = min(max(COUNTS, 2 * model.n_components_), *X.shape, len(y) // 2)
    path = model.cross_validate(X, y, n_components=most, groups=groups)
    test = model.permutation_test(
        X, y, n_permutations=PERMUTATIONS, groups=groups, random_state=comparison.setting.seed or 0
    )
    pictures = (
        _curve(path.errors, path.choices, model.n_components_),
        _importance(comparison, model, pipeline),
        _rows(model, X, rows),
    )
    size = counted(model.n_components_, "component")
    text = (
        f"With {size} R²Y is {test.r2:.3f} on the rows of the fit and Q² {test.q2:.3f} on held-out "
        f"rows. After permuting {'whole groups of ' if groups is not None else ''}the target, Q² "
        f"was at most {test.permuted_q2.max():.3f} and R²Y {test.permuted_r2.max():.3f} in "
        f"{PERMUTATIONS} permutations (p = {test.pvalue:.3g}).",
        "KernelPLS on the prepared columns makes these features again, with the tools of "
        "chemometrics: cross_validate, vip_, coef_intervals, t2 and q.",
    )
    return Section("How sound is the PLS model?", text, pictures=pictures)


def _curve(errors: np.ndarray, choices: dict[str, int], size: int) -> Picture:
    """RMSECV by number of components."""
    display = DimensionCurveDisplay.from_predictions(
        np.arange(1, len(errors) + 1), errors, name="PLS", metric="RMSECV"
    )
    display.marks = choices
    caption = (
        f"Root mean square error of held-out rows by number of components: {errors[size - 1]:.4g} "
        f"with {size}, least with {choices['least error']} ({errors.min():.4g}), within one "
        f"standard error with {choices['one standard error']}, not significantly worse with "
        f"{choices['randomisation']}."
    )
    return Picture(display, caption, f"Curve. {caption}", height=3.6)


def _importance(comparison: Comparison, model: KernelPLS, pipeline: object) -> Picture:
    """VIP of the prepared columns."""
    names = [str(name) for name in comparison.setting.problem.names]
    prepared = pipeline["prepare"].get_feature_names_out(names)  # type: ignore[index]  # a pipeline
    names = [str(name) for name in prepared]
    values = model.vip_
    display = LoadingsDisplay.from_predictions(values, names=names, quantity="VIP")
    largest = listed([names[j] for j in np.argsort(-values)[:3]], 3)
    caption = (
        f"Variable importance in the projection: {int((values > 1).sum())} of "
        f"{counted(len(names), 'column')} are above 1, the average. Largest: {largest}."
    )
    height = 3.4 if display.positions is not None else 1.0 + 0.24 * min(display.n_shown, len(names))
    return Picture(display, caption, f"Importance of columns. {caption}", height=height)


def _rows(model: KernelPLS, X: np.ndarray, rows: np.ndarray) -> Picture:
    """Rows that are far within the model, or far from it."""
    names = [str(row + 1) for row in rows]
    display = InfluenceDisplay.from_estimator(model, X, alpha=0.01, names=names)
    outside = display.outside
    first = (
        f", the farthest {listed([names[row] for row in outside[:5]], 5)}" if len(outside) else ""
    )
    caption = (
        f"T² of every row within the model and its squared distance Q from it. Beyond a 99% limit: "
        f"{counted(len(outside), 'row')} of {len(rows)}{first}; one or two of a hundred normal "
        "rows are. Rows are counted from 1."
    )
    return Picture(display, caption, f"Scatter plot. {caption}", height=4.0)
