"""Neural networks trained for dependence, and autoencoders; needs torch.

Install it with the extra ``neural``: ``pip install "depmax[neural]"``.
"""

try:
    import torch as _torch  # noqa: F401  (only whether it is there)
except ImportError as error:
    raise ImportError(
        "depmax.neural needs torch, which is not installed: pip install 'depmax[neural]'."
    ) from error

from depmax.neural.autoencoder import Autoencoder
from depmax.neural.hbfe import NeuroHBFE
from depmax.neural.solvers import FullBatch, MiniBatch
from depmax.neural.structure import NeuroHSCA, NeuroStructure

__all__ = ["Autoencoder", "FullBatch", "MiniBatch", "NeuroHBFE", "NeuroHSCA", "NeuroStructure"]
