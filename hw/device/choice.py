"""The build parameter that names a device, and what does not go with it."""

from collections.abc import Mapping
from typing import Any

from golden.check import Choice, Parameter
from hw.device import GENERIC, NAMES, PACKINGS

__all__ = ["TARGET", "TARGET_HOWS", "check_target"]

TARGET = Choice("device whose own blocks are used", GENERIC, (GENERIC, *NAMES))

_PACKING = Choice("products in one multiplier block of the device", PACKINGS[0], PACKINGS)

TARGET_HOWS: dict[str, Parameter] = {"target": TARGET, "packing": _PACKING}
"""Build parameters of arrays of blocks."""


def check_target(hows: Mapping[str, Any], kinds: Mapping[str, Parameter]) -> None:
    """Refuse parameters of elements that a target's blocks do not have, and the other way round.

    Raises
    ------
    ValueError
        There is a target, and a parameter of elements is not at its default; or there is none, and
        one of blocks is not.
    """
    for name, kind in kinds.items():
        of_blocks = name == "packing"
        is_other = name != "target" and of_blocks == (hows["target"] == GENERIC)
        if is_other and hows[name] != kind.default:
            raise ValueError(
                f"{name} must be {kind.default!r} with target={hows['target']}, not {hows[name]!r}"
            )
