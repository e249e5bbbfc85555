"""Cost of a product on the co-processor, by the planner's cost model."""

from collections.abc import Iterable
from dataclasses import dataclass

from carrysave.compiler.target.target import Target
from carrysave.driver.batch import Work
from golden.soc.blocking import Cost, Stores, cost, plan

__all__ = ["Estimate", "cycles_of", "estimate", "product_cost", "rows_within", "work_estimate"]


@dataclass(frozen=True)
class Estimate:
    """Estimated cost of works, one after the other.

    Members
    -------
    cycles : clock cycles, with the memory latency of the target.
    bytes : that are read and written, in whole beats.
    slots : the engine's products while it takes operands, padding included.
    """

    cycles: int
    bytes: int
    slots: int

    def __add__(self, other: "Estimate") -> "Estimate":
        """Add the costs of both."""
        return Estimate(
            self.cycles + other.cycles, self.bytes + other.bytes, self.slots + other.slots
        )


def estimate(target: Target, works: Iterable[Work]) -> Estimate:
    """Estimate works that have their A, one after the other."""
    parts = [work_estimate(target, work, len(work.a)) for work in works if work.a is not None]
    return sum(parts, Estimate(0, 0, 0))


def product_cost(stores: Stores, m: int, k: int, n: int, c_bits: int) -> Cost:
    """Estimate a product of M x K by K x N, in the blocks that the planner chooses."""
    return cost(stores, plan(stores, m, n, k, c_bits), m, n, k, c_bits)


def cycles_of(
    target: Target, m: int, k: int, n: int, requantised: bool, *, wide: bool = False
) -> int:
    """Estimate the cycles of a product of codes, of M x K by K x N, to `wide` ones or not."""
    mode = target.mode
    stores = mode.stores(target.info.stores)
    k = -(-k // mode.codes)
    bits = _bits_of_c(target, requantised, wide)
    return product_cost(stores, m, k, n, bits).cycles


def rows_within(target: Target, work: Work, cycles: int) -> int:
    """Return the rows of A that fit in a number of cycles: whole tiles, at least one."""
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
    bits = _bits_of_c(target, work.requantisation is not None, work.wide)
    costs = product_cost(stores, m, k, n, bits)
    slots = mode.codes
    for size, tile in ((m, stores.tile_m), (n, stores.tile_n), (k, stores.tile_k)):
        slots *= -(-size // tile) * tile
    beats = costs.read_beats + costs.write_beats
    return Estimate(costs.cycles, beats * stores.data_width // 8, slots)


def _bits_of_c(target: Target, requantised: bool, wide: bool) -> int:
    info = target.info
    if wide:
        return info.wide.bits
    return (info.codes if requantised else info.sums).bits
