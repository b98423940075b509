"""How predictions are judged: by sums over rows where a metric has them, else by any scorer."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from inspect import signature
from typing import Any, Literal, NamedTuple

import numpy as np

from depmax.data import TargetKind


class Predicted(NamedTuple):
    """Predictions of all rows by models that did not see them, in one repeat of the folds.

    Parameters
    ----------
    values : array of shape (n_rows,) or (n_rows, n_outputs)
        Codes of classes or numbers; a column per label or output if there are several.
    scores : array of shape (n_rows, n_classes) or (n_rows, n_labels), or None
        Probabilities or scores.
    tested : array of bool of shape (n_rows,)
        Rows that were in a test part.
    """

    values: np.ndarray
    scores: np.ndarray | None
    tested: np.ndarray


#: From weights of shape (n_draws, n_rows) to values of shape (n_draws,), larger is better.
Judge = Callable[[np.ndarray], np.ndarray]


@dataclass(frozen=True)
class Truth:
    """The target as metrics read it."""

    kind: TargetKind
    values: np.ndarray  # codes of classes, numbers, or a matrix
    classes: np.ndarray | None = None  # labels in the order of their codes

    @property
    def n_classes(self) -> int:
        """Number of classes; 0 for other targets."""
        return 0 if self.classes is None else len(self.classes)


@dataclass(frozen=True)
class Metric:
    """A score whose larger values are better, and how it is shown.

    Parameters
    ----------
    name : str
    sign : int, default=1
        -1 if it is shown with the opposite sign, as an error.
    needs : {"values", "scores", "probabilities"}
        What a predictor has to give.
    n_draws : int
        Draws of a bootstrap that it is fast enough for.
    """

    name: str
    sign: int = 1
    needs: Literal["values", "scores", "probabilities"] = "values"
    n_draws: int = 1000

    @property
    def label(self) -> str:
        """The name in words."""
        return LABELS.get(self.name, self.name.replace("_", " "))

    @property
    def balanced(self) -> bool:
        """Whether a rare class counts as much as a frequent one."""
        return self.name in ("balanced_accuracy", "f1_macro", "recall_macro", "jaccard_macro")

    @property
    def bounds(self) -> tuple[float, float]:
        """Least and largest value as shown, where they are known."""
        return BOUNDS.get(self.name, (-np.inf, np.inf))

    def judge(self, truth: Truth, runs: Sequence[Predicted]) -> Judge:
        """The score of predictions as a function of the weights of rows."""
        raise NotImplementedError


@dataclass(frozen=True, kw_only=True)
class SumMetric(Metric):
    """A function of weighted sums of parts of rows, so a thousand draws are one matrix product."""

    parts: Callable[[Truth, Predicted], np.ndarray]
    value: Callable[[np.ndarray], np.ndarray]

    def judge(self, truth: Truth, runs: Sequence[Predicted]) -> Judge:
        """Sums are pooled over repeats: a row counts once, with its mean parts."""
        tested = np.sum([run.tested for run in runs], axis=0)
        total = sum(self.parts(truth, run) * run.tested[:, np.newaxis] for run in runs)
        mean = np.asarray(total) / np.maximum(1, tested)[:, np.newaxis]
        return lambda weights: self.value(weights @ mean)


@dataclass(frozen=True, kw_only=True)
class RowwiseMetric(Metric):
    """A score of one repeat, averaged over repeats: ROC-AUC, and any scorer of scikit-learn."""

    evaluate: Callable[[Truth, Predicted, np.ndarray], np.ndarray]

    def judge(self, truth: Truth, runs: Sequence[Predicted]) -> Judge:
        """The mean over repeats."""

        def mean(weights: np.ndarray) -> np.ndarray:
            return np.mean(
                [self.evaluate(truth, run, weights * run.tested) for run in runs], axis=0
            )

        return mean


LABELS = {
    "balanced_accuracy": "balanced accuracy",
    "f1_macro": "macro F1",
    "f1_micro": "micro F1",
    "r2": "R²",
    "rmse": "root mean squared error",
    "mae": "mean absolute error",
    "roc_auc": "ROC-AUC",
    "log_loss": "log loss",
    "hamming_loss": "Hamming loss",
}
BOUNDS: dict[str, tuple[float, float]] = dict.fromkeys(
    ("accuracy", "balanced_accuracy", "f1", "f1_macro", "f1_micro", "f1_weighted", "roc_auc"),
    (0.0, 1.0),
) | {"r2": (-np.inf, 1.0), "hamming_loss": (0.0, 1.0), "one_error": (0.0, 1.0)}
BOUNDS |= dict.fromkeys(("rmse", "mae", "log_loss"), (0.0, np.inf))


def _indicators(codes: np.ndarray, count: int) -> np.ndarray:
    return (codes[:, np.newaxis] == np.arange(count)).astype(np.float64)


def _ratio(above: np.ndarray, below: np.ndarray) -> np.ndarray:
    return np.divide(above, below, out=np.full(np.shape(above), np.nan), where=below > 0.0)


def _mean_of_known(values: np.ndarray) -> np.ndarray:
    """Mean of the last axis without NaN; NaN where all are."""
    known = ~np.isnan(values)
    return _ratio(np.where(known, values, 0.0).sum(axis=-1), known.sum(axis=-1).astype(float))


def _recall_parts(truth: Truth, run: Predicted) -> np.ndarray:
    own = _indicators(truth.values, truth.n_classes)
    right = (run.values == truth.values)[:, np.newaxis]
    return np.hstack([own * right, own])


def _balanced_accuracy(sums: np.ndarray) -> np.ndarray:
    right, own = np.split(sums, 2, axis=-1)
    return _mean_of_known(_ratio(right, own))


def _accuracy_parts(truth: Truth, run: Predicted) -> np.ndarray:
    right = run.values == truth.values
    return np.column_stack([right.astype(float), np.ones(len(right))])


def _first_share(sums: np.ndarray) -> np.ndarray:
    return _ratio(sums[..., 0], sums[..., 1])


def _f1_parts(truth: Truth, run: Predicted) -> np.ndarray:
    """True positives, predicted and actual members, of every class or label."""
    if truth.kind == "multilabel":
        own, found = truth.values.astype(float), np.asarray(run.values, dtype=float)
    else:
        own = _indicators(truth.values, truth.n_classes)
        found = _indicators(run.values, truth.n_classes)
    return np.hstack([own * found, found, own])


def _f1(sums: np.ndarray) -> np.ndarray:
    both, found, own = np.split(sums, 3, axis=-1)
    values = np.nan_to_num(_ratio(2.0 * both, found + own))
    present = (found + own) > 0.0
    return _ratio(np.where(present, values, 0.0).sum(axis=-1), present.sum(axis=-1).astype(float))


def _f1_of_labels(sums: np.ndarray) -> np.ndarray:
    """F1, where labels that no row has, or is predicted to have, count as zero."""
    both, found, own = np.split(sums, 3, axis=-1)
    return np.nan_to_num(_ratio(2.0 * both, found + own)).mean(axis=-1)


def _f1_micro(sums: np.ndarray) -> np.ndarray:
    both, found, own = (part.sum(axis=-1) for part in np.split(sums, 3, axis=-1))
    return np.nan_to_num(_ratio(2.0 * both, found + own))


def _square_parts(truth: Truth, run: Predicted) -> np.ndarray:
    """Squared error, centred square, centred value and one, for every output."""
    y = truth.values.reshape(len(truth.values), -1).astype(float)
    found = np.asarray(run.values, dtype=float).reshape(y.shape)
    centred = y - y.mean(axis=0)
    return np.hstack([(y - found) ** 2, centred**2, centred, np.ones((len(y), 1))])


def _r2(sums: np.ndarray) -> np.ndarray:
    n_outputs = (sums.shape[-1] - 1) // 3
    error, square, value = np.split(sums[..., :-1], 3, axis=-1)
    total = square - value**2 / np.maximum(sums[..., -1:], 1e-300)
    return _mean_of_known(1.0 - _ratio(error, total)) if n_outputs else sums[..., 0]


def _neg_rmse(sums: np.ndarray) -> np.ndarray:
    n_outputs = (sums.shape[-1] - 1) // 3
    return -np.sqrt(_ratio(sums[..., :n_outputs], sums[..., -1:] + np.zeros(n_outputs))).mean(
        axis=-1
    )


def _absolute_parts(truth: Truth, run: Predicted) -> np.ndarray:
    y = truth.values.reshape(len(truth.values), -1).astype(float)
    found = np.asarray(run.values, dtype=float).reshape(y.shape)
    return np.column_stack([np.abs(y - found).mean(axis=1), np.ones(len(y))])


def _neg_share(sums: np.ndarray) -> np.ndarray:
    return -_first_share(sums)


def _hamming_parts(truth: Truth, run: Predicted) -> np.ndarray:
    wrong = (np.asarray(run.values) != truth.values).mean(axis=1)
    return np.column_stack([wrong, np.ones(len(wrong))])


def _one_error_parts(truth: Truth, run: Predicted) -> np.ndarray:
    """Whether the label with the highest score is wrong; rows without labels do not count."""
    assert run.scores is not None
    top = np.argmax(run.scores, axis=1)
    some = truth.values.sum(axis=1) > 0
    wrong = truth.values[np.arange(len(top)), top] == 0
    return np.column_stack([wrong & some, some]).astype(float)


def _log_loss_parts(truth: Truth, run: Predicted) -> np.ndarray:
    assert run.scores is not None
    own = run.scores[np.arange(len(truth.values)), truth.values]
    total = run.scores.sum(axis=1)
    likely = np.clip(own / np.where(total > 0.0, total, 1.0), np.finfo(float).eps, 1.0)
    return np.column_stack([-np.log(likely), np.ones(len(own))])


def _area(truth: Truth, run: Predicted, weights: np.ndarray) -> np.ndarray:
    """ROC-AUC; of more than two classes the mean over classes, each against the others."""
    assert run.scores is not None
    which = [1] if truth.n_classes == 2 else range(truth.n_classes)
    areas = [_one_area(run.scores[:, k], truth.values == k, weights) for k in which]
    return _mean_of_known(np.stack(areas, axis=-1))


def _one_area(scores: np.ndarray, inside: np.ndarray, weights: np.ndarray) -> np.ndarray:
    order = np.argsort(scores, kind="stable")
    ordered = scores[order]
    starts = np.flatnonzero(np.r_[True, ordered[1:] > ordered[:-1]])  # of equal scores
    weights = weights[:, order]
    above = np.add.reduceat(weights * inside[order], starts, axis=1)
    below = np.add.reduceat(weights * ~inside[order], starts, axis=1)
    won = (above * (np.cumsum(below, axis=1) - 0.5 * below)).sum(axis=1)
    return _ratio(won, above.sum(axis=1) * below.sum(axis=1))


def _known(kind: TargetKind) -> dict[str, Metric]:
    """Metrics by the names of scikit-learn's scorers."""
    rows: Any = RowwiseMetric
    return {
        "balanced_accuracy": SumMetric(
            "balanced_accuracy", parts=_recall_parts, value=_balanced_accuracy
        ),
        "accuracy": SumMetric("accuracy", parts=_accuracy_parts, value=_first_share),
        "f1_macro": SumMetric(
            "f1_macro",
            parts=_f1_parts,
            value=_f1_of_labels if kind == "multilabel" else _f1,  # as scikit-learn counts them
        ),
        "f1_micro": SumMetric("f1_micro", parts=_f1_parts, value=_f1_micro),
        "r2": SumMetric("r2", parts=_square_parts, value=_r2),
        "neg_root_mean_squared_error": SumMetric("rmse", -1, parts=_square_parts, value=_neg_rmse),
        "neg_mean_absolute_error": SumMetric("mae", -1, parts=_absolute_parts, value=_neg_share),
        "roc_auc": rows("roc_auc", needs="scores", evaluate=_area, n_draws=400),
        "neg_log_loss": SumMetric(
            "log_loss", -1, needs="probabilities", parts=_log_loss_parts, value=_neg_share
        ),
        "hamming_loss": SumMetric("hamming_loss", -1, parts=_hamming_parts, value=_neg_share),
        "one_error": SumMetric(
            "one_error", -1, needs="scores", parts=_one_error_parts, value=_neg_share
        ),
    }


