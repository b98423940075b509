"""Tables that are read a part at a time: files against IncrementalPCA, Dask against memory.

Parts, each of which runs by itself in less than three minutes and adds to the results:

* ``files``: moments for 10 components from a million rows and 100 columns in four Parquet files as
  pyarrow writes them (snappy, dictionaries, one row group), against scikit-learn's IncrementalPCA
  reading chunks of 50,000 rows, with one thread and with two; reading alone, which is the limit;
  memory above that of the loaded libraries.
* ``grouped``: the same from files with row groups of 50,000 rows, not compressed.
* ``plain``: the same without dictionaries, too: numbers lie in the files as they do in memory.
* ``dask``: the fit of ``grouped`` by two worker processes, against two threads in memory plus
  reading, by pyarrow and by Dask.
* ``rows``: time per row from 10⁶ to 10⁸ rows of 10 columns, made by the workers, and memory.
* ``digits``: 10⁸ rows with a mean of 10⁶ keep ten digits.
* ``model``: the time that docs/scaling.md predicts from this machine's own rates,
  and what they take, at three sizes, with one thread.

``python bench_streaming.py files dask`` runs two of them, without a name all. Answers must agree
before anything is timed.
"""

from __future__ import annotations

import argparse
import json
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
from common import SMOKE, duration, load, parse, save, sized, table

COLUMNS, COMPONENTS, GROUP = 100, 10, 50_000
REPEATS = sized(3, 1)
#: How files are written: options of pyarrow's write_table.
WRITTEN: dict[str, dict[str, Any]] = {
    "default": {},
    "grouped": {"row_group_size": GROUP, "compression": "none"},
    "plain": {"row_group_size": GROUP, "compression": "none", "use_dictionary": False},
}


def write(folder: Path, n_rows: int, n_columns: int = COLUMNS, **options: Any) -> None:
    """Files of 250,000 rows with numbers that do not compress."""
    rng = np.random.default_rng(0)
    names = [f"x{number}" for number in range(n_columns)]
    scales = np.geomspace(1.0, 3.0, n_columns)
    for number, start in enumerate(range(0, n_rows, 250_000)):
        X = rng.normal(size=(min(250_000, n_rows - start), n_columns)) * scales
        y = X[:, :5].sum(axis=1) + rng.normal(size=len(X))
        columns = {**dict(zip(names, X.T, strict=True)), "y": y}
        pq.write_table(
            pa.table(columns),
            folder / f"part-{number:03d}.parquet",
            **options,
        )


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


def best(work: Any, repeats: int = REPEATS) -> tuple[Any, dict[str, float]]:
    """The result and the times of the fastest of some runs, memory of all of them."""
    before, times = peak(), []
    for _ in range(repeats):
        clock = Clock()
        result = work()
        times.append(clock.read())
    fastest = min(times, key=lambda one: one["seconds"])
    return result, {**fastest, "megabytes": peak() - before, "total": peak()}


def model() -> Any:
    from depmax import HSCA

    return HSCA(COMPONENTS, target_kernel="linear", alpha=0)


def warm() -> None:
    """Everything is loaded."""
    from depmax import HSCA, scan

    rows = np.random.default_rng(0).normal(size=(2000, 5))
    HSCA(1, target_kernel="linear").fit(scan(rows, rows[:, 0]))


def streamed(folder: str) -> dict[str, Any]:
    from depmax import scan

    warm()
    small = Path(folder) / "small"
    model().fit(scan(small, target="y"))  # the reader of files is loaded too
    found, times = best(lambda: model().fit(scan(Path(folder) / "large", target="y")))
    return {**times, "components": found.components_[0].tolist()}


def incremental(folder: str) -> dict[str, Any]:
    from sklearn.decomposition import IncrementalPCA

    def fit() -> Any:
        found = IncrementalPCA(COMPONENTS)
        for path in sorted((Path(folder) / "large").glob("*.parquet")):
            file = pq.ParquetFile(path)
            names = [name for name in file.schema_arrow.names if name != "y"]
            for rows in file.iter_batches(GROUP, columns=names):
                found.partial_fit(np.column_stack([column.to_numpy() for column in rows.columns]))
        return found

    return best(fit, repeats=1)[1]


def reading(folder: str) -> dict[str, Any]:
    """Only decode the files, as they are decoded for sums, in one thread or in two."""
    from depmax import scan

    return best(lambda: scan(Path(folder) / "large", target="y").total(counted))[1]


