"""Features by deflation: partial least squares beside ikpls and scikit-learn, SMA and SMC.

Linear PLS is compared with ikpls in its default form (algorithm 1) and with its algorithm 2, which
like depmax works on cross-products; both centre and do not scale. Kernel PLS on a map of landmarks
is compared with scikit-learn's Nystroem and PLSRegression with the same bandwidth, by time and by
R² on rows that neither has seen.

The limit of SMA and SMC is the cost of the kernel columns that they look at: as many calls of the
kernel on all rows and 500 candidates as there are features.
"""

from __future__ import annotations

import argparse
import warnings
from typing import Any

import common
import numpy as np
from sklearn.cross_decomposition import PLSRegression
from sklearn.kernel_approximation import Nystroem
from sklearn.metrics import r2_score
from sklearn.pipeline import make_pipeline

from depmax import SMA, SMC, KernelPLS
from depmax.kernels import Gaussian
from depmax.maps import NystroemMap

common.require("ikpls")
from ikpls.numpy import PLS  # noqa: E402  (after it is known to be there)

COMPONENTS = 10
LANDMARKS = 500
CANDIDATES = 500
#: Features for which two numbers of rows are compared.
FEW = 10


def linear_sample(n_rows: int, n_columns: int) -> tuple[np.ndarray, np.ndarray]:
    """Columns of falling variance, and a target of many of them with noise."""
    rng = np.random.default_rng(0)
    scales = 1.0 / np.sqrt(np.arange(1, n_columns + 1))
    X = rng.normal(size=(n_rows, n_columns)) * scales + rng.normal(size=n_columns)
    y = X @ rng.normal(size=n_columns) + rng.normal(size=n_rows)
    return X, y


