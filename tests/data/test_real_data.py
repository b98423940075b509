"""Full real tables, a chunk at a time: the answers of memory (the whole matrix is a benchmark).

``benchmarks/streamed_answers.py`` compares every method that streams on Covertype and MNIST from
files, uneven and shuffled chunks, threads and Dask. Here are those that take seconds, on Covertype.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

answers = pytest.importorskip(
    "benchmarks.streamed_answers", reason="benchmarks do not come with the source distribution"
)

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(
        not (Path(os.environ.get("DEPMAX_DATA", "")) / "covertype.csv.gz").is_file(),
        reason="needs covertype.csv.gz in the folder that DEPMAX_DATA names",
    ),
    # the table's columns are on different scales, and both sides see the same
    pytest.mark.filterwarnings("ignore::depmax.ScaleWarning"),
    # files have names, the rows in memory that their features are compared on have none
    pytest.mark.filterwarnings("ignore:X does not have valid feature names"),
]


@pytest.fixture(scope="module")
def covertype(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(Path(answers.__file__).parent)  # scripts import what lies beside them
        yield answers.Sources("covertype", tmp_path_factory.mktemp("tables"))


@pytest.mark.parametrize("kind", ["files", "shuffled", "threads"])
@pytest.mark.parametrize("method", ["hsic linear", "HBFE", "HSCA", "KernelPLS", "KernelLDA", "SIR"])
def test_the_answer_of_memory(covertype: Any, method: str, kind: str) -> None:
    with answers.surroundings(kind):
        for part, found in answers.worst(method, kind, covertype).items():
            bar = answers.ROUNDED_BAR if part == "rounded scores" else answers.BAR
            assert found <= bar, part
