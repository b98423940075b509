"""The report in a real browser: no errors, tables that sort, every picture drawn, two widths.

``make test-browser`` installs what this needs. With DEPMAX_SCREENSHOTS set to a folder, pictures of
the page are left there.
"""

import os
import shutil
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from sklearn.naive_bayes import GaussianNB

from depmax import compare
from depmax.datasets import load

webdriver = pytest.importorskip("selenium.webdriver", reason="needs selenium: make test-browser")

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser")
DRIVER = shutil.which("chromedriver")
pytestmark = pytest.mark.skipif(
    CHROMIUM is None or DRIVER is None, reason="needs chromium and chromedriver: make test-browser"
)

# Quiet, without a sandbox of its own (as root), and without calls to anyone.
FLAGS = (
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-dev-shm-usage",
    "--disable-sync",
)
WIDTHS = {"desktop": 1200, "phone": 390}
LEADERBOARD = (
    "[...document.querySelectorAll('table')]"
    ".find(table => table.tHead.textContent.includes('p vs best'))"
)

#: What a page owes to readers who do not see it, or use no mouse; each rule returns what breaks it.
RULES = {
    "the language is named": "return document.documentElement.lang ? [] : ['html']",
    "one heading of the first level": """
        const found = document.querySelectorAll("h1").length; return found === 1 ? [] : [found]""",
    "headings skip no level": """
        const levels = [...document.querySelectorAll("h1,h2,h3,h4")].map(h => +h.tagName[1]);
        return levels.filter((level, place) => place && level > levels[place - 1] + 1)""",
    "ids are unique": """
        const ids = [...document.querySelectorAll("[id]")].map(e => e.id);
        return ids.filter((id, place) => ids.indexOf(id) !== place)""",
    "pictures have words": """
        return [...document.querySelectorAll("figure svg, img")].filter(e =>
            !(e.getAttribute("role") === "img" && e.getAttribute("aria-labelledby") &&
              document.getElementById(e.getAttribute("aria-labelledby")).textContent.trim())
            && !e.alt).map(e => e.outerHTML.slice(0, 80))""",
    "references lead somewhere": """
        return [...document.querySelectorAll("[aria-labelledby]")].filter(e =>
            !document.getElementById(e.getAttribute("aria-labelledby"))).map(e => e.tagName)""",
    "tables have headings with a scope, and a name": """
        return [...document.querySelectorAll("table")].filter(t =>
            !t.getAttribute("aria-labelledby") ||
            [...t.tHead.rows[0].cells].some(c => c.tagName !== "TH" || c.scope !== "col"))
            .map(t => t.outerHTML.slice(0, 80))""",
    "links and buttons have names": """
        return [...document.querySelectorAll("a, button")].filter(e => !e.textContent.trim())
            .map(e => e.outerHTML)""",
    "what scrolls can be reached by keyboard": """
        return [...document.querySelectorAll("pre, .scroll")].filter(e =>
            e.tabIndex !== 0 || e.getAttribute("role") !== "region").map(e => e.className)""",
    "the page has a main part": "return document.querySelector('main') ? [] : ['main']",
    "text stands out from its ground by 4.5 to 1": """
        function channels(colour) {
          const canvas = document.createElement("canvas"); canvas.width = canvas.height = 1;
          const pen = canvas.getContext("2d"); pen.fillStyle = colour; pen.fillRect(0, 0, 1, 1);
          return [...pen.getImageData(0, 0, 1, 1).data];
        }
        function light(colour) {
          const [r, g, b] = channels(colour).slice(0, 3).map(c => c / 255)
            .map(c => c <= 0.03928 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4);
          return 0.2126 * r + 0.7152 * g + 0.0722 * b;
        }
        function ground(element) {
          for (let e = element; e; e = e.parentElement) {
            const colour = getComputedStyle(e).backgroundColor;
            if (channels(colour)[3] === 255) return colour;
          }
          return "white";
        }
        const own = e => [...e.childNodes].some(n => n.nodeType === 3 && n.textContent.trim());
        return [...document.body.querySelectorAll("*")]
          .filter(e => !e.closest("svg, script, style") && own(e)).map(e => {
            const pair = [light(getComputedStyle(e).color), light(ground(e))].sort((a, b) => b - a);
            return [(pair[0] + 0.05) / (pair[1] + 0.05), e.tagName, e.textContent.slice(0, 40)];
          }).filter(([ratio]) => ratio < 4.5)""",
}


@pytest.fixture(name="page", scope="module")
def make_page(tmp_path_factory):
    wine = load("wine")
    X = pd.DataFrame(wine.X, columns=wine.feature_names)
    y = pd.Series(np.array(["first", "second", "third"])[wine.y - wine.y.min()], name="cultivar")
    found = compare(
        X,
        y,
        ["BAHSIC", "HSIC filter", "correlation filter", "Relief", "LDA", "PCA"],
        estimator=GaussianNB(),
        cv=3,
        dimensions=[1, 2, 5],
        random_state=0,
    )
    return found.to_html(tmp_path_factory.mktemp("report") / "report.html", title="Wine")


@pytest.fixture(name="browser", scope="module")
def start_browser(tmp_path_factory):
    options = webdriver.ChromeOptions()
    options.binary_location = CHROMIUM
    for flag in (*FLAGS, f"--user-data-dir={tmp_path_factory.mktemp('profile')}"):
        options.add_argument(flag)
    options.set_capability("goog:loggingPrefs", {"browser": "ALL"})
    service = webdriver.ChromeService(executable_path=DRIVER)
    driver = webdriver.Chrome(options=options, service=service)
    yield driver
    driver.quit()


