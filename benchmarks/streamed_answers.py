"""The same answers from files, chunks, threads and a cluster as from memory, on full real tables.

Every method that reads tables a chunk at a time is fitted to all of Covertype (581,012 x 54) and
MNIST (70,000 x 784) in memory and from each kind of source; the table has the largest difference,
relative to the largest number of the answer. Needs DEPMAX_DATA. Results are kept as they come:
a run that was interrupted goes on, ``--only covertype HSCA`` runs a part of the table.
"""

from __future__ import annotations

import argparse
import json
import time
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cache
from itertools import pairwise
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import common
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from sklearn.base import clone
from threadpoolctl import threadpool_limits

import depmax
from depmax import DependenceFilter, hsic, scan, screen
from depmax.maps import NystroemMap, RandomFourier

RESULTS = Path(__file__).parent / "results" / "streamed_answers.json"
#: Largest relative difference that rounding may make.
BAR = 1e-8
#: The same for scores of columns with more than 512 values, which are rounded (docs/scaling.md).
ROUNDED_BAR = 1e-3
MAP = NystroemMap(50, random_state=0)

Answer = dict[str, np.ndarray]


# --- methods: from X and y, or a scan of both, to arrays ------------------------------------------
def fitted(model: Any) -> Callable[[Any, Any, np.ndarray], Answer]:
    """Features of some rows, and what each depends on."""

    def run(X: Any, y: Any, some: np.ndarray) -> Answer:
        found = clone(model).fit(X, y)
        answer = {"features": found.transform(some)}
        if hasattr(found, "dependence_"):
            answer["dependence"] = np.asarray(found.dependence_)
        return answer

    return run


def scores(found: Any, n_values: np.ndarray) -> Answer:
    """Scores of columns, apart by whether they are rounded."""
    few = n_values <= 512
    values = np.asarray(found)
    answer = {"scores": values[few]}
    if not few.all():
        answer["rounded scores"] = values[~few]
    return answer


def screened(X: Any, y: Any, some: np.ndarray) -> Answer:
    return {"all": np.asarray(screen(X, y).scores)}


def filtered(X: Any, y: Any, some: np.ndarray) -> Answer:
    return {"all": np.asarray(DependenceFilter(10).fit(X, y).scores_)}


def measured(kernel: Any) -> Callable[[Any, Any, np.ndarray], Answer]:
    def run(X: Any, y: Any, some: np.ndarray) -> Answer:
        return {"hsic": np.array([hsic(X, y, kernel=kernel)])}

    return run


METHODS: dict[str, Callable[[Any, Any, np.ndarray], Answer]] = {
    "hsic linear": measured("linear"),
    "hsic mapped": measured(MAP),
    "screen": screened,
    "DependenceFilter": filtered,
    "HBFE": fitted(depmax.HBFE(2)),
    "HBFE biased": fitted(depmax.HBFE(2, unbiased=False)),
    "HBFE mapped": fitted(depmax.HBFE(2, kernel=MAP)),
    "HSCA": fitted(depmax.HSCA(2)),
    "HSCA unbiased": fitted(depmax.HSCA(2, unbiased=True)),
    "HSCA mapped": fitted(depmax.HSCA(2, kernel=MAP)),
    "KernelPLS": fitted(depmax.KernelPLS(2)),
    "KernelLDA": fitted(depmax.KernelLDA(2)),
    "SIR": fitted(depmax.SIR(2)),
    "PHD": fitted(depmax.PHD(2)),
    "LinearRegressionFeature": fitted(depmax.LinearRegressionFeature()),
    "NystroemMap": fitted(MAP),
    "RandomFourier": fitted(RandomFourier(50, random_state=0)),
}


# --- tables and their sources ---------------------------------------------------------------------
@cache
def table(name: str) -> tuple[np.ndarray, np.ndarray]:
    """X on one scale, and the classes."""
    from _external import load_external

    data = load_external(name)
    X = np.asarray(data.X, dtype=np.float64)
    spread = X.std(axis=0)
    return X / np.where(spread > 0, spread, 1.0), np.asarray(data.y)


def ends(n_rows: int) -> np.ndarray:
    """Ends of uneven parts, one of a single row."""
    shares = np.array([0.0, 0.11, 0.35, 0.36, 0.7, 1.0])
    return np.unique(np.concatenate([[1], (shares * n_rows).astype(int)]))


def shuffled_parts(n_rows: int) -> list[slice]:
    """Uneven parts in another order."""
    edges = ends(n_rows)
    parts = [slice(a, b) for a, b in pairwise(edges)]
    return [parts[place] for place in np.random.default_rng(1).permutation(len(parts))]


def write_files(X: np.ndarray, y: np.ndarray, folder: Path) -> None:
    """A Parquet folder of uneven files."""
    edges = ends(len(X))
    for number, (a, b) in enumerate(pairwise(edges)):
        columns = {f"x{j}": X[a:b, j] for j in range(X.shape[1])}
        rows = pa.table({**columns, "target": y[a:b]})
        pq.write_table(rows, folder / f"part-{number}.parquet", row_group_size=40_000)


