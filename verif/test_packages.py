"""The packages that carrysave stands on: how many the core has, and what extras bring."""

import re
import tomllib
from importlib.metadata import requires
from pathlib import Path

from packaging.requirements import Requirement

import carrysave
from carrysave.errors import EXTRAS, package_of

ROOT = Path(carrysave.__file__).parents[1]
MOST_PACKAGES = 50
"""That whoever installs the core gets with it."""


def test_the_core_is_few_packages() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    wanted = [Requirement(each) for each in project["dependencies"]]
    core: set[str] = set()
    while wanted:
        name = wanted.pop().name.lower().replace("_", "-")
        if name not in core:
            core.add(name)
            behind = map(Requirement, requires(name) or ())
            wanted += [each for each in behind if not each.marker or each.marker.evaluate()]
    assert len(core) <= MOST_PACKAGES, sorted(core)


def test_extras_have_what_is_missing_without_them() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    extras = project["optional-dependencies"]
    lock = (ROOT / "requirements.txt").read_text().lower()
    assert set(EXTRAS) == set(extras) - {"dev"}
    for extra, modules in EXTRAS.items():
        other = re.findall(r"^carrysave\[(\w+)\]$", extras[extra][0])
        own = [one for name in (extra, *other) for one in extras[name]]
        for package in map(package_of, modules):
            # FuseSoC brings it.
            wanted = {"pyyaml": "fusesoc"}.get(package, package)
            assert any(re.match(rf"{wanted}\b", one) for one in own), (extra, package)
            assert not any(re.match(rf"{package}\b", one) for one in project["dependencies"])
            # Torch, of 4 GB, is not with what tests need.
            assert (f"\n{package}==" in lock) == (extra != "torch")
