"""Short names of kernels, and the door through which every kernel argument enters."""

from __future__ import annotations

import re
from collections.abc import Callable
from difflib import get_close_matches
from functools import cache
from inspect import Parameter, isclass, signature
from typing import Any

from depmax.kernels.kernel import Kernel

#: A kernel, a short name, one of scikit-learn's kernels, a function, or a transformer.
KernelLike = Kernel | str | Callable[..., Any]

#: Bases, and kernels that compare nothing until they are given a matrix or columns.
WITHOUT_NAME = {"Kernel", "BandwidthKernel", "Mixed", "Precomputed"}


@cache
def short_names() -> dict[str, type[Kernel]]:
    """Every kernel of the room that constructs without arguments, by its short name.

    Examples
    --------
    >>> short_names()["inverse_multiquadric"].__name__, short_names()["ridge"].__name__
    ('InverseMultiquadric', 'RidgeKernel')
    """
    from depmax import kernels as room

    exported = {name: getattr(room, name) for name in room.__all__ if name not in WITHOUT_NAME}
    return {
        _short(name): part
        for name, part in exported.items()
        if isclass(part) and issubclass(part, Kernel) and _needs_nothing(part)
    }


def _short(name: str) -> str:
    """InverseMultiquadric → inverse_multiquadric, RidgeKernel → ridge."""
    words = re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", name).lower()
    return words.removesuffix("_kernel")


def _needs_nothing(part: type[Kernel]) -> bool:
    parameters = signature(part).parameters.values()
    return all(parameter.default is not Parameter.empty for parameter in parameters)


def as_kernel(kernel: Any) -> Kernel:
    """Kernel from a kernel, a short name, a scikit-learn kernel, a function or a transformer.

    Parameters
    ----------
    kernel : Kernel, str, Gaussian-process kernel of scikit-learn, callable or transformer
        A callable takes two sets of rows and returns a matrix. A transformer (any map) stands for
        the inner product of its output.

    Returns
    -------
    Kernel

    Examples
    --------
    >>> from depmax.kernels import as_kernel
    >>> as_kernel("gaussian")
    Gaussian()
    """
    from depmax.kernels.external import FromFunction, FromMap, FromScikitLearn

    if isinstance(kernel, str):
        known = short_names()
        if kernel not in known:
            near = get_close_matches(kernel, known, n=1)
            hint = f" Did you mean {near[0]!r}?" if near else ""
            raise ValueError(
                f"Unknown kernel {kernel!r}.{hint} Known names: {', '.join(sorted(known))}; "
                "or pass a kernel object from depmax.kernels."
            )
        return known[kernel]()
    if isinstance(kernel, type):
        raise TypeError(f"Pass a kernel object, {kernel.__name__}(), not the class.")
    if hasattr(kernel, "resolve") and hasattr(kernel, "diag"):
        return kernel
    if hasattr(kernel, "transform") and hasattr(kernel, "fit"):
        return FromMap(kernel)
    if hasattr(kernel, "is_stationary") and hasattr(kernel, "diag"):
        return FromScikitLearn(kernel)
    if callable(kernel):
        return FromFunction(kernel)
    raise TypeError(
        f"A kernel is a name, an object from depmax.kernels, a scikit-learn kernel, a function or "
        f"a transformer, not {kernel!r}."
    )
