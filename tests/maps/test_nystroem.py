import numpy as np
import pytest
from sklearn.kernel_approximation import Nystroem

from depmax import HSCA, load_model, save_model, scan
from depmax.kernels import Gaussian, Polynomial, Spectrum
from depmax.maps import DrawnWithReplacement, GreedyLandmarks, KernelMap, NystroemMap


@pytest.fixture(name="X")
def rows():
    return np.random.default_rng(0).normal(size=(60, 4))


@pytest.mark.parametrize("seed", [0, 1])
def test_inner_products_are_those_of_scikit_learn(seed, X):
    ours = NystroemMap(15, kernel=Gaussian(1.0), random_state=seed).fit(X)
    theirs = Nystroem(kernel="rbf", gamma=0.5, n_components=15, random_state=seed).fit(X)
    np.testing.assert_array_equal(ours.landmark_indices_, theirs.component_indices_)
    a, b = ours.transform(X + 0.1), theirs.transform(X + 0.1)
    np.testing.assert_allclose(a @ a.T, b @ b.T, atol=1e-9)


def test_definition(X):
    kernel = Gaussian(1.0)
    estimator = NystroemMap(10, kernel=kernel, random_state=0)
    features = estimator.fit_transform(X)
    landmarks = X[estimator.landmark_indices_]
    oracle = kernel(X, landmarks) @ np.linalg.solve(kernel(landmarks), kernel(landmarks, X))
    np.testing.assert_allclose(features @ features.T, oracle, atol=1e-10)


def test_all_rows_as_landmarks_are_exact(X):
    features = NystroemMap(60, kernel=Gaussian(1.0), random_state=0).fit_transform(X)
    np.testing.assert_allclose(features @ features.T, Gaussian(1.0)(X), atol=1e-9)
    exact = KernelMap(kernel=Gaussian(1.0)).fit_transform(X)
    np.testing.assert_allclose(np.abs(features), np.abs(exact), atol=1e-7)


def test_low_rank_kernel_is_exact_with_enough_landmarks(X):
    kernel = Polynomial(degree=2)  # 15 monomials of 4 variables
    features = NystroemMap(30, kernel=kernel, random_state=0).fit_transform(X)
    assert features.shape == (60, 15)
    np.testing.assert_allclose(features @ features.T, kernel(X), rtol=1e-8, atol=1e-8)


def test_landmarks_are_distinct_and_seeded(X):
    first = NystroemMap(20, random_state=3).fit(X).landmark_indices_
    assert len(set(first)) == 20
    np.testing.assert_array_equal(first, NystroemMap(20, random_state=3).fit(X).landmark_indices_)
    assert set(first) != set(NystroemMap(20, random_state=4).fit(X).landmark_indices_)


def test_too_many_landmarks(X):
    with pytest.raises(ValueError, match=r"n_components=61 .* = 60"):
        NystroemMap(61).fit(X)


def error(K, chosen):
    """Frobenius norm of what the chosen columns leave, by the definition."""
    approximation = (
        K[:, chosen] @ np.linalg.pinv(K[np.ix_(chosen, chosen)], rcond=1e-12) @ K[chosen]
    )
    return np.linalg.norm(K - approximation)