#: Names by type of target: the first decides, the others are shown.
DEFAULTS: dict[TargetKind, tuple[str, ...]] = {
    "classes": ("balanced_accuracy", "accuracy", "f1_macro"),
    "numbers": ("r2", "neg_root_mean_squared_error", "neg_mean_absolute_error"),
    "multioutput": ("r2", "neg_root_mean_squared_error", "neg_mean_absolute_error"),
    "multilabel": ("f1_micro", "f1_macro", "hamming_loss"),
}
#: Metrics that judge a type of target.
SUITABLE = {
    "balanced_accuracy": ("classes",),
    "accuracy": ("classes",),
    "f1_macro": ("classes", "multilabel"),
    "f1_micro": ("classes", "multilabel"),
    "r2": ("numbers", "multioutput"),
    "neg_root_mean_squared_error": ("numbers", "multioutput"),
    "neg_mean_absolute_error": ("numbers", "multioutput"),
    "roc_auc": ("classes",),
    "neg_log_loss": ("classes",),
    "hamming_loss": ("multilabel",),
    "one_error": ("multilabel",),
}

Scoring = str | Callable[..., float] | Sequence[str] | Mapping[str, Any] | None


def read_metrics(scoring: Scoring, truth: Truth) -> tuple[Metric, ...]:
    """Metrics from scikit-learn's names, a scorer, a list of names or a dictionary of scorers.

    Parameters
    ----------
    scoring : str, callable, list, dict or None
        None is the usual ones of the target.
    truth : Truth

    Returns
    -------
    tuple of Metric
        The first decides; the others are shown.

    Examples
    --------
    >>> import numpy as np
    >>> truth = Truth("numbers", np.array([1.0, 2.0, 4.0]))
    >>> [metric.label for metric in read_metrics(None, truth)]
    ['R²', 'root mean squared error', 'mean absolute error']
    """
    if scoring is None:
        known = _known(truth.kind)
        return tuple(known[name] for name in DEFAULTS[truth.kind])
    if isinstance(scoring, str):
        return (_metric(scoring, scoring, truth),)
    if callable(scoring):
        return (_metric(getattr(scoring, "__name__", "score"), scoring, truth),)
    pairs = list(scoring.items()) if isinstance(scoring, Mapping) else [(s, s) for s in scoring]
    if not pairs:
        raise ValueError("scoring is empty: name at least one metric, or pass None.")
    return tuple(_metric(str(name), scorer, truth) for name, scorer in pairs)


