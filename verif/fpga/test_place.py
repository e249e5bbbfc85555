"""What is read of place and route: pure functions, on reports made by hand."""

import json
from pathlib import Path
from typing import Any

import pytest

from carrysave.fpga import place
from carrysave.fpga.wrapper import TOP
from hw.device import family


def routed(monkeypatch: pytest.MonkeyPatch, folder: Path, facts: dict[str, Any]) -> dict[str, Any]:
    """Return what a seed finds, when nextpnr reports these facts."""
    netlist = folder / "wrapper.json"
    netlist.write_text(json.dumps({"modules": {TOP: {"cells": {}, "netnames": {}}}}))
    monkeypatch.setattr(place, "nextpnr", lambda *_: facts)
    part = family("ecp5").flow.parts[0].name
    return place.run_seed("ecp5", part, netlist, {}, 1, [])


@pytest.mark.parametrize(
    ("clocks", "fmax"),
    [({}, None), ({"clk": 90.5}, 90.5), ({"a": 333.0, "clk": 90.5, "b": 120.0}, 90.5)],
)
def test_fmax_is_that_of_the_slowest_clock(
    clocks: dict[str, float], fmax: float | None, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    facts = {"fmax": {name: {"achieved": mhz} for name, mhz in clocks.items()}}
    found = routed(monkeypatch, tmp_path, facts)
    assert found == {"fmax_mhz": fmax, "critical_path": []}


@pytest.mark.parametrize(
    ("timed", "chosen"),
    [([], None), ([5.0], 5.0), ([9.0, 5.0], 5.0), ([9.0, 5.0, 7.0], 7.0), ([1.0, 4, 2, 3], 2)],
)
def test_the_median_is_the_lower_of_the_middle_two(
    timed: list[float], chosen: float | None
) -> None:
    found = place.median([{"fmax_mhz": None}, *({"fmax_mhz": mhz} for mhz in timed)])
    assert (None if found is None else found["fmax_mhz"]) == chosen
