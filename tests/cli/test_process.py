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
    answer = _run(tmp_path, "screen", "bundled:wine")
    assert answer.returncode == 0, answer.stderr
    assert len(answer.stdout.splitlines()) == 14
    assert "\x1b[" not in answer.stdout + answer.stderr  # no colours in a pipe
    wrong = _run(tmp_path, "screen", "nowhere.csv")
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


def _odd_names(folder: Path) -> None:
    """Columns that a small encoding, a terminal or a spreadsheet may stumble over."""
    x = np.random.default_rng(0).normal(size=(80, 3))
    columns = {"safe\u202etxt": x[:, 0], "温度 →": x[:, 1], "=1+1": x[:, 2]}
    frame = pl.DataFrame(columns).with_columns(y=pl.Series(np.where(x[:, 0] > 0, "a", "b")))
    frame.write_csv(folder / "odd.csv")


#: The command for two files, one of which is not there, as two runs of one process.
TWICE = """
import sys
from depmax.cli import main
for name in ("odd.csv", "温度.csv"):
    sys.argv = ["depmax", "screen", name, "-t", "y"]
    try:
        main()
    except SystemExit as ended:
        print("code", ended.code)
"""


@pytest.mark.parametrize("encoding", ["ascii", "cp1252:strict", "utf-8"])
def test_what_an_encoding_lacks_is_shown_escaped(tmp_path: Path, encoding: str) -> None:
    _odd_names(tmp_path)
    environment = ENVIRONMENT | {"PYTHONIOENCODING": encoding, "PYTHONUTF8": "0"}
    answer = subprocess.run(
        [sys.executable, "-c", TWICE], capture_output=True, cwd=tmp_path, env=environment
    )
    codes = [line for line in answer.stdout.splitlines() if line.startswith(b"code")]
    assert codes == [b"code 0", b"code 3"], answer.stderr
    for told in (answer.stdout, answer.stderr):
        assert (b"\\u6e29" in told) == (encoding != "utf-8")
        assert "\u202e".encode() not in told


@pytest.mark.parametrize(
    ("closed", "command", "code"),
    [
        *[(closed, "select", 0) for closed in [(0,), (1,), (2,), (0, 1, 2)]],
        *[(closed, "nowhere", 3) for closed in [(2,), (0, 1, 2)]],
        ((1,), "screen", 0),
    ],
)
def test_streams_may_be_closed(
    tmp_path: Path, closed: tuple[int, ...], command: str, code: int
) -> None:
    """What is written goes nowhere, also not into a file that was opened in the meantime."""
    line = {
        "select": "select bundled:wine -n 2 -o few.csv",
        "nowhere": "screen nowhere.csv",
        "screen": "screen bundled:wine",
    }[command]

    def close() -> None:
        for number in closed:
            os.close(number)

    ended = subprocess.run(
        [*COMMAND, *line.split()], cwd=tmp_path, env=ENVIRONMENT, preexec_fn=close
    )
    assert ended.returncode == code
    if command == "select":
        assert pl.read_csv(tmp_path / "few.csv").shape == (178, 3)
