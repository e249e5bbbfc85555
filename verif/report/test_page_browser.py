"""Pages in a browser: no errors, sorting, hovering, selecting, narrow screens, colours."""

import re
from pathlib import Path
from typing import Any

import pytest
from selenium.webdriver.common.by import By
from selenium.webdriver.common.keys import Keys
from selenium.webdriver.remote.webelement import WebElement

from carrysave.report.page import Page, Picture, Scatter, Text, write
from carrysave.report.tables import Section
from carrysave.report.traces import Trace
from carrysave.report.waves import draw
from verif.support.browser import Browser

HOSTILE = "</script><script>throw 1</script><img src=x onerror=alert(1)>\"'&\x1b[2J"
ROWS = [
    ("a10", 3.0, 400.0, 0.5, "one"),
    ("a9", 1.0, 90_000.0, 1.0, "two"),
    (HOSTILE, 2.0, 60_000.0, None, "one"),
    ("a2", 2.5, 70_000.0, 0.25, "two"),
]
COLUMNS = (
    "design",
    ("period", "{:.2f} ns", "less"),
    ("area", "{:,.0f} um2", "less"),
    ("covered", "{:.0%}", "more", 1.0),
    "kind",
)
TABLE = Section("points", COLUMNS, ROWS)
SUMS = Section("sums", ("part", ("um2", "{:,.0f}")), [("x", 2), ("y", 1), ("all", 3)], 1, 1)
WAVES = [
    Trace("clk", 1, tuple((5.0 * place, "10"[place % 2]) for place in range(20))),
    Trace("i_data", 8, ((0.0, "xxxxxxxx"), (20.0, "10100101"))),
]
PICTURE = b'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 9 9"><path d="M1 1h7v7z"/></svg>'
PAGE = Page(
    title="carrysave of a very_long_name_of_a_module_that_has_no_place_to_break_a_line_in_it",
    command=f"carrysave {HOSTILE}",
    versions={"yosys": "0.70", "a": "x" * 80},
    summary=[("area", "40,000 um2")],
    says="what it is",
    parts=[
        Scatter(TABLE, "period", "area", "kind", [0], "chosen", [("guide", [(1, 5e4), (3, 8e4)])]),
        SUMS,
        Text("notes", [HOSTILE]),
        Picture("waves", draw(WAVES, 0, 100, mark=90), "waves", width=700),
        Picture("floor plan", PICTURE, "a floor plan", width=700),
    ],
)


