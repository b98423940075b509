"""Extractors by HSIC that also learn from unlabelled rows."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar, Literal

import numpy as np

from depmax._inputs import Target, read_target
from depmax._inputs.parameters import number
from depmax._inputs.target import marks_unlabeled
from depmax.extraction._fitting.batches import BatchExtractor
from depmax.pencils import Directions, Form, Space, hsic_form
from depmax.pencils.form import target_factor
from depmax.pencils.graphs import Graph, as_graph
from depmax.pencils.graphs.points import points_of
from depmax.samples import Labels, Sample, read_labels, require_samples


@dataclass(frozen=True)
class Criterion:
    """The form that directions maximise, and the form of HSIC alone.

    Attributes
    ----------
    form : Form
        M of (1-β)/s·HSIC - β/t·fᵀΔf with s and t the traces of both terms; for β = 0 that of HSIC.
    dependence : Form
        M of HSIC with the target.
    labelled : ndarray of shape (m,) or None
        Which samples are labelled; None: all.
    mass : ndarray of shape (m,) or None
        How many samples each stands for.
    """

    form: Form
    dependence: Form
    labelled: np.ndarray | None = None
    mass: np.ndarray | None = None

    def centred(self, features: np.ndarray) -> np.ndarray:
        """Features of the labelled samples, of shape (n_labelled, k), measured from their mean."""
        if self.labelled is None and not isinstance(features, np.ndarray):
            return features  # of a stream, about the mean already
        known = features if self.labelled is None else features[self.labelled]
        rest: np.ndarray = known - np.average(known, axis=0, weights=self.mass)
        return rest

    def spread(self, form: Form) -> Form:
        """A form of the labelled samples as one of all."""
        return form if self.labelled is None else form.spread(self.labelled)

    def judged(self, space: Space, found: Directions) -> Directions:
        """The directions with the HSIC that each reaches."""
        if self.form is self.dependence:
            return found
        reached = self.dependence.reached(space.features(found.vectors))
        return Directions(found.vectors, reached)


def hsic_criterion(target: Sample, *, unbiased: bool) -> Criterion:
    """HSIC with a target that is known for all samples."""
    require_samples(target.total, unbiased)
    form = hsic_form(target_factor(target), unbiased=unbiased, mass=target.mass)
    return Criterion(form, form, mass=target.mass)


def smooth_criterion(
    side: Sample, labels: Labels, *, unbiased: bool, beta: float, graph: Graph
) -> Criterion:
    """HSIC on the labelled samples, and smoothness over a graph of all samples.

    The trace of the term of HSIC is that of CCᵀ, also for HSIC₁: the trace of A₁ is the HSIC₁ of
    all columns together, which by chance may be zero or negative.
    """
    form = hsic_criterion(labels.side, unbiased=unbiased).form
    form = form.held() if labels.labelled is None else form.spread(labels.labelled)
    points = points_of(side)
    laplacian = graph.laplacian(points)
    rate = _share(1.0 - beta, points.size(form.factor))
    price = _share(beta, laplacian.trace(points))
    mixed = Form(
        np.sqrt(rate) * form.factor,
        None if form.weights is None else rate * form.weights,
        labels.labelled,
        lambda values: price * laplacian.apply(values),
    )
    return Criterion(mixed, form, labels.labelled)


def why_not_in_sums(target_kernel: Any, *, unbiased: bool) -> str | None:
    """Why HSIC with numbers does not follow from second moments; None if it does."""
    if isinstance(target_kernel, str) and target_kernel == "auto":
        return "the bandwidth of their kernel is read off all rows. Use target_kernel='linear'"
    if unbiased:
        return "unbiased HSIC takes moments of the fourth order. Use unbiased=False"
    return None


def _share(part: float, trace: float) -> float:
    return part / trace if trace > 0 else 0.0


class SemiSupervisedExtractor(BatchExtractor):
    """Base of HBFE and HSCA: unlabelled rows, and the criterion with a graph of all rows.

    With ``beta`` = 0 unlabelled rows are left out, with a warning; otherwise features that change
    much between neighbours, labelled or not, are penalised.
    """

    unbiased: bool
    beta: Any
    graph: Any
    unlabeled: Literal["auto"] | None

    _declared: ClassVar = {
        "beta": number(0, 1, hint="0 leaves the unlabelled rows out, 1 the labels")
    }

    def _read_labels(self, y: Any, mass: np.ndarray | None = None) -> Labels | None:
        self._require_no_graph(mass)
        labels = read_labels(y, self.target_kernel, minus_one=self._minus_one(), mass=mass)
        self.n_unlabeled_ = labels.n_unlabeled
        return labels

    def _require_no_graph(self, mass: np.ndarray | None) -> None:
        """Refuse weights of rows that are neighbours in a graph."""
        if mass is not None and self.beta > 0:
            raise ValueError(
                f"{type(self).__name__} with beta > 0 compares every row with its neighbours, of "
                "which a row that stands for several has others: use beta=0 with sample_weight."
            )

    def _read_answers(self, y: Any) -> Target:
        return read_target(y, semi=True, minus_one=self._minus_one())

    def _minus_one(self) -> bool:
        """Whether -1 among classes marks an unlabelled row."""
        return marks_unlabeled(self.unlabeled, self.beta)

    def _why_not_streamed(self) -> str | None:
        if self.beta > 0:
            return (
                "beta > 0 compares every row with its neighbours among all others. Use beta=0, or "
                "pass rows that fit in memory"
            )
        return super()._why_not_streamed()

    def _uses_unlabeled(self) -> bool:
        return bool(self.beta > 0)

    def _prepare(self, side: Sample, labels: Labels | None) -> Criterion:
        assert labels is not None
        if self.beta == 0:
            return hsic_criterion(labels.side, unbiased=self.unbiased)
        return smooth_criterion(
            side,
            labels,
            unbiased=self.unbiased,
            beta=float(self.beta),
            graph=as_graph(self.graph),
        )

    def _check_parameters(self) -> None:
        if not isinstance(self.graph, str) or self.graph != "neighbors":  # the default is right
            as_graph(self.graph)
        self._minus_one()
