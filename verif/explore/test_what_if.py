"""What-if sliders: the page's script says what ``carrysave estimate`` says, to the last digits."""

import itertools
import json
from pathlib import Path
from typing import Any

import pytest
from selenium.webdriver.common.by import By
from selenium.webdriver.common.keys import Keys
from selenium.webdriver.remote.webelement import WebElement

from carrysave.errors import UsageError
from carrysave.exploration.estimate import Estimator, Measured, shipped
from carrysave.exploration.what_if import facts
from carrysave.report.page import Page, WhatIf, write
from hw.catalog import Design
from verif.support.browser import Browser

FORM = "document.querySelector('form.what-if')"
CLOSE = 1e-6
"""Relative: of what is printed, the fifth digit is the last."""


@pytest.fixture(scope="module")
def shipped_model() -> Estimator:
    path = shipped("osu018")
    assert path is not None
    return Estimator.read(path)


@pytest.fixture(scope="module")
def page(shipped_model: Estimator, tmp_path_factory: pytest.TempPathFactory) -> Path:
    start = {"design": "cube", "parameters": {"m": 4, "n": 4, "k": 2, "k_max": 1024}}
    part = WhatIf("what if", facts(shipped_model, start))
    path = tmp_path_factory.mktemp("page") / "a.html"
    return write(path, Page("title", "command", {"carrysave": "1"}, [part]))


def asked(browser: Browser, what: str, designs: list[Design], names: list[str]) -> list[Any]:
    """Return what the script says of designs, as the form gives them: of the model's traits."""
    wanted = [
        [one.name, {key: value for key, value in one.parameters.items() if key in names}]
        for one in designs
    ]
    script = f"const m = {FORM}.model; return arguments[0].map((one) => m.{what}(...one));"
    answers: list[Any] = browser.driver.execute_script(script, wanted)
    return answers


def names_of(form: dict[str, Any], design: str) -> list[str]:
    return [one["name"] for one in form["designs"][design]]


def near(designs: list[Design], model: Estimator) -> list[Design]:
    """Return designs of all kinds that the model has, in shapes that it has and that it has not."""
    made = []
    for design in {one.name: one for one in designs}.values():
        sides = [name for name in ("m", "n", "k") if name in design.parameters]
        for values in itertools.product((1, 2, 3, 5, 8), repeat=len(sides)):
            changed = dict(zip(sides, values, strict=True))
            made.append(Design(design.name, {**design.parameters, **changed}))
    return [one for one in made if refusal(model, one) is None]


def refusal(model: Estimator, design: Design) -> str | None:
    try:
        model._check(design)
    except UsageError as error:
        return str(error)
    return None


def test_numbers_are_those_of_the_command(
    browser: Browser, page: Path, shipped_model: Estimator
) -> None:
    """Of measured designs and of others: estimate and ends of intervals of each figure."""
    browser.open(page)
    measured = [one.design for one in shipped_model.measured]
    designs = [*measured[::6], *near(measured, shipped_model)]
    known = [shipped_model.has_shape(one) for one in designs]
    assert len(designs) > 100
    assert 60 < sum(known) < len(known) - 20
    form = facts(shipped_model)
    for name in form["designs"]:
        some = [one for one in designs if one.name == name]
        assert len(some) > 5
        answers = asked(browser, "estimate", some, names_of(form, name))
        for answer, due in zip(answers, shipped_model.guess(some), strict=True):
            assert answer.keys() == due.keys() == {"area_um2", "period_ns", "power_mw", "gops"}
            for figure, parts in due.items():
                assert answer[figure] == pytest.approx(parts, rel=CLOSE)


def test_other_models(browser: Browser, tmp_path: Path) -> None:
    """One without shapes, with a design that has what others have not, and a figure that is 0."""
    designs = [Design("mac", {"a_width": a, "b_width": b}) for a in range(2, 7) for b in (3, 5)]
    designs += [Design("opt2", {"k": k, "a_width": a}) for k in (2, 3, 4) for a in (4, 5, 6, 8)]
    measured = [
        Measured(one, {"area_um2": 9.0 * number + 5, "luts": float(number % 3)})
        for number, one in enumerate(designs)
    ]
    model = Estimator.fit("osu018", "none", {}, measured)
    form = facts(model)
    assert form["start"] == {"design": "mac", "parameters": {}}
    path = write(tmp_path / "a.html", Page("t", "c", {}, [WhatIf("what if", form)]))
    browser.open(path)
    assert browser.errors() == []
    for name in ("mac", "opt2"):
        some = [one for one in designs if one.name == name]
        answers = asked(browser, "estimate", some, names_of(form, name))
        for answer, due in zip(answers, model.guess(some), strict=True):
            for figure, parts in due.items():
                assert answer[figure] == pytest.approx(parts, rel=CLOSE, abs=1e-9)


def test_model_of_one_shape(browser: Browser, tmp_path: Path) -> None:
    """Of others it has no interval of their own: it gives that of its shape."""
    widths = [(a, b) for a in (4, 6, 9, 10, 12) for b in (4, 5, 6, 8)]
    measured = [
        Measured(
            Design("matrix_2d", {"m": 2, "n": 2, "a_width": a, "b_width": b}),
            {"area_um2": 100.0 * a * b + a},
        )
        for a, b in widths
    ]
    model = Estimator.fit("osu018", "none", {}, measured)
    assert model.fits["area_um2"].factor_of_shapes is None
    form = facts(model)
    browser.open(write(tmp_path / "a.html", Page("t", "c", {}, [WhatIf("what if", form)])))
    other = [Design("matrix_2d", {"m": 3, "n": 2, "a_width": 6, "b_width": 5})]
    names = names_of(form, "matrix_2d")
    answers = asked(browser, "estimate", other, names)
    assert answers[0]["area_um2"] == pytest.approx(model.guess(other)[0]["area_um2"], rel=CLOSE)
    # Numbers are in the order of numbers, not of texts.
    wide = Design("matrix_2d", {"m": 2, "n": 2, "a_width": 13, "b_width": 5})
    assert asked(browser, "unknown", [wide], names) == [[refusal(model, wide)]]


