"""HSIC-based feature extraction."""

from __future__ import annotations

from typing import Literal

from depmax.dependence.sides import Side
from depmax.dependence.terms import require_samples
from depmax.extraction.base import DependenceExtractor
from depmax.extraction.target import target_factor
from depmax.kernels import KernelLike
from depmax.pencils import (
    Basis,
    Directions,
    Form,
    Gram,
    Space,
    hsic_form,
    most_dependent,
    span_of_dependence,
)


class HBFE(DependenceExtractor):
    """Orthogonal features whose dependence on the target, summed, is largest.

    The directions P in the kernel's feature space maximise the sum of HSIC(Φp, y) (linear kernel
    on the features, ``target_kernel`` on the target) under PᵀP = I: eigenvectors of A = ΦᵀMΦ, where
    M carries the target.

    Parameters
    ----------
    n_components : int, default=2
        Number of features, at most the number of rows and of columns.
    kernel : kernel, name, callable, transformer or "precomputed", default="linear"
        A transformer (a map) stands for the inner product of its output.
    target_kernel : kernel, name or "auto", default="auto"
        ``"auto"`` reads the type of y: class-balanced for two classes, balanced delta for many,
        Gaussian for numbers, linear for multi-labels.
    unbiased : bool, default=True
        HSIC₁ or HSIC₀.
    completion : {"variance", "eigenvectors"}, default="variance"
        What follows the directions of positive eigenvalue, of which two classes have one.
        ``"variance"``: directions of largest variance orthogonal to them.
        ``"eigenvectors"``: the next eigenvectors, as published; with ``unbiased`` these have
        negative eigenvalues, and for two classes of equal size the least variance of all.

    Attributes
    ----------
    components_ : ndarray of shape (n_components, n_features)
        Orthonormal directions; with ``kernel="linear"`` only.
    dependence_ : ndarray of shape (n_components,)
        HSIC between each feature and the target: the eigenvalues of A over (m-1)² (biased) or
        m(m-3) (unbiased).
    loadings_, mean_, coordinate_names_
        See :class:`depmax.extraction.DependenceExtractor`; linear only.
    kernel_, target_kernel_ : Kernel
        With every recipe replaced by numbers.

    References
    ----------
    P. Daniušis (2012), Feature extraction via dependence structure optimization, section 4.2.
    Y. Zhang, Z.-H. Zhou (2010), Multilabel dimensionality reduction via dependence maximization.

    Examples
    --------
    >>> import numpy as np
    >>> from depmax import HBFE
    >>> X = np.random.default_rng(0).normal(size=(100, 4))
    >>> HBFE(1).fit(X, X[:, 2] > 0).components_.round(2)
    array([[ 0.19,  0.01,  0.98, -0.  ]])
    """

    def __init__(
        self,
        n_components: int = 2,
        *,
        kernel: KernelLike = "linear",
        target_kernel: KernelLike | Literal["auto"] = "auto",
        unbiased: bool = True,
        completion: Literal["variance", "eigenvectors"] = "variance",
    ) -> None:
        self.n_components = n_components
        self.kernel = kernel
        self.target_kernel = target_kernel
        self.unbiased = unbiased
        self.completion = completion

    def _extract(self, space: Space, target: Side | None, n_components: int) -> Directions:
        by_variance = self.completion == "variance"
        moments = space.moments(self._form(target))
        return most_dependent(moments, n_components, by_variance=by_variance)

    def _span(self, gram: Gram, target: Side | None, n_components: int) -> Basis | None:
        form = self._form(target)
        if self.completion != "variance" or form.factor.shape[1] > gram.n_samples // 4:
            return None
        return span_of_dependence(Basis(gram), form, n_components)

    def _form(self, target: Side | None) -> Form:
        assert target is not None
        require_samples(target.n_samples, self.unbiased)
        return hsic_form(target_factor(target), unbiased=self.unbiased)

    def _check_parameters(self) -> None:
        if self.completion not in ("variance", "eigenvectors"):
            raise ValueError(
                f"completion must be 'variance' or 'eigenvectors', got {self.completion!r}."
            )
