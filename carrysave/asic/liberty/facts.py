"""What synthesis and timing need to know of the text of a Liberty file."""

import re
from collections.abc import Collection, Set
from dataclasses import asdict
from typing import Any

from carrysave.asic.liberty.cell import Cell, Pin, Register
from carrysave.asic.liberty.odd import STATES, check, is_logic, pins_of, templates_of
from carrysave.asic.liberty.text import Group, parse, read
from carrysave.asic.liberty.units import number, unit
from hw.emit.uncollected import uncollected
from hw.emit.user_files import shown

__all__ = ["facts_of"]

_DELAYS = re.compile(r"\bcell_(rise|fall)\s*\(")


@uncollected()
def facts_of(text: str, unwanted: Collection[str] = ()) -> dict[str, Any]:
    """Return the arguments of ``Library`` that come from the file's text.

    Parameters
    ----------
    text : of the file.
    unwanted : names of cells to leave out.

    Raises
    ------
    ValueError
        If the text is no library, or a number or a unit of the library itself is not what tools can
        have, or if no cell is left.
    """
    plain, library = read(text)
    given = library.attributes
    farads = unit("capacitive_load_unit", given.get("capacitive_load_unit", "1,pf"), "f")
    seconds = unit("time_unit", given.get("time_unit", "1ns"), "s")
    cells = _Cells(plain, library, farads * 1e15)
    for group in library.all("cell"):
        cells.add(group, wanted=group.name not in unwanted)
    if not cells.facts:
        odd = cells.odd
        why = f": {odd[0][0]} at line {odd[0][1]} cannot be used: {odd[0][2]}" if odd else ""
        raise ValueError(f"library must have cells, not {library.name!r} without any{why}")
    return {
        "name": library.name,
        "time_unit": seconds,
        "capacitance_unit": farads,
        "corner": _corner(library),
        "cells": cells.facts,
        "odd": cells.odd,
        "others": cells.others,
        "cuts": cells.cuts,
    }


class _Cells:
    """The cells of a library.

    Members
    -------
    facts : of those that can be used.
    odd : those that cannot: name, line, why.
    others : names of those that are no logic.
    cuts : where the text has cells that tools shall not see.
    """

    def __init__(self, plain: str, library: Group, femtofarads: float) -> None:
        self.plain, self.femtofarads = plain, femtofarads
        self.templates, self.timed = templates_of(library), bool(_DELAYS.search(plain))
        self.lines: dict[str, int] = {}
        self.facts: list[dict[str, Any]] = []
        self.odd: list[tuple[str, int, str]] = []
        self.others: list[str] = []
        self.cuts: list[tuple[int, int]] = []

    def add(self, group: Group, *, wanted: bool) -> None:
        """Read one."""
        try:
            if group.name in self.lines:
                raise ValueError(f"a cell of its name is at line {self.lines[group.name]}")
            if group.broken:
                raise ValueError(group.broken)
            whole = _whole(self.plain, group)
            facts = asdict(_cell(whole, self.femtofarads))
            logic = is_logic(whole)
            if logic:
                check(whole, self.templates, self.timed)
        except ValueError as error:
            self.odd.append((shown(group.name, 60), group.line, str(error)))
            self.cuts.append((group.start, group.end))
            return
        self.lines[group.name] = group.line
        if not logic:
            self.others.append(group.name)
        if not logic or not wanted:
            self.cuts.append((group.start, group.end))
        else:
            self.facts.append(facts)


def _corner(library: Group) -> dict[str, float | str | None]:
    """Return process, voltage and temperature: of the conditions by default, else the nominal."""
    conditions = {group.name: group for group in library.all("operating_conditions")}
    default = library.attributes.get("default_operating_conditions")
    chosen = conditions.get(default or "") or next(iter(conditions.values()), None)
    corner: dict[str, float | str | None] = {"name": chosen.name if chosen else None}
    for key in ("process", "voltage", "temperature"):
        value = library.attributes.get(f"nom_{key}")
        if chosen and key in chosen.attributes:
            value = chosen.attributes[key]
        corner[key] = None if value is None else number(key, value)
    return corner


def _whole(plain: str, cell: Group) -> Group:
    """Return a cell with its timing and power; these of all cells would take too much memory."""
    text = f"library (part) {{ {plain[cell.start : cell.end]} }}"
    return parse(text, frozenset({"pg_pin", "test_cell"}), cell.line).groups[0]


def _check_name(kind: str, name: str, legal: str) -> None:
    """Refuse a name that scripts of Yosys, ABC and OpenSTA cannot quote."""
    if not re.fullmatch(legal, name, re.ASCII):
        raise ValueError(f"name{kind} must be letters, digits and _, not {name!r}")


def _cell(group: Group, femtofarads: float) -> Cell:
    _check_name("", group.name, r"[A-Za-z_]\w*")
    flags = {name: value.lower() == "true" for name, value in group.attributes.items()}
    pins, roles = [], {}
    for pin in pins_of(group):
        # A range is a bus of a memory.
        _check_name(" of a pin", pin.name, r"[A-Za-z_]\w*(\[\d+(:\d+)?\])?")
        farads = {
            what: number(f"{what} of pin {pin.name}", pin.attributes[what], 0) * femtofarads
            for what in ("capacitance", "max_capacitance")
            if what in pin.attributes
        }
        pins.append(
            Pin(
                name=pin.name,
                direction=pin.attributes.get("direction", "internal"),
                capacitance=farads.get("capacitance", 0.0),
                max_capacitance=farads.get("max_capacitance"),
                function=pin.attributes.get("function"),
                clock=pin.attributes.get("clock") == "true",
                three_state="three_state" in pin.attributes,
            )
        )
        for role in ("clock", "enable", "out", "test"):
            if pin.attributes.get(f"clock_gate_{role}_pin") == "true":
                roles[role] = pin.name
    style = group.attributes.get("clock_gating_integrated_cell")
    return Cell(
        name=group.name,
        area=number("area", group.attributes.get("area", "0"), 0),
        pins=tuple(pins),
        sequential=bool(style) or any(each.kind in STATES for each in group.groups),
        dont_use=flags.get("dont_use", False),
        gate={"style": style, **roles}
        if style and {"clock", "enable", "out"} <= set(roles)
        else None,
        register=_register(group),
        asynchronous=_asynchronous(group, {pin.name for pin in pins}),
    )


def _asynchronous(cell: Group, pins: Set[str]) -> tuple[str, ...]:
    texts = [
        state.attributes.get(kind, "")
        for state in cell.groups
        if state.kind in {"ff", "latch", "ff_bank", "latch_bank"}
        for kind in ("clear", "preset")
    ]
    return tuple(sorted(pins & set(re.findall(r"[A-Za-z_]\w*", " ".join(texts)))))


def _register(cell: Group) -> Register | None:
    registers = list(cell.all("ff"))
    if len(registers) != 1 or not {"clocked_on", "next_state"} <= set(registers[0].attributes):
        return None
    if {"clear", "preset", "clocked_on_also"} & set(registers[0].attributes):
        return None
    state, _, inverse = registers[0].name.partition(",")
    return Register(
        state=state.strip(),
        inverse=inverse.strip(),
        clocked_on=registers[0].attributes["clocked_on"],
        next_state=registers[0].attributes["next_state"],
    )
