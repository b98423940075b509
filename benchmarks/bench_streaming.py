"""Tables that are read a part at a time: files against IncrementalPCA, Dask against memory.

* Moments for 10 components from a million rows and 100 columns in Parquet, against scikit-learn's
  IncrementalPCA reading the same chunks; memory above that of the loaded libraries.
* The same fit on a Dask cluster of two worker processes, against two threads in memory plus the
  time that reading takes.
* Time per row from a million rows on, with synthetic chunks that the workers make.

The answers must agree before anything is timed. ``--rows 1000000`` sets the size, ``--more`` adds
ten times as many synthetic rows.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from common import save, table

COLUMNS, COMPONENTS, GROUP = 100, 10, 50_000


def write(folder: Path, n_rows: int) -> None:
    """Files of 250,000 rows with numbers that do not compress."""
    rng = np.random.default_rng(0)
    names = [f"x{number}" for number in range(COLUMNS)]
    for number, start in enumerate(range(0, n_rows, 250_000)):
        X = rng.normal(size=(min(250_000, n_rows - start), COLUMNS)) * np.geomspace(
            1.0, 3.0, COLUMNS
        )
        y = X[:, :5].sum(axis=1) + rng.normal(size=len(X))
        columns = {**dict(zip(names, X.T, strict=True)), "y": y}
        path = folder / f"part-{number:03d}.parquet"
        pq.write_table(pa.table(columns), path, row_group_size=GROUP, compression="none")


class Clock:
    """Time on the wall and time of the processor, which other programs do not change much."""

    def __init__(self) -> None:
        self.wall, self.cpu = time.perf_counter(), time.process_time()

    def read(self) -> dict[str, float]:
        wall, cpu = time.perf_counter() - self.wall, time.process_time() - self.cpu
        return {"seconds": wall, "cpu": cpu}


def peak() -> float:
    """Largest resident memory of this process so far, in MB."""
    import resource

    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def streamed(folder: str) -> dict[str, Any]:
    from depmax import HSCA, scan

    warm = np.random.default_rng(0).normal(size=(2000, 5))
    HSCA(1, target_kernel="linear").fit(scan(warm, warm[:, 0]))
    before, clock = peak(), Clock()
    model = HSCA(COMPONENTS, target_kernel="linear", alpha=0).fit(scan(folder, target="y"))
    return {
        **clock.read(),
        "megabytes": peak() - before,
        "total": peak(),
        "components": model.components_[0].tolist(),
    }


def incremental(folder: str) -> dict[str, Any]:
    from sklearn.decomposition import IncrementalPCA

    before, clock = peak(), Clock()
    model = IncrementalPCA(COMPONENTS)
    for path in sorted(Path(folder).glob("*.parquet")):
        file = pq.ParquetFile(path)
        names = [name for name in file.schema_arrow.names if name != "y"]
        for group in range(file.num_row_groups):
            rows = file.read_row_group(group, columns=names)
            model.partial_fit(np.column_stack([column.to_numpy() for column in rows.columns]))
    return {
        **clock.read(),
        "megabytes": peak() - before,
        "total": peak(),
        "components": model.components_[0].tolist(),
    }


def reading(folder: str) -> dict[str, Any]:
    """Only decode the files."""
    clock = Clock()
    for path in sorted(Path(folder).glob("*.parquet")):
        file = pq.ParquetFile(path)
        for group in range(file.num_row_groups):
            file.read_row_group(group)
    return {**clock.read(), "megabytes": 0.0, "total": peak()}


def in_memory(folder: str) -> dict[str, Any]:
    from depmax import HSCA

    frame = pq.read_table(folder)
    y = frame.column("y").to_numpy()
    X = np.column_stack([c.to_numpy() for c in frame.drop_columns(["y"]).columns])
    HSCA(1, target_kernel="linear").fit(X[:2000], y[:2000])
    clock = Clock()
    model = HSCA(COMPONENTS, target_kernel="linear", alpha=0).fit(X, y)
    return {
        **clock.read(),
        "megabytes": 0.0,
        "total": peak(),
        "components": model.components_[0].tolist(),
    }


def on_dask(folder: str) -> dict[str, Any]:
    import dask.dataframe as dd
    import distributed

    from depmax import HSCA, scan

    with (
        distributed.LocalCluster(
            n_workers=2, threads_per_worker=1, processes=True, dashboard_address=None
        ) as cluster,
        distributed.Client(cluster),
    ):
        rows = dd.read_parquet(folder, split_row_groups=1)
        small = scan(dd.read_parquet(str(Path(folder) / "part-000.parquet")), target="y")
        HSCA(1, target_kernel="linear").fit(small)  # workers have loaded everything
        clock = Clock()
        model = HSCA(COMPONENTS, target_kernel="linear", alpha=0).fit(scan(rows, target="y"))
        return {
            **clock.read(),
            "megabytes": 0.0,
            "total": peak(),
            "components": model.components_[0].tolist(),
        }


def synthetic(n_rows: str) -> dict[str, Any]:
    """Rows that are made when they are read, the same in every visit."""
    from depmax import HSCA, scan

    pattern = np.random.default_rng(0).normal(size=(100_000, COLUMNS))
    answers = pattern[:, :5].sum(axis=1)
    count = int(n_rows) // len(pattern)
    clock = Clock()
    HSCA(COMPONENTS, target_kernel="linear", alpha=0).fit(
        scan(lambda: ((pattern, answers) for _ in range(count)))
    )
    return {**clock.read(), "megabytes": 0.0, "total": peak()}


PARTS = {
    part.__name__: part for part in (streamed, incremental, reading, in_memory, on_dask, synthetic)
}


def run(part: str, argument: str, threads: int) -> dict[str, Any]:
    """One part in a process of its own, so that memory is its own."""
    import json

    environment = {**os.environ}
    for name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS"):
        environment[name] = str(threads)
    done = subprocess.run(
        [sys.executable, __file__, "--part", part, "--argument", argument],
        check=True,
        capture_output=True,
        text=True,
        env=environment,
    )
    found: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return found


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--rows", type=int, default=1_000_000)
    parser.add_argument("--more", action="store_true")
    parser.add_argument("--part")
    parser.add_argument("--argument", default="")
    options = parser.parse_args()
    if options.part:
        import json

        print(json.dumps(PARTS[options.part](options.argument)))
        return
    with tempfile.TemporaryDirectory() as folder:
        write(Path(folder), options.rows)
        found = {
            name: run(name, folder, 2)
            for name in ("reading", "streamed", "incremental", "in_memory", "on_dask")
        }
    expected = np.array(found["in_memory"]["components"])
    for name in ("streamed", "on_dask"):
        np.testing.assert_allclose(found[name]["components"], expected, atol=1e-8)
    sizes = [options.rows, 3 * options.rows] + [10 * options.rows] * options.more
    per_row = {size: run("synthetic", str(size), 2)["seconds"] / size for size in sizes}
    table(
        ["what", "seconds", "CPU seconds", "MB of the fit", "MB in all"],
        [
            [name, *(f"{part[key]:.1f}" for key in ("seconds", "cpu", "megabytes", "total"))]
            for name, part in found.items()
        ],
    )
    bound = found["in_memory"]["seconds"] + found["reading"]["seconds"]
    results = {
        "rows": options.rows,
        "incremental over streamed": found["incremental"]["seconds"] / found["streamed"]["seconds"],
        "the same in CPU seconds": found["incremental"]["cpu"] / found["streamed"]["cpu"],
        "Dask over memory and reading": found["on_dask"]["seconds"] / bound,
        "microseconds per synthetic row": {str(n): 1e6 * each for n, each in per_row.items()},
        "parts": {
            name: {key: value for key, value in part.items() if key != "components"}
            for name, part in found.items()
        },
    }
    for name, value in results.items():
        if name != "parts":
            print(f"{name}: {value}")
    save("streaming", results, "dask", "distributed", "pyarrow")


if __name__ == "__main__":
    main()
