"""The build parameter that names a device, and what does not go with it."""

from collections.abc import Mapping
from typing import Any

from golden.check import Choice, Parameter
from hw.device import GENERIC, NAMES

__all__ = ["TARGET", "check_target"]

TARGET = Choice("device whose own blocks are used", GENERIC, (GENERIC, *NAMES))


def check_target(hows: Mapping[str, Any], kinds: Mapping[str, Parameter]) -> None:
    """Refuse parameters of elements that a target's blocks do not have.

    Raises
    ------
    ValueError
        There is a target, and another parameter is not at its default.
    """
    for name, kind in kinds.items():
        if name != "target" and hows["target"] != GENERIC and hows[name] != kind.default:
            raise ValueError(
                f"{name} must be {kind.default!r} with target={hows['target']}, not {hows[name]!r}"
            )
