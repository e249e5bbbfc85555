"""What `make setup` installs is for every Python that is supported, and for Debian 12."""

import platform
import re
import runpy
import subprocess
import sys
from importlib import metadata
from pathlib import Path
from typing import Any

import pytest

import carrysave

ROOT = Path(carrysave.__file__).parents[1]
LOCKED = runpy.run_path(str(ROOT / "scripts" / "upkeep" / "check_lock.py"))
pins, refusals = LOCKED["pins"], LOCKED["refusals"]
LOCK = (ROOT / "requirements.txt").read_text()
LOWEST, HIGHEST = "3.11.2", "3.13.0"
"""Debian 12's, and the last one of `requires-python`."""
GLIBC = 36
"""Debian 12's, behind the 2."""
PLATFORMS = {"any", "linux_x86_64", *(f"manylinux{one}_x86_64" for one in ("1", "2010", "2014"))}
COMPILED = {
    "cocotb==2.1.0",
    "coloquinte==0.4.1",
    "fastcrc==0.5.0",
    "gdstk==1.0.2",
    "markupsafe==3.0.4",
    "ml-dtypes==0.6.0",
    "msgpack==1.2.4",
    "nanobind-backend==1.0.0",
    "onnx==1.23.2",
    "pyosys==0.70",
    "universal-dtypes==2.5.1",
}
"""What is compiled for one version of Python and says nothing of others: pip was asked for both."""


def installed() -> list[tuple[Any, metadata.Distribution]]:
    """Return what of the lock is for this Python."""
    wanted = [pin for pin in pins(LOCK) if pin.wanted(platform.python_version())]
    return [(pin, metadata.distribution(pin.name)) for pin in wanted]


def fits(tag: str, python: str) -> bool:
    """Return whether a wheel's tag is of a Python in Debian 12, on x86-64."""
    interpreter, abi, system = tag.split("-")
    minor = int(python.split(".")[1])
    number = re.fullmatch(r"(cp|py)3(\d*)", interpreter)
    if number is None:
        return False
    if number[1] == "cp" and abi != "abi3":
        if int(number[2]) != minor:
            return False
    elif number[2] and int(number[2]) > minor:
        return False
    glibc = re.fullmatch(r"manylinux_2_(\d+)_x86_64", system)
    return int(glibc[1]) <= GLIBC if glibc else system in PLATFORMS


def test_lock_says_what_packages_say() -> None:
    for pin, found in installed():
        assert pin.version == found.version, pin.name
        (need,) = found.metadata.get_all("Requires-Python") or [""]
        need = need.replace(" ", "")
        assert pin.need == need, f"{pin.name}=={pin.version}  # {need}"


@pytest.mark.parametrize("python", [LOWEST, HIGHEST])
def test_no_pin_excludes_a_python(python: str) -> None:
    assert refusals(LOCK, python) == []
    own = platform.python_version().split(".")[:2]
    for pin, found in installed():
        if not pin.wanted(python):
            continue
        tags = re.findall(r"(?m)^Tag: (\S+)", found.read_text("WHEEL") or "")
        # Debian 12's pip builds what has its source alone without a wheel, for whatever is here.
        if not tags or any(fits(tag, python) for tag in tags):
            continue
        # Another file of it is for another Python; this one must be for this Python.
        assert python.split(".")[:2] != own, (pin.name, tags)
        assert any(fits(tag, ".".join(own)) for tag in tags), (pin.name, tags)
        known = [one.rpartition(" ")[2] for one in found.metadata.get_all("Classifier") or ()]
        named = f"{pin.name}=={pin.version}"
        assert python.rpartition(".")[0] in known or named in COMPILED, named


def test_highest_and_lowest_are_what_the_project_says() -> None:
    text = (ROOT / "pyproject.toml").read_text()
    assert 'requires-python = ">=3.11,<3.14"' in text


@pytest.mark.parametrize(
    ("line", "says"),
    [
        (
            "soupsieve==4.1.3  # >=3.11.5",
            "soupsieve 4.1.3 needs Python >=3.11.5, and here is 3.11.2",
        ),
        ("old==1  # <3.11", "old 1 needs Python <3.11, and here is 3.11.2"),
        ('new==1; python_version < "3.12"  # >=3.12', "new 1 needs Python >=3.12, and"),
        ('other==1; python_version >= "3.12"  # >=3.12', ""),
        ("any==1", ""),
        ("tests==1  # !=3.0.*,>=2.7", ""),
    ],
)
def test_setup_names_what_excludes_this_python(line: str, says: str) -> None:
    found = refusals(f"# a comment\n{line}\n", LOWEST)
    assert [one.startswith(says) for one in found] == ([True] if says else [])


def test_setup_says_it_before_pip_begins(tmp_path: Path) -> None:
    lock = tmp_path / "requirements.txt"
    lock.write_text("six==1.17.0\nsoupsieve==9.9.9  # >=3.99\n")
    program = ROOT / "scripts" / "upkeep" / "check_lock.py"
    done = subprocess.run(
        [sys.executable, program, lock], capture_output=True, text=True, check=False
    )
    here = platform.python_version()
    assert done.returncode == 1
    assert done.stdout == f"soupsieve 9.9.9 needs Python >=3.99, and here is {here}\n"
    setup = (ROOT / "scripts" / "upkeep" / "setup.sh").read_text()
    assert setup.index("scripts/upkeep/check_lock.py") < setup.index("-m pip")
