"""Which devices have the multiplier blocks that a design takes."""

import re

from hw.catalog import Design
from hw.device import GENERIC, family

__all__ = ["devices_of", "fitting"]


def devices_of(target: str) -> dict[str, int]:
    """Return the devices of a family and their multiplier blocks, the fewest first.

    Families whose parts count places for blocks of several kinds have none here.
    """
    chosen = family(target)
    sizes = dict(chosen.sizes)
    for part in chosen.flow.parts:
        if "places" not in part.capacity:
            device = "-".join(part.name.split("-")[:2]) if target == "ecp5" else part.name
            sizes.setdefault(device, part.capacity["dsps"])
    return dict(sorted(sizes.items(), key=lambda item: item[1]))


def fitting(design: Design) -> str | None:
    """Say how many multiplier blocks a design takes, and of each line the least device with them.

    None if it is built of no device's blocks.
    """
    inside = design.engine or design
    target = inside.parameters.get("target", GENERIC)
    if target == GENERIC:
        return None
    taken = inside.component().blocks.dsps
    text = f"{taken:,} multiplier blocks of {family(target).title}"
    devices = devices_of(target)
    if not devices:
        return text
    least: dict[str, str] = {}
    for name, count in devices.items():
        if count >= taken:
            least.setdefault(_line(name), f"{name} has {count:,}")
    if not least:
        name, most = list(devices.items())[-1]
        return f"{text}: more than any, {name} has {most:,}; -p dsps=N leaves the others to logic"
    return f"{text}: {', '.join(least.values())}"


def _line(name: str) -> str:
    """Return the line of devices that one is of: its name before the size."""
    begin = re.match(r"XC7[A-Z]|XC[A-Z]+|[A-Za-z]+\d+", name)
    return name if begin is None else begin[0]
