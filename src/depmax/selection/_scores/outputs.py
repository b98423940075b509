"""Targets as scores read them: numbers in columns, or the classes of the rows."""

from __future__ import annotations

import numpy as np

from depmax.data import Target
from depmax.data.target import Indicators


def centred_outputs(target: Target, weight: np.ndarray | None = None) -> np.ndarray:
    """Numbers in columns of mean zero, of shape (n_samples, n_outputs).

    Two classes are one column of -1 and +1, more are an indicator each, since classes have no
    order even where their labels are whole numbers.
    """
    if target.kind == "classes":
        outputs = Indicators(target.classes, signs=len(target.classes) == 2)(target.values)
    else:
        outputs = np.array(target.values)
    outputs -= np.average(outputs, axis=0, weights=weight)
    return outputs


def class_codes(target: Target) -> np.ndarray:
    """Position of each row's class among the sorted classes."""
    return np.unique(target.values, return_inverse=True)[1]


def one_dimensional(target: Target) -> np.ndarray:
    """Labels or numbers as scikit-learn's functions take them: 1-D unless there are several."""
    values = target.values
    return values[:, 0] if values.ndim == 2 and values.shape[1] == 1 else values


#: A column whose standard deviation is below so many roundings of its largest value is constant.
NOISE = 16


def standardized(values: np.ndarray, weight: np.ndarray | None = None) -> np.ndarray:
    """Columns with mean 0 and variance 1, constant ones 0; a row counts by its weight.

    Examples
    --------
    >>> standardized(np.array([[1.0, 5.0, 1e300], [3.0, 5.0, -1e300]]))
    array([[-1.,  0.,  1.],
           [ 1.,  0., -1.]])
    """
    result = np.array(values, dtype=np.float64)
    digits = np.finfo(values.dtype if values.dtype.kind == "f" else np.float64).eps
    largest = np.abs(result).max(axis=0)
    result /= np.where(largest > 0.0, largest, 1.0)  # so that no square overflows
    result -= np.average(result, axis=0, weights=weight)
    spread = np.sqrt(np.average(result**2, axis=0, weights=weight))
    return result / np.where(spread <= NOISE * digits, np.inf, spread)


def target_images(target: Target, weight: np.ndarray | None = None) -> np.ndarray:
    """What is predicted: centred columns of total variance 1; a row counts by its weight.

    Examples
    --------
    >>> from depmax.data import read_target
    >>> target_images(read_target([1.0, 2.0, 3.0, 6.0]))[:, 0].round(2)
    array([-1.07, -0.53,  0.  ,  1.6 ])
    """
    several = target.kind == "multioutput"
    values = standardized(target.values, weight) if several else centred_outputs(target, weight)
    return images_of(values, weight)


def images_of(values: np.ndarray, weight: np.ndarray | None = None) -> np.ndarray:
    """Columns about their means, of total variance 1."""
    images = values - np.average(values, axis=0, weights=weight)
    squares = np.einsum("ij,ij->i", images, images)
    scale = float(np.sqrt(np.average(squares, weights=weight)))
    if not scale > 0.0:
        raise ValueError(
            "y has one class only, or one value in all rows that are searched: there is nothing to "
            "predict."
        )
    images /= scale
    return images
