"""Bands of the EEG.

A person imagines moving both fists or both feet, 45 trials of four seconds, 64 electrodes. The
rhythm that tells which differs from person to person. So: power spectrum of every trial, `BAHSIC`
over frequencies (the electrodes of one frequency leave together), HSIC of every band from one
frequency to another as a heat map, signals passed through the best band, common spatial patterns, a
linear support vector machine. In the cross-validation the band is chosen on the training trials
alone.

The figures below are of the real data, `eeg_physionet_s001_fists_feet`. Without them the script
makes up rows of the same kind and says so.

HSIC with the imagined movement of every band, from a lower edge (across) to an upper edge (up).
"""

import matplotlib.pyplot as plt
import numpy as np
from gallery import external, save
from scipy.linalg import eigh
from scipy.signal import butter, sosfiltfilt
from sklearn.model_selection import StratifiedKFold
from sklearn.svm import SVC

from depmax import BAHSIC, hsic
from depmax.plotting import HeatMapDisplay

RATE = 160  # samples per second
EDGES = np.arange(4, 37, 4)

recording = external("eeg_physionet_s001_fists_feet")
trials = recording.X.reshape(-1, 64, 640)
trials = trials - trials.mean(axis=1, keepdims=True)  # against the average of the electrodes
y = recording.y

# log power per electrode and hertz: four Hann windows of one second
windows = trials.reshape(len(trials), 64, 4, RATE) * np.hanning(RATE)
power = np.log(np.mean(np.abs(np.fft.rfft(windows)) ** 2, axis=2))  # (trials, electrodes, hertz)


def band_dependence(rows, low, high):
    """HSIC of the mean log power of a band, over all electrodes, with the movement."""
    return hsic(power[rows, :, low:high].mean(axis=2), y[rows])


def patterns(signals, labels, count=3):
    """Common spatial patterns: where one class has much variance and the other little."""
    one, other = (
        np.mean([np.cov(signal) for signal in signals[labels == level]], axis=0)
        for level in np.unique(labels)
    )
    ridge = 0.05 * np.trace(one + other) / len(one) * np.eye(len(one))
    _, vectors = eigh(one, one + other + ridge)
    return np.hstack([vectors[:, :count], vectors[:, -count:]])


def right(train, test, low, high):
    """Share of the test trials that the machine gets right in a band."""
    passed = sosfiltfilt(butter(4, (low, high), "bandpass", fs=RATE, output="sos"), trials)
    filters = patterns(passed[train], y[train])
    features = np.log(np.var(np.einsum("ec,tes->tcs", filters, passed), axis=2))
    model = SVC(kernel="linear").fit(features[train], y[train])
    return model.score(features[test], y[test])


rows = np.arange(len(y))
hertz = np.arange(4, 36)
X = power[:, :, hertz].reshape(len(y), -1)
X = (X - X.mean(axis=0)) / X.std(axis=0)
select = BAHSIC(64 * 5, groups=np.tile(hertz, 64), interactions=None, pvalues=False).fit(X, y)
kept = np.unique(np.tile(hertz, 64)[select.get_support()])
print(f"the five frequencies that BAHSIC keeps: {', '.join(map(str, kept))} Hz")

bands = [(low, high) for low in EDGES for high in EDGES if low < high]
chosen, scores = [], {"band chosen by HSIC": [], "4 to 36 Hz": []}
for train, test in StratifiedKFold(5, shuffle=True, random_state=0).split(rows, y):
    best = max(bands, key=lambda band: band_dependence(train, *band))
    chosen.append("{}-{}".format(*best))
    scores["band chosen by HSIC"].append(right(train, test, *best))
    scores["4 to 36 Hz"].append(right(train, test, 4, 36))
print(f"bands chosen on the training parts: {', '.join(chosen)} Hz")
for name, values in scores.items():
    print(f"{name:20} accuracy {np.mean(values):.2f} on held-out trials")

figure, axis = plt.subplots(figsize=(5.5, 4), layout="constrained")
HeatMapDisplay.from_bands(
    lambda low, high: band_dependence(rows, low, high), EDGES, unit="Hz", ax=axis
)
save(figure, "eeg_bands")
