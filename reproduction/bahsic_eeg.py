"""Table 2 of the BAHSIC paper: frequencies of the EEG, then spatial patterns and a machine."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property, partial

import numpy as np
from scipy.signal import butter, sosfiltfilt
from sklearn.model_selection import StratifiedKFold
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import LabelEncoder, StandardScaler
from sklearn.svm import SVC

from reproduction import methods
from reproduction.external import load_external
from reproduction.figures import compared, published
from reproduction.kept_splits import KeptSplits, Key
from reproduction.registry import COLUMNS, Row, Table, register, whole
from reproduction.spatial_patterns import TAPS, Model, csp, cssp, csssp, lagged_covariances

NAME = "bahsic_eeg"
#: One subject, two tasks; the paper's five subjects are not at hand.
DATASETS = ("eeg_physionet_s001_left_right", "eeg_physionet_s001_fists_feet")
N_CHANNELS, RATE = 64, 160
BAND = (8.0, 40.0)
N_FREQUENCIES, N_NEIGHBOURS = 5, 4
#: Delays of CSSP in samples, up to 0.15 s, and penalties of CSSSP; chosen inside the training part.
DELAYS = tuple(range(2, 25, 2))
PENALTIES = (0.01, 0.1, 1.0)
INNER_FOLDS = 3
#: 50 times two folds.
N_SPLITS, QUICK_SPLITS = 100, 2
PAIRED = ("dataset", "method", "errors")
NOTE = "stand-in: one subject of another study (64 channels); the paper has five (118 channels)"


@dataclass(frozen=True)
class Recording:
    """Trials of one task, (n_trials, channels, samples), and what all methods take from them."""

    trials: np.ndarray
    y: np.ndarray  # classes 0 and 1
    rate: float = field(default=RATE)

    @cached_property
    def coefficients(self) -> np.ndarray:
        """Fourier coefficients of every channel."""
        return np.fft.rfft(self.trials, axis=2)

    @cached_property
    def spectra(self) -> np.ndarray:
        """Power of every frequency but zero, the mean over channels."""
        spectra: np.ndarray = np.square(np.abs(self.coefficients[:, :, 1:])).mean(axis=1)
        return spectra

    @cached_property
    def band(self) -> np.ndarray:
        """Covariances, also lagged, of the signals between 8 and 40 Hz."""
        sections = butter(4, BAND, "bandpass", fs=self.rate, output="sos")
        passed = sosfiltfilt(sections, self.trials, axis=2)
        return lagged_covariances(passed, max(max(DELAYS) + 1, TAPS))

    def of_frequencies(self, places: np.ndarray) -> np.ndarray:
        """Covariances of the signals that some frequencies alone make up."""
        left = np.zeros_like(self.coefficients)
        left[:, :, places] = self.coefficients[:, :, places]
        return lagged_covariances(np.fft.irfft(left, self.trials.shape[2], axis=2))


def chosen_frequencies(spectra: np.ndarray, y: np.ndarray, first: int = 1) -> np.ndarray:
    """Places of the five frequencies that BAHSIC keeps and of the four nearest to each.

    ``first`` is the place of the first column of ``spectra``.
    """
    X = StandardScaler().fit_transform(spectra)
    best = methods.bahsic(X, y, N_FREQUENCIES)[:N_FREQUENCIES] + first
    near = np.arange(-(N_NEIGHBOURS // 2), N_NEIGHBOURS // 2 + 1)
    places = np.unique(best[:, np.newaxis] + near)
    return places[(places >= first) & (places < first + spectra.shape[1])]


def plain(recording: Recording, train: np.ndarray, test: np.ndarray) -> float:
    """CSP between 8 and 40 Hz."""
    return _error(recording, recording.band, csp, train, test)


def selected(recording: Recording, train: np.ndarray, test: np.ndarray) -> float:
    """CSP of the signals that the frequencies chosen by BAHSIC make up."""
    places = chosen_frequencies(recording.spectra[train], recording.y[train])
    return _error(recording, recording.of_frequencies(places), csp, train, test)


def selected_in_band(recording: Recording, train: np.ndarray, test: np.ndarray) -> float:
    """The same with a choice among the frequencies that the other methods have."""
    seconds = recording.trials.shape[2] / recording.rate
    first, last = (round(hertz * seconds) for hertz in BAND)
    spectra = recording.spectra[train][:, first - 1 : last]  # column 0 is place 1
    places = chosen_frequencies(spectra, recording.y[train], first)
    return _error(recording, recording.of_frequencies(places), csp, train, test)


def tuned(
    models: Sequence[Model], recording: Recording, train: np.ndarray, test: np.ndarray
) -> float:
    """A model of several, by cross-validation inside the training part."""
    y = recording.y
    folds = StratifiedKFold(INNER_FOLDS, shuffle=True, random_state=0).split(train, y[train])
    parts = [(train[inner], train[held]) for inner, held in folds]
    means = [
        np.mean([_error(recording, recording.band, m, *part) for part in parts]) for m in models
    ]
    return _error(recording, recording.band, models[int(np.argmin(means))], train, test)


#: Error (%) on the test part.
METHODS: dict[str, Callable[[Recording, np.ndarray, np.ndarray], float]] = {
    "CSP(8-40Hz)": plain,
    "CSSP": partial(tuned, [partial(cssp, delay=delay) for delay in DELAYS]),
    "CSSSP": partial(tuned, [partial(csssp, penalty=penalty) for penalty in PENALTIES]),
    "BAHSIC": selected,
    "BAHSIC, among 8 to 40 Hz": selected_in_band,
}


def _error(
    recording: Recording, lagged: np.ndarray, model: Model, train: np.ndarray, test: np.ndarray
) -> float:
    features, y = model(lagged, train, recording.y), recording.y
    machine = make_pipeline(StandardScaler(), SVC(kernel="linear")).fit(features[train], y[train])
    return 100.0 * float(np.mean(machine.predict(features[test]) != y[test]))


def read(name: str) -> Recording:
    """The trials of a task."""
    data = load_external(name)
    trials = np.asarray(data.X, dtype=np.float64).reshape(len(data.y), N_CHANNELS, -1)
    return Recording(trials, LabelEncoder().fit_transform(data.y))


def stream(
    quick: bool,
    n_jobs: int | None,
    datasets: Sequence[str] | None,
    n_splits: int | None = None,
    *,
    kept: KeptSplits,
) -> Iterator[Row]:
    """One row per task and method."""
    unknown = sorted(set(datasets or ()) - set(DATASETS))
    if unknown:
        raise ValueError(f"The table has no recording {unknown[0]!r}: one of {sorted(DATASETS)}.")
    wanted = n_splits or (QUICK_SPLITS if quick else N_SPLITS)
    for name in datasets or DATASETS:
        try:
            recording = read(name)
        except FileNotFoundError as error:
            yield from whole(
                compared(name, m, None, n_splits=None, note=str(error)) for m in METHODS
            )
            continue
        keys = [(name, method) for method in METHODS]
        kept.complete(keys, wanted, partial(_split, recording), n_jobs)
        yield from whole(
            compared(name, key[1], errors, n_splits=len(errors), note=NOTE)
            for key in keys
            if kept.count(key)
            for errors in kept.values(key, wanted)
        )


def _split(recording: Recording, number: int, keys: Sequence[Key]) -> dict[Key, tuple[float]]:
    """Errors of some methods on one of two halves."""
    repeat, place = divmod(number, 2)
    halves = StratifiedKFold(2, shuffle=True, random_state=repeat)
    train, test = list(halves.split(recording.y, recording.y))[place]
    return {key: (METHODS[key[1]](recording, train, test),) for key in keys}


register(
    Table(
        NAME,
        "BAHSIC paper, Table 2: error (%) on EEG after a choice of frequencies",
        published(NAME)["source"],
        stream,
        (*COLUMNS, "n_splits", "note"),
        PAIRED,
        N_SPLITS,
        continued=True,
    )
)
