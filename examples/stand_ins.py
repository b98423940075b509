"""Made-up data for readers without the real ones: the shape and the structure, not the figures.

Each function returns the rows and the target that an example expects of the data set of its name.
"""

from __future__ import annotations

import numpy as np
from numpy.random import Generator

from depmax.datasets import Dataset


def adult(rng: Generator) -> tuple[np.ndarray, np.ndarray, list[str]]:
    """Ages, hours and categories; the income depends on age, hours, education and marriage."""
    n_rows = 8000
    age, hours = rng.integers(17, 80, n_rows), np.clip(rng.normal(40, 11, n_rows), 5, 90)
    columns = {
        "age": age.astype(float),
        "workclass": rng.choice(["private", "government", "self-employed", "?"], n_rows),
        "fnlwgt": rng.integers(20_000, 400_000, n_rows).astype(float),
        "education": rng.choice(["school", "college", "bachelor", "master"], n_rows),
        "education-num": rng.integers(1, 16, n_rows).astype(float),
        "marital-status": rng.choice(["married", "single", "divorced", "widowed"], n_rows),
        "sex": rng.choice(["female", "male"], n_rows),
        "hours-per-week": hours.round(),
        "native-country": rng.choice(["a", "b", "c", "d", "e"], n_rows),
    }
    score = 1.2 * np.isin(columns["education"], ["bachelor", "master"])
    score = score + 1.5 * (columns["marital-status"] == "married") + 0.04 * (hours - 40)
    score = score - ((age - 48) / 18.0) ** 2 + rng.logistic(size=n_rows)
    cells = np.empty((n_rows, len(columns)), dtype=object)
    for position, values in enumerate(columns.values()):
        cells[:, position] = values
    return cells, np.where(score > 1, ">50K", "<=50K"), list(columns)


def orange_juice_nir(rng: Generator) -> tuple[np.ndarray, np.ndarray, list[str]]:
    """Spectra as sums of absorption bands; one weak band belongs to the sugar."""
    wavelengths = np.linspace(1100, 2500, 700)
    centres, widths = np.array([1200, 1450, 1780, 1940, 2100, 2300]), 60 + 60 * rng.random(6)
    bands = np.exp(-0.5 * ((wavelengths - centres[:, None]) / widths[:, None]) ** 2)
    amounts = rng.gamma(8.0, 0.1, (218, 6))
    sugar = 60 * amounts[:, 4]
    offset = 0.05 * rng.normal(size=(218, 1)) * (1 + (wavelengths - 1800) / 2000)
    spectra = (amounts * [0.3, 1.0, 0.2, 1.4, 0.15, 0.4]) @ bands + offset
    spectra += 1e-3 * rng.normal(size=spectra.shape)
    return spectra, sugar, [f"nm_{value:.0f}" for value in wavelengths]


def colon(rng: Generator) -> tuple[np.ndarray, np.ndarray, list[str]]:
    """Intensities with shared factors; 100 genes of 2,000 are higher or lower in tumours."""
    tumour = np.arange(62) < 40
    levels = rng.normal(size=(62, 8)) @ rng.normal(size=(8, 2000)) / 3 + rng.normal(size=(62, 2000))
    levels[:, :100] += 1.4 * tumour[:, None] * rng.choice([-1, 1], 100)
    names = [f"gene_{position}" for position in range(2000)]
    return np.exp(5 + levels / 2), np.where(tumour, "t", "n"), names


def reuters_grain_text(rng: Generator) -> tuple[np.ndarray, np.ndarray, list[str]]:
    """Words drawn at random; texts about grain use some words more often."""
    ends = [f"{c}{d}" for c in ("rn", "lt", "nd", "sk") for d in ("er", "on", "ia")]
    common = np.array([f"{a}{b}{end}" for a in "bdfgk" for b in "aeiou" for end in ends])
    grain = np.array(["wheat", "corn", "tonnes", "crop", "harvest", "agriculture", "barley"])
    target = (rng.random(2158) < 0.074).astype(int)
    texts = []
    for about_grain in target:
        words = list(rng.choice(common, 60))
        words += list(rng.choice(grain, rng.poisson(5 if about_grain else 0.2)))
        texts.append(" ".join(words))
    return np.array(texts), target, ["text"]


def yahoo_arts(rng: Generator) -> tuple[np.ndarray, np.ndarray, list[str]]:
    """Pages with topics, which give both their terms and their labels."""
    topics = rng.random((3500, 8)) < 0.2
    topics[np.arange(3500), rng.integers(0, 8, 3500)] = True
    terms = rng.poisson(0.05 + 0.6 * topics @ (rng.random((8, 300)) < 0.06)).astype(float)
    labels = (topics & (rng.random((3500, 8)) < 0.9)).astype(int)
    labels[np.arange(3500), topics.argmax(axis=1)] = 1
    return terms, labels, [f"term_{position}" for position in range(300)]


def eeg_physionet_s001_fists_feet(rng: Generator) -> tuple[np.ndarray, np.ndarray, list[str]]:
    """Noise over electrodes and a 12 Hz rhythm in some of them, stronger for the feet."""
    feet = np.arange(45) % 2 == 0
    seconds = np.arange(640) / 160
    phases = rng.uniform(0, 2 * np.pi, (45, 64, 1))
    strength = np.where(feet, 6.0, 2.0)[:, None, None] * (np.arange(64) < 12)[:, None]
    noise = rng.normal(size=(45, 64, 640)).cumsum(axis=2)
    noise -= noise.mean(axis=2, keepdims=True)
    signals = strength * np.sin(2 * np.pi * 12 * seconds + phases) + noise
    names = [f"e{electrode}_{sample}" for electrode in range(64) for sample in range(640)]
    return signals.reshape(45, -1), np.where(feet, "both_feet", "both_fists"), names


#: By the name of the data set that each stands in for.
MAKERS = {
    maker.__name__: maker
    for maker in (
        adult,
        colon,
        eeg_physionet_s001_fists_feet,
        orange_juice_nir,
        reuters_grain_text,
        yahoo_arts,
    )
}


def stand_in(name: str) -> Dataset:
    """Made-up rows in the place of the data set ``name``, the same ones at every call."""
    X, y, names = MAKERS[name](np.random.default_rng(0))
    labels = tuple(f"label_{position}" for position in range(y.shape[1])) if y.ndim == 2 else ()
    return Dataset(
        X=X,
        y=y,
        feature_names=tuple(names),
        target_name=labels or "target",
        name=name,
        title=f"made up, in the place of {name}",
        source="examples/stand_ins.py",
        citation="",
        licence="BSD-3-Clause",
        notes="Made up: figures say nothing about the real data.",
    )
