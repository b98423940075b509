"""The part of a report about extracted features: a scatter and the directions."""

from __future__ import annotations

import numpy as np

from depmax.evaluation.comparison.findings import Findings
from depmax.evaluation.comparison.positions import positions_of, unit_of
from depmax.evaluation.comparison.words import listed
from depmax.plotting import FeatureScatterDisplay, LoadingsDisplay
from depmax.report import Picture, Section


def features_section(findings: Findings) -> Section | None:
    """The first two features of the best extractor, and how they weigh the columns."""
    if findings.extractor is None:
        return None
    pictures = [_scatter(findings), _loadings(findings)]
    drawn = tuple(picture for picture in pictures if picture is not None)
    if not drawn:
        return None
    text = (
        f"{findings.extractor.name} makes the best new features. {findings.extractor.description}",
    )
    return Section("What do extracted features show?", text, pictures=drawn)


def _scatter(findings: Findings) -> Picture | None:
    comparison = findings.comparison
    if comparison.y.ndim != 1:
        return None
    features, held_out = findings.extracted
    display = FeatureScatterDisplay.from_predictions(
        features, comparison.y, held_out=held_out, target_name=comparison.target_name
    )
    dimensions = "first two features" if features.shape[1] > 1 else "feature"
    caption = (
        f"The {dimensions}, found from one training part; {int(held_out.sum())} rows that were "
        "held out are drawn in full, the training rows faint."
    )
    if display.n_merged:
        caption += f" The {display.n_merged} rarest classes are drawn as one, in grey."
    return Picture(display, caption, f"Scatter plot coloured by the target. {caption}", height=4.0)


def _loadings(findings: Findings) -> Picture | None:
    if not findings.comparison.setting.prepare:
        return None
    extractor, names = findings.directions
    positions = positions_of(names)
    try:
        display = LoadingsDisplay.from_estimator(extractor)
    except ValueError:  # no linear directions
        return None
    if display.weights.shape[1] != len(names):
        return None
    display.names, display.positions = names, positions
    if positions is not None:
        display.position_label = unit_of(names)
    largest = [
        f"feature {number + 1}: {listed([names[j] for j in np.argsort(-np.abs(row))[:3]], 3)}"
        for number, row in enumerate(display.weights)
    ]
    caption = (
        "Weights of the standardised columns in the directions, fitted on all rows. Largest in "
        f"{'; '.join(largest)}."
    )
    height = 3.4 if positions is not None else 1.0 + 0.24 * min(display.n_shown, len(names))
    kind = "Curves" if positions is not None else "Bar chart"
    return Picture(display, caption, f"{kind}. {caption}", height=height)
