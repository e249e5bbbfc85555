"""The walk over a map, alone: runs of any geometry against golden, and none beyond the map."""

import random
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from amaranth.sim import Simulator

from golden.soc.spec import CoprocessorSpec
from golden.soc.window import Window, window_rows
from golden.tpe.systolic_os import SystolicOsSpec
from hw.soc.schedule.destination import Destination
from hw.soc.schedule.window_walk import WindowWalk
from verif.soc.benches.windows import any_window
from verif.soc.driver.driver_rig import RNG

SPEC = CoprocessorSpec(engine=SystolicOsSpec(m=4, n=4), windows=True, address_width=32)


class Case:
    """A job of windows: its map at some address, its blocks, and the codes that are expected."""

    def __init__(self, rng: np.random.Generator, window: Window | None = None) -> None:
        drawn = window or any_window(rng, 5)
        while window is None and drawn.codes > 120:
            drawn = any_window(rng, 5)
        self.window = drawn
        self.rows = int(rng.integers(1, 10))
        self.lda = drawn.row_bytes + int(rng.integers(0, 9))
        self.image = rng.integers(0, 256, (drawn.height, drawn.row_bytes))
        self.base = int(rng.integers(1 << 31))
        self.wanted = window_rows(drawn, self.image, self.rows)
        # Code by code, a byte that may be read; the others are behind the pixels.
        places = np.arange(drawn.width)[:, None] * drawn.pixel + np.arange(drawn.channels)
        self.codes = {
            self.base + y * self.lda + int(x): int(self.image[y, x])
            for y in range(drawn.height)
            for x in places.reshape(-1)
        }
        self.down = int(rng.integers(1, self.rows + 1))
        self.taps = int(rng.integers(1, drawn.taps + 1)) if rng.integers(2) else drawn.taps
        self.columns = int(rng.integers(1, 3))
        self.by_columns = bool(rng.integers(2))

    def blocks(self) -> list[tuple[range, range, bool, bool, bool]]:
        """List blocks of A that are loaded: rows, codes, and what is known of the next one."""
        ups = [range(at, min(at + self.down, self.rows)) for at in range(0, self.rows, self.down)]
        step = self.taps * self.window.channels
        whole = self.window.codes
        alongs = [range(at, min(at + step, whole)) for at in range(0, whole, step)]
        places = [(up, column) for up in ups for column in range(self.columns)]
        if self.by_columns:
            places.sort(key=lambda place: place[1])
        found = []
        for number, (up, column) in enumerate(places):
            if len(alongs) == 1 and not self.by_columns and column:
                continue  # it is still there
            last = self.by_columns or column == self.columns - 1 or len(alongs) == 1
            for along in alongs:
                ends = along is alongs[-1]
                again = not (ends and last)
                found.append((up, along, again, not again and up is ups[-1], ends))
            assert number < len(places)
        return found


class Walk:
    """A walk under simulation: what goes in, what comes out, and stalls of both."""

    def __init__(self, cases: list[Case], seed: int, ready: float) -> None:
        self.dut, self.rng, self.ready = WindowWalk(SPEC), random.Random(seed), ready
        self.cases = cases
        self.reads = 0

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

    async def send(self, ctx: Any) -> None:
        """Request the rows of all blocks, a row of B behind each."""
        dut, row = self.dut, self.dut.i.payload
        for case in self.cases:
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
                ctx.set(row.address, up[-1])
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
                run = await self.take(ctx)
                assert (run.to, run.address, run.fill) == (Destination.B, up[-1], 0)


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
def test_window_walk_stays_beyond_far_edges() -> None:
    """Coordinates that pass 2^16 do not come back; nor do those that begin at -255."""
    rng = RNG(1)
    far = Window(height=2, width=2, across=4400, channels=1, pixel=1, kernel=(1, 2),
                 strides=(15, 15), first=(0, 255))  # fmt: skip
    wide = Case(rng, far)
    wide.rows, wide.down, wide.columns, wide.by_columns = 4400, 4400, 1, False
    wide.wanted = window_rows(far, wide.image, wide.rows)
    deep = Case(rng, replace(far, across=1, first=(255, 0)))
    deep.rows, deep.down, deep.columns, deep.by_columns = 4400, 4400, 1, False
    deep.wanted = window_rows(deep.window, deep.image, deep.rows)
    assert check([wide, deep, Case(rng)], 2, 1.0) > 3
