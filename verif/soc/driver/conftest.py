"""The C driver, compiled once, and drivers of either language."""

from functools import cache
from pathlib import Path
from typing import Any

import pytest

from verif.soc.driver import c_driver
from verif.soc.driver.c_driver_stream import stream_sources
from verif.soc.driver.driver_rig import SPECS, Rig


@pytest.fixture(scope="session")
def library(tmp_path_factory: pytest.TempPathFactory) -> Any:
    return _library(tmp_path_factory.getbasetemp() / "driver")


@cache
def _library(folder: Path) -> Any:
    """Compile it: once for all files of tests that have the fixture, each of which is one more."""
    folder.mkdir()
    return c_driver.load(c_driver.compile_driver(folder, stream_sources(folder)))


@pytest.fixture(params=["python", "c"])
def rig(request: pytest.FixtureRequest, library: Any) -> Any:
    def make(spec: str = "int8", **features: bool) -> Rig:
        return Rig(request.param, library, SPECS[spec], **features)

    return make
