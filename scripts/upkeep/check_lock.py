"""Says which pinned package does not take this Python, before any is downloaded.

``check_lock.py requirements.txt``: with pip alone installed. Exit code 1 if there is one.
"""

import platform
import re
import sys
from collections.abc import Iterator
from pathlib import Path

from pip._vendor.packaging.markers import Marker, default_environment
from pip._vendor.packaging.specifiers import SpecifierSet

__all__ = ["Pin", "pins", "refusals"]

_PIN = re.compile(
    r"(?P<name>[\w.-]+)==(?P<version>[\w.]+)(; (?P<marker>[^#]+?))?(  # (?P<need>.*))?"
)


class Pin:
    """A line of the lock: a package, its version, where it is wanted, and the Python it needs."""

    def __init__(self, line: str):
        match = _PIN.fullmatch(line)
        if match is None:
            raise ValueError(f"pin must be NAME==VERSION; MARKER  # NEED, not {line!r}")
        self.name, self.version = match["name"], match["version"]
        self.marker, self.need = match["marker"], match["need"] or ""

    def wanted(self, python: str) -> bool:
        """Return whether it is for a Python, such as 3.11.2."""
        short = ".".join(python.split(".")[:2])
        environment = {"python_full_version": python, "python_version": short}
        # Not positional: pip's copies differ in what comes first.
        return not self.marker or Marker(self.marker).evaluate({
            **default_environment(),
            **environment,
        })

    def takes(self, python: str) -> bool:
        """Return whether it works with a Python, as it says itself."""
        return SpecifierSet(self.need).contains(python, prereleases=True)


def pins(text: str) -> Iterator[Pin]:
    """Yield the pins of a lock."""
    for line in text.splitlines():
        if line and not line.startswith("#"):
            yield Pin(line)


def refusals(text: str, python: str) -> list[str]:
    """Return what a lock has that a Python is too old or too new for, in words."""
    return [
        f"{pin.name} {pin.version} needs Python {pin.need}, and here is {python}"
        for pin in pins(text)
        if pin.wanted(python) and not pin.takes(python)
    ]


if __name__ == "__main__":
    wrong = refusals(Path(sys.argv[1]).read_text(), platform.python_version())
    for one in wrong:
        print(one)
    sys.exit(bool(wrong))