def test_what_is_outside_is_so_in_the_same_words(
    browser: Browser, page: Path, shipped_model: Estimator
) -> None:
    """Of each parameter every value beside what was measured, and products of sides."""
    browser.open(page)
    form = facts(shipped_model)
    count = 0
    for name, parameters in form["designs"].items():
        base = {one["name"]: one["default"] for one in parameters}
        designs = []
        for one in parameters:
            values = one.get("choices") or [
                value
                for seen in one["seen"]
                for value in (seen - 1, seen, seen + 1)
                if one["low"] <= value <= one["high"]
            ]
            for value in values:
                try:
                    designs.append(Design(name, {**base, one["name"]: value}))
                except (ValueError, TypeError):
                    continue  # a combination that no design has
        said = asked(browser, "unknown", designs, names_of(form, name))
        for design, lines in zip(designs, said, strict=True):
            assert refusal(shipped_model, design) == (lines[0] if lines else None)
            count += bool(lines)
    assert count > 60


def control(browser: Browser, name: str, design: str = "cube") -> WebElement:
    (found,) = browser.driver.find_elements(
        By.CSS_SELECTOR, f'fieldset[data-design="{design}"] [data-name="{name}"]'
    )
    return found


def cell(browser: Browser, figure: str, place: int) -> str:
    row = f"document.querySelector('.what-if tr[data-figure={figure}]')"
    return str(browser.ask(f"{row}.cells[{place}].textContent"))


def status(browser: Browser) -> str:
    return str(browser.ask(f"{FORM}.querySelector('[role=status]').textContent"))


@pytest.mark.parametrize(("width", "dark"), [(400, True), (1200, False)])
def test_sliders_by_the_keyboard(
    browser: Browser, page: Path, shipped_model: Estimator, width: int, dark: bool
) -> None:
    """Inside, in a shape that was not measured, outside, and not legal; it fits the screen."""
    browser.open(page, width=width, dark=dark)
    assert browser.errors() == []
    assert browser.ask("document.documentElement.scrollWidth") <= width
    unlabelled = (
        f"[...{FORM}.querySelectorAll('input, select')]"
        ".filter((one) => !one.ariaLabel && one.labels.length !== 1).length"
    )
    assert browser.ask(unlabelled) == 0
    assert browser.ask("performance.getEntriesByType('resource').length") == 0

    chosen = {"m": 4, "n": 4, "k": 2, "k_max": 1024, "pe": "opt1", "pipeline": 2}
    due = shipped_model.guess([Design("cube", chosen)])[0]["area_um2"]
    assert browser.ask(f"{FORM}.dataset.state") == "inside"
    shown = [cell(browser, "area_um2", place) for place in (1, 2, 3)]
    assert shown == [f"{due[part]:,.0f}" for part in ("estimate", "low", "high")]

    slider = browser.driver.find_element(By.ID, control(browser, "n").get_attribute("data-twin"))
    assert (slider.get_attribute("min"), slider.get_attribute("max")) == ("1", "8")
    slider.send_keys(Keys.ARROW_LEFT)
    assert control(browser, "n").get_attribute("value") == "3"
    assert "No design of this shape" in status(browser)
    assert cell(browser, "area_um2", 1) not in (shown[0], "-")
    assert "-p n=3" in browser.ask(f"{FORM}.querySelector('code').textContent")

    slider.send_keys(Keys.END)
    assert browser.ask(f"{FORM}.dataset.state") == "outside"
    says = "n of cube must be 2..4, as it was measured for osu018, not 8"
    assert f"Outside what the model knows: {says}" in status(browser)
    assert cell(browser, "area_um2", 1) == "-"

    box = control(browser, "n")
    box.send_keys(Keys.CONTROL + "a")
    box.send_keys("99")
    assert browser.ask(f"{FORM}.dataset.state") == "illegal"
    assert status(browser) == "n must be 1..64 columns, not 99."
    assert box.get_attribute("aria-invalid") == "true"
    box.send_keys(Keys.CONTROL + "a")
    box.send_keys("3.5")
    assert status(browser) == "n must be 1..64 columns, not 3.5."
    box.send_keys(Keys.CONTROL + "a")
    box.send_keys("4")
    assert browser.ask(f"{FORM}.dataset.state") == "inside"
    assert status(browser) == ""

    # Another design has its own parameters, and begins inside what is known.
    browser.driver.find_element(By.NAME, "design").send_keys("digit_column")
    assert browser.ask(f"{FORM}.dataset.state") == "inside"
    assert control(browser, "pe", "digit_column").is_displayed()
    assert not control(browser, "pe").is_displayed()


def test_designs_whose_lanes_are_not_their_sides_are_left_out() -> None:
    """The script multiplies sides: it must not be asked of others."""
    measured = [
        Measured(Design("lut_core", {"n": n, "group": group}), {"area_um2": 10.0 * n + group})
        for n in (1, 2, 3, 4, 5, 6, 7)
        for group in (2, 3, 4)
    ]
    model = Estimator.fit("osu018", "none", {}, measured)
    assert facts(model)["designs"] == {}
    assert json.loads(json.dumps(facts(model)))["rows"]
