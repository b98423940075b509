"""What a person sees on a terminal: numbers that line up, words that wrap, whatever its width."""

from __future__ import annotations

import io
import re

import pytest
import typer
from rich.console import Console
from typer.testing import CliRunner

from depmax.cli.commands import app
from depmax.cli.output import Output, aligned

ROWS = [
    {
        "rank": place + 1,
        "method": name,
        "balanced_accuracy": score,
        "dimension": size,
        "low": score - 0.04321,
        "high": score + 0.04321,
        "pvalue_adjusted": p,
    }
    for place, (name, score, size, p) in enumerate(
        [
            ("KernelRidgeElimination", 0.87654, 12.0, float("nan")),
            ("correlation filter", 0.6, 5.0, 0.00001),
            ("all columns", 0.51239, "all", 1.0),
        ]
    )
]


def _drawn(monkeypatch: pytest.MonkeyPatch, width: int, rows: list[dict[str, object]]) -> list[str]:
    out = Output()
    monkeypatch.setattr(Output, "on_terminal", property(lambda self: True))
    console = Console(width=width, highlight=False, record=True, file=io.StringIO())
    out._out = console
    out.table("t", rows)
    out.result("v", 1, "Choosing the method without test data gives 0.813 (0.771 to 0.856).")
    return console.export_text().splitlines()


@pytest.mark.parametrize("width", [30, 40, 60, 80, 120])
def test_no_number_is_broken(monkeypatch: pytest.MonkeyPatch, width: int) -> None:
    lines = _drawn(monkeypatch, width, ROWS)
    assert max(map(len, lines)) <= width
    text = "\n".join(lines)
    assert not re.search(r"\d\.\s*$|\d…", text, flags=re.M)
    shown = set(re.findall(r"\d+\.\d+", text))
    assert shown <= {"0.877", "0.600", "0.512", "0.833", "0.557", "0.469", "0.920", "0.643"} | {
        *("0.556", "0.001", "1.000", "0.813", "0.771", "0.856")
    }
    assert len(lines[:4]) == 4  # a heading and three rows, one line each


def test_decimals_line_up(monkeypatch: pytest.MonkeyPatch) -> None:
    lines = _drawn(monkeypatch, 120, ROWS)[1:4]
    places = [
        line.index(score) for line, score in zip(lines, ["0.877", "0.600", "0.512"], strict=True)
    ]
    assert len(set(places)) == 1
    assert "<0.001" in lines[1]
    assert " all " in lines[2]


@pytest.mark.parametrize(
    ("name", "values", "cells"),
    [
        ("score", [-1e-12, 0.5], ["0.000", "0.500"]),
        ("score", [-0.0, 0.0], ["0", "0"]),
        ("dimension", [2.0, 32.0], ["2", "32"]),
        ("fit_seconds", [123.4, 0.5], ["123", "0"]),
        ("pvalue", [1e-12, 0.05, None], ["<0.001", "0.050", ""]),
        ("method", ["a", "b"], ["a", "b"]),
    ],
)
def test_cells(name: str, values: list[object], cells: list[str]) -> None:
    assert aligned(name, values) == cells


PROGRAM = typer.main.get_command(app)
NAMES = list(PROGRAM.commands)  # type: ignore[attr-defined]  # of a group


def _page(*words: str, width: int = 80) -> str:
    result = CliRunner().invoke(app, words, env={"COLUMNS": str(width)})
    assert result.exit_code == 0
    return result.output


@pytest.mark.parametrize("name", ["", *NAMES])
def test_help_fits_a_screen(name: str) -> None:
    """Fifty lines of eighty characters; no example is broken."""
    lines = _page(*name.split(), "--help").splitlines()
    assert len(lines) <= 50
    assert max(map(len, lines)) <= 80
    start = next(place for place, line in enumerate(lines) if line.strip() == "Examples")
    examples = lines[start + 1 : start + lines[start:].index("")]
    assert examples
    assert all(line.startswith("   depmax ") for line in examples)


@pytest.mark.parametrize("name", NAMES)
def test_all_options_are_behind_help_all(name: str) -> None:
    command = PROGRAM.commands[name]  # type: ignore[attr-defined]  # of a group
    options = {option for param in command.params for option in param.opts if "--" in option}
    short = _page(name, "--help")
    named = {one for one in options if re.search(rf"^ .{{3}} {one}\b", short, flags=re.M)}
    hidden = options - named
    if hidden:
        assert f"{len(hidden)} more options" in short
        everything = _page(name, "--help-all")
        assert all(re.search(rf"^ .{{3}} {one}\b", everything, flags=re.M) for one in options)


@pytest.mark.parametrize("command", ["compare", "screen", "select", "fit", "transform"])
def test_flags_stand_alone(command: str) -> None:
    text = _page(command, "--help", width=120)
    assert re.search(r"--json +Print", text)
    assert "<bool>" not in text