def nonlinear_sample(n_rows: int, n_columns: int) -> tuple[np.ndarray, np.ndarray]:
    """A target of three columns, none of them linear."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n_rows, n_columns))
    y = np.sin(2 * X[:, 0]) + X[:, 1] * X[:, 2] + 0.1 * rng.normal(size=n_rows)
    return X, y


def time_linear(n_rows: int, n_columns: int) -> dict[str, Any]:
    """Seconds of a fit with 10 components; predictions are compared first."""
    X, y = linear_sample(n_rows, n_columns)
    column = y[:, np.newaxis]

    def peer(algorithm: int) -> PLS:
        return PLS(algorithm=algorithm, scale_X=False, scale_Y=False).fit(X, column, COMPONENTS)

    ours = KernelPLS(COMPONENTS).fit(X, y).predict(X[:1000])
    theirs = np.ravel(peer(1).predict(X[:1000], COMPONENTS))
    difference = float(np.abs(ours - theirs).max() / np.abs(theirs).max())
    assert difference < 1e-8, difference
    print(f"predictions of depmax and ikpls differ by {difference:.0e}")
    return {
        "n_rows": n_rows,
        "n_columns": n_columns,
        "difference": difference,
        "depmax": common.best_seconds(lambda: KernelPLS(COMPONENTS).fit(X, y), 21),
        "ikpls_1": common.best_seconds(lambda: peer(1), 21),
        "ikpls_2": common.best_seconds(lambda: peer(2), 21),
        "scikit-learn": common.best_seconds(
            lambda: PLSRegression(COMPONENTS, scale=False).fit(X, y), 3
        ),
        "cross_product": common.best_seconds(lambda: X.T @ X, 21),
    }


def time_landmarks(n_rows: int, n_columns: int) -> dict[str, Any]:
    """Seconds of kernel PLS on 500 landmarks, and R² on new rows."""
    X, y = nonlinear_sample(n_rows + 5000, n_columns)
    rows, new, target, truth = X[:n_rows], X[n_rows:], y[:n_rows], y[n_rows:]
    bandwidth = float(np.sqrt(n_columns))
    landmarks = NystroemMap(LANDMARKS, kernel=Gaussian(bandwidth), random_state=0)
    ours = KernelPLS(COMPONENTS, kernel=landmarks)
    theirs = make_pipeline(
        Nystroem(gamma=0.5 / bandwidth**2, n_components=LANDMARKS, random_state=0),
        PLSRegression(COMPONENTS),
    )
    unscaled = make_pipeline(theirs[0], PLSRegression(COMPONENTS, scale=False))
    return {
        "n_rows": n_rows,
        "n_columns": n_columns,
        "depmax": common.best_seconds(lambda: ours.fit(rows, target), 15),
        "scikit-learn": common.best_seconds(lambda: theirs.fit(rows, target), 3),
        "r2_depmax": r2_score(truth, ours.predict(new)),
        "r2_scikit-learn": r2_score(truth, theirs.predict(new)),
        "r2_scikit-learn_unscaled": r2_score(truth, unscaled.fit(rows, target).predict(new)),
    }


def time_columns(n_rows: int, n_columns: int, n_features: int, kernel: Any) -> float:
    """Seconds for the kernel columns of all candidates, computed in blocks that stay in cache."""
    X, _ = nonlinear_sample(n_rows, n_columns)
    rng = np.random.default_rng(0)

    def evaluate() -> None:
        for _ in range(n_features):
            candidates = X[rng.choice(n_rows, CANDIDATES, replace=False)]
            for start in range(0, n_rows, 2**18 // CANDIDATES):
                block = slice(start, start + 2**18 // CANDIDATES)
                kernel(X[block], candidates)

    return common.best_seconds(evaluate, 1)


def time_sparse(n_rows: int, n_columns: int, n_features: int) -> dict[str, Any]:
    """Seconds of SMA and SMC, and of the columns that they look at."""
    kernel = Gaussian(float(np.sqrt(n_columns)))
    results: dict[str, Any] = {"n_rows": n_rows, "n_columns": n_columns, "n_features": n_features}
    results["columns"] = time_columns(n_rows, n_columns, n_features, kernel)
    X, y = nonlinear_sample(n_rows, n_columns)
    for method in (SMA, SMC):
        model = method(n_features, kernel=kernel, n_candidates=CANDIDATES, random_state=0)
        seconds = common.best_seconds(lambda model=model: model.fit(X, y), 1)
        results[method.__name__] = seconds
    new, _ = nonlinear_sample(20_000, n_columns)
    basis = X[model.basis_indices_]
    results["projection"] = common.best_seconds(lambda: model.transform(new))
    results["projection_columns"] = common.best_seconds(lambda: kernel(new, basis))
    return results


def time_growth(n_rows: int, n_columns: int) -> dict[str, Any]:
    """Seconds of a few features of SMA and SMC, the better of two fits, for two numbers of rows."""
    kernel = Gaussian(float(np.sqrt(n_columns)))
    results: dict[str, Any] = {"n_rows": n_rows, "n_columns": n_columns, "n_features": FEW}
    for method in (SMA, SMC):
        for share, count in (("", n_rows), ("_half", n_rows // 2)):
            X, y = nonlinear_sample(count, n_columns)
            model = method(FEW, kernel=kernel, n_candidates=CANDIDATES, random_state=0)
            seconds = common.best_seconds(lambda model=model, X=X, y=y: model.fit(X, y), 2)
            results[method.__name__ + share] = seconds
    return results


def show_linear(linear: dict[str, Any]) -> dict[str, Any]:
    """Print the times of linear PLS; bars."""
    names = {
        "depmax": "depmax.KernelPLS",
        "ikpls_1": "ikpls",
        "ikpls_2": "ikpls, algorithm 2",
        "scikit-learn": "PLSRegression",
        "cross_product": "(XᵀX alone)",
    }
    common.table(
        [f"PLS, {linear['n_rows']:,} × {linear['n_columns']}", "time", "times depmax"],
        [
            [name, common.duration(linear[key]), f"{linear[key] / linear['depmax']:.3g}"]
            for key, name in names.items()
        ],
    )
    return {
        "linear PLS against ikpls": common.at_least(linear["ikpls_1"] / linear["depmax"], 2),
        "linear PLS against ikpls, algorithm 2": common.at_least(
            linear["ikpls_2"] / linear["depmax"], 2
        ),
    }


def show_landmarks(landmarks: dict[str, Any]) -> dict[str, Any]:
    """Print the times of kernel PLS on landmarks; bars."""
    size = f"{landmarks['n_rows']:,} × {landmarks['n_columns']}"
    common.table(
        [f"kernel PLS, {size}, {LANDMARKS} landmarks", "time", "R² of new rows"],
        [
            [key, common.duration(landmarks[key]), f"{landmarks['r2_' + key]:.4f}"]
            for key in ("depmax", "scikit-learn")
        ],
    )
    return {
        "kernel PLS against Nystroem and PLSRegression": common.at_least(
            landmarks["scikit-learn"] / landmarks["depmax"], 8, 15
        ),
        "R² of kernel PLS above scikit-learn's": common.at_least(
            landmarks["r2_depmax"] - landmarks["r2_scikit-learn_unscaled"], -1e-3
        ),
    }


def show_sparse(sparse: dict[str, Any]) -> dict[str, Any]:
    """Print the times of SMA and SMC; bars."""
    size = f"{sparse['n_rows']:,} × {sparse['n_columns']}"
    common.table(
        [f"{size}, {sparse['n_features']} features", "time", "times columns"],
        [
            [key, common.duration(sparse[key]), f"{sparse[key] / sparse['columns']:.3g}"]
            for key in ("columns", "SMA", "SMC")
        ],
    )
    return {
        "SMA, times the cost of its columns": common.at_most(sparse["SMA"] / sparse["columns"], 3),
        "SMC, times the cost of its columns": common.at_most(sparse["SMC"] / sparse["columns"], 3),
        "projection, times its kernel values": common.at_most(
            sparse["projection"] / sparse["projection_columns"], 3
        ),
    }


def show_growth(growth: dict[str, Any]) -> dict[str, Any]:
    """Print the times for two numbers of rows; bars."""
    half, whole = growth["n_rows"] // 2, growth["n_rows"]
    common.table(
        [f"{growth['n_features']} features", f"{half:,} rows", f"{whole:,} rows"],
        [
            [name, common.duration(growth[f"{name}_half"]), common.duration(growth[name])]
            for name in ("SMA", "SMC")
        ],
    )
    return {
        f"{name}, time for twice the rows": common.at_most(
            growth[name] / growth[f"{name}_half"], 2.3
        )
        for name in ("SMA", "SMC")
    }


SHOW = {
    "linear": show_linear,
    "landmarks": show_landmarks,
    "sparse": show_sparse,
    "growth": show_growth,
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rows", type=int, default=common.sized(100_000, 2000))
    parser.add_argument("--map-rows", type=int, default=common.sized(50_000, 2000))
    parser.add_argument(
        "--features", type=int, default=common.sized(50, 5), help="features of SMA and SMC"
    )
    parser.add_argument(
        "--parts", nargs="+", choices=list(SHOW), default=list(SHOW), help="the others are kept"
    )
    parser.add_argument("--no-save", action="store_true", help="only print")
    options = common.parse(parser)
    # peers' own use of interfaces that their dependencies announce to change
    warnings.filterwarnings("ignore", category=FutureWarning)
    measure = {
        "linear": lambda: time_linear(options.rows, 100),
        "landmarks": lambda: time_landmarks(options.map_rows, 50),
        "sparse": lambda: time_sparse(options.rows, 20, options.features),
        "growth": lambda: time_growth(options.rows, 20),
    }
    results: dict[str, Any] = {"rates": common.machine()}
    bars: dict[str, dict[str, Any]] = {}
    kept = common.load("deflation") or {}
    for part, show in SHOW.items():
        if part in options.parts:
            results[part] = measure[part]()
        elif part in kept:
            results[part] = kept[part]
        else:
            continue
        print()
        bars |= show(results[part])
    print()
    common.report_bars(bars)
    if not options.no_save:
        common.save("deflation", {**results, "bars": bars}, "ikpls")


if __name__ == "__main__":
    main()