class Sources:
    """A table in memory and as everything that it can be read from."""

    def __init__(self, name: str, folder: Path) -> None:
        self.X, self.y = table(name)
        self.folder = folder / name
        if not self.folder.exists():
            self.folder.mkdir(parents=True)
            write_files(self.X, self.y, self.folder)
        self.parts = shuffled_parts(len(self.X))

    @cache  # noqa: B019 -- there is one of these for each table
    def answer(self, method: str, kind: str) -> Answer:
        """What a method finds in the rows of one source."""
        some = self.X[:: max(1, len(self.X) // 1000)]
        return METHODS[method](*getattr(self, kind)(), some)

    def memory(self) -> tuple[Any, Any]:
        return self.X, self.y

    def files(self) -> tuple[Any, Any]:
        return scan(self.folder, target="target"), None

    def uneven(self) -> tuple[Any, Any]:
        edges = ends(len(self.X))
        pairs = list(pairwise(edges))
        return scan(lambda: ((self.X[a:b], self.y[a:b]) for a, b in pairs)), None

    def shuffled(self) -> tuple[Any, Any]:
        return scan(lambda: ((self.X[part], self.y[part]) for part in self.parts)), None

    def shuffled_memory(self) -> tuple[Any, Any]:
        """What ``shuffled`` is compared with: samples of rows depend on their order."""
        order = np.concatenate([np.arange(part.start, part.stop) for part in self.parts])
        return self.X[order], self.y[order]

    def threads(self) -> tuple[Any, Any]:
        return scan(self.X, self.y, rows_per_chunk=20_011), None

    def dask(self) -> tuple[Any, Any]:
        import dask.dataframe as dd

        return scan(dd.read_parquet(self.folder, split_row_groups=2), target="target"), None


KINDS = ("files", "uneven", "shuffled", "threads", "dask")


@contextmanager
def surroundings(kind: str) -> Iterator[None]:
    """Two threads for "threads", two worker processes for "dask"."""
    if kind == "threads":
        with threadpool_limits(2):
            yield
    elif kind == "dask":
        import distributed

        with (
            distributed.LocalCluster(
                n_workers=2, threads_per_worker=1, processes=True, dashboard_address=":0"
            ) as cluster,
            distributed.Client(cluster),
        ):
            yield
    else:
        yield


def difference(found: np.ndarray, expected: np.ndarray) -> float:
    """Largest difference, relative to the largest number."""
    scale = float(np.abs(expected).max()) or 1.0
    return float(np.abs(np.asarray(found) - expected).max()) / scale


def differences(method: str, found: Answer, expected: Answer, X: np.ndarray) -> dict[str, float]:
    """Of every part of an answer."""
    if "all" in expected:
        n_values = np.array([len(np.unique(X[:, j])) for j in range(X.shape[1])])
        found, expected = scores(found["all"], n_values), scores(expected["all"], n_values)
    return {part: difference(found[part], value) for part, value in expected.items()}


def worst(method: str, kind: str, sources: Sources) -> dict[str, float]:
    """Differences of one method between one source and memory."""
    in_memory = "shuffled_memory" if kind == "shuffled" else "memory"
    expected = sources.answer(method, in_memory)
    return differences(method, sources.answer(method, kind), expected, sources.X)


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--only", nargs="*", default=[], help="words that a line must contain")
    parser.add_argument("--kinds", nargs="*", default=list(KINDS[: common.sized(None, -1)]))
    parser.add_argument("--folder", type=Path, help="for the Parquet files; kept")
    options = common.parse(parser)
    warnings.simplefilter("ignore", depmax.ScaleWarning)  # columns as they are, on purpose
    common.require_data()
    known = not options.smoke and RESULTS.exists()
    results = json.loads(RESULTS.read_text()) if known else {}
    with TemporaryDirectory() as own:
        folder = options.folder or Path(own)
        for name in common.sized(("covertype", "mnist"), ("wdbc",)):
            chosen = [m for m in METHODS if all(w in f"{name} {m}" for w in options.only)]
            if not chosen:
                continue
            sources = Sources(name, folder)
            for kind in options.kinds:
                with surroundings(kind):
                    for method in chosen:
                        key = f"{name} | {method} | {kind}"
                        if key in results:
                            continue
                        started = time.perf_counter()
                        results[key] = worst(method, kind, sources)
                        seconds = time.perf_counter() - started
                        print(key, results[key], f"{seconds:.1f} s", flush=True)
                        if options.smoke:
                            continue
                        RESULTS.write_text(json.dumps(results, indent=1) + "\n")
    for key, found in results.items():
        for part, value in found.items():
            bar = ROUNDED_BAR if part == "rounded scores" else BAR
            if not value <= bar:
                print(f"ABOVE ITS BAR: {key}, {part}: {value:.2g}")


if __name__ == "__main__":
    main()
