"""Cross-validation of partial least squares, beside scikit-learn and ikpls: time and same answer.

    python benchmarks/bench_pls.py          # writes results/pls.json
    python benchmarks/bench_pls.py --smoke  # small tables, nothing written
    DEPMAX_DATA=... python benchmarks/bench_pls.py --spectra  # writes results/pls_spectra.json

Ten folds of 30 components at 10,000 x 500, CPU seconds on one core, the best of three calls, in
turn. scikit-learn's ``cross_validate`` fits one number of components; the others give the errors
of 1, 2, …, 30. Errors are compared before anything is timed.

Where DEPMAX_DATA names a folder with spectra that do not come with depmax, also RMSECV of 1 to 10
components beside scikit-learn's, in the same ten folds, raw and as standard normal variates;
``--spectra`` does this only.
"""

from __future__ import annotations

import argparse
import importlib.util
import os
import time
from collections.abc import Callable

os.environ.setdefault("OMP_NUM_THREADS", "1")
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import common
import numpy as np
from _external import load_external
from sklearn.cross_decomposition import PLSRegression
from sklearn.model_selection import KFold, cross_validate

from depmax import KernelPLS

#: Spectra that do not come with depmax.
SPECTRA = ("gasoline_nir", "wine_ir", "orange_juice_nir", "cookie_nir", "yarn_nir")


def spectra(n_rows: int, n_columns: int) -> tuple[np.ndarray, np.ndarray]:
    """Mixtures of forty smooth spectra with noise, and the amount of one substance."""
    rng = np.random.default_rng(0)
    amounts = rng.normal(size=(n_rows, 40))
    smooth = np.cumsum(rng.normal(size=(40, n_columns)), axis=1) / np.sqrt(n_columns)
    X = amounts @ smooth + 0.05 * rng.normal(size=(n_rows, n_columns))
    return X, amounts[:, 0] + 0.1 * rng.normal(size=n_rows)


def of_sklearn(X: np.ndarray, y: np.ndarray, count: int, folds: KFold) -> np.ndarray:
    """RMSECV of one number of components."""
    model = PLSRegression(count, scale=False)
    found = cross_validate(model, X, y, cv=folds, scoring="neg_mean_squared_error")
    sizes = [len(test) for _, test in folds.split(X)]
    return np.sqrt([np.average(-found["test_score"], weights=sizes)])


def of_ikpls(X: np.ndarray, y: np.ndarray, count: int, folds: KFold) -> np.ndarray:
    """RMSECV of every number of components, by ikpls's fast cross-validation."""
    from ikpls.fast_cross_validation.numpy import PLS

    labels = np.empty(len(y), dtype=int)
    for number, (_, test) in enumerate(folds.split(X)):
        labels[test] = number
    model = PLS(algorithm=2, scale_X=False, scale_Y=False)

    def press(truth: np.ndarray, predicted: np.ndarray) -> np.ndarray:
        return np.square(predicted - truth).sum(axis=(1, 2))

    found = model.cross_validate(X, y, count, labels.tolist(), press, n_jobs=1, verbose=0)
    return np.sqrt(np.sum(list(found.values()), axis=0) / len(y))


def of_depmax(X: np.ndarray, y: np.ndarray, count: int, folds: KFold) -> np.ndarray:
    """RMSECV of every number of components."""
    return KernelPLS().cross_validate(X, y, n_components=count, cv=folds).errors


def standardised_rows(X: np.ndarray) -> np.ndarray:
    """Standard normal variates: every spectrum with mean 0 and variance 1."""
    return (X - X.mean(axis=1, keepdims=True)) / X.std(axis=1, ddof=1, keepdims=True)


