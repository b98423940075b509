"""What deflation methods share: a coded target, orthogonal features and what they explain."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from depmax.algebra.deflation import OrthogonalFeatures
from depmax.algebra.form import square_of
from depmax.algebra.images import Examples, images_of
from depmax.algebra.projection import Projection
from depmax.algebra.space import Space
from depmax.data.sample import Sample
from depmax.extraction._fitting.answer import Answer, CodedTarget
from depmax.extraction._fitting.found import Found
from depmax.kernels import as_kernel
from depmax.maps.feature_map import signs

#: Features of the first run for a share of the variance; later runs are twice as long.
FIRST_RUN = 8
#: Why there are fewer features than requested, or none.
FEWER = "none of the rest depends on the target by its criterion, beyond rounding errors"
NONE = (
    "{name} found no feature that depends on the target: X is constant, or uncorrelated with y "
    "under this kernel."
)


def coded_answer(coded: CodedTarget) -> Answer:
    """A target as numbers, under the linear kernel."""
    sample = Sample(as_kernel("linear"), coded.values, weight=coded.weight)
    return Answer(sample, coded=coded)


def numbers_of(answer: Answer | None) -> CodedTarget:
    """The numbers of a target that methods of this family have read."""
    assert answer is not None
    assert answer.coded is not None
    return answer.coded


def deflated(
    model: Any,
    data: Sample,
    answer: Answer | None,
    projection: Projection,
    features: np.ndarray | Callable[[], np.ndarray],
    **known: Any,
) -> Found:
    """Orthogonal features, with their dependence on the target and what they explain of it.

    Parameters
    ----------
    model : DependenceExtractor
    data : Sample
    answer : Answer or None
        With a coded target.
    projection : Projection
    features : ndarray of shape (m, k)
        T; or what makes it, if ``squares``, ``with_target`` and ``pull`` are known.
    **known : fields of Found
    """
    center = bool(getattr(model, "center", True))
    coded = None if answer is None else answer.coded
    supervised = coded is not None and model._supervised
    values: Any = None if coded is None else coded.seen(center)
    make = (lambda: features) if isinstance(features, np.ndarray) else features
    if isinstance(features, np.ndarray):
        weights = np.ones(len(features)) if data.weight is None else data.weight
        known.setdefault("squares", weights @ np.square(features))
        known.setdefault("pull", lambda: _pulled(data, features, center))
        if values is not None:
            known.setdefault("with_target", (values * weights[:, np.newaxis]).T @ features)

    def of_inputs(features: np.ndarray) -> tuple[np.ndarray, float]:
        """‖Φᵀτ_j‖² of every feature, and Σ‖φ‖²."""
        images = images_of(data, center=center)
        return np.diagonal(images.inner(images.pull(features))), images.variance

    def explained(found: Found) -> np.ndarray:
        """Shares of the target's variance; without a target, of that of the inputs."""
        assert found.squares is not None
        if not supervised:
            own, total = of_inputs(found.features)
            return own / found.squares / total
        assert coded is not None
        assert found.with_target is not None
        shares = np.square(found.with_target).sum(axis=0) / found.squares
        return np.asarray(shares / square_of(values, coded.weight))

    pulled = known.get("with_target")
    reached = of_inputs(make())[0] if pulled is None else np.square(pulled).sum(axis=0)
    known.setdefault("explained", explained)
    dependence = reached / float(data.total - 1) ** 2
    found = Found(projection, dependence, make, turns=np.ones(len(reached)), **known)
    if found.count == 0:
        return found
    if isinstance(features, np.ndarray):
        found = found.repeated(data)
    known_by = found.with_target if supervised else found.projection.weights
    assert known_by is not None
    return found.turned(signs(known_by))


def of_examples(
    model: Any,
    data: Sample,
    answer: Answer | None,
    examples: Examples,
    indices: np.ndarray,
    weights: np.ndarray,
    found: OrthogonalFeatures,
) -> Found:
    """Features along directions with weights of a few samples."""
    weights, offset = found.conjugate(weights)
    projection = examples.project(indices, weights, offset)
    return deflated(model, data, answer, projection, found.features, basis=(indices, weights))


def gram_values(data: Sample, *, dual: bool | None = None) -> float:
    """Values of pairs of samples that ``images_of`` holds, in float64, but for a given matrix."""
    in_features = data.has_features if dual is None else not dual
    return 0.0 if in_features or data.precomputed else float(data.n_samples) ** 2


def _pulled(data: Sample, features: np.ndarray, center: bool) -> tuple[np.ndarray, np.ndarray]:
    """ΦᵀT and the mean, in the features of the kernel."""
    space = Space.held(data, center=center)
    return space.cross(features), space.mean
