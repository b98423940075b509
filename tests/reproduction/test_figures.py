"""Runners of figures, and of the EEG table, on small data."""

from __future__ import annotations

import numpy as np
import pytest

from depmax import coco
from depmax.kernels import Gaussian
from reproduction import bahsic_eeg, bahsic_figure1, bahsic_figure5, sparse_pls_figures, tables
from reproduction.kept_splits import KeptSplits
from reproduction.pages.drawings import draw
from reproduction.spatial_patterns import TAPS, _filter, _leading, _powers_of, lagged_covariances

RATE = 64


def test_the_eigenfunction_has_the_largest_covariance(tmp_path):
    X, y = bahsic_figure1.draw(0)
    function, covariance = bahsic_figure1.eigenfunction(X[:, 0], y, 0.3)
    expected = coco(X[:, :1], y, kernel=Gaussian(0.3), target_kernel="linear")
    assert covariance == pytest.approx(expected)
    mapped = function(X[:, 0])
    assert np.mean(mapped) == pytest.approx(0, abs=1e-12)
    assert np.mean(mapped * (y - y.mean())) == pytest.approx(covariance)
    rows = tables()["bahsic_figure1"].run(quick=True)
    assert [row["method"] for row in rows] == ["σ = 0.01", "σ = 0.1", "σ = 1"]
    overfitting = [row["same_rows"] - row["ours"] for row in rows]
    assert overfitting[0] > 2 * max(overfitting[1:])
    draw("bahsic_figure1", rows, tmp_path / "new" / "picture.png")
    assert (tmp_path / "new" / "picture.png").stat().st_size > 10_000
    with pytest.raises(ValueError, match="no data set"):
        tables()["bahsic_figure1"].run(datasets=["iris"])


def test_two_genes_by_kernel(monkeypatch, rng, tmp_path):
    y = np.arange(45) % 3
    X = rng.normal(size=(45, 30))
    X[:, 4] += 6 * (y == 0)
    X[:, 9] += 6 * (y == 1)
    monkeypatch.setattr(bahsic_figure5, "read", lambda: (X, y))
    rows = tables()["bahsic_figure5"].run()
    assert [row["method"] for row in rows] == ["lin", "RBF", "dis"]
    assert all(row["first_gene"] in (5, 10) for row in rows)
    assert all(row["correlation"] == pytest.approx(0, abs=0.6) for row in rows)
    draw("bahsic_figure5", rows, tmp_path / "picture.png")
    assert (tmp_path / "picture.png").exists()


def test_sparse_directions_by_the_definition(rng, tmp_path, monkeypatch):
    X = sparse_pls_figures.normalised(rng.normal(size=(12, 40)))
    y = sparse_pls_figures.normalised(rng.normal(size=(12, 1)))[:, 0]
    K = X @ X.T
    values = np.square(K @ y)
    covariances = sparse_pls_figures.cumulative(X, y, "SMC", 3)
    assert covariances[0] == pytest.approx(np.max(values / np.diag(K)) / 12**2)
    alignments = sparse_pls_figures.cumulative(X, y, "SMA", 11)
    assert alignments[0] == pytest.approx(np.max(values / np.square(K).sum(axis=0)) / (y @ y))
    assert np.all(np.diff(alignments) >= 0)
    assert alignments[-1] == pytest.approx(1)
    monkeypatch.setattr(sparse_pls_figures, "N_COLUMNS", 60)
    table = tables()["sparse_pls_figure2"]
    rows = table.run(quick=True)
    assert {row["method"] for row in rows} == {
        f"{method}, p = {p}" for method in ("SMC", "SMA") for p in (1, 2, 3)
    }
    # more rows per direction are worth more, and less per kernel value
    first = {row["method"]: row["ours"] for row in rows if row["n_features"] == 1}
    assert first["SMA, p = 1"] > first["SMA, p = 2"] > first["SMA, p = 3"]
    assert 3 * first["SMA, p = 3"] > first["SMA, p = 1"]
    draw("sparse_pls_figure2", rows, tmp_path / "picture.png")
    assert (tmp_path / "picture.png").exists()


@pytest.fixture
def recording(rng):
    """Two seconds of six channels; a rhythm of 12 Hz is stronger in one of the classes."""
    y = np.arange(28) % 2
    time = np.arange(2 * RATE) / RATE
    phases = rng.uniform(0, 2 * np.pi, (28, 1))
    source = (1.0 + 2.0 * y[:, None]) * np.sin(2 * np.pi * 12 * time + phases)
    noise = rng.normal(size=(28, 6, 2 * RATE))
    return bahsic_eeg.Recording(noise + rng.normal(size=(6, 1)) * source[:, None], y, RATE)


def test_bahsic_finds_the_rhythm(recording):
    places = bahsic_eeg.chosen_frequencies(recording.spectra, recording.y)
    assert {22, 23, 24, 25, 26} <= set(places)  # 12 Hz and its neighbours, half a hertz apart
    passed = recording.of_frequencies(np.arange(22, 27))[:, 0]
    assert np.trace(passed[recording.y == 1].mean(axis=0)) > 4 * np.trace(
        passed[recording.y == 0].mean(axis=0)
    )
    everything = recording.of_frequencies(np.arange(0, RATE + 1))
    np.testing.assert_allclose(everything, lagged_covariances(recording.trials), atol=1e-12)


def test_eeg_table(recording, monkeypatch):
    monkeypatch.setattr(bahsic_eeg, "read", lambda name: recording)
    monkeypatch.setattr(bahsic_eeg, "BAND", (8.0, 28.0))
    table = tables()["bahsic_eeg"]
    rows = table.run(quick=True, kept=KeptSplits(table.paired))
    assert len(rows) == 2 * len(bahsic_eeg.METHODS)
    assert all(row["n_splits"] == 2 and row["ours"] <= 15 for row in rows)
    with pytest.raises(ValueError, match="no recording"):
        table.run(datasets=["aa"])


def test_the_filter_of_csssp_raises_the_power_ratio(recording):
    lagged = lagged_covariances(recording.trials, TAPS)
    symmetric = lagged + lagged.transpose(0, 1, 3, 2)
    symmetric[:, 0] /= 2
    one, other = (symmetric[recording.y == level].mean(axis=0) for level in (1, 0))

    def ratio(b):
        first, second = (np.tensordot(_powers_of(b), m, axes=1) for m in (one, other))
        return _leading(first, first + second, 1)[0]

    b = _filter(one, other, 0.01)
    assert b[0] == 1
    assert ratio(b) > ratio(np.eye(TAPS)[0]) + 0.01
    assert np.abs(_filter(one, other, 100.0)[1:]).max() == 0  # a large penalty leaves no filter
    # the power after a filter, from lagged covariances: that of the filtered signal but its ends
    signal = recording.trials[0]
    filtered = np.array([np.convolve(channel, b, mode="full") for channel in signal])
    direct = filtered @ filtered.T / signal.shape[1]
    from_lags = np.tensordot(_powers_of(b), symmetric[0], axes=1)
    np.testing.assert_allclose(from_lags, direct, rtol=1e-9)
