"""Sums over kernel values with landmarks, in single precision where that is enough."""

from __future__ import annotations

import numpy as np

from depmax.pencils import Space
from depmax.samples import Sample

#: Kernel values from which on single precision saves time worth having.
MANY = 2**22
#: Rows on which the error of single precision is measured.
SAMPLE = 128
#: Its error, relative to the length of features, up to which it is enough.
LARGEST_ERROR = 1e-5


def unmixed_space(side: Sample, mixing: np.ndarray) -> Space:
    """The rows in the features of a kernel before their last product.

    A map of landmarks is an approximation, and its kernel values need not be more precise than
    it is. Where they are many they are computed and multiplied in single precision and summed
    over chunks of rows in double precision, unless features of some rows tell that more than
    their fifth digit would change: a last product may blow rounding errors up.
    """
    many = side.n_samples * len(mixing) >= MANY
    if not many or not _single_is_enough(side, mixing):
        return Space(
            lambda part: side.kernel.unmixed(side.rows[part]),
            side.n_samples,
            len(mixing),
            concurrent=side.is_array,
        )
    return Space(
        lambda part: side.kernel.unmixed(side.rows[part].astype(np.float32, copy=False)),
        side.n_samples,
        len(mixing),
        float(np.finfo(np.float32).eps),
        dtype=np.float32,
        concurrent=True,
    )


def _single_is_enough(side: Sample, mixing: np.ndarray) -> bool:
    """Whether features of a sample stay what they are when rows are rounded."""
    if not side.is_array:
        return False
    sample = side.rows[:: max(1, side.n_samples // SAMPLE)][:SAMPLE]
    with np.errstate(over="ignore", invalid="ignore"):
        exact = side.kernel.unmixed(sample.astype(np.float64, copy=False)) @ mixing
        rounded = side.kernel.unmixed(sample.astype(np.float32, copy=False)) @ mixing
        error = np.linalg.norm(rounded - exact)
    return bool(error <= LARGEST_ERROR * np.linalg.norm(exact))
