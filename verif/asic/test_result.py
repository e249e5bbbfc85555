"""Records of syntheses: rates, gains and units, on figures made by hand."""

from types import SimpleNamespace
from typing import Any

import pytest

from carrysave.asic import result, sta
from carrysave.asic.result import of_cells, of_fpga, rates_of
from hw.emit import yosys


@pytest.mark.parametrize(
    ("given", "due"),
    [
        ((8.0, 4.0, 1000.0, 0.5), (2.0, 2000.0, 4000.0)),
        ((8.0, 4.0, None, None), (2.0, None, None)),
        ((8.0, 4.0, 0.0, 0.0), (2.0, None, None)),
        ((8.0, None, 1000.0, 0.5), (None, None, 4000.0)),
        ((8.0, 0.0, 1000.0, 0.5), (None, None, 4000.0)),
        ((None, 4.0, 1000.0, None), (None, None, None)),
        ((0.0, 4.0, 1000.0, None), (0.0, 0.0, None)),
    ],
)
def test_rates_are_by_time_area_and_energy(given: tuple[Any, ...], due: tuple[Any, ...]) -> None:
    """8 operations in 4 ns on 1000 um2; 2 operations are one product."""
    found = rates_of(*given)
    assert found == dict(zip(("gops", "gops_per_mm2", "gops_per_w"), due, strict=True))


_VERSIONS = result.versions


