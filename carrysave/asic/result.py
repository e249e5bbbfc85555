"""Records of what a synthesis found: plain values, with all that they depend on."""

from collections.abc import Mapping
from importlib.metadata import PackageNotFoundError
from importlib.metadata import version as package_version
from typing import Any

from carrysave.asic import sta
from carrysave.asic.liberty.cells import Library
from carrysave.asic.mapping import area
from carrysave.asic.search import BUILD_KEYS, Search
from carrysave.fpga.place import nextpnr_version
from hw.device import family
from hw.emit import yosys

__all__ = ["of_cells", "of_fpga", "rates_of", "versions"]


def of_cells(
    search: Search,
    target: str,
    best: dict[str, Any],
    operations: float | None,
    facts: dict[str, Any],
    more: dict[str, Any] | None = None,
) -> dict[str, Any]:
    """Return the full record of the best point of a search.

    Parameters
    ----------
    search, best : the search, its best point.
    target, operations : name of the library; of a cycle, if they are known.
    facts, more : its power; what a search of more recipes came to.

    Of a library of gate equivalents and FO4, keys end in ``_ge`` and ``_fo4`` instead of ``_um2``
    and ``_ns``; what is in physical units is None.
    """
    variant = search.variants[best["variant"]]
    flow, library, design = variant.flow, variant.flow.library, variant.design
    size = area(best)
    record = {
        "design": design.name if design else flow.design.top,
        "module": flow.design.top,
        "target": target,
        "area_um2": size,
        "cells": sum(row["instances"] * row["cells"] for row in best["hierarchy"]),
        "period_ns": best["period_ns"],
        "fmax_mhz": 1e3 / best["period_ns"],
        **{name: facts[name] for name in ("power_mw", "activity", "annotated", "glitches")},
        "pj_per_mac": facts["pj_per_mac"],
        "energy_parts": facts["energy_parts"],
        **rates_of(operations, best["period_ns"], size, facts["pj_per_mac"]),
        "versions": versions(library),
        **_areas(best, library),
        "critical_path": best["critical_path"],
        **_conditions(best, library),
        "recipe": best["recipe"],
        "delay_target_ns": best["delay_target_ns"],
        "hierarchy_mode": variant.hierarchy,
        "conditions": flow.conditions.describe(library),
        "names": flow.design.names,
        "notes": [
            *_renamed(flow.design.names),
            *library.notes,
            *best["notes"],
            *facts["notes"],
            *_recipes(more),
        ],
        "sweep": _sweep(search, operations),
        "tried": search.tried(),
        "recipe_search": more,
        "hierarchy": best["hierarchy"],
        "netlist": best["netlist"],
        **dict.fromkeys(("placed", "routed", "luts", "ffs", "dsps", "brams")),
        **({"parameters": dict(design.parameters)} if design else {}),
    }
    return _relative(record, operations) if library.relative else record


def _areas(best: dict[str, Any], library: Library) -> dict[str, float]:
    """Return the area of registers, of the rest, and all in thousands of NAND2."""
    size = area(best)
    rows = best["hierarchy"]
    sequential = sum(row["instances"] * row["area_sequential_um2"] for row in rows)
    return {
        "area_sequential_um2": sequential,
        "area_combinational_um2": size - sequential,
        "kge": size / library.nand2.area / 1e3,
    }


def _conditions(best: dict[str, Any], library: Library) -> dict[str, Any]:
    """Return which library it was, and the period at each of its corners."""
    corners = zip((library, *library.corners), best["corners"], strict=True)
    return {
        "corner": None if library.relative else library.corner,
        "library": {"name": library.name, "sha256": library.sha},
        "corners": [
            {"name": one.name, "sha256": one.sha, "period_ns": period} for one, period in corners
        ],
    }


def _sweep(search: Search, operations: float | None) -> list[dict[str, Any]]:
    """Return all points of a search, each once."""
    unique = {(p["recipe"], p["delay_target_ns"], p["variant"]): p for p in search.points}
    return [
        {
            "delay_target_ns": p["delay_target_ns"],
            "recipe": p["recipe"],
            "hierarchy": search.variants[p["variant"]].hierarchy,
            **dict.fromkeys(BUILD_KEYS, search.variants[p["variant"]].build),
            "area_um2": area(p),
            "period_ns": p["period_ns"],
            "gops_per_mm2": rates_of(operations, p["period_ns"], area(p), None)["gops_per_mm2"],
        }
        for p in unique.values()
    ]


