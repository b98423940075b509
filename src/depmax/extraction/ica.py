"""Independent component analysis by extended infomax, and what it shares with ICA-FX."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import KW_ONLY, dataclass
from typing import Any, ClassVar, Literal

import numpy as np
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import check_random_state

from depmax._parameters import integer
from depmax._resources import one_blas_thread
from depmax._warnings import warn_caller
from depmax.algebra.directions import principal
from depmax.algebra.space import Directions, space_of
from depmax.data.sample import Sample
from depmax.extraction._ica_likelihood import NAMES, HeldRows, Likelihood, Residuals
from depmax.extraction._ica_solvers import Solution, as_solver, best_of, starts
from depmax.extraction.extractor import Answer, ComponentCount, DependenceExtractor, Found, along


@dataclass(eq=False, repr=False)
class UnmixingExtractor(DependenceExtractor):
    """Base of extractors that climb the likelihood of independent sources."""

    n_components: Any = 2
    _: KW_ONLY
    solver: Literal["quasi-newton", "natural-gradient"] | Any = "quasi-newton"
    n_init: int = 1
    random_state: int | np.random.RandomState | None = None
    n_jobs: int | None = None
    init, verbose = "regression", 0  # parameters of ICAFX alone

    _nested: ClassVar[bool] = False
    _declared: ClassVar = {"n_init": integer(1)}

    def _starts(self, likelihood: Likelihood) -> list[np.ndarray]:
        """Where the solver starts, as ``init``, ``n_init`` and ``random_state`` say."""
        rng, regression = check_random_state(self.random_state), self.init == "regression"
        return [*starts(likelihood, int(self.n_init), rng, regression=regression)]

    def _solutions(self, likelihood: Likelihood, tried: Iterable[np.ndarray]) -> list[Solution]:
        """What the solver finds from every start."""
        solver = as_solver(self.solver, type(self).__name__)
        return [solver.maximize(likelihood, start, self.verbose) for start in tried]

    def _keep_solution(self, found: Solution, order: np.ndarray) -> None:
        self.sources_ = np.array([NAMES[int(state)] for state in found.states[order]])
        self.log_likelihood_, self.n_iter_ = found.log_likelihood, found.n_iter

    def _keep_more(self, found: Found, answer: Answer) -> None:
        """Say so if the solver has stopped early."""
        *_, problem = found.more
        if problem:
            warn_caller(
                f"{type(self).__name__} did not converge; the result may be imprecise: {problem}.",
                ConvergenceWarning,
            )

    def _check_parameters(self) -> None:
        as_solver(self.solver, type(self).__name__)


@dataclass(eq=False, repr=False)
class ICA(UnmixingExtractor):
    """Independent components of X, without a target: extended infomax.

    The model is x = As with independent sources s, inverted by u = Wx. W maximises the likelihood;
    a source has heavier tails than a Gaussian, lighter ones, or those of a Gaussian, whichever
    fits. :class:`ICAFX` is the same with a target.

    Parameters
    ----------
    n_components : int, float or "auto", default=2
        Number of sources, at most the number of rows and of columns. They are sought in the span of
        as many principal axes. A float is a share of the variance that these axes hold; ``"auto"``
        the intrinsic dimension.
    solver : {"quasi-newton", "natural-gradient"} or object, default="quasi-newton"
        ``"natural-gradient"`` is the published rule, 500 steps at a rate of 0.02, which often
        stops far from the maximum. Objects ``QuasiNewton(...)`` and ``NaturalGradient(...)`` of
        ``depmax.extraction`` set tolerances, rates and numbers of steps.
    n_init : int, default=1
        Number of starts, of which the one with the largest likelihood counts: the principal axes,
        then random rotations.
    random_state : int, RandomState or None, default=None
        Of the random starts; without them nothing is random.
    n_jobs : int or None, default=None
        Threads.

    Attributes
    ----------
    components_ : ndarray of shape (n_components, n_features)
        Rows of W, for features of variance 1; the source that makes the most variance first.
    loadings_ : ndarray of shape (n_components, n_features)
        Columns of A: what one unit of each source adds to X.
    dependence_ : ndarray of shape (n_components,)
        Variance of X along with each source, ‖cov(x, u_j)‖².
    sources_ : ndarray of shape (n_components,)
        "super-gaussian", "gaussian" or "sub-gaussian".
    log_likelihood_ : float
        Mean over rows of log p(x), for principal components of variance 1.
    n_iter_ : int
        Steps of the solver.
    mean_, coordinate_names_
        See :class:`depmax.extraction.DependenceExtractor`.

    Warns
    -----
    ConvergenceWarning
        Where the solver stopped early or diverged (the best weights found are kept), or where X
        has a smaller rank than ``n_components``.

    References
    ----------
    T.-W. Lee, M. Girolami, T. Sejnowski (1999), Independent component analysis using an extended
    infomax algorithm for mixed subgaussian and supergaussian sources, Neural Computation 11.

    Examples
    --------
    >>> import numpy as np
    >>> from depmax import ICA
    >>> rng = np.random.default_rng(0)
    >>> s = np.column_stack([rng.laplace(size=500), rng.uniform(-1, 1, size=500)])
    >>> X = s @ [[2.0, 1.0], [1.0, 1.0]]
    >>> model = ICA(2).fit(X)
    >>> model.sources_.tolist()
    ['super-gaussian', 'sub-gaussian']
    >>> abs(np.corrcoef(model.transform(X).T, s.T)[:2, 2:]).round()
    array([[1., 0.],
           [0., 1.]])
    """

    n_components: int | float | Literal["auto"] = 2

    _supervised: ClassVar[bool] = False

    def _find(self, data: Sample, answer: Answer, count: int) -> Found:
        space = space_of(data)
        axes = principal(space.scatter, min(count, space.dimension), space.eps)
        if axes.count == 0:
            raise ValueError(
                f"All rows of X are equal (n_samples = {space.n_samples}): there is nothing to "
                "separate."
            )
        kept = ComponentCount.of(self).kept(axes.dependence)
        whitening = axes.vectors[:, :kept] * np.sqrt(space.total / axes.dependence[:kept])
        with one_blas_thread(self.n_jobs):
            rows = HeldRows(space.features(whitening), self.n_jobs)
            likelihood = Likelihood(rows, Residuals(np.empty(0), np.empty(0)), 0, 0.0)  # no target
            found = best_of(self._solutions(likelihood, self._starts(likelihood)))
        W = found.weights / np.linalg.norm(found.weights, axis=1, keepdims=True)  # of variance 1
        directions = whitening @ W.T
        variance = np.sum((space.covariance @ directions) ** 2, axis=0)
        order = np.argsort(-variance, kind="stable")
        self._keep_solution(found, order)
        separated = Directions(directions[:, order], variance[order])
        return along(self, space, separated, more=(found.problem,))

    @property
    def _decides_itself(self) -> bool:  # type: ignore[override]  # depends on parameters here
        """A share is one of the principal axes, so that all sources found are kept."""
        return ComponentCount.of(self).share is not None