@pytest.fixture(name="opened", params=WIDTHS)
def open_page(request, browser, page):
    resize(browser, WIDTHS[request.param], 900)
    browser.get(page.as_uri())
    folder = os.environ.get("DEPMAX_SCREENSHOTS")
    if folder:
        height = browser.execute_script("return document.documentElement.scrollHeight")
        resize(browser, WIDTHS[request.param], height)
        Path(folder).mkdir(parents=True, exist_ok=True)
        browser.save_screenshot(str(Path(folder) / f"report-{request.param}.png"))
    return browser


def resize(browser, width, height):
    metrics = {"width": width, "height": height, "deviceScaleFactor": 1, "mobile": width < 500}
    browser.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", metrics)


def test_no_errors_and_nothing_fetched(opened):
    assert opened.get_log("browser") == []
    fetched = opened.execute_script(
        "return performance.getEntriesByType('resource').map(entry => entry.name)"
    )
    assert [name for name in fetched if not name.startswith("data:")] == []


def test_every_picture_is_drawn(opened):
    pictures = opened.execute_script(
        """return [...document.querySelectorAll("figure svg")].map(svg => {
            const box = svg.getBoundingClientRect(), inner = svg.getBBox();
            return {width: box.width, height: box.height, right: box.right,
                    drawn: inner.width * inner.height,
                    shapes: svg.querySelectorAll("path, use, image").length,
                    words: svg.querySelectorAll("text").length,
                    meaning: svg.querySelector("title").textContent};
        })"""
    )
    width = opened.execute_script("return innerWidth")
    assert len(pictures) > 8
    for picture in pictures:
        assert picture["width"] > 250
        assert picture["height"] > 150
        assert picture["right"] <= width
        assert picture["drawn"] > 10_000
        assert picture["shapes"] > 5
        assert picture["words"] > 3
        assert len(picture["meaning"]) > 30


def test_the_page_fits_the_screen(opened):
    scroll, inner = opened.execute_script(
        "return [document.documentElement.scrollWidth, innerWidth]"
    )
    assert scroll <= inner


def test_a_table_sorts_both_ways(opened):
    def column(place):
        return opened.execute_script(
            f"return [...{LEADERBOARD}.tBodies[0].rows]"
            ".map(row => row.cells[arguments[0]].dataset.key)",
            place,
        )

    def click(place):
        opened.execute_script(
            f"{LEADERBOARD}.tHead.rows[0].cells[arguments[0]].querySelector('button').click()",
            place,
        )

    assert [int(float(rank)) for rank in column(0)] == list(range(1, 7))
    click(1)
    assert column(1) == sorted(column(1))
    click(1)
    assert column(1) == sorted(column(1), reverse=True)
    click(2)
    scores = [float(key) for key in column(2)]
    assert scores == sorted(scores)
    click(6)  # the best method has no p-value against itself and stays last
    assert column(6)[-1] == ""
    state = "return document.querySelectorAll('th[aria-sort]').length"
    assert opened.execute_script(state) == 1


def test_headings_can_be_reached_by_keyboard(opened):
    buttons = opened.execute_script(
        "return [...document.querySelectorAll('th button')].every(b => b.tabIndex === 0)"
    )
    assert buttons


@pytest.mark.parametrize("rule", RULES)
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_everyone_can_read_it(opened, rule, scheme):
    features = [{"name": "prefers-color-scheme", "value": scheme}]
    opened.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": features})
    broken = opened.execute_script(RULES[rule])
    opened.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": []})
    assert broken == []


def test_kept_columns_can_be_saved(opened):
    """The file is inside the page: its link holds what was kept."""
    links = opened.execute_script(
        """return Promise.all([...document.querySelectorAll("a[download]")].map(link =>
            [link.download, decodeURIComponent(escape(atob(link.href.split("base64,")[1])))]))"""
    )
    files = dict(links)
    assert set(files) == {"kept_columns.csv", "kept_columns.txt"}
    names = files["kept_columns.txt"].split()
    assert [line.split(",")[0] for line in files["kept_columns.csv"].splitlines()[1:]] == names


def test_what_is_written_into_the_page_does_not_run(opened):
    """The policy allows the page's own script and no other."""
    ran = opened.execute_script(
        """const script = document.createElement("script");
        script.textContent = "window.intruder = true"; document.body.append(script);
        return window.intruder === true"""
    )
    assert not ran
    opened.get_log("browser")  # where the refusal is noted


def test_dark_and_light(browser, page):
    colours = []
    for scheme in ("light", "dark"):
        features = [{"name": "prefers-color-scheme", "value": scheme}]
        browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": features})
        browser.get(page.as_uri())
        colours.append(
            browser.execute_script(
                """const page = getComputedStyle(document.body);
                const ink = getComputedStyle(document.querySelector("figure svg text"));
                return [page.backgroundColor, page.color, ink.fill];"""
            )
        )
    browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": []})
    (paper, ink, drawn), (dark_paper, dark_ink, dark_drawn) = colours
    assert paper != dark_paper
    assert ink == drawn != dark_ink == dark_drawn


def test_print(browser, page):
    browser.get(page.as_uri())
    assert len(browser.print_page()) > 10_000
