"""Sums over samples in feature space, and criteria → directions, in the smaller dimension."""

from depmax.algebra.directions import Sphere, most_dependent, principal
from depmax.algebra.row_sums import RowSums
from depmax.algebra.space import Directions, Form, Moments, Space, Span, hsic_form, space_of

__all__ = [
    "Directions",
    "Form",
    "Moments",
    "RowSums",
    "Space",
    "Span",
    "Sphere",
    "hsic_form",
    "most_dependent",
    "principal",
    "space_of",
]
