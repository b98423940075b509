"""The predictor that judges features: the recommendation holds for the one that is named."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from itertools import product
from typing import Any, Literal, get_args

from depmax.data import TargetKind
from depmax.evaluation.comparison.problem import Problem
from depmax.evaluation.multilabel import MLkNN
from depmax.kernels import Gaussian
from depmax.maps import NystroemMap

#: Up to this many training rows a kernel machine is fast enough to be fitted thousands of times.
KERNEL_MACHINE_ROWS = 1000
#: Coordinates of the kernel beyond.
COORDINATES = 200

JudgeName = Literal["auto", "kernel", "boosting", "linear"]


@dataclass(frozen=True)
class NamedJudge:
    """An unfitted predictor, and what a sentence calls it."""

    name: str
    predictor: Any


def read_judge(judge: Any, problem: Problem, *, balanced: bool, probabilities: bool) -> NamedJudge:
    """The predictor that a name stands for, or an estimator of the user's.

    Parameters
    ----------
    judge : {"auto", "kernel", "boosting", "linear"} or predictor
    problem : Problem
    balanced : bool
        Whether a rare class counts as much as a frequent one in the score that decides. It then
        does so in the predictor too, which would otherwise do best to ignore it.
    probabilities : bool
        Whether a metric needs probabilities of classes.
    """
    if not isinstance(judge, str):
        if not hasattr(judge, "predict"):
            raise TypeError(
                f"judge must be 'auto', 'kernel', 'boosting', 'linear' or a predictor, "
                f"got {judge!r}."
            )
        return NamedJudge(type(judge).__name__, judge)
    names = {"kernel": _kernel, "boosting": _boosting, "linear": _linear}
    if judge != "auto" and judge not in names:
        raise ValueError(
            f"judge must be 'auto', 'kernel', 'boosting', 'linear' or a predictor, got {judge!r}."
        )
    make = names.get(judge, _kernel)
    return make(problem, "balanced" if balanced else None, probabilities)


def every_judge() -> Iterator[Any]:
    """Predictors for problems of every type and size, as :func:`read_judge` makes them."""
    sizes = (1, KERNEL_MACHINE_ROWS + 1)
    for name, kind, rows, sparse, probabilities in product(
        ("kernel", "boosting", "linear"), get_args(TargetKind), sizes, (False, True), (False, True)
    ):
        problem = Problem(kind, rows, 1, 2, sparse=sparse)
        with suppress(ValueError):  # not every one takes all problems
            yield read_judge(name, problem, balanced=False, probabilities=probabilities).predictor


def _scaled(problem: Problem, *steps: Any) -> Any:
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import MaxAbsScaler, StandardScaler

    return make_pipeline(MaxAbsScaler() if problem.sparse else StandardScaler(), *steps)


def _kernel(problem: Problem, weight: str | None, probabilities: bool) -> NamedJudge:
    """Gaussian kernel: a support vector machine, or regression on Nyström features beyond."""
    from sklearn.compose import TransformedTargetRegressor
    from sklearn.linear_model import LogisticRegression, Ridge, RidgeClassifier
    from sklearn.neighbors import KNeighborsRegressor
    from sklearn.preprocessing import StandardScaler
    from sklearn.svm import SVC, SVR

    neighbours = min(10, max(1, problem.n_samples // 4))
    if problem.kind == "multilabel":
        return NamedJudge("nearest neighbours", _scaled(problem, MLkNN(neighbours)))
    if problem.kind == "multioutput":
        near = KNeighborsRegressor(neighbours, algorithm="brute")  # a tree could not be checked
        return NamedJudge("nearest neighbours", _scaled(problem, near))
    coordinates = NystroemMap(min(COORDINATES, problem.n_samples), kernel=Gaussian("dimension"))
    few = problem.n_samples <= KERNEL_MACHINE_ROWS
    if problem.kind == "classes":
        if probabilities:
            model = LogisticRegression(class_weight=weight, max_iter=200)
            return NamedJudge("a kernel classifier", _scaled(problem, coordinates, model))
        if few:
            return NamedJudge(
                "a support vector machine", _scaled(problem, SVC(class_weight=weight))
            )
        ridge = RidgeClassifier(alpha=0.01, class_weight=weight)
        return NamedJudge("a kernel classifier", _scaled(problem, coordinates, ridge))
    if few:
        machine = TransformedTargetRegressor(SVR(), transformer=StandardScaler())
        return NamedJudge("a support vector machine", _scaled(problem, machine))
    return NamedJudge("kernel regression", _scaled(problem, coordinates, Ridge(alpha=0.01)))


def _boosting(problem: Problem, weight: str | None, probabilities: bool) -> NamedJudge:
    from sklearn.ensemble import HistGradientBoostingClassifier, HistGradientBoostingRegressor
    from sklearn.multioutput import MultiOutputRegressor

    if problem.kind == "multilabel":
        raise ValueError("judge='boosting' predicts one target: for several labels use 'auto'.")
    if problem.sparse:
        raise ValueError("judge='boosting' takes no sparse table: use 'linear' or 'kernel'.")
    if problem.kind == "classes":
        model: Any = HistGradientBoostingClassifier(class_weight=weight)
    else:
        model = HistGradientBoostingRegressor()
        model = MultiOutputRegressor(model) if problem.kind == "multioutput" else model
    return NamedJudge("boosted trees", model)


def _linear(problem: Problem, weight: str | None, probabilities: bool) -> NamedJudge:
    from sklearn.linear_model import LogisticRegression, RidgeCV

    if problem.kind == "multilabel":
        raise ValueError("judge='linear' predicts one target: for several labels use 'auto'.")
    if problem.kind == "classes":
        model = LogisticRegression(class_weight=weight, max_iter=1000)
        return NamedJudge("logistic regression", _scaled(problem, model))
    return NamedJudge(
        "ridge regression", _scaled(problem, RidgeCV(alphas=(0.01, 0.1, 1.0, 10.0, 100.0)))
    )
