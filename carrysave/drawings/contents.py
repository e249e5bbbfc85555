"""What is inside a module of a netlist, in a few words."""

from collections import Counter
from collections.abc import Mapping
from typing import Any

__all__ = ["inside", "short"]

_KINDS = {"$mul": "multiplier", "$add": "adder", "$sub": "adder", "$macc_v2": "multiplier-adder"}


def short(module: str, top: str) -> str:
    """Return a module's name without that of the design."""
    return module.removeprefix(f"{top}__").rpartition("__")[2]


def inside(module: str, modules: Mapping[str, Any], top: str) -> tuple[str, ...]:
    """Say what is in a module: submodules or arithmetic, and registers of all levels."""
    cells = modules[module]["cells"].values()
    counts = Counter(short(cell["type"], top) for cell in cells if cell["type"] in modules)
    if not counts:
        counts = Counter(_KINDS[cell["type"]] for cell in cells if cell["type"] in _KINDS)
    lines = (
        [", ".join(f"{count} x {name}" for name, count in counts.most_common(2))] if counts else []
    )
    registers, memory = _state(module, modules)
    if registers:
        lines.append(f"{registers:,} {'bits' if registers > 1 else 'bit'} of registers")
    if memory:
        lines.append(f"{memory:,} bits of memory")
    return tuple(lines)


def _state(module: str, modules: Mapping[str, Any]) -> tuple[int, int]:
    """Count the bits of registers and of memories in a module and below."""
    registers = memory = 0
    for cell in modules[module]["cells"].values():
        if cell["type"] in modules:
            inside = _state(cell["type"], modules)
            registers, memory = registers + inside[0], memory + inside[1]
        elif "dff" in cell["type"]:
            registers += len(cell["connections"]["Q"])
    for one in modules[module].get("memories", {}).values():
        memory += one["width"] * one["size"]
    return registers, memory
