"""Excel workbooks: sheets as people make them, and files that are damaged or made to do harm."""

from __future__ import annotations

import contextlib
import datetime
import io
import random
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from depmax.cli.errors import DataError
from depmax.cli.reading import open_source
from depmax.cli.reading.source import ReadOptions

openpyxl = pytest.importorskip("openpyxl", reason="it reads Excel files")
Run = Callable[..., Any]

ROWS = [
    ["size", "count", "colour", "flag", "day", "note"],
    [1.5, 1, "red", True, datetime.datetime(2024, 1, 1), "NA"],
    [2.25, 2, "blue", False, datetime.datetime(2024, 1, 2), None],
    [None, 3, None, True, datetime.datetime(2024, 1, 3, 12), "x"],
    [4.0, 4, "red", None, None, "y"],
    ["#DIV/0!", 5, "blue", False, datetime.datetime(2024, 1, 5), "z"],
]


def _workbook(path: Path, **sheets: list[list[Any]]) -> Path:
    workbook = openpyxl.Workbook()
    workbook.remove(workbook.active)
    for title, rows in sheets.items():
        sheet = workbook.create_sheet(title)
        for row in rows:
            sheet.append(row)
    workbook.save(path)
    return path


def _read(path: Path, **options: Any) -> pl.DataFrame:
    return open_source(str(path), ReadOptions(**options)).read()


def test_a_sheet_comes_back(tmp_path: Path) -> None:
    source = open_source(str(_workbook(tmp_path / "A.XLSX", data=ROWS)))
    frame = source.read()
    assert frame["size"].to_list() == [1.5, 2.25, None, 4.0, None]
    assert frame["count"].to_list() == [1, 2, 3, 4, 5]
    assert frame["count"].dtype == pl.Int64
    assert frame["colour"].to_list() == ["red", "blue", None, "red", "blue"]
    assert frame["flag"].to_list() == [True, False, True, None, False]
    assert frame["day"].dtype.is_temporal()
    assert frame["note"].to_list() == [None, None, "x", "y", "z"]
    assert source.assumptions() == []
    batches = list(source.batches(["flag", "size"], 2))
    assert all(batch.height <= 2 for batch in batches)
    assert pl.concat(batches).equals(frame.select("flag", "size"))


def test_numbers_keep_all_digits_and_are_never_taken_for_thousands(tmp_path: Path) -> None:
    values = [1.234, 5.678, 0.1, 1e-300, 123456789012.5]
    frame = _read(_workbook(tmp_path / "a.xlsx", data=[["x"], *([v] for v in values)]))
    assert frame["x"].to_list() == values


def test_sheets_of_people(tmp_path: Path) -> None:
    """Blank rows above and within, blank columns at the end, no name for the first column."""
    rows = [[], [None, " age ", "group", None], [0, 31, "a"], [], [1, 42, "b", ""], [2, 53, "a"]]
    frame = _read(_workbook(tmp_path / "a.xlsx", data=rows))
    assert frame.columns == ["column_1", "age", "group"]
    assert frame["age"].to_list() == [31, 42, 53]


def test_without_a_header(tmp_path: Path) -> None:
    rows = [[1.5, 7.0], [2.5, 3.0], [0.5, 4.0]]
    source = open_source(str(_workbook(tmp_path / "a.xlsx", data=rows)))
    assert list(source.schema()) == ["column_1", "column_2"]
    assert "no header" in source.assumptions()[0]
    assert source.read().height == 3


def test_the_command_that_compare_prints_names_the_sheet(run: Any, tmp_path: Path) -> None:
    rows = [["x", "z", "y"], *([i % 7, i % 5, "ab"[i % 7 > 3]] for i in range(60))]
    _workbook(tmp_path / "a.xlsx", first=[["nothing"]], second=rows)
    options = ("-m", "FOHSIC", "--folds", 2, "--n-jobs", 1, "--sheet", "second")
    result = run("compare", "a.xlsx", "-t", "y", *options)
    assert result.exit_code == 0, result.output
    (line,) = [line for line in result.stderr.splitlines() if line.startswith("Next:")]
    assert "--sheet second" in line


