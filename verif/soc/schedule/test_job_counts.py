"""Jobs of a ring that are counted: which is the oldest is known in each cycle."""

from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from amaranth import Module, Signal
from amaranth.sim import Simulator

from golden.soc.spec import CoprocessorSpec
from golden.tpe.systolic_os import SystolicOsSpec
from hw.soc.schedule.control import Control
from hw.soc.schedule.job_counts import count_jobs
from hw.soc.schedule.row_request import joins_rows

SPEC = CoprocessorSpec(engine=SystolicOsSpec(m=4, n=4), address_width=32)
CYCLES = 3000


def bits(*names: str) -> SimpleNamespace:
    """Return signals of one bit."""
    return SimpleNamespace(**{name: Signal(name=name) for name in names})


def row(spec: CoprocessorSpec) -> SimpleNamespace:
    """Return a stream whose payload says that it is the job's last one."""
    return SimpleNamespace(
        valid=Signal(), ready=Signal(), payload=SimpleNamespace(final=Signal(), eq=lambda _: [])
    )


@pytest.mark.parametrize("windows", [False, True])
def test_the_oldest_job_is_the_one_after_those_that_are_done(windows: bool) -> None:
    """Up to four jobs are read and not done, the counts go round, and a clear ends them all."""
    spec = CoprocessorSpec(engine=SPEC.inside.spec, address_width=32, windows=windows)
    assert joins_rows(spec) == windows
    m, control, rng = Module(), Control.make(), np.random.default_rng(1)
    read = bits("o_final", "o_error", "o_error_other")
    write, path = SimpleNamespace(i=row(spec)), bits("o_final")
    path.o_rows = row(spec)
    _, oldest = count_jobs(m, SimpleNamespace(spec=spec, datapath=path), (read, write), control)
    events = [read.o_final, path.o_final, control.on, control.clear]
    seen = set()

    async def bench(ctx: Any) -> None:
        between = 0
        ctx.set(control.clear, 0)
        for _ in range(CYCLES):
            await ctx.tick()
            assert ctx.get(oldest) == (between == 0)
            clears = rng.random() < 0.01
            room = 4 - between
            comes = min(int(rng.integers(3 if windows else 2)), room)
            ends = int(between > 0 and rng.random() < 0.6)
            values = comes > 0, comes > 1, ends, clears
            for event, value in zip(events, values, strict=True):
                ctx.set(event, int(value))
            seen.add((between, comes, ends))
            between = 0 if clears else between + comes - ends

    simulator = Simulator(m)
    simulator.add_clock(1e-6)
    simulator.add_testbench(bench)
    simulator.run()
    assert len(seen) > (15 if windows else 12)