def _metric(name: str, scorer: Any, truth: Truth) -> Metric:
    known = _known(truth.kind)
    if isinstance(scorer, str) and scorer in known:
        if truth.kind not in SUITABLE[scorer]:
            raise ValueError(f"scoring={name!r} cannot judge a target of {truth.kind}.")
        return known[scorer]
    return replayed(name, scorer, truth)


def replayed(name: str, scorer: Any, truth: Truth) -> Metric:
    """Any scorer of scikit-learn, which is shown stored predictions in place of a model.

    Parameters
    ----------
    name : str
    scorer : str or callable
        A name that scikit-learn knows, or a function of (model, X, y); X holds only places of rows.
    truth : Truth
    """
    from sklearn.metrics import get_scorer

    function = get_scorer(scorer) if isinstance(scorer, str) else scorer
    response = str(getattr(function, "_response_method", "predict"))
    needs: Any = (
        "probabilities"
        if response.startswith("predict_proba")
        else "values"
        if response == "predict" or truth.n_classes == 0
        else "scores"
    )
    inner = getattr(function, "_score_func", None)  # of a scorer that scikit-learn made
    weighed = inner is not None and "sample_weight" in signature(inner).parameters
    evaluate = _Replay(function, weighed)
    metric = RowwiseMetric(name, needs=needs, n_draws=100, evaluate=evaluate)
    _require_suitable(metric, truth)
    return metric


