"""Sums, products and scalings of kernels, kernels of groups of columns, and learned weights."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import reduce
from typing import Any, ClassVar, Literal, Self

import numpy as np
from scipy import linalg, optimize, sparse

from depmax._parameters import one_of
from depmax.kernels.kernel import (
    Capabilities,
    Facts,
    Kernel,
    KernelLike,
    Part,
    Parts,
    Positions,
    as_kernel,
)


class Composite(Kernel):
    """A kernel whose values are sums or products of those of its ``_parts``."""

    @property
    def capabilities(self) -> Capabilities:
        """What all parts can do; a sum of products is no product over features, nor vice versa."""
        abilities = [part.kernel.capabilities for part in self._parts.items]
        common = reduce(Capabilities.common, abilities, abilities[0])
        if self._parts.combine == "multiply":
            return replace(common, additive_over_features=False)
        return replace(common, factors_over_features=False)

    @property
    def has_features(self) -> bool:
        """Whether all parts have exact coordinates."""
        return all(part.kernel.has_features for part in self._parts.items)

    def features(self, X: Any) -> Any:
        """Coordinates of the parts, side by side (sums) or multiplied out (products)."""
        return self._parts.features(self._read(X))

    def of_squares(self, squares: np.ndarray) -> np.ndarray:
        """Values from squared distances, if all parts are functions of them."""
        return self._parts.combined(lambda part: part.kernel.of_squares(squares.copy()))

    def _read(self, X: Any) -> Any:
        return X  # each part reads the rows in its own way

    def _gram(self, X: Any, Z: Any) -> np.ndarray:
        return self._parts.combined(lambda part: part.gram(X, Z))

    def _diag(self, X: Any) -> np.ndarray:
        return self._parts.combined(lambda part: part.kernel.diag(part.of(X)))


@dataclass(eq=False, repr=False)
class _Pair(Composite):
    """Two kernels on the same rows, by object or by name."""

    left: KernelLike
    right: KernelLike

    _combine: ClassVar[Literal["add", "multiply"]]

    @property
    def _parts(self) -> Parts:
        both = [Part(as_kernel(self.left)), Part(as_kernel(self.right))]
        return Parts(both, lambda parts: type(self)(*(p.kernel for p in parts)), self._combine)


class Sum(_Pair):
    """Sum of two kernels, k(x, z) = left(x, z) + right(x, z), also written ``left + right``.

    Examples
    --------
    >>> from depmax.kernels import Gaussian, Linear, Sum
    >>> (Linear() + Gaussian(1.0)).diag([[2.0], [3.0]])
    array([ 5., 10.])
    >>> Sum("linear", "gaussian").diag([[2.0], [3.0]])
    array([ 5., 10.])
    """

    _combine = "add"


class Product(_Pair):
    """Product of two kernels, k(x, z) = left(x, z) · right(x, z), also written ``left * right``.

    Examples
    --------
    >>> from depmax.kernels import Gaussian, Linear
    >>> (Linear() * Gaussian(1.0)).diag([[2.0], [3.0]])
    array([4., 9.])
    """

    _combine = "multiply"


@dataclass(eq=False, repr=False)
class Scaled(Composite):
    """Multiple of a kernel, k(x, z) = factor · kernel(x, z), also written ``factor * kernel``.

    Examples
    --------
    >>> from depmax.kernels import Linear
    >>> (2.0 * Linear()).diag([[1.0], [3.0]])
    array([ 2., 18.])
    """

    kernel: KernelLike
    factor: float

    @property
    def _parts(self) -> Parts:
        if not (np.isfinite(self.factor) and self.factor > 0):
            raise ValueError(
                f"A kernel can be scaled by a positive number only, got {self.factor}."
            )
        part = Part(as_kernel(self.kernel), weight=float(self.factor))
        return Parts.inner(self, part, combine="add")


#: Eigenvalues of the parts' alignments below this are rounding errors: parts that are alike.
ALIKE = 1e-10


@dataclass(eq=False, repr=False)
class WeightedSum(Composite):
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

    kernels: Sequence[KernelLike]
    weights: Literal["alignment", "hsic"] | Sequence[float] = "alignment"

    _recipe: ClassVar[tuple[str, ...]] = ("weights",)

    @property
    def capabilities(self) -> Capabilities:
        """What all parts can do, and whether weights are learned."""
        return replace(super().capabilities, learns_weights=isinstance(self.weights, str))

    def _estimated(self, facts: Facts) -> Kernel:
        """Copy with every part resolved by itself, and then the weights learned."""
        learns = isinstance(self.weights, str)
        if learns and facts.is_streamed:
            raise TypeError(
                "WeightedSum learns its weights from rows in memory, not from a table that is read "
                "a chunk at a time: use kernel=depmax.resolve(kernel, X, y) with some of the rows."
            )
        resolved = super()._estimated(facts)
        if not learns:
            return resolved
        if facts.choose is None:
            raise ValueError(
                f"weights={self.weights!r} of WeightedSum needs a target to learn from: use "
                "depmax.resolve(kernel, X, y), or numbers here."
            )
        return facts.choose([resolved], facts.rows)

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

    @property
    def _parts(self) -> Parts:
        """All kernels; those of a recipe count alike, for its shape."""
        if isinstance(self.kernels, str) or len(self.kernels) == 0:
            raise ValueError(
                f"kernels of WeightedSum must be a list of kernels, got {self.kernels!r}."
            )
        count, weights = len(self.kernels), self.weights
        if isinstance(weights, str):
            values = np.full(count, 1.0 if weights in ("alignment", "hsic") else -1.0)
        else:
            values = np.asarray(weights, dtype=np.float64)
        valid = values.shape == (count,) and np.isfinite(values).all()
        if not (valid and (values >= 0).all() and values.any()):
            raise ValueError(
                "weights of WeightedSum must be 'alignment', 'hsic' or one number >= 0 for every "
                f"kernel, not all of them 0, got {weights!r}."
            )
        pairs = zip(self.kernels, values.tolist(), strict=True)
        parts = [Part(as_kernel(kernel), weight=weight) for kernel, weight in pairs]
        return Parts(parts, lambda new: self._copy_with(kernels=[p.kernel for p in new]), "add")


def _largest_alignment(alignments: np.ndarray, cosines: np.ndarray) -> np.ndarray:
    """U ≥ 0 that minimises uᵀCu - 2uᵀa: with C = RᵀR, nonnegative least squares of R⁻ᵀa on R."""
    values, vectors = linalg.eigh(cosines)
    kept = values > ALIKE * values[-1]
    roots, axes = np.sqrt(values[kept]), vectors[:, kept]
    found: np.ndarray = optimize.nnls(roots[:, np.newaxis] * axes.T, axes.T @ alignments / roots)[0]
    return found


@dataclass(eq=False, repr=False)
class Columns(Composite):
    """A kernel per group of columns, multiplied or added.

    Parameters
    ----------
    parts : list of (name, kernel, columns)
        ``columns`` is one column or a list of them, by name (data frames) or by position.
        Columns that no part names are not compared.
    combine : {"multiply", "add"}, default="multiply"
        Multiplied, two rows are similar if they are similar in every part; added, if in some part.

    Examples
    --------
    >>> import numpy as np
    >>> from depmax.kernels import Columns, Delta, Gaussian
    >>> table = np.array([[0.0, 1.0], [0.0, 2.0], [1.0, 1.0]])
    >>> kernel = Columns([("size", Gaussian(1.0), [0]), ("colour", Delta(), 1)])
    >>> kernel(table).round(3)
    array([[1.   , 0.   , 0.607],
           [0.   , 1.   , 0.   ],
           [0.607, 0.   , 1.   ]])
    """

    parts: Sequence[tuple[str, KernelLike, Positions]]
    combine: Literal["multiply", "add"] = "multiply"

    _declared: ClassVar = {"combine": one_of("multiply", "add")}

    # Nested parameters such as size__bandwidth, as in scikit-learn's composite estimators.
    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """Parameters of this kernel and, if deep, of its parts under ``name__parameter``."""
        params: dict[str, Any] = {"parts": self.parts, "combine": self.combine}
        if deep:
            for name, kernel, _ in self.parts:
                if hasattr(kernel, "get_params"):
                    nested = kernel.get_params(deep=True)
                    params |= {f"{name}__{key}": value for key, value in nested.items()}
        return params

    def set_params(self, **params: Any) -> Self:
        """Set parameters of this kernel or of its parts."""
        self.parts = params.pop("parts", self.parts)
        self.combine = params.pop("combine", self.combine)
        kernels = {name: kernel for name, kernel, _ in self.parts}
        for key, value in params.items():
            name, _, parameter = key.partition("__")
            if not parameter or not hasattr(kernels.get(name), "set_params"):
                raise ValueError(
                    f"Invalid parameter {key!r} for Columns: its parts are {sorted(kernels)}."
                )
            kernels[name].set_params(**{parameter: value})  # type: ignore[union-attr]  # names of kernels are resolved before
        return self

    @property
    def capabilities(self) -> Capabilities:
        """Vectors unless a part compares objects; sparse rows if every part keeps them."""
        parts = [part.kernel.capabilities for part in self._parts.items]
        return Capabilities(
            vector_input=all(part.vector_input or part.labels for part in parts),
            sparse=all(part.sparse for part in parts),
        )

    @property
    def _parts(self) -> Parts:
        if not self.parts or any(len(part) != 3 for part in self.parts):
            raise ValueError("Columns needs at least one part, each (name, kernel, columns).")
        names = [name for name, _, _ in self.parts]
        if len(set(names)) < len(names):
            raise ValueError(f"The parts of Columns need different names, got {names}.")
        parts = [
            Part(as_kernel(kernel), columns, name=name) for name, kernel, columns in self.parts
        ]

        def rebuild(new: Sequence[Part]) -> Columns:
            return self._copy_with(parts=[(part.name, part.kernel, part.columns) for part in new])

        return Parts(parts, rebuild, self.combine)

    def _read(self, X: Any) -> Any:
        if hasattr(X, "columns"):
            return X
        return X.tocsc() if sparse.issparse(X) else np.asarray(X)
