"""The predictor that judges features where the user names none."""

from __future__ import annotations

from typing import Any

from depmax.evaluation.comparison.setting import Problem
from depmax.evaluation.multilabel import MLkNN
from depmax.kernels import Gaussian
from depmax.maps import NystroemMap

#: Up to this many training rows a kernel machine is fast enough to be fitted thousands of times.
KERNEL_MACHINE_ROWS = 1000
#: Up to this many rows neighbours are found quickly; beyond, trees are grown.
NEIGHBOUR_ROWS = 20_000


def default_predictor(problem: Problem, *, balanced: bool) -> Any:
    """A nonlinear predictor without parameters to tune: the features are judged, not the predictor.

    A support vector machine with a Gaussian kernel up to 1,000 training rows; up to 20,000 ridge
    regression on Nyström features, or ten nearest neighbours; boosted trees beyond. Targets with
    several columns have neighbours of any number of rows (ML-kNN for labels).

    Parameters
    ----------
    problem : Problem
    balanced : bool
        Whether a rare class counts as much as a frequent one in the score that decides. It then
        does so in the predictor too, which would otherwise do best to ignore it.
    """
    from sklearn.compose import TransformedTargetRegressor
    from sklearn.ensemble import HistGradientBoostingClassifier, HistGradientBoostingRegressor
    from sklearn.linear_model import RidgeClassifier
    from sklearn.neighbors import KNeighborsClassifier, KNeighborsRegressor
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import MaxAbsScaler, StandardScaler
    from sklearn.svm import SVC, SVR

    classify = problem.kind == "classes"
    weight = "balanced" if balanced else None
    scaler = MaxAbsScaler() if problem.sparse else StandardScaler()
    neighbours = min(10, max(1, problem.n_samples // 4))
    if problem.kind == "multilabel":
        return make_pipeline(scaler, MLkNN(neighbours))
    if problem.kind == "multioutput":
        return make_pipeline(scaler, KNeighborsRegressor(neighbours))
    if problem.n_samples <= KERNEL_MACHINE_ROWS:
        if classify:
            return make_pipeline(scaler, SVC(class_weight=weight))
        machine = TransformedTargetRegressor(SVR(), transformer=StandardScaler())
        return make_pipeline(scaler, machine)
    if problem.n_samples <= NEIGHBOUR_ROWS or problem.sparse:
        if not classify:
            return make_pipeline(scaler, KNeighborsRegressor(neighbours))
        if not balanced:  # neighbours vote with equal weights, and give probabilities
            return make_pipeline(scaler, KNeighborsClassifier(neighbours))
        images = NystroemMap(200, kernel=Gaussian("dimension"))
        return make_pipeline(scaler, images, RidgeClassifier(alpha=0.01, class_weight="balanced"))
    if classify:
        return HistGradientBoostingClassifier(class_weight=weight)
    return HistGradientBoostingRegressor()
