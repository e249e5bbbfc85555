"""The walk over a map, alone: runs of any geometry against golden, and none beyond the map."""

import random
from dataclasses import replace
from typing import Any

import pytest
from amaranth.sim import Simulator

from golden.soc.spec import CoprocessorSpec
from golden.soc.window import Window, walk_cycles, window_rows
from golden.tpe.systolic_os import SystolicOsSpec
from hw.soc.schedule.destination import Destination
from hw.soc.schedule.window_walk import WindowWalk
from verif.soc.driver.driver_rig import RNG
from verif.soc.schedule.window_case import Case

SPEC = CoprocessorSpec(engine=SystolicOsSpec(m=4, n=4), windows=True, address_width=32)


class Walk:
    """A walk under simulation: what goes in, what comes out, and stalls of both."""

    def __init__(self, cases: list[Case], seed: int, ready: float) -> None:
        self.dut, self.rng, self.ready = WindowWalk(SPEC), random.Random(seed), ready
        self.cases = cases
        self.reads = self.received = 0

    def begin(self, ctx: Any, case: Case) -> None:
        """Set the geometry of a job."""
        window, dut = case.window, self.dut
        values = {
            "height": window.height - 1, "width": window.width - 1,
            "across": window.across - 1, "channels": window.channels,
            "kh": window.kernel[0] - 1, "kw": window.kernel[1] - 1,
            "top": -window.first[0] & 255, "left": -window.first[1] & 255,
            "sy": window.strides[0], "sx": window.strides[1],
            "dy": window.dilations[0], "dx": window.dilations[1], "fill": window.fill,
        }  # fmt: skip
        for name, value in values.items():
            ctx.set(dut.i_window[name], value)
        ctx.set(dut.i_here, 1)
        ctx.set(dut.i_pixel, window.pixel)
        ctx.set(dut.i_lda, case.lda)
        ctx.set(dut.i_line, window.kernel[1] * window.channels)
        ctx.set(dut.i_dense, window.pixel == window.channels)

    async def send(self, ctx: Any) -> None:
        """Request the rows of all blocks, two of B behind each."""
        dut, row = self.dut, self.dut.i.payload
        for number, case in enumerate(self.cases):
            # What is known of a job stays until its last row has left.
            while self.received < number:
                await ctx.tick()
            self.begin(ctx, case)
            await ctx.tick()
            for up, along, again, first, ends in case.blocks():
                ctx.set(dut.i_again, again)
                ctx.set(dut.i_first, first)
                ctx.set(dut.i_last_code, ends)
                for number in up:
                    ctx.set(row.address, case.base)
                    ctx.set(row.bytes, len(along))
                    ctx.set(row.to, Destination.A)
                    ctx.set(row.last, number == up[-1])
                    ctx.set(row.final, number == up[-1] and first)
                    await self.offer(ctx)
                ctx.set(row.to, Destination.B)
                for address in (up[-1], ~up[-1] & 255):
                    ctx.set(row.address, address)
                    await self.offer(ctx)

    async def offer(self, ctx: Any) -> None:
        """Offer a row until it is taken."""
        ctx.set(self.dut.i.valid, 1)
        await ctx.tick().until(self.dut.i.ready)
        ctx.set(self.dut.i.valid, 0)
        for _ in range(self.rng.choice((0, 0, 2))):
            await ctx.tick()

    async def take(self, ctx: Any) -> Any:
        """Take a run."""
        port = self.dut.o.valid, self.dut.o.ready, self.dut.o.payload
        while True:
            ctx.set(self.dut.o.ready, self.rng.random() < self.ready)
            _, _, valid, taken, run = await ctx.tick().sample(*port)
            if valid and taken:
                return run

    async def row(self, ctx: Any, case: Case, last: bool, final: bool) -> list[int]:
        """Take the runs of a row; return its codes."""
        found: list[int] = []
        while True:
            run = await self.take(ctx)
            if run.fill:
                found += [case.window.fill] * run.bytes
            else:
                # Nothing but codes of the map.
                found += [case.codes[run.address + at] for at in range(run.bytes)]
                self.reads += 1
            assert (run.to, run.last) == (Destination.A, last)
            assert run.final == (final and not run.joins)
            if not run.joins:
                return found

    async def receive(self, ctx: Any) -> None:
        """Compare all rows with golden's."""
        for case in self.cases:
            for up, along, _, first, _ in case.blocks():
                for number in up:
                    last = number == up[-1]
                    found = await self.row(ctx, case, last, last and first)
                    wanted = case.wanted[number, along.start : along.stop]
                    assert found == wanted.tolist(), case.window
                for address in (up[-1], ~up[-1] & 255):
                    run = await self.take(ctx)
                    assert (run.to, run.address, run.fill) == (Destination.B, address, 0)
            self.received += 1


def check(cases: list[Case], seed: int, ready: float = 0.7) -> int:
    """Walk jobs one after the other; return the runs that were read."""
    walk = Walk(cases, seed, ready)
    simulator = Simulator(walk.dut)
    simulator.add_clock(1e-6)
    simulator.add_testbench(walk.send)
    simulator.add_testbench(walk.receive)
    simulator.run()
    return walk.reads


