"""The build parameter that names a device, and what does not go with it."""

from collections.abc import Mapping
from typing import Any

from golden.check import Choice, Integer, Parameter
from hw.device import DEVICES, GENERIC, NAMES, PACKINGS

__all__ = ["DSPS", "TARGET", "TARGET_BUILD", "check_target", "groups_of_blocks"]

TARGET = Choice(
    "device whose own blocks are used",
    GENERIC,
    (GENERIC, *NAMES),
    aliases=tuple(DEVICES.items()),
)

_PACKING = Choice("products in one multiplier block of the device", PACKINGS[0], PACKINGS)

_MOST = 1 << 16

DSPS = Integer(
    "multiplier blocks of the device that are used at most; other products are of logic",
    _MOST,
    0,
    _MOST,
)

TARGET_BUILD: dict[str, Parameter] = {"target": TARGET, "packing": _PACKING, "dsps": DSPS}
"""Build parameters of arrays of blocks."""


def check_target(build: Mapping[str, Any], kinds: Mapping[str, Parameter]) -> None:
    """Refuse parameters of elements that a target's blocks do not have, and the other way round.

    Raises
    ------
    ValueError
        There is a target, and a parameter of elements is not at its default; or there is none, and
        one of blocks is not.
    """
    for name, kind in kinds.items():
        of_blocks = name in {"packing", "dsps"}
        is_other = name != "target" and of_blocks == (build["target"] == GENERIC)
        if is_other and build[name] != kind.default:
            where = f"with target={build['target']}"
            raise ValueError(f"{name} must be {kind.default!r} {where}, not {build[name]!r}")


def groups_of_blocks(dsps: int, groups: int, each: int, what: str) -> int:
    """Return how many of `groups` parts of a design, `each` blocks in one, have their blocks.

    The others are to be of logic.

    Parameters
    ----------
    dsps : blocks that may be used.
    what : a part, in words.

    Raises
    ------
    ValueError
        They are fewer than those of one part, and not none.
    """
    if 0 < dsps < each:
        raise ValueError(f"dsps must be 0 or {each}..{_MOST}, for {each} in {what}, not {dsps}")
    return min(groups, dsps // each)
