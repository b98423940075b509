"""Quotients that extractors maximise: HSIC or what is explained, over variance, over a graph."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, ClassVar, Literal

import numpy as np
from scipy import linalg

from depmax._parameters import FLAG, number, one_of
from depmax.algebra import Directions, Form, Space, Sphere
from depmax.algebra.directions import negligible
from depmax.algebra.form import rank_of_factor, target_factor
from depmax.algebra.graphs import Laplacian, as_graph
from depmax.algebra.graphs.points import points_of
from depmax.data import Target, read_target
from depmax.data.reading import Labels, read_labels
from depmax.data.sample import Sample
from depmax.data.target import marks_unlabeled
from depmax.extraction._fitting.batches import BatchExtractor
from depmax.extraction._fitting.criterion import (
    Criterion,
    hsic_criterion,
    share,
    smooth_criterion,
)
from depmax.extraction.extractor import DependenceExtractor
from depmax.kernels.kernel import Kernel


def why_not_in_sums(target_kernel: Any, *, unbiased: bool) -> str | None:
    """Why HSIC with numbers does not follow from second moments; None if it does."""
    if isinstance(target_kernel, str) and target_kernel == "auto":
        return (
            "the bandwidth of their kernel is estimated from all rows. Use target_kernel='linear'"
        )
    if unbiased:
        return "unbiased HSIC needs moments of the fourth order. Use unbiased=False"
    return None


class SemiSupervisedExtractor(BatchExtractor):
    """Base of HBFE and HSCA: unlabelled rows, and the criterion with a graph of all rows.

    With ``beta`` = 0 unlabelled rows are left out, with a warning; otherwise features that change
    much between neighbours, labelled or not, are penalised.
    """

    unbiased: bool
    beta: Any
    graph: Any
    graph_penalty: Literal["published", "normalised"]
    relative: bool
    unlabeled: Literal["auto"] | None

    _declared: ClassVar = {
        "beta": number(0, 1, hint="0 ignores the unlabelled rows, 1 the labels"),
        "graph_penalty": one_of("published", "normalised"),
        "relative": FLAG,
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
                f"{type(self).__name__} with beta > 0 compares every row with its neighbours, and "
                "a row that stands for several would have different ones: with sample_weight, use "
                "beta=0."
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
            as_graph(self.graph),
            unbiased=self.unbiased,
            beta=float(self.beta),
            normalised=self._is_normalised(),
            relative=self.relative,
        )

    def _is_normalised(self) -> bool:
        """Whether features are compared by how much of their size changes between neighbours."""
        return bool(self.beta > 0) and self.graph_penalty == "normalised"

    def _check_parameters(self) -> None:
        if not isinstance(self.graph, str) or self.graph != "neighbors":  # the default is right
            as_graph(self.graph)
        self._minus_one()


#: Regularisation, or the choice of it.
Alpha = float | Literal["auto"]
#: What ``alpha="auto"`` adds where there are as many coordinates as samples, or more.
SINGULAR = 0.1
#: Smallest eigenvalue of a kernel matrix, relative to rounding errors, that ends in a gap.
GAP = 1e3


def automatic_alpha(space: Space, n_groups: int, kernel: Kernel) -> float:
    """What ``alpha="auto"`` stands for, however the same kernel is given.

    Nothing where samples span so few dimensions that the covariance within ``n_groups`` groups of
    them is known, and 0.1 where a direction could fit any target. Without few features they do so
    if the eigenvalues of the kernel matrix end in a gap, as those of a linear kernel that is passed
    as a matrix do; those of a Gaussian kernel, or of its landmarks, fade out, or are as many as the
    samples that differ.
    """
    exact = kernel.has_features and kernel.mixing is None
    if exact and space.dimension + n_groups <= space.total:
        return 0.0
    scatter = space.scatter  # diagonal without features: coordinates are principal components
    values = linalg.eigvalsh(scatter) if kernel.has_features else np.diag(scatter)
    noise = negligible(space.eps) * values.max(initial=0.0)
    size = int((values > noise).sum()) + n_groups
    few = size < space.n_samples and bool((values[values > noise] > GAP * noise).all())
    return 0.0 if few and _more_differ(space, size) else SINGULAR


@dataclass(frozen=True)
class _Places:
    """Different places on a line, at most so many, gathered from parts of the samples."""

    found: np.ndarray
    gap: float
    most: int

    def __add__(self, other: _Places) -> _Places:
        return _Places(np.append(self.found, other.found), self.gap, self.most).distinct()

    def distinct(self) -> _Places:
        places = np.sort(self.found)
        apart = np.append(True, np.diff(places) > self.gap)[: len(places)]
        return replace(self, found=places[apart][: self.most])


@dataclass(frozen=True)
class _PlacesOfPart:
    direction: np.ndarray
    none: _Places

    def __call__(self, phi: Any, part: Any) -> _Places:
        return replace(self.none, found=np.asarray(phi @ self.direction).ravel()).distinct()


def _more_differ(space: Space, count: int) -> bool:
    """Whether more samples than these differ, by their place on a line of any direction."""
    direction = np.random.default_rng(0).standard_normal(space.dimension)
    width = np.sqrt(max(float(direction @ space.covariance @ direction), 0.0))
    none = _Places(np.empty(0), GAP * negligible(space.eps) * width, count + 1)
    places = space.summed(_PlacesOfPart(direction, none))
    return len(places.found) > count


class SpheringExtractor(DependenceExtractor):
    """Base of methods that look for directions among those of unit variance."""

    alpha: Alpha
    _declared: ClassVar = {"alpha": number(0, also=["auto"])}

    def _chosen_alpha(self, space: Space, n_groups: int) -> float:
        """The number that ``alpha`` stands for; ``n_groups`` means take so many parameters."""
        if self.alpha != "auto":
            return float(self.alpha)
        return automatic_alpha(space, n_groups, self.kernel_)

    def _sphere(self, space: Space, n_groups: int) -> Sphere:
        """The samples sphered, on the range of their covariance."""
        return Sphere.of_space(space, self._chosen_alpha(space, n_groups))

    def _units_cancel(self, side: Sample, n_groups: int) -> bool:
        """Whether sphering undoes any scaling of columns: linear features, no variance added."""
        width = side.n_coordinates
        if not self._abilities().is_linear or width is None:
            return False
        if self.alpha == "auto":
            return width + n_groups <= side.total
        return float(self.alpha) == 0.0


@dataclass(frozen=True)
class Explained:
    """A target of the labelled samples, and the graph of all."""

    factor: Any  # Ψ of the target less its mean, shape (n_labelled, c): CCᵀ is what is explained
    labelled: np.ndarray | None  # which samples are, shape (m,); None: all
    laplacian: Laplacian | None  # None: the graph does not count
    mass: np.ndarray | None = None  # how many each labelled sample stands for; None: one

    @property
    def total(self) -> float:
        """Number of labelled samples, or the sum of their masses."""
        return self.factor.shape[0] if self.mass is None else float(self.mass.sum())

    @property
    def form(self) -> Form:
        """ΨΨᵀ of what is explained and the weights of the variance, both per labelled sample."""
        count = self.factor.shape[0]
        labelled = np.ones(count, dtype=bool) if self.labelled is None else self.labelled
        return Form(self.factor / count, np.full(count, 1.0 / count)).spread(labelled)


@dataclass(frozen=True)
class Sphered:
    """The quotient pᵀCCᵀp / pᵀBp, sphered by B."""

    sphere: Sphere  # of B
    cross: np.ndarray  # C per labelled sample, shape (s, c)
    variance: np.ndarray | None = None  # S of the labelled samples; None: B is made of no more
    share: float = 1.0  # what B is made of S times

    def coefficients(self, vectors: np.ndarray) -> np.ndarray:
        """Q with PQ = B⁻¹C·share, the least squares that B regularises, on directions P.

        Of shape (k, c). Directions are orthogonal in B, so that each has coefficients of its own.
        """
        inside, *_ = linalg.lstsq(self.sphere.whiten, vectors)  # v with p = Wv, and pᵀBp = ‖v‖²
        squares = np.square(inside).sum(axis=0)
        still = squares <= np.finfo(np.float64).tiny
        found: np.ndarray = (vectors.T @ self.cross) / np.where(still, np.inf, squares)[:, None]
        return self.share * found


class ExplainingExtractor(SpheringExtractor, SemiSupervisedExtractor):
    """Base of methods that explain a target by features of unit variance, smooth over a graph.

    The directions maximise pᵀCCᵀp / pᵀBp. B is the variance, with ``beta`` > 0 mixed with the
    Laplacian Δ of a graph of all samples: (1-β)S + βΦᵀΔΦ, each divided by its trace.
    """

    def _prepare(self, side: Sample, labels: Labels | None) -> Explained:  # type: ignore[override]  # more than the base promises
        assert labels is not None
        graph = as_graph(self.graph) if self.beta > 0 else None
        laplacian = None if graph is None else graph.laplacian(points_of(side))
        factor = target_factor(labels.side)
        return Explained(factor, labels.labelled, laplacian, labels.side.mass)

    def _explaining(
        self, space: Space, target: Explained, n_components: int, n_groups: int
    ) -> Directions:
        """Directions, and pᵀCCᵀp / pᵀSp of each with the variance S of the labelled samples."""
        found = self._sphered(space, target, n_groups)
        if found.variance is None:
            return found.sphere.most_correlated(found.cross, n_components)
        vectors = found.sphere.most_correlated(found.cross, n_components).vectors
        vectors = unit_variance(space, vectors)
        explained = np.sum((found.cross.T @ vectors) ** 2, axis=0)
        varies = np.einsum("ij,ij->j", vectors, found.variance @ vectors)
        reached = np.divide(explained, varies, out=np.zeros_like(explained), where=varies > 1e-12)
        return Directions(vectors, reached)

    def _sphered(self, space: Space, target: Explained, n_groups: int) -> Sphered:
        """C and B of the quotient pᵀCCᵀp / pᵀBp."""
        if target.laplacian is None:
            cross = space.moments(Form(target.factor / space.total)).cross
            return Sphered(self._sphere(space, n_groups), cross)
        moments = space.moments(target.form)
        total, smooth = moments.weighted, space.quadratic(target.laplacian.apply)
        assert total is not None
        rate, price = self._shares(target, total, smooth)
        mixed = rate * total + price * smooth
        sphere = Sphere.of(mixed, self._chosen_alpha(space, n_groups), eps=space.eps)
        return Sphered(sphere, moments.cross, total, rate)

    def _shares(
        self, target: Explained, total: np.ndarray, smooth: np.ndarray
    ) -> tuple[float, float]:
        """Factors of the variance and of ΦᵀΔΦ in B."""
        own = share(1.0 - self.beta, float(np.trace(total)))
        return own, share(float(self.beta), float(np.trace(smooth)))

    def _ignores_units(self, side: Sample, target: Explained, n_components: int) -> bool:
        known = target.laplacian is None and self._units_cancel(side, self._n_groups(target))
        return known and n_components <= rank_of_factor(target.factor)

    def _n_groups(self, target: Explained) -> int:
        """Number of parameters that the means of the samples take."""
        return 1


def unit_variance(space: Space, vectors: np.ndarray) -> np.ndarray:
    """Directions at which features have variance 1; directions of no variance stay as they are."""
    variances = np.einsum("ij,ij->j", vectors, space.covariance @ vectors)
    squares = np.einsum("ij,ij->j", vectors, vectors)
    still = variances <= 1e-14 * squares * max(float(np.trace(space.covariance)), 0.0)
    return vectors / np.sqrt(np.where(still, 1.0, variances))
