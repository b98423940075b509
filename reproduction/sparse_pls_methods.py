"""The feature extractors of the sparse PLS paper, with the settings that it searches."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from itertools import product
from typing import Any, Literal

import numpy as np
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning
from sklearn.preprocessing import FunctionTransformer

from depmax.extraction import (
    SMA,
    SMC,
    BoostedLatentFeatures,
    KernelBoosting,
    KernelPLS,
    ReducedKernelOPLS,
    SparseKernelPLS,
)
from depmax.kernels import Gaussian
from depmax.kernels.kernel import Kernel
from depmax.maps import KernelMap
from reproduction.support_vectors import SupportVectorPLS

#: σ of the Gaussian kernel.
WIDTHS = tuple(2.0**power for power in range(-3, 5))
#: Features at most in the Gaussian space.
MOST_FEATURES = 100
SHARES = (0.125, 0.25, 0.5, 1.0)
HEURISTICS: tuple[Literal["max_information", "max_residual"], ...] = (
    "max_information",
    "max_residual",
)
BASES = (50, 100, 200, 400)

#: Extractors for a kernel and a number of features, one per setting.
Make = Callable[[Any, int], Iterator[Any]]


@dataclass(frozen=True)
class Candidate:
    """An extractor, and the kernel whose values it is given; None: it is given the rows."""

    extractor: Any
    kernel: Kernel | None = None

    def features(
        self, rows: np.ndarray, y: np.ndarray, new: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray]:
        """Features of training and of new rows."""
        if self.kernel is not None:
            rows, new = self.kernel(rows), self.kernel(new, rows)
        fitted = clone(self.extractor)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)  # fewer features: fewer to try
            fitted.fit(rows, y)
        return np.asarray(fitted.transform(rows)), np.asarray(fitted.transform(new))


@dataclass(frozen=True)
class Method:
    """An extractor of the paper's tables."""

    name: str
    make: Make
    gaussian: bool = False
    all_features: bool = False  # no features are chosen: all of them are used
    unit_variance: bool = False  # columns of unit variance instead of unit norm
    first_seed: int = 0  # of the outer folds

    def candidates(self, n_rows: int, n_columns: int) -> Iterator[Candidate]:
        """Extractors of as many features as may be wanted, one per setting."""
        if not self.gaussian:
            for extractor in self.make("linear", min(n_rows, n_columns)):
                yield Candidate(extractor)
            return
        for width in WIDTHS:
            for extractor in self.make("precomputed", min(n_rows, MOST_FEATURES)):
                yield Candidate(extractor, Gaussian(width))


def _plain(kernel: Any, count: int) -> Iterator[Any]:
    yield FunctionTransformer() if kernel == "linear" else KernelMap(kernel=kernel)


def _pls(kernel: Any, count: int) -> Iterator[Any]:
    yield KernelPLS(count, kernel=kernel)


def _sma(kernel: Any, count: int) -> Iterator[Any]:
    yield SMA(count, kernel=kernel, random_state=0)


def _smc(kernel: Any, count: int) -> Iterator[Any]:
    yield SMC(count, kernel=kernel, random_state=0)


def _uncentred_smc(kernel: Any, count: int) -> Iterator[Any]:
    yield SMC(count, kernel=kernel, center=False, random_state=0)


def _sparse_pls(kernel: Any, count: int) -> Iterator[Any]:
    for share, heuristic in product(SHARES, HEURISTICS):
        yield SparseKernelPLS(count, kernel=kernel, nu=share, heuristic=heuristic)


def _support_vectors(kernel: Any, count: int) -> Iterator[Any]:
    for share in SHARES:
        yield SupportVectorPLS(count, kernel=kernel, nu=share)


def _largest_residuals(kernel: Any, count: int) -> Iterator[Any]:
    for share in SHARES:
        yield SparseKernelPLS(count, kernel=kernel, nu=share, heuristic="max_residual")


def _reduced(kernel: Any, count: int) -> Iterator[Any]:
    for basis in BASES:
        yield ReducedKernelOPLS(1, kernel=kernel, n_basis=basis, random_state=0)


def _boosted(loss: Any) -> Make:
    def make(kernel: Any, count: int) -> Iterator[Any]:
        yield BoostedLatentFeatures(count, loss=loss, kernel=kernel)

    return make


def _kernel_boosting(loss: Any) -> Make:
    def make(kernel: Any, count: int) -> Iterator[Any]:
        yield KernelBoosting(count, loss=loss, kernel=kernel)

    return make


_LINEAR = (
    Method("All features", _plain, all_features=True),
    Method("PLS", _pls),
    Method("SMA", _sma),
    Method("SMC", _smc),
    Method("Sp. KPLS", _sparse_pls),
)
_GAUSSIAN = (
    Method("RBF Features", _plain, gaussian=True, all_features=True),
    Method("RBF PLS", _pls, gaussian=True),
    Method("RBF SMA", _sma, gaussian=True),
    Method("RBF SMC", _smc, gaussian=True),
    Method("Sp. RBF PLS", _sparse_pls, gaussian=True),
)
REGRESSION = (
    *_LINEAR,
    Method("rKOPLS", _reduced),
    *_GAUSSIAN,
    Method("RBF rKOPLS", _reduced, gaussian=True),
)
#: Readings other than the paper's words, with a comma in their names; shown beside the rows.
_UNIT_VARIANCE = tuple(
    replace(method, name=f"{method.name}, unit variance", unit_variance=True)
    for method in _GAUSSIAN
)
REGRESSION_VARIANTS = tuple(m for m in _UNIT_VARIANCE if not m.name.startswith("Sp. RBF PLS"))
CLASSES_VARIANTS = (
    Method("RBF SMC, no constant removed", _uncentred_smc, gaussian=True),
    Method("Exp KB, other folds", _kernel_boosting("exponential"), first_seed=2),
    *(method for method in _UNIT_VARIANCE if method.name.startswith("Sp. RBF PLS")),
)
#: Readings of rows whose figures differ, on all sets, in a table of their own.
CLASSES_TRIALS = (
    Method("SMC, no constant removed", _uncentred_smc),
    Method("Sp. KPLS, support vectors", _support_vectors),
    Method("Sp. RBF PLS, residuals alone", _largest_residuals, gaussian=True),
    *_UNIT_VARIANCE,
)
CLASSES = (
    *_LINEAR,
    Method("Exp BLF", _boosted("exponential")),
    Method("Log BLF", _boosted("logistic")),
    Method("LAD BLF", _boosted("absolute")),
    Method("Exp KB", _kernel_boosting("exponential")),
    Method("Log KB", _kernel_boosting("logistic")),
    *_GAUSSIAN,
)