def test_sheets_are_chosen_by_name_or_number(tmp_path: Path) -> None:
    path = _workbook(tmp_path / "a.xlsx", first=[["x"], [1]], second=[["y"], [2]], **{"1": [["z"]]})
    source = open_source(str(path))
    assert list(source.schema()) == ["x"]
    assert "sheet 'first' of 3" in source.assumptions()[0]
    for sheet in ("second", "2"):
        assert _read(path, sheet=sheet).columns == ["y"]
    with pytest.raises(DataError, match="'1' has a header but no rows"):  # a name goes first
        _read(path, sheet="1")
    with pytest.raises(DataError, match=r"'third'.*'first', 'second'"):
        _read(path, sheet="third")
    (tmp_path / "a.csv").write_text("x\n1\n")
    with pytest.raises(DataError, match="--sheet is for Excel files"):
        _read(tmp_path / "a.csv", sheet="first")


@pytest.mark.parametrize(
    ("rows", "reason"),
    [
        ([], "is empty"),
        ([["a", "b"]], "no rows"),
        ([["a", "a", "a (2)"], [1, 2, 3]], "same name: 'a \\(2\\)'"),
        ([["Report of 2024"], [], ["age", "dose"], [1, 2]], "remove titles"),
    ],
)
def test_sheets_that_are_not_tables(tmp_path: Path, rows: list[list[Any]], reason: str) -> None:
    with pytest.raises(DataError, match=reason):
        _read(_workbook(tmp_path / "a.xlsx", data=rows))


def test_commands_read_workbooks(run: Run, table: pl.DataFrame, tmp_path: Path) -> None:
    rows = [table.columns, *map(list, table.rows())]
    _workbook(tmp_path / "p.xlsx", notes=[["nothing", "here"]], patients=rows)
    screened = run("screen", "p.xlsx", "--sheet", "patients", "-t", "cost")
    assert screened.exit_code == 0, screened.output
    fitted = run("fit", "p.xlsx", "--sheet", 2, "-t", "cost", "-n", 2)
    assert fitted.exit_code == 0, fitted.output
    done = run("transform", "model.skops", "p.xlsx", "--sheet", "2", "-o", "out.csv")
    assert done.exit_code == 0, done.output
    assert pl.read_csv(tmp_path / "out.csv").height == table.height
    refused = run("screen", "p.xlsx", "-t", "cost")
    assert refused.exit_code == 3
    assert "notes" in refused.stderr


# --- harm -----------------------------------------------------------------------------------------
def _changed(path: Path, member: str, change: Callable[[bytes], bytes]) -> Path:
    """The workbook with one of its parts changed."""
    target = path.with_name("changed.xlsx")
    with zipfile.ZipFile(path) as old, zipfile.ZipFile(target, "w", zipfile.ZIP_DEFLATED) as new:
        for info in old.infolist():
            content = old.read(info)
            new.writestr(info.filename, change(content) if info.filename == member else content)
    return target


SHEET = "xl/worksheets/sheet1.xml"


def test_a_cell_far_away_takes_no_memory(tmp_path: Path) -> None:
    """Readers that make a full rectangle of it would ask for 17 thousand million cells."""
    path = _workbook(tmp_path / "a.xlsx", data=[["x"], [1], [2]])
    far = _changed(path, SHEET, lambda xml: xml.replace(b'r="A3"', b'r="XFD3"'))
    with pytest.raises(DataError, match="last named column"):
        _read(far)
    below = _changed(path, SHEET, lambda xml: xml.replace(b'row r="3"', b'row r="1048576"'))
    assert _read(below)["x"].to_list() == [1, 2]
    beyond = _changed(path, SHEET, lambda xml: xml.replace(b'row r="3"', b'row r="99999999999"'))
    with pytest.raises(DataError, match="larger than Excel allows"):
        _read(beyond)


