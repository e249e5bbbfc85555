"""The studio in a browser: by the keyboard, on a narrow screen, in dark colours."""

import re
from collections.abc import Iterator

import pytest
from selenium.webdriver.common.action_chains import ActionChains
from selenium.webdriver.common.by import By
from selenium.webdriver.common.keys import Keys
from selenium.webdriver.support.wait import WebDriverWait

from carrysave.api.design import Design
from verif.studio.conftest import Client
from verif.support.browser import Browser

NARROW = 400


def size(browser: Browser, width: int, *, dark: bool) -> None:
    browser.tell(
        "Emulation.setDeviceMetricsOverride",
        width=width,
        height=900,
        deviceScaleFactor=1,
        mobile=width < 500,
    )
    browser.media(dark=dark)


@pytest.fixture
def page(browser: Browser, studio: Client) -> Iterator[Browser]:
    """Give the browser the cookie, and a narrow dark screen."""
    size(browser, NARROW, dark=True)
    browser.errors()
    browser.driver.get(studio.url)
    assert browser.ask("location.search") == ""
    yield browser
    assert browser.errors() == []


def press(browser: Browser, *keys: str) -> None:
    ActionChains(browser.driver).send_keys(*keys).perform()


def focused(browser: Browser) -> str:
    return str(browser.ask("document.activeElement.id || document.activeElement.textContent"))


def tab_to(browser: Browser, name: str) -> None:
    """Press the key until something has the focus."""
    for _ in range(120):
        if focused(browser).strip() == name:
            return
        press(browser, Keys.TAB)
    pytest.fail(f"{name} is not reached, but {focused(browser)}")


def goto(browser: Browser, studio: Client, path: str) -> None:
    browser.driver.get(f"http://127.0.0.1:{studio.port}{path}")


def test_values_are_looked_at_as_they_are_typed(page: Browser, studio: Client) -> None:
    goto(page, studio, "/design/mac")
    legal = Design("mac").entry.parameters["a_width"].legal
    tab_to(page, "p-a_width")
    press(page, "9", "9")
    page.wait("document.getElementById('p-a_width-error').textContent")
    said = page.ask("document.getElementById('p-a_width-error').textContent")
    assert said == f"a_width must be {legal}, not 99"
    assert page.ask("document.getElementById('p-a_width').getAttribute('aria-invalid')") == "true"
    assert page.ask("document.getElementById('lines')") is None
    assert page.ask("document.getElementById('problem').textContent").startswith("1 value is")
    # The keyboard stays where it was, and the address is of what is shown.
    assert focused(page) == "p-a_width"
    press(page, Keys.BACKSPACE, Keys.BACKSPACE, "4")
    page.wait("document.getElementById('lines')")
    assert "mac -p a_width=4" in page.ask("document.getElementById('lines').textContent")
    assert page.ask("document.getElementById('p-a_width-error').textContent") == ""
    assert page.ask("location.search") == "?a_width=4"


def test_page_fits_narrow_screens_and_has_labels(page: Browser, studio: Client) -> None:
    for path in ("/", "/design/systolic_os", "/design/systolic_os?m=99999"):
        for width, dark in ((NARROW, True), (1200, False)):
            size(page, width, dark=dark)
            goto(page, studio, path)
            assert page.ask("document.documentElement.scrollWidth") <= width
            paper = page.ask("getComputedStyle(document.body).backgroundColor")
            levels = [int(level) for level in re.findall(r"\d+", paper)[:3]]
            assert (max(levels) < 60) == dark
            unlabelled = page.ask(
                "[...document.querySelectorAll('input, select')]"
                ".filter((one) => one.labels.length !== 1).map((one) => one.name)"
            )
            assert unlabelled == []
            # The order of the keyboard is that of the page.
            assert (
                page.ask("document.querySelectorAll('[tabindex]:not([tabindex=\"0\"])').length")
                <= 1
            )


def test_blocks_waves_and_verilog_by_the_keyboard(page: Browser, studio: Client) -> None:
    goto(page, studio, "/design/lmul")
    for button, done in (
        ("Draw its blocks", "#h-blocks"),
        ("Run a few transactions", "#h-waves"),
        ("Make the Verilog", "#h-verilog"),
    ):
        tab_to(page, button)
        press(page, Keys.ENTER)
        page.wait(f"document.querySelector('{done}')")
        page.wait("document.getElementById('job').dataset.state === 'done'")
        assert focused(page) == button
        assert "done in" in page.ask("document.getElementById('job-said').textContent")
    page.wait("[...document.images].every((one) => one.complete && one.naturalWidth > 0)")
    assert page.ask("document.querySelectorAll('.made').length") == 3
    assert page.ask("document.querySelector('.drawing svg .bit') !== null")
    assert "--transactions 4" in page.ask("document.getElementById('lines').textContent")
    link = page.driver.find_element(By.CSS_SELECTOR, ".made a[href$='.zip']")
    assert "lmul.zip" in link.text
    assert page.ask("document.documentElement.scrollWidth") <= NARROW


@pytest.mark.prove
def test_page_without_scripts_does_the_same(page: Browser, studio: Client) -> None:
    page.tell("Emulation.setScriptExecutionDisabled", value=True)
    try:
        goto(page, studio, "/design/opt1")
        page.driver.find_element(By.ID, "p-a_width").send_keys("99", Keys.ENTER)
        WebDriverWait(page.driver, 60).until(lambda driver: "a_width=99" in driver.current_url)
        assert "a_width must be" in page.driver.find_element(By.ID, "p-a_width-error").text
        box = page.driver.find_element(By.ID, "p-a_width")
        box.clear()
        box.send_keys("4")
        page.driver.find_element(By.CSS_SELECTOR, "[formaction$='/verilog']").click()
        WebDriverWait(page.driver, 60).until(lambda driver: "a_width=4" in driver.current_url)
        WebDriverWait(page.driver, 60).until(lambda _: studio.status()["state"] != "running")
        page.driver.refresh()
        assert "opt1_a_width4.zip" in page.driver.find_element(By.CSS_SELECTOR, ".made a").text
    finally:
        page.tell("Emulation.setScriptExecutionDisabled", value=False)


@pytest.mark.prove
def test_a_job_can_be_stopped(page: Browser, studio: Client) -> None:
    goto(page, studio, "/design/coprocessor")
    tab_to(page, "Run a few transactions")
    press(page, Keys.ENTER)
    page.wait("document.getElementById('job-bar').hidden === false")
    tab_to(page, "stop")
    press(page, Keys.ENTER)
    page.wait("document.getElementById('job-said').textContent.includes('not wanted')")
    assert page.ask("document.getElementById('job-bar').hidden")
