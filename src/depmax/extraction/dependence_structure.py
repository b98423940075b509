"""Dependence structures: which dependences of features are sought, and which are avoided."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass
from typing import Any, ClassVar, Literal, NamedTuple

import numpy as np
from scipy import linalg

from depmax._parameters import number, one_of
from depmax.algebra.directions import positive_part
from depmax.algebra.row_sums import gram_of, target_factor
from depmax.algebra.space import Directions, Space, hsic_form, space_of
from depmax.data.sample import Sample, read_target_sample, require_samples
from depmax.dependence.structure import WEIGHT, Dependence, Weight
from depmax.extraction.extractor import EVERY, Answer, DependenceExtractor, Found, along
from depmax.kernels import KernelLike, as_kernel
from depmax.kernels.kernel import is_precomputed
from depmax.maps.feature_map import leading

#: What is left of the dependence outside earlier features, relative to all of it, to go on.
EXHAUSTED = 1e-13
#: Gain of a direction, relative to the largest of all, that is more than rounding errors.
NOTHING = 1e-12


class Balance(NamedTuple):
    """Matrices A of pᵀAp: of what a direction gains, and of what it loses."""

    gain: np.ndarray  # shape (s, s)
    loss: np.ndarray  # shape (s, s)

    def plus(self, weight: float, matrix: np.ndarray) -> Balance:
        """With one more term, on the side that its weight says."""
        if weight >= 0:
            return Balance(self.gain + weight * matrix, self.loss)
        return Balance(self.gain, self.loss - weight * matrix)


@dataclass(eq=False, repr=False)
class DependenceStructure(DependenceExtractor):
    """Features by a dependence structure of your own: sought and avoided dependences, weighted.

    Three dependences of a feature have a weight and a measure each: on the target, on earlier
    features, and on the inputs. Features are found one after another; each maximises the sum, or
    the quotient of what is sought and what is avoided.

    Parameters
    ----------
    n_components : int, float or "auto", default=2
        Number of features, at most the number of rows and the number of columns. A float is a share
        of the dependence. ``"auto"`` takes the smallest number whose 3-fold score is within one
        standard error of the best, up to twice the intrinsic dimension.
    kernel : kernel, name, callable, transformer or "precomputed", default="linear"
        Features are linear in the feature space of this kernel.
    target : float or Dependence, default=1.0
        Weight of the dependence on y. With 0 no target is needed.
    features : float or Dependence, default=-1.0
        Weight of the dependence on earlier features.
    inputs : float or Dependence, default=0.0
        Weight of the dependence on X.
    combine : {"quotient", "sum"}, default="quotient"
        Σ of the terms with positive weights over α + Σ of the others, or the sum of all.
    orthogonal : bool, default=False
        Whether directions are orthogonal to earlier ones. Without it nothing but the dependence on
        earlier features keeps a feature from repeating them.
    alpha : float, default=1e-5
        Of the quotient: added to every direction of the denominator, relative to its trace per
        earlier feature. Positive.
    estimator : estimator, optional
        Predicts y from features for ``n_components="auto"``; by default the five nearest
        neighbours.
    scoring : str or callable, optional
        Its score, as in scikit-learn; by default the estimator's own.

    Attributes
    ----------
    components_ : ndarray of shape (n_components, n_features)
        Directions of unit length; only with ``kernel="linear"``.
    dependence_ : ndarray of shape (n_components,)
        What each feature gains: the sum of its terms with positive weights.
    dependences_ : ndarray of shape (n_components, 3)
        Each feature's dependence on the target, on earlier features and on the inputs, as measured,
        without weights; 0 where the weight is 0.
    n_components_ : int
        Number of features.
    loadings_, mean_, coordinate_names_
        See :class:`depmax.extraction.DependenceExtractor`; linear only.
    kernel_, target_kernel_ : Kernel
        With every recipe replaced by numbers.

    Warns
    -----
    ConvergenceWarning
        If there are fewer features than requested: no other direction gains anything, or it
        repeats earlier features.

    See Also
    --------
    HSCA : ``target=1, features=-1`` and the quotient, which are the defaults here.
    HBFE : ``target=1, features=0, orthogonal=True`` and the sum.
    depmax.neural.NeuroStructure : The same with neural networks.

    Notes
    -----
    Each feature takes an eigenproblem as large as the columns, or the rows if these are fewer;
    :class:`HSCA` and :class:`HBFE` are faster for their structures, and take graphs, unlabelled
    rows, weights and streams. Negative eigenvalues of the denominator, which HSIC₁ has, count as
    zero.

    References
    ----------
    P. Daniušis (2012), Feature extraction via dependence structure optimization, section 4.1.

    Examples
    --------
    >>> import numpy as np
    >>> from depmax import HSCA, Dependence, DependenceStructure
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(100, 4)) @ rng.normal(size=(4, 4))
    >>> y = X[:, 2] > 0
    >>> model = DependenceStructure(2).fit(X, y)
    >>> np.allclose(model.components_, HSCA(2).fit(X, y).components_, atol=1e-8)
    True

    Features that depend on the target, little on each other, and keep what X has:

    >>> structure = {"target": 1.0, "features": Dependence(-1.0, kernel="gaussian"), "inputs": 0.3}
    >>> model = DependenceStructure(2, combine="sum", **structure).fit(X, y)
    >>> model.dependences_.shape
    (2, 3)
    """

    n_components: int | float | Literal["auto"] = 2
    _: KW_ONLY
    kernel: KernelLike = "linear"
    target: Weight = 1.0
    features: Weight = -1.0
    inputs: Weight = 0.0
    combine: Literal["quotient", "sum"] = "quotient"
    orthogonal: bool = False
    alpha: float = 1e-5
    estimator: Any = None
    scoring: Any = None

    _why_fewer: ClassVar[str] = "no other direction gains anything, or it repeats these"
    _declared: ClassVar = {
        "target": WEIGHT,
        "features": WEIGHT,
        "inputs": WEIGHT,
        "combine": one_of("quotient", "sum"),
        "orthogonal": one_of(True, False),
        "alpha": number(0, ends="()"),
    }

    @property
    def _supervised(self) -> bool:  # type: ignore[override]  # depends on parameters here
        return not WEIGHT.accepts(self.target) or Dependence.of(self.target).weight != 0

    def _check_parameters(self) -> None:
        weights = [Dependence.of(term).weight for term in (self.target, self.features, self.inputs)]
        if max(weights[0], weights[2]) <= 0:
            raise ValueError(
                "DependenceStructure has nothing that the first feature gains: give target or "
                f"inputs a positive weight, got {weights[0]:g} and {weights[2]:g}."
            )
        if weights[1] >= 0 and not self.orthogonal and self.n_components != 1:
            raise ValueError(
                "All features of this DependenceStructure would be the same: give features a "
                "negative weight, or pass orthogonal=True."
            )
        inputs = Dependence.of(self.inputs)
        own = not (isinstance(inputs.kernel, str) and inputs.kernel == "auto")
        if inputs.weight != 0 and own and is_precomputed(self.kernel):
            raise ValueError(
                "inputs of DependenceStructure has a kernel of its own, but X is a kernel matrix: "
                "leave it out, or pass rows."
            )

    def _read_answer(self, y: Any, weight: np.ndarray | None) -> Answer | None:
        if not self._supervised:
            return None
        sample = read_target_sample(y, Dependence.of(self.target).kernel, weight=weight)
        return Answer(sample, limit=EVERY)

    def _find(self, data: Sample, answer: Answer | None, count: int) -> Found:
        space = space_of(data)
        with space.solving():
            return self._directions(space, data, answer, count)

    def _directions(self, space: Space, data: Sample, answer: Answer | None, count: int) -> Found:
        on_target = self._of_target(space, answer)
        on_inputs = self._of_inputs(space, data)
        nothing = np.zeros((space.dimension, space.dimension))
        fixed = Balance(nothing, nothing)
        fixed = fixed.plus(Dependence.of(self.target).weight, on_target)
        fixed = fixed.plus(Dependence.of(self.inputs).weight, on_inputs)
        found = np.empty((space.dimension, 0))
        reached: list[float] = []
        measured: list[list[float]] = []
        while len(reached) < min(count, space.dimension):
            on_features = self._of_features(space, found)
            terms = fixed.plus(Dependence.of(self.features).weight, on_features)
            vector = self._next(terms, found)
            if vector is None:
                break
            reached.append(float(vector @ terms.gain @ vector))
            matrices = (on_target, on_features, on_inputs)
            measured.append([float(vector @ matrix @ vector) for matrix in matrices])
            found = np.column_stack([found, vector])
        if not reached:
            raise ValueError(
                "No direction gains anything by this DependenceStructure: X or y is constant, or "
                "what is avoided outweighs what is sought."
            )
        directions = Directions(found, np.array(reached))
        return along(self, space, directions, more=np.array(measured))

    def _keep_more(self, found: Found, answer: Answer | None) -> None:
        self.dependences_ = found.more[: found.count]

    def _of_target(self, space: Space, answer: Answer | None) -> np.ndarray:
        if answer is None:
            return np.zeros((space.dimension, space.dimension))
        return measured_by(space, answer.factor, Dependence.of(self.target))

    def _of_features(self, space: Space, found: np.ndarray) -> np.ndarray:
        term = Dependence.of(self.features)
        if term.weight == 0 or found.shape[1] == 0:
            return np.zeros((space.dimension, space.dimension))
        kernel = as_kernel(term.seen_by("linear"))
        factor = target_factor(Sample(kernel, space.features(found)).resolved())
        return measured_by(space, factor, term)

    def _of_inputs(self, space: Space, data: Sample) -> np.ndarray:
        term = Dependence.of(self.inputs)
        if term.weight == 0:
            return np.zeros((space.dimension, space.dimension))
        if isinstance(term.kernel, str) and term.kernel == "auto":
            return measured_by(space, space.centred(), term)
        sample = Sample(as_kernel(term.kernel), data.rows).resolved()
        return measured_by(space, target_factor(sample), term)

    def _next(self, terms: Balance, found: np.ndarray) -> np.ndarray | None:
        """The direction of unit length that maximises the sum or the quotient; None: no gain."""
        count = found.shape[1]
        size = float(np.abs(np.diag(terms.gain)).sum())
        within = np.eye(len(found))
        if self.orthogonal and count:  # an orthonormal basis of what is left
            if count == len(found):
                return None
            within = linalg.qr(found)[0][:, count:]
            terms = Balance(*(within.T @ matrix @ within for matrix in terms))
        if self.combine == "sum":
            vector = leading(_symmetric(terms.gain - terms.loss), 1)[1][:, 0]
        else:
            values, basis = positive_part(terms.loss)
            seen = values > NOTHING * values.max(initial=0.0)
            values, basis = values[seen], basis[:, seen]
            if _repeats(terms.gain, basis, count):
                return None
            penalty = float(self.alpha) * values.sum() / max(count, 1)
            # √α(B + αI)^(-½) = I - U diag(roots) Uᵀ on both sides of A
            roots = 1.0 - np.sqrt(penalty / (values + penalty))
            shrink = np.eye(len(basis)) - (basis * roots) @ basis.T
            vector = shrink @ leading(_symmetric(shrink @ terms.gain @ shrink), 1)[1][:, 0]
            vector /= linalg.norm(vector)
        gained = vector @ terms.gain @ vector
        gained -= vector @ terms.loss @ vector if self.combine == "sum" else 0.0
        return within @ vector if gained > NOTHING * size else None


def measured_by(space: Space, factor: Any, term: Dependence) -> np.ndarray:
    """A with pᵀAp = HSIC(Φp, z)/√HSIC₀(z, z), for Ψ with ΨΨᵀ the centred kernel matrix of z."""
    require_samples(space.total, term.unbiased)
    size = float(linalg.norm(gram_of(factor))) / (space.total - 1)
    if size == 0:
        return np.zeros((space.dimension, space.dimension))
    return space.moments(hsic_form(factor, unbiased=term.unbiased)).criterion / size


def _repeats(gain: np.ndarray, basis: np.ndarray, count: int) -> bool:
    """Whether all that can be gained lies in the span of at most ``count`` avoided directions."""
    if not 0 < basis.shape[1] <= count:
        return False
    outside = gain - basis @ (basis.T @ gain)
    outside = outside - (outside @ basis) @ basis.T
    return bool(linalg.norm(outside) <= EXHAUSTED * linalg.norm(gain))


def _symmetric(matrix: np.ndarray) -> np.ndarray:
    symmetric: np.ndarray = (matrix + matrix.T) / 2
    return symmetric
