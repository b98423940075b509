"""Short names of kernels, and the door through which every kernel argument enters."""

from __future__ import annotations

from collections.abc import Callable
from difflib import get_close_matches
from typing import Any

from depmax.kernels.kernel import Kernel

#: A kernel, a short name, one of scikit-learn's kernels, a function, or a transformer.
KernelLike = Kernel | str | Callable[..., Any]

#: Short name of every kernel that constructs without arguments, and its class.
NAMES = {
    "linear": "Linear",
    "polynomial": "Polynomial",
    "gaussian": "Gaussian",
    "laplace": "Laplace",
    "inverse_multiquadric": "InverseMultiquadric",
    "inverse_distance": "InverseDistance",
    "distance": "Distance",
    "subset": "Subset",
    "random_event": "RandomEvent",
    "ridge": "RidgeKernel",
    "delta": "Delta",
    "class_balanced": "ClassBalanced",
    "subsequence": "Subsequence",
    "spectrum": "Spectrum",
    "graph": "Graph",
}


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
    from depmax import kernels as room
    from depmax.kernels.external import FromFunction, FromMap, FromScikitLearn

    if isinstance(kernel, str):
        if kernel not in NAMES:
            near = get_close_matches(kernel, NAMES, n=1)
            hint = f" Did you mean {near[0]!r}?" if near else ""
            raise ValueError(
                f"Unknown kernel {kernel!r}.{hint} Known names: {', '.join(sorted(NAMES))}; "
                "or pass a kernel object from depmax.kernels."
            )
        return getattr(room, NAMES[kernel])()
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