def test_declared_dimensions_are_not_believed(tmp_path: Path) -> None:
    path = _workbook(tmp_path / "a.xlsx", data=[["x"], [1], [2]])
    for declared in (b"A1:XFD1048576", b"A1:A2", b"A1"):
        wrong = _changed(path, SHEET, lambda xml, d=declared: xml.replace(b"A1:A3", d))
        assert _read(wrong)["x"].to_list() == [1, 2]


def test_what_unpacks_to_too_much_is_refused(tmp_path: Path) -> None:
    path = _workbook(tmp_path / "a.xlsx", data=[["x"], ["a"], ["b"]])
    bomb = _changed(path, "xl/styles.xml", lambda xml: xml + b" " * (1 << 27))
    with pytest.raises(DataError, match=r"would take .* Excel"):
        _read(bomb, max_memory=1 << 28)
    rows = [["x", "y"], *([i, "a text of some length"] for i in range(3000))]
    with pytest.raises(DataError, match="would take at least"):
        _read(_workbook(tmp_path / "b.xlsx", data=rows), max_memory=1 << 16)


def test_entities_are_refused(tmp_path: Path) -> None:
    path = _workbook(tmp_path / "a.xlsx", data=[["x"], ["a"]])
    declared = b'<!DOCTYPE x [<!ENTITY a "aaaaaaaaaa">]><styleSheet'
    bomb = _changed(path, "xl/styles.xml", lambda xml: xml.replace(b"<styleSheet", declared, 1))
    with pytest.raises(DataError, match="declares a document type"):
        _read(bomb)


@pytest.mark.parametrize("name", ["a.xls", "a.xlsb", "a.ods", "a.sav"])
def test_other_formats_are_named(tmp_path: Path, name: str) -> None:
    (tmp_path / name).write_bytes(b"\xd0\xcf\x11\xe0")
    with pytest.raises(DataError, match=r"Save it as \.xlsx or \.csv"):
        _read(tmp_path / name)


def test_a_password_or_an_old_file_under_another_name(tmp_path: Path) -> None:
    (tmp_path / "a.xlsx").write_bytes(b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1" * 100)
    with pytest.raises(DataError, match="protected by a password"):
        _read(tmp_path / "a.xlsx")


def test_damaged_workbooks_are_refused_or_read(tmp_path: Path) -> None:
    """Bytes changed within the parts and around them: no error but ours, and no long wait."""
    whole = _workbook(tmp_path / "a.xlsx", data=ROWS)
    random_ = random.Random(0)
    with zipfile.ZipFile(whole) as archive:
        members = archive.namelist()
    for case in range(60):
        if case % 3:
            member = random_.choice(members)
            path = _changed(whole, member, lambda xml: _damaged(xml, random_))
        else:
            path = tmp_path / "changed.xlsx"
            path.write_bytes(_damaged(whole.read_bytes(), random_))
        with contextlib.suppress(DataError):
            _read(path)


def _damaged(content: bytes, random_: random.Random) -> bytes:
    data = bytearray(content)
    for _ in range(random_.randint(1, 8)):
        place = random_.randrange(len(data))
        kind = random_.random()
        if kind < 0.6:
            data[place] = random_.randrange(256)
        elif kind < 0.8:
            del data[place : place + random_.randint(1, 40)]
        else:
            data[place:place] = bytes(random_.choices(b"0123456789<>/&\"'", k=12))
        if not data:
            data = bytearray(b"x")
    return bytes(data)


def test_a_cut_off_file(tmp_path: Path) -> None:
    whole = _workbook(tmp_path / "a.xlsx", data=ROWS).read_bytes()
    for share in (0.2, 0.5, 0.99):
        (tmp_path / "b.xlsx").write_bytes(whole[: int(share * len(whole))])
        with pytest.raises(DataError, match=r"b\.xlsx"):
            _read(tmp_path / "b.xlsx")
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        archive.writestr("hello.txt", "not a workbook")
    (tmp_path / "c.xlsx").write_bytes(buffer.getvalue())
    with pytest.raises(DataError, match="not a valid Excel file"):
        _read(tmp_path / "c.xlsx")
