"""Constraints: timing of a generated block, by the templates in ``constraints``; pins of boards."""

import json
from collections.abc import Callable, Collection, Iterator, Mapping
from pathlib import Path
from typing import Any

__all__ = ["boards", "pins", "sdc", "xdc"]

_FOLDER = Path(__file__).parents[2] / "constraints"
_SECOND = "create_clock -name {fast} -period [expr {{$period / 2}}] [get_ports {fast}]\n"


def sdc(
    ports: Collection[Mapping[str, Any]], clock: str, *, period_ns: float, outside: float = 0.0
) -> str:
    """Write constraints in the SDC subset that every tool reads.

    Parameters
    ----------
    ports : of the block, as its manifest has them.
    clock : which of them is the clock; ``{clock}_fast`` has half of its period, if it is there.
    period_ns : its period.
    outside : fraction of the period spent outside the block, on either side.
    """
    names: dict[str, list[str]] = {"input": [], "output": []}
    for port in ports:
        if port["name"] not in (clock, f"{clock}_fast"):
            vector = "[*]" if port["width"] > 1 else ""
            names[port["direction"]].append(f"    {port['name']}{vector}\n")
    inputs, outputs = ("".join(names[way]) for way in ("input", "output"))
    fast = any(port["name"] == f"{clock}_fast" for port in ports)
    return _fill(
        "clock.sdc",
        second=_SECOND.format(fast=f"{clock}_fast") if fast else "",
        clock=clock,
        period=f"{period_ns:g}",
        outside=f"{outside:g}",
        inputs=inputs,
        outputs=outputs,
    )


def xdc(clock: str, *, period_ns: float) -> str:
    """Write constraints for Vivado to synthesise a block by itself, out of context."""
    return _fill("out_of_context.xdc", clock=clock, period=f"{period_ns:g}")


def boards() -> dict[str, dict[str, Any]]:
    """Read what ``scripts/upkeep/board_facts.py`` found in kept definitions of boards.

    Returns
    -------
    By board: ``source part clock_hz pins flash``; pins, and those of its SPI flash, by port:
    ``site inverted attributes``.
    """
    return dict(json.loads((_FOLDER / "boards.json").read_text()))


def pins(form: str, places: Mapping[str, Mapping[str, Any]], clock_hz: float) -> str:
    """Write where the ports of a board's top are, and the frequency of ``clk``.

    Parameters
    ----------
    form : ``lpf``, ``pcf``, ``cst`` or ``xdc``.
    places : by port, as :func:`boards` has them.
    """
    lines = _FORMS[form](places, clock_hz / 1e6)
    return "".join(f"{line}\n" for line in lines)


def _lpf(places: Mapping[str, Mapping[str, Any]], mhz: float) -> Iterator[str]:
    yield f'FREQUENCY PORT "clk" {mhz:g} MHZ;'
    for port, pin in places.items():
        settings = " ".join(f"{name}={value}" for name, value in pin["attributes"].items())
        yield f'LOCATE COMP "{port}" SITE "{pin["site"]}";'
        yield f'IOBUF PORT "{port}" {settings};'


def _pcf(places: Mapping[str, Mapping[str, Any]], mhz: float) -> Iterator[str]:
    yield f"set_frequency clk {mhz:g}"
    for port, pin in places.items():
        pulled = "-pullup yes " if pin["attributes"].get("PULLUP") else ""
        yield f"set_io {pulled}{port} {pin['site']}"


def _cst(places: Mapping[str, Mapping[str, Any]], mhz: float) -> Iterator[str]:
    for port, pin in places.items():
        settings = " ".join(f"{name}={value}" for name, value in pin["attributes"].items())
        yield f'IO_LOC "{port}" {pin["site"]};'
        yield f'IO_PORT "{port}" {settings};'


def _xdc(places: Mapping[str, Mapping[str, Any]], mhz: float) -> Iterator[str]:
    for port, pin in places.items():
        settings = " ".join(f"{name} {value}" for name, value in pin["attributes"].items())
        yield f"set_property -dict {{PACKAGE_PIN {pin['site']} {settings}}} [get_ports {port}]"
    yield f"create_clock -name clk -period {1e3 / mhz:g} [get_ports clk]"


_FORMS: dict[str, Callable[[Mapping[str, Mapping[str, Any]], float], Iterator[str]]] = {
    "lpf": _lpf,
    "pcf": _pcf,
    "cst": _cst,
    "xdc": _xdc,
}


def _fill(name: str, **values: str) -> str:
    """Fill values into a template, at ``@name@``."""
    text = (_FOLDER / name).read_text()
    for key, value in values.items():
        text = text.replace(f"@{key}@", value)
    return text