def test_versions_are_those_of_what_was_used(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(yosys, "abc_version", lambda: "ABC")
    monkeypatch.setattr(sta, "version", lambda: "2.0")
    assert set(_VERSIONS()) == {"carrysave", "yosys", "abc"}
    library: Any = SimpleNamespace(name="lib", sha="0123456789abcdef" * 4)
    found = _VERSIONS(library)
    assert (found["opensta"], found["library"]) == ("2.0", "lib sha256 0123456789abcdef")


@pytest.fixture(autouse=True)
def no_tools(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(result, "versions", lambda *_: {"carrysave": "0"})
    monkeypatch.setattr(result, "nextpnr_version", lambda target: {"ecp5": "7"}.get(target))


def of_device(target: str = "ecp5", **changed: Any) -> dict[str, Any]:
    found = {
        "names": {"top_": "top", "x_": "x", "made": "$y"},
        "notes": ["slow"],
        "period_ns": 4.0,
        "luts": 500,
        "dsps": 2,
    }
    return of_fpga(found | changed, "top", target, 8.0)


def test_rates_on_a_device_are_by_tables_and_blocks() -> None:
    found = of_device()
    assert (found["design"], found["target"]) == ("top_", "ecp5")
    rates = found["gops"], found["gops_per_1000_luts"], found["gops_per_dsp"]
    assert rates == (2.0, 4.0, 1.0)
    assert found["notes"] == ["top_ is 'top' in the source", "x_ is 'x' in the source", "slow"]
    assert found["versions"] == {"carrysave": "0", "nextpnr": "7"}
    assert found["recipe"].startswith("synth_ecp5")
    assert (found["gops_per_mm2"], found["gops_per_w"], found["area_um2"]) == (None,) * 3
    none = of_device("xilinx7", dsps=0, luts=0)
    assert (none["gops"], none["gops_per_dsp"], none["gops_per_1000_luts"]) == (2.0, None, None)
    assert none["versions"] == {"carrysave": "0"}
    unplaced = of_device(period_ns=None)
    assert (unplaced["gops"], unplaced["gops_per_dsp"]) == (None, None)


def searched(*, relative: bool) -> tuple[Any, dict[str, Any]]:
    """Return a search whose best point is the second of two, and that point."""
    corner = {"voltage": 1.8}
    other = SimpleNamespace(name="slow", sha="b")
    library: Any = SimpleNamespace(
        name="lib",
        sha="a",
        relative=relative,
        corner=corner,
        corners=(other,),
        nand2=SimpleNamespace(area=5.0),
        notes=["odd"],
    )
    flow = SimpleNamespace(
        library=library,
        design=SimpleNamespace(top="top", names={}),
        conditions=SimpleNamespace(describe=lambda own: {"of": own.name}),
    )
    variants = [
        SimpleNamespace(flow=flow, hierarchy=one, build={"n": one}, design=None)
        for one in ("flat", "coarse")
    ]

    def point(target: float, variant: int, areas: tuple[float, float]) -> dict[str, Any]:
        whole, inside = areas
        rows = [
            {
                "module": "top",
                "instances": 1,
                "cells": 4,
                "area_um2": whole,
                "area_sequential_um2": 10.0,
            },
            {
                "module": "pe",
                "instances": 3,
                "cells": 5,
                "area_um2": inside,
                "area_sequential_um2": 20.0,
            },
        ]
        return {
            "recipe": "tree",
            "delay_target_ns": target,
            "variant": variant,
            "hierarchy": rows,
            "period_ns": 2.0 * target,
            "critical_path": ["path"],
            "notes": ["note"],
            "netlist": "text",
            "corners": [2.0, 3.0],
        }

    points = [point(1.0, 0, (40.0, 90.0)), point(2.0, 1, (100.0, 50.0))]
    search: Any = SimpleNamespace(
        variants=variants, points=[*points, dict(points[1])], tried=lambda: [{"points": 3}]
    )
    return search, points[1]


POWER: dict[str, Any] = {
    "power_mw": 1.0,
    "activity": "random",
    "annotated": 1.0,
    "glitches": None,
    "pj_per_mac": 0.5,
    "energy_parts": None,
    "notes": ["power"],
}


def test_areas_of_a_record_are_of_all_instances() -> None:
    search, best = searched(relative=False)
    found = of_cells(search, "lib", best, 8.0, POWER)
    assert (found["area_um2"], found["cells"], found["kge"]) == (250.0, 19, 0.05)
    assert (found["area_sequential_um2"], found["area_combinational_um2"]) == (70.0, 180.0)
    assert (found["period_ns"], found["fmax_mhz"], found["gops"]) == (4.0, 250.0, 2.0)
    assert (found["gops_per_mm2"], found["gops_per_w"]) == (8000.0, 4000.0)
    assert found["corners"] == [
        {"name": "lib", "sha256": "a", "period_ns": 2.0},
        {"name": "slow", "sha256": "b", "period_ns": 3.0},
    ]
    assert found["corner"] == {"voltage": 1.8}
    assert (found["hierarchy_mode"], found["design"]) == ("coarse", "top")
    assert found["notes"] == ["odd", "note", "power"]
    rows = [
        (one["hierarchy"], one["area_um2"], one["period_ns"], one["gops_per_mm2"])
        for one in found["sweep"]
    ]
    assert rows == [("flat", 310.0, 2.0, pytest.approx(4e6 / 310)), ("coarse", 250.0, 4.0, 8000.0)]


def test_every_corner_has_a_period() -> None:
    search, best = searched(relative=False)
    with pytest.raises(ValueError, match="shorter"):
        of_cells(search, "lib", best | {"corners": [2.0]}, 8.0, POWER)


def test_records_of_the_generic_library_are_in_gates_and_fo4() -> None:
    search, best = searched(relative=True)
    found = of_cells(search, "generic", best, 8.0, POWER)
    assert (found["area_ge"], found["period_fo4"], found["area_um2"]) == (250.0, 4.0, None)
    assert (found["gops"], found["fmax_mhz"], found["corner"]) == (None, None, None)
    assert (found["operations_per_fo4"], found["operations_per_fo4_kge"]) == (2.0, 40.0)
    assert [one["area_ge"] for one in found["hierarchy"]] == [100.0, 50.0]
    assert all("gops_per_mm2" not in one for one in found["sweep"])
    assert "gates and FO4" not in found["notes"][0]
    assert "by logical effort: no technology" in found["notes"][-1]
    unknown = of_cells(search, "generic", best, None, POWER)
    assert (unknown["operations_per_fo4"], unknown["operations_per_fo4_kge"]) == (None, None)


@pytest.mark.parametrize(
    ("gain", "failed", "says"),
    [
        (0.0, 0, "9 recipes tried beyond the fixed list: none is better than old"),
        (
            0.0,
            2,
            "9 recipes tried beyond the fixed list, 2 of which failed: none is better than old",
        ),
        (
            0.125,
            0,
            "9 recipes tried beyond the fixed list: 12.5 % better with new than with old;"
            " kept, and used from now on",
        ),
    ],
)
def test_what_a_search_of_recipes_gained_is_told(gain: float, failed: int, says: str) -> None:
    search, best = searched(relative=False)
    more = {
        "trials": 9,
        "failed": failed,
        "gain": gain,
        "before": {"recipe": "old"},
        "after": {"recipe": "new"},
    }
    found = of_cells(search, "lib", best, 8.0, POWER, more)
    assert found["notes"] == ["odd", "note", "power", says]
    assert found["recipe_search"] is more
