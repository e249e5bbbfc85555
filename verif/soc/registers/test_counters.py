"""The counters against plain sums, on Amaranth's simulator."""

import random
from typing import Any

import pytest
from amaranth.sim import Simulator

from hw.soc.registers.counters import Counters

WIDTHS = {**{f"event{number}": 1 for number in range(6)}, "macs": 31}


@pytest.mark.sample(1)
@pytest.mark.parametrize("density", [0.2, 1.0])
def test_counters_are_exact_in_every_cycle(density: float) -> None:
    dut = Counters(WIDTHS)
    draw = random.Random(1)
    sums, uppers = [0] * 7, [0] * 7

    async def bench(ctx: Any) -> None:
        reads, asked, there = True, None, 0
        for cycle in range(6000):
            # At first counters are also read before their turn comes.
            clear = draw.random() < (0.05 if cycle < 1000 else 0.0005)
            restart = draw.random() < 0.001
            counts = draw.random() < 0.98
            events = [int(draw.random() < density) for _ in range(6)]
            events.append(draw.choice([0, 1, (1 << 31) - 1, draw.getrandbits(31)]))
            # Reads come in every other cycle at most.
            reads = not reads and draw.random() < max(density, 0.5)
            word = draw.randrange(14)
            ctx.set(dut.i_clear, clear)
            ctx.set(dut.i_restart, restart)
            ctx.set(dut.en, counts)
            for name, event in zip(WIDTHS, events, strict=True):
                ctx.set(dut.i[name], event)
            ctx.set(dut.i_read, reads)
            ctx.set(dut.i_word, word)
            if asked is not None:
                (number, upper), value = divmod(asked, 2), there
                expected = uppers[number] if upper else value & 0xFFFFFFFF
                assert ctx.get(dut.o) == expected
                if not upper:
                    uppers[number] = value >> 32
            # Of the cycle of a read nothing counts, but that it clears.
            asked, there = word if reads else None, 0 if clear else sums[word // 2]
            if restart:
                uppers[:] = [0] * 7
            if clear:
                sums[:] = [0] * 7
            elif counts:
                sums[:] = [before + event for before, event in zip(sums, events, strict=True)]
            await ctx.tick()
        assert max(uppers) > 0

    simulator = Simulator(dut)
    simulator.add_clock(1e-8)
    simulator.add_testbench(bench)
    simulator.run()


def test_counters_are_few() -> None:
    with pytest.raises(ValueError, match=r"widths must be of 1..7 counters, not 8"):
        Counters({f"event{number}": 1 for number in range(8)})