def counted(number: int, chunks: Any) -> int:
    """Rows of a piece, all of which are decoded for it."""
    return sum(chunk.n_rows for chunk in chunks)


def in_memory(folder: str) -> dict[str, Any]:
    frame = pq.read_table(Path(folder) / "large")
    y = frame.column("y").to_numpy()
    X = np.column_stack([c.to_numpy() for c in frame.drop_columns(["y"]).columns])
    model().fit(X[:2000], y[:2000])
    found, times = best(lambda: model().fit(X, y))
    return {**times, "components": found.components_[0].tolist()}


def on_dask(folder: str) -> dict[str, Any]:
    import dask.dataframe as dd
    import distributed

    from depmax import scan

    with (
        distributed.LocalCluster(
            n_workers=2, threads_per_worker=1, processes=True, dashboard_address=":0"
        ) as cluster,
        distributed.Client(cluster) as client,
    ):
        small = dd.read_parquet(Path(folder) / "small", split_row_groups=1)
        model().fit(scan(small, target="y"))  # workers have loaded everything
        rows = dd.read_parquet(Path(folder) / "large", split_row_groups=1)
        read = rows.map_partitions(touched, meta=(None, float))
        _, alone = best(read.compute, repeats=1)  # the scheduler would remember the answers
        before = sum(client.run(time.process_time).values())
        found, times = best(lambda: model().fit(scan(rows, target="y")))
        workers = sum(client.run(time.process_time).values()) - before
        times["cpu"] += workers / REPEATS
        times["reading by Dask"] = alone["seconds"]
        return {**times, "components": found.components_[0].tolist()}


def touched(frame: Any) -> float:
    """A number of a partition, which has been read whole for it."""
    return float(frame.to_numpy()[0, 0])


def made(block_info: Any = None, columns: int = 10, shift: float = 0.0) -> np.ndarray:
    """A chunk of rows that a worker makes, the same in every visit."""
    number = block_info[None]["chunk-location"][0]
    size = block_info[None]["chunk-shape"][0]
    rng = np.random.Generator(np.random.SFC64(number))
    return rng.standard_normal((size, columns)) + shift


