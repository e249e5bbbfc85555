"""Designs as they are built for an FPGA, if nothing else is said."""

import contextlib
from collections.abc import Callable

from carrysave.api.design import Design
from golden.check import Choice

__all__ = ["for_device"]


def for_device(target: str, design: Design, say: Callable[[str], None] = lambda _: None) -> Design:
    """Return a design as it is best for a device, in what was not told.

    Of the device's blocks, it or the engine in it, if it has a parameter ``target``; says why if it
    cannot be. Else in the form that is best on FPGAs: carry chains for adders, and the like.

    Parameters
    ----------
    target : family of FPGAs.
    design : whose parameters that were told stay as they are.
    say : is told why the design is built of generic logic.
    """
    inside = design.engine or design
    kinds = inside.entry.hows
    if "target" in kinds:
        if "target" in design.told or inside.parameters["target"] != kinds["target"].default:
            return design
        found = design.with_values(target=target)
        try:
            found.component()
        except ValueError as error:
            say(f"built of generic logic: {error}")
        else:
            return found
    if inside is not design:
        return design
    for name, kind in kinds.items():
        if isinstance(kind, Choice) and kind.on_device is not None and name not in design.told:
            with contextlib.suppress(ValueError):
                found = design.with_values(**{name: kind.on_device})
                found.component()
                design = found
    return design
