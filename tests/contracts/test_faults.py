"""Faults of the world around: full disks, two writers, kills, threads, forks, many repetitions.

Private modules: faults are put into the functions that write files for all packages.
"""

from __future__ import annotations

import json
import multiprocessing
import os
import resource
import signal
import subprocess
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import joblib
import numpy as np
import pytest

import depmax
from depmax import BAHSIC, HSCA, hsic_test, load_model, save_model
from depmax._files import forget_unfinished, replacing
from depmax.kernels import Gaussian
from depmax.persistence import inspect

ENVIRONMENT = os.environ | {"PYTHONPATH": str(Path(depmax.__file__).parents[1])}
rng = np.random.default_rng(0)
X = rng.normal(size=(60, 5))
y = (X[:, 0] * X[:, 1] > 0).astype(int)


def _answer(seed: int = 0) -> np.ndarray:
    """Numbers of a search, an extractor and a test."""
    selector = BAHSIC(2).fit(X, y)
    features = HSCA(2, kernel=Gaussian(1.0)).fit_transform(X, y)
    test = hsic_test(X, y, n_permutations=99, random_state=seed)
    return np.concatenate([selector.scores_, features.ravel(), [test.statistic, test.pvalue]])


# --- files
def _limited(code: str, folder: Path, n_bytes: int) -> subprocess.CompletedProcess[str]:
    """Run a script that can write so many bytes to a file, as on a disk that is full."""

    def limit() -> None:
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        resource.setrlimit(resource.RLIMIT_FSIZE, (n_bytes, n_bytes))

    return subprocess.run(
        [sys.executable, "-B", "-c", code],
        capture_output=True,
        text=True,
        cwd=folder,
        env=ENVIRONMENT,
        preexec_fn=limit,
    )


