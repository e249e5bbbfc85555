"""What scales sums of groups and adds them up, block after block, against golden."""

from functools import partial
from typing import Any

import numpy as np
import pytest
from amaranth.sim import Simulator

from golden.formats.names import minifloat
from golden.npe.group_scale import Groups, GroupScaleSpec, group_scale
from hw.catalog import Design
from hw.soc.path.group_sums import GroupSums
from hw.soc.path.requantiser_build import RequantiserBuild
from hw.soc.stores.operand_store import Bank
from verif.soc.driver.driver_rig import RNG
from verif.soc.test_row_factors import packed
from verif.support.cases import long

BUILD = {
    "requantiser_encoding": "operator",
    "requantiser_adder": "operator",
    "sum_copies": 1,
    "lean": False,
}
SMALL: dict[str, Any] = {"a_bytes": 512, "b_bytes": 512, "sums": 64}
FP16 = minifloat("fp16")


class Product:
    """Groups x rows x columns of sums; powers of rows and scales of columns."""

    def __init__(self, rng: np.random.Generator, groups: int, rows: int, columns: int, bits: int):
        high = 1 << bits - 1
        self.sums = rng.integers(-high, high, (groups, rows, columns))
        self.powers = rng.integers(-9, 9, (groups, rows))
        self.scales = FP16.encode(rng.normal(0, 1, (groups, columns)))
        self.bits = bits

    def right(self) -> np.ndarray:
        """Return codes of fp32, rows x columns."""
        shape = (*self.sums.shape[1:], len(self.sums))
        last = np.arange(len(self.sums)) == len(self.sums) - 1
        powers = np.broadcast_to((self.powers.T + 127)[:, None], shape)
        groups = Groups(
            sums=np.moveaxis(self.sums, 0, -1).reshape(-1),
            scales=np.broadcast_to(self.scales.T[None], shape).reshape(-1),
            powers=powers.reshape(-1),
            invalid=np.zeros(self.sums.size, bool),
            last=np.broadcast_to(last, shape).reshape(-1),
        )
        spec = GroupScaleSpec(scale="fp16", sum_width=self.bits, aligned=True)
        return group_scale(spec, groups).reshape(shape[:-1])


def pieces(unit: GroupSums, of: Product, group: int) -> list[tuple[dict[str, int], int]]:
    """Write a block as pieces, and their scales."""
    _, rows, columns = of.sums.shape
    made, across = [], unit.across
    for row in range(rows):
        for first in range(0, columns, across):
            sums, scales = of.sums[group, row, first:][:across], of.scales[group, first:][:across]
            ends = first + across >= columns
            piece = {
                "sums": packed(sums, of.bits),
                "inside": (1 << len(sums)) - 1,
                "ends_row": int(ends),
                "ends_block": int(ends and row == rows - 1),
                "first": int(group == 0),
                "last": int(group == len(of.sums) - 1),
            }
            made.append((piece, packed(scales, 16)))
    return made


def run(unit: GroupSums, products: list[Product], rng: np.random.Generator) -> list[int]:
    """Send blocks, some without a cycle between; return the words that come."""
    taken: list[int] = []
    size = unit.spec.bytes

    async def send(context: Any) -> None:
        for of in products:
            for group, powers in enumerate(of.powers):
                for at in range(0, len(powers), size):
                    context.set(unit.i_powers.valid, 1)
                    context.set(unit.i_powers.payload.data, packed(powers[at : at + size], 8))
                    context.set(unit.i_powers.payload.last, at + size >= len(powers))
                    await context.tick()
                context.set(unit.i_powers.valid, 0)
                for piece, scales in pieces(unit, of, group):
                    for name, value in piece.items():
                        context.set(unit.i.payload[name], value)
                    context.set(unit.i_scales, scales)
                    context.set(unit.i.valid, 1)
                    await context.tick().until(unit.i.ready)
                    context.set(unit.i.valid, 0)
                    assert not context.get(unit.o_idle)
                    if rng.integers(8) == 0:
                        await context.tick().repeat(int(rng.integers(1, 6)))
        for _ in range(200):
            await context.tick()
        assert context.get(unit.o_idle)

    async def take(context: Any) -> None:
        while True:
            context.set(unit.o.ready, int(rng.integers(3) > 0))
            await context.delay(1e-8)
            if context.get(unit.o.valid) and context.get(unit.o.ready):
                assert not context.get(unit.o_idle)
                taken.append(context.get(unit.o.payload.data))
            await context.tick()

    simulator = Simulator(unit)
    simulator.add_clock(1e-6)
    simulator.add_testbench(send)
    simulator.add_testbench(take, background=True)
    simulator.run()
    return taken


@pytest.mark.parametrize("seed", [1, *long([2, 3])])
@pytest.mark.parametrize(("requantisers", "words"), [(4, 2), (1, 1)])
def test_group_sums_matches_golden(
    requantisers: int, words: int, seed: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Blocks of one number and of many; a row's power, and a column's scale, are its own."""
    values = {"engine": "systolic_os(m=2,n=4)", "data_width": 64, "group_scales": "fp16"}
    spec = Design("coprocessor", SMALL | values).spec
    build = RequantiserBuild.of_tile(spec, BUILD | {"requantisers": requantisers})
    unit, rng = GroupSums(spec, build, words), RNG(seed)
    for bank in unit.shared_modules:
        assert isinstance(bank, Bank)
        monkeypatch.setattr(bank, "place", partial(Bank, "bank", bank.width, bank.depth))
    shapes = [(4, 1, 1), (1, 2, 5), (3, 9, 2), (5, 1, 4), (2, 3, 8), (4, 2, 1)]
    products = [Product(rng, *shape, spec.inside.sum_width) for shape in shapes]
    found, each = run(unit, products, rng), len(unit.o.payload.data) // 32
    expected = [
        line[at : at + each]
        for one in products
        for line in one.right()
        for at in range(0, len(line), each)
    ]
    assert len(found) == len(expected)
    for number, (word, right) in enumerate(zip(found, expected, strict=True)):
        # What is behind the last number of a row counts for nothing.
        assert word & (1 << 32 * len(right)) - 1 == packed(right, 32), number
