"""Sparse maximal covariance."""

from __future__ import annotations

from typing import ClassVar

from depmax.extraction._fitting.sparse import SparseExtractor


class SMC(SparseExtractor):
    """Orthogonal features of single kernel columns, chosen by covariance with the target.

    Feature j is the kernel column k_i of one training row, made orthogonal to earlier features: the
    row with the largest (k_iᵀ(I - Π)y)²/k(x_i, x_i). A new row costs one kernel value per feature,
    fitting is linear in the rows, and the kernel matrix is never formed.

    Parameters
    ----------
    n_components : int, float or "auto", default=2
        Number of features, at most the number of rows. A float is a share of the variance of the
        target: the fewest features that explain it on the training rows are kept. ``"auto"`` keeps
        the fewest whose predictions of held-out rows, in ten folds, have an error within one
        standard error of the smallest: see ``cv_errors_``.
    kernel : kernel, name, callable, transformer or "precomputed", default="gaussian"
    n_candidates : int or None, default=500
        Number of rows that are redrawn for every feature and compared; all if there are fewer, or
        with None. From a table that is read a chunk at a time they are drawn once, with a
        ``SampledRowsWarning``; None then means 2,000.
    sparsity : int, default=1
        Rows per direction, at most three: the best combination of this many candidates is found by
        a search over all subsets.
    center : bool, default=True
        Whether features have mean zero, which is deflation by a constant. If the kernel has exact
        features (the linear kernel, maps), directions and k(x, x) are then also measured from their
        mean, so an offset of X changes nothing. For other kernels this would need the kernel values
        of a new row with all training rows, and both are measured from the origin of the feature
        space.
    random_state : int, RandomState or None, default=None
        Seed for drawing candidates.

    Attributes
    ----------
    basis_indices_ : ndarray of shape (n_basis,)
        Training rows that new rows are compared with, in the order of their first use.
    components_ : ndarray of shape (n_components, n_features)
        Weights of the columns; only with ``kernel="linear"``.
    dependence_ : ndarray of shape (n_components,)
        HSIC₀ of each feature and the target with linear kernels, ‖Yᵀτ_j‖²/(m - 1)².
    target_loadings_ : ndarray of shape (n_components, n_targets)
        Coefficients of the features in the prediction.
    intercept_ : ndarray of shape (n_targets,)
        Its constant.
    classes_ : ndarray of shape (n_classes,)
        The classes, sorted; only if the target has classes.
    cv_errors_ : ndarray of shape (n_counts,)
        Error of held-out rows with 1, 2, … features: root mean square, or share of wrong classes or
        labels; only with ``n_components="auto"``.
    kernel_ : Kernel
        With every recipe replaced by numbers.

    Warns
    -----
    ConvergenceWarning
        If there are fewer features than requested: no candidate is left that earlier features do
        not span, or that covaries with what they leave of the target.

    Notes
    -----
    Directions have unit length in feature space. With several targets (outputs, or classes as
    indicators) the numerator is summed over them, ‖Yᵀ(I - Π)k_i‖². ``predict`` is least squares on
    the features; a class is the one whose mean prediction is nearest. Whole numbers of up to 20
    values are classes, so scikit-learn is not told that this is a regressor: pass stratified splits
    to its searches if there are classes.

    References
    ----------
    C. Dhanjal, S. Gunn, J. Shawe-Taylor (2009), Efficient sparse kernel feature extraction based on
    partial least squares, section 4.

    Examples
    --------
    >>> import numpy as np
    >>> from depmax import SMC
    >>> X = np.random.default_rng(0).normal(size=(200, 2))
    >>> model = SMC(3).fit(X, (X**2).sum(axis=1) > 2)
    >>> model.transform(X).shape, len(model.basis_indices_)
    ((200, 3), 3)
    """

    _of_features: ClassVar[bool] = False
