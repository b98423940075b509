"""Kernels of other origin: scikit-learn's, functions, transformers, and matrices of values."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import reduce
from typing import Any, ClassVar

import numpy as np
from sklearn.base import clone
from sklearn.utils import get_tags

from depmax.kernels.kernel import Capabilities, Facts, Kernel, Part, Parts, as_matrix, as_objects

#: Rows per block when a diagonal must be read off small square blocks.
BLOCK = 64


@dataclass(eq=False, repr=False)
class FromScikitLearn(Kernel):
    """One of scikit-learn's Gaussian-process kernels, unchanged."""

    kernel: Any

    @property
    def capabilities(self) -> Capabilities:
        """What scikit-learn's kernel declares; it may have a length per column."""
        params = self.kernel.get_params()
        lengths = [params[name] for name in params if name.endswith("length_scale")]
        return Capabilities(
            vector_input=self.kernel.requires_vector_input,
            stationary=self.kernel.is_stationary(),
            scale_free=any(np.ndim(length) for length in lengths),
        )

    def _gram(self, X: Any, Z: Any) -> np.ndarray:
        return self.kernel(X) if X is Z else self.kernel(X, Z)

    def _diag(self, X: Any) -> np.ndarray:
        return self.kernel.diag(X)


@dataclass(eq=False, repr=False)
class FromFunction(Kernel):
    """A function of two sets of rows that returns the matrix of kernel values.

    Parameters
    ----------
    function : callable
        Takes two sets of rows, returns the matrix of k(x, z).
    vector_input : bool, default=True
        Whether rows are numeric vectors; pass False for a function of strings or other objects.

    Examples
    --------
    >>> import numpy as np
    >>> from depmax.kernels import as_kernel
    >>> kernel = as_kernel(lambda X, Z: np.minimum.outer(X[:, 0], Z[:, 0]))
    >>> kernel([[1.0], [2.0]])
    array([[1., 1.],
           [1., 2.]])
    """

    function: Callable[[Any, Any], np.ndarray]
    vector_input: bool = True

    @property
    def capabilities(self) -> Capabilities:
        """Vectors, or objects if the user says so."""
        return Capabilities(vector_input=self.vector_input)

    def _read(self, X: Any) -> Any:
        return as_matrix(X, "The kernel function") if self.vector_input else as_objects(X)

    def _gram(self, X: Any, Z: Any) -> np.ndarray:
        matrix = np.asarray(self.function(X, Z))
        if matrix.shape != (X.shape[0], Z.shape[0]):
            raise ValueError(
                f"The kernel function must return a matrix of shape {(X.shape[0], Z.shape[0])} for "
                f"two sets of rows, but returned shape {matrix.shape}. For a function f of two "
                "single rows use lambda X, Z: sklearn.metrics.pairwise_kernels(X, Z, metric=f)."
            )
        return matrix

    def _diag(self, X: Any) -> np.ndarray:
        blocks = [X[start : start + BLOCK] for start in range(0, X.shape[0], BLOCK)]
        return np.concatenate([np.diag(self._gram(block, block)) for block in blocks])


