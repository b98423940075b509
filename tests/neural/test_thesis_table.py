"""The runner that shows neural features beside HBFE and HSCA."""

from __future__ import annotations

import pytest

pytest.importorskip("torch", reason="torch is not installed: run make test-neural")

from reproduction import tables, thesis_neural


def test_a_short_run(monkeypatch):
    monkeypatch.setattr(thesis_neural, "MOST", 1)
    table = tables()["thesis_neural"]
    rows = []
    shown = table.run(quick=True, report=rows.append, n_splits=1)
    assert [row["method"] for row in shown[:7]] == [
        "Full",
        "HBFE1",
        "HSCA0",
        "NeuroHBFE",
        "NeuroHSCA",
        "HBFE1, Gaussian",
        "HSCA0, Gaussian",
    ]
    assert {row["neighbors"] for row in shown} == {1, 3, 5}
    assert all(0.6 < row["ours"] < 0.95 for row in shown)
    assert rows[-1]["last"]
    assert all(len(row["accuracies"]) == 1 for row in rows)


def test_sets_that_are_not_at_hand(monkeypatch):
    monkeypatch.delenv("DEPMAX_DATA", raising=False)
    [row] = tables()["thesis_neural"].run(datasets=["specft"])
    assert row["ours"] is None
    assert "DEPMAX_DATA" in row["note"]
    with pytest.raises(ValueError, match="no set named"):
        tables()["thesis_neural"].run(datasets=["iris"])
