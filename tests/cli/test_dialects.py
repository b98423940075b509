"""Files as people and programs write them: found out, said, and the same whole and by batches."""

from __future__ import annotations

import gzip
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

from depmax.cli.errors import DataError
from depmax.cli.reading import open_source
from depmax.cli.reading.source import ReadOptions

Run = Callable[..., Any]

#: What every dialect below spells: a name with an umlaut, decimals, whole numbers, gaps.
FRAME = pl.DataFrame(
    {
        "größe": [1.5, -2.25, None, 1234.5, 0.125, 7.0],
        "anzahl": [1, 2, 3, 4, 5, 6],
        "ort": ["Köln", "Zürich", "Köln", None, "Bern", "Bern"],
        "gut": [True, False, True, True, None, False],
    }
)


def _spell(frame: pl.DataFrame, separator: str, decimal: str, missing: str) -> str:
    def cell(value: Any) -> str:
        if value is None:
            return missing
        text = str(value)
        if isinstance(value, float):
            text = text.replace(".", decimal)
        elif isinstance(value, bool):
            text = text.lower()
        return f'"{text}"' if separator in text else text

    lines = [separator.join(map(cell, row)) for row in [frame.columns, *frame.rows()]]
    return "\n".join(lines) + "\n"


def _agree(path: Path, options: ReadOptions | None = None) -> pl.DataFrame:
    """The table, which must be the same whole and in batches."""
    source = open_source(str(path), options)
    whole = source.read()
    batches = pl.concat(list(source.batches(whole.columns, 2)))
    assert batches.equals(whole)
    assert dict(source.schema()) == dict(whole.schema)
    return whole


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16", "cp1252"])
@pytest.mark.parametrize("decimal", [".", ","])
@pytest.mark.parametrize("separator", [",", ";", "\t", "|"])
@pytest.mark.parametrize("suffix", [".csv", ".txt", ".csv.gz"])
def test_every_dialect_gives_the_same_table(
    encoding: str, decimal: str, separator: str, suffix: str, tmp_path: Path
) -> None:
    content = _spell(FRAME, separator, decimal, "NA").encode(encoding)
    path = tmp_path / f"a{suffix}"
    path.write_bytes(gzip.compress(content) if suffix.endswith("gz") else content)
    assert _agree(path).equals(FRAME)
    said = " ".join(open_source(str(path)).assumptions())
    assert ("decimal comma in 'größe'" in said) == (decimal == ",")
    assert ("Windows-1252" in said) == (encoding == "cp1252")
    assert ("separated by" in said) == (separator != ",")


@pytest.mark.parametrize("missing", ["", "NA", "?", "-", "null", "n/a", "NaN", " "])
@pytest.mark.parametrize("decimal", [".", ","])
def test_marks_of_missing_numbers(missing: str, decimal: str, tmp_path: Path) -> None:
    frame = FRAME.select("größe", "anzahl")
    (tmp_path / "a.csv").write_text(_spell(frame, ";", decimal, missing), encoding="utf-8")
    assert _agree(tmp_path / "a.csv").equals(frame)


