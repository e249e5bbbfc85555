"""Products whose sums of groups of K are scaled and added up as fp32, where a device can."""

from collections.abc import Mapping
from typing import Any

import numpy as np

from .blocking import Blocks, Stores, candidates, costs
from .device_info import Info
from .matrix import Matrix
from .mode import Mode
from .number import Number
from .product import blocks_of, check_scales

__all__ = [
    "POWER",
    "SCALE",
    "blocks_for",
    "check_sides",
    "codes_of",
    "group_blocks",
    "of_depth",
    "side_numbers",
]

POWER = Number.of(8, 8, True)
"""Of a row of A in a group: an exponent of 2; -128 stands for NaN."""
SCALE = Number.of(16, 16, False)
"""The code of a column's scale in a group."""


def side_numbers(mode: Mode, group: int) -> tuple[Number | None, Number | None]:
    """Return the numbers that A, and B, have for each group, or for each block of a mode."""
    return (POWER, SCALE) if group else (mode.scales, mode.b_sides)


def codes_of(info: Info, values: Any) -> Any:
    """Return codes for scales that are floats of 16 bits, if the device's are; else as is."""
    floats = isinstance(values, np.ndarray) and values.dtype == np.float16
    return values.view(np.uint16) if floats and info.group_scales == "fp16" else values


def check_sides(
    info: Info,
    sides: tuple[Matrix | None, ...],
    sizes: tuple[int, int, int],
    mode: Mode,
    options: Mapping[str, Any],
) -> int:
    """Refuse what a product has for groups, or for blocks, and cannot; return codes of a group.

    Parameters
    ----------
    sides : of A and of B.
    sizes : M, N and K.
    options : :class:`.product.ProductOptions`, and the bias.

    Returns
    -------
    0: no groups are scaled.
    """
    group = int(options.get("group", 0))
    if not group:
        check_scales(info, sides, sizes, mode)
        return 0
    for name in ("bias", "requantisation", "accumulate", "row_factors"):
        if options.get(name) not in (None, False):
            raise ValueError(f"{name} must not be given where groups are scaled")
    _check_groups(info, group, sides, sizes)
    return group


def blocks_for(
    info: Info,
    group: int,
    blocks: Blocks | None,
    sizes: tuple[int, int, int],
    mode: Mode,
    number: Number,
) -> Blocks:
    """Return the sizes of blocks, those of :func:`.product.blocks_of`, or of groups, if any."""
    if group:
        return group_blocks(info.stores, blocks, sizes, group, number.bits)
    return blocks_of(info, blocks, sizes, mode, number)


def _check_groups(
    info: Info, group: int, sides: tuple[Matrix | None, ...], sizes: tuple[int, int, int]
) -> None:
    """Refuse groups that no job can have, and powers and scales of another shape.

    Parameters
    ----------
    group : codes along K.
    sides : powers, groups x M; scales, groups x N.
    sizes : M, N and K.

    Raises
    ------
    ValueError
        The device scales no groups; a group that is not 2^i beats; or they do not fit.
    """
    info.require("group_scales")
    m, n, k = sizes
    beat = info.stores.tile_k
    if group < 1 or group % beat or (group // beat).bit_count() != 1:
        raise ValueError(f"group must be {beat} codes along K times a power of two, not {group}")
    groups = -(-k // group)
    for name, side, columns, number in zip(
        ("a_scales", "b_scales"), sides, (m, n), (POWER, SCALE), strict=True
    ):
        shape, what = (groups, columns), f"a row for each group of {group} codes"
        if side is None:
            raise ValueError(f"{name} must be given, {what}: {shape}")
        if not number.holds(side.number):
            raise ValueError(f"{name} must be of {number}, not of {side.number}")
        if side.shape != shape:
            raise ValueError(f"{name} must be {shape}, {what}, not {side.shape}")


def group_blocks(
    stores: Stores, blocks: Blocks | None, sizes: tuple[int, int, int], group: int, c_bits: int
) -> Blocks:
    """Return blocks whose beats of K are those of a group: those given, or the planner's.

    Raises
    ------
    ValueError
        They have others, or do not fit into the stores; or none do.
    """
    m, n, k = sizes
    deep = group // stores.tile_k
    if blocks is not None:
        if blocks.k != deep:
            raise ValueError(f"blocks must have the {deep} beats of a group, not {blocks.k}")
        if not stores.fits(blocks.m, blocks.n, blocks.k):
            raise ValueError(f"blocks must fit into the stores, not {blocks}")
        return blocks
    some = of_depth(candidates(stores, m, n, k), deep, stores)
    if not deep or not len(some):
        raise ValueError(f"group must be of beats that the stores hold, not of {deep}")
    cycles, read, _ = costs(stores, some, m, n, k, c_bits)
    return Blocks.of(some[np.lexsort((cycles, 50 * cycles + read))[0]])


def of_depth(blocks: np.ndarray, deep: int, stores: Stores) -> np.ndarray:
    """Return blocks of these tiles and orders, each once, with so many beats of K, that fit.

    Parameters
    ----------
    blocks : rows of :func:`golden.soc.blocking.candidates`.
    """
    given = np.unique(blocks[:, [0, 1, 3]], axis=0)
    fits = [stores.fits(m, n, deep) for m, n, _ in given.tolist()]
    chosen = given[np.array(fits, bool)]
    return np.insert(chosen, 2, deep, axis=1)
