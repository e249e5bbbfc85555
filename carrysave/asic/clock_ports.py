"""Ports of a design that clocks and resets come through."""

from collections.abc import Sequence

from carrysave.asic.clocking import REGISTER, is_reset
from carrysave.asic.elaborate import Elaborated

__all__ = ["clock_of", "resets_of"]


def clock_of(design: Elaborated, clock: str) -> str | None:
    """Return our name of the clock port; None if the design has no registers.

    Raises
    ------
    ValueError
        If the clock is not an input of a design with registers, or not that of all of them.
    """
    ours = design.port(clock)
    if ours and design.ports[ours] == "input":
        strange = [roots for roots in design.clocks if ours not in roots]
        if strange:
            raise ValueError(
                f"clock must be that of all registers of {design.top}, not {clock!r}: others have"
                f" {' or '.join(sorted({_source(design, roots) for roots in strange}))};"
                " synthesise the part of each clock by itself"
            )
        return ours
    kinds = {kind for cells in design.modules.values() for kind in cells}
    if any("dff" in kind or "latch" in kind for kind in kinds):
        inputs = [
            design.names.get(name, name)
            for name, direction in design.ports.items()
            if direction == "input"
        ]
        raise ValueError(
            f"clock must be an input of {design.top} ({', '.join(inputs)}), not {clock!r}"
        )
    return None


def _source(design: Elaborated, roots: Sequence[str]) -> str:
    """Say what a clock comes from."""
    if roots == [REGISTER]:
        return "a clock from a register"
    return " and ".join(repr(design.names.get(name, name)) for name in roots if name != REGISTER)


def resets_of(design: Elaborated, reset: str | None) -> tuple[str, ...]:
    """Return our names of the resets: what is named as one, and one more."""
    named = {port: design.names.get(port, port) for port in design.inputs}
    return tuple(port for port, name in named.items() if name == reset or is_reset(name))