def test_a_dash_among_words_is_a_value(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("x,class\n1,+\n2,-\n3,+\n-,-\n")
    frame = _agree(tmp_path / "a.csv")
    assert frame["class"].to_list() == ["+", "-", "+", "-"]
    assert frame["x"].to_list() == [1, 2, 3, None]


@pytest.mark.parametrize(
    ("cells", "separator", "values", "said"),
    [
        (["1.234,5", "12,25", "7"], ";", [1234.5, 12.25, 7.0], "decimal comma"),
        (["1,234.5", "12.25", "7"], ";", [1234.5, 12.25, 7.0], ""),
        (['"1,234"', '"12,345"', "7"], ",", [1234.0, 12345.0, 7.0], "thousands after the mark"),
        (["1,234", "2,345", "3,456"], ";", [1.234, 2.345, 3.456], "decimals after the mark"),
        (["1 234,5", "12 000,25", "7"], ";", [1234.5, 12000.25, 7.0], "decimal comma"),
        (["1'234.5", "12'000.25", "7"], ",", [1234.5, 12000.25, 7.0], ""),
        (["1\u00a0234", "12\u00a0000", "7"], "\t", [1234.0, 12000.0, 7.0], ""),
        (["0,123", "0,456", "0,789"], "\t", [0.123, 0.456, 0.789], "decimal comma"),
        (["1,5e3", "-2,5E-1", "+3"], ";", [1500.0, -0.25, 3.0], "decimal comma"),
    ],
)
def test_thousands_and_decimals(
    cells: list[str], separator: str, values: list[float], said: str, tmp_path: Path
) -> None:
    lines = [f"x{separator}y", *(f"{cell}{separator}a" for cell in cells)]
    (tmp_path / "a.csv").write_text("\n".join(lines), encoding="utf-8")
    assert _agree(tmp_path / "a.csv")["x"].to_list() == values
    assert said in " ".join(open_source(str(tmp_path / "a.csv")).assumptions())


@pytest.mark.parametrize("missing", [None, "999"])
def test_columns_of_numbers_are_not_tried_with_commas(
    missing: str | None, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """1.234 could be thousands; 0.234 below it could not, and tables may have 10,000 columns."""
    (tmp_path / "a.csv").write_text("x,y\n1.234,5\n12,1.234\n0.234,0.5\n")
    marks = {} if missing is None else {"missing": ("", missing)}
    monkeypatch.delattr("depmax.cli.reading.cells.read_numbers")
    schema = open_source(str(tmp_path / "a.csv"), ReadOptions(**marks)).schema()
    assert set(schema.values()) == {pl.Float64}


def test_signs_of_currency_and_per_cent(tmp_path: Path) -> None:
    path = tmp_path / "prices.csv"
    path.write_text(
        "price;rent;share;change;mixed\n"
        "1.234,50 €;$5;45,5%;-£2;5%\n"
        "12 €;$6;N/A;£3,5;7 €\n"
        "-;$-7;3 %;+£4;8%\n"
        "0,5 €;$8;100%;£0;9%\n",
        encoding="utf-8",
    )
    frame = _agree(path)
    assert frame.to_dict(as_series=False) == {
        "price": [1234.5, 12.0, None, 0.5],
        "rent": [5.0, 6.0, -7.0, 8.0],
        "share": [45.5, None, 3.0, 100.0],
        "change": [-2.0, 3.5, 4.0, 0.0],
        "mixed": ["5%", "7 €", "8%", "9%"],
    }
    said = " ".join(open_source(str(path)).assumptions())
    assert "Signs are left out of the numbers of 'price' (€), 'rent' ($), 'share' (%)" in said


@pytest.mark.parametrize(
    ("cells", "dates", "said"),
    [
        (["03.07.45", "31.12.1999", "-"], ["1945-07-03", "1999-12-31", None], "from 1930 to 2029"),
        (["1/2/21", "1/31/21", ""], ["2021-01-02", "2021-01-31", None], "from 1930 to 2029"),
        (["03JAN2021", "4feb2022", "."], ["2021-01-03", "2022-02-04", None], ""),
        (["3-March-2021", "4-Feb-22", "NA"], ["2021-03-03", "2022-02-04", None], "1930"),
        (["3/4/2021", "5/6/2021", "-"], ["2021-04-03", "2021-06-05", None], "such as 3/4/2021"),
        (["2021-02-28", "2021-02-30", "2021-03-01"], None, "2 of 3 cells are dates: it also holds"),
        (["2021-02-28", "unknown", "2021-03-01"], None, "also holds 'unknown'"),
    ],
)
def test_dates_as_people_write_them(
    cells: list[str], dates: list[str | None] | None, said: str, tmp_path: Path
) -> None:
    """Years of two digits are not those of antiquity, and a dash is a gap."""
    (tmp_path / "a.csv").write_text("\n".join(["day;x", *(f"{cell};1" for cell in cells)]))
    days = _agree(tmp_path / "a.csv")["day"]
    assert days.cast(pl.String).to_list() == (cells if dates is None else dates)
    assert said in " ".join(open_source(str(tmp_path / "a.csv")).assumptions())


def test_the_order_of_day_and_month_is_that_of_other_columns(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("born,seen\n1/31/1980,3/4/2021\n2/3/1985,5/6/2021\n")
    frame = _agree(tmp_path / "a.csv")
    assert frame["seen"].dt.month().to_list() == [3, 5]
    assert not open_source(str(tmp_path / "a.csv")).assumptions()


def test_units_after_numbers(tmp_path: Path) -> None:
    text = (
        "height;dose;size;code\n171 cm;2,5 mg/l;3 cm;1a\n180cm;0,5 mg/l;4 m;b2\n-;7 mg/l;5 cm;c\n"
    )
    (tmp_path / "a.csv").write_text(text)
    frame = _agree(tmp_path / "a.csv")
    assert frame["height"].to_list() == [171.0, 180.0, None]
    assert frame["dose"].to_list() == [2.5, 0.5, 7.0]
    assert frame["code"].to_list() == ["1a", "b2", "c"]
    said = " ".join(open_source(str(tmp_path / "a.csv")).assumptions())
    assert "'height' (cm), 'dose' (mg/l)" in said
    assert "'size' is read as text, although 2 of 3 cells are numbers: it also holds '4 m'" in said


def test_a_number_is_missing_beside_the_default_marks(run: Run, table: pl.DataFrame) -> None:
    table.with_columns(dose=pl.Series([999, None, *table["dose"][2:]])).write_csv("a.csv")
    notes = run("screen", "a.csv", "-t", "outcome", "--missing", 999, "--n-jobs", 1).stderr
    assert "not filled: dose (2 of 80)" in notes
    notes = run("screen", "a.csv", "-t", "outcome", "--missing", "none", "--n-jobs", 1).stderr
    assert "not filled: dose (1 of 80)" in notes


def test_a_sign_in_some_blocks_only_leaves_text(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr("depmax.cli.reading.delimited.BLOCK", 64)
    path = tmp_path / "mixed.csv"
    lines = [f"{i},$5" for i in range(50)] + [f"{i},5" for i in range(50)]
    path.write_text("\n".join(["row,price", *lines]) + "\n", encoding="utf-8")
    assert _agree(path)["price"].dtype == pl.String


def test_points_and_commas_in_one_file_are_refused(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("x;y\n1,5;2.25\n2,5;3.25\n")
    with pytest.raises(DataError, match=r"'x'.* decimal comma.* 'y'"):
        open_source(str(tmp_path / "a.csv")).read()
    frame = _agree(tmp_path / "a.csv", ReadOptions(decimal=","))
    assert frame["x"].to_list() == [1.5, 2.5]
    assert frame["y"].to_list() == ["2.25", "3.25"]
    (tmp_path / "b.csv").write_text("x;y\n1,5;1.234\n2,5;12.345\n")  # thousands, as x tells
    assert _agree(tmp_path / "b.csv")["y"].to_list() == [1234.0, 12345.0]


HEADERLESS = {
    "flowers": ("5.1,3.5,1.4,setosa\n4.9,3.0,1.4,setosa\n6.3,3.3,6.0,virginica\n", False),
    "letters only": ("p,x,s\ne,x,s\np,b,y\ne,x,y\n", False),
    "numbers only": ("3,1,4\n1,5,9\n2,6,5\n", False),
    "the same number twice": ("1,1,2\n1,5,9\n2,6,5\n", False),
    "wavelengths": ("1100,1102,1104,1106,1108\n.1,.2,.3,.4,.5\n.2,.1,.4,.3,.6\n", True),
    "places": ("0,1,2\n.1,.2,.3\n.2,.1,.4\n", True),
    "a target and wavelengths": ("y,1100,1102\n1,.2,.3\n0,.1,.4\n", True),
    "words over words": ("name,town\nAnn,Bern\nBob,Rome\n", True),
    "words over numbers": ("a,b\n1,2\n3,4\n", True),
    "a number too large for a float": ("name,1e999\nx,1\ny,2\n", False),
    "an unnamed column": (",a,b\n0,1,x\n1,3,y\n", True),
}


@pytest.mark.parametrize("case", sorted(HEADERLESS))
def test_headers(case: str, tmp_path: Path) -> None:
    text, header = HEADERLESS[case]
    (tmp_path / "a.csv").write_text(text)
    frame = _agree(tmp_path / "a.csv")
    assert frame.height == len(text.splitlines()) - header
    said = " ".join(open_source(str(tmp_path / "a.csv")).assumptions())
    assert ("without a header" in said) == (not header)
    if not header:
        assert frame.columns == [f"column_{place + 1}" for place in range(frame.width)]
    for told in (True, False):
        frame = (
            _agree(tmp_path / "a.csv", ReadOptions(header=told)) if header or not told else frame
        )
        assert (frame.columns[-1] == f"column_{frame.width}") == (not told or not header)


def test_cells_between_spaces(tmp_path: Path) -> None:
    (tmp_path / "a.dat").write_text("   x   y  z\n  1.5   2  a\n 10.25  3  b\n\n  2.5  -1  a \n")
    frame = _agree(tmp_path / "a.dat")
    assert frame.rows() == [(1.5, 2, "a"), (10.25, 3, "b"), (2.5, -1, "a")]
    assert "separated by spaces" in open_source(str(tmp_path / "a.dat")).assumptions()[0]
    (tmp_path / "b.csv").write_text("town\nNew York\nLos Angeles\n")  # words are no columns
    assert _agree(tmp_path / "b.csv")["town"].to_list() == ["New York", "Los Angeles"]


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("a.txt", '"size" "town"\n"1" 2.5 "New York"\n"2" 3.5 "Bern"\n'),
        ("a.txt", "size\ttown\n1\t2.5\tNew York\n2\t3.5\tBern\n"),
        ("a.csv", '"size","town"\n"1",2.5,"New York"\n"2",3.5,"Bern"\n'),
    ],
)
def test_names_of_rows_as_r_writes_them(name: str, text: str, tmp_path: Path) -> None:
    """The header does not name the first column."""
    (tmp_path / name).write_text(text)
    frame = _agree(tmp_path / name)
    assert frame.rows() == [(1, 2.5, "New York"), (2, 3.5, "Bern")]
    assert frame.columns == ["column_1", "size", "town"]


def test_columns_of_the_same_name_are_numbered(run: Run, tmp_path: Path) -> None:
    rng = np.random.default_rng(3)
    rows = [f"{a:.3f},{b:.3f},{a > 0}" for a, b in rng.normal(size=(40, 2))]
    (tmp_path / "a.csv").write_text("\n".join(["hb,hb,ill", *rows]))
    assert _agree(tmp_path / "a.csv").columns == ["hb", "hb (2)", "ill"]
    fitted = run("fit", "a.csv", "-t", "ill", "-n", 2)
    assert "with 'hb (2)' for columns of the same name" in fitted.stderr
    assert run("transform", "model.skops", "a.csv", "-o", "out.csv").exit_code == 0
    assert set(pl.read_csv("out.csv").columns) == {"hb", "hb (2)"}


@pytest.mark.parametrize("row", ["5,6,", "1,6,7"])
def test_a_separator_too_many_is_no_name(row: str, tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text(f"a,b\n1,2,\n{row}\n")
    with pytest.raises(DataError, match="line 2: 3 cells, but the header names 2"):
        open_source(str(tmp_path / "a.csv")).read()


def test_a_few_words_among_numbers_are_mentioned(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("x,y\n1.5,1\n2.5,0\nerror,1\n3.5,0\n")
    source = open_source(str(tmp_path / "a.csv"))
    assert source.read()["x"].dtype == pl.String
    (line,) = source.assumptions()
    assert "'x' is read as text, although 3 of 4 cells are numbers: it also holds 'error'" in line


def test_columns_with_the_same_odd_cell_are_mentioned_together(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("a,b,c,d,e,f\n1,2,3,4,5,6\nn/m,n/m,u,v,w,w2\n3,4,5,6,7,8\n")
    lines = open_source(str(tmp_path / "a.csv")).assumptions()
    assert "Columns 'a', 'b' are read as text" in lines[0]
    assert "they also hold 'n/m'" in lines[0]
    assert len(lines) == 4
    assert lines[-1] == "2 more columns are read as text, although most cells are numbers."


@pytest.mark.parametrize(
    "text",
    [
        'a,b\n1,2\n3,"4\n5,6\n7,8\n',
        'a,b\n1,"2\n3,4\n5,"6"\n7,8\n',
        'a,b\n1,2\n3,"x\ny"z\n5,6\n',
    ],
)
def test_a_quote_that_swallows_rows_is_refused(text: str, tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text(text)
    with pytest.raises(DataError, match=r"double quote .* not closed"):
        open_source(str(tmp_path / "a.csv")).read()


def test_rows_are_neither_lost_nor_invented(tmp_path: Path) -> None:
    """Line ends within quotes of the header and of cells, blank lines, old line ends."""
    (tmp_path / "a.csv").write_bytes(b'"a\nb",c\r\n1,"x\ny"\r\n\r\n2,z\r\n')
    frame = _agree(tmp_path / "a.csv")
    assert frame.columns == ["a\nb", "c"]
    assert frame.rows() == [(1, "x\ny"), (2, "z")]
    (tmp_path / "b.csv").write_bytes(b"a,b\r1,2\r3,4\r")
    assert _agree(tmp_path / "b.csv").rows() == [(1, 2), (3, 4)]
    (tmp_path / "c.csv").write_bytes(b"a\n1\n\n3\n")  # with one column a blank line is a gap
    assert _agree(tmp_path / "c.csv")["a"].to_list() == [1, None, 3]


def test_types_hold_over_blocks(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Cells that change the type of a column may come late, in another block."""
    monkeypatch.setattr("depmax.cli.reading.delimited.BLOCK", 1000)
    rows = [f"{i};{i};{i};x{i % 3};{i}" for i in range(500)]
    rows += ["7;1,5;1.234;x;NA", "8;2,5;-;x;word"]
    (tmp_path / "a.csv").write_text("a;b;c;d;e\n" + "\n".join(rows))
    frame = _agree(tmp_path / "a.csv")
    assert frame.dtypes == [pl.Int64, pl.Float64, pl.Float64, pl.String, pl.String]
    assert frame["b"].to_list()[-3:] == [499.0, 1.5, 2.5]
    assert frame["c"].to_list()[-3:] == [499.0, 1234.0, None]


@pytest.mark.slow
def test_long_lines_and_large_cells(tmp_path: Path) -> None:
    (tmp_path / "wide.csv").write_text(
        ",".join(f"column{j}" for j in range(12_000)) + "\n" + ",".join(["1.5"] * 12_000)
    )
    assert open_source(str(tmp_path / "wide.csv")).read().shape == (1, 12_000)
    (tmp_path / "long.csv").write_text("x,y\n1," + "a" * 200_000 + "\n2,b\n")
    assert _agree(tmp_path / "long.csv").shape == (2, 2)


def test_large_whole_numbers_stay_exact(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("x,y\n9007199254740993, 1\n-9007199254740993,NA\n")
    assert _agree(tmp_path / "a.csv")["x"].to_list() == [9007199254740993, -9007199254740993]


@pytest.mark.slow
@pytest.mark.parametrize(
    "write",
    [
        pytest.param(lambda t: _spell(t, ";", ",", "NA").encode("cp1252"), id="german"),
        pytest.param(lambda t: _spell(t, "\t", ".", "-").encode("utf-16"), id="utf-16"),
        pytest.param(
            lambda t: _spell(t, ";", ",", "").encode("utf-8").partition(b"\n")[2], id="headerless"
        ),
    ],
)
def test_a_model_reads_new_files_of_its_dialect(
    write: Callable[[pl.DataFrame], bytes], run: Run, tmp_path: Path
) -> None:
    """fit, then transform on the same file, gives what the plain file gives."""
    rng = np.random.default_rng(0)
    size = rng.normal(100, 30, 60).round(3)
    table = pl.DataFrame(
        {
            "size": size,
            "code": rng.choice(["01", "1", "x,y"], 60),
            "noise": rng.normal(size=60).round(2),
            "y": np.where(size > 100, "groß", "klein"),
        }
    )
    (tmp_path / "odd.csv").write_bytes(write(table))
    table.write_csv(tmp_path / "plain.csv")
    outputs = []
    for name in ("plain", "odd"):
        target = (
            "y" if "size" in open_source(str(tmp_path / f"{name}.csv")).schema() else "column_4"
        )
        fitted = run(
            "fit", f"{name}.csv", "-t", target, "-m", "HBFE", "-n", 2, "-o", f"{name}.skops"
        )
        assert fitted.exit_code == 0, fitted.output
        out = run("transform", f"{name}.skops", f"{name}.csv", "-o", f"{name}.parquet")
        assert out.exit_code == 0, out.output
        assert (".csv is read as" in out.stderr) == (name == "odd")
        assert (".csv is read as" in fitted.stderr) == (name == "odd")
        outputs.append(pl.read_parquet(tmp_path / f"{name}.parquet").to_numpy())
    np.testing.assert_allclose(np.abs(outputs[0]), np.abs(outputs[1]), rtol=1e-8, atol=1e-10)


def test_what_a_new_file_leaves_open_is_as_in_the_models_file(run: Run, tmp_path: Path) -> None:
    """1,234 alone could be either; numbers alone could be a header; 01 is not the level 1."""
    rng = np.random.default_rng(1)
    x = rng.uniform(0, 5, 50).round(3)
    lines = [
        f"{v:.3f}".replace(".", ",") + f"\t{c}\t{int(v > 2)}"
        for v, c in zip(x, ["01", "1"] * 25, strict=True)
    ]
    (tmp_path / "train.txt").write_text("\n".join(["x\tc\ty", *lines]))
    assert run("fit", "train.txt", "-t", "y", "-n", 1, "--drop", "c").exit_code == 0
    (tmp_path / "new.txt").write_text("x\tc\n1,234\t01\n2,345\t1\n")
    result = run("transform", "model.skops", "new.txt", "-o", "out.csv")
    assert result.exit_code == 0, result.output
    written = pl.read_csv(tmp_path / "out.csv", separator=";", decimal_comma=True)
    assert written["x"].to_list() == [1.234, 2.345]


def test_a_model_remembers_dates_units_and_missing_values(run: Run, fails: Run) -> None:
    """3/4/2021 is a day in March where the file of the model had the month first."""
    rng = np.random.default_rng(2)
    rows = [
        f"{rng.integers(1, 13)}/{rng.integers(13, 28)}/2021,{rng.normal():.2f} kg,{row % 2}"
        for row in range(40)
    ]
    Path("train.csv").write_text("\n".join(["day,size,y", *rows[1:], "1/2/2021,-99 kg,1"]))
    words = ("-t", "y", "-n", 4, "-m", "BAHSIC", "--missing", "-99 kg", "--missing", "NA")
    assert run("fit", "train.csv", *words).exit_code == 0
    Path("new.csv").write_text("day,size\n3/4/2021,5 kg\n12/5/2021,-99 kg\n")
    assert run("transform", "model.skops", "new.csv", "-o", "out.csv").exit_code == 0
    out = pl.read_csv("out.csv")
    assert out["day: month"].to_list() == [3.0, 12.0]
    assert out["size"].to_list() == [5.0, None]
    Path("new.csv").write_text("day,size\n3/4/2021,5 g\n12/5/2021,6 g\n")
    assert "'size' come with g, but came with kg" in fails(
        3, "transform", "model.skops", "new.csv", "-o", "out.csv"
    )


def test_decimal_commas_give_the_p_values_of_decimal_points(
    run: Run, table: pl.DataFrame, tmp_path: Path
) -> None:
    table.write_csv(tmp_path / "points.csv")
    (tmp_path / "commas.csv").write_text(_spell(table, ";", ",", ""))
    found = [run("screen", f"{name}.csv", "-t", "outcome") for name in ("points", "commas")]
    assert found[0].stdout == found[1].stdout
    assert (
        "commas.csv is read as separated by ';', decimal comma in 'age', 'cost'" in found[1].stderr
    )
    quoted = run("screen", "commas.csv", "-t", "outcome", "--separator", ";", "--decimal", ",")
    assert quoted.stdout == found[0].stdout
    assert "is read as" not in quoted.stderr
