"""Finds what is odd in a cell: what tools would misread, or could not read the library for."""

import itertools
import math
import re
from collections.abc import Iterator, Mapping

from carrysave.asic.liberty.functions import compile_function
from carrysave.asic.liberty.text import Group
from carrysave.asic.liberty.units import number

__all__ = ["STATES", "check", "is_logic", "pins_of", "templates_of"]

STATES = frozenset({"ff", "latch", "ff_bank", "latch_bank", "statetable"})
"""Groups that make a cell sequential."""

_DIRECTIONS = ("input", "output", "inout", "internal")
_EXPRESSIONS = (
    "clocked_on",
    "clocked_on_also",
    "next_state",
    "enable",
    "enable_also",
    "data_in",
    "clear",
    "preset",
)
_DELAYS = frozenset({"cell_rise", "cell_fall"})
_TABLES = _DELAYS | {
    "rise_transition",
    "fall_transition",
    "rise_constraint",
    "fall_constraint",
    "rise_power",
    "fall_power",
    "power",
}
_WORDS = re.compile(r"[^\s,]+")
_NAMES = re.compile(r"[A-Za-z_][\w\[\]]*")


def pins_of(group: Group) -> Iterator[Group]:
    """Yield the pins of a cell, those of a ``bus`` or ``bundle`` with what they have from it."""
    for sub in group.groups:
        if sub.kind == "pin":
            for name in sub.name.split(","):
                yield Group("pin", name.strip(), sub.attributes, sub.groups, line=sub.line)
        elif sub.kind in {"bus", "bundle"}:
            given = {"direction", "capacitance"} & set(sub.attributes)
            common = {key: sub.attributes[key] for key in given}
            for pin in pins_of(sub):
                pin.attributes = {**common, **pin.attributes}
                yield pin


def templates_of(library: Group) -> dict[str, Group]:
    """Return the templates of a library's tables, by name."""
    return {group.name: group for group in library.groups if group.kind.endswith("_template")}


def is_logic(cell: Group) -> bool:
    """Return whether a cell has no functions, or one for each output, all of plain inputs.

    Others are legal, such as keepers of buses, pads and what has buses, but ABC stops at them. It
    passes over those with a state or a tri-state.
    """
    pins, every = list(cell.all("pin")), list(pins_of(cell))
    if not any("function" in pin.attributes for pin in pins):
        return True
    if any(group.kind in STATES for group in cell.groups):
        return True
    if any("three_state" in pin.attributes for pin in every):
        return True
    directions = {pin.attributes.get("direction") for pin in every}
    outputs = [pin for pin in pins if pin.attributes.get("direction") == "output"]
    whole = all("function" in pin.attributes for pin in outputs)
    return "inout" not in directions and whole and not _buses(cell)


def _buses(cell: Group) -> set[str]:
    return {group.name for group in cell.groups if group.kind in {"bus", "bundle"}}


def check(cell: Group, templates: Mapping[str, Group], timed: bool) -> None:
    """Check a cell.

    Parameters
    ----------
    cell : with its timing and power.
    timed : whether the cells of the library have delays.

    Raises
    ------
    ValueError
        With what is odd.
    """
    pins = list(pins_of(cell))
    _check_pins(cell, pins)
    states = [state for state in cell.groups if state.kind in STATES]
    logic = bool(states) or any("function" in pin.attributes for pin in pins)
    if logic:
        if "area" not in cell.attributes:
            raise ValueError("it must have an area, as it has a function")
        _check_functions(cell, pins, states, timed)
    names = {pin.name for pin in pins} | _buses(cell)
    for pin in pins:
        for group in pin.groups:
            if group.kind in {"timing", "internal_power"}:
                _check_arc(pin, group, names, templates)


def _check_pins(cell: Group, pins: list[Group]) -> None:
    names: set[str] = set()
    for pin in pins:
        if pin.name in names:
            raise ValueError(f"pin {pin.name} must be there once, not again at line {pin.line}")
        names.add(pin.name)
    function = [pin for pin in pins if "function" in pin.attributes]
    for pin in pins:
        direction = pin.attributes.get("direction", None if function else "internal")
        if direction not in _DIRECTIONS:
            *first, last = _DIRECTIONS
            what = "none" if direction is None else repr(direction)
            raise ValueError(
                f"direction of pin {pin.name} must be {', '.join(first)} or {last}, not {what}"
            )


