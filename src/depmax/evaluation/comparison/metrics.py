"""How predictions are judged for each type of target, and mean scores over overlapping splits."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from scipy.special import stdtr, stdtrit  # Student's law, without the cost of scipy.stats
from sklearn.metrics import get_scorer, hamming_loss, make_scorer

from depmax._inputs import TargetKind
from depmax.evaluation.multilabel import one_error


@dataclass(frozen=True)
class CorrectedMean:
    """A mean over overlapping splits, with its standard error and interval."""

    mean: float
    error: float  # standard error, corrected for the overlap of the training parts
    low: float
    high: float
    pvalue: float  # two-sided, that the true mean is zero
    n_splits: int


def corrected_mean(
    values: np.ndarray, test_per_train: float, *, confidence_level: float = 0.95
) -> CorrectedMean:
    """Mean of scores, or of differences of scores, over overlapping splits of the same rows.

    Training parts share rows, so the scores are correlated and the variance of their mean does not
    fall as 1/n. The correction adds n_test/n_train to 1/n.

    Parameters
    ----------
    values : array of shape (n_splits,)
    test_per_train : float
        Number of test rows divided by that of training rows.
    confidence_level : float, default=0.95
        Probability of the interval.

    Returns
    -------
    CorrectedMean
        With one split, error, interval and p-value are NaN.

    References
    ----------
    C. Nadeau, Y. Bengio (2003), Inference for the generalization error.

    Examples
    --------
    >>> import numpy as np
    >>> from depmax.evaluation import corrected_mean
    >>> found = corrected_mean(np.array([0.1, 0.2, 0.3, 0.2, 0.2]), 0.25)
    >>> round(found.mean, 3), round(found.error, 3), round(found.pvalue, 3)
    (0.2, 0.047, 0.014)
    """
    values = np.asarray(values, dtype=np.float64)
    n_splits = len(values)
    mean = float(values.mean())
    if n_splits < 2:
        missing = float("nan")
        return CorrectedMean(mean, missing, missing, missing, missing, n_splits)
    spread = float(values.std(ddof=1))
    # a spread of the last digits is none
    if spread <= 8 * np.finfo(np.float64).eps * float(np.abs(values).max()):
        spread = 0.0
    error = spread * float(np.sqrt(1.0 / n_splits + test_per_train))
    margin = float(stdtrit(n_splits - 1, 0.5 + confidence_level / 2.0)) * error
    if error == 0.0:
        pvalue = 1.0 if mean == 0.0 else 0.0
    else:
        pvalue = float(2.0 * stdtr(n_splits - 1, -abs(mean) / error))
    return CorrectedMean(mean, error, mean - margin, mean + margin, pvalue, n_splits)


def holm(pvalues: np.ndarray) -> np.ndarray:
    """P-values adjusted by Holm's step-down procedure; NaN stays and does not count.

    Parameters
    ----------
    pvalues : array of shape (n_tests,)

    Returns
    -------
    ndarray
        Rejecting those of at most α keeps the probability of any false rejection at or below α.

    Examples
    --------
    >>> from depmax.evaluation import holm
    >>> holm([0.01, 0.04, 0.03]).round(3).tolist()
    [0.03, 0.06, 0.06]
    """
    values = np.asarray(pvalues, dtype=np.float64)
    adjusted = np.full(len(values), np.nan)
    known = np.flatnonzero(~np.isnan(values))
    order = known[np.argsort(values[known], kind="stable")]
    steps = values[order] * np.arange(len(order), 0, -1)
    adjusted[order] = np.minimum(1.0, np.maximum.accumulate(steps)) if len(order) else steps
    return adjusted


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

    @property
    def balanced(self) -> bool:
        """Whether a rare class counts as much as a frequent one."""
        return self.name in ("balanced_accuracy", "f1_macro", "recall_macro", "jaccard_macro")

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
