"""Dependence-maximising feature selection and extraction."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from depmax._inputs import UnseenCategoryWarning
from depmax._version import __version__
from depmax.dependence import (
    IndependenceTest,
    Interval,
    PairScreening,
    Screening,
    alignment,
    coco,
    correntropy,
    distance_correlation,
    gaussian_mutual_information,
    hsic,
    hsic_interval,
    hsic_test,
    hsic_variance,
    intrinsic_dimension,
    mmd,
    quadratic_mutual_information,
    resolve,
    samples_needed,
    screen,
    screen_pairs,
    total_correlation,
)
from depmax.kernels.scales import ScaleWarning

if TYPE_CHECKING:
    from depmax.evaluation import (
        Comparison,
        compare,
    )
    from depmax.extraction import (
        HBFE,
        HSCA,
        ICAFX,
        LPP,
        PHD,
        SIR,
        SMA,
        SMC,
        BoostedLatentFeatures,
        DeflationFeatures,
        IterativePCA,
        KernelBoosting,
        KernelLDA,
        KernelPLS,
        KernelPLSClassifier,
        LaplacianEigenmap,
        LinearRegressionFeature,
        ReducedKernelOPLS,
        SparseKernelPLS,
    )
    from depmax.pencils.graphs import (
        GaussianGraph,
        NeighborGraph,
        RadiusGraph,
    )
    from depmax.persistence import (
        load_model,
        save_model,
    )
    from depmax.selection import (
        BAHSIC,
        FOHSIC,
        R2W2,
        DependenceFilter,
        HSICLasso,
        KernelRidgeElimination,
        Relief,
        ZeroNormSVM,
    )

#: Names that are loaded when first asked for, so that ``import depmax`` stays fast.
_LAZY = {
    "depmax.evaluation": [
        "Comparison",
        "compare",
    ],
    "depmax.extraction": [
        "HBFE",
        "HSCA",
        "ICAFX",
        "LPP",
        "PHD",
        "SIR",
        "SMA",
        "SMC",
        "BoostedLatentFeatures",
        "DeflationFeatures",
        "IterativePCA",
        "KernelBoosting",
        "KernelLDA",
        "KernelPLS",
        "KernelPLSClassifier",
        "LaplacianEigenmap",
        "LinearRegressionFeature",
        "ReducedKernelOPLS",
        "SparseKernelPLS",
    ],
    "depmax.pencils.graphs": [
        "GaussianGraph",
        "NeighborGraph",
        "RadiusGraph",
    ],
    "depmax.persistence": [
        "load_model",
        "save_model",
    ],
    "depmax.selection": [
        "BAHSIC",
        "FOHSIC",
        "R2W2",
        "DependenceFilter",
        "HSICLasso",
        "KernelRidgeElimination",
        "Relief",
        "ZeroNormSVM",
    ],
}
_ROOMS = {name: room for room, names in _LAZY.items() for name in names}

__all__ = [
    "BAHSIC",
    "FOHSIC",
    "HBFE",
    "HSCA",
    "ICAFX",
    "LPP",
    "PHD",
    "R2W2",
    "SIR",
    "SMA",
    "SMC",
    "BoostedLatentFeatures",
    "Comparison",
    "DeflationFeatures",
    "DependenceFilter",
    "GaussianGraph",
    "HSICLasso",
    "IndependenceTest",
    "Interval",
    "IterativePCA",
    "KernelBoosting",
    "KernelLDA",
    "KernelPLS",
    "KernelPLSClassifier",
    "KernelRidgeElimination",
    "LaplacianEigenmap",
    "LinearRegressionFeature",
    "NeighborGraph",
    "PairScreening",
    "RadiusGraph",
    "ReducedKernelOPLS",
    "Relief",
    "ScaleWarning",
    "Screening",
    "SparseKernelPLS",
    "UnseenCategoryWarning",
    "ZeroNormSVM",
    "__version__",
    "alignment",
    "coco",
    "compare",
    "correntropy",
    "distance_correlation",
    "gaussian_mutual_information",
    "hsic",
    "hsic_interval",
    "hsic_test",
    "hsic_variance",
    "intrinsic_dimension",
    "load_model",
    "mmd",
    "quadratic_mutual_information",
    "resolve",
    "samples_needed",
    "save_model",
    "screen",
    "screen_pairs",
    "total_correlation",
]


def __getattr__(name: str) -> Any:
    """Load the room of a name when it is first asked for."""
    if name in _ROOMS:
        return getattr(import_module(_ROOMS[name]), name)
    raise AttributeError(f"module 'depmax' has no attribute {name!r}")


def __dir__() -> list[str]:
    """Public names, those of rooms not loaded yet included."""
    return sorted(__all__)