class TestGreedyLandmarks:
    @pytest.mark.parametrize("kernel", [Gaussian(1.0), Polynomial(degree=2)], ids=repr)
    def test_every_step_is_the_best_by_brute_force(self, kernel, X):
        K = kernel(X)
        greedy = NystroemMap(8, kernel=kernel, landmarks=GreedyLandmarks()).fit(X)
        chosen = greedy.landmark_indices_
        for step in range(8):
            errors = [error(K, [*chosen[:step], row]) for row in range(60)]
            assert errors[chosen[step]] <= min(errors) * (1 + 1e-8)

    def test_the_map_uses_them_and_they_beat_chance(self, X):
        kernel = Gaussian(1.0)
        greedy = NystroemMap(12, kernel=kernel, landmarks=GreedyLandmarks()).fit(X)
        K = kernel(X)
        features = greedy.transform(X)
        assert np.linalg.norm(K - features @ features.T) == pytest.approx(
            error(K, greedy.landmark_indices_)
        )
        drawn = [NystroemMap(12, kernel=kernel, random_state=seed).fit(X) for seed in range(20)]
        assert error(K, greedy.landmark_indices_) < min(
            error(K, one.landmark_indices_) for one in drawn
        )

    def test_it_stops_at_the_rank(self, X):
        kernel = Polynomial(degree=2)  # of rank 15
        estimator = NystroemMap(30, kernel=kernel, landmarks=GreedyLandmarks())
        features = estimator.fit_transform(X)
        assert len(estimator.landmark_indices_) == features.shape[1] == 15
        np.testing.assert_allclose(features @ features.T, kernel(X), rtol=1e-6, atol=1e-6)

    def test_of_many_rows_some_are_searched(self, X):
        landmarks = GreedyLandmarks(max_rows=20)
        first = NystroemMap(5, landmarks=landmarks, random_state=0).fit(X)
        again = NystroemMap(5, landmarks=landmarks, random_state=0).fit(X)
        np.testing.assert_array_equal(first.landmark_indices_, again.landmark_indices_)
        searched = np.sort(np.random.RandomState(0).permutation(60)[:20])
        assert set(first.landmark_indices_) <= set(searched)
        assert NystroemMap(50, landmarks=landmarks).fit_transform(X).shape == (60, 20)

    def test_strings_and_kernel_matrices(self, X):
        K = Gaussian(1.0)(X)
        own = NystroemMap(6, kernel=Gaussian(1.0), landmarks=GreedyLandmarks()).fit(X)
        given = NystroemMap(6, kernel="precomputed", landmarks=GreedyLandmarks()).fit(K)
        np.testing.assert_array_equal(own.landmark_indices_, given.landmark_indices_)
        texts = np.array(["abab", "abba", "cdcd", "cddc"], dtype=object)
        chosen = NystroemMap(2, kernel=Spectrum(2), landmarks=GreedyLandmarks()).fit(texts)
        assert {index // 2 for index in chosen.landmark_indices_} == {0, 1}


class TestDrawnWithReplacement:
    def test_shares_are_the_squared_diagonal(self, X):
        draws = np.concatenate(
            [
                NystroemMap(1, kernel="linear", landmarks=DrawnWithReplacement(), random_state=seed)
                .fit(X)
                .landmark_indices_
                for seed in range(400)
            ]
        )
        squares = (X**2).sum(axis=1) ** 2
        expected = 400 * squares / squares.sum()
        counts = np.bincount(draws, minlength=60)
        common = expected > 8
        deviation = (counts - expected)[common] / np.sqrt(expected[common])
        assert np.abs(deviation).max() < 4

    def test_repeated_draws_are_one_landmark(self, X):
        estimator = NystroemMap(
            60, kernel=Gaussian(1.0), landmarks=DrawnWithReplacement(), random_state=0
        )
        features = estimator.fit_transform(X)
        chosen = estimator.landmark_indices_
        assert len(chosen) == len(set(chosen)) < 60
        K = Gaussian(1.0)(X)
        assert np.linalg.norm(K - features @ features.T) == pytest.approx(error(K, chosen))

    def test_a_kernel_of_zeros(self):
        with pytest.raises(ValueError, match="none can be a landmark"):
            NystroemMap(2, kernel="linear", landmarks=DrawnWithReplacement()).fit(np.zeros((5, 2)))


@pytest.mark.parametrize("landmarks", [DrawnWithReplacement(), GreedyLandmarks()], ids=repr)
class TestChosenLandmarks:
    def test_saved(self, landmarks, X, tmp_path):
        pytest.importorskip("skops", reason="the extra 'save' is not installed")
        estimator = NystroemMap(5, landmarks=landmarks, random_state=0).fit(X)
        save_model(estimator, tmp_path / "map.skops")
        again = load_model(tmp_path / "map.skops")
        np.testing.assert_array_equal(again.transform(X), estimator.transform(X))

    def test_as_a_kernel(self, landmarks, X):
        kernel = NystroemMap(5, landmarks=landmarks, random_state=0)
        assert HSCA(2, kernel=kernel).fit(X, X[:, 0] > 0).transform(X).shape == (60, 2)

    def test_a_stream_is_refused_with_the_remedy(self, landmarks, X):
        with pytest.raises(TypeError, match="use landmarks=None"):
            NystroemMap(5, landmarks=landmarks).fit(scan(X))


def test_refusals(X):
    with pytest.raises(ValueError, match=r"landmarks of .*DrawnWith"):
        NystroemMap(5, landmarks="greedy").fit(X)
    with pytest.raises(ValueError, match="max_rows of GreedyLandmarks"):
        GreedyLandmarks(0)
