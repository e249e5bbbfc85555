"""The greatest of sums that leave, in Amaranth's simulator, against golden; where it is refused."""

from typing import Any

import numpy as np
import pytest
from amaranth.sim import Simulator

from golden.npe.npe import NpeSpec
from golden.soc.greatest import greatest
from golden.soc.spec import CoprocessorSpec
from golden.tpe.systolic_os import SystolicOsSpec
from hw.soc.path.greatest_sum import GreatestSum

COUNT = 40
LANES = NpeSpec(m=2, n=3, formats="e4m3", result="e4m3")
BLOCKS = NpeSpec(m=2, n=3, formats="e2m1", scale="e8m0", block=16, result="fp32")
SPECS = {
    "lanes": CoprocessorSpec(engine=LANES, amax=True),
    "integers": CoprocessorSpec(engine=SystolicOsSpec(m=2, n=3), amax=True),
    "floats": CoprocessorSpec(engine=BLOCKS, amax=True, bias=False, requantise=False),
}


@pytest.mark.parametrize(("name", "across"), [("lanes", 3), ("integers", 1), ("floats", 2)])
def test_the_greatest_sum_of_each_job_is_goldens(name: str, across: int) -> None:
    """Jobs of one sum and of many, ends of the range, sums outside of C, and some that are none."""
    spec, rng = SPECS[name], np.random.default_rng(across)
    dut, width = GreatestSum(spec, across), spec.inside.sum_width
    flags, signed = spec.inside.flags, spec.inside.signed and not spec.inside.a_sides
    made: list[int] = []

    async def bench(ctx: Any) -> None:
        for job in range(COUNT):
            pieces, size = int(rng.integers(1, 6)), int(rng.integers(1, width))
            sums, invalid = list[int](), list[bool]()
            for piece in range(pieces):
                inside = rng.integers(0, 2, across) | (np.arange(across) == 0)
                bits = [int(one) for one in rng.integers(0, 1 << size, across, np.uint64)]
                if job % 4 == 0:
                    bits = [int(rng.choice([0, 1 << width - 1, (1 << width) - 1])) for _ in bits]
                elif signed:
                    bits = [one * int(rng.choice([-1, 1])) % (1 << width) for one in bits]
                bad = [bool(flags and rng.random() < 0.2) for _ in bits]
                words = [one | flag << width for one, flag in zip(bits, bad, strict=True)]
                step = spec.number_width
                ctx.set(dut.i, sum(word << step * at for at, word in enumerate(words)))
                ctx.set(dut.i_inside, sum(int(one) << at for at, one in enumerate(inside)))
                ctx.set(dut.i_first, piece == 0)
                ctx.set(dut.en, 1)
                await ctx.tick()
                ctx.set(dut.en, 0)
                ctx.set(dut.i, (1 << len(dut.i)) - 1 >> flags)
                ctx.set(dut.i_first, 1)
                if rng.random() < 0.3:
                    await ctx.tick()
                half = 1 << width - 1
                numbers = [(one ^ half) - half if signed else one for one in bits]
                sums += [one for one, here in zip(numbers, inside, strict=True) if here]
                invalid += [one for one, here in zip(bad, inside, strict=True) if here]
            for _ in range(6):
                await ctx.tick()
            due = greatest(spec, np.array(sums, object), np.array(invalid))
            assert ctx.get(dut.o) == due, (job, sums)
            made.append(due)

    simulator = Simulator(dut)
    simulator.add_clock(1e-9)
    simulator.add_testbench(bench)
    simulator.run()
    assert len(set(made)) > COUNT // 2
    assert not signed or 1 << width - 1 in made


def test_wide_sums_have_no_greatest() -> None:
    wide = NpeSpec(m=2, n=2, lane="sl16", accumulator_width=80, formats="int16", result="int16")
    with pytest.raises(ValueError, match="amax must be false with group_scales, and with sums"):
        CoprocessorSpec(engine=wide, amax=True)
    with pytest.raises(ValueError, match="amax must be false with group_scales"):
        CoprocessorSpec(engine=SystolicOsSpec(m=4, n=4), group_scales="fp16", amax=True)
