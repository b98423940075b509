"""Many kernels in one test: standardised HSIC over all combinations of kernels.

Let z_kl(π) be HSIC₁ of kernel k of x and kernel l of y after the permutation π, in standard
deviations of its law over all permutations. Over these the covariance is a Kronecker product,
cov(z_kl, z_k'l') = G_kk' H_ll' with G and H the cosines between the U-centred kernel matrices of
each side. So over all combinations Σ a_k K_k and Σ b_l L_l the largest standardised HSIC is the
largest singular value of G^{-1/2} Z H^{-1/2}, and the other singular values belong to combinations
that are uncorrelated with it. The statistic is a soft maximum of them, (Σ σ⁴)^{1/4}: dependence
that several combinations share is not lost. It is taken anew for every permutation.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import partial
from typing import Any

import numpy as np
from scipy import sparse

from depmax import _resources
from depmax.data import Table, read_table, read_target
from depmax.data.sample import (
    Sample,
    read_sample,
    read_target_sample,
    require_finite_values,
    sample_of_table,
    target_sample,
    warn_of_outputs,
)
from depmax.data.table import warn_of_scales
from depmax.dependence._nulls.permutation import (
    DOUBLE_ROWS,
    SINGLE_SLACK,
    SLACK,
    permuted_table,
)
from depmax.dependence.exchange import Plan
from depmax.dependence.resolve import refuse_to_choose
from depmax.kernels import Gaussian, Laplace, Linear
from depmax.kernels.kernel import Kernel

#: Added to the cosines between kernels, so that their small differences are not blown up.
RIDGE = 0.01
#: Part of a kernel's mean square below which U-centring has left rounding only.
NOTHING = 1e-12
#: By how much combining kernels may amplify rounding.
AMPLIFIED = 1.0 / RIDGE


#: Kernels of numbers: name, recipe, multiples of its bandwidth (the median distance between rows),
#: and whether it compares the ranks of every column instead of its values. Chosen on ten of hyppo's
#: twenty simulations and four shapes of our own; see docs/mathematics.
MEMBERS: tuple[tuple[str, Kernel, tuple[float, ...], bool], ...] = (
    ("Linear", Linear(), (), False),
    ("Gaussian", Gaussian(), (1 / 32, 1 / 8, 1 / 2, 2.0), False),
    ("Laplace", Laplace(), (), False),
    ("Gaussian of ranks", Gaussian(), (1 / 8, 1 / 2), True),
)


@dataclass(frozen=True)
class Family:
    """Kernels on the rows of one side."""

    names: tuple[str, ...]
    sides: tuple[Sample, ...]

    @classmethod
    def given(cls, sides: Sequence[Sample]) -> Family:
        """Kernels that the caller chose."""
        return cls(tuple(repr(side.kernel) for side in sides), tuple(sides))

    @classmethod
    def of_table(cls, table: Table) -> Family:
        """Kernels of many widths for a table of numbers, and categories beside them."""
        found: list[tuple[str, Sample]] = []
        for name, recipe, multiples, of_ranks in MEMBERS:
            rows = table.ranked() if of_ranks else table
            if rows is None:  # categories only
                continue
            side = sample_of_table(rows, recipe, scale_free=True)
            kernel: Any = side.kernel
            found += (
                [(name, side)]
                if not multiples
                else [
                    (f"{name}, {Fraction(each)} median", replace(side, kernel=kernel.widened(each)))
                    for each in multiples
                ]
            )
        names, sides = zip(*found, strict=True)
        return cls(names, sides)

    @property
    def n_samples(self) -> int:
        """Number of rows m."""
        return self.sides[0].n_samples

    def take(self, rows: np.ndarray) -> Family:
        """These kernels on some of the rows."""
        return replace(self, sides=tuple(side.take(rows) for side in self.sides))

    def is_informative(self, squares: np.ndarray) -> np.ndarray:
        """Which kernels tell rows apart, from the squares ΣÃ² of their U-centred matrices."""
        means = np.array([np.abs(side.near_origin().diag()).mean() for side in self.sides])
        return np.asarray(squares > NOTHING * (means * self.n_samples) ** 2)


@dataclass(frozen=True)
class Combined:
    """Standardised statistics of all pairs of kernels, and the soft maximum of combinations."""

    z: np.ndarray  # as observed, zero where a kernel tells no rows apart; shape (n_x, n_y)
    observed: float
    permuted: np.ndarray  # the same of every permutation
    slack: float  # standard deviations within which two of them are ties, but for rounding


def combine(
    x: Family,
    y: Family,
    n_permutations: int,
    rng: np.random.Generator,
    n_jobs: int,
    plan: Plan | None = None,
) -> Combined:
    """Standardised HSIC over combinations of kernels, observed and permuted."""
    m = x.n_samples
    table = permuted_table(x.sides, y.sides, n_permutations, rng, n_jobs, plan=plan)
    require_finite_values(table.values)
    slack = AMPLIFIED * (SLACK if m <= DOUBLE_ROWS else SINGLE_SLACK)
    squares_x = np.diag(table.gram_x)
    squares_y = np.diagonal(table.gram_y, axis1=1, axis2=2)  # shape (1 or 1 + n, n_y)
    kept_x, kept_y = x.is_informative(squares_x), y.is_informative(squares_y[0])
    z = np.zeros((len(x.sides), len(y.sides)))
    if not kept_x.any() or not kept_y.any():
        return Combined(z, 0.0, np.zeros(n_permutations), slack)
    scales_x = np.sqrt(squares_x[kept_x])
    floor = np.sqrt(NOTHING * squares_y[0, kept_y])  # of orders that repeat one value
    scales_y = np.maximum(np.sqrt(squares_y[:, kept_y]), floor)
    # ΣÃB̃ has mean 0 and variance 2 ΣÃ² ΣB̃² / (m (m - 3)) over all permutations
    values = table.values[:, kept_x][:, :, kept_y] * np.sqrt(m * (m - 3) / 2)
    values /= scales_x[:, np.newaxis] * scales_y[:, np.newaxis, :]
    z[np.ix_(kept_x, kept_y)] = values[0]
    cosines_x = table.gram_x[np.ix_(kept_x, kept_x)] / np.outer(scales_x, scales_x)
    products_y = scales_y[:, :, np.newaxis] * scales_y[:, np.newaxis, :]
    cosines_y = table.gram_y[:, kept_y][:, :, kept_y] / products_y
    whitened = _inverse_root(cosines_x) @ values @ _inverse_root(cosines_y)
    if whitened.shape[1:] == (1, 1):  # one kernel each: nothing to combine, and a sign
        combined = whitened[:, 0, 0]
    else:
        squares = whitened @ whitened.mT  # whose squares add up to Σ σ⁴
        combined = np.sum(squares**2, axis=(1, 2)) ** 0.25
    return Combined(z, float(combined[0]), combined[1:], slack)


def _inverse_root(cosines: np.ndarray) -> np.ndarray:
    """G^{-1/2} of every matrix, with a ridge that leaves a single kernel as it is."""
    values, vectors = np.linalg.eigh((cosines + RIDGE * np.eye(cosines.shape[-1])) / (1.0 + RIDGE))
    root: np.ndarray = (vectors / np.sqrt(values)[..., np.newaxis, :]) @ vectors.mT
    return root


# --- which kernels --------------------------------------------------------------------------------
def is_auto(kernel: Any) -> bool:
    """Whether kernels are chosen by the type of the rows."""
    return isinstance(kernel, str) and kernel == "auto"


def only_kernel(kernel: Any, name: str, who: str, auto: str = "gaussian") -> Any:
    """The kernel of a test that has one on each side."""
    if isinstance(kernel, list | tuple):
        raise ValueError(
            f"{name} has {len(kernel)} kernels, and {who} compares one on each side: pass one, "
            "or use method='aggregate' without given."
        )
    return auto if is_auto(kernel) else kernel


def family_of(rows: Any, kernel: Any, method: str, *, is_target: bool = False) -> Family:
    """Kernels of X or y: those given, those of numbers, or the one of classes or labels."""
    name = "target_kernel" if is_target else "kernel"
    if method != "aggregate":
        auto = "auto" if is_target else "gaussian"
        kernel = [only_kernel(kernel, name, f"method={method!r}", auto)]
    elif is_auto(kernel):
        return _family_of_target(rows) if is_target else _family_of_table(rows)
    kernels = kernel if isinstance(kernel, list | tuple) else [kernel]
    if not kernels:
        raise ValueError(f"{name} is empty: pass at least one kernel, or 'auto'.")
    choose = partial(refuse_to_choose, "hsic_test")
    if is_target:
        return Family.given([read_target_sample(rows, each) for each in kernels])
    return Family.given([read_sample(rows, each, choose=choose) for each in kernels])


def _family_of_table(X: Any) -> Family:
    table = read_table(X)
    warn_of_scales(Gaussian(), table.values, table.names, table.categories)
    if sparse.issparse(table.values):  # ranks and differences of rows are dense
        shape = table.values.shape
        _resources.require_memory(
            8 * shape[0] * shape[1],
            _resources.max_memory(),
            "hsic_test: sparse X",
            "dense rows, which some of the kernels of 'auto' compare (pass kernel='gaussian', or "
            "the output of sklearn.decomposition.TruncatedSVD)",
        )
        table = replace(table, values=table.values.toarray())
    return Family.of_table(table)


def _family_of_target(y: Any) -> Family:
    target = read_target(y)
    if target.kind in ("classes", "multilabel", "censored"):
        return Family.given([target_sample(target, "auto")])
    warn_of_outputs(target, Gaussian())
    return Family.of_table(Table(target.vectors))
