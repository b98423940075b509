"""Independent component analysis by extended infomax."""

from __future__ import annotations

from typing import Any, ClassVar, Literal

import numpy as np
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import check_random_state

from depmax._parameters import integer
from depmax._threads import one_blas_thread
from depmax._warnings import warn_caller
from depmax.algebra import Directions, Space, principal
from depmax.algebra.coordinates import coordinates_of
from depmax.data.sample import Sample
from depmax.extraction._fitting.answer import Answer
from depmax.extraction._fitting.found import Found, along
from depmax.extraction._fitting.number_of_components import ComponentCount
from depmax.extraction._unmixing import Likelihood, as_solver, best_of, starts
from depmax.extraction._unmixing.likelihood import NAMES
from depmax.extraction.extractor import DependenceExtractor


class ICA(DependenceExtractor):
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

    _supervised: ClassVar[bool] = False
    _nested: ClassVar[bool] = False
    _declared: ClassVar = {"n_init": integer(1)}

    def __init__(
        self,
        n_components: int | float | Literal["auto"] = 2,
        *,
        solver: Literal["quasi-newton", "natural-gradient"] | Any = "quasi-newton",
        n_init: int = 1,
        random_state: int | np.random.RandomState | None = None,
        n_jobs: int | None = None,
    ) -> None:
        self.n_components = n_components
        self.solver = solver
        self.n_init = n_init
        self.random_state = random_state
        self.n_jobs = n_jobs

    def _find(self, data: Sample, answer: Answer | None, count: int) -> Found:
        coordinates = coordinates_of(data)
        space = coordinates.space
        axes = self._principal(space, min(count, space.dimension))
        with one_blas_thread(self.n_jobs):
            white = space.features(axes)
            nothing = np.empty((len(white), 0))  # no target moves the sources
            likelihood = Likelihood.of_arrays(white, nothing, np.empty(0), 0, 0.0, self.n_jobs)
            rng, solver = check_random_state(self.random_state), as_solver(self.solver, "ICA")
            found = best_of(
                solver.maximize(likelihood, start)
                for start in starts(likelihood, int(self.n_init), rng)
            )
        W = found.unmixing.inputs
        directions = axes @ (W / np.linalg.norm(W, axis=1, keepdims=True)).T  # of variance 1
        variance = np.sum((space.covariance @ directions) ** 2, axis=0)
        order = np.argsort(-variance, kind="stable")
        self.sources_ = np.array([NAMES[int(state)] for state in found.states[order]])
        self.log_likelihood_, self.n_iter_ = found.log_likelihood, found.n_iter
        separated = Directions(directions[:, order], variance[order])
        return along(self, coordinates, separated, more=found.problem)

    def _principal(self, space: Space, n_components: int) -> np.ndarray:
        """Principal axes with features of variance 1, of shape (s, k)."""
        found = principal(space.scatter, n_components, space.eps)
        if len(found.dependence) == 0:
            raise ValueError(
                f"All rows of X are equal (n_samples = {space.n_samples}): there is nothing to "
                "separate."
            )
        kept = ComponentCount.of(self).kept(found.dependence)
        return found.vectors[:, :kept] * np.sqrt(space.total / found.dependence[:kept])

    @property
    def _decides_itself(self) -> bool:  # type: ignore[override]  # depends on parameters here
        """A share is one of the principal axes, so that all sources found are kept."""
        return ComponentCount.of(self).share is not None

    def _keep_more(self, found: Found, answer: Answer | None) -> None:
        """Say so if the solver has stopped early."""
        if found.more:
            warn_caller(
                f"ICA did not converge; the result may be imprecise: {found.more}.",
                ConvergenceWarning,
            )

    def _check_parameters(self) -> None:
        as_solver(self.solver, "ICA")
