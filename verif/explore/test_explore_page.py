"""The page of a search: what is estimated beside what was measured, and axes that select rows."""

import math
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from selenium.webdriver.common.action_chains import ActionChains
from selenium.webdriver.common.by import By
from selenium.webdriver.common.keys import Keys

import carrysave
from carrysave import jobs
from carrysave.api.exploration import Exploration
from carrysave.asic.options import SynthesisOptions
from carrysave.exploration import run as runs
from carrysave.report.page import write
from verif.support.browser import Browser
from verif.support.schemas import check

TABLE: dict[str, Any] = {
    "designs": ["mac", "opt1"],
    "parameters": {"a_width": [2, 3, 4, 5, 6, 8], "b_width": [2, 3, 4, 6, 8]},
    "constraints": {"all": ["a_width >= b_width"]},
}
NAMES = ("gops", "area_um2")
TRIALS = 16
POINTS = "[...document.querySelectorAll('.plot g.mark-symbol.role-mark path')]"
ROWS = "[...document.querySelectorAll('#part0-table tbody tr')]"
HANDLE = "document.querySelector('.parallel [aria-label=\"{}\"]')"


def measure(name: str, parameters: dict[str, Any]) -> dict[str, Any]:
    """Return figures that need no tool: more bits are larger and slower."""
    a, b = parameters["a_width"], parameters["b_width"]
    factor = 1.3 if name == "opt1" else 1.0
    return {"gops": factor * 9 / math.log(a + b), "area_um2": factor * 90.0 * (a * b + 4)}


@pytest.fixture(scope="module")
def found(tmp_path_factory: pytest.TempPathFactory) -> Exploration:
    def job(design: Any, target: Any, options: SynthesisOptions, *, facts: Any) -> jobs.Job:
        arguments = {"name": design.name, "parameters": dict(design.parameters)}
        return jobs.Job(function=measure, arguments=arguments, facts=facts)

    folder = tmp_path_factory.mktemp("found")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(runs, "design_job", job)
        with jobs.session(jobs.Options(jobs=1, store=folder / "store.sqlite")):
            options = carrysave.ExploreOptions(
                objective=NAMES, method="random", verify="none", trials=TRIALS
            )
            result = carrysave.explore(TABLE, target="osu018", options=options)
    check("explore", result.save(folder)[1])
    return result


