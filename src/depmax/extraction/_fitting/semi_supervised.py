"""Unlabelled rows: HSIC with the target, or what is explained of it, and a graph of all rows."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, ClassVar, Literal, NamedTuple

import numpy as np
from scipy import linalg

from depmax._parameters import FLAG, number, one_of
from depmax._resources import cached_property
from depmax.algebra.directions import Sphere, alpha_of, chosen_alpha, sphere_of_graph, unit_variance
from depmax.algebra.graphs import Laplacian, as_graph
from depmax.algebra.points import Points, points_of
from depmax.algebra.space import Directions, Form, Moments, Operator, Space, hsic_form
from depmax.data.sample import Labels, Sample, read_labels, require_samples
from depmax.data.target import AnyTarget, marks_unlabeled
from depmax.extraction.extractor import Answer, SumsExtractor


class SemiSupervisedExtractor(SumsExtractor):
    """Base of methods that may use unlabelled rows, as neighbours of labelled ones in a graph.

    With ``beta`` = 0 unlabelled rows are left out, with a warning; otherwise features that change
    much between neighbours, labelled or not, are penalised.
    """

    beta: Any
    graph: Any
    unlabeled: Literal["auto"] | None
    _streams: ClassVar[bool] = True
    _declared: ClassVar = {
        "beta": number(0, 1, hint="0 ignores the unlabelled rows, 1 the labels"),
        "graph_penalty": one_of("published", "normalised"),
        "relative": FLAG,
    }

    @property
    def _uses_unlabeled(self) -> bool:  # type: ignore[override]  # depends on parameters here
        return bool(self.beta > 0)

    @property
    def _target_rules(self) -> dict[str, Any]:  # type: ignore[override]  # the same
        return {"semi": True, "minus_one": marks_unlabeled(self.unlabeled, self.beta)}

    @property
    def _why_not_streamed(self) -> str | None:  # type: ignore[override]  # the same
        if self.beta == 0:
            return None
        return (
            "beta > 0 compares every row with its neighbours among all others. Use beta=0, or pass "
            "rows that fit in memory"
        )

    def _read_answer(self, y: Any, weight: np.ndarray | None) -> Answer:
        self._require_no_graph(weight)
        minus_one = self._target_rules["minus_one"]
        labels = read_labels(y, self.target_kernel, minus_one=minus_one, weight=weight)
        return self._counted(Answer.of(labels))

    def _counted(self, answer: Answer) -> Answer:
        """The answer, of which it is remembered how many rows have none."""
        self.n_unlabeled_ = answer.n_unlabeled
        return answer

    def _require_no_graph(self, weight: np.ndarray | None) -> None:
        """Refuse weights of rows that are neighbours in a graph."""
        if weight is not None and self.beta > 0:
            raise ValueError(
                f"{type(self).__name__} with beta > 0 compares every row with its neighbours, and "
                "a row that stands for several would have different ones: with sample_weight, use "
                "beta=0."
            )

    def _laplacian(self, data: Sample) -> Laplacian:
        """Laplacian of the graph of all rows."""
        return as_graph(self.graph).laplacian(points_of(data))

    def _check_parameters(self) -> None:
        if not isinstance(self.graph, str) or self.graph != "neighbors":  # the default is right
            as_graph(self.graph)
        marks_unlabeled(self.unlabeled, self.beta)


# --- HSIC and smoothness --------------------------------------------------------------------------


def why_not_in_sums(model: Any) -> str | None:
    """Why HSIC with numbers does not follow from second moments; None if it does."""
    if isinstance(model.target_kernel, str) and model.target_kernel == "auto":
        return (
            "the bandwidth of their kernel is estimated from all rows. Use target_kernel='linear'"
        )
    if model.unbiased:
        return "unbiased HSIC needs moments of the fourth order. Use unbiased=False"
    return None


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
    weight : ndarray of shape (m,) or None
        How many samples each stands for.
    rest : operator or None
        N of the variance ΦᵀNΦ by which directions follow that do not pay; None: the identity.
    penalty : NormalisedPenalty or None
        What the form has no place for.
    """

    form: Form
    dependence: Form
    labelled: np.ndarray | None = None
    weight: np.ndarray | None = None
    rest: Operator | None = None
    penalty: NormalisedPenalty | None = None

    def centred(self, features: np.ndarray) -> np.ndarray:
        """Features of the labelled samples, of shape (n_labelled, k), measured from their mean."""
        if self.labelled is None and not isinstance(features, np.ndarray):
            return features  # of a stream, about the mean already
        known = features if self.labelled is None else features[self.labelled]
        rest: np.ndarray = known - np.average(known, axis=0, weights=self.weight)
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

    def sphered(self, data: Sample, space: Space, form: Form) -> tuple[Sphere, Moments]:
        """Coordinates in which B + αI is the identity, and the sums of the criterion in these."""
        moments = space.moments(form)
        alpha = chosen_alpha("auto", space, 1, data.kernel, data.n_coordinates)
        sphere = sphere_of_graph(space, self.laplacian, alpha)
        cross = sphere.whiten.T @ moments.cross
        rate = share(1.0 - self.beta, float(np.sum(cross**2))) if self.relative else 1.0 - self.beta
        weighted = self.beta * sphere.image(space.quadratic(self.laplacian.apply) - sphere.matrix)
        if moments.weighted is not None:
            weighted = weighted + rate * sphere.image(moments.weighted)
        scatter = sphere.image(moments.scatter)
        return sphere, Moments(np.sqrt(rate) * cross, scatter, weighted, moments.eps)


