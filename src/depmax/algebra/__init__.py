"""Sums over samples in feature space, and criteria → directions, in the smaller dimension."""

from depmax.algebra.directions import Directions, least_redundant, most_dependent, principal
from depmax.algebra.row_sums import RowSums
from depmax.algebra.space import Form, Moments, Space, Span, hsic_form
from depmax.algebra.span import space_of
from depmax.algebra.sphere import Sphere

__all__ = [
    "Directions",
    "Form",
    "Moments",
    "RowSums",
    "Space",
    "Span",
    "Sphere",
    "hsic_form",
    "least_redundant",
    "most_dependent",
    "principal",
    "space_of",
]
