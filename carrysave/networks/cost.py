"""What a product takes on the co-processor, by the model with which its planner chooses blocks."""

from dataclasses import dataclass

from carrysave.driver.batch import Work
from golden.soc.blocking import cost, plan

from .product_base import Compiled
from .target import Target

__all__ = ["Estimate", "estimate", "rows_within", "work_estimate"]


@dataclass(frozen=True)
class Estimate:
    """What works take, one after the other.

    Members
    -------
    cycles : of the clock, with a memory that answers after some 60.
    bytes : that are read and written, in whole beats.
    slots : products that the engine could do while it takes operands: with those of padding.
    """

    cycles: int
    bytes: int
    slots: int

    def __add__(self, other: "Estimate") -> "Estimate":
        """Take both, one after the other."""
        return Estimate(
            self.cycles + other.cycles, self.bytes + other.bytes, self.slots + other.slots
        )


def estimate(target: Target, compiled: Compiled) -> Estimate:
    """Estimate a product as a whole."""
    parts = [
        work_estimate(target, work, len(work.a)) for work in compiled.works if work.a is not None
    ]
    return sum(parts, Estimate(0, 0, 0))


def rows_within(target: Target, work: Work, cycles: int) -> int:
    """Count the rows of A that take so many cycles at most: whole tiles, and one at least."""
    assert work.a is not None
    tile = target.info.stores.tile_m
    rows = len(work.a)
    while rows > tile and work_estimate(target, work, rows).cycles > cycles:
        rows = -(-rows // 2 // tile) * tile
    return rows


def work_estimate(target: Target, work: Work, m: int) -> Estimate:
    """Estimate m rows of a work."""
    info, mode = target.info, work.mode or target.mode
    stores = mode.stores(info.stores)
    k, n = -(-len(work.b) // mode.codes), work.b.shape[1]
    bits = (info.sums if work.requantisation is None else info.codes).bits
    found = cost(stores, plan(stores, m, n, k, bits), m, n, k, bits)
    slots = mode.codes
    for size, tile in ((m, stores.tile_m), (n, stores.tile_n), (k, stores.tile_k)):
        slots *= -(-size // tile) * tile
    beats = found.read_beats + found.write_beats
    return Estimate(found.cycles, beats * stores.data_width // 8, slots)
