"""One network after another, each with the dependences that a structure asks for.

NeuroStructure maximises what its user weighs; NeuroHSCA one such quotient, and takes earlier
features out of what follows.
"""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass
from typing import Any, ClassVar, Literal

import numpy as np
import torch
from scipy import linalg
from sklearn.exceptions import ConvergenceWarning

from depmax._parameters import Rule, is_number, number, one_of
from depmax._warnings import warn_caller
from depmax.algebra.graphs import GraphLike
from depmax.neural._extractor import n_constant, upward
from depmax.neural._statistics import (
    TINY,
    alignment,
    gram,
    hsic0,
    hsic_with,
    size_of,
    uncorrelated,
    whiten,
)
from depmax.neural.hbfe import DependenceNetwork, DependenceObjective, LabelledTarget

#: Deviation of an output, relative to its largest value, that rounding errors leave.
NOTHING = 1e-6
#: Correlation of two features above which one repeats the other.
ALIKE = 0.9


class QuotientObjective(DependenceObjective):
    """A(f, y)/(α + A(f, earlier)) of outputs f that are uncorrelated with earlier features.

    A is the centred alignment of kernel matrices.
    """

    def outputs(self, places: Any) -> Any:
        """Outputs without what is linear in earlier features there."""
        outputs = super().outputs(places)
        if self.earlier is None:
            return outputs
        return uncorrelated(outputs, self.earlier.index_select(0, places.to(self.earlier.device)))

    def dependence(self, places: Any, factor: Any, weight: float) -> Any:
        """The quotient; without earlier features the dependence alone."""
        if self.earlier is None:
            return super().dependence(places, factor, weight)
        kernel = self.model.feature_kernel
        K = gram(whiten(self.outputs(places)), kernel)
        dependence = hsic_with(K, factor, unbiased=bool(self.model.unbiased))
        redundant = alignment(K, gram(self.earlier.index_select(0, places), kernel))
        alpha = float(self.model.alpha)
        return dependence * (weight / self.scale) / size_of(K) / (alpha + redundant)


@dataclass(eq=False, repr=False)
class NeuroHSCA(DependenceNetwork):
    """Features of neural networks, one after another, that depend on the target, not on each other.

    One network after another, each with a single output f, maximises A(f, y)/(α + A(f, earlier
    features)), where A is HSIC divided by √(HSIC(f, f) HSIC(y, y)). A lies between 0 and 1, so α
    has a scale and the quotient is bounded even if f is independent of all earlier features.
    Alone the quotient would grow with a copy of the first feature once that is nearly a function
    of y. So earlier features are taken out, by linear regression, of both: f is uncorrelated with
    them on the training rows, and y counts only as far as they do not explain it.

    Parameters
    ----------
    n_components : int, default=2
        Number of features, at most the number of rows and the number of columns.
    hidden_layers : sequence of int, default=(32,)
        Widths of the hidden layers of each multilayer perceptron.
    activation : {"tanh", "relu", "gelu", "sigmoid", "linear"}, default="tanh"
        Activation after every hidden layer; without hidden layers it must be ``"linear"``.
    weight_decay, solver, validation_fraction, device, random_state, verbose : as in NeuroHBFE
    module : torch.nn.Module or None, default=None
        Your own network with one output per row. ``fit`` trains one copy per feature; copies after
        the first start from new weights (``reset_parameters`` of their layers).
    target_kernel : kernel, name or "auto", default="auto"
        ``"auto"`` depends on the type of y, as in ``HSCA``.
    feature_kernel : {"gaussian", "linear"}, default="gaussian"
        Kernel of the standardised features.
    unbiased : bool, default=True
        HSIC₁ or HSIC₀ in the numerator; the denominator is HSIC₀, which is never negative.
    alpha : float, default=0.05
        Positive. The smaller, the more a feature avoids the earlier ones.
    beta, graph, unlabeled : as in NeuroHBFE

    Attributes
    ----------
    module_ : torch.nn.Module or list
        The trained networks.
    dependence_ : ndarray of shape (n_components,)
        HSIC of each feature with the target, averaged over blocks of about 1,000 rows. It is near
        zero for features that find nothing left to explain.
    validation_scores_ : list
        Value of the quotient on the held-out rows, for each feature.
    n_iter_, n_unlabeled_ : int
    target_kernel_ : Kernel

    References
    ----------
    P. Daniušis (2012), Feature extraction via dependence structure optimization, section 4.5.2.

    Examples
    --------
    >>> from depmax.datasets import make_rings
    >>> from depmax.neural import NeuroHSCA
    >>> X, y = make_rings(200, random_state=0)
    >>> NeuroHSCA(2, random_state=0).fit_transform(X, y).shape
    (200, 2)
    """

    _: KW_ONLY
    alpha: float = 0.05
    beta: float = 0.0
    graph: GraphLike = "neighbors"
    unlabeled: Literal["auto"] | None = "auto"

    _declared: ClassVar = {"alpha": number(1e-12)}
    _objective: ClassVar[type[DependenceObjective]] = QuotientObjective

    def _unexplained(self, target: LabelledTarget, features: np.ndarray | None) -> np.ndarray:
        """What linear functions of earlier features leave of the coordinates."""
        if features is None:
            return target.factor
        known = features[target.rows] - features[target.rows].mean(axis=0)
        slopes, *_ = linalg.lstsq(known, target.factor)
        rest: np.ndarray = target.factor - known @ slopes
        return rest

    def _new_basis(self, outputs: np.ndarray, target: LabelledTarget) -> np.ndarray:
        """The newest feature: its output minus what earlier ones explain, with variance 1."""
        count, centred = outputs.shape[1], outputs - outputs.mean(axis=0)
        basis = np.zeros((count, count))
        if count > 1:
            basis[:-1, :-1] = self._basis
        slopes, *_ = linalg.lstsq(centred @ basis, centred[:, -1])
        newest = np.eye(count)[:, -1] - basis @ slopes
        rest = centred @ newest
        if rest.std() > NOTHING * np.abs(outputs[:, -1]).max():
            basis[:, -1] = newest * upward(rest[:, np.newaxis]) / rest.std()
        return basis


