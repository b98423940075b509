"""The report: self-contained, accessible, escaped, and written in one step."""

import base64
import hashlib
import html
import re
import sys
from html.parser import HTMLParser

import numpy as np
import pytest

from depmax.plotting import HeatMapDisplay, RankingDisplay
from depmax.report import (
    Column,
    KeyFigure,
    Noted,
    Picture,
    Report,
    Section,
    Table,
    render_html,
    write_html,
)
from depmax.report.html import cell_of


def make_report():
    matrix = HeatMapDisplay.from_predictions(np.eye(3))
    bars = RankingDisplay.from_predictions([0.3, 0.1], names=["µ < 1 & more", "b"])
    table = Table(
        "Two rows.",
        (
            Column("name"),
            Column("value", ".2f", "its meaning"),
            Column("p", "p"),
            Column("s", "bar"),
        ),
        (("<b>one</b>", 0.125, 1e-9, 0.5), (Noted("two", "a note"), None, float("nan"), 1.0)),
        emphasised=(0,),
    )
    return Report(
        "Title & <more>",
        "What was asked?",
        ("The answer.", "And why."),
        (KeyFigure("score", "0.9", "of one"),),
        (
            Section("First", ("Text.",), (table,), (Picture(bars, "Bars.", "Two <bars>."),)),
            Section("Map", pictures=(Picture(matrix, "Matrix.", "Three by three."),)),
            Section("Code", code="depmax compare <file>"),
        ),
        "The end.",
    )


@pytest.fixture(name="page", scope="module")
def make_page():
    return render_html(make_report())


class _Reader(HTMLParser):
    """Elements, ids and references of a page."""

    VOID = frozenset({"meta", "link", "br", "img", "input", "hr", "image", "use", "path", "stop"})

    def __init__(self):
        super().__init__()
        self.ids, self.references, self.open, self.wrong = [], [], [], []

    def handle_starttag(self, tag, attrs):
        values = dict(attrs)
        if "id" in values:
            self.ids.append(values["id"])
        for name in ("href", "xlink:href", "src"):
            if values.get(name, "").startswith("#"):
                self.references.append(values[name][1:])
        self.references += (values.get("aria-labelledby") or "").split()
        if tag not in self.VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag, attrs):
        before = len(self.open)
        self.handle_starttag(tag, attrs)
        del self.open[before:]

    def handle_endtag(self, tag):
        if tag in self.VOID:
            return
        if not self.open or self.open.pop() != tag:
            self.wrong.append(tag)


class TestThePage:
    def test_nothing_is_fetched(self, page):
        without_names = re.sub(r'xmlns(:\w+)?="[^"]*"', "", page)
        assert not re.search(r"https?://|//[a-z]", without_names)
        assert not re.search(r"<(script|img|iframe)[^>]+src=|@import|<link[^>]+stylesheet", page)

    def test_only_its_own_script_and_style_may_run(self, page):
        policy = re.search(r'http-equiv="Content-Security-Policy" content="([^"]*)"', page)
        assert policy is not None
        assert page.index(policy[0]) < page.index("<style")
        allowed = html.unescape(policy[1])
        assert allowed.startswith("default-src 'none';")
        for element in ("style", "script"):
            for content in re.findall(rf"<{element}>(.*?)</{element}>", page, re.DOTALL):
                digest = base64.b64encode(hashlib.sha256(content.encode()).digest()).decode()
                assert f"'sha256-{digest}'" in allowed
        assert not re.search(r"<[^>]+\son[a-z]+=", page)  # handlers, which no digest covers

    def test_elements_close_and_ids_are_unique_and_found(self, page):
        reader = _Reader()
        reader.feed(page)
        assert not reader.wrong
        assert not reader.open
        assert len(reader.ids) == len(set(reader.ids))
        assert set(reader.references) <= set(reader.ids)

    def test_text_is_escaped(self, page):
        assert "<b>one</b>" not in page
        assert "&lt;b&gt;one&lt;/b&gt;" in page
        assert "<title>Title &amp; &lt;more&gt;</title>" in page
        assert "depmax compare &lt;file&gt;" in page

    def test_pictures_have_words_and_follow_the_theme(self, page):
        pictures = re.findall(r"<svg.*?</svg>", page, flags=re.S)
        assert len(pictures) == 2
        assert "Two &lt;bars&gt;." in pictures[0]
        for picture in pictures:
            assert 'role="img"' in picture.split(">")[0]
            assert "currentColor" in picture
            assert "#010203" not in picture
            inches = 5.0  # letters are as large as those of the page, whatever its width
            assert 100 * inches < int(re.search(r'width="(\d+)"', picture)[1]) < 130 * inches
        assert "figure svg { display: block; max-width: 100%" in page
        assert "µ &lt; 1 &amp; more" in pictures[0]  # text stays text

    def test_answer_comes_before_the_evidence(self, page):
        assert page.index("The answer.") < page.index("First") < page.index("The end.")

    def test_light_dark_and_print(self, page):
        assert "prefers-color-scheme: dark" in page
        assert "@media print" in page
        assert 'name="viewport"' in page

    def test_same_report_same_page(self, page):
        assert render_html(make_report()) == page


class TestCells:
    @pytest.mark.parametrize(
        ("value", "format", "text", "key"),
        [
            (0.12345, ".2f", "0.12", "0.12345"),
            (1e-9, "p", "< 0.001", "1e-09"),
            (0.034, "p", "0.034", "0.034"),
            (None, ".2f", "–", ""),
            (float("nan"), "", "–", ""),
            ("Text", "", "Text", "text"),
            (np.float64(2.5), "", "2.5", "2.5"),
        ],
    )
    def test_text_and_key(self, value, format, text, key):
        cell = cell_of(value, Column("c", format))
        assert (cell.text, cell.key) == (text, key)

    def test_rows_must_fit(self):
        table = Table("t", (Column("a"), Column("b")), ((1,),))
        with pytest.raises(ValueError, match=r"shorter|longer"):
            render_html(Report("t", "q", (), sections=(Section("s", tables=(table,)),)))


class TestWriting:
    def test_whole_or_not_at_all(self, tmp_path, monkeypatch):
        path = tmp_path / "report.html"
        path.write_text("old")

        def fail(*args):
            raise OSError("disk full")

        with monkeypatch.context() as patch:
            patch.setattr("os.replace", fail)
            with pytest.raises(OSError, match="disk full"):
                write_html(make_report(), path)
        assert path.read_text() == "old"
        assert [file.name for file in tmp_path.iterdir()] == ["report.html"]
        assert write_html(make_report(), path) == path
        assert path.read_text(encoding="utf-8").startswith("<!DOCTYPE html>")

    def test_no_folder(self, tmp_path):
        with pytest.raises(FileNotFoundError, match="missing does not exist"):
            write_html(make_report(), tmp_path / "missing" / "report.html")

    def test_without_jinja2(self, monkeypatch):
        monkeypatch.setitem(sys.modules, "jinja2", None)
        with pytest.raises(ImportError, match=r"depmax\[report\]"):
            render_html(make_report())

    def test_without_matplotlib(self, monkeypatch):
        monkeypatch.setitem(sys.modules, "matplotlib", None)
        with pytest.raises(ImportError, match=r"depmax\[report\]"):
            render_html(make_report())