def synthetic(n_rows: str) -> dict[str, Any]:
    """Rows that two worker processes make when they are visited."""
    import dask.array as da
    import distributed

    from depmax import HSCA

    size = 250_000
    chunks = ((size,) * (int(n_rows) // size), (10,))
    with (
        distributed.LocalCluster(
            n_workers=2, threads_per_worker=1, processes=True, dashboard_address=":0"
        ) as cluster,
        distributed.Client(cluster) as client,
    ):

        def fit(parts: Any) -> Any:
            X = da.map_blocks(made, chunks=parts, dtype=float)
            return HSCA(5, target_kernel="linear", alpha=0).fit(X, X[:, 0] + X[:, 1])

        fit(((size,) * 4, (10,)))
        _, times = best(lambda: fit(chunks), repeats=1)
        times["worker megabytes"] = max(client.run(peak).values())
        return times


def far(n_rows: str) -> dict[str, Any]:
    """Digits that rows far from zero keep, against the same rows near it.

    Shifts of 2²⁰ (about 10⁶) and of 0 round numbers with 20 binary digits in the same way, so that
    the difference is that of the sums alone.
    """
    from depmax import HBFE, scan

    n_chunks, size = int(n_rows) // 1_000_000, 1_000_000

    def chunks(shift: float) -> Any:
        def rows() -> Any:
            for number in range(n_chunks):
                rng = np.random.Generator(np.random.SFC64(number))
                X = np.round(rng.standard_normal((size, 2)) * 2**12) / 2**12
                yield X + shift, X[:, 0]

        return rows

    found = {}
    clock = Clock()
    for shift in (0.0, 2.0**20):
        fitted = HBFE(1, target_kernel="linear", unbiased=False).fit(scan(chunks(shift)))
        found[shift] = float(fitted.dependence_[0]), fitted.components_[0]
    near, away = found[0.0], found[2.0**20]
    error = abs(away[0] - near[0]) / abs(near[0])
    turned = float(np.abs(away[1] - near[1]).max())
    return {**clock.read(), "relative error": error, "components": turned}


def processor_seconds(call: Any, repeats: int) -> float:
    """Least processor time of some runs, which other programs do not change much."""
    times = []
    for _ in range(repeats):
        before = time.process_time()
        call()
        times.append(time.process_time() - before)
    return min(times)


def predicted(folder: str) -> dict[str, Any]:
    """Processor seconds by the model of docs/scaling.md and as measured, with one thread."""
    from depmax import HSCA, PHD, SIR, KernelPLS, hsic, scan
    from depmax.maps import NystroemMap

    path = Path(folder) / "large"
    parts = sorted(path.glob("*.parquet"))
    d, r, k = COLUMNS, 100, 5

    def rows(count: int) -> Any:
        return scan(parts[:count], target="y")

    def decode() -> None:
        rows(1).total(counted)

    decode()
    square, other = np.ones((2, 1000, 1000))
    flops = 2e9 / processor_seconds(lambda: square @ other, 5)
    second_per_number = processor_seconds(decode, 3) / (250_000 * d)
    # a number is looked at, measured from an origin and multiplied: about three copies
    block = np.ones((5000, d))
    copied = np.empty_like(block)
    copying = processor_seconds(lambda: np.subtract(block, 1.0, out=copied), 20)
    second_per_copy = copying / block.size
    each = second_per_number + 3 * second_per_copy
    linear = d * each + (d + 2) ** 2 / flops  # a symmetric product takes half of 2(D + E)²
    through_map = d * each + r * (2 * d + 2 * r) / flops + (r + 2) ** 2 / flops + r * 1e-8
    map_ = NystroemMap(r, random_state=0)
    options = {"target_kernel": "linear"}
    cases = {
        "HSCA": (linear, lambda x: HSCA(k, **options).fit(x)),
        "HSCA, unbiased": (k * linear, lambda x: HSCA(k, unbiased=True, **options).fit(x)),
        "KernelPLS": (linear, lambda x: KernelPLS(k).fit(x)),
        "SIR": (linear, lambda x: SIR(k).fit(x)),
        "PHD": (2 * linear, lambda x: PHD(k).fit(x)),
        "hsic, linear": (
            d * each + 2 * (d + 2) / flops,
            lambda x: hsic(x, kernel="linear", target_kernel="linear"),
        ),
        "HSCA through a map": (
            d * each + through_map,
            lambda x: HSCA(k, kernel=map_, **options).fit(x),
        ),
    }
    found: dict[str, Any] = {}
    for name, (per_row, call) in cases.items():
        for count in (1, 2, 4):
            table_ = rows(count)
            measured = processor_seconds(lambda call=call, table_=table_: call(table_), 1)
            size = 250_000 * count
            found[f"{name}, {size:,} rows"] = {
                "predicted": per_row * size,
                "measured": measured,
                "measured over predicted": measured / (per_row * size),
            }
    rates = {"flops": flops, "decode": 1 / second_per_number, "copy": 1 / second_per_copy}
    return {"rates": rates, "methods": found}


PARTS = {
    part.__name__: part
    for part in (streamed, incremental, reading, in_memory, on_dask, synthetic, far, predicted)
}


def run(part: str, argument: str, threads: int) -> dict[str, Any]:
    """One part in a process of its own, so that memory is its own."""
    environment = {**os.environ}
    for name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS"):
        environment[name] = str(threads)
    done = subprocess.run(
        [sys.executable, __file__, "--part", part, "--argument", argument, *["--smoke"] * SMOKE],
        check=False,
        capture_output=True,
        text=True,
        env=environment,
    )
    if done.returncode:
        raise SystemExit(f"{part} failed:\n{done.stderr}")
    found: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    print(f"{part}, {threads} threads: {duration(found.get('seconds', 0.0))}", flush=True)
    return found


def require_equal(found: dict[str, Any], expected: dict[str, Any]) -> None:
    left, right = np.array(found["components"]), np.array(expected["components"])
    np.testing.assert_allclose(left, right, atol=1e-8 * np.abs(right).max())


def files(folder: str) -> dict[str, Any]:
    """Files against IncrementalPCA, with one thread and with two."""
    expected = run("in_memory", folder, 2)
    found: dict[str, Any] = {}
    for threads in (1, 2):
        parts = {
            name: run(name, folder, threads) for name in ("reading", "streamed", "incremental")
        }
        require_equal(parts["streamed"], expected)
        ratio = parts["incremental"]["seconds"] / parts["streamed"]["seconds"]
        found[f"{threads} threads"] = {
            "incremental over streamed": ratio,
            "the same in processor time": parts["incremental"]["cpu"] / parts["streamed"]["cpu"],
            "streamed over reading": parts["streamed"]["seconds"] / parts["reading"]["seconds"],
            **{name: numbers(part) for name, part in parts.items()},
        }
    return found


def dask(folder: str) -> dict[str, Any]:
    """Two worker processes against two threads in memory plus reading."""
    parts = {"in memory": run("in_memory", folder, 2), "reading": run("reading", folder, 1)}
    parts["reading by two"] = run("reading", folder, 2)
    parts["Dask"] = run("on_dask", folder, 1)
    require_equal(parts["Dask"], parts["in memory"])
    seconds = {name: part["seconds"] for name, part in parts.items()}
    cpu = {name: part["cpu"] for name, part in parts.items()}
    return {
        "processor time over that of memory plus reading": cpu["Dask"]
        / (cpu["in memory"] + cpu["reading"]),
        "over memory plus reading": seconds["Dask"] / (seconds["in memory"] + seconds["reading"]),
        "over memory plus reading by two": seconds["Dask"]
        / (seconds["in memory"] + seconds["reading by two"]),
        "over memory plus reading by Dask": seconds["Dask"]
        / (seconds["in memory"] + parts["Dask"]["reading by Dask"]),
        **{name: numbers(part) for name, part in parts.items()},
    }


def rows(_: str) -> dict[str, Any]:
    """Time per row."""
    found = {}
    for size in sized((10**6, 10**7, 10**8), (250_000,)):
        part = run("synthetic", str(size), 1)
        found[f"{size:,} rows"] = {
            "microseconds per row": 1e6 * part["seconds"] / size,
            "megabytes of the largest worker": part["worker megabytes"],
        }
    return found


def digits(_: str) -> dict[str, Any]:
    """A mean of a million times the spread."""
    return run("far", str(sized(10**8, 10**6)), 2)


def model_of_cost(folder: str) -> dict[str, Any]:
    """Predicted against measured."""
    return run("predicted", folder, 1)


def numbers(part: dict[str, Any]) -> dict[str, float]:
    return {name: value for name, value in part.items() if name != "components"}


WHOLE = {"files": files, "grouped": files, "plain": files}
WHOLE |= {"dask": dask, "rows": rows, "digits": digits}
FOLDERS = {"files": "default", "dask": "grouped", "plain": "plain", "grouped": "grouped"}
WHOLE["model"] = model_of_cost


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("names", nargs="*", help=", ".join(WHOLE))
    parser.add_argument("--rows", type=int, default=sized(1_000_000, 20_000))
    parser.add_argument("--folder", type=Path, help="keep the files here for the next part")
    parser.add_argument("--part")
    parser.add_argument("--argument", default="")
    options = parse(parser)
    if options.part:
        print(json.dumps(PARTS[options.part](options.argument)))
        return
    with tempfile.TemporaryDirectory() as own:
        base = options.folder or Path(own)
        for name in options.names or sized(list(WHOLE), ["files", "model"]):
            kind = FOLDERS.get(name, "default")
            folder = base / kind
            for part, size in (("small", 4000), ("large", options.rows)):
                if name not in ("rows", "digits") and not (folder / part).exists():
                    (folder / part).mkdir(parents=True)
                    write(folder / part, size, **WRITTEN[kind])
            found = WHOLE[name](str(folder))
            known = load("streaming") or {}
            results = {part: known[part] for part in WHOLE if part in known} | {name: found}
            save("streaming", results, "dask", "distributed", "pyarrow")
            show(name, found)


def show(name: str, found: dict[str, Any]) -> None:
    """Ratios of a part, then a table of what was measured with a line for each run."""
    print(f"\n{name}")
    lines: dict[str, dict[str, float]] = {}

    def collect(path: str, part: dict[str, Any]) -> None:
        for key, value in part.items():
            if isinstance(value, dict):
                collect(f"{path}, {key}" if path else key, value)
            else:
                lines.setdefault(path, {})[key] = value

    collect("", found)
    for key, value in lines.pop("", {}).items():
        print(f"  {key}: {value:.3g}")
    heads = list(dict.fromkeys(key for line in lines.values() for key in line))
    cells = [
        [path, *(f"{line[key]:.3g}" if key in line else "" for key in heads)]
        for path, line in lines.items()
    ]
    if lines:
        table(["", *heads], cells)


if __name__ == "__main__":
    main()
