"""Chromium without a window, for pages as their readers have them."""

import os
import shutil
from pathlib import Path
from typing import Any

import pytest
from selenium.webdriver import Chrome, ChromeOptions
from selenium.webdriver.chrome.service import Service
from selenium.webdriver.support.wait import WebDriverWait

__all__ = ["Browser"]

_SECONDS = 60
_SWITCHES = (
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--disable-dev-shm-usage",
    "--hide-scrollbars",
)


class Browser:
    """A browser, and what tests ask of it.

    Parameters
    ----------
    folder : empty, for the browser's own files.
    """

    def __init__(self, folder: Path):
        options = ChromeOptions()
        options.binary_location = _program("chromium")
        for switch in (*_SWITCHES, f"--user-data-dir={folder}"):
            options.add_argument(switch)
        options.set_capability("goog:loggingPrefs", {"browser": "ALL"})
        self.driver = Chrome(options=options, service=Service(_program("chromedriver")))

    def close(self) -> None:
        """End it."""
        self.driver.quit()

    def open(self, page: Path, *, width: int = 1200, dark: bool = False) -> None:
        """Open a page, as wide as a screen, and wait until its charts are drawn."""
        self.tell(
            "Emulation.setDeviceMetricsOverride",
            width=width,
            height=900,
            deviceScaleFactor=1,
            mobile=width < 500,
        )
        self.media(dark=dark)
        self.driver.get(page.as_uri())
        self.wait("[...document.querySelectorAll('figure.chart')].every((f) => f.dataset.drawn)")

    def media(self, kind: str = "screen", *, dark: bool) -> None:
        """Choose light or dark colours, and screen or print."""
        scheme = {"name": "prefers-color-scheme", "value": "dark" if dark else "light"}
        self.tell("Emulation.setEmulatedMedia", media=kind, features=[scheme])

    def tell(self, command: str, **facts: Any) -> Any:
        """Send a command of Chromium's own."""
        return self.driver.execute_cdp_cmd(command, facts)

    def ask(self, expression: str) -> Any:
        """Return the value of an expression in the page."""
        return self.driver.execute_script(f"return {expression}")

    def wait(self, expression: str) -> Any:
        """Return the value of an expression as soon as it is true."""
        return WebDriverWait(self.driver, _SECONDS, 0.02).until(lambda _: self.ask(expression))

    def mouse(self, kind: str, x: float, y: float) -> None:
        """Move the mouse (``mouseMoved``), or press or release its button, in the window."""
        held = {"button": "left", "buttons": int(kind != "mouseReleased"), "clickCount": 1}
        idle = {} if kind == "mouseMoved" else held
        self.tell("Input.dispatchMouseEvent", type=kind, x=x, y=y, **idle)

    def check(self, page: Path, charts: int) -> str:
        """Check a page on narrow and wide screens, light and dark; return its text."""
        for width, dark in ((360, True), (1200, False)):
            self.open(page, width=width, dark=dark)
            assert self.errors() == []
            assert self.ask("document.documentElement.scrollWidth") <= width
            assert self.ask("document.querySelectorAll('.plot svg').length") == charts
        assert self.ask("[...document.images].every((i) => i.complete && i.naturalWidth > 0)")
        text: str = self.ask("document.body.innerText")
        return text

    def errors(self) -> list[str]:
        """Return what scripts and the security policy complained of since it was last asked."""
        return [entry["message"] for entry in self.driver.get_log("browser")]


def _program(name: str) -> str:
    """Find a program; in continuous integration it must be there."""
    found = shutil.which(name)
    if found is None:
        why = f"no {name}, which `make setup` installs for root or with sudo"
        if os.environ.get("CI"):
            pytest.fail(why)
        pytest.skip(why)
    return found