@dataclass(eq=False, repr=False)
class FromMap(Kernel):
    """The inner product of the features that a transformer makes: k(x, z) = <φ(x), φ(z)>.

    Any scikit-learn transformer works; ``resolve`` fits a clone of it.
    """

    transformer: Any
    fitted: bool = False

    @property
    def capabilities(self) -> Capabilities:
        """Numeric rows, unless the transformer says that it reads text or categories.

        The scales of the columns are left to the transformer: it may standardise them, and ours
        warn.
        """
        tags = self._input_tags()
        return Capabilities(
            vector_input=tags.two_d_array and not tags.categorical,
            sparse=True,
            fits_columns=True,
            scale_free=True,
        )

    @property
    def is_resolved(self) -> bool:
        """Whether the transformer is fitted."""
        return self.fitted

    @property
    def _parts(self) -> Parts:
        """The kernel of a map of ours, until it is fitted."""
        recipe = None if self.fitted else getattr(self.transformer, "recipe", None)

        def rebuild(parts: Sequence[Part]) -> Kernel:
            other = clone(self.transformer).set_params(kernel=parts[0].kernel)
            return self._copy_with(transformer=other)

        return Parts([] if recipe is None else [Part(recipe)], rebuild)

    def _estimated(self, facts: Facts) -> Kernel:
        """Copy with a clone of the transformer fitted on the rows, each once."""
        if self.fitted:
            return self
        if facts.is_streamed and not getattr(self.transformer, "_streams", False):
            raise TypeError(
                f"{type(self.transformer).__name__} cannot be fitted on a table that is read a "
                "chunk at a time: use NystroemMap or RandomFourier, whose parameters come from a "
                "sample of the rows."
            )
        fitted = clone(self.transformer).fit(self._table(facts.rows))
        return self._copy_with(transformer=fitted, fitted=True)

    def features(self, X: Any) -> Any:
        """The transformer's output."""
        return self.transformer.transform(self._table(X))

    @property
    def approximated(self) -> Kernel:
        """The kernel of a map that approximates one, of rows as the steps before it change them."""
        steps = getattr(self.transformer, "steps", [("", self.transformer)])
        kernel: Kernel | None = getattr(steps[-1][1], "approximated", None) if self.fitted else None
        if kernel is None or len(steps) == 1:
            return kernel or self
        before = [step for _, step in steps[:-1] if step not in (None, "passthrough")]

        def change(rows: Any) -> Any:
            """Rows as the map sees them; a step may have nothing to fit."""
            return reduce(lambda changed, step: step.transform(changed), before, rows)

        vectors = self.capabilities.vector_input
        return FromFunction(lambda X, Z: kernel(change(X), change(Z)), vectors)

    @property
    def mixing(self) -> np.ndarray | None:
        """The last matrix of the transformer, for maps that provide it."""
        return getattr(self.transformer, "mixing", None) if self.fitted else None

    @property
    def unmixed(self) -> Callable[[Any], np.ndarray]:
        """The transformer's output before that matrix."""
        return lambda X: self.transformer.unmixed(self._table(X))

    def _input_tags(self) -> Any:
        """Tags of the step that reads the rows: a pipeline does not tell that it reads text."""
        reader = self.transformer
        while hasattr(reader, "steps"):
            reader = reader.steps[0][1]
        return get_tags(reader).input_tags

    def _table(self, X: Any) -> Any:
        """Rows as the transformer reads them: objects as a table if it reads tables."""
        if not (isinstance(X, np.ndarray) and X.ndim == 1 and self._input_tags().two_d_array):
            return X
        nested = X.size > 0 and isinstance(X[0], list | tuple | np.ndarray)
        return np.array(X.tolist(), dtype=object) if nested else X[:, np.newaxis]

    def _read(self, X: Any) -> Any:
        return X


@dataclass(eq=False, repr=False)
class Precomputed(Kernel):
    """Kernel values from a matrix; the rows X are row numbers of that matrix.

    Cross-validation splits the row numbers, not the matrix, so it stays correct.

    Parameters
    ----------
    matrix : array of shape (n_objects, n_objects), optional
        Symmetric. Without it there is nothing to look up, and a call raises an error.

    Examples
    --------
    >>> import numpy as np
    >>> from depmax.kernels import Precomputed
    >>> kernel = Precomputed(np.array([[2.0, 1.0], [1.0, 3.0]]))
    >>> kernel([1, 0])
    array([[3., 1.],
           [1., 2.]])
    """

    matrix: Any = None

    _capabilities: ClassVar[Capabilities] = Capabilities(vector_input=False)

    def _estimated(self, facts: Facts) -> Kernel:
        """Itself, after a check that the matrix is square, finite and symmetric."""
        matrix = self._matrix()
        if not np.isfinite(matrix).all():
            raise ValueError("The matrix of Precomputed contains NaN or infinity.")
        precision = np.sqrt(np.finfo(np.result_type(matrix, np.float32)).eps)
        if np.abs(matrix - matrix.T).max(initial=0) > precision * np.abs(matrix).max(initial=0):
            raise ValueError(
                "The matrix of Precomputed is not symmetric: a kernel matrix holds "
                "k(x_i, x_j) = k(x_j, x_i). Pass (K + K.T) / 2 if the difference is noise."
            )
        self._read(facts.rows)
        return self

    def _read(self, X: Any) -> np.ndarray:
        rows = as_objects(X)
        size = self._matrix().shape[0]
        try:
            with np.errstate(invalid="ignore"):  # NaN is refused below
                numbers = rows.astype(np.intp)
        except (TypeError, ValueError):
            numbers = None
        if rows.ndim != 1 or numbers is None or (numbers != rows).any():
            raise ValueError(
                "X for Precomputed must be a list of row numbers of its matrix, e.g. "
                "np.arange(len(matrix)), not the matrix itself."
            )
        if numbers.size and (numbers.min() < 0 or numbers.max() >= size):
            raise ValueError(
                f"Row numbers for Precomputed must lie in 0..{size - 1}, the rows of its matrix; "
                f"got {numbers.min()}..{numbers.max()}."
            )
        return numbers

    def _gram(self, X: Any, Z: Any) -> np.ndarray:
        return self._matrix()[np.ix_(X, Z)]

    def _diag(self, X: Any) -> np.ndarray:
        return self._matrix()[X, X]

    def _matrix(self) -> np.ndarray:
        if self.matrix is None:
            raise ValueError("Precomputed has no matrix: pass Precomputed(matrix).")
        matrix = np.asarray(self.matrix)
        if matrix.ndim != 2 or matrix.shape[0] != matrix.shape[1]:
            raise ValueError(f"The matrix of Precomputed must be square, got {matrix.shape}.")
        return matrix
