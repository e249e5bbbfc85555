"""What synthesis and timing need to know of the text of a Liberty file."""

import math
import re
from collections.abc import Iterator, Set
from dataclasses import asdict

from carrysave.asic.liberty.cell import Cell, Pin, Register
from carrysave.asic.liberty.text import Group

__all__ = ["facts_of", "number", "unit"]

_MOST = 1e30  # magnitude of any number, in the file's units
_UNITS = {"": 1.0, "m": 1e-3, "u": 1e-6, "n": 1e-9, "p": 1e-12, "f": 1e-15}


def number(name: str, text: str, low: float = -_MOST, high: float = _MOST) -> float:
    """Return a number of a Liberty file.

    Raises
    ------
    ValueError
        If it is none, not finite or not in the range.
    """
    try:
        value = float(text)
    except ValueError:
        value = math.nan
    if not low <= value <= high:
        raise ValueError(f"{name} must be {low:g}..{high:g}, not {text!r}")
    return value


def unit(name: str, text: str, symbol: str) -> float:
    """Return a unit such as 10ps in terms of its symbol; the errors of :func:`number`."""
    found = re.fullmatch(rf'"?\s*([^\s,"munpf]+)[\s,"]*([munpf]?){symbol}\s*"?', text, re.I)
    if found is None:
        raise ValueError(f"{name} must be like 1n{symbol}, not {text!r}")
    return number(name, found[1], 1e-6, 1e6) * _UNITS[found[2].lower()]


def facts_of(library: Group) -> dict[str, object]:
    """Return the arguments of ``Library`` that come from the file's text.

    Raises
    ------
    ValueError
        If a number, a unit or a name is not what tools can have, or if there are no cells.
    """
    given = library.attributes
    farads = unit("capacitive_load_unit", given.get("capacitive_load_unit", "1,pf"), "f")
    seconds = unit("time_unit", given.get("time_unit", "1ns"), "s")
    cells = [asdict(_cell(group, farads * 1e15)) for group in library.all("cell")]
    if not cells:
        raise ValueError(f"library must have cells, not {library.name!r} without any")
    conditions = {group.name: group for group in library.all("operating_conditions")}
    default = library.attributes.get("default_operating_conditions")
    chosen = conditions.get(default or "") or next(iter(conditions.values()), None)
    corner: dict[str, float | str | None] = {"name": chosen.name if chosen else None}
    for key in ("process", "voltage", "temperature"):
        value = library.attributes.get(f"nom_{key}")
        if chosen and key in chosen.attributes:
            value = chosen.attributes[key]
        corner[key] = None if value is None else number(key, value)
    return {
        "name": library.name,
        "time_unit": seconds,
        "capacitance_unit": farads,
        "corner": corner,
        "cells": cells,
    }


def _check_name(kind: str, name: str, legal: str) -> None:
    """Refuse what the scripts of Yosys, ABC and OpenSTA cannot have as a word."""
    if not re.fullmatch(legal, name, re.ASCII):
        raise ValueError(f"name of a {kind} must be letters, digits and _, not {name!r}")


def _cell(group: Group, femtofarads: float) -> Cell:
    _check_name("cell", group.name, r"[A-Za-z_]\w*")
    flags = {name: value.lower() == "true" for name, value in group.attributes.items()}
    pins, roles = [], {}

    def farads(what: str, text: str) -> float:
        return number(f"{what} of {group.name}", text, 0) * femtofarads

    for pin in _pins(group):
        _check_name(f"pin of {group.name}", pin.name, r"[A-Za-z_]\w*(\[\d+\])?")
        limit = pin.attributes.get("max_capacitance")
        pins.append(Pin(
            name=pin.name,
            direction=pin.attributes.get("direction", "internal"),
            capacitance=farads("capacitance", pin.attributes.get("capacitance", "0")),
            max_capacitance=None if limit is None else farads("max_capacitance", limit),
            function=pin.attributes.get("function"),
            clock=pin.attributes.get("clock") == "true",
            three_state="three_state" in pin.attributes,
        ))  # fmt: skip
        for role in ("clock", "enable", "out", "test"):
            if pin.attributes.get(f"clock_gate_{role}_pin") == "true":
                roles[role] = pin.name
    style = group.attributes.get("clock_gating_integrated_cell")
    return Cell(
        name=group.name,
        area=number(f"area of {group.name}", group.attributes.get("area", "0"), 0),
        pins=tuple(pins),
        sequential=bool(style) or any(g.kind in {"ff", "latch", "statetable", "ff_bank",
                                                 "latch_bank"} for g in group.groups),
        dont_use=flags.get("dont_use", False),
        gate={"style": style, **roles} if style and {"clock", "enable", "out"} <= set(roles)
        else None,
        register=_register(group),
        asynchronous=_asynchronous(group, {pin.name for pin in pins}),
    )  # fmt: skip


def _asynchronous(cell: Group, pins: Set[str]) -> tuple[str, ...]:
    texts = [
        state.attributes.get(kind, "")
        for state in cell.groups if state.kind in {"ff", "latch", "ff_bank", "latch_bank"}
        for kind in ("clear", "preset")
    ]  # fmt: skip
    return tuple(sorted(pins & set(re.findall(r"[A-Za-z_]\w*", " ".join(texts)))))


def _register(cell: Group) -> Register | None:
    found = list(cell.all("ff"))
    if len(found) != 1 or not {"clocked_on", "next_state"} <= set(found[0].attributes):
        return None
    if {"clear", "preset", "clocked_on_also"} & set(found[0].attributes):
        return None
    state, _, inverse = found[0].name.partition(",")
    return Register(
        state=state.strip(), inverse=inverse.strip(),
        clocked_on=found[0].attributes["clocked_on"],
        next_state=found[0].attributes["next_state"],
    )  # fmt: skip


def _pins(group: Group) -> Iterator[Group]:
    """Yield the pins of a cell, those inside ``bus`` and ``bundle`` groups included."""
    for sub in group.groups:
        if sub.kind == "pin":
            for name in sub.name.split(","):
                yield Group("pin", name.strip(), sub.attributes, sub.groups)
        elif sub.kind in {"bus", "bundle"}:
            yield from _pins(sub)
