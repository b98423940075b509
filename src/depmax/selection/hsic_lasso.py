"""HSIC Lasso: features that depend on the target but not on each other."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass
from functools import partial
from typing import Any, ClassVar, Literal

import numpy as np
from sklearn.utils import check_random_state
from threadpoolctl import threadpool_limits

from depmax._parameters import integer
from depmax.data.columns import Categories
from depmax.data.sample import MINIMUM, Sample, read_target_sample, require_samples
from depmax.data.table import require_equal_length
from depmax.dependence.resolve import most_dependent
from depmax.kernels import Gaussian, KernelLike, as_kernel
from depmax.kernels.kernel import Kernel
from depmax.selection._lasso_designs import SharedKernel, TileDesign, column_kernels, factor_design
from depmax.selection._nonnegative_path import Design, LassoPath, nonnegative_path
from depmax.selection.selector import DependenceSelector, Ranking


@dataclass(eq=False, repr=False)
class HSICLasso(DependenceSelector):
    """Select features whose weighted sum of kernel matrices comes closest to that of the target.

    Minimises ½‖L̄ - Σ α_j K̄_j‖² + λ Σ α_j over α ≥ 0, where K̄_j is the kernel matrix of feature j
    alone and L̄ that of the target, both centred and scaled to Frobenius norm one. The products
    ⟨K̄_j, L̄⟩ are normalised HSICs, so a feature is rewarded for its dependence on the target,
    linear or not, and penalised for what it shares with the others. The path is computed exactly,
    from the λ where the first feature enters to the λ where one feature too many would enter.

    Features are judged one at a time: two that matter only together (XOR) are not found; ``BAHSIC``
    finds them.

    Parameters
    ----------
    n_features_to_select : int, float or None, default=None
        Number of features, or their share; None is half. If fewer enter the path, the ranking
        supplies the others.
    kernel : kernel, name, callable or transformer, default="gaussian"
        Kernel of each standardised feature (mean 0, standard deviation 1). The name ``"gaussian"``
        stands for ``Gaussian(bandwidth=1.0)``, as published. A policy such as ``"median"`` is
        applied to each feature. Categorical columns of a data frame get ``Delta``.
    target_kernel : kernel, name or "auto", default="auto"
        Kernel of y; "auto" depends on its type.
    block_size : int or None, default=None
        Average over blocks of about this many samples (Climente-González et al., 2019), each
        centred and normalised on its own. None uses all samples at once, which is exact and, with a
        smooth kernel, also linear in their number.
    n_permutations : int, default=1
        Number of random divisions into blocks to average over.
    random_state : int, RandomState or None, default=0
        Seed of these divisions. Without ``block_size`` nothing is random.
    n_jobs : int or None, default=None
        Number of threads; it does not change the result.

    Attributes
    ----------
    ranking_ : ndarray of shape (n_features,)
        Active features in the order in which they entered, then those that entered and left, then
        those that never entered by their HSIC with the target, then copies of active ones and
        constants.
    scores_ : ndarray of shape (n_features,)
        Penalty λ at which a feature entered; for the others, their normalised HSIC with the target,
        at most the last λ; zero for copies and constants.
    coef_ : ndarray of shape (n_features,)
        α at the end of the path.
    alphas_ : ndarray
        λ where the path starts and after each step, in decreasing order.
    path_ : tuple of (int, float)
        After each step: the active features, and the alignment (cosine) between Σ α_j K̄_j and L̄.
    support_, substitutes_, n_features_
        As in every selector.
    kernel_, target_kernel_ : Kernel
        Kernels of the features and of the target, the latter with every recipe replaced by numbers.

    Notes
    -----
    Without blocks, kernel matrices are kept as factors with a Frobenius error of 5e-7 each, so
    products of two are off by at most 1e-6; if that takes too large a rank (the Laplace kernel),
    all entries are computed, up to rounding. With blocks they always are. Neither the matrices nor
    all products of two features are ever stored. The factors take up to some 15 times the memory of
    X, less for features of few values; blocks take next to none.

    References
    ----------
    Yamada, M. et al. (2014). High-dimensional feature selection by feature-wise kernelized Lasso.
    Climente-González, H. et al. (2019). Block HSIC Lasso: model-free biomarker detection for
    ultra-high dimensional data.

    Examples
    --------
    >>> import numpy as np
    >>> from depmax.selection.hsic_lasso import HSICLasso
    >>> X = np.random.default_rng(0).normal(size=(200, 10))
    >>> y = X[:, 3] + X[:, 7] ** 2
    >>> HSICLasso(2).fit(X, y).get_feature_names_out()
    array(['x3', 'x7'], dtype=object)
    """

    n_features_to_select: int | float | None = None
    _: KW_ONLY
    kernel: KernelLike = "gaussian"
    target_kernel: KernelLike | Literal["auto"] = "auto"
    block_size: int | None = None
    n_permutations: int = 1
    random_state: Any = 0
    n_jobs: int | None = None

    path_quantity = "alignment with the target"
    _declared: ClassVar = {
        "block_size": integer(MINIMUM[True], also=[None]),
        "n_permutations": integer(1),
    }

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> HSICLasso:
        """Rank the columns of X by their dependence on y and keep the best.

        Parameters
        ----------
        X : array-like or data frame of shape (n_samples, n_features)
        y : target of any type
        sample_weight : array-like of shape (n_samples,), optional
            How many rows each row stands for: a weight of 3 counts the row three times, a weight of
            0 ignores it. Not with ``block_size``, which divides rows.

        Returns
        -------
        self
        """
        if sample_weight is not None and self.block_size is not None:
            raise ValueError(
                "HSICLasso takes sample_weight only with block_size=None: blocks hold whole rows, "
                "and the copies of one row would fall into several."
            )
        self._fit(X, y, sample_weight)
        return self

    def _compared_by(self) -> None:
        """Columns are put on one scale first."""

    def _rank(
        self, X: Any, y: Any, categories: Categories, weight: np.ndarray | None = None
    ) -> Ranking:
        m, d = X.shape
        recipe = self._recipe()
        target = read_target_sample(y, self.target_kernel, weight=weight)
        require_equal_length(m, target.n_samples)
        require_samples(m, unbiased=True)
        columns = column_kernels(
            X, categories, recipe, partial(most_dependent, target, warn=False), weight
        )
        with threadpool_limits(limits=1, user_api="blas"):  # many small products, in n_jobs threads
            design = self._design(columns, target)
            path = nonnegative_path(design, self._n_requested(d) or d)
        self.kernel_, self.target_kernel_ = recipe, target.kernel
        self.coef_ = path.coef
        self.alphas_ = np.array(path.penalties)
        return _ranking(design, path)

    def _design(self, columns: list[SharedKernel], target: Sample) -> Design:
        blocks = self._blocks(target.n_samples)
        if len(blocks) > 1:
            return TileDesign(columns, target, blocks, self.n_jobs)
        design = factor_design(columns, target, self.n_jobs)
        return TileDesign(columns, target, blocks, self.n_jobs) if design is None else design

    def _blocks(self, n_samples: int) -> list[np.ndarray]:
        """Samples of each block; all in one if there is no need for more."""
        size, divisions = self.block_size, self.n_permutations
        if size is None or n_samples // size < 2:
            return [np.arange(n_samples)]
        rng = check_random_state(self.random_state)
        return [
            block
            for _ in range(divisions)
            for block in np.array_split(rng.permutation(n_samples), n_samples // size)
        ]

    def _recipe(self) -> Kernel:
        if isinstance(self.kernel, str) and self.kernel == "gaussian":
            return Gaussian(bandwidth=1.0)
        if isinstance(self.kernel, str) and self.kernel == "precomputed":
            raise ValueError(
                "HSICLasso needs a kernel for each column, which a precomputed matrix does not "
                "hold: pass a kernel of vectors."
            )
        recipe = as_kernel(self.kernel)
        readable = recipe.requires_vector_input or recipe.capabilities.labels
        if not readable or hasattr(recipe, "parts"):
            raise ValueError(
                f"HSICLasso compares single columns, which {type(recipe).__name__} cannot do: pass "
                "a kernel of vectors such as Gaussian, Laplace or Linear, or Delta."
            )
        return recipe


def _ranking(design: Design, path: LassoPath) -> Ranking:
    """All columns in order: active, left again, never entered, copies, constants."""
    entered = ~np.isnan(path.entered)
    last = path.penalties[-1] if path.penalties else 0.0
    scores = np.where(entered, path.entered, np.clip(design.correlations, 0.0, last))
    tier = np.where(entered, 1, 2)
    tier[path.active] = 0
    tier[path.copies] = 3
    tier[design.squares == 0.0] = 4
    scores[tier >= 3] = 0.0
    place = np.zeros(len(tier))
    place[path.active] = np.arange(len(path.active))
    strength = np.where(entered, path.entered, design.correlations)
    order = np.lexsort((-strength, place, tier))
    return Ranking(order, scores, tuple(path.steps))
