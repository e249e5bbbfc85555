"""Timing constraints of a generated block, from the templates in ``constraints``."""

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

__all__ = ["pins", "sdc", "xdc"]

_FOLDER = Path(__file__).parents[2] / "constraints"


def sdc(
    ports: Iterable[Mapping[str, Any]], clock: str, *, period_ns: float, outside: float = 0.0
) -> str:
    """Write constraints in the SDC subset that every tool reads.

    Parameters
    ----------
    ports : of the block, as its manifest has them.
    clock : which of them is the clock.
    period_ns : its period.
    outside : fraction of the period spent outside the block, on either side.
    """
    names: dict[str, list[str]] = {"input": [], "output": []}
    for port in ports:
        if port["name"] != clock:
            vector = "[*]" if port["width"] > 1 else ""
            names[port["direction"]].append(f"    {port['name']}{vector}\n")
    inputs, outputs = ("".join(names[way]) for way in ("input", "output"))
    return _fill(
        "clock.sdc", clock=clock, period=f"{period_ns:g}", outside=f"{outside:g}",
        inputs=inputs, outputs=outputs,
    )  # fmt: skip


def xdc(clock: str, *, period_ns: float) -> str:
    """Write constraints for Vivado to synthesise a block by itself, out of context."""
    return _fill("out_of_context.xdc", clock=clock, period=f"{period_ns:g}")


def pins(name: str) -> str:
    """Read the file that says where a board's pins are."""
    return (_FOLDER / "boards" / name).read_text()


def _fill(name: str, **values: str) -> str:
    """Fill values into a template, at ``@name@``."""
    text = (_FOLDER / name).read_text()
    for key, value in values.items():
        text = text.replace(f"@{key}@", value)
    return text
