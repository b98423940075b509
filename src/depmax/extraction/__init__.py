"""Extractors: one published method per file."""

from depmax.extraction._fitting.cross_validation import CrossValidation, ModelTest
from depmax.extraction._fitting.latent_model import CoefficientIntervals
from depmax.extraction._ica_solvers import NaturalGradient, QuasiNewton
from depmax.extraction.boosted_latent_features import BoostedLatentFeatures
from depmax.extraction.deflation_features import DeflationFeatures
from depmax.extraction.dependence_structure import DependenceStructure
from depmax.extraction.extractor import DependenceExtractor
from depmax.extraction.hbfe import HBFE
from depmax.extraction.hsca import HSCA
from depmax.extraction.ica import ICA
from depmax.extraction.icafx import ICAFX
from depmax.extraction.iterative_pca import IterativePCA
from depmax.extraction.kernel_boosting import KernelBoosting
from depmax.extraction.kernel_cca import KernelCCA
from depmax.extraction.kernel_lda import KernelLDA
from depmax.extraction.kernel_pls import KernelPLS, KernelPLSClassifier
from depmax.extraction.laplacian_eigenmap import LaplacianEigenmap
from depmax.extraction.linear_regression_feature import LinearRegressionFeature
from depmax.extraction.lpp import LPP
from depmax.extraction.phd import PHD
from depmax.extraction.reduced_kernel_opls import ReducedKernelOPLS
from depmax.extraction.residual import Residual
from depmax.extraction.sir import SIR
from depmax.extraction.sparse_kernel_pls import SparseKernelPLS
from depmax.extraction.sparse_maximal import SMA, SMC

__all__ = [
    "HBFE",
    "HSCA",
    "ICA",
    "ICAFX",
    "LPP",
    "PHD",
    "SIR",
    "SMA",
    "SMC",
    "BoostedLatentFeatures",
    "CoefficientIntervals",
    "CrossValidation",
    "DeflationFeatures",
    "DependenceExtractor",
    "DependenceStructure",
    "IterativePCA",
    "KernelBoosting",
    "KernelCCA",
    "KernelLDA",
    "KernelPLS",
    "KernelPLSClassifier",
    "LaplacianEigenmap",
    "LinearRegressionFeature",
    "ModelTest",
    "NaturalGradient",
    "QuasiNewton",
    "ReducedKernelOPLS",
    "Residual",
    "SparseKernelPLS",
]