#: A number of any sign.
Weight = float
_WEIGHT = Rule(
    is_number, "a finite number", "positive for what is sought, negative for what is avoided"
)


class StructureObjective(DependenceObjective):
    """The sum, or the quotient, of the dependences of a network's output."""

    def dependence(self, places: Any, factor: Any, weight: float) -> Any:
        """Sum of the weighted dependences, or what is sought over α and what is avoided."""
        weights = (float(self.model.target), float(self.model.features), float(self.model.inputs))
        pairs = list(zip(weights, self.dependences(places, factor), strict=True))
        if self.model.combine == "sum":
            return weight * sum(part * value for part, value in pairs)
        sought = sum(part * value for part, value in pairs if part > 0)
        avoided = sum(part * value for part, value in pairs if part < 0)
        return weight * (sought / (float(self.model.alpha) - avoided))

    def dependences(self, places: Any, factor: Any) -> list[Any]:
        """HSIC(f, z)/√(HSIC₀(f, f) HSIC₀(z, z)) for target, earlier features and inputs."""
        kernel, unbiased = self.model.feature_kernel, bool(self.model.unbiased)
        K = gram(whiten(self.outputs(places)), kernel)
        own = size_of(K)
        centred = factor - factor.mean(dim=0)
        size = torch.linalg.norm(centred.T @ centred) / (len(places) - 1)
        found = [hsic_with(K, centred, unbiased=unbiased) / (own * (size + TINY))]
        for weight, values in (
            (self.model.features, self.earlier),
            (self.model.inputs, self.inputs),
        ):
            if weight == 0 or values is None:
                found.append(torch.zeros_like(own))
            else:
                L = gram(values.index_select(0, places), kernel)
                found.append(hsic0(K, L) / (own * size_of(L)))
        return found


