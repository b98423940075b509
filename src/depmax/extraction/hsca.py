"""Hilbert-Schmidt component analysis."""

from __future__ import annotations

import warnings
from numbers import Real
from typing import Literal

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from depmax.dependence.sides import Side
from depmax.dependence.terms import require_samples
from depmax.extraction.base import DependenceExtractor
from depmax.extraction.target import target_factor
from depmax.kernels import KernelLike, as_kernel
from depmax.pencils import (
    Basis,
    Directions,
    Form,
    Gram,
    Space,
    hsic_form,
    least_redundant,
    least_redundant_unbiased,
)


class HSCA(DependenceExtractor):
    """Features that depend on the target and not on each other.

    One after another, each direction p maximises HSIC(Φp, y) over HSIC(Φp, earlier features),
    regularised: a Rayleigh quotient pᵀAp / pᵀ(B + αI)p. As α → 0 the biased form with linear
    kernels is partial least squares (SIMPLS).

    Parameters
    ----------
    n_components : int, default=2
        Number of features, at most the number of rows and of columns.
    kernel : kernel, name, callable, transformer or "precomputed", default="linear"
        A transformer (a map) stands for the inner product of its output.
    target_kernel : kernel, name or "auto", default="auto"
        ``"auto"`` reads the type of y: class-balanced for two classes, balanced delta for many,
        Gaussian for numbers, linear for multi-labels.
    feature_kernel : kernel or name, default="linear"
        Kernel of the features in the denominator.
    unbiased : bool, default=False
        HSIC₁ or HSIC₀ in numerator and denominator. The denominator of HSIC₁ is indefinite; its
        negative part counts as zero.
    alpha : float, default=1e-5
        Regularisation relative to the mean of the denominator per feature, tr(B)/n; positive with
        ``unbiased``.

    Attributes
    ----------
    components_ : ndarray of shape (n_components, n_features)
        Directions of unit length; with ``kernel="linear"`` only.
    dependence_ : ndarray of shape (n_components,)
        HSIC between each feature and the target, pᵀAp.
    loadings_, mean_, coordinate_names_
        See :class:`depmax.extraction.DependenceExtractor`; linear only.
    kernel_, target_kernel_ : Kernel
        With every recipe replaced by numbers.

    Warns
    -----
    ConvergenceWarning
        Where fewer features than asked for exist: every direction that depends on the target then
        repeats earlier features.

    References
    ----------
    P. Daniušis (2012), Feature extraction via dependence structure optimization, section 4.3.

    Examples
    --------
    >>> import numpy as np
    >>> from depmax import HSCA
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(100, 4)) @ rng.normal(size=(4, 4))
    >>> features = HSCA(2).fit_transform(X, X[:, 2] > 0)
    >>> bool(abs(np.corrcoef(features.T)[0, 1]) < 0.01)
    True
    """

    def __init__(
        self,
        n_components: int = 2,
        *,
        kernel: KernelLike = "linear",
        target_kernel: KernelLike | Literal["auto"] = "auto",
        feature_kernel: KernelLike = "linear",
        unbiased: bool = False,
        alpha: float = 1e-5,
    ) -> None:
        self.n_components = n_components
        self.kernel = kernel
        self.target_kernel = target_kernel
        self.feature_kernel = feature_kernel
        self.unbiased = unbiased
        self.alpha = alpha

    def _extract(self, space: Space, target: Side | None, n_components: int) -> Directions:
        found = self._search(space, self._form(target), n_components)
        self._warn_if_fewer(found, n_components)
        return found

    def _search(self, space: Space, form: Form, n_components: int) -> Directions:
        moments = space.moments(form)
        alpha = float(self.alpha)
        if self.unbiased:
            return least_redundant_unbiased(
                moments, space, self._feature_factor, n_components, alpha
            )
        if self._has_linear_features():  # G = SP needs no visit to the samples
            return least_redundant(moments, lambda P: space.scatter @ P, n_components, alpha)
        return least_redundant(
            moments,
            lambda P: space.cross(self._feature_factor(space.features(P))),
            n_components,
            alpha,
        )

    def _span(self, gram: Gram, target: Side | None, n_components: int) -> Basis | None:
        """Each direction lies in the span of C and of G = ΦᵀΨ_f, which follows from the last."""
        form = self._form(target)
        if self.unbiased or form.factor.shape[1] > gram.n_samples // 4:
            return None
        basis = Basis(gram)
        basis.append(form.factor)
        for count in range(1, n_components):
            space = basis.space
            found = self._search(space, form, count)
            if found.vectors.shape[1] < count:
                break
            features = space.features(found.vectors)
            linear = self._has_linear_features()  # earlier features are in the basis already
            basis.append(features[:, -1:] if linear else self._feature_factor(features))
        return basis

    def _form(self, target: Side | None) -> Form:
        assert target is not None
        require_samples(target.n_samples, self.unbiased)
        return hsic_form(target_factor(target), unbiased=self.unbiased)

    def _feature_factor(self, features: np.ndarray) -> np.ndarray:
        """Ψ_f of the features so far, columns of mean zero."""
        kernel = as_kernel(self.feature_kernel).resolve(features)
        return target_factor(Side(kernel, features, features.shape[0]))

    def _warn_if_fewer(self, found: Directions, n_components: int) -> None:
        count = found.vectors.shape[1]
        if count == 0:
            raise ValueError(
                "No direction depends on the target: X or y is constant, or with unbiased=True "
                "the dependence is no larger than chance. Use unbiased=False or HBFE."
            )
        if count < n_components:
            warnings.warn(
                f"HSCA found {count} of n_components={n_components} features: every further "
                "direction that depends on the target repeats these.",
                ConvergenceWarning,
                stacklevel=5,  # where fit is called,
            )

    def _check_parameters(self) -> None:
        alpha = self.alpha
        if not isinstance(alpha, Real) or not np.isfinite(alpha) or alpha < 0:
            raise ValueError(f"alpha of HSCA must be a number >= 0, got {alpha!r}.")
        if alpha == 0 and (self.unbiased or not self._has_linear_features()):
            raise ValueError(
                "alpha of HSCA must be positive with unbiased=True and with a feature_kernel that "
                "is not linear: without it the quotient is not bounded."
            )

    def _has_linear_features(self) -> bool:
        return as_kernel(self.feature_kernel).capabilities.changes_by == "shares"
