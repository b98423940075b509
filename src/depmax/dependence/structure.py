"""One dependence of a structure: its weight and its measure."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

from depmax._files import held_by_models
from depmax._parameters import Rule, is_number
from depmax.kernels import KernelLike


@held_by_models
@dataclass(frozen=True)
class Dependence:
    """One of the dependences of a structure: how much it counts, and how it is measured.

    The measure is HSIC(f, z)/√HSIC₀(z, z), which does not depend on the units of z.
    :class:`DependenceStructure` has a linear kernel of the feature f, which has unit length in the
    space of its kernel; ``depmax.neural.NeuroStructure`` also divides by √HSIC₀(f, f).

    Parameters
    ----------
    weight : float, default=1.0
        Positive for what is sought, negative for what is avoided, 0 for what does not matter.
    kernel : kernel, name or "auto", default="auto"
        Kernel of z. ``"auto"`` is for the target the kernel of its type, for earlier features the
        linear one, for the inputs the kernel of X.
    unbiased : bool, default=False
        HSIC₁ instead of HSIC₀.

    Examples
    --------
    >>> from depmax import Dependence
    >>> Dependence(-0.5, kernel="gaussian").weight
    -0.5
    """

    weight: float = 1.0
    kernel: KernelLike | Literal["auto"] = "auto"
    unbiased: bool = False

    @classmethod
    def of(cls, value: Any) -> Dependence:
        """A number is the weight of the usual measure."""
        return value if isinstance(value, cls) else cls(float(value))

    def seen_by(self, usual: KernelLike) -> KernelLike:
        """The kernel, or the usual one."""
        return usual if isinstance(self.kernel, str) and self.kernel == "auto" else self.kernel


#: A number of any sign, or with a measure of its own.
Weight = float | Dependence


def _is_dependence(value: Any) -> bool:
    weight = value.weight if isinstance(value, Dependence) else value
    return is_number(weight)


#: What a weight may be.
WEIGHT = Rule(
    _is_dependence,
    "a finite number or a Dependence",
    "positive for what is sought, negative for what is avoided",
)
