"""Codes of sums while what takes them stalls: none is lost, and none is late behind a stall."""

from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from amaranth import C, Module, Signal
from amaranth.lib import stream, wiring
from amaranth.lib.wiring import In, Out, connect, flipped
from amaranth.sim import Simulator

from golden.soc.spec import CoprocessorSpec
from golden.tpe.systolic_os import SystolicOsSpec
from hw.npe.rounding.requantise_column import RequantiseColumn
from hw.soc.path.requantise_rows import RequantiseRows
from hw.soc.path.requantiser_build import RequantiserBuild
from hw.soc.path.result_words import queue_words
from verif.soc.bus.partners import Source, run
from verif.soc.test_operand_feed import Stalls

SPEC = CoprocessorSpec(engine=SystolicOsSpec(m=2, n=2), data_width=64)
BUILD = RequantiserBuild(
    requantiser_encoding="operator",
    requantiser_adder="operator",
    requantisers=2,
    sum_copies=1,
    lean=False,
)
COUNT = 150


class Codes(wiring.Component):
    """Sums, the requantiser, and the queue behind it."""

    i: stream.Interface
    i_high: Signal
    o: stream.Interface

    def __init__(self) -> None:
        self.unit = RequantiseRows(SPEC, BUILD)
        assert self.unit.flows
        super().__init__({
            "i": In(stream.Signature(len(self.unit.i.payload))),
            "i_high": In(8, init=127),  # type: ignore[call-arg]
            "o": Out(stream.Signature(len(self.unit.o.payload))),
        })

    def elaborate(self, platform: Any) -> Module:
        m, unit = Module(), self.unit
        column = unit.column
        assert column is not None
        arguments: dict[str, Any] = {
            "encoding": column.encoding,
            "adder": column.adder,
            "travels": column.travels,
        }
        column.place = lambda: RequantiseColumn(column.spec, pipeline=6, **arguments)  # type: ignore[method-assign,assignment,return-value]
        m.submodules.unit = unit
        writer = SimpleNamespace(codes=unit, lean=False, row_bytes=0)
        m.submodules.words = words = queue_words(m, writer, len(self.o.payload), C(1, 1))
        connect(m, flipped(self.i), unit.i)
        connect(m, unit.o, words.i)
        connect(m, words.o, flipped(self.o))
        m.d.comb += [unit.i_how.multiplier.eq(1 << 29), unit.i_how.shift.eq(31)]
        m.d.comb += [unit.i_how.low.eq(-128), unit.i_how.high.eq(self.i_high)]
        return m


def codes(stall: int, turn: int) -> tuple[list[int], list[int]]:
    """Return the codes of some sums, and their cycles."""
    dut, rng = Codes(), np.random.default_rng(5)
    sums = [int(rng.integers(500)) | int(rng.integers(500)) << 32 for _ in range(COUNT)]
    source, sink = Source(dut.i, sums, rng), Stalls(dut, stall, turn)
    run(dut, [source, sink], lambda: len(sink.items) == COUNT, deadline=2000, more=20)
    assert len(sink.items) == COUNT
    return sink.items, sink.cycles


@pytest.mark.parametrize(("stall", "turn"), [(1, 2), (2, 3), (3, 40), (30, 55)])
def test_requantise_rows_stalls(stall: int, turn: int) -> None:
    free, cycles = codes(0, 1)
    assert len(set(free)) > 10
    assert cycles == list(range(cycles[0], cycles[0] + COUNT))
    items, cycles = codes(stall, turn)
    assert items == free
    assert cycles == [at for at in range(cycles[0], cycles[-1] + 1) if at % turn >= stall]


def test_limits_are_those_of_the_cycle_in_which_a_sum_comes() -> None:
    """Before a job's first sum they are anything, and again when its last code has left."""
    dut, rng = Codes(), np.random.default_rng(3)
    wanted, left = list[int](), list[int]()

    async def bench(ctx: Any) -> None:
        ctx.set(dut.o.ready, 1)
        for high in (90, 20, 60, 0):
            ctx.set(dut.i_high, high)
            sums = [int(number) for number in rng.integers(500, size=40)]
            wanted.extend(min(int(np.rint(number / 4)), high) for number in sums)
            for at in range(len(sums) + 30):
                ctx.set(dut.i.valid, at < len(sums))
                ctx.set(dut.i.payload, sums[min(at, len(sums) - 1)])
                if ctx.get(dut.o.valid):
                    left.append(ctx.get(dut.o.payload) & 255)
                await ctx.tick()
            ctx.set(dut.i_high, int(rng.integers(128)))
            await ctx.tick().repeat(3)

    simulator = Simulator(dut)
    simulator.add_clock(1e-9)
    simulator.add_testbench(bench)
    simulator.run()
    assert left == wanted