@dataclass(eq=False, repr=False)
class NeuroStructure(DependenceNetwork):
    """Features of neural networks by a dependence structure of your own.

    One network after another, each with a single output f, maximises a weighted sum of its
    dependences on the target, on earlier features and on the inputs, or the quotient of those with
    positive weights and α plus the others. A dependence is HSIC(f, z)/√(HSIC₀(f, f) HSIC₀(z, z)),
    between 0 and 1.

    Parameters
    ----------
    n_components : int, default=2
        Number of features, at most the number of rows and the number of columns.
    hidden_layers : sequence of int, default=(32,)
        Widths of the hidden layers of each multilayer perceptron.
    activation : {"tanh", "relu", "gelu", "sigmoid", "linear"}, default="tanh"
        Activation after every hidden layer; without hidden layers it must be ``"linear"``.
    weight_decay, solver, validation_fraction, device, random_state, verbose : as in NeuroHBFE
    module : torch.nn.Module or None, default=None
        Your own network with one output per row. ``fit`` trains one copy per feature.
    target_kernel : kernel, name or "auto", default="auto"
        ``"auto"`` depends on the type of y.
    feature_kernel : {"gaussian", "linear"}, default="gaussian"
        Kernel of the standardised features and inputs.
    unbiased : bool, default=True
        HSIC₁ or HSIC₀ with the target; other dependences are HSIC₀, which is never negative.
    target : float, default=1.0
        Weight of the dependence on y, positive.
    features : float, default=-1.0
        Weight of the dependence on earlier features.
    inputs : float, default=0.0
        Weight of the dependence on the standardised columns of X.
    combine : {"quotient", "sum"}, default="quotient"
        How the terms are combined.
    alpha : float, default=0.05
        Added to the denominator of the quotient, positive.

    Attributes
    ----------
    module_ : torch.nn.Module or list
        The trained networks.
    dependence_ : ndarray of shape (n_components,)
        Dependence of each feature on the target.
    dependences_ : ndarray of shape (n_components, 3)
        Dependence of each feature on the target, on earlier features and on the inputs, without
        weights, on all labelled rows; 0 where the weight is 0.
    validation_scores_ : list
        The sum or quotient on the held-out rows, for each feature.
    n_iter_, n_unlabeled_ : int
    target_kernel_ : Kernel

    Warns
    -----
    ConvergenceWarning
        If a feature is constant, or two have a correlation above 0.9.

    See Also
    --------
    depmax.DependenceStructure : The same in the space of a kernel, by eigenproblems.
    NeuroHSCA : This quotient, with earlier features also taken out of features and target.

    Notes
    -----
    The default is the published NeuroHSCA (equation 4.23). Nothing is deflated, so where one
    feature is nearly a function of y, its copy has the largest quotient for every α > 0: then
    weigh ``features`` more with ``combine="sum"``, or use :class:`NeuroHSCA`.

    References
    ----------
    P. Daniušis (2012), Feature extraction via dependence structure optimization, sections 4.1 and
    4.5.

    Examples
    --------
    >>> from depmax.datasets import make_rings
    >>> from depmax.neural import NeuroStructure
    >>> X, y = make_rings(200, random_state=0)
    >>> model = NeuroStructure(2, combine="sum", features=-2.0, random_state=0).fit(X, y)
    >>> model.dependences_.shape
    (2, 3)
    """

    _: KW_ONLY
    target: Weight = 1.0
    features: Weight = -1.0
    inputs: Weight = 0.0
    combine: Literal["quotient", "sum"] = "quotient"
    alpha: float = 0.05

    _declared: ClassVar = {
        "target": number(0, ends="()", hint="the first feature would gain nothing"),
        "features": _WEIGHT,
        "inputs": _WEIGHT,
        "combine": one_of("quotient", "sum"),
        "alpha": number(1e-12),
    }
    _objective: ClassVar[type[DependenceObjective]] = StructureObjective

    def _new_basis(self, outputs: np.ndarray, target: LabelledTarget) -> np.ndarray:
        """Features are standardised and have a sign."""
        spread = outputs.std(axis=0)
        flips = upward(outputs - outputs.mean(axis=0))
        return np.diag(flips / np.where(spread == 0, 1.0, spread))

    def _dependences(
        self, trained: list[Any], features: np.ndarray, target: LabelledTarget
    ) -> np.ndarray:
        """On the target; those on earlier features and on inputs are kept too."""
        with torch.no_grad():
            found = [each.dependences(*each.at(np.arange(len(target.rows)))) for each in trained]
        self.dependences_ = np.array([[float(value) for value in row] for row in found])
        strongest = 0.0
        if features.shape[1] > 1 and n_constant(features) == 0:
            strongest = float(np.abs(np.triu(np.corrcoef(features.T), 1)).max())
        if strongest > ALIKE:  # the weights did not keep features apart
            warn_caller(
                f"Features of NeuroStructure repeat each other: the correlation of two of them is "
                f"{strongest:.2f}. Pass combine='sum' with a weight of features below "
                f"{self.features:g}, or use NeuroHSCA, which takes earlier features out.",
                ConvergenceWarning,
            )
        return self.dependences_[:, 0]

    def _check_parameters(self) -> None:
        super()._check_parameters()
        if self.features >= 0 and self.n_components > 1:
            raise ValueError(
                f"features of NeuroStructure must be negative, got {self.features!r}: otherwise "
                "all features are the same."
            )
