"""Backward elimination with HSIC."""

from __future__ import annotations

from typing import Any, Literal

import numpy as np
from scipy.stats import false_discovery_control

from depmax.kernels import KernelLike
from depmax.selection.hsic_selector import HSICSelector
from depmax.selection.interactions import LEVEL, interacting_columns
from depmax.selection.scores.kernel import hsic as column_scores
from depmax.selection.search import FAR_SIGHTED, Searched, Setting, backward
from depmax.selection.units import Units


class BAHSIC(HSICSelector):
    """Backward elimination of the columns whose loss leaves most dependence on the target.

    Columns are judged together, so that columns which matter only jointly (XOR) are found. Columns
    should be on comparable scales: put a ``StandardScaler`` before it in the pipeline.

    Parameters
    ----------
    n_features_to_select : int, float, "auto" or None, default=None
        A number, a share, half (None), or "auto": as many as significantly improve a kernel ridge
        regression of the target, judged on rows that the search did not see.
    kernel : kernel or name, default="gaussian"
        Kernel of a row. A bandwidth policy (``"median"``, ``"dimension"``, ``"maximize"``) is
        applied anew in every round. Gaussian, polynomial and linear kernels are scored by matrix
        products, Laplace by a compiled loop, other kernels of the distance (inverse distance,
        inverse multiquadric, sums of Gaussians) from its changes, the rest by their definition.
    target_kernel : kernel, name, "auto" or "inputs", default="auto"
        "auto" reads the type of y; "inputs" is unsupervised: the kernel of all columns is the
        target, and y is not needed.
    unbiased : bool, default=True
        Which HSIC is maximised.
    step : float or int, default=0.1
        Share of the columns left, or number of columns, that leave in a round.
    groups : sequence of n_features labels, optional
        Columns with the same label leave together.
    interactions : {"auto", None}, default="auto"
        "auto" protects pairs of columns whose interaction is significant (see
        :func:`depmax.screen_pairs`), and the groups they are in, to the end; and, while more than
        ten columns are left, columns with a significant dependence of their own (see
        :func:`depmax.screen`). With hundreds of columns a Gaussian kernel is almost linear and
        would lose them in its early rounds. None is the published algorithm.
    block_size : int, optional
        Average HSIC over random blocks of about so many rows: time linear in the rows.
    precision : {"auto", "single", "double"}, default="auto"
        Of the matrix products; "auto" is single for large problems and for float32 data.
    pvalues : bool, default=True
        Whether to screen every column alone as well, for ``to_frame``.
    n_jobs : int, optional
        Threads.
    verbose : int, default=0
        Print a line per round.

    Attributes
    ----------
    ranking_ : ndarray of shape (n_features,)
        1 is best, all distinct; constant columns and exact copies come last.
    scores_ : ndarray of shape (n_features,)
        Dependence lost when the column left: comparable within a round.
    support_ : ndarray of shape (n_features,)
        Whether each column is kept.
    path_ : tuple of (n_columns, hsic)
        Dependence of the columns left before each round.
    stand_ins_ : ndarray of shape (n_features,)
        For every dropped column the kept one that can replace it, -1 if none can: the one that
        shares most of its variation (by rank correlation; by levels for categories), named only
        if that is at least a quarter and significant.

    References
    ----------
    Song, Smola, Gretton, Bedo, Borgwardt (2012). Feature selection via dependence maximization.
    Journal of Machine Learning Research 13.

    Examples
    --------
    >>> import numpy as np
    >>> from depmax import BAHSIC
    >>> X = np.random.default_rng(0).normal(size=(150, 8))
    >>> y = (X[:, 2] * X[:, 5] > 0).astype(int)
    >>> np.flatnonzero(BAHSIC(2).fit(X, y).support_)
    array([2, 5])
    """

    def __init__(
        self,
        n_features_to_select: int | float | Literal["auto"] | None = None,
        *,
        kernel: KernelLike = "gaussian",
        target_kernel: KernelLike | Literal["auto", "inputs"] = "auto",
        unbiased: bool = True,
        step: float = 0.1,
        groups: Any = None,
        interactions: Literal["auto"] | None = "auto",
        block_size: int | None = None,
        precision: Literal["auto", "single", "double"] = "auto",
        pvalues: bool = True,
        n_jobs: int | None = None,
        verbose: int = 0,
    ) -> None:
        self.n_features_to_select = n_features_to_select
        self.kernel = kernel
        self.target_kernel = target_kernel
        self.unbiased = unbiased
        self.step = step
        self.groups = groups
        self.interactions = interactions
        self.block_size = block_size
        self.precision = precision
        self.pvalues = pvalues
        self.n_jobs = n_jobs
        self.verbose = verbose

    def _search(self, setting: Setting, units: Units, busy: np.ndarray, X: Any, y: Any) -> Searched:
        if self.interactions not in ("auto", None):
            raise ValueError(f"interactions must be 'auto' or None, got {self.interactions!r}.")
        nobody = np.zeros(len(units.columns), dtype=bool)
        if self.interactions is None or self._is_unsupervised():
            return backward(setting, busy.tolist(), nobody, nobody)
        pairs = interacting_columns(X, y, units.categories, self.target_kernel, self.n_jobs)
        if len(busy) <= FAR_SIGHTED:
            return backward(setting, busy.tolist(), units.having(pairs), nobody)
        target = setting.blocks.target
        _, pvalues = column_scores(X, target, categories=units.categories, n_jobs=self.n_jobs)
        alone = np.flatnonzero(false_discovery_control(pvalues) < LEVEL)
        return backward(setting, busy.tolist(), units.having(pairs), units.having(alone))
