"""What to leave to logic when a part has too few multiplier blocks for a design."""

from typing import Any

from carrysave.fpga.implementation import part_of
from hw.catalog import Design
from hw.device import family

__all__ = ["fewer_blocks"]


def fewer_blocks(design: Design, target: str, taken: dict[str, Any], part: str | None) -> list[str]:
    """Say with which `dsps` the blocks of a design are no more than those of a part.

    Parameters
    ----------
    design, target : what is synthesised, and for what family.
    taken : resources that it takes.
    part : name of the part; the largest of the family if None.

    Returns
    -------
    A sentence; none if it is not blocks that the part lacks, or if the design needs them.
    """
    parts = family(target).flow.parts
    if not parts:
        return []
    capacity = (parts[-1] if part is None else part_of(target, part)).capacity
    name = "places" if "places" in capacity else "dsps"
    limit, inside = capacity.get(name, 0), design.engine or design
    if taken[name] <= limit or inside.parameters.get("target") != target:
        return []
    used = inside.component().blocks.dsps
    # Some of a co-processor's blocks are not its engine's.
    most = used - -(-(taken[name] - limit) * taken["dsps"] // taken[name])
    for dsps in (int(most), 0):
        try:
            fits = Design(inside.name, {**inside.parameters, "dsps": dsps}).component().blocks.dsps
        except ValueError:
            continue  # too few for a column
        if fits <= most:
            return [f"-p dsps={fits} leaves {used - fits} of its {used} multipliers to logic"]
    return []