@pytest.mark.parametrize(
    "count", [25, *(pytest.param(2500 + part, marks=pytest.mark.prove) for part in range(4))]
)
def test_window_walk_makes_the_rows_of_golden(count: int) -> None:
    rng = RNG(count)
    assert check([Case(rng) for _ in range(count)], count) > count


@pytest.mark.prove
@pytest.mark.parametrize("across", [1094, 4370])
def test_the_last_window_of_a_wide_map_is_beyond_it_in_part(across: int) -> None:
    wide = Window(height=1, width=15 * (across - 1) + 1, across=across, channels=1, pixel=1,
                  kernel=(1, 2), strides=(1, 15))  # fmt: skip
    assert check([whole(6, wide, across)], 6, 1.0) == across


@pytest.mark.prove
def test_window_walk_stays_beyond_far_edges() -> None:
    """Coordinates that pass 2^16 do not come back; nor do those that begin at -255."""
    far = Window(height=2, width=20, across=18000, channels=1, pixel=1, kernel=(1, 2),
                 strides=(15, 15), first=(0, 255))  # fmt: skip
    wide, deep = whole(1, far, 18000), whole(2, replace(far, across=1, first=(255, 0)), 4400)
    assert check([wide, deep, Case(RNG(1))], 2, 1.0) > 3


@pytest.mark.sample(3)
@pytest.mark.parametrize(
    ("kernel", "stride", "dilation", "taps", "width"),
    [
        ((3, 3), 1, 1, 9, 9), ((3, 3), 2, 1, 4, 9), ((2, 4), 1, 3, 8, 9), ((3, 5), 1, 1, 1, 9),
        ((1, 1), 3, 1, 1, 9), ((3, 3), 1, 1, 9, 18), ((3, 3), 2, 1, 9, 33), ((5, 4), 2, 1, 20, 40),
        ((3, 3), 1, 1, 8, 99), ((5, 4), 1, 1, 20, 4),
    ],
)  # fmt: skip
def test_cycles_are_those_of_golden(
    kernel: tuple[int, int], stride: int, dilation: int, taps: int, width: int
) -> None:
    """Without stalls; what is beside each block is a few cycles."""
    window = Window(height=9, width=width, across=20, channels=2, pixel=2, kernel=kernel,
                    strides=(stride, stride), dilations=(dilation, dilation),
                    first=(1, 3 * (width > kernel[1])))  # fmt: skip
    case = whole(1, window, 50)
    case.taps = taps
    walk, cycles = Walk([case], 1, 1.0), 0
    walk.rng = random.Random()
    walk.rng.choice = min  # type: ignore[method-assign, assignment]

    async def count(ctx: Any) -> None:
        nonlocal cycles
        while not walk.received:
            await ctx.tick()
            cycles += 1

    simulator = Simulator(walk.dut)
    simulator.add_clock(1e-6)
    for bench in (walk.send, walk.receive, count):
        simulator.add_testbench(bench)
    simulator.run()
    wanted = walk_cycles(window, case.rows, taps)
    assert wanted <= cycles <= wanted + 12 * len(case.blocks()), (cycles, wanted)


def whole(seed: int, window: Window, rows: int) -> Case:
    """Return a job of one block."""
    case = Case(RNG(seed), window)
    case.rows = case.down = rows
    case.taps, case.columns, case.by_columns = window.taps, 1, False
    case.wanted = window_rows(window, case.image, rows)
    return case


def test_taps_that_follow_each_other_are_one_run() -> None:
    """A window inside of the map is as many runs as it has rows."""
    window = Window(height=5, width=40, across=20, channels=3, pixel=3, kernel=(3, 4))
    case = whole(2, window, 20)
    assert check([case], 1) == 3 * case.rows


def test_kernels_wider_than_the_map_are_walked_by_taps() -> None:
    narrow = Window(height=3, width=2, across=3, channels=3, pixel=3, kernel=(2, 3))
    check([whole(4, replace(narrow, first=(0, edge)), 6) for edge in range(3)], 3)


def test_rows_of_windows_begin_at_the_first_edge() -> None:
    """Of one window each; and behind a job that ends within a row of windows."""
    one = Window(height=9, width=5, across=1, channels=2, pixel=2, kernel=(1, 2), first=(0, 1))
    cut = replace(one, across=3, first=(0, 0))
    full = replace(one, width=2, across=2, first=(0, 0))
    check([whole(5, one, 6), whole(5, cut, 2), whole(5, full, 4)], 5)


@pytest.mark.parametrize("down", [False, True])
def test_the_largest_maps_begin_at_0(down: bool) -> None:
    """What is before the first edge is not of the last pixels."""
    side = 1 << 16
    window = Window(
        height=side if down else 1, width=1 if down else side, across=1 if down else 2,
        channels=1, pixel=1, kernel=(2, 1) if down else (1, 2), first=(down, not down),
    )  # fmt: skip
    case = whole(3, window, 2)
    assert check([case], 1) == (3 if down else 2)
