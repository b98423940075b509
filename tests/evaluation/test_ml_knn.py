import numpy as np
import pytest
from scipy import sparse
from scipy.spatial.distance import cdist
from sklearn.metrics import pairwise_distances
from sklearn.utils.estimator_checks import parametrize_with_checks

from depmax.evaluation import MLkNN

rng = np.random.default_rng(0)
X = rng.normal(size=(80, 3))
Y = np.column_stack([X[:, 0] > 0, X[:, 1] + 0.5 * rng.normal(size=80) > 0.5, X[:, 2] > 3.5]) * 1
NEW = rng.normal(size=(25, 3))


@parametrize_with_checks([MLkNN(n_neighbors=3)])
def test_scikit_learn_checks(estimator, check):
    check(estimator)


def by_definition(X, Y, new, k, s):
    """Zhang and Zhou's figure 1, one label and one row at a time."""
    m = len(X)
    D = cdist(X, X)
    np.fill_diagonal(D, np.inf)
    near = np.argsort(D, axis=1)[:, :k]
    near_new = np.argsort(cdist(new, X), axis=1)[:, :k]
    probabilities = np.empty((len(new), Y.shape[1]))
    for label in range(Y.shape[1]):
        y = Y[:, label]
        prior = (s + y.sum()) / (2 * s + m)
        c, c_not = np.zeros(k + 1), np.zeros(k + 1)
        for i in range(m):
            (c if y[i] else c_not)[y[near[i]].sum()] += 1
        for t in range(len(new)):
            j = y[near_new[t]].sum()
            yes = prior * (s + c[j]) / (s * (k + 1) + c.sum())
            no = (1 - prior) * (s + c_not[j]) / (s * (k + 1) + c_not.sum())
            probabilities[t, label] = yes / (yes + no)
    return probabilities


@pytest.mark.parametrize(("k", "s"), [(10, 1.0), (3, 0.5)])
def test_follows_the_publication(k, s):
    expected = by_definition(X, Y, NEW, k, s)
    model = MLkNN(k, smoothing=s).fit(X, Y)
    np.testing.assert_allclose(model.predict_proba(NEW), expected, rtol=1e-12)
    np.testing.assert_array_equal(model.predict(NEW), expected > 0.5)


def test_distances_sparse_rows_and_sparse_labels_give_the_same():
    expected = MLkNN().fit(X, Y).predict_proba(NEW)
    pairwise = MLkNN(metric="precomputed").fit(pairwise_distances(X), Y)
    np.testing.assert_allclose(pairwise.predict_proba(pairwise_distances(NEW, X)), expected)
    packed = MLkNN().fit(sparse.csr_matrix(X), sparse.csr_matrix(Y))
    np.testing.assert_allclose(packed.predict_proba(sparse.csr_matrix(NEW)), expected)


def test_two_classes_are_two_labels_that_exclude_each_other():
    y = np.where(Y[:, 0], "yes", "no")
    model = MLkNN().fit(X, y)
    both = MLkNN().fit(X, np.column_stack([1 - Y[:, 0], Y[:, 0]]))
    np.testing.assert_allclose(model.predict_proba(NEW), both.predict_proba(NEW))
    assert set(model.predict(NEW)) == {"yes", "no"}


def test_few_rows_have_all_others_as_neighbours():
    model = MLkNN(10).fit(X[:6], Y[:6])
    assert model.n_neighbors_ == 5
    np.testing.assert_allclose(
        model.predict_proba(NEW), MLkNN(5).fit(X[:6], Y[:6]).predict_proba(NEW)
    )


def test_bad_input_is_refused():
    with pytest.raises(ValueError, match="n_neighbors"):
        MLkNN(0).fit(X, Y)
    with pytest.raises(ValueError, match="n_samples = 1"):
        MLkNN().fit(X[:1], Y[:1])
    with pytest.raises(ValueError, match="smoothing"):
        MLkNN(smoothing=0).fit(X, Y)
    with pytest.raises(ValueError, match="MultiLabelBinarizer"):
        MLkNN().fit(X, Y + 1)
    with pytest.raises(ValueError, match="one class"):
        MLkNN().fit(X, np.ones(80))