def _check_functions(cell: Group, pins: list[Group], states: list[Group], timed: bool) -> None:
    """Check the functions of outputs, and of flip-flops and latches."""
    inner = frozenset(_WORDS.findall(" ".join(state.name for state in states)))
    known = inner | _buses(cell) | {pin.name for pin in pins}
    for state in states:
        for key in _EXPRESSIONS:
            _check_expression(f"{key} of {state.kind}", state.attributes.get(key), known)
    for pin in pins:
        for key in ("function", "three_state"):
            _check_expression(f"{key} of pin {pin.name}", pin.attributes.get(key), known)
    if states or any("three_state" in pin.attributes for pin in pins):
        return  # no mapping takes its functions
    inputs = {pin.name for pin in pins if pin.attributes["direction"] == "input"}
    for pin in pins:
        used = set(_NAMES.findall(pin.attributes.get("function", "")))
        if other := sorted(used - inputs):
            raise ValueError(f"function of pin {pin.name} must be one of inputs, not of {other[0]}")
        late = used - set(_starts(pin))
        if timed and late:
            raise ValueError(f"pin {pin.name} must have a delay from {sorted(late)[0]}, not none")


def _starts(pin: Group) -> Iterator[str]:
    """Yield the pins from which a pin has delays."""
    for timing in pin.all("timing"):
        if _DELAYS & {table.kind for table in timing.groups}:
            yield from _WORDS.findall(timing.attributes.get("related_pin", ""))


def _check_expression(what: str, text: str | None, names: frozenset[str]) -> None:
    # Bits of a bus need not be pins.
    bits = {name for name in _NAMES.findall(text or "") if name.partition("[")[0] in names}
    if text and compile_function(text, names | bits) is None:
        if other := [name for name in _NAMES.findall(text) if name not in names]:
            raise ValueError(f"{what} must be one of its pins, not of {other[0]}")
        shown = text if len(text) <= 60 else f"{text[:60]}..."
        raise ValueError(f"{what} must be a Boolean expression, not {shown!r}")


def _check_arc(pin: Group, arc: Group, names: set[str], templates: Mapping[str, Group]) -> None:
    """Check a group of tables."""
    for other in _WORDS.findall(arc.attributes.get("related_pin", "")):
        if other not in names and other.partition("[")[0] not in names:
            raise ValueError(
                f"related_pin of pin {pin.name} must be a pin, not {other!r}, at line {arc.line}"
            )
    for table in arc.groups:
        if table.kind in _TABLES:
            try:
                _check_table(table, templates)
            except ValueError as error:
                raise ValueError(
                    f"{table.kind} of pin {pin.name} at line {table.line}: {error}"
                ) from None


def _check_table(table: Group, templates: Mapping[str, Group]) -> None:
    template = templates.get(table.name)
    if template is None and table.name not in {"", "scalar"}:
        raise ValueError(f"its template must be one of the library's, not {table.name!r}")
    common = template.attributes if template else {}
    sizes = []
    for axis in "123":
        index = table.attributes.get(f"index_{axis}", common.get(f"index_{axis}"))
        if index is None:
            if f"variable_{axis}" in common:
                raise ValueError(f"index_{axis} must be numbers, not missing")
            continue
        points = _numbers(f"index_{axis}", index)
        if any(one >= other for one, other in itertools.pairwise(points)):
            raise ValueError(f"index_{axis} must ascend, not be {index!r}")
        sizes.append(len(points))
    count = len(_numbers("values", table.attributes.get("values", "")))
    if count != math.prod(sizes):
        by = " x ".join(map(str, sizes)) or "1"
        raise ValueError(f"values must be {by} numbers, not {count}")


def _numbers(name: str, text: str) -> list[float]:
    words = re.findall(r'[^\s,"\\]+', text)
    if not words:
        raise ValueError(f"{name} must be numbers, not {text!r}")
    return [number(name, word) for word in words]
