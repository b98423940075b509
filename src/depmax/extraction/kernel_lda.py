"""Linear discriminant analysis in the feature space of a kernel."""

from __future__ import annotations

from typing import Any

from depmax._inputs import read_target
from depmax.dependence.sides import Side
from depmax.extraction.base import DependenceExtractor
from depmax.extraction.slicing import groups_of, require_classes, require_groups, side_of_groups
from depmax.extraction.sphering import Alpha, check_alpha, sphere_of
from depmax.extraction.target import target_factor
from depmax.kernels import KernelLike
from depmax.pencils import Directions, Form, Space


class KernelLDA(DependenceExtractor):
    """Directions along which the means of the classes differ most, for the variance they have.

    The directions p in the kernel's feature space maximise pᵀS_b p / pᵀ(S_t + αI)p with the scatter
    S_b between classes and the total scatter S_t, one after another uncorrelated. With the linear
    kernel and α = 0 they are those of linear discriminant analysis.

    Parameters
    ----------
    n_components : int, default=2
        Number of features, at most the number of rows and of columns. Beyond the number of classes
        less one, directions of largest variance uncorrelated with the others follow.
    kernel : kernel, name, callable, transformer or "precomputed", default="linear"
        A transformer (a map) stands for the inner product of its output.
    alpha : float or "auto", default="auto"
        Variance added to every direction of the range of S_t, relative to the mean variance there.
        ``"auto"``: none where there are fewer columns than rows, less the classes; 10⁻³ otherwise,
        since any classes could be separated.

    Attributes
    ----------
    components_ : ndarray of shape (n_components, n_features)
        Directions of features with variance 1; with ``kernel="linear"`` only.
    dependence_ : ndarray of shape (n_components,)
        Share of each feature's variance that lies between classes, pᵀS_b p / pᵀS_t p.
    loadings_, mean_, coordinate_names_
        See :class:`depmax.extraction.DependenceExtractor`; linear only.
    kernel_, target_kernel_ : Kernel
        With every recipe replaced by numbers.

    References
    ----------
    P. Daniušis (2012), Feature extraction via dependence structure optimization, section 3.2.
    D. Cai, X. He, J. Han (2007), Semi-supervised discriminant analysis.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from depmax import KernelLDA
    >>> X, y = load_iris(return_X_y=True)
    >>> KernelLDA(2).fit(X, y).dependence_.round(3)
    array([0.97 , 0.222])
    """

    def __init__(
        self,
        n_components: int = 2,
        *,
        kernel: KernelLike = "linear",
        alpha: Alpha = "auto",
    ) -> None:
        self.n_components = n_components
        self.kernel = kernel
        self.alpha = alpha

    def __sklearn_tags__(self) -> Any:
        """One label per row."""
        tags = super().__sklearn_tags__()
        tags.target_tags.multi_output = False
        tags.target_tags.two_d_labels = False
        return tags

    def _read_target(self, y: Any) -> Side:
        target = read_target(y)
        require_classes(target, "KernelLDA")
        groups = groups_of(target, 2)
        require_groups(groups, "KernelLDA")
        return side_of_groups(groups)

    def _extract(self, space: Space, target: Side | None, n_components: int) -> Directions:
        assert target is not None
        factor = target_factor(target)  # e_y/√p_y, so that CCᵀ = m S_b
        cross = space.moments(Form(factor / space.n_samples)).cross
        return sphere_of(self, space, factor.shape[1]).most_correlated(cross, n_components)

    def _check_parameters(self) -> None:
        check_alpha("KernelLDA", self.alpha)
