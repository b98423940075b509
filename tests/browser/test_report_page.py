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
axe = pytest.importorskip("axe_core_python", reason="needs axe-core: make test-browser")

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
    ".find(table => table.tHead.textContent.includes('below the best'))"
)


@pytest.fixture(name="page", scope="module")
def make_page(tmp_path_factory):
    wine = load("wine")
    X = pd.DataFrame(wine.X, columns=wine.feature_names)
    y = pd.Series(np.array(["first", "second", "third"])[wine.y - wine.y.min()], name="cultivar")
    found = compare(
        X,
        y,
        ["BAHSIC", "HSIC filter", "correlation filter", "Relief", "LDA", "PCA"],
        judge=GaussianNB(),
        cv=3,
        dimensions=[1, 2, 5],
        margin=0.1,  # so that few columns are recommended, which can be saved
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

    assert [int(float(rank)) for rank in column(0)] == list(range(1, 8))  # all columns too
    click(1)
    assert column(1) == sorted(column(1))
    click(1)
    assert column(1) == sorted(column(1), reverse=True)
    click(3)
    scores = [float(key) for key in column(3)]
    assert scores == sorted(scores)
    click(2)  # all columns have no number of features and stay last
    assert column(2)[-1] == ""
    state = "return document.querySelectorAll('th[aria-sort]').length"
    assert opened.execute_script(state) == 1


def test_headings_can_be_reached_by_keyboard(opened):
    buttons = opened.execute_script(
        "return [...document.querySelectorAll('th button')].every(b => b.tabIndex === 0)"
    )
    assert buttons


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_everyone_can_read_it(opened, scheme):
    """None of axe-core's rules of accessibility is broken: contrast, names, headings, keyboard."""
    source = Path(axe.__file__).with_name("axe.min.js").read_text("utf-8")
    features = [{"name": "prefers-color-scheme", "value": scheme}]
    opened.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": features})
    opened.execute_script(source)
    found = opened.execute_async_script("axe.run().then(arguments[0])")
    opened.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": []})
    assert len(found["passes"]) > 20
    broken = [(rule["id"], node["html"]) for rule in found["violations"] for node in rule["nodes"]]
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


def test_long_names_without_spaces_fit_a_phone(browser, tmp_path):
    rng = np.random.default_rng(0)
    long = "a_name_without_spaces_that_is_wider_than_the_screen_of_any_telephone"
    X = pd.DataFrame(rng.normal(size=(80, 6)), columns=[f"{long}_{place}" for place in range(6)])
    y = pd.Series(X.iloc[:, 0] > 0, name=f"{long}_target").map({True: f"{long}_yes", False: "no"})
    found = compare(
        X, y, ["HSIC filter", "PCA"], judge=GaussianNB(), cv=3, dimensions=[2], random_state=0
    )
    resize(browser, 380, 900)
    browser.get(found.to_html(tmp_path / "long.html", title=long * 2).as_uri())
    widths = "return [document.documentElement.scrollWidth, innerWidth]"
    assert browser.execute_script(widths) == [380, 380]
