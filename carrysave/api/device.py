"""Designs as they are built for an FPGA, if nothing else is said."""

from collections.abc import Callable
from typing import TypeVar

from carrysave.api.explicit_design import ExplicitDesign
from hw.catalog import EngineText

__all__ = ["for_device"]

D = TypeVar("D", bound=ExplicitDesign)


def for_device(target: str, design: D, say: Callable[[str], None] = lambda _: None) -> D:
    """Return a design as it is best for a device, in all parameters that are not explicit.

    Of the device's blocks, it or the engine in it, if it has a parameter ``target``; says why if it
    cannot be. Else in the form that is best on FPGAs: carry chains for adders, and the like.

    Parameters
    ----------
    target : family of FPGAs.
    design : whose explicit parameters stay as they are.
    say : called with why the design is built of generic logic.
    """
    inside = design.engine or design
    kinds = inside.entry.build
    if "target" in kinds:
        if "target" in design.explicit or "target" in inside.changed:
            return design
        made = design.with_values(target=target)
        try:
            made.component()
        except ValueError as error:
            say(f"built of generic logic: {error}")
        else:
            return made
    if inside is design:
        return design.with_values(**design.device_values(design.explicit))
    # A parameter of the engine's text that is at its default does not count as explicit.
    design = design.with_values(**inside.device_values(design.explicit | inside.changed.keys()))
    kind = design.entry.vector
    if kind is not None:
        unit = kind.design("vector", design.parameters["vector"], on_device=True)
        if unit is not None:
            return design.with_values(vector=EngineText.text(unit))
    return design