def test_a_full_disk_leaves_the_old_file(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("old")
    code = (
        "import sys, polars as pl; sys.argv = ['depmax'];"
        "from depmax.cli.writing import open_writer; from pathlib import Path\n"
        "for suffix in ('csv', 'parquet', 'arrow'):\n"
        "    try:\n"
        "        with open_writer(Path(f'a.{suffix}')) as writer:\n"
        "            writer.add(pl.DataFrame({'x': range(90_000)}).sample(90_000, shuffle=True))\n"
        "    except Exception as error:\n"
        "        print(type(error).__name__, error)\n"
    )
    told = _limited(code, tmp_path, 50_000)
    lines = told.stdout.splitlines()
    assert len(lines) == 3, told.stderr
    assert all(line.startswith("OutputError Cannot write a.") for line in lines), lines
    assert (tmp_path / "a.csv").read_text() == "old"
    assert os.listdir(tmp_path) == ["a.csv"]


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write anywhere")
def test_a_folder_that_is_read_only(tmp_path: Path) -> None:
    tmp_path.chmod(0o500)
    with pytest.raises(PermissionError, match="cannot be written to"):
        save_model(Gaussian(), tmp_path / "m.skops")


def test_two_writers_leave_one_whole_file(tmp_path: Path) -> None:
    path = tmp_path / "m.skops"
    together = threading.Barrier(2)

    def write(width: float) -> None:
        for _ in range(3):
            together.wait()
            save_model(Gaussian(width), path)

    with ThreadPoolExecutor(2) as pool:
        list(pool.map(write, (1.0, 2.0)))
    assert load_model(path).bandwidth in (1.0, 2.0)
    assert os.listdir(tmp_path) == ["m.skops"]


@pytest.mark.parametrize("killed_by", [signal.SIGTERM, signal.SIGKILL])
def test_a_kill_while_writing_leaves_the_old_file(tmp_path: Path, killed_by: int) -> None:
    """What it leaves beside the file is removed by the next one who writes there."""
    (tmp_path / "a.txt").write_text("old")
    code = (
        "import time\nfrom depmax._files import replacing\n"
        "with replacing('a.txt') as temporary:\n"
        "    temporary.write_text('half')\n    print('writing', flush=True)\n    time.sleep(60)\n"
    )
    process = subprocess.Popen(
        [sys.executable, "-c", code], stdout=subprocess.PIPE, cwd=tmp_path, env=ENVIRONMENT
    )
    assert process.stdout is not None
    assert process.stdout.readline() == b"writing\n"
    (left,) = tmp_path.glob(".a.txt.*.part")
    os.utime(left, (time.time() - 3600,) * 2)
    with replacing(tmp_path / "a.txt") as temporary:  # the other is alive: its file stays
        temporary.write_text("new")
    assert left.exists()
    process.send_signal(killed_by)
    process.wait()
    process.stdout.close()
    assert (tmp_path / "a.txt").read_text() == "new"
    with replacing(tmp_path / "a.txt") as temporary:
        temporary.write_text("newer")
    assert os.listdir(tmp_path) == ["a.txt"]


def test_a_young_file_of_somebody_else_stays(tmp_path: Path) -> None:
    young, other = tmp_path / ".a.txt.x.part", tmp_path / ".b.txt.x.part"
    young.touch()
    other.touch()
    os.utime(other, (0, 0))
    with replacing(tmp_path / "a.txt") as temporary:
        temporary.write_text("x")
    assert young.exists()
    assert other.exists()


def test_leaving_at_once_removes_what_is_unfinished(tmp_path: Path) -> None:
    def leave() -> None:
        with replacing(tmp_path / "a.txt"):
            forget_unfinished()
            assert not list(tmp_path.iterdir())
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        leave()


# --- threads and processes
def test_threads_compute_what_one_does() -> None:
    expected = _answer()
    with ThreadPoolExecutor(4) as pool:
        for found in pool.map(_answer, [0] * 8):
            np.testing.assert_array_equal(found, expected)


@pytest.mark.skipif("fork" not in multiprocessing.get_all_start_methods(), reason="no fork here")
# Python and libraries with threads advise against fork; users fork all the same
@pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
@pytest.mark.filterwarnings("ignore:.*fork.*:RuntimeWarning")
def test_a_fork_computes_what_its_parent_does() -> None:
    expected = _answer()  # the parent has used its threads
    with multiprocessing.get_context("fork").Pool(2) as pool:
        for found in pool.map_async(_answer, [0, 0]).get(timeout=120):
            np.testing.assert_array_equal(found, expected)


def test_joblib_workers_compute_what_one_does() -> None:
    model: Any = HSCA(2, kernel=Gaussian(1.0))
    expected = model.fit_transform(X, y)
    fits = (joblib.delayed(type(model).fit_transform)(model, X, y) for _ in range(3))
    for found in joblib.Parallel(n_jobs=2, backend="loky")(fits):
        np.testing.assert_allclose(found, expected, rtol=1e-10, atol=1e-12)


def test_many_fits_do_not_grow(tmp_path: Path) -> None:
    """Twelve times as many fits, tests and files take no more memory."""
    if not Path("/proc/self/statm").exists():
        pytest.skip("resident memory is read as Linux tells it")

    def repeat(times: int) -> int:
        for _ in range(times):
            BAHSIC(2).fit(X, y)
            model = HSCA(1).fit(X, y)
            hsic_test(X, y, n_permutations=19, random_state=0)
        save_model(model, tmp_path / "m.skops")
        inspect(tmp_path / "m.skops")
        pages = int(Path("/proc/self/statm").read_text().split()[1])
        return pages * resource.getpagesize()

    before = repeat(5)
    assert repeat(60) - before < 20 * 2**20


# --- imports
def test_importing_draws_no_random_numbers_of_its_own() -> None:
    """scikit-learn imports rich where it is installed, which draws some; depmax adds none."""
    code = (
        "import random, sklearn.base, sklearn.callback, numpy as np\n"
        "before = random.getstate(), np.random.get_state()[1].tolist()\n"
        "import depmax, depmax.extraction, depmax.selection, depmax.evaluation, depmax.maps\n"
        "assert (random.getstate(), np.random.get_state()[1].tolist()) == before\n"
    )
    if not _has_callbacks():
        code = code.replace(", sklearn.callback", "")
    subprocess.run([sys.executable, "-c", code], check=True, env=ENVIRONMENT)


def _has_callbacks() -> bool:
    from importlib.util import find_spec

    return find_spec("sklearn.callback") is not None


def test_importing_depmax_is_fast_and_loads_no_library() -> None:
    code = (
        "import sys, depmax\n"
        "print([name for name in ('numpy', 'scipy', 'sklearn', 'numba') if name in sys.modules])\n"
        "print(depmax.kernels.__name__, depmax.hsic.__name__)"
    )
    told = subprocess.run(
        [sys.executable, "-c", code], check=True, env=ENVIRONMENT, capture_output=True, text=True
    )
    assert told.stdout.splitlines() == ["[]", "depmax.kernels hsic"]


# --- the same again
SEEDED = """
import hashlib, inspect, json, sys, warnings
import numpy as np
from depmax import dependence, extraction, maps, selection

# whatever is said, the numbers must be the same
warnings.simplefilter("ignore")
rng = np.random.default_rng(0)
X = rng.normal(size=(60, 5))
y = (X[:, 0] * X[:, 1] > 0).astype(int)
found = {}


def digest(values):
    return hashlib.sha256(np.ascontiguousarray(values, dtype=np.float64).tobytes()).hexdigest()


for package in (selection, extraction, maps):
    for name in package.__all__:
        part = getattr(package, name)
        parameters = inspect.signature(part).parameters if hasattr(part, "fit") else {}
        if next(iter(parameters), "") not in ("n_features_to_select", "n_components"):
            continue
        for seed in (0, 1) if "random_state" in parameters else (None,):
            model = part(2, **({} if seed is None else {"random_state": seed}))
            rows = model.fit(X, y).transform(X)
            found[f"{name} {seed}"] = digest(rows)
            if hasattr(model, "scores_"):
                found[f"{name} {seed} scores"] = digest(model.scores_)
for name in ("alignment", "coco", "distance_correlation", "hsic", "hsic_variance"):
    found[name] = digest(getattr(dependence, name)(X, y))
for method in ("aggregate", "permutation", "gamma"):
    for seed in (0, 1):
        told = dependence.hsic_test(X, y, method=method, n_permutations=99, random_state=seed)
        found[f"hsic_test {method} {seed}"] = digest([told.statistic, told.pvalue])
found["screen"] = digest(dependence.screen(X, y).pvalues)
print(json.dumps(found))
"""


def test_seeded_outputs_are_the_same_bits_in_every_process() -> None:
    """Whatever order sets have there, and whatever was drawn before."""
    told = []
    for seed, before in (
        ("1", ""),
        ("2", "import random, numpy; random.seed(9); numpy.random.seed(9)"),
    ):
        environment = ENVIRONMENT | {"PYTHONHASHSEED": seed}
        done = subprocess.run(
            [sys.executable, "-c", before + SEEDED],
            env=environment,
            capture_output=True,
            text=True,
            check=True,
        )
        told.append(json.loads(done.stdout))
    assert told[0] == told[1]
    assert len(told[0]) > 60


COMPILED = (
    "import numpy as np\nimport depmax\nfrom depmax.kernels import Subsequence\n"
    "print(Subsequence(2)(['abc', 'bcd']).tolist())\n"
    "X = np.random.default_rng(0).normal(size=(60, 3))\n"
    "search = depmax.BAHSIC(1, kernel='laplace', interactions=None, pvalues=False)\n"
    "print(search.fit(X, X[:, 0]).scores_.tolist())\n"
)


def test_compiled_loops_need_no_place_on_disk(tmp_path: Path) -> None:
    """An installation that must not be written to, and then a damaged file among those kept."""
    nowhere = "import numba.core.caching as c\nc.CacheImpl._locator_classes = []\n"
    environment = os.environ | {"NUMBA_CACHE_DIR": str(tmp_path)}

    def run(code: str) -> tuple[str, str]:
        told = subprocess.run(
            [sys.executable, "-c", code],
            capture_output=True,
            text=True,
            check=True,
            env=environment,
        )
        return told.stdout, told.stderr

    expected, silence = run(COMPILED)
    assert silence == ""
    for code, damaged in ((nowhere + COMPILED, ""), (COMPILED, "*.nbc"), (COMPILED, "*.nbi")):
        for kept in tmp_path.rglob(damaged) if damaged else ():
            kept.write_bytes(kept.read_bytes()[:20])
        answer, warning = run(code)
        assert answer == expected
        assert warning.count("Compiled loops cannot be kept on disk") == 1
        assert "NUMBA_CACHE_DIR" in warning
