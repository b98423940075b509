import numpy as np
import pytest
from scipy import sparse
from sklearn.metrics import (
    coverage_error,
    label_ranking_average_precision_score,
    label_ranking_loss,
)

from depmax.evaluation import average_precision, coverage, one_error, ranking_loss

rng = np.random.default_rng(0)
# rounded scores tie often; every row has a label and lacks one
Y = (rng.random((60, 5)) < 0.4).astype(int)
Y[Y.sum(axis=1) == 0, 2] = 1
Y[Y.sum(axis=1) == 5, 1] = 0
SCORES = np.round(rng.random((60, 5)), 1)
DISTINCT = rng.random((60, 5))


def ranks(scores):
    """Labels not ranked below each label, itself included."""
    return np.array([sum(other >= score for other in scores) for score in scores])


def slow_coverage(Y, scores):
    return np.mean([max(ranks(f)[y == 1]) - 1 for y, f in zip(Y, scores, strict=True)])


def slow_ranking_loss(Y, scores):
    losses = []
    for y, f in zip(Y, scores, strict=True):
        pairs = [(a, b) for a in np.flatnonzero(y) for b in np.flatnonzero(y == 0)]
        losses.append(np.mean([f[a] <= f[b] for a, b in pairs]))
    return np.mean(losses)


def slow_average_precision(Y, scores):
    values = []
    for y, f in zip(Y, scores, strict=True):
        r, own = ranks(f), np.flatnonzero(y)
        values.append(np.mean([sum(r[b] <= r[a] for b in own) / r[a] for a in own]))
    return np.mean(values)


@pytest.mark.parametrize("scores", [SCORES, DISTINCT], ids=["ties", "distinct"])
@pytest.mark.parametrize(
    ("fast", "slow"),
    [
        (coverage, slow_coverage),
        (ranking_loss, slow_ranking_loss),
        (average_precision, slow_average_precision),
    ],
)
def test_follows_the_definition(fast, slow, scores):
    assert fast(Y, scores) == pytest.approx(slow(Y, scores), abs=1e-12)


@pytest.mark.parametrize("scores", [SCORES, DISTINCT], ids=["ties", "distinct"])
def test_scikit_learn_agrees(scores):
    assert coverage(Y, scores) == pytest.approx(coverage_error(Y, scores) - 1)
    assert ranking_loss(Y, scores) == pytest.approx(label_ranking_loss(Y, scores))
    expected = label_ranking_average_precision_score(Y, scores)
    assert average_precision(Y, scores) == pytest.approx(expected)


def test_one_error_follows_the_definition():
    wrong = [y[np.argmax(f)] == 0 for y, f in zip(Y, DISTINCT, strict=True)]
    assert one_error(Y, DISTINCT) == pytest.approx(np.mean(wrong))


def test_one_error_of_ties_is_the_mean_over_ways_to_break_them():
    noise = np.random.default_rng(1).uniform(0, 1e-6, size=(1000, *SCORES.shape))
    broken = np.mean([one_error(Y, SCORES + part) for part in noise])
    assert one_error(Y, SCORES) == pytest.approx(broken, abs=0.01)


def test_no_measure_depends_on_the_order_of_labels():
    order = [3, 0, 4, 1, 2]
    for measure in (one_error, coverage, ranking_loss, average_precision):
        assert measure(Y[:, order], SCORES[:, order]) == pytest.approx(measure(Y, SCORES))


def test_a_perfect_ranking():
    assert one_error(Y, Y + 0.0) == ranking_loss(Y, Y + 0.0) == 0
    # needs <= in the definition: with < a perfect ranking would not reach 1
    assert average_precision(Y, Y + DISTINCT) == 1
    assert coverage(Y, Y + DISTINCT) == pytest.approx((Y.sum(axis=1) - 1).mean())


def test_rows_without_labels():
    empty, scores = np.zeros((1, 3), dtype=int), np.array([[0.3, 0.2, 0.1]])
    assert one_error(empty, scores) == 1
    assert coverage(empty, scores) == 0
    assert ranking_loss(empty, scores) == ranking_loss(1 - empty, scores) == 0
    with pytest.raises(ValueError, match="no label at all"):
        average_precision(empty, scores)
    both = np.vstack([empty, [[1, 0, 0]]]), np.vstack([scores, scores])
    assert average_precision(*both) == 1


def test_sparse_labels_and_bad_input():
    assert one_error(sparse.csr_matrix(Y), SCORES) == one_error(Y, SCORES)
    with pytest.raises(ValueError, match="shapes"):
        coverage(Y[:, :4], SCORES)
    with pytest.raises(ValueError, match="0 and 1"):
        coverage(Y * 2, SCORES)
    with pytest.raises(ValueError, match="scores"):
        coverage(Y, np.where(SCORES > 0.5, np.nan, SCORES))