@pytest.fixture(scope="module")
def page(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write(tmp_path_factory.mktemp("page") / "a.html", PAGE)


def cells(browser: Browser, place: int, table: str = "part0-table") -> list[str]:
    """Texts of a column, of the rows that are shown."""
    rows = f"[...document.getElementById('{table}').tBodies[0].rows]"
    found: list[str] = browser.ask(
        f"{rows}.filter((r) => !r.hidden).map((r) => r.cells[{place}].textContent)"
    )
    return found


def points(browser: Browser) -> list[WebElement]:
    """Return the points of the chart, in the order of their rows."""
    own = ".plot svg g.mark-symbol.role-mark path[aria-roledescription='point']"
    found = browser.driver.find_elements(By.CSS_SELECTOR, own)
    assert len(found) == len(ROWS) + 1  # and the ring
    return found[:-1]


def middle(element: WebElement) -> tuple[float, float]:
    box: dict[str, float] = element.parent.execute_script(
        "arguments[0].scrollIntoView({block: 'nearest'});"
        "return arguments[0].getBoundingClientRect().toJSON()",
        element,
    )
    return box["x"] + box["width"] / 2, box["y"] + box["height"] / 2


@pytest.mark.parametrize("width", [360, 1200])
@pytest.mark.parametrize("dark", [False, True])
def test_page_has_no_errors_and_needs_nothing(
    browser: Browser, page: Path, width: int, dark: bool
) -> None:
    browser.open(page, width=width, dark=dark)
    assert browser.errors() == []
    assert not browser.ask(
        "performance.getEntriesByType('resource').map((r) => r.name)"
        ".filter((n) => !n.startsWith('data:'))"
    )
    assert browser.ask("document.title") == PAGE.title
    shown = HOSTILE.replace("\x1b", "\\x1b")
    assert cells(browser, 0)[2] == shown
    assert browser.ask("document.querySelector('.lines').textContent").strip() == shown
    # The page is as wide as the screen, and what is wider scrolls in itself.
    assert browser.ask("document.documentElement.scrollWidth") <= width
    wide = "[...document.querySelectorAll('.wide')].filter((w) => w.scrollWidth > w.clientWidth)"
    assert browser.ask(f"{wide}.length > 0") == (width == 360)
    assert browser.ask(f"{wide}.every((w) => w.tabIndex === 0 && w.ariaLabel)")
    assert browser.ask("[...document.images].every((i) => i.complete && i.naturalWidth > 0)")


def test_page_that_breaks_is_seen(browser: Browser, page: Path, tmp_path: Path) -> None:
    broken = tmp_path / "b.html"
    broken.write_text(page.read_text().replace('"use strict";', '"use strict"; nothing();', 1))
    browser.driver.get(broken.as_uri())
    assert "nothing is not defined" in "".join(browser.errors())
    broken.write_text(page.read_text().replace("<main>", "<main><img src='http://127.0.0.1/'>", 1))
    browser.driver.get(broken.as_uri())
    assert "Content Security Policy" in "".join(browser.errors())


def test_table_sorts(browser: Browser, page: Path) -> None:
    browser.open(page)
    heads = browser.driver.find_elements(By.CSS_SELECTOR, "#part0-table thead th")
    period, covered = heads[1], heads[3]
    button = period.find_element(By.TAG_NAME, "button")
    assert button.text == "period, ns"
    wanted = [
        ("ascending", ["1.00", "2.00", "2.50", "3.00"]),
        ("descending", ["3.00", "2.50", "2.00", "1.00"]),
        ("none", ["3.00", "1.00", "2.00", "2.50"]),
    ]
    for order, texts in wanted:
        button.click()
        assert (period.get_attribute("aria-sort"), cells(browser, 1)) == (order, texts)
    heads[2].find_element(By.TAG_NAME, "button").click()
    assert cells(browser, 2) == ["400", "60,000", "70,000", "90,000"]
    # By the keyboard; what is missing comes last both ways, and names are in natural order.
    other = covered.find_element(By.TAG_NAME, "button")
    other.send_keys(Keys.ENTER)
    assert cells(browser, 3) == ["25%", "50%", "100%", "-"]
    other.send_keys(Keys.SPACE)
    assert cells(browser, 3) == ["100%", "50%", "25%", "-"]
    heads[0].find_element(By.TAG_NAME, "button").click()
    assert [name for name in cells(browser, 0) if name[0] == "a"] == ["a2", "a9", "a10"]
    assert covered.get_attribute("aria-sort") == "none"
    # Totals stay.
    sums = browser.driver.find_element(By.CSS_SELECTOR, "#part1-table thead th:nth-child(2) button")
    sums.click()
    assert cells(browser, 1, "part1-table") == ["1", "2"]
    assert browser.ask("document.querySelector('#part1-table tfoot').textContent.trim()") == "all3"


def test_hover_shows_the_point_and_its_row(browser: Browser, page: Path) -> None:
    browser.open(page)
    for number, (name, period, area, _, kind) in enumerate(ROWS):
        browser.mouse("mouseMoved", *middle(points(browser)[number]))
        tip = browser.wait(
            "(t => t?.classList.contains('visible') && t.innerText)"
            "(document.getElementById('vg-tooltip-element'))"
        )
        for text in (name.replace("\x1b", "\\x1b"), f"{period:.2f}", f"{area:,.0f}", kind):
            assert text in tip
        hot = browser.wait(
            "(h => h.length === 1 && h[0].cells[1].textContent)"
            "([...document.querySelectorAll('#part0-table tr.hot')])"
        )
        assert hot == f"{period:.2f}"
        browser.mouse("mouseMoved", 1, 1)
        browser.wait("!document.querySelector('#vg-tooltip-element').classList.contains('visible')")
    assert browser.errors() == []


def test_row_shows_the_point(browser: Browser, page: Path) -> None:
    browser.open(page)

    def sizes() -> list[float]:
        return [
            float(browser.driver.execute_script("return arguments[0].getBBox().width", point))
            for point in points(browser)
        ]

    plain = sizes()
    row = browser.driver.find_element(By.CSS_SELECTOR, "#part0-table tbody tr:nth-child(2)")
    browser.mouse("mouseMoved", *middle(row))
    browser.wait("document.querySelector('#part0-table tbody tr:nth-child(2)').matches(':hover')")
    assert [now > before for now, before in zip(sizes(), plain, strict=True)] == [
        False,
        True,
        False,
        False,
    ]


def test_rectangle_selects_rows(browser: Browser, page: Path) -> None:
    browser.open(page)
    first, second = points(browser)[2], points(browser)[3]
    (left, top), (right, bottom) = sorted([middle(first), middle(second)])
    up, down = min(top, bottom) - 14, max(top, bottom) + 14
    browser.mouse("mouseMoved", left - 14, up)
    browser.mouse("mousePressed", left - 14, up)
    for part in (0.5, 1.0):
        browser.tell(
            "Input.dispatchMouseEvent",
            type="mouseMoved",
            button="left",
            buttons=1,
            x=left - 14 + part * (right - left + 28),
            y=up + part * (down - up),
        )
    browser.mouse("mouseReleased", right + 14, down)
    browser.wait("document.querySelector('output').textContent")
    assert browser.ask("document.querySelector('output').textContent") == "2 of 4 rows selected"
    assert cells(browser, 1) == ["2.00", "2.50"]
    browser.driver.find_element(By.NAME, "all").click()
    browser.wait("document.querySelector('output').textContent === ''")
    assert len(cells(browser, 1)) == len(ROWS)


def test_axes_can_be_chosen(browser: Browser, page: Path) -> None:
    browser.open(page)
    paths = "document.querySelectorAll('.plot g.mark-line path')"
    lines = f"[...{paths}].map((path) => path.getAttribute('d'))"
    drawn = browser.ask(lines)
    assert len(drawn) == 2  # front and guide
    assert len(re.findall("[ML]", max(drawn, key=len))) == 3  # of the points, a2 is beaten
    select = browser.driver.find_element(By.NAME, "x")
    assert [one.text for one in select.find_elements(By.TAG_NAME, "option")] == [
        "period, ns",
        "area, um2",
        "covered",
    ]
    select.send_keys("covered")
    browser.wait("document.querySelector('figure.chart').dataset.drawn === '3,2'")
    titles = browser.ask(
        "[...document.querySelectorAll('.plot .role-axis-title text')].map((t) => t.textContent)"
    )
    assert set(titles) == {"covered", "area, um2"}
    labels = browser.ask(
        "[...document.querySelectorAll('.plot .role-axis-label text')].map((t) => t.textContent)"
    )
    assert "40%" in labels
    assert len(browser.ask(lines)) == 1  # the guide is of other axes
    assert browser.errors() == []


def brightness(colour: str) -> float:
    """Relative luminance, as WCAG has it."""
    parts = [int(part) / 255 for part in re.findall(r"\d+", colour)[:3]]
    red, green, blue = (
        part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts
    )
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


def colour(browser: Browser, selector: str, of: str) -> Any:
    return browser.ask(f"getComputedStyle(document.querySelector(`{selector}`))['{of}']")


TEXTS = {
    "h1": "color",
    "header p": "color",
    "#part0-table td": "color",
    "figcaption .hint": "color",
    ".plot .role-axis-label text": "fill",
    ".plot .role-axis-title text": "fill",
    ".plot .role-legend-label text": "fill",
    ".waves .time": "fill",
    ".waves .said": "fill",
    ".versions dt": "color",
}


@pytest.mark.parametrize("dark", [False, True])
def test_colours_are_those_of_the_screen(browser: Browser, page: Path, dark: bool) -> None:
    browser.open(page, dark=dark)
    paper = brightness(colour(browser, "body", "background-color"))
    assert (paper < 0.05) == dark
    assert (paper > 0.9) == (not dark)
    for selector, of in TEXTS.items():
        ink = brightness(colour(browser, selector, of))
        contrast = (max(ink, paper) + 0.05) / (min(ink, paper) + 0.05)
        assert contrast >= 4.5, (selector, contrast)
    for number in range(10):
        browser.driver.execute_script(
            f"document.querySelector('output').style.color = 'var(--c{number})'"
        )
        ink = brightness(colour(browser, "output", "color"))
        assert (max(ink, paper) + 0.05) / (min(ink, paper) + 0.05) >= 3, number
    # On paper it is light, whatever the screen.
    browser.media("print", dark=dark)
    assert brightness(colour(browser, "body", "background-color")) > 0.9
    assert brightness(colour(browser, "#part0-table td", "color")) < 0.05
    assert brightness(colour(browser, ".plot .role-axis-title text", "fill")) < 0.05
    assert colour(browser, ".axes", "display") == "none"


def test_tables_say_what_they_are(browser: Browser, page: Path) -> None:
    browser.open(page)
    for query, count in (
        ("#part0-table thead th[scope=col][aria-sort]", len(COLUMNS)),
        ("#part0-table tbody th[scope=row]", len(ROWS)),
        ("html[lang=en]", 1),
        ("main", 1),
        ("h1", 1),
        (".plot[aria-label='area, um2 over period, ns']", 1),
        ("img[alt='a floor plan']", 1),
    ):
        assert len(browser.driver.find_elements(By.CSS_SELECTOR, query)) == count, query


def test_page_without_scripts_has_its_figures(browser: Browser, page: Path) -> None:
    browser.tell("Emulation.setScriptExecutionDisabled", value=True)
    try:
        browser.driver.get(page.as_uri())
        table = browser.driver.find_element(By.ID, "part0-table")
        assert "90,000" in table.text
        assert "JavaScript" in browser.driver.find_element(By.TAG_NAME, "noscript").text
    finally:
        browser.tell("Emulation.setScriptExecutionDisabled", value=False)
