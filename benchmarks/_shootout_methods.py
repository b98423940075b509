"""The methods of the shoot-out: each ranks the columns of standardised rows, best first.

Settings were fixed before the run. A method that gives one ranking for every number of columns is
fitted once per fold; the others once per number of columns.
"""

from __future__ import annotations

import contextlib
import importlib.util
import io
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from sklearn.ensemble import ExtraTreesClassifier, ExtraTreesRegressor
from sklearn.feature_selection import (
    RFE,
    SequentialFeatureSelector,
    f_classif,
    f_regression,
    mutual_info_classif,
    mutual_info_regression,
)
from sklearn.linear_model import LassoCV, LogisticRegressionCV
from sklearn.svm import SVC, SVR, LinearSVC, LinearSVR

import depmax
from depmax.kernels import Gaussian

#: RFE drops a tenth of all columns at a time down to so many, then one at a time.
RFE_SLOWLY_FROM = 100
#: Columns that mRMR, fastcan and HSIC-Lasso are asked to order.
MOST = 20

Rank = Callable[[np.ndarray, np.ndarray, bool, int], np.ndarray]


@dataclass(frozen=True)
class Method:
    """A way to order columns; ``needs`` names the package it comes from."""

    name: str
    rank: Rank  # (X, y, whether y are classes, number of columns) -> columns, best first
    ours: bool = False
    nested: bool = True  # one ranking for every number of columns
    needs: str | None = None
    most_columns: int | None = None  # sets with more would take hours

    def takes(self, n_columns: int) -> bool:
        """Whether it is feasible with so many columns."""
        return self.most_columns is None or n_columns <= self.most_columns

    @property
    def available(self) -> bool:
        """Whether the package is installed."""
        return self.needs is None or importlib.util.find_spec(self.needs) is not None


def _best_first(scores: np.ndarray) -> np.ndarray:
    return np.argsort(-np.nan_to_num(scores), kind="stable")


def _f(X: np.ndarray, y: np.ndarray, classes: bool, k: int) -> np.ndarray:
    return _best_first((f_classif if classes else f_regression)(X, y)[0])


def _completed(found: np.ndarray, X: np.ndarray, y: np.ndarray, classes: bool) -> np.ndarray:
    """The columns that a method found, the others after them by the F test."""
    rest = _f(X, y, classes, 0)
    return np.concatenate([found, rest[~np.isin(rest, found)]])


def _positive_first(scores: np.ndarray, X: np.ndarray, y: np.ndarray, classes: bool) -> np.ndarray:
    """Of scores that are 0 for columns that a model does not use."""
    return _completed(_best_first(scores)[: np.count_nonzero(scores > 0)], X, y, classes)


def _mutual_information(X: np.ndarray, y: np.ndarray, classes: bool, k: int) -> np.ndarray:
    score = mutual_info_classif if classes else mutual_info_regression
    return _best_first(score(X, y, random_state=0))


def _rfe(X: np.ndarray, y: np.ndarray, classes: bool, k: int) -> np.ndarray:
    """Of the recursive elimination with a linear support vector machine."""
    if classes:
        machine = LinearSVC(dual="auto", max_iter=5000, random_state=0)
    else:
        machine = LinearSVR(dual="auto", max_iter=5000, random_state=0)
    kept = np.arange(X.shape[1])
    last: list[np.ndarray] = []
    if len(kept) > RFE_SLOWLY_FROM:
        quick = RFE(machine, n_features_to_select=RFE_SLOWLY_FROM, step=0.1).fit(X, y)
        last = [np.flatnonzero(~quick.support_)]
        kept = np.flatnonzero(quick.support_)
    slow = RFE(machine, n_features_to_select=1, step=1).fit(X[:, kept], y)
    return np.concatenate([kept[np.argsort(slow.ranking_)], *last])


def _l1(X: np.ndarray, y: np.ndarray, classes: bool, k: int) -> np.ndarray:
    """Largest coefficients of the L1 model with the penalty of the best cross-validation."""
    if classes:
        model = LogisticRegressionCV(
            Cs=8, cv=3, penalty="l1", solver="liblinear", max_iter=200, random_state=0
        )
        from sklearn.multiclass import OneVsRestClassifier

        fitted = OneVsRestClassifier(model).fit(X, y)
        weights = np.vstack([part.coef_ for part in fitted.estimators_])
    else:
        weights = LassoCV(cv=3, alphas=30, random_state=0, max_iter=5000).fit(X, y).coef_[None]
    return _positive_first(np.linalg.norm(weights, axis=0), X, y, classes)


def _extra_trees(X: np.ndarray, y: np.ndarray, classes: bool, k: int) -> np.ndarray:
    forest = ExtraTreesClassifier if classes else ExtraTreesRegressor
    return _best_first(forest(300, random_state=0).fit(X, y).feature_importances_)


def _lightgbm(X: np.ndarray, y: np.ndarray, classes: bool, k: int) -> np.ndarray:
    """Largest total gains of the splits of LightGBM with its default options."""
    from lightgbm import LGBMClassifier, LGBMRegressor

    model = (LGBMClassifier if classes else LGBMRegressor)(
        importance_type="gain", random_state=0, n_jobs=1, verbose=-1
    )
    return _positive_first(model.fit(X, y).feature_importances_, X, y, classes)


