"""Kernels over named columns of a table."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Literal, Self

import numpy as np
from scipy import sparse

from depmax._parameters import one_of
from depmax.kernels._parts import Part, Parts, Positions
from depmax.kernels.composite import Composite
from depmax.kernels.kernel import Capabilities
from depmax.kernels.names import KernelLike, as_kernel


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
