"""Pencils (A, B) → directions, in whichever coordinates are fewer."""

from depmax.algebra.directions import (
    Directions,
    attained,
    complete,
    complete_axes,
    leading,
    least_redundant,
    least_redundant_weighted,
    most_dependent,
    positive_part,
    principal,
    squared_part,
)
from depmax.algebra.form import Form, hsic_form
from depmax.algebra.gram import Gram
from depmax.algebra.krylov import Basis, completed, span_of_dependence
from depmax.algebra.row_sums import RowSums
from depmax.algebra.space import Moments, Space
from depmax.algebra.sphere import Sphere

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
    "span_of_dependence",
    "squared_part",
]
