"""A small table of patients, and the command run in this process."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from typer.testing import CliRunner

from depmax.cli.commands import app


@pytest.fixture(scope="session")
def table() -> pl.DataFrame:
    rng = np.random.default_rng(0)
    n = 80
    age, smoker = rng.normal(50, 10, n), rng.random(n) < 0.5
    return pl.DataFrame(
        {
            "id": np.arange(n),
            "name": [f"patient {i}" for i in range(n)],
            "age": age,
            "dose": rng.integers(0, 6, n),
            "colour": rng.choice(["red", "green", "blue"], n),
            "smoker": smoker,
            "ward": ["north"] * n,
            "outcome": np.where((age > 50) ^ smoker, "ill", "well"),
            "cost": 3 * age + rng.normal(size=n),
        }
    )


@pytest.fixture
def patients(table: pl.DataFrame, tmp_path: Path) -> Path:
    path = tmp_path / "patients.csv"
    table.write_csv(path)
    return path


@pytest.fixture
def run(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Callable[..., Any]:
    """Run a command in an empty folder; an exception that escapes fails the test."""
    monkeypatch.setenv("COLUMNS", "200")
    monkeypatch.chdir(tmp_path)

    def command(*arguments: object) -> Any:
        return CliRunner().invoke(app, [str(argument) for argument in arguments])

    return command


@pytest.fixture
def fails(run: Callable[..., Any]) -> Callable[..., str]:
    """Run a command that must end with one clear line and a code; returns the line."""

    def command(code: int, *arguments: object) -> str:
        result = run(*arguments)
        assert result.exit_code == code, result.output
        errors = [line for line in result.stderr.splitlines() if line.startswith("error: ")]
        assert len(errors) == 1, result.stderr
        assert "Traceback" not in result.output
        return errors[0]

    return command
