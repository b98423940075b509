"""Pencils (A, B) → directions, in whichever coordinates are fewer."""

from depmax.algebra.directions import (
    Directions,
    complete_axes,
    leading,
    least_redundant,
    least_redundant_weighted,
    positive_part,
    principal,
    smoothest,
    squared_part,
)
from depmax.algebra.eigenproblems import Sphere, attained, complete, most_dependent
from depmax.algebra.form import Form, hsic_form
from depmax.algebra.gram import Gram
from depmax.algebra.krylov import Basis, completed, span_of_dependence
from depmax.algebra.row_sums import RowSums
from depmax.algebra.space import Moments, Space

__all__ = [
    "Basis",
    "Directions",
    "Form",
    "Gram",
    "Moments",
    "RowSums",
    "Space",
    "Sphere",
    "attained",
    "complete",
    "complete_axes",
    "completed",
    "hsic_form",
    "leading",
    "least_redundant",
    "least_redundant_weighted",
    "most_dependent",
    "positive_part",
    "principal",
    "smoothest",
    "span_of_dependence",
    "squared_part",
]
