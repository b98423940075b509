"""The five regressors of the ICA-FX paper, with the choices it makes on the test rows."""

from __future__ import annotations

import warnings
from collections.abc import Callable

import numpy as np
from sklearn.exceptions import ConvergenceWarning
from sklearn.neighbors import KNeighborsRegressor
from sklearn.neural_network import MLPRegressor
from sklearn.preprocessing import StandardScaler

from reproduction.ica_machines import fit_machine

#: Hidden nodes and degrees among which the paper takes the best on the test rows.
HIDDEN = (2, 4, 6, 8, 10, 15, 20)
DEGREES = (1, 2, 3)

#: Predictions of test rows from training rows, training targets and test rows: one per choice.
Predict = Callable[[np.ndarray, np.ndarray, np.ndarray], list[np.ndarray]]


def perceptrons(rows: np.ndarray, y: np.ndarray, others: np.ndarray) -> list[np.ndarray]:
    """One hidden layer of tanh nodes; L-BFGS takes the place of Levenberg-Marquardt."""
    scale, target = StandardScaler().fit(rows), StandardScaler().fit(y[:, np.newaxis])
    z = target.transform(y[:, np.newaxis])[:, 0]
    found = []
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)  # the paper's end is fixed as well
        for size in HIDDEN:
            net = MLPRegressor(
                hidden_layer_sizes=(size,), activation="tanh", solver="lbfgs", random_state=0
            )
            net.fit(scale.transform(rows), z)
            guess = net.predict(scale.transform(others))
            found.append(target.inverse_transform(guess[:, np.newaxis])[:, 0])
    return found


def machines(rows: np.ndarray, y: np.ndarray, others: np.ndarray) -> list[np.ndarray]:
    """Support vector regression with polynomial kernels (x·z/d + 1)^degree, C = 100, ε = 0.01."""
    scale, target = StandardScaler().fit(rows), StandardScaler().fit(y[:, np.newaxis])
    z = target.transform(y[:, np.newaxis])[:, 0]
    known = scale.transform(rows)
    products = known @ known.T / known.shape[1] + 1.0
    with_others = scale.transform(others) @ known.T / known.shape[1] + 1.0
    found = []
    for degree in DEGREES:
        machine = fit_machine(products**degree, z, C=100.0, epsilon=0.01)
        guess = machine(with_others**degree)
        found.append(target.inverse_transform(guess[:, np.newaxis])[:, 0])
    return found


def neighbours(count: int) -> Predict:
    """Mean of the nearest targets, weighted by 1/(1 + √distance), on the features as they are."""

    def predict(rows: np.ndarray, y: np.ndarray, others: np.ndarray) -> list[np.ndarray]:
        nearest = KNeighborsRegressor(count, weights=lambda d: 1.0 / (1.0 + np.sqrt(d)))
        return [nearest.fit(rows, y).predict(others)]

    return predict


REGRESSORS: dict[str, Predict] = {
    "MLP": perceptrons,
    "SVM": machines,
    "1-NN": neighbours(1),
    "3-NN": neighbours(3),
    "5-NN": neighbours(5),
}


def errors(
    rows: np.ndarray, y: np.ndarray, others: np.ndarray, wanted: np.ndarray
) -> dict[str, float]:
    """Root mean square error of each regressor on the test rows, of its best choice."""
    return {
        name: min(
            float(np.sqrt(np.mean((guess - wanted) ** 2))) for guess in predict(rows, y, others)
        )
        for name, predict in REGRESSORS.items()
    }
