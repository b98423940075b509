"""Partial least squares as chemometricians use it: paths, diagnostics, tests of the model."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import linalg, sparse, stats
from sklearn.model_selection import GroupKFold, KFold, LeaveOneOut, StratifiedKFold

from depmax import HBFE, HSCA, SIR, SMA, KernelPLS, KernelPLSClassifier, scan
from depmax.datasets import load
from depmax.kernels import Gaussian
from tests.extraction import pls_oracles

rng = np.random.default_rng(0)
X = rng.normal(size=(60, 4)) @ rng.normal(size=(4, 8)) + 0.1 * rng.normal(size=(60, 8))
y = X[:, 0] - X[:, 3] + 0.2 * rng.normal(size=60)
Y = np.column_stack([y, 5.0 * X[:, 5] + rng.normal(size=60)])
NEW = X[:7] + 0.1 * rng.normal(size=(7, 8))
WIDE, WIDE_NEW = (np.hstack([part, rng.normal(size=(len(part), 900))]) for part in (X, NEW))
LABELS = np.array(["a", "b", "c"])[np.digitize(y, [-1.0, 0.5])]


# --- every number of components ------------------------------------------------------------------
@pytest.mark.parametrize("kernel", ["linear", Gaussian(3.0)])
@pytest.mark.parametrize("target", [y, Y])
def test_fewer_features_predict_as_if_no_more_were_fitted(kernel, target):
    model = KernelPLS(5, kernel=kernel).fit(X, target)
    path = model.predict_path(NEW)
    assert path.shape == (5, *model.predict(NEW).shape)
    for count in range(1, 6):
        alone = KernelPLS(count, kernel=kernel).fit(X, target).predict(NEW)
        np.testing.assert_allclose(model.predict(NEW, n_components=count), alone, atol=1e-10)
        np.testing.assert_allclose(path[count - 1], alone, atol=1e-10)


@pytest.mark.parametrize("labels", [LABELS, LABELS == "a"])
def test_classes_by_fewer_features(labels):
    model = KernelPLSClassifier(4).fit(X, labels)
    for count in range(1, 5):
        alone = KernelPLSClassifier(count).fit(X, labels).predict(X)
        np.testing.assert_array_equal(model.predict(X, count), alone)
        np.testing.assert_array_equal(model.predict_path(X)[count - 1], alone)


def test_fewer_features_of_a_scan():
    model = KernelPLS(3).fit(X, y)
    lazy = model.predict(scan(X, rows_per_chunk=20), n_components=2)
    np.testing.assert_allclose(list(lazy.compute()), model.predict(X, 2))


@pytest.mark.parametrize("count", [0, 4])
def test_a_number_that_was_not_fitted(count):
    with pytest.raises(ValueError, match="n_components of predict"):
        KernelPLS(3).fit(X, y).predict(X, count)


# --- cross-validation ----------------------------------------------------------------------------
@pytest.mark.parametrize("rows", [X, WIDE, sparse.csr_array(X)], ids=["tall", "wide", "sparse"])
@pytest.mark.parametrize("target", [y, Y])
def test_cross_validation_done_by_hand(rows, target):
    folds = KFold(5, shuffle=True, random_state=3)
    found = KernelPLS().cross_validate(rows, target, n_components=4, cv=folds)
    dense = rows.toarray() if sparse.issparse(rows) else rows
    press = np.empty((4, *np.shape(target)))
    for train, test in folds.split(dense):
        slow = pls_oracles.nipals(dense[train], target[train], 4)
        for count in range(4):
            press[count, test] = slow.predict(dense[test], count + 1).reshape(target[test].shape)
    np.testing.assert_allclose(found.predictions, press, atol=1e-8)
    squares = np.square(press - target).reshape(4, 60, -1)
    total = np.square(target - target.mean(axis=0)).sum()
    np.testing.assert_allclose(found.q2, 1 - squares.sum(axis=(1, 2)) / total)
    scaled = (
        squares / np.asarray(target).reshape(60, -1).var(axis=0) if target.ndim > 1 else squares
    )
    np.testing.assert_allclose(found.errors, np.sqrt(scaled.mean(axis=(1, 2))))


@pytest.mark.parametrize("labels", [LABELS, LABELS == "a"])
def test_errors_of_classes_by_hand(labels):
    folds = StratifiedKFold(4)
    found = KernelPLSClassifier(3).cross_validate(X, labels, cv=folds)
    for count in range(1, 4):
        wrong = np.empty(60)
        for train, test in folds.split(X, labels):
            model = KernelPLSClassifier(count).fit(X[train], labels[train])
            wrong[test] = model.predict(X[test]) != labels[test]
        assert found.errors[count - 1] == wrong.mean()
        np.testing.assert_array_equal(found.losses[:, count - 1], wrong)
    sums = KernelPLSClassifier(3).cross_validate(X, labels, cv=folds).q2
    refitted = KernelPLSClassifier(3).cross_validate(sparse.csr_array(X), labels, cv=folds).q2
    np.testing.assert_allclose(sums, refitted, atol=1e-10)


def test_groups_are_not_divided():
    groups = np.repeat(np.arange(20), 3)
    found = KernelPLS(3).cross_validate(X, y, cv=5, groups=groups)
    same = KernelPLS(3).cross_validate(X, y, cv=list(GroupKFold(5).split(X, y, groups)))
    np.testing.assert_array_equal(found.errors, same.errors)


def test_folds_hold_every_row_once():
    with pytest.raises(ValueError, match="exactly once"):
        KernelPLS(2).cross_validate(X, y, cv=[(np.arange(30), np.arange(30, 50))])


@pytest.mark.parametrize("model", [KernelPLS, HBFE, HSCA, SIR, SMA])
def test_errors_and_choices_of_every_nested_extractor(model):
    fitted = model("auto").fit(X, y)
    assert fitted.n_components_ == fitted.cv_choices_["one standard error"]
    assert len(fitted.cv_errors_) >= fitted.cv_choices_["least error"]
    assert fitted.cv_errors_.argmin() + 1 == fitted.cv_choices_["least error"]
    assert 1 <= fitted.cv_choices_["randomisation"] <= fitted.cv_choices_["least error"]
    assert fitted.cv_errors_.min() < y.std()
    labels = HBFE("auto").fit(X, LABELS)
    assert (labels.cv_errors_ <= 1).all()


# --- orthogonal PLS ------------------------------------------------------------------------------
@pytest.mark.parametrize("route", ["sums", "rows", "kernel", "scan"])
@pytest.mark.parametrize("target", [y, Y])
@pytest.mark.parametrize("n_orthogonal", [1, 2])
def test_orthogonal_scores_are_the_published_ones(route, target, n_orthogonal):
    rows, new = (WIDE, WIDE_NEW) if route == "rows" else (X, NEW)
    own, filtered, own_new, filtered_new = pls_oracles.opls(rows, target, n_orthogonal, new)
    slow = pls_oracles.nipals(filtered, target, 2)
    model = KernelPLS(2, n_orthogonal=n_orthogonal)
    if route == "kernel":
        T = model.set_params(kernel="precomputed").fit_transform(rows @ rows.T, target)
        T_new = model.transform(new @ rows.T)
    elif route == "scan":
        T, T_new = (
            model.fit(scan(rows, target, rows_per_chunk=20)).transform(Z) for Z in (rows, new)
        )
    else:
        T, T_new = model.fit_transform(rows, target), model.transform(new)
    assert model.n_components_ == 2 + n_orthogonal
    if target.ndim == 2:  # the sign of a singular vector is nobody's
        turn = np.sign((T[:, 2:] * own).sum(axis=0))
        own, own_new = own * turn, own_new * turn
    np.testing.assert_allclose(T[:, 2:], own, atol=1e-9)
    np.testing.assert_allclose(T_new[:, 2:], own_new, atol=1e-9)
    turn = np.sign((T[:, :2] * slow.scores).sum(axis=0))
    np.testing.assert_allclose(T[:, :2] * turn, slow.scores, atol=1e-9)
    W, P = slow.weights, slow.loadings
    expected = filtered_new @ W @ np.linalg.inv(P.T @ W)
    np.testing.assert_allclose(T_new[:, :2] * turn, expected, atol=1e-9)


def test_one_predictive_feature_predicts_as_pls_of_as_many():
    rows = KernelPLS(1, n_orthogonal=3).fit(X, y)
    np.testing.assert_allclose(rows.predict(NEW), KernelPLS(4).fit(X, y).predict(NEW), atol=1e-9)
    np.testing.assert_allclose(rows.target_loadings_[1:], 0.0, atol=1e-12)
    kernel = {"kernel": Gaussian(3.0)}
    one, four = KernelPLS(1, n_orthogonal=3, **kernel), KernelPLS(4, **kernel)
    np.testing.assert_allclose(one.fit(X, y).predict(NEW), four.fit(X, y).predict(NEW), atol=1e-9)
    labels = KernelPLSClassifier(1, n_orthogonal=2).fit(X, LABELS == "a")
    np.testing.assert_array_equal(
        labels.predict(X), KernelPLSClassifier(3).fit(X, LABELS == "a").predict(X)
    )


def test_cross_validation_with_orthogonal_features():
    kwargs = {"n_components": 1, "cv": KFold(5)}
    one = KernelPLS(n_orthogonal=2).cross_validate(X, y, **kwargs)
    refitted = KernelPLS(n_orthogonal=2).cross_validate(sparse.csr_array(X), y, **kwargs)
    three = KernelPLS().cross_validate(X, y, n_components=3, cv=KFold(5))
    np.testing.assert_allclose(one.errors, three.errors[2:], rtol=1e-8)
    np.testing.assert_allclose(refitted.errors, three.errors[2:], rtol=1e-8)


def test_orthogonal_features_and_a_share():
    with pytest.raises(ValueError, match="n_orthogonal"):
        KernelPLS(0.9, n_orthogonal=1).fit(X, y)


# --- what matters --------------------------------------------------------------------------------
@pytest.mark.parametrize("rows", [X, WIDE], ids=["tall", "wide"])
@pytest.mark.parametrize("target", [y, Y])
def test_vip_is_the_formula(rows, target):
    for count in (1, 4):
        model = KernelPLS(count).fit(rows, target)
        expected = pls_oracles.vip(pls_oracles.nipals(rows, target, count))
        np.testing.assert_allclose(model.vip_, expected, atol=1e-10)
        np.testing.assert_allclose(np.mean(model.vip_**2), 1.0)


def test_vip_of_spectra_and_of_classes():
    meat = load("tecator")
    expected = pls_oracles.vip(pls_oracles.nipals(meat.X, meat.y, 12))
    np.testing.assert_allclose(KernelPLS(12).fit(meat.X, meat.y).vip_, expected, atol=1e-10)
    coded = np.where(LABELS == "a", -1.0, 1.0)
    two = KernelPLSClassifier(3).fit(X, np.where(LABELS == "a", "a", "b"))
    np.testing.assert_allclose(
        two.vip_, pls_oracles.vip(pls_oracles.nipals(X, coded, 3)), atol=1e-10
    )
    balanced = np.repeat(["a", "b", "c"], 20)
    indicators = np.equal.outer(balanced, ["a", "b", "c"]).astype(float)
    three = KernelPLSClassifier(3).fit(X, balanced)
    np.testing.assert_allclose(
        three.vip_, pls_oracles.vip(pls_oracles.nipals(X, indicators, 3)), atol=1e-10
    )
    assert not hasattr(KernelPLS(2, kernel="gaussian").fit(X, y), "vip_")


def test_vip_with_orthogonal_features_is_that_of_the_filtered_rows():
    filtered = pls_oracles.opls(X, y, 2, NEW)[1]
    model = KernelPLS(1, n_orthogonal=2).fit(X, y)
    np.testing.assert_allclose(
        model.vip_, pls_oracles.vip(pls_oracles.nipals(filtered, y, 1)), atol=1e-10
    )


@pytest.mark.parametrize("target", [y, Y])
def test_selectivity_ratio_is_by_target_projection(target):
    model = KernelPLS(3).fit(X, target)
    centred, ratios = X - X.mean(axis=0), []
    for b in model.coef_:
        t = centred @ b / np.linalg.norm(b)
        p = centred.T @ t / (t @ t)
        left = centred - np.outer(t, p)
        ratios.append(np.outer(t, p).var(axis=0) / left.var(axis=0))
    np.testing.assert_allclose(np.atleast_2d(model.selectivity_ratio(X)), ratios, rtol=1e-9)


def test_jackknife_of_one_row_each_by_hand():
    model = KernelPLS(2).fit(X, y)
    found = model.coef_intervals(X, y, cv=LeaveOneOut())
    fits = [KernelPLS(2).fit(np.delete(X, i, 0), np.delete(y, i)).coef_ for i in range(60)]
    error = np.std(fits, axis=0) * np.sqrt(59)
    np.testing.assert_allclose(found.standard_error, error)
    np.testing.assert_allclose((found.high - found.low) / error, 2 * 2.000995, rtol=1e-5)
    np.testing.assert_array_equal(found.coef, model.coef_)


# --- which rows are odd --------------------------------------------------------------------------
@pytest.mark.parametrize("rows", [X, WIDE, sparse.csr_array(X)], ids=["tall", "wide", "sparse"])
def test_t2_and_q_are_their_formulas(rows):
    model = KernelPLS(3).fit(rows, y)
    dense = rows.toarray() if sparse.issparse(rows) else rows
    T = model.transform(rows)
    np.testing.assert_allclose(model.t2(rows), (T**2 / T.var(axis=0, ddof=1)).sum(axis=1))
    left = dense - dense.mean(axis=0) - T @ model.loadings_
    np.testing.assert_allclose(model.q(rows), (left**2).sum(axis=1))
    hat = T @ linalg.inv(T.T @ T) @ T.T + 1 / 60
    np.testing.assert_allclose(model.leverage(rows), np.diagonal(hat))
    residuals = y - model.predict(rows)
    spread = np.sqrt(residuals @ residuals / (60 - 4) * (1 - np.diagonal(hat)))
    np.testing.assert_allclose(model.y_residuals(rows, y, training=True), residuals / spread)


def test_rows_that_count_several_times():
    weight = np.arange(60) % 3 + 1
    many, target = np.repeat(X, weight, axis=0), np.repeat(y, weight)
    one, other = KernelPLS(3).fit(X, y, weight), KernelPLS(3).fit(many, target)
    for name in ("t2", "q", "leverage"):
        np.testing.assert_allclose(getattr(one, name)(NEW), getattr(other, name)(NEW), rtol=1e-8)
    for training in (False, True):
        assert one.q_limit(training=training) == pytest.approx(other.q_limit(training=training))
        assert one.t2_limit(training=training) == pytest.approx(other.t2_limit(training=training))
    np.testing.assert_allclose(one.y_residuals(NEW, y[:7]), other.y_residuals(NEW, y[:7]))


def test_rows_of_a_stream_have_no_limit_of_q():
    whole, streamed = KernelPLS(3).fit(X, y), KernelPLS(3).fit(scan(X, y, rows_per_chunk=20))
    np.testing.assert_allclose(streamed.t2(NEW), whole.t2(NEW))
    np.testing.assert_allclose(streamed.q(NEW), whole.q(NEW))
    np.testing.assert_allclose(streamed.y_residuals(NEW, y[:7]), whole.y_residuals(NEW, y[:7]))
    np.testing.assert_allclose(list(whole.q(scan(X, rows_per_chunk=20)).compute()), whole.q(X))
    batches = KernelPLS(3).partial_fit(X[:30], y[:30]).partial_fit(X[30:], y[30:])
    for model in (streamed, batches):
        with pytest.raises(ValueError, match="limit of Q"):
            model.q_limit()


def test_classes_have_no_residuals():
    with pytest.raises(ValueError, match="y_residuals"):
        KernelPLSClassifier(2).fit(X, LABELS).y_residuals(X, y)


@pytest.mark.parametrize(("n_features", "m", "smallest"), [(12, 80, 0.035), (100, 200, 0.01)])
def test_limits_hold_five_percent_of_normal_rows(n_features, m, smallest):
    """Spectra of five substances with noise; where features fit noise, new rows exceed less."""
    draw = np.random.default_rng(1)
    spectra, law = draw.normal(size=(5, n_features)), stats.t(m - 6)
    beyond = {name: [] for name in ("t2", "q", "y", "old t2", "old q", "old y")}
    for _ in range(60):
        amounts = draw.normal(size=(m + 200, 5))
        rows = amounts @ spectra + 0.5 * draw.normal(size=(m + 200, n_features))
        target = amounts[:, 0] + 0.3 * draw.normal(size=m + 200)
        old, new = (rows[:m], target[:m]), (rows[m:], target[m:])
        model = KernelPLS(5).fit(*old)
        beyond["t2"].append(model.t2(new[0]) > model.t2_limit())
        beyond["q"].append(model.q(new[0]) > model.q_limit())
        beyond["y"].append(abs(model.y_residuals(*new)) > law.isf(0.025))
        beyond["old t2"].append(model.t2(old[0]) > model.t2_limit(training=True))
        beyond["old q"].append(model.q(old[0]) > model.q_limit(training=True))
        beyond["old y"].append(abs(model.y_residuals(*old, training=True)) > law.isf(0.025))
    for name, rates in beyond.items():
        least = 0.035 if name.startswith("old") else smallest
        most = 0.12 if name == "y" else 0.065  # the training rows are fitted better
        assert least < np.mean(rates) < most, (name, np.mean(rates))


# --- is it real ----------------------------------------------------------------------------------
def test_a_permutation_test_by_hand():
    test = KernelPLS(2).permutation_test(X, y, n_permutations=20, random_state=0)
    model = KernelPLS(2).fit(X, y)
    assert test.r2 == pytest.approx(model.score(X, y))
    folds = KFold(7, shuffle=True, random_state=0)
    assert test.q2 == pytest.approx(KernelPLS(2).cross_validate(X, y, cv=folds).q2[1])
    assert test.pvalue == 1 / 21
    assert repr(test).endswith("pvalue=0.0476)")
    assert test.permuted_q2.max() < test.q2
    assert test.permuted_r2.shape == test.correlations.shape == (20,)


@pytest.mark.parametrize("kernel", ["linear", "gaussian", "precomputed"])
def test_the_test_of_a_kernel_model(kernel):
    rows = X @ X.T if kernel == "precomputed" else X
    test = KernelPLS(2, kernel=kernel).permutation_test(rows, y, n_permutations=20, random_state=0)
    assert test.r2 == pytest.approx(KernelPLS(2, kernel=kernel).fit(rows, y).score(rows, y))
    assert test.pvalue < 0.1


def test_whole_groups_change_places():
    """Rows and targets that are alike within groups, and independent."""
    rejected = {True: 0, False: 0}
    for seed in range(20):
        draw = np.random.default_rng(seed)
        group = np.repeat(np.arange(12), 5)
        rows = draw.normal(size=(12, 30))[group] + 0.1 * draw.normal(size=(60, 30))
        target = draw.normal(size=12)[group] + 0.1 * draw.normal(size=60)
        for grouped in rejected:
            test = KernelPLS(2).permutation_test(
                rows,
                target,
                n_permutations=19,
                cv=4,
                groups=group if grouped else None,
                random_state=seed,
            )
            rejected[grouped] += test.pvalue <= 0.05
    assert rejected[True] <= 4 < 15 <= rejected[False]


def test_the_level_of_the_test():
    draw = np.random.default_rng(2)
    pvalues = [
        KernelPLS(2)
        .permutation_test(
            draw.normal(size=(30, 50)), draw.normal(size=30), n_permutations=19, random_state=i
        )
        .pvalue
        for i in range(100)
    ]
    assert np.mean(np.array(pvalues) <= 0.05) < 0.12
    assert np.mean(np.array(pvalues) <= 0.5) > 0.3