def _mrmr(X: np.ndarray, y: np.ndarray, classes: bool, k: int) -> np.ndarray:
    import pandas as pd
    from mrmr import mrmr_classif, mrmr_regression

    select = mrmr_classif if classes else mrmr_regression
    frame = pd.DataFrame(X)
    count = min(MOST, X.shape[1])
    return np.array(select(frame, pd.Series(y), K=count, show_progress=False, n_jobs=1))


def _fastcan(X: np.ndarray, y: np.ndarray, classes: bool, k: int) -> np.ndarray:
    from fastcan import FastCan

    target = np.eye(int(y.max()) + 1)[y.astype(int)][:, 1:] if classes else y[:, None]
    for count in range(min(MOST, X.shape[1]), 0, -1):
        try:
            found = FastCan(count, verbose=0).fit(X, target).indices_
        except RuntimeError:  # the columns left are combinations of those it has
            continue
        return _completed(np.asarray(found), X, y, classes)
    return _f(X, y, classes, k)


def _py_hsic_lasso(X: np.ndarray, y: np.ndarray, classes: bool, k: int) -> np.ndarray:
    from pyHSICLasso import HSICLasso

    # version 1.4.2 catches an error by a name that NumPy 2 no longer has
    np.linalg.linalg = np.linalg
    for count in (MOST, 10, 5):
        if count >= X.shape[1]:  # it fails when asked for all columns
            continue
        model = HSICLasso()
        model.input(X, y.astype(int) + 1 if classes else y)
        fit = model.classification if classes else model.regression
        try:
            with contextlib.redirect_stdout(io.StringIO()):
                fit(count, B=0, M=1, n_jobs=1)
        except IndexError:  # where fewer enter its path
            continue
        return _completed(np.asarray(model.get_index(), dtype=int), X, y, classes)
    return _f(X, y, classes, k)


def _relieff(X: np.ndarray, y: np.ndarray, classes: bool, k: int) -> np.ndarray:
    from skrebate import ReliefF

    model = ReliefF(n_features_to_select=k, n_neighbors=10, n_jobs=1)
    return _best_first(model.fit(X, y).feature_importances_)


def _boruta(X: np.ndarray, y: np.ndarray, classes: bool, k: int) -> np.ndarray:
    from boruta import BorutaPy
    from sklearn.ensemble import RandomForestClassifier, RandomForestRegressor

    forest = (RandomForestClassifier if classes else RandomForestRegressor)(
        100, max_depth=5, random_state=0
    )
    fitted = BorutaPy(forest, n_estimators=100, max_iter=20, random_state=0).fit(X, y)
    # ties among confirmed columns go to the more important one
    history = np.nan_to_num(fitted.importance_history_[1:]).mean(axis=0)
    return np.lexsort((-history, fitted.ranking_))


def _sequential(X: np.ndarray, y: np.ndarray, classes: bool, k: int) -> np.ndarray:
    """Forward, by three folds of the support vector machine that is also one of the judges."""
    search = SequentialFeatureSelector(SVC() if classes else SVR(), n_features_to_select=k, cv=3)
    return np.flatnonzero(search.fit(X, y).support_)


def _ours(make: Callable[[int], object]) -> Rank:
    def rank(X: np.ndarray, y: np.ndarray, classes: bool, k: int) -> np.ndarray:
        target = y if not classes else y.astype(str)
        selector = make(k).fit(X, target)
        return np.argsort(selector.ranking_)

    return rank


PEERS = (
    Method("SelectKBest F", _f),
    Method("SelectKBest MI", _mutual_information),
    Method("RFE linear SVM", _rfe),
    Method("SelectFromModel L1", _l1),
    Method("SelectFromModel extra trees", _extra_trees),
    Method("LightGBM gain", _lightgbm, needs="lightgbm"),
    Method("mRMR (mrmr-selection)", _mrmr, needs="mrmr"),
    Method("fastcan", _fastcan, needs="fastcan"),
    Method("pyHSICLasso", _py_hsic_lasso, needs="pyHSICLasso"),
    Method("ReliefF (skrebate)", _relieff, needs="skrebate"),
    Method("Boruta", _boruta, needs="boruta"),
    Method("SequentialFeatureSelector", _sequential, nested=False, most_columns=40),
)
OURS = (
    Method(
        "KernelRidgeElimination",
        _ours(lambda k: depmax.KernelRidgeElimination(1, pvalues=False)),
        ours=True,
    ),
    Method("BAHSIC", _ours(lambda k: depmax.BAHSIC(1, pvalues=False)), ours=True),
    Method(
        "BAHSIC as published",
        _ours(
            lambda k: depmax.BAHSIC(
                1, kernel=Gaussian("dimension"), interactions=None, pvalues=False
            )
        ),
        ours=True,
    ),
    Method("HSICLasso", _ours(lambda k: depmax.HSICLasso(k)), ours=True, nested=False),
    Method("DependenceFilter HSIC", _ours(lambda k: depmax.DependenceFilter(1)), ours=True),
    Method("Relief", _ours(lambda k: depmax.Relief(1)), ours=True),
)
METHODS = {method.name: method for method in (*OURS, *PEERS)}
