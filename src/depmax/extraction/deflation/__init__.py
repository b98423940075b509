"""The deflation framework: orthogonal features along directions that a criterion chooses."""

from depmax.extraction.deflation.base import DeflationExtractor, Extracted
from depmax.extraction.deflation.criteria import boosted, most_covariant, pca, pls, sma, smc
from depmax.extraction.deflation.images import FeatureImages, GramImages, Images, images_of
from depmax.extraction.deflation.losses import LOSSES, Loss
from depmax.extraction.deflation.orthogonal import OrthogonalFeatures
from depmax.extraction.deflation.steps import Criterion, Residual, deflate
from depmax.extraction.deflation.target import CodedTarget, coded_classes, coded_target

__all__ = [
    "LOSSES",
    "CodedTarget",
    "Criterion",
    "DeflationExtractor",
    "Extracted",
    "FeatureImages",
    "GramImages",
    "Images",
    "Loss",
    "OrthogonalFeatures",
    "Residual",
    "boosted",
    "coded_classes",
    "coded_target",
    "deflate",
    "images_of",
    "most_covariant",
    "pca",
    "pls",
    "sma",
    "smc",
]
