"""Canonical correlation analysis, in the feature spaces of two kernels."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass
from typing import Any, ClassVar, Literal

import numpy as np
from sklearn.utils.validation import check_is_fitted

from depmax.algebra.directions import ALPHA, Alpha, Sphere, alpha_of, chosen_alpha, units_cancel
from depmax.algebra.space import Directions, Form, space_of
from depmax.data import read_target
from depmax.data.sample import Sample, read_target_sample
from depmax.extraction.extractor import Answer, DependenceExtractor, Found, along
from depmax.kernels import Delta, KernelLike, Linear


@dataclass(eq=False, repr=False)
class KernelCCA(DependenceExtractor):
    """Features of X and features of the target with the largest correlation.

    Directions p of the inputs' feature space and q of the target's maximise the correlation
    pᵀCq/√(pᵀ(S_x + αI)p · qᵀ(S_y + α'I)q) with the covariances S and the cross-covariance C; each
    pair is uncorrelated with earlier ones. With linear kernels and without penalties it is
    canonical correlation analysis; with classes, linear discriminant analysis.

    Parameters
    ----------
    n_components : int, float or "auto", default=2
        Number of features, at most the number of rows and the number of columns. A float is a share
        of the dependence. ``"auto"`` takes the smallest number whose 3-fold score is within one
        standard error of the best, up to twice the intrinsic dimension. Beyond the rank of the
        target, directions of largest variance uncorrelated with the others follow.
    kernel : kernel, name, callable, transformer or "precomputed", default="linear"
        A transformer (a map) stands for the inner product of its output.
    target_kernel : kernel, name or "auto", default="auto"
        ``"auto"``: linear for numbers and multi-labels, indicators for classes.
    alpha, target_alpha : float or "auto", default="auto"
        Variance added to every direction of the range of X, and of the target, relative to the mean
        variance there. ``"auto"``: none if there are fewer columns than rows, 0.1 otherwise, since
        any two such sides correlate perfectly.
    estimator : estimator, optional
        Predicts y from features for ``n_components="auto"``; by default the five nearest
        neighbours.
    scoring : str or callable, optional
        Its score, as in scikit-learn; by default the estimator's own.

    Attributes
    ----------
    components_ : ndarray of shape (n_components, n_features)
        Directions of features with variance 1; only with ``kernel="linear"``.
    dependence_ : ndarray of shape (n_components,)
        Correlation of each feature with its partner in the training rows: without penalties the
        canonical correlations. 0 for features without a partner.
    n_pairs_ : int
        Number of features that have a partner.
    n_components_ : int
        Number of features.
    loadings_, mean_, coordinate_names_
        See :class:`depmax.extraction.DependenceExtractor`; linear only.
    kernel_, target_kernel_ : Kernel
        With every recipe replaced by numbers.

    References
    ----------
    H. Hotelling (1936), Relations between two sets of variates. F. Bach, M. Jordan (2002), Kernel
    independent component analysis. D. Hardoon, S. Szedmak, J. Shawe-Taylor (2004), Canonical
    correlation analysis: an overview with application to learning methods.

    Examples
    --------
    >>> import numpy as np
    >>> from depmax import KernelCCA
    >>> rng = np.random.default_rng(0)
    >>> X, Z = rng.normal(size=(200, 4)), rng.normal(size=(200, 2))
    >>> Z[:, 1] += X[:, 0] - X[:, 3]
    >>> model = KernelCCA(1).fit(X, Z)
    >>> pair = np.column_stack([model.transform(X), model.transform_target(Z)])
    >>> bool(np.isclose(np.corrcoef(pair.T)[0, 1], model.dependence_[0]))
    True
    """

    n_components: int | float | Literal["auto"] = 2
    _: KW_ONLY
    kernel: KernelLike = "linear"
    target_kernel: KernelLike | Literal["auto"] = "auto"
    alpha: Alpha = "auto"
    target_alpha: Alpha = "auto"
    estimator: Any = None
    scoring: Any = None

    _declared: ClassVar = {"alpha": ALPHA, "target_alpha": ALPHA}

    def transform_target(self, y: Any) -> np.ndarray:
        """Features of the target, partners of the first ``n_pairs_`` features of X.

        Parameters
        ----------
        y : target of the type that was fitted

        Returns
        -------
        ndarray of shape (n_samples, n_pairs)
            With mean 0 and variance 1 in the training rows.
        """
        check_is_fitted(self)
        kernel = self.target_kernel_
        if kernel.capabilities.labels:
            rows = read_target(y, is_part=True).labels
        elif kernel.capabilities.vector_input:
            rows = read_target(y, is_part=True).vectors
        else:
            rows = read_target_sample(y, kernel).rows
        values: np.ndarray = self._target_projection(rows)
        return values

    def _read_answer(self, y: Any, weight: np.ndarray | None) -> Answer:
        if isinstance(self.target_kernel, str) and self.target_kernel == "auto":
            target = read_target(y)
            if target.kind == "classes":
                kernel = Delta(dict.fromkeys(target.classes.tolist(), 1.0))
                sample = Sample(kernel, target.labels)
            else:
                sample = Sample(Linear(), target.vectors)
        else:
            sample = read_target_sample(y, self.target_kernel)
        return Answer(sample, limit=int(sample.n_coordinates or sample.n_samples))

    def _find(self, data: Sample, answer: Answer, count: int) -> Found:
        space, target = space_of(data), answer.sample
        other = space_of(target)
        with space.solving():
            penalty = chosen_alpha(self.target_alpha, other, 1, target.kernel, target.n_coordinates)
            sphere = Sphere.of_space(other, penalty)
            if other.dimension == 0 or sphere.rank == 0:
                raise ValueError(
                    "y of KernelCCA is constant (one class or value in all rows): nothing can "
                    "correlate with it."
                )
            white = other.features(sphere.whiten)  # the target sphered, shape (m, r)
            cross = space.moments(Form(white / space.n_samples)).cross
            own = Sphere.of_space(space, alpha_of(self, data, space))
            vectors = own.most_correlated(cross, count).vectors
            images = cross.T @ vectors  # of each direction, along its partner
            lengths = np.linalg.norm(images, axis=0)
            correlated = lengths > 1e-10 * lengths.max(initial=0.0)
            n_pairs = min(int(correlated.sum()), sphere.rank)  # the first ones
            partners = sphere.whiten @ (images[:, :n_pairs] / lengths[:n_pairs])
            spreads = other.features(partners).std(axis=0)
            reached = np.zeros(vectors.shape[1])
            reached[:n_pairs] = lengths[:n_pairs] / spreads  # covariances of variance 1
            few = count <= min(target.n_coordinates or 0, target.n_samples)
            return along(
                self,
                space,
                Directions(vectors, reached),
                unit_free=few and units_cancel(self, data),
                more=other.project(partners / spreads),
            )

    def _keep_more(self, found: Found, answer: Answer) -> None:
        """The partners, turned as the features are."""
        partners = found.more
        self.n_pairs_ = min(partners.weights.shape[1], found.count)
        partners = partners.first(self.n_pairs_)
        self._target_projection = partners.times(found.turns[: self.n_pairs_])
