"""A store that is read by slices of its words, beside one that is read by words."""

import random
from collections.abc import Callable
from itertools import product
from typing import Any

import pytest
from amaranth import Module
from amaranth.sim import Simulator

from golden.soc.spec import CoprocessorSpec
from golden.tpe.cube import CubeSpec
from golden.tpe.systolic_os import SystolicOsSpec
from hw.soc.path.operand_feed import OperandFeed
from hw.soc.schedule.sides import sides
from hw.soc.stores.operand_store import Bank

SPECS = {
    "A, eight slices": ("a", CoprocessorSpec(engine=SystolicOsSpec(m=2, n=3), data_width=64)),
    "A, two codes a beat": ("a", CoprocessorSpec(engine=CubeSpec(m=2, n=2, k=2), data_width=32)),
    "B, four slices": ("b", CoprocessorSpec(engine=SystolicOsSpec(m=2, n=2), data_width=64)),
}


def place(m: Module, dut: OperandFeed, number: int) -> None:
    """Place a feed and its store, with banks that Amaranth's simulator takes."""
    bank = dut.store.bank
    dut.store.bank.place = lambda: Bank(bank.module, bank.width, bank.depth, slices=bank.slices)  # type: ignore[method-assign,assignment,return-value]
    m.submodules[f"feed{number}"], m.submodules[f"store{number}"] = dut, dut.store
    m.d.comb += [
        dut.store.en.eq(dut.en),
        dut.store.o_part.eq(dut.o_part),
        dut.store.o_address.eq(dut.o_address),
        dut.store.o_slice.eq(dut.o_slice),
        dut.i_words.eq(dut.store.o),
        dut.i_filled.eq(dut.store.o_filled),
    ]


@pytest.mark.parametrize("name", SPECS)
def test_beats_are_those_of_words(name: str) -> None:
    """Of rows, tiles and stalls at random, in the same cycles."""
    which, spec = SPECS[name]
    duts = [OperandFeed(spec, sides(spec)[which], slices=most) for most in (1, 32)]
    side, draw, m, seen = duts[0].side, random.Random(1), Module(), set[int]()
    assert [dut.slices for dut in duts] == [1, side.slices[0]]
    for number, dut in enumerate(duts):
        place(m, dut, number)

    async def bench(ctx: Any) -> None:
        def both(port: Callable[[OperandFeed], Any], value: int) -> None:
            for dut in duts:
                ctx.set(port(dut), value)

        both(lambda dut: dut.store.i_stride, 1)
        both(lambda dut: dut.i_stride, 1)
        both(lambda dut: dut.store.i.payload.last, 1)
        for cycle in range(1500):
            both(lambda dut: dut.store.i.valid, draw.random() < 0.9)
            both(lambda dut: dut.store.i.payload.data, draw.getrandbits(8 * side.word_bytes))
            both(lambda dut: dut.store.i_end, draw.random() < 0.05)
            both(lambda dut: dut.o.ready, draw.random() < 0.7)
            both(lambda dut: dut.i.valid, draw.random() < 0.9)
            tile = {
                "part": draw.randrange(spec.PARTS),
                "address": draw.randrange(2),
                "slice": draw.randrange(side.slices[0]),
                "codes": draw.randint(1, 3 * side.k),
                "lines": draw.randint(1, side.across if side.down else side.banks),
                "last": draw.getrandbits(1),
            }
            for dut, (field, value) in product(duts, tile.items()):
                ctx.set(dut.i.payload[field], value)
            valid = [ctx.get(dut.o.valid) for dut in duts]
            beats = [ctx.get(dut.o.payload.as_value()) for dut in duts]
            assert valid[0] == valid[1]
            # Words that are read have been written by then.
            if valid[0] and cycle > 500:
                assert beats[0] == beats[1]
                seen.add(beats[0])
            await ctx.tick()

    simulator = Simulator(m)
    simulator.add_clock(1e-8)
    simulator.add_testbench(bench)
    simulator.run()
    assert len(seen) > 100