def criterion_of(model: Any, data: Sample, answer: Answer) -> Criterion:
    """HSIC on the labelled samples, and with ``beta`` > 0 smoothness over a graph of all samples.

    The trace of the term of HSIC is that of CCᵀ, also for HSIC₁: the trace of A₁ is the HSIC₁ of
    all columns together, which by chance may be zero or negative. As printed, terms are not divided
    by traces, nor HSIC by its number of pairs.
    """
    target, beta = answer.sample, float(model.beta)
    require_samples(target.total, model.unbiased)
    form = hsic_form(answer.factor, unbiased=model.unbiased, weight=target.weight)
    if beta == 0:
        return Criterion(form, form, weight=target.weight)
    form = form.held() if answer.labelled is None else form.spread(answer.labelled)
    printed = form if model.relative else form.times(n_pairs(target.total, model.unbiased))
    points, laplacian = points_of(data), model._laplacian(data)
    if model.graph_penalty == "normalised":
        penalty = NormalisedPenalty(laplacian, beta, model.relative)
        return Criterion(printed, form, answer.labelled, penalty=penalty)
    rate, price = 1.0 - beta, beta
    if model.relative:
        rate = share(rate, points.size(form.factor))
        price = share(price, laplacian.trace(points))
    mixed = printed.times(rate).less(lambda values: price * laplacian.apply(values))
    return Criterion(mixed, form, answer.labelled, rest=SmoothVariance(laplacian, points, beta))


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


def share(part: float, trace: float) -> float:
    """The factor that gives a matrix of this trace another one."""
    return part / trace if trace > 0 else 0.0


# --- what is explained, of unit variance ----------------------------------------------------------


class Explained(NamedTuple):
    """Directions that maximise pᵀCCᵀp / pᵀBp, and the regression of the target on them."""

    directions: Directions  # their dependence is pᵀCCᵀp / pᵀSp, S the variance of labelled samples
    sphere: Sphere  # of B
    cross: np.ndarray  # C
    share: float = 1.0  # what B is made of S times

    def coefficients(self) -> np.ndarray:
        """Q with PQ = B⁻¹C·share, of shape (k, c): the least squares that B regularises.

        Of each direction on its own, since they are orthogonal in B.
        """
        vectors = self.directions.vectors
        inside, *_ = linalg.lstsq(self.sphere.whiten, vectors)  # v with p = Wv, and pᵀBp = ‖v‖²
        squares = np.square(inside).sum(axis=0)
        still = squares <= np.finfo(np.float64).tiny
        found: np.ndarray = (vectors.T @ self.cross) / np.where(still, np.inf, squares)[:, None]
        return self.share * found


def explained(
    model: Any, data: Sample, space: Space, answer: Answer, count: int, n_groups: int
) -> Explained:
    """Directions that explain a target by features of unit variance, smooth over a graph.

    B is the variance S, with ``beta`` > 0 mixed with the Laplacian Δ of a graph of all samples:
    (1-β)S + βΦᵀΔΦ, each divided by its trace, or S + βΦᵀΔΦ/m as printed.
    """
    alpha = alpha_of(model, data, space, n_groups)
    if model.beta == 0:
        cross = space.moments(Form(answer.factor / space.total)).cross
        sphere = Sphere.of_space(space, alpha)
        return Explained(sphere.most_correlated(cross, count), sphere, cross)
    n_labelled = answer.sample.n_samples
    labelled = np.ones(n_labelled, dtype=bool) if answer.labelled is None else answer.labelled
    form = Form(answer.factor / n_labelled, np.full(n_labelled, 1.0 / n_labelled)).spread(labelled)
    moments = space.moments(form)
    variance, smooth = moments.weighted, space.quadratic(model._laplacian(data).apply)
    assert variance is not None
    rate, price = 1.0, float(model.beta) / n_labelled  # the variance is a mean over labelled rows
    if getattr(model, "relative", True):
        rate = share(1.0 - model.beta, float(np.trace(variance)))
        price = share(float(model.beta), float(np.trace(smooth)))
    sphere = Sphere.of(rate * variance + price * smooth, alpha, eps=space.eps)
    vectors = unit_variance(space, sphere.most_correlated(moments.cross, count).vectors)
    reached = np.sum((moments.cross.T @ vectors) ** 2, axis=0)
    varies = np.einsum("ij,ij->j", vectors, variance @ vectors)
    reached = np.divide(reached, varies, out=np.zeros_like(reached), where=varies > 1e-12)
    return Explained(Directions(vectors, reached), sphere, moments.cross, rate)


class LabelledRows(NamedTuple):
    """The labelled rows of a target, all of whose rows a stream has."""

    target: AnyTarget
    weight: np.ndarray | None  # how many rows each stands for; None: one
    labelled: np.ndarray | None = None  # which of all rows they are; None: all
    n_skipped: int = 0  # rows without a label that a stream does not visit

    @classmethod
    def of(cls, target: AnyTarget, name: str, weight: np.ndarray | None) -> LabelledRows:
        """Those of a target; one that is missing in all rows is refused."""
        if target.is_streamed:
            return cls(target, None, n_skipped=target.n_unlabeled)
        known = target.labelled
        if not known.any():
            raise ValueError(
                f"y of {name} has no labelled rows: all {target.n_samples} are missing. Label some "
                "rows, or use an unsupervised method such as LPP."
            )
        if known.all():
            return cls(target, weight)
        return cls(target.take(known), None if weight is None else weight[known], known)

    def labels(self, sample: Sample) -> Labels:
        """A sample of these rows, and which they are."""
        return Labels(sample, self.labelled, self.n_skipped)
