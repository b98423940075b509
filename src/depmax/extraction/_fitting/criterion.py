"""What directions maximise: HSIC with the target, and smoothness over a graph of all samples."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from depmax.algebra import Directions, Form, Moments, Space, Sphere, hsic_form
from depmax.algebra.form import Operator, target_factor
from depmax.algebra.graphs import Graph, Laplacian
from depmax.algebra.graphs.points import Points, points_of
from depmax.data.reading import Labels
from depmax.data.sample import Sample, require_samples


@dataclass(frozen=True)
class Criterion:
    """The form that directions maximise, and the form of HSIC alone.

    Attributes
    ----------
    form : Form
        M of (1-β)/s·HSIC - β/t·fᵀΔf with s and t the traces of both terms, or as printed; for
        β = 0, and with a normalised penalty, that of HSIC.
    dependence : Form
        M of HSIC with the target.
    labelled : ndarray of shape (m,) or None
        Which samples are labelled; None: all.
    mass : ndarray of shape (m,) or None
        How many samples each stands for.
    rest : operator or None
        N of the variance ΦᵀNΦ by which directions follow that do not pay; None: the identity.
    penalty : NormalisedPenalty or None
        What the form has no place for.
    """

    form: Form
    dependence: Form
    labelled: np.ndarray | None = None
    mass: np.ndarray | None = None
    rest: Operator | None = None
    penalty: NormalisedPenalty | None = None

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

    def moments(self, space: Space) -> Moments:
        """Sums over the samples of a space, with the variance by which directions follow."""
        moments = space.moments(self.form)
        return (
            moments if self.rest is None else replace(moments, scatter=space.quadratic(self.rest))
        )

    def judged(self, space: Space, found: Directions) -> Directions:
        """The directions with the HSIC that each reaches."""
        if self.form is self.dependence and self.penalty is None:
            return found
        reached = self.dependence.reached(space.features(found.vectors))
        return Directions(found.vectors, reached)


@dataclass(frozen=True)
class NormalisedPenalty:
    """pᵀΦᵀΔΦp / pᵀΦᵀDΦp, the share of a feature's size that changes between neighbours.

    With A of HSIC, B = ΦᵀDΦ about the mean weighted by D and L = ΦᵀΔΦ the directions maximise
    pᵀ((1-β)A/s + β(B - L))p / pᵀ(B + αI)p, s the trace of CCᵀ where B + αI is the identity, or 1.
    For α = 0 that is (1-β)/s·pᵀAp/pᵀBp - β·pᵀLp/pᵀBp, but for β, which is the same for all p.
    """

    laplacian: Laplacian
    beta: float
    relative: bool

    def sphered(self, space: Space, form: Form, alpha: float) -> tuple[Sphere, Moments]:
        """Coordinates in which B + αI is the identity, and the sums of the criterion in these."""
        moments = space.moments(form)
        sphere = sphere_of_graph(space, self.laplacian, alpha)
        cross = sphere.whiten.T @ moments.cross
        rate = share(1.0 - self.beta, float(np.sum(cross**2))) if self.relative else 1.0 - self.beta
        weighted = self.beta * sphere.image(space.quadratic(self.laplacian.apply) - sphere.matrix)
        if moments.weighted is not None:
            weighted = weighted + rate * sphere.image(moments.weighted)
        scatter = sphere.image(moments.scatter)
        return sphere, Moments(np.sqrt(rate) * cross, scatter, weighted, moments.eps)


def hsic_criterion(target: Sample, *, unbiased: bool) -> Criterion:
    """HSIC with a target that is known for all samples."""
    require_samples(target.total, unbiased)
    form = hsic_form(target_factor(target), unbiased=unbiased, mass=target.mass)
    return Criterion(form, form, mass=target.mass)


def smooth_criterion(
    side: Sample,
    labels: Labels,
    graph: Graph,
    *,
    unbiased: bool,
    beta: float,
    normalised: bool,
    relative: bool,
) -> Criterion:
    """HSIC on the labelled samples, and smoothness over a graph of all samples.

    The trace of the term of HSIC is that of CCᵀ, also for HSIC₁: the trace of A₁ is the HSIC₁ of
    all columns together, which by chance may be zero or negative. As printed, terms are not divided
    by traces, nor HSIC by its number of pairs.
    """
    form = hsic_criterion(labels.side, unbiased=unbiased).form
    form = form.held() if labels.labelled is None else form.spread(labels.labelled)
    printed = form if relative else _scaled(form, n_pairs(labels.side.total, unbiased))
    points = points_of(side)
    laplacian = graph.laplacian(points)
    if normalised:
        penalty = NormalisedPenalty(laplacian, beta, relative)
        return Criterion(printed, form, labels.labelled, penalty=penalty)
    rate, price = 1.0 - beta, beta
    if relative:
        rate = share(rate, points.size(form.factor))
        price = share(price, laplacian.trace(points))
    mixed = replace(
        _scaled(printed, rate),
        labelled=labels.labelled,
        penalty=lambda values: price * laplacian.apply(values),
    )
    return Criterion(mixed, form, labels.labelled, rest=SmoothVariance(laplacian, points, beta))


@dataclass(frozen=True)
class SmoothVariance:
    """N of a variance of which a share β is that of the middles of edges.

    ΦᵀNΦ = (1-β)·ΦᵀΦ + β·Φᵀ(2D - Δ)Φ, each divided by its trace, where
    fᵀ(2D - Δ)f = ½ Σ W_ij (f_i + f_j)².
    """

    laplacian: Laplacian
    points: Points
    beta: float

    def __call__(self, values: np.ndarray) -> np.ndarray:
        """N times columns of values at the samples, of shape (m, k)."""
        own, middles = self._rates
        images: np.ndarray = own * values - middles * self.laplacian.apply(values)
        return images + 2.0 * middles * self.laplacian.diagonal[:, np.newaxis] * values

    @cached_property
    def _rates(self) -> tuple[float, float]:
        norms = self.points.norms()
        middles = 2.0 * float(self.laplacian.diagonal @ norms) - self.laplacian.trace(self.points)
        return share(1.0 - self.beta, float(norms.sum())), share(self.beta, middles)


def n_pairs(total: float, unbiased: bool) -> float:
    """What HSIC is divided by: it is pᵀΦᵀMΦp over this, with M as printed."""
    return total * (total - 3.0) if unbiased else (total - 1.0) ** 2


def _scaled(form: Form, rate: float) -> Form:
    weights = None if form.weights is None else rate * form.weights
    return replace(form, factor=np.sqrt(rate) * form.factor, weights=weights)


def share(part: float, trace: float) -> float:
    """The factor that gives a matrix of this trace another one."""
    return part / trace if trace > 0 else 0.0


def sphere_of_graph(space: Space, laplacian: Laplacian, alpha: float) -> Sphere:
    """Sphere of B = ΦᵀDΦ about the mean weighted by D; for a normalised Laplacian of ΦᵀΦ."""
    if laplacian.normalized:
        size, total = space.scatter, float(space.n_samples)
    else:
        degrees = laplacian.degrees

        def weighted(values: np.ndarray) -> np.ndarray:
            images: np.ndarray = degrees[:, np.newaxis] * values
            return images - np.outer(degrees, images.sum(axis=0) / degrees.sum())

        size, total = space.quadratic(weighted), float(degrees.sum())
    return Sphere.of(size, alpha, eps=space.eps, noise=total * space.rounding)