def _recipes(more: dict[str, Any] | None) -> list[str]:
    """Say what a search of recipes gained."""
    if more is None:
        return []
    tried, failed = more["trials"], more["failed"]
    lost = f", {failed} of which failed" if failed else ""
    head = f"{tried} recipes tried beyond the fixed list{lost}"
    if more["gain"] <= 0:
        return [f"{head}: none is better than {more['before']['recipe']}"]
    return [
        f"{head}: {100 * more['gain']:.1f} % better with {more['after']['recipe']} than with"
        f" {more['before']['recipe']}; kept, and used from now on"
    ]


_PHYSICAL = (
    "area_um2",
    "area_sequential_um2",
    "area_combinational_um2",
    "period_ns",
    "fmax_mhz",
    "delay_target_ns",
    "gops",
    "gops_per_mm2",
)


def _relative(record: dict[str, Any], operations: float | None) -> dict[str, Any]:
    """Return a record in gate equivalents and FO4, under keys that say so."""
    rate = operations / record["period_ns"] if operations is not None else None
    scaled: dict[str, Any] = _renamed_keys(record)
    for point in scaled["sweep"]:
        del point["gops_per_mm2"]
    return {
        **dict.fromkeys(_PHYSICAL),
        **{key: value for key, value in scaled.items() if key not in _PHYSICAL},
        "operations_per_fo4": rate,
        "operations_per_fo4_kge": rate / record["kge"] if rate is not None else None,
        "notes": [
            *record["notes"],
            "areas in gate equivalents (GE: a NAND2 is 1), times in FO4"
            " (delay of an inverter that drives four), by logical effort: no technology, no"
            " power; a Liberty file has both",
        ],
    }


def _renamed_keys(value: Any) -> Any:
    if isinstance(value, list):
        return [_renamed_keys(one) for one in value]
    if not isinstance(value, dict):
        return value
    return {
        key.removesuffix("_um2") + "_ge"
        if key.endswith("_um2")
        else key.removesuffix("_ns") + "_fo4"
        if key.endswith("_ns")
        else key: _renamed_keys(one)
        for key, one in value.items()
    }


def of_fpga(
    facts: dict[str, Any], top: str, target: str, operations: float | None
) -> dict[str, Any]:
    """Return the record of a design on an FPGA."""
    names = facts["names"]
    facts["notes"] = [*_renamed(names), *facts["notes"]]
    top = next((ours for ours, name in names.items() if name == top), top)
    tools = versions()
    if nextpnr := nextpnr_version(target):
        tools["nextpnr"] = nextpnr
    rates: dict[str, float | None] = rates_of(operations, facts["period_ns"], None, None)
    for name, of in (("gops_per_1000_luts", facts["luts"] / 1000), ("gops_per_dsp", facts["dsps"])):
        rates[name] = rates["gops"] / of if rates["gops"] is not None and of else None
    nothing = dict.fromkeys((
        "area_um2", "power_mw", "activity", "annotated", "glitches", "pj_per_mac", "energy_parts",
        "area_sequential_um2", "area_combinational_um2", "kge", "corner", "library",
        "corners", "delay_target_ns", "hierarchy_mode", "netlist", "placed", "routed",
        "recipe_search",
    ))  # fmt: skip
    return {
        "design": top,
        "module": top,
        "target": target,
        **nothing,
        **facts,
        **rates,
        "versions": tools,
        "recipe": "; ".join(family(target).flow.mapping()),
        "sweep": [],
        "tried": [],
        "hierarchy": [],
    }


def rates_of(
    operations: float | None,
    period_ns: float | None,
    area_um2: float | None,
    pj_per_mac: float | None,
) -> dict[str, float | None]:
    """Return GOPS, GOPS per mm2 and GOPS per W; None where not defined."""
    gops = operations / period_ns if operations is not None and period_ns else None
    return {
        "gops": gops,
        "gops_per_mm2": gops / area_um2 * 1e6 if gops is not None and area_um2 else None,
        "gops_per_w": 2e3 / pj_per_mac if pj_per_mac else None,
    }


def versions(library: Library | None = None) -> dict[str, str]:
    """Return the versions of everything a result depends on."""
    try:
        version = package_version("carrysave")
    except PackageNotFoundError:
        version = "unknown"
    names = {"carrysave": version, "yosys": yosys.version(), "abc": yosys.abc_version()}
    if library is not None:
        names["opensta"] = sta.version()
        names["library"] = f"{library.name} sha256 {library.sha[:16]}"
    return names


def _renamed(names: Mapping[str, str]) -> list[str]:
    """Say what is called otherwise here than in its source, but for what Yosys named."""
    return [f"{ours} is {name!r} in the source" for ours, name in names.items() if name[0] != "$"]
