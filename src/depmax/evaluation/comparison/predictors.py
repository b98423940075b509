"""Which predictor judges the features when the user names none."""

from __future__ import annotations

from typing import Any

from depmax.evaluation.comparison.problem import Problem
from depmax.evaluation.ml_knn import MLkNN

#: Up to so many training rows a kernel machine is fast enough to be fitted thousands of times.
KERNEL_MACHINE_ROWS = 1000
#: Up to so many rows neighbours are found quickly; beyond, trees are grown.
NEIGHBOUR_ROWS = 20_000


def default_predictor(problem: Problem) -> Any:
    """A nonlinear predictor without parameters to tune: the features are on trial, not it.

    A support vector machine with a Gaussian kernel up to 1,000 training rows, ten nearest
    neighbours up to 20,000 and for targets with several columns (ML-kNN for labels), boosted trees
    beyond.
    """
    from sklearn.compose import TransformedTargetRegressor
    from sklearn.ensemble import HistGradientBoostingClassifier, HistGradientBoostingRegressor
    from sklearn.neighbors import KNeighborsClassifier, KNeighborsRegressor
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import MaxAbsScaler, StandardScaler
    from sklearn.svm import SVC, SVR

    classify = problem.kind == "classes"
    scaler = MaxAbsScaler() if problem.sparse else StandardScaler()
    neighbours = min(10, max(1, problem.n_samples // 4))
    if problem.kind == "multilabel":
        return make_pipeline(scaler, MLkNN(neighbours))
    if problem.kind == "multioutput":
        return make_pipeline(scaler, KNeighborsRegressor(neighbours))
    if problem.n_samples <= KERNEL_MACHINE_ROWS:
        if classify:
            return make_pipeline(scaler, SVC())
        machine = TransformedTargetRegressor(SVR(), transformer=StandardScaler())
        return make_pipeline(scaler, machine)
    if problem.n_samples <= NEIGHBOUR_ROWS or problem.sparse:
        model = KNeighborsClassifier if classify else KNeighborsRegressor
        return make_pipeline(scaler, model(neighbours))
    return HistGradientBoostingClassifier() if classify else HistGradientBoostingRegressor()