def errors_of_real_spectra() -> list[dict[str, object]]:
    """RMSECV of 1, 2, …, 10 components on real spectra, ours and scikit-learn's."""
    found: list[dict[str, object]] = []
    folds, counts = KFold(10, shuffle=True, random_state=0), range(1, 11)
    for name in common.sized(SPECTRA, SPECTRA[:1]):
        data = load_external(name)
        X = np.asarray(data.X, dtype=float)
        Y = np.asarray(data.y, dtype=float).reshape(len(X), -1)
        targets = np.atleast_1d(data.target_name)
        for column, target in enumerate(targets):
            y = Y[:, column]
            for prepared, rows in (("raw", X), ("SNV", standardised_rows(X))):
                ours = of_depmax(rows, y, max(counts), folds)
                theirs = np.concatenate([of_sklearn(rows, y, k, folds) for k in counts])
                label = f"{name} {target}" if len(targets) > 1 else name
                found.append({"data": label, "prepared": prepared, "ours": ours, "theirs": theirs})
    return found


def compare_on_real_spectra() -> None:
    """Print the least errors, and the largest relative difference over all numbers."""
    found, rows, largest = errors_of_real_spectra(), [], 0.0
    for each in found:
        ours, theirs = np.asarray(each["ours"]), np.asarray(each["theirs"])
        apart, best = float(np.abs(ours / theirs - 1.0).max()), int(ours.argmin())
        largest = max(largest, apart)
        errors = [f"{ours[best]:.4g}", f"{theirs[best]:.4g}"]
        rows.append([each["data"], each["prepared"], best + 1, *errors, f"{apart:.0e}"])
    head = ["", "spectra", "components", "depmax", "scikit-learn", "largest difference"]
    common.table(head, rows)
    bars = {"largest relative difference": common.at_most(largest, 0.02)}
    common.report_bars(bars)
    common.save("pls_spectra", {"rmsecv": found, "bars": bars})


def seconds_in_turn(calls: dict[str, Callable[[], object]], repeats: int) -> dict[str, float]:
    """Least CPU seconds of every call, one after the other, several times."""
    best = dict.fromkeys(calls, np.inf)
    for _ in range(repeats):
        for name, call in calls.items():
            start = time.process_time()
            call()
            best[name] = min(best[name], time.process_time() - start)
    return best


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--spectra", action="store_true", help="real spectra only")
    options = common.parse(parser)
    if options.spectra:
        common.require_data()
    if options.spectra or os.environ.get("DEPMAX_DATA"):
        compare_on_real_spectra()
    if options.spectra:
        return
    size, count = ((400, 60), 8) if options.smoke else ((10_000, 500), 30)
    X, y = spectra(*size)
    folds = KFold(10, shuffle=True, random_state=0)
    methods = {"depmax": of_depmax, "scikit-learn": of_sklearn, "ikpls": of_ikpls}
    if importlib.util.find_spec("ikpls") is None:
        print("ikpls is not installed and left out.")
        del methods["ikpls"]
    ours = of_depmax(X, y, count, folds)
    for name, method in methods.items():
        errors = method(X, y, count, folds)
        np.testing.assert_allclose(errors, ours[-len(errors) :], rtol=1e-6)
        print(f"{name}: RMSECV of {count} components {errors[-1]:.6f}")
    calls = {
        name: lambda method=method: method(X, y, count, folds) for name, method in methods.items()
    }
    taken = seconds_in_turn(calls, 1 if options.smoke else 3)
    rows = [
        [name, common.duration(taken[name]), f"{taken[name] / taken['depmax']:.3g}"]
        for name in methods
    ]
    common.table(["", "CPU", "times depmax"], rows)
    if options.smoke:
        return
    bars = {"scikit-learn, times": common.at_least(taken["scikit-learn"] / taken["depmax"], 3.0)}
    if "ikpls" in taken:
        bars["ikpls, times"] = common.at_least(taken["ikpls"] / taken["depmax"], 1.0)
    common.report_bars(bars)
    common.save("pls", {"seconds": taken, "bars": bars}, "ikpls")


if __name__ == "__main__":
    main()
