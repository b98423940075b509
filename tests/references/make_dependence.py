"""Dependence measures of other libraries on the bundled real data, kept in files beside this one.

``python tests/references/make_dependence.py`` needs the extra ``bench``; tests only read the
files. Nothing of depmax takes part in the values but its data sets.
"""

from __future__ import annotations

import json
import warnings
from dataclasses import asdict, dataclass
from datetime import date
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np

from depmax.datasets import load

FOLDER = Path(__file__).parent
#: Permutations behind each of hyppo's p-values.
REPETITIONS = 1000


@dataclass(frozen=True)
class Case:
    """Some rows of a bundled set: features X against the target or against other features."""

    name: str
    x: tuple[str, ...]  # names of features
    y: tuple[str, ...] = ()  # names of features; none means the set's own target
    every: int = 1  # rows 0, every, 2·every, …
    shuffled: int | None = None  # seed with which the rows of y are permuted, if they are

    def read(self) -> tuple[np.ndarray, np.ndarray]:
        """Floats X of shape (n_samples, len(x)), and y: floats likewise or labels."""
        data = load(self.name)
        X = self._columns(data, self.x)
        y = self._columns(data, self.y) if self.y else data.y[:: self.every]
        if self.shuffled is not None:
            y = np.random.default_rng(self.shuffled).permutation(y)
        return X, y

    def _columns(self, data: Any, names: tuple[str, ...]) -> np.ndarray:
        positions = [data.feature_names.index(name) for name in names]
        return data.X[:: self.every, positions].astype(np.float64)


def as_numbers(y: np.ndarray) -> np.ndarray:
    """Targets as other libraries need them: two text classes as -1 and +1, all else as floats."""
    if y.dtype.kind in "iuf":
        return y.astype(np.float64).reshape(len(y), -1)
    classes = np.unique(y)
    assert len(classes) == 2
    return np.where(y == classes[1], 1.0, -1.0)[:, np.newaxis]


def standardised(X: np.ndarray) -> np.ndarray:
    """Columns with mean 0 and variance 1 / n_columns: one bandwidth then suits any X and y."""
    return (X - X.mean(axis=0)) / X.std(axis=0) / np.sqrt(X.shape[1])


SONAR = ("V1", "V7", "V13", "V19", "V25", "V31", "V37", "V43", "V49", "V55")
WINE = ("alcohol", "ash", "magnesium", "flavanoids", "proanthocyanins", "hue", "proline")
IONOSPHERE = ("V3", "V9", "V15", "V21", "V27", "V33")
WDBC = ("mean radius", "mean concavity", "perimeter error", "symmetry error", "worst smoothness")
ABALONE = ("Length", "Whole weight", "Shell weight")
HEART = ("age", "chest", "serum_cholestoral", "slope", "thal")

#: (set, features, every): the columns that are compared one at a time with the set's target.
SETS = (
    ("sonar", SONAR, 1),
    ("wine", WINE, 1),
    ("ionosphere", IONOSPHERE, 1),
    ("wdbc", WDBC, 3),
    ("abalone", ABALONE, 20),
    ("heart_statlog", HEART, 1),
)
#: Several columns on one side or on both.
MULTIVARIATE = (
    Case("sonar", SONAR),
    Case("wine", WINE),
    Case("wine", WINE[:4], y=WINE[4:]),
    Case("ionosphere", IONOSPHERE, y=("V5", "V6"), every=2),
    Case("wdbc", WDBC, y=("mean area", "worst area"), every=3),
    Case("abalone", ABALONE, y=("Diameter", "Height"), every=20),
    Case("wine", WINE[:4], y=WINE[4:], shuffled=1),
)


def single_columns(shuffled: tuple[int | None, ...]) -> list[Case]:
    """Every column of ``SETS`` with its target, as it is (None) or permuted with a seed."""
    return [
        Case(name, (column,), every=every, shuffled=seed)
        for name, columns, every in SETS
        for column in columns
        for seed in shuffled
    ]


def from_dcor() -> list[dict[str, Any]]:
    """Distance correlation (2007) and the bias-corrected squared one (2013)."""
    import dcor

    def values(case: Case, exponent: float) -> dict[str, Any]:
        X, y = case.read()
        arguments = (X, as_numbers(y))
        return {
            "case": asdict(case),
            "exponent": exponent,
            "distance_correlation": float(dcor.distance_correlation(*arguments, exponent=exponent)),
            "u_distance_correlation_sqr": float(
                dcor.u_distance_correlation_sqr(*arguments, exponent=exponent)
            ),
        }

    return [
        *(values(case, 1.0) for case in single_columns((None, 1))),
        *(values(case, exponent) for case in MULTIVARIATE for exponent in (1.0, 1.5)),
    ]


