"""
Bands of the EEG
================

A person imagines moving both fists or both feet: 45 trials of four seconds, 21 electrodes over the
motor cortex. The rhythm that tells which one differs from person to person. HSIC finds the band;
common spatial patterns and a linear classifier do the rest.
"""

# %%
# Signals against the average of the electrodes, and their log power per electrode and hertz.
import numpy as np

from depmax.datasets import load

RATE = 80  # samples per second
recording = load("eeg_fists_feet")
y = recording.y
trials = recording.X.reshape(len(y), 21, 4 * RATE)
trials = trials - trials.mean(axis=1, keepdims=True)

windows = trials.reshape(len(y), 21, 4, RATE) * np.hanning(RATE)
power = np.log(np.mean(np.abs(np.fft.rfft(windows)) ** 2, axis=2))  # (trials, electrodes, hertz)

# %%
# Which frequencies matter? :class:`~depmax.BAHSIC` with ``column_groups``: the 21 electrodes of a
# frequency stay or leave together.
from depmax import BAHSIC

hertz = np.arange(4, 36)
X = power[:, :, hertz].reshape(len(y), -1)
X = (X - X.mean(axis=0)) / X.std(axis=0)
bands = np.tile(hertz, 21)
select = BAHSIC(21 * 5, column_groups=bands, interactions=None, pvalues=False).fit(X, y)
kept = np.unique(bands[select.get_support()])
print(f"five frequencies: {', '.join(map(str, kept))} Hz")

# %%
# HSIC of every band with the imagined movement, from a lower edge (across) to an upper edge (up).
import matplotlib.pyplot as plt

from depmax import hsic
from depmax.plotting import HeatMapDisplay

EDGES = np.arange(4, 37, 4)


def band_dependence(low, high, rows=slice(None)):
    """HSIC of the mean log power of a band, over all electrodes, with the movement."""
    return hsic(power[rows, :, low:high].mean(axis=2), y[rows])


HeatMapDisplay.from_bands(band_dependence, EDGES, unit="Hz").plot()
plt.show()


# %%
# Does one band predict as well as all frequencies? It is chosen on the training trials alone.
from scipy.linalg import eigh
from scipy.signal import butter, sosfiltfilt
from sklearn.model_selection import RepeatedStratifiedKFold
from sklearn.svm import SVC


def patterns(signals, labels, count=3):
    """Common spatial patterns: where one class has much variance and the other little."""
    one, other = (
        np.mean([np.cov(signal) for signal in signals[labels == level]], axis=0)
        for level in np.unique(labels)
    )
    ridge = 0.05 * np.trace(one + other) / len(one) * np.eye(len(one))
    _, vectors = eigh(one, one + other + ridge)
    return np.hstack([vectors[:, :count], vectors[:, -count:]])


def accuracy(train, test, low, high):
    """Share of the test trials classified correctly from the signals of a band."""
    passed = sosfiltfilt(butter(4, (low, high), "bandpass", fs=RATE, output="sos"), trials)
    filters = patterns(passed[train], y[train])
    features = np.log(np.var(np.einsum("ec,tes->tcs", filters, passed), axis=2))
    return SVC(kernel="linear").fit(features[train], y[train]).score(features[test], y[test])


bands = [(low, high) for low in EDGES for high in EDGES if low < high]
scores = {"band chosen by HSIC": [], "4 to 36 Hz": []}
for train, test in RepeatedStratifiedKFold(n_splits=5, n_repeats=4, random_state=0).split(X, y):
    best = max(bands, key=lambda band: band_dependence(*band, rows=train))
    scores["band chosen by HSIC"].append(accuracy(train, test, *best))
    scores["4 to 36 Hz"].append(accuracy(train, test, 4, 36))
for name, values in scores.items():
    print(f"{name:20} accuracy {np.mean(values):.2f} on held-out trials")

# %%
# On this recording, one narrow band is nearly as good as all frequencies, and it tells which rhythm
# changes with the movement.
