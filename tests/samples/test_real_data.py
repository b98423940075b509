"""Full real tables, a chunk at a time: the answers of memory (the whole matrix is a benchmark).

``benchmarks/streamed_answers.py`` compares every method that streams on Covertype and MNIST from
files, uneven and shuffled chunks, threads and Dask. Here are those that take seconds, on Covertype.
"""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from benchmarks.streamed_answers import BAR, ROUNDED_BAR, Sources, surroundings, worst

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(
        not (Path(os.environ.get("DEPMAX_DATA", "")) / "covertype.csv.gz").is_file(),
        reason="needs covertype.csv.gz in the folder that DEPMAX_DATA names",
    ),
    pytest.mark.filterwarnings("ignore::depmax.ScaleWarning"),
]


@pytest.fixture(scope="module")
def covertype(tmp_path_factory: pytest.TempPathFactory) -> Sources:
    return Sources("covertype", tmp_path_factory.mktemp("tables"))


@pytest.mark.parametrize("kind", ["files", "shuffled", "threads"])
@pytest.mark.parametrize("method", ["hsic linear", "HBFE", "HSCA", "KernelPLS", "KernelLDA", "SIR"])
def test_the_answer_of_memory(covertype: Sources, method: str, kind: str) -> None:
    with surroundings(kind):
        for part, found in worst(method, kind, covertype).items():
            assert found <= (ROUNDED_BAR if part == "rounded scores" else BAR), part
