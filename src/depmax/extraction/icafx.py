"""ICA-FX: independent components, some of which depend on the target."""

from __future__ import annotations

import time
from dataclasses import KW_ONLY, dataclass
from functools import partial
from typing import Any, ClassVar, Literal

import numpy as np
from sklearn.utils.validation import check_is_fitted

from depmax._parameters import integer, number, one_of
from depmax._resources import one_blas_thread, warn_if_long
from depmax.algebra.row_sums import CentredValues, centred_target, gram_of
from depmax.algebra.space import Directions, Form, Space, space_of
from depmax.data import read_target
from depmax.data.sample import Sample, precision, read_rows
from depmax.data.table import require_equal_length
from depmax.extraction._ica_likelihood import (
    HeldRows,
    Likelihood,
    Residuals,
    Sphering,
    StreamedRows,
    sphere,
)
from depmax.extraction._ica_solvers import Solution, best_of, one_more, the_most_moved
from depmax.extraction.extractor import EVERY, Answer, Found, along
from depmax.extraction.ica import UnmixingExtractor
from depmax.kernels import Delta, Linear

#: Visits to all rows that a fit takes, at least: see ``n_passes_``.
VISITS = 30


@dataclass(eq=False, repr=False)
class ICAFX(UnmixingExtractor):
    """Linear features with the most mutual information with the target, by supervised ICA.

    The model is x = As + Bt with independent sources s that are also independent of the target t.
    It is inverted by u = Wx + Vt, where only the first ``n_components`` rows of V are not zero: the
    other rows of Wx are independent of t, so the first ones, the features, contain everything that
    x says about t. W and V maximise the likelihood; a source has heavier tails than a Gaussian,
    lighter ones, or those of a Gaussian, whichever fits best.

    Parameters
    ----------
    n_components : int, "bic" or "auto", default=2
        Number of features, at most the number of rows and the number of columns. ``"bic"`` takes
        the number with the smallest Bayesian information criterion: how many sources depend on the
        target, as far as the likelihood can tell; it needs no estimator. ``"auto"`` takes the
        smallest number whose 3-fold score is within one standard error of the best, up to twice the
        intrinsic dimension, and fits every number separately, since the features of a larger model
        differ. A share is refused: it would have to be a share of what such a larger model reaches.
    solver : {"quasi-newton", "natural-gradient"} or object, default="quasi-newton"
        ``"natural-gradient"`` is the published rule, 500 steps at a rate of 0.02, which often
        stops far from the maximum. Objects ``QuasiNewton(...)`` and ``NaturalGradient(...)`` of
        ``depmax.extraction`` set tolerances, rates and numbers of steps.
    n_init : int, default=1
        Number of starting points; the result with the largest likelihood is kept. All after the
        first are random.
    random_state : int, RandomState or None, default=None
        Seed of the random starting points.
    n_jobs : int or None, default=None
        Threads.
    init : {"regression", "random"}, default="regression"
        Where the solver starts. ``"regression"``: with one feature and with as many as inputs, at
        the maximum for Gaussian sources, where the first features are directions of regression;
        then features are added one at a time, so that the likelihood never falls as their number
        grows. ``"random"``: at random rotations with all features at once, as published.
    alpha : float, default=1e-6
        Assumed variance of the noise in each sphered input. It bounds the likelihood if y is a
        linear function of X, as is always the case with fewer rows than columns; larger values then
        give smoother features.
    verbose : int, default=0
        Whether to print progress.

    Attributes
    ----------
    components_ : ndarray of shape (n_components, n_features)
        The first rows of W, most dependent first.
    target_weights_ : ndarray of shape (n_components, n_targets)
        The first rows of V: weights of the targets, or of indicators of ``classes_``.
    dependence_ : ndarray of shape (n_components,)
        -log(1 - R²)/2 of each feature regressed on the target: the mutual information, in nats, of
        Gaussian variables with these correlations.
    sources_ : ndarray of shape (n_components,)
        "super-gaussian", "gaussian" or "sub-gaussian".
    log_likelihood_ : float
        Mean over rows of log p(x | t), for sphered x.
    bic_ : ndarray of shape (n_tried,)
        -2 m ``log_likelihood_`` + k q log m for k = 1, 2, … features, with m rows and targets of
        rank q; only with ``n_components="bic"``. Numbers that cannot be the best are not tried.
    n_iter_, n_passes_ : int
        Steps of the solver that led to the result, and visits to all rows from all starts together.
        A table that is read a chunk at a time is read that often, and a few times more.
    classes_ : ndarray
        Labels of the indicators; only for classes.
    loadings_, mean_, coordinate_names_
        See :class:`depmax.extraction.DependenceExtractor`.

    Warns
    -----
    ConvergenceWarning
        If the solver stopped early or diverged (the best weights found are kept), or if the rank of
        X is smaller than ``n_components``.

    References
    ----------
    N. Kwak, C. Kim, H. Kim (2008), Dimensionality reduction based on ICA for regression problems,
    Neurocomputing 71. N. Kwak, C.-H. Choi (2003), Feature extraction based on ICA for binary
    classification problems, IEEE Transactions on Knowledge and Data Engineering 15.
    T.-W. Lee, M. Girolami, T. Sejnowski (1999), Independent component analysis using an extended
    infomax algorithm, Neural Computation 11.

    Examples
    --------
    >>> import numpy as np
    >>> from depmax import ICAFX
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(1000, 5))
    >>> y = 2 * X[:, 0] + 3 * X[:, 2] + 0.1 * rng.normal(size=1000)
    >>> direction = ICAFX(1).fit(X, y).components_[0]
    >>> abs(direction / direction[2]).round(2)
    array([0.67, 0.  , 1.  , 0.  , 0.  ])

    How many features there are to find:

    >>> s, t = rng.laplace(size=(1000, 4)), rng.normal(size=1000)
    >>> X = s + np.outer(t, [1.0, 1.0, 0.0, 0.0])
    >>> ICAFX("bic").fit(X, t).n_components_
    2
    """

    n_components: int | Literal["bic", "auto"] = 2
    _: KW_ONLY
    init: Literal["regression", "random"] = "regression"
    alpha: float = 1e-6
    verbose: int = 0

    _streams: ClassVar[bool] = True
    _declared: ClassVar = {
        "n_components": integer(
            1,
            also=["bic", "auto"],
            hint="a share of the dependence is not defined, since fewer features are not the first "
            "of more",
        ),
        "init": one_of("regression", "random"),
        "alpha": number(0),
    }

    def _read_answer(self, y: Any, weight: np.ndarray | None) -> Answer:
        """Numbers as they are, classes as indicators."""
        target = read_target(y)
        if target.is_constant:
            raise ValueError(
                "y has one class only or is constant: nothing can depend on a constant. At least "
                "two values are needed."
            )
        if target.kind != "classes":
            return Answer(Sample(Linear(), target.vectors), limit=EVERY)
        self.classes_ = target.classes
        indicators = Delta(dict.fromkeys(self.classes_.tolist(), 1.0))
        return Answer(Sample(indicators, target.labels), limit=EVERY)

    def _find(self, data: Sample, answer: Answer, count: int) -> Found:
        space, codes = space_of(data), centred_target(answer.sample)
        m, start = space.n_samples, time.perf_counter()
        with one_blas_thread(self.n_jobs):
            moments = space.moments(Form(codes))
            sphering = sphere(moments.scatter / m, moments.cross / m, gram_of(codes) / m)
            if data.is_streamed:
                warn_if_long(
                    f"Visiting all {m:,} rows {VISITS} times, while ICAFX often needs hundreds of "
                    "visits (see n_passes_),",
                    VISITS * (time.perf_counter() - start),
                    "solver=QuasiNewton(max_iter=20) allows fewer; a random part of the rows in "
                    "memory takes seconds.",
                )
            self.n_passes_ = 0
            likelihood, found = self._best_model(self._likelihood(space, codes, sphering, count))
        inputs, kept = sphering.inputs, likelihood.n_components
        W, V = likelihood.published(found.weights)
        # -log(1 - R²)/2 of each feature regressed on the white targets
        rho = sphering.correlations
        share = np.sum((W[:kept, : len(rho)] * rho) ** 2, axis=1) / np.sum(W[:kept] ** 2, axis=1)
        dependence = -0.5 * np.log(np.maximum(1.0 - share, np.finfo(np.float64).eps))
        order = np.argsort(-dependence, kind="stable")
        self._keep_solution(found, order)
        self._target_mean = codes.make.mean  # type: ignore[attr-defined]  # a TargetOfPart
        features = Directions(inputs @ W[order].T, dependence[order])
        discarded = space.project(inputs @ W[kept:].T)
        weights = V[order] @ sphering.targets.T
        return along(self, space, features, more=(weights, discarded, found.problem))

    def _keep_more(self, found: Found, answer: Answer) -> None:
        """The weights of the targets and the discarded features too."""
        weights, self._discarded, _ = found.more
        self.target_weights_ = weights[: found.count] * found.turns[:, np.newaxis]
        super()._keep_more(found, answer)

    def sources(self, X: Any, y: Any) -> np.ndarray:
        """Sources u = Wx + Vt, which the model assumes independent of each other and of the target.

        Parameters
        ----------
        X, y : as in ``fit``

        Returns
        -------
        ndarray of shape (n_samples, rank of X in ``fit``)
            The first ``n_components`` belong to the features; the others do not depend on the
            target and are discarded by ``transform``.

        Examples
        --------
        >>> import numpy as np
        >>> from depmax import ICAFX, hsic_test
        >>> rng = np.random.default_rng(0)
        >>> s, t = rng.uniform(-1, 1, size=(300, 2)), rng.uniform(-1, 1, size=300)
        >>> X = s @ [[1.0, 0.5], [-0.5, 1.0]] + np.outer(t, [1.0, 2.0])
        >>> model = ICAFX(1).fit(X, t)
        >>> hsic_test(model.transform(X), t).pvalue < 0.01
        True
        >>> hsic_test(model.sources(X, t), t).pvalue > 0.05
        True
        """
        check_is_fitted(self)
        rows = read_rows(self, X, self._abilities())
        target = read_target(y)
        require_equal_length(rows.shape[0], target.n_samples)
        labels = self.target_kernel_.capabilities.labels
        codes = self.target_kernel_.features(target.labels if labels else target.vectors)
        moved = (codes - self._target_mean) @ self.target_weights_.T
        values = np.hstack([self._projection(rows) + moved, self._discarded(rows)])
        return values.astype(precision(rows), copy=False)

    # --- parts of fit ---------------------------------------------------------------------------
    def _likelihood(
        self, space: Space, codes: CentredValues, sphering: Sphering, count: int
    ) -> Likelihood:
        """Of as many features as requested, but not more than the rank of X."""
        size, alpha = sphering.inputs.shape[1], float(self.alpha)
        if size == 0:
            raise ValueError("X is constant: no feature of it can depend on y.")
        if alpha == 0 and sphering.correlations[0] > 1.0 - 1e-10:
            raise ValueError(
                "y is a linear function of X, for which the likelihood has no maximum: alpha of "
                "ICAFX must be positive."
            )
        residuals = Residuals.of(sphering.correlations, sphering.targets.shape[1], alpha)
        rows: HeldRows | StreamedRows
        if space.is_streamed:
            inputs = space.values(sphering.inputs)
            white = partial(_white, inputs, codes, sphering.targets, residuals)
            rows = StreamedRows(space, white)
        else:
            targets = codes.array() @ sphering.targets
            rows = HeldRows(residuals.beside(space.features(sphering.inputs), targets), self.n_jobs)
        return Likelihood(rows, residuals, min(size, count), alpha)

    def _best_model(self, likelihood: Likelihood) -> tuple[Likelihood, Solution]:
        """The model with as many features as requested, or with the smallest BIC.

        The likelihood has many local maxima. So models with 1, 2, … features start from the one
        before, with one more feature, than which they are never less likely; and from the model in
        which the target moves all sources, where these are separated: those that it moves most
        become the features.
        """
        by_bic = self.n_components == "bic"
        if self.init == "random" and not by_bic:  # as published
            return likelihood, self._climb(likelihood, self._starts(likelihood))
        size, m = likelihood.n_inputs, likelihood.rows.n_samples
        price = likelihood.n_targets * np.log(m)
        full = likelihood.with_components(size)
        most_likely = self._climb(full, self._starts(full))
        found: list[tuple[Likelihood, Solution]] = []
        criterion: list[float] = []
        for count in range(1, likelihood.n_components + 1):
            model = likelihood.with_components(count)
            known = [most_likely] if count == size else []
            tried = [the_most_moved(model, most_likely)] if count < size else []
            if found:
                known.append(one_more(*found[-1]))
                tried.append(known[-1].weights)
            else:
                tried += self._starts(model)
            best = self._climb(model, tried, known)
            most_likely = best_of([most_likely, best])
            found.append((model, best))
            criterion.append(-2.0 * m * best.log_likelihood + count * price)
            # One more would not pay even if it made the model as likely as the most likely one.
            least = -2.0 * m * most_likely.log_likelihood + (count + 1) * price
            if by_bic and least >= min(criterion):
                break
        if not by_bic:
            return found[-1]
        self.bic_ = np.array(criterion)
        return found[int(np.argmin(criterion))]

    def _climb(
        self, likelihood: Likelihood, tried: list[np.ndarray], known: list[Solution] | None = None
    ) -> Solution:
        """The most likely of solutions that are known and of those that the solver finds."""
        found = self._solutions(likelihood, tried)
        self.n_passes_ += sum(solution.n_passes for solution in found)
        return best_of([*(known or []), *found])

    @property
    def _decides_itself(self) -> bool:  # type: ignore[override]  # depends on parameters here
        """Whether the likelihood decides."""
        return bool(self.n_components == "bic")


def _white(
    inputs: CentredValues,
    codes: CentredValues,
    weights: np.ndarray,
    residuals: Residuals,
    *part: Any,
) -> np.ndarray:
    """(x, r) of a part of the rows, from its coordinates."""
    return residuals.beside(inputs.beside(*part), codes.beside(*part) @ weights)