def _require_suitable(metric: RowwiseMetric, truth: Truth) -> None:
    """Refuse at once a scorer that cannot judge even perfect predictions of the target."""
    import warnings

    n_rows = len(truth.values)
    scores = _indicators(truth.values, truth.n_classes) if truth.n_classes else None
    run = Predicted(truth.values, scores, np.ones(n_rows, dtype=bool))
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            value = metric.evaluate(truth, run, np.ones((1, n_rows)))
    except Exception as error:
        reason = " ".join(str(error).split()).rstrip(".")
        raise ValueError(
            f"scoring={metric.name!r} cannot judge a target of {truth.kind}: {reason}."
        ) from error
    if not np.isfinite(value).all():
        raise ValueError(f"scoring={metric.name!r} gives no number for a target of {truth.kind}.")


@dataclass(frozen=True)
class _Replay:
    """A scorer on stored predictions."""

    scorer: Any
    weighed: bool  # whether it takes sample_weight

    def __call__(self, truth: Truth, run: Predicted, weights: np.ndarray) -> np.ndarray:
        return np.array([self._one(truth, run, row) for row in weights])

    def _one(self, truth: Truth, run: Predicted, weight: np.ndarray) -> float:
        rows = np.flatnonzero(weight)
        given = weight[rows]
        options: dict[str, Any] = {}
        if self.weighed:
            options = {"sample_weight": given}
        elif (given == np.round(given)).all():
            rows = np.repeat(rows, given.astype(int))  # counts of rows need no weights
        else:
            raise ValueError("scoring takes no sample_weight: name another scorer.")
        model = _Stored(truth, run, rows)
        answer = truth.values if truth.classes is None else truth.classes[truth.values]
        return float(
            self.scorer(model, np.arange(len(rows))[:, np.newaxis], answer[rows], **options)
        )