def from_openturns() -> list[dict[str, Any]]:
    """HSIC of each column with squared exponential covariance models, k = exp(-(x - z)²/2s²).

    The scale s is the sample's standard deviation; the nugget, 1e-12 on the diagonal by default,
    is switched off. OpenTURNS divides tr(KHLH) by n² in its V-statistic, depmax by (n - 1)²; its
    U-statistic is depmax's unbiased HSIC.
    """
    import openturns as ot

    def values(case: Case) -> dict[str, Any]:
        X, y = case.read()
        Y = as_numbers(y)
        scales = [float(scale) for scale in np.hstack([X, Y]).std(axis=0, ddof=1)]
        models = [ot.SquaredExponential([scale]) for scale in scales]
        for model in models:
            model.setNuggetFactor(0.0)

        def estimates(statistic: Any) -> Any:
            return ot.HSICEstimatorGlobalSensitivity(models, ot.Sample(X), ot.Sample(Y), statistic)

        return {
            "case": asdict(case),
            "scales": scales[:-1],
            "target_scale": scales[-1],
            "v_statistic": list(estimates(ot.HSICVStat()).getHSICIndices()),
            "u_statistic": list(estimates(ot.HSICUStat()).getHSICIndices()),
            "r2": list(estimates(ot.HSICVStat()).getR2HSICIndices()),
        }

    return [
        values(Case(name, columns, every=every, shuffled=seed))
        for name, columns, every in SETS
        for seed in (None, 1)
    ]


def from_hyppo() -> list[dict[str, Any]]:
    """Statistics and p-values of hyppo's test, with the Gaussian kernel of bandwidth 1.

    Both sides are ``standardised``, since hyppo 0.5.2 uses one bandwidth for both. Its p-values are
    the chi-square approximation, its default, and one from permutations. For the second ``Dcorr``
    is given the matrices 1 - K, as ``Hsic.statistic`` does: ``Hsic.test`` itself would not honour
    the seed, and compares K instead of 1 - K, which changes the unbiased statistic.
    """
    from hyppo.independence import Dcorr, Hsic
    from sklearn.metrics.pairwise import rbf_kernel

    bandwidth = 1.0
    options = {"compute_kernel": "rbf", "gamma": 1 / (2 * bandwidth**2)}

    def values(case: Case) -> dict[str, Any]:
        X, y = case.read()
        X, Y = standardised(X), standardised(as_numbers(y))
        test = Hsic(**options).test(X, Y)
        matrices = [1.0 - rbf_kernel(side, gamma=options["gamma"]) for side in (X, Y)]
        permuted = Dcorr(compute_distance=None).test(
            *matrices, reps=REPETITIONS, auto=False, random_state=0
        )
        assert np.isclose(permuted.stat, test.stat, rtol=1e-9, atol=1e-12)
        return {
            "case": asdict(case),
            "bandwidth": bandwidth,
            "statistic": float(test.stat),
            "statistic_biased": float(Hsic(**options, bias=True).statistic(X, Y)),
            "pvalue_chi_square": float(test.pvalue),
            "pvalue_permutation": float(permuted.pvalue),
        }

    return [values(case) for case in (*single_columns((None, 1)), *MULTIVARIATE)]


def save(library: str, meaning: str, values: list[dict[str, Any]]) -> None:
    """Write one value per line, so that a change of one shows as one."""
    origin = {
        "library": library,
        "version": version(library),
        "command": "python tests/references/make_dependence.py",
        "date": date.today().isoformat(),
        "values": meaning,
    }
    lines = ",\n".join(json.dumps(value, ensure_ascii=False) for value in values)
    path = FOLDER / f"{library}.json"
    text = f'{{"origin": {json.dumps(origin, ensure_ascii=False)},\n"values": [\n{lines}\n]}}\n'
    path.write_text(text, encoding="utf-8")
    print(f"{path}: {len(values)} values from {library} {origin['version']}")


def main() -> None:
    """Remake the three files."""
    warnings.simplefilter("ignore")  # of the other libraries
    save(
        "dcor",
        "dcor.distance_correlation and dcor.u_distance_correlation_sqr",
        from_dcor(),
    )
    save(
        "openturns",
        "HSICEstimatorGlobalSensitivity with HSICVStat (tr KHLH / n²) and HSICUStat; r2 is "
        "getR2HSICIndices of the former; one value per column of x",
        from_openturns(),
    )
    save(
        "hyppo",
        "hyppo.independence.Hsic on standardised columns: unbiased and biased statistic, p-values "
        f"of its chi-square approximation and of {REPETITIONS} permutations",
        from_hyppo(),
    )


if __name__ == "__main__":
    main()