@pytest.fixture(scope="module")
def page(found: Exploration, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write(tmp_path_factory.mktemp("page") / "a.html", found.page())


def shown(browser: Browser) -> int:
    return int(browser.ask(f"{ROWS}.filter((row) => !row.hidden).length"))


def test_estimates_are_of_what_was_not_measured(found: Exploration) -> None:
    """All of it, with intervals that nearly all hold, the most promising first."""
    guesses = found["estimated"]
    rows = guesses["points"]
    modules = {row["module"] for row in rows}
    assert guesses["left"] == len(rows) == found["space_points"] - TRIALS
    assert not modules & {row["module"] for row in found.points}
    inside = []
    for row in rows:
        for name, due in measure(row["design"], row["parameters"]).items():
            one = row["figures"][name]
            assert one["low"] < one["estimate"] < one["high"]
            inside.append(one["low"] <= due <= one["high"])
    assert np.mean(inside) >= 0.85
    # Beaten are those that another one is better than in one figure, and worse in none.
    costs = [(-row["gops"], row["area_um2"]) for row in found.points]
    costs += [
        (-row["figures"]["gops"]["estimate"], row["figures"]["area_um2"]["estimate"])
        for row in rows
    ]
    for row, cost in zip(rows, costs[TRIALS:], strict=True):
        better = [one for one in costs if one != cost and one[0] <= cost[0] and one[1] <= cost[1]]
        assert row["beaten"] == len(better)
    assert [row["beaten"] for row in rows] == sorted(row["beaten"] for row in rows)


@pytest.mark.parametrize(("width", "dark"), [(400, True), (1200, False)])
def test_measured_and_estimated_are_told_apart(
    browser: Browser, found: Exploration, page: Path, width: int, dark: bool
) -> None:
    browser.open(page, width=width, dark=dark)
    assert browser.errors() == []
    assert browser.ask("document.documentElement.scrollWidth") <= width
    assert not browser.ask(
        "performance.getEntriesByType('resource').filter((r) => !r.name.startsWith('data:')).length"
    )
    paper = browser.ask("getComputedStyle(document.body).backgroundColor")
    assert (max(int(level) for level in re.findall(r"\d+", paper)[:3]) < 60) == dark
    count = len(found["estimated"]["points"])
    marks = "document.querySelectorAll('.plot g.mark-{} path[aria-roledescription=\"{}\"]').length"
    points = browser.ask(marks.format("symbol.role-mark", "point"))
    assert points == TRIALS + count + found["front"]
    assert (
        browser.ask("document.querySelectorAll('.plot g.mark-rule.role-mark line').length")
        >= 2 * count
    )
    hollow = ".filter((p) => p.getAttribute('fill-opacity') === '0').length"
    assert browser.ask(f"{POINTS}{hollow}") == count
    assert browser.ask("document.querySelectorAll('.plot .role-legend').length") == 1
    for text in ("measured", "estimated, and its interval"):
        assert text in browser.ask("document.querySelector('.chart figcaption').innerText")
    # No estimate is of the front, and the table has all of them, with their intervals.
    heads = browser.ask(
        "[...document.querySelectorAll('#part0-table thead th')].map((h) => h.innerText)"
    )
    place = heads.index("known by")
    known = browser.ask(f"{ROWS}.map((row) => row.cells[{place}].innerText)")
    assert known == ["measured"] * TRIALS + ["estimated"] * count
    low = browser.ask(
        f"{ROWS}.map((row) => row.cells[{heads.index('gops, from')}].dataset.v ?? null)"
    )
    assert low[:TRIALS] == [None] * TRIALS
    assert [float(one) for one in low[TRIALS:]] == pytest.approx([
        row["figures"]["gops"]["low"] for row in found["estimated"]["points"]
    ])
    facts = "JSON.parse(document.querySelector('figure.chart script').textContent)"
    fronts = browser.ask(f"{facts}.fronts")
    assert all(max(rows) < TRIALS for rows in fronts.values())
    axes = browser.ask(f"{facts}.axes.map((one) => {facts}.titles[one])")
    assert "gops, from" not in axes
    assert browser.ask("document.querySelectorAll('.parallel .rows path').length") == TRIALS + count
    assert browser.ask("document.querySelectorAll('.parallel .rows .estimated').length") == count
    assert (
        browser.ask("document.querySelectorAll('.parallel .rows .marked').length") == found["front"]
    )


def test_axes_select_rows_by_the_keyboard(browser: Browser, found: Exploration, page: Path) -> None:
    """From 4 bits on; then up to 5; Escape gives the axis back, the button all."""
    browser.open(page)
    total = found["space_points"]
    widths = [row["values"]["a_width"] for row in (*found.points, *found["estimated"]["points"])]
    low, high = (
        browser.driver.execute_script(f"return {HANDLE.format(name)}")
        for name in ("a_width, from", "a_width, to")
    )
    assert shown(browser) == total
    browser.driver.execute_script("arguments[0].focus()", low)
    low.send_keys(Keys.ARROW_UP, Keys.ARROW_UP)
    assert (low.get_attribute("aria-valuetext"), low.get_attribute("aria-valuenow")) == ("4", "2")
    assert shown(browser) == sum(width >= 4 for width in widths)
    high.send_keys(Keys.ARROW_DOWN, Keys.ARROW_DOWN)
    inside = sum(4 <= width <= 5 for width in widths)
    assert shown(browser) == inside
    assert browser.ask("document.querySelectorAll('.parallel .rows .off').length") == total - inside
    assert (
        browser.ask("document.querySelector('.parallel output').textContent")
        == f"{inside} of {total} rows selected"
    )
    # The points of the others are pale, too; an end does not pass the other one.
    pale = f"{POINTS}.filter((p) => Number(getComputedStyle(p).opacity) < 0.5).length"
    browser.wait(f"{pale} === {total - inside}")
    low.send_keys(Keys.END)
    assert low.get_attribute("aria-valuetext") == high.get_attribute("aria-valuetext") == "5"
    # Axes together: those of one design.
    kind = browser.driver.execute_script(f"return {HANDLE.format('design, to')}")
    kind.send_keys(Keys.ARROW_DOWN)
    names = [row["design"] for row in (*found.points, *found["estimated"]["points"])]
    both = sum(name == "mac" and width == 5 for name, width in zip(names, widths, strict=True))
    assert 0 < both == shown(browser) < inside
    low.send_keys(Keys.ESCAPE)
    assert shown(browser) == sum(name == "mac" for name in names)
    browser.driver.find_element(By.CSS_SELECTOR, ".parallel button").click()
    assert shown(browser) == total
    assert browser.ask("document.querySelector('.parallel output').textContent") == ""
    browser.wait(f"{pale} === 0")
    assert browser.errors() == []


def test_axes_select_rows_by_the_mouse(browser: Browser, found: Exploration, page: Path) -> None:
    """A drag along an axis, with a rectangle in the chart beside it; a click undoes it."""
    browser.open(page)
    total, gops = found["space_points"], [row["gops"] for row in found.points]
    gops += [row["figures"]["gops"]["estimate"] for row in found["estimated"]["points"]]
    axes = "[...document.querySelectorAll('.parallel .axis')]"
    strip = f"{axes}.find((a) => a.textContent.startsWith('gops')).querySelector('.strip')"
    browser.ask(f"{strip}.scrollIntoView({{block: 'center', inline: 'center'}})")
    box = browser.ask(f"{strip}.getBoundingClientRect().toJSON()")
    x, top, high = box["x"] + box["width"] / 2, box["y"] + 4, box["height"] - 8
    browser.mouse("mousePressed", x, top - 3)
    browser.mouse("mouseMoved", x, top + high / 4)
    browser.mouse("mouseMoved", x, top + high / 2)
    browser.mouse("mouseReleased", x, top + high / 2)
    least = (max(gops) + min(gops)) / 2
    wanted = sum(one >= least for one in gops)
    assert 0 < wanted < total
    assert shown(browser) == wanted
    # Rows that were sorted keep their lines, and are selected by their own figures.
    browser.driver.find_element(By.CSS_SELECTOR, "#part0-table thead button").click()
    assert shown(browser) == wanted
    browser.driver.execute_script(f"{HANDLE.format('a_width, from')}.focus()")
    ActionChains(browser.driver).send_keys(Keys.ARROW_UP, Keys.ARROW_DOWN).perform()
    left = browser.ask(f"{ROWS}.filter((row) => !row.hidden).map((row) => row.cells[4].dataset.v)")
    assert len(left) == wanted
    assert all(float(one) >= least for one in left)
    assert browser.ask("document.querySelectorAll('.parallel .rows .off').length") == total - wanted
    # A click is no drag, though a value is there.
    browser.ask(f"{strip}.scrollIntoView({{block: 'center', inline: 'center'}})")
    box = browser.ask(f"{strip}.getBoundingClientRect().toJSON()")
    x, top = box["x"] + box["width"] / 2, box["y"] + 4
    browser.mouse("mousePressed", x, top)
    browser.mouse("mouseReleased", x, top)
    assert shown(browser) == total


def test_page_has_sliders_of_the_model_that_ships(found: Exploration, page: Path) -> None:
    """Of another target it says how a model is made."""
    assert 'class="what-if"' in page.read_text()
    facts = {**found.facts, "target": "ecp5"}
    text = write(page.with_name("b.html"), Exploration(facts).page()).read_text()
    assert 'class="what-if"' not in text
    assert "carrysave estimate --fit --target ecp5" in text
    assert "what_if" not in text
