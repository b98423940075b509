"""How a prediction is judged, by the type of the target."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from sklearn.metrics import get_scorer, hamming_loss, make_scorer

from depmax._inputs import TargetKind
from depmax.evaluation.comparison.significance import CorrectedMean
from depmax.evaluation.multilabel import one_error

Scoring = str | Callable[..., float] | Sequence[str] | Mapping[str, Any] | None


@dataclass(frozen=True)
class Metric:
    """A scorer and how its values are shown."""

    name: str
    scorer: Callable[[Any, Any, Any], float]  # larger is better
    sign: int = 1  # -1: shown with the opposite sign, as an error

    @property
    def label(self) -> str:
        """The name in words."""
        return LABELS.get(self.name, self.name.replace("_", " "))

    def clip(self, found: CorrectedMean) -> CorrectedMean:
        """The interval without what no score can be."""
        low, high = BOUNDS.get(self.name, (-np.inf, np.inf))
        # numpy's minimum and maximum keep NaN
        return replace(
            found, low=float(np.maximum(found.low, low)), high=float(np.minimum(found.high, high))
        )


LABELS = {
    "balanced_accuracy": "balanced accuracy",
    "f1_macro": "macro F1",
    "f1_micro": "micro F1",
    "r2": "R²",
    "rmse": "root mean squared error",
    "mae": "mean absolute error",
    "hamming_loss": "Hamming loss",
}

#: Least and largest value of a score, where they are known.
BOUNDS = dict.fromkeys(
    ("accuracy", "balanced_accuracy", "f1", "f1_macro", "f1_micro", "f1_weighted", "roc_auc"),
    (0.0, 1.0),
) | {"r2": (-np.inf, 1.0), "hamming_loss": (0.0, 1.0), "one_error": (0.0, 1.0)}


def default_metrics(kind: TargetKind, *, probabilities: bool) -> tuple[Metric, ...]:
    """The metric that decides, then others to show.

    Parameters
    ----------
    kind : type of the target
    probabilities : bool
        Whether the predictor gives a matrix of probabilities of labels.
    """
    if kind == "classes":
        names = ("balanced_accuracy", "accuracy", "f1_macro")
        return tuple(Metric(name, get_scorer(name)) for name in names)
    if kind == "multilabel":
        loss = make_scorer(hamming_loss, greater_is_better=False)
        named = tuple(Metric(name, get_scorer(name)) for name in ("f1_micro", "f1_macro"))
        found = (*named, Metric("hamming_loss", loss, -1))
        if not probabilities:
            return found
        return (*found, Metric("one_error", score_one_error, -1))
    return (
        Metric("r2", get_scorer("r2")),
        Metric("rmse", get_scorer("neg_root_mean_squared_error"), -1),
        Metric("mae", get_scorer("neg_mean_absolute_error"), -1),
    )


def score_one_error(model: Any, X: Any, y: Any) -> float:
    """Less the one-error; scikit-learn's scorers take two labels for two classes."""
    return -one_error(y, model.predict_proba(X))


def require_suitable(metrics: Sequence[Metric], kind: TargetKind, y: np.ndarray) -> None:
    """Refuse at once a scorer that cannot judge even a constant prediction of the target."""
    from sklearn.dummy import DummyClassifier, DummyRegressor

    if kind not in ("classes", "numbers"):
        return
    rows = np.zeros((len(y), 1))
    constant = (DummyClassifier() if kind == "classes" else DummyRegressor()).fit(rows, y)
    for metric in metrics:
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")  # of a constant prediction
                metric.scorer(constant, rows, y)
        except Exception as error:
            reason = " ".join(str(error).split()).rstrip(".")
            raise ValueError(
                f"scoring={metric.name!r} cannot judge a target of {kind}: {reason}."
            ) from error


def chance_score(metric: Metric, kind: TargetKind, y: np.ndarray) -> float | None:
    """Score of the best constant prediction, as the metric is shown; None if it judges none.

    Examples
    --------
    >>> import numpy as np
    >>> y = np.array([0, 0, 0, 1])
    >>> chance_score(default_metrics("classes", probabilities=False)[0], "classes", y)
    0.5
    """
    from sklearn.dummy import DummyClassifier, DummyRegressor

    classify = kind in ("classes", "multilabel")
    model = DummyClassifier(strategy="prior") if classify else DummyRegressor()
    rows = np.zeros((len(y), 1))
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of a constant prediction
            value = float(metric.sign * metric.scorer(model.fit(rows, y), rows, y))
    except Exception:  # a scorer may ask for anything, and guessing is then unknown
        return None
    return value if np.isfinite(value) else None


def read_metrics(
    scoring: Scoring, kind: TargetKind, *, probabilities: bool = False
) -> tuple[Metric, ...]:
    """Metrics from scikit-learn's names, a scorer, a list of names or a dictionary of scorers.

    The first decides; the others are shown.
    """
    if scoring is None:
        return default_metrics(kind, probabilities=probabilities)
    if isinstance(scoring, str):
        return (Metric(scoring, get_scorer(scoring)),)
    if callable(scoring):
        return (Metric(getattr(scoring, "__name__", "score"), scoring),)
    if isinstance(scoring, Mapping):
        pairs = list(scoring.items())
    else:
        pairs = [(name, name) for name in scoring]
    if not pairs:
        raise ValueError("scoring is empty: name at least one metric, or pass None.")
    return tuple(
        Metric(str(name), get_scorer(scorer) if isinstance(scorer, str) else scorer)
        for name, scorer in pairs
    )
