"""The command as a process of its own: what scripts see."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import polars as pl
import pytest

import depmax

COMMAND = [sys.executable, "-m", "depmax"]
#: The library that this test has imported, wherever the process starts.
ENVIRONMENT = os.environ | {"PYTHONPATH": str(Path(depmax.__file__).parents[1])}


def _run(folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [*COMMAND, *arguments], capture_output=True, text=True, env=ENVIRONMENT, cwd=folder
    )


def test_results_and_errors_are_told_apart(tmp_path: Path) -> None:
    answer = subprocess.run(
        [*COMMAND, "screen", "bundled:wine"],
        capture_output=True,
        text=True,
        cwd=tmp_path,
        env=ENVIRONMENT,
    )
    assert answer.returncode == 0, answer.stderr
    assert len(answer.stdout.splitlines()) == 14
    assert "\x1b[" not in answer.stdout + answer.stderr  # no colours in a pipe
    wrong = subprocess.run(
        [*COMMAND, "screen", "nowhere.csv"],
        capture_output=True,
        text=True,
        cwd=tmp_path,
        env=ENVIRONMENT,
    )
    assert wrong.returncode == 3
    assert wrong.stdout == ""
    assert wrong.stderr == "error: The file nowhere.csv does not exist.\n"


def test_ctrl_c_and_a_closed_pipe_are_clean(tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(3000, 60))
    frame = pl.DataFrame(X, schema=[f"x{j}" for j in range(60)])
    frame.with_columns(y=pl.Series(X[:, 0] * X[:, 1])).write_parquet(tmp_path / "data.parquet")
    arguments = ["select", "data.parquet", "-t", "y", "-n", "5", "--set", "step=1", "-o", "few.csv"]
    process = subprocess.Popen(
        [*COMMAND, *arguments],
        stderr=subprocess.PIPE,
        stdout=subprocess.PIPE,
        cwd=tmp_path,
        env=ENVIRONMENT,
    )
    assert process.stderr is not None
    first = process.stderr.readline()  # the file is read, the search begins
    assert b"3,000 rows" in first
    time.sleep(0.2)
    process.send_signal(signal.SIGINT)
    _, errors = process.communicate(timeout=120)
    assert process.returncode == 130, errors
    assert b"Traceback" not in errors
    assert b"Interrupted" in errors
    assert os.listdir(tmp_path) == ["data.parquet"]
    shell = f"{sys.executable} -m depmax screen bundled:sonar --quiet | head -2"
    piped = subprocess.run(
        shell, shell=True, capture_output=True, text=True, env=ENVIRONMENT, cwd=tmp_path
    )
    assert piped.stderr == ""
    assert len(piped.stdout.splitlines()) == 2


@pytest.mark.parametrize("delay", [0.0, 0.2, 0.7, 1.5])
def test_ctrl_c_while_libraries_are_imported(tmp_path: Path, delay: float) -> None:
    """They turn an interrupt into errors of all kinds, so the command ends at once."""
    code = (
        "import sys; from depmax.cli import main; sys.argv = ['depmax', *sys.argv[1:]];"
        "import signal; started = signal.signal;"
        "signal.signal = lambda *a: (started(*a), print('up', flush=True));"
        "main()"
    )
    process = subprocess.Popen(
        [sys.executable, "-c", code, "fit", "bundled:wine", "-o", "m.skops"],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        cwd=tmp_path,
        env=ENVIRONMENT,
    )
    assert process.stdout is not None
    assert process.stdout.readline() == b"up\n"
    time.sleep(delay)
    process.send_signal(signal.SIGINT)
    _, errors = process.communicate(timeout=120)
    assert process.returncode == 130, errors
    assert errors.endswith(b"error: Interrupted. No file was left half-written.\n")
    assert b"Traceback" not in errors
    assert not os.listdir(tmp_path)
