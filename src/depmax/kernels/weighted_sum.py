"""Sums of kernels whose weights are learned from the target."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import reduce
from typing import Any, Literal

import numpy as np
from scipy import linalg, optimize, sparse

from depmax.kernels.composite import total_width
from depmax.kernels.kernel import Capabilities, Choose, Kernel, resolved_on
from depmax.kernels.names import KernelLike, as_kernel

#: Eigenvalues of the parts' alignments below this are rounding errors: parts that are alike.
ALIKE = 1e-10


class WeightedSum(Kernel):
    """Weighted sum Σ w_i k_i(x, z) with weights w ≥ 0 of sum 1, given or learned from the target.

    Parameters
    ----------
    kernels : sequence of kernels or names
        The parts. One kernel with several bandwidths is a way to leave the bandwidth to the data.
    weights : {"alignment", "hsic"} or sequence of float, default="alignment"
        ``"alignment"``: the weights with the largest centred alignment of the sum with the target's
        kernel, which weighs down parts that tell the same. ``"hsic"``: the weights with the largest
        HSIC for parts of unit size (Frobenius norm of the centred kernel matrix) and weights of
        given length: each by its own alignment. Where no part depends on the target, all parts of
        unit size count alike. Learning uses at most 1,000 random rows; the result does not
        depend on how large the parts are.

    Notes
    -----
    With the centred kernel matrices K_i of the parts and L of the target let a_i = tr(K_i L) and
    M_ij = tr(K_i K_j). The alignment wᵀa/√(wᵀMw) is largest at the solution of the nonnegative
    least squares problem min wᵀMw - 2wᵀa, up to a factor; HSIC is wᵀa, for parts of unit size
    largest at w_i = a_i/M_ii.

    References
    ----------
    N. Cristianini, J. Shawe-Taylor, A. Elisseeff, J. Kandola (2002), On kernel-target alignment.
    C. Cortes, M. Mohri, A. Rostamizadeh (2012), Algorithms for learning kernels based on centered
    alignment. P. Daniušis (2012), Feature extraction via dependence structure optimization,
    section 3.7.1.

    Examples
    --------
    >>> import numpy as np
    >>> from depmax import HSCA, hsic
    >>> from depmax.kernels import Columns, Gaussian, WeightedSum
    >>> X = np.random.default_rng(0).normal(size=(200, 2))
    >>> parts = [Columns([("only", Gaussian(1.0), [column])]) for column in range(2)]
    >>> model = HSCA(1, kernel=WeightedSum(parts)).fit(X, np.sin(3 * X[:, 1]))
    >>> np.round(model.kernel_.weights, 1)  # the first column says nothing
    array([0.1, 0.9])
    """

    def __init__(
        self,
        kernels: Sequence[KernelLike],
        weights: Literal["alignment", "hsic"] | Sequence[float] = "alignment",
    ) -> None:
        self.kernels = kernels
        self.weights = weights

    # --- what it is made of ----------------------------------------------------------------------
    @property
    def capabilities(self) -> Capabilities:
        """What all parts can do, but for what a sum with factors spoils."""
        common = reduce(Capabilities.common, (kernel.capabilities for kernel in self._kernels()))
        return replace(
            common,
            factors_over_features=False,
            telescopes=False,
            is_linear=False,
            learns_weights=isinstance(self.weights, str),
        )

    @property
    def is_resolved(self) -> bool:
        """Whether the weights are numbers, and every part is resolved."""
        return not isinstance(self.weights, str) and all(
            kernel.is_resolved for kernel in self._kernels()
        )

    def resolve(
        self, X: Any, choose: Choose | None = None, mass: np.ndarray | None = None
    ) -> Kernel:
        """Copy with every part resolved by itself, and then the weights learned."""
        self._require_weights()
        parts = [resolved_on(one, X, choose, mass) for one in self._kernels()]
        resolved = self._copy_with(kernels=parts)
        if not isinstance(self.weights, str):
            return resolved
        if choose is None:
            raise ValueError(
                f"weights={self.weights!r} of WeightedSum needs a target to learn from: use "
                "depmax.resolve(kernel, X, y), or numbers here."
            )
        return choose([resolved], X)

    def resolve_streamed(self, rows: Any) -> Kernel:
        """Copy with every part resolved; weights must be numbers."""
        if isinstance(self.weights, str):
            raise TypeError(
                "WeightedSum learns its weights from rows in memory, not from a table that is read "
                "a chunk at a time: use kernel=depmax.resolve(kernel, X, y) with some of the rows."
            )
        return self._copy_with(kernels=[one.resolve_streamed(rows) for one in self._kernels()])

    def learned(self, cross: np.ndarray, products: np.ndarray) -> Kernel:
        """Copy with the weights that inner products of centred kernel matrices give.

        Parameters
        ----------
        cross : ndarray of shape (n_kernels,)
            tr(K_i L) of the parts with the target.
        products : ndarray of shape (n_kernels, n_kernels)
            tr(K_i K_j) of the parts with each other.
        """
        sizes = np.sqrt(np.maximum(products.diagonal(), 0.0))
        varies = sizes > 0
        if not varies.any():
            raise ValueError(
                "All parts of WeightedSum are constant on these rows: no weights can be learned."
            )
        unit = np.where(varies, sizes, 1.0)
        alignments = np.where(varies, cross / unit, 0.0)  # times the size of L
        if self.weights == "alignment":
            found = _largest_alignment(alignments, products / np.outer(unit, unit))
        else:
            found = np.maximum(alignments, 0.0)
        if not found.any():
            found = varies.astype(np.float64)
        found = np.where(varies, found / unit, 0.0)
        return self._copy_with(weights=(found / found.sum()).tolist())

    def bind(self, names: Sequence[str]) -> Kernel:
        """Copy with all parts bound to column positions."""
        return self._copy_with(kernels=[one.bind(names) for one in self._kernels()])

    def with_parts(self, change: Callable[[Kernel], Kernel]) -> Kernel:
        """Copy in which ``change`` replaces every simple kernel of all parts."""
        return self._copy_with(kernels=[one.with_parts(change) for one in self._kernels()])

    def counting(self, n_columns: int) -> Kernel:
        """Copy with all parts given the number of columns."""
        return self._copy_with(kernels=[one.counting(n_columns) for one in self._kernels()])

    @property
    def follows_scale(self) -> bool:
        """Whether all parts do."""
        return all(kernel.follows_scale for kernel in self._kernels())

    def columns_on_one_scale(self, columns: Sequence[int]) -> list[list[int]]:
        """Groups of all parts."""
        return [group for one in self._kernels() for group in one.columns_on_one_scale(columns)]

    # --- values ----------------------------------------------------------------------------------
    @property
    def has_features(self) -> bool:
        """Whether all parts have exact coordinates."""
        return all(kernel.has_features for kernel in self._kernels())

    def n_coordinates(self, X: Any) -> int | None:
        """Those of all parts that count."""
        return total_width([kernel.n_coordinates(X) for kernel, _ in self._weighted()])

    def features(self, X: Any) -> Any:
        """The coordinates of the parts that count, each times √w, side by side."""
        parts = [kernel.features(X) * np.sqrt(weight) for kernel, weight in self._weighted()]
        if any(sparse.issparse(part) for part in parts):
            return sparse.hstack(parts, format="csr")
        return np.hstack(parts)

    def of_squares(self, squares: np.ndarray) -> np.ndarray:
        """Values from squared distances, if all parts are functions of them."""
        return self._added(lambda kernel: kernel.of_squares(squares.copy()))

    def _read(self, X: Any) -> Any:
        return X  # each part reads the rows in its own way

    def _gram(self, X: Any, Z: Any) -> np.ndarray:
        other = None if X is Z else Z
        return self._added(lambda kernel: kernel(X, other))

    def _diag(self, X: Any) -> np.ndarray:
        return self._added(lambda kernel: kernel.diag(X))

    def _added(self, values: Callable[[Kernel], np.ndarray]) -> np.ndarray:
        return reduce(np.add, (weight * values(kernel) for kernel, weight in self._weighted()))

    def _weighted(self) -> list[tuple[Kernel, float]]:
        """The parts that count; of a recipe all, for its shape."""
        self._require_weights()
        kernels = self._kernels()
        if isinstance(self.weights, str):
            return [(kernel, 1.0) for kernel in kernels]
        pairs = zip(kernels, map(float, self.weights), strict=True)
        return [(kernel, weight) for kernel, weight in pairs if weight > 0]

    def _kernels(self) -> list[Kernel]:
        if isinstance(self.kernels, str) or len(self.kernels) == 0:
            raise ValueError(
                f"kernels of WeightedSum must be a list of kernels, got {self.kernels!r}."
            )
        return [as_kernel(kernel) for kernel in self.kernels]

    def _require_weights(self) -> None:
        if isinstance(self.weights, str):
            if self.weights in ("alignment", "hsic"):
                return
        else:
            values = np.asarray(self.weights, dtype=np.float64)
            count = len(self._kernels())
            valid = values.shape == (count,) and np.isfinite(values).all()
            if valid and (values >= 0).all() and values.any():
                return
        raise ValueError(
            "weights of WeightedSum must be 'alignment', 'hsic' or one number >= 0 for every "
            f"kernel, not all of them 0, got {self.weights!r}."
        )


def _largest_alignment(alignments: np.ndarray, cosines: np.ndarray) -> np.ndarray:
    """U ≥ 0 that minimises uᵀCu - 2uᵀa: with C = RᵀR, nonnegative least squares of R⁻ᵀa on R."""
    values, vectors = linalg.eigh(cosines)
    kept = values > ALIKE * values[-1]
    roots, axes = np.sqrt(values[kept]), vectors[:, kept]
    found: np.ndarray = optimize.nnls(roots[:, np.newaxis] * axes.T, axes.T @ alignments / roots)[0]
    return found
