"""Rectangle features of images, after Viola and Jones: differences of sums of adjacent blocks."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

#: Signs of adjacent blocks of one size: two, three and four of them.
PATTERNS = (
    np.array([[1, -1]]),
    np.array([[1], [-1]]),
    np.array([[-1, 1, -1]]),
    np.array([[-1], [1], [-1]]),
    np.array([[1, -1], [-1, 1]]),
)


def rectangle_features(images: np.ndarray, step: int = 2) -> np.ndarray:
    """Every pattern in every size and place, in multiples of ``step`` pixels.

    Parameters
    ----------
    images : ndarray of shape (n_images, height, width)
    step : int, default=2
        Blocks are as high and wide as a multiple of it, and start at multiples of it.

    Returns
    -------
    ndarray of shape (n_images, n_features), float32
    """
    return np.concatenate(list(rectangle_blocks(images, step)), axis=1)


def rectangle_blocks(images: np.ndarray, step: int = 2) -> Iterator[np.ndarray]:
    """The columns of ``rectangle_features`` in parts, one for each pattern and size."""
    # integral[:, i, j] is the sum of the pixels above i and left of j
    integral = np.pad(images.cumsum(axis=1).cumsum(axis=2), ((0, 0), (1, 0), (1, 0)))
    for feature in _placed(integral.astype(float), step):
        yield feature.reshape(len(images), -1).astype(np.float32)


def _placed(integral: np.ndarray, step: int) -> Iterator[np.ndarray]:
    """For each pattern and size, its values in all places."""
    _, height, width = integral.shape
    for high in range(step, height, step):
        for wide in range(step, width, step):
            upper, lower = integral[:, :-high], integral[:, high:]
            blocks = (
                lower[:, :, wide:] - lower[:, :, :-wide] - upper[:, :, wide:] + upper[:, :, :-wide]
            )
            for pattern in PATTERNS:
                tall = blocks.shape[1] - (pattern.shape[0] - 1) * high
                broad = blocks.shape[2] - (pattern.shape[1] - 1) * wide
                if tall < 1 or broad < 1:
                    continue
                yield sum(
                    sign * blocks[:, i * high :, j * wide :][:, :tall:step, :broad:step]
                    for (i, j), sign in np.ndenumerate(pattern)
                )