class _Stored:
    """Stored predictions in the shape of a fitted model."""

    def __init__(self, truth: Truth, run: Predicted, rows: np.ndarray) -> None:
        self._truth, self._run, self._rows = truth, run, rows
        if truth.classes is not None:
            self.classes_ = truth.classes
        self._estimator_type = "classifier" if truth.n_classes else "regressor"

    def __sklearn_tags__(self) -> Any:
        from sklearn.utils import ClassifierTags, RegressorTags, Tags, TargetTags

        classify = self._estimator_type == "classifier"
        return Tags(
            self._estimator_type,
            TargetTags(required=True),
            classifier_tags=ClassifierTags() if classify else None,
            regressor_tags=None if classify else RegressorTags(),
        )

    def fit(self, X: Any, y: Any = None) -> _Stored:
        """Do nothing: the predictions are stored."""
        return self

    def predict(self, X: Any) -> np.ndarray:
        """Predictions of the rows at these places."""
        values = self._run.values[self._rows[np.asarray(X)[:, 0]]]
        return values if self._truth.classes is None else self._truth.classes[values]

    def predict_proba(self, X: Any) -> np.ndarray:
        """Scores of the rows at these places, as probabilities."""
        if self._run.scores is None:
            raise AttributeError("this predictor gives no probabilities")
        scores = self._run.scores[self._rows[np.asarray(X)[:, 0]]]
        if self._truth.kind != "classes":
            return scores
        total = scores.sum(axis=1, keepdims=True)
        return scores / np.where(total > 0.0, total, 1.0)

    def decision_function(self, X: Any) -> np.ndarray:
        """Scores of the rows at these places."""
        if self._run.scores is None:
            raise AttributeError("this predictor gives no scores")
        scores = self._run.scores[self._rows[np.asarray(X)[:, 0]]]
        return scores[:, 1] - scores[:, 0] if self._truth.n_classes == 2 else scores
