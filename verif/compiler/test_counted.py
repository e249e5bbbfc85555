"""What is counted of a program: each start of a ring by itself, from one run of it."""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from rich.console import Console

from carrysave.compiler.program.program import Program
from carrysave.compiler.program.steps import Start
from carrysave.compiler.run import network
from carrysave.compiler.run.block import by_block
from carrysave.compiler.run.counted import counted_facts, counted_table
from carrysave.compiler.run.device import Samples, by_device, place
from carrysave.compiler.run.network import by_golden
from carrysave.compiler.run.stepwise import first_difference
from carrysave.compiler.target.target import Target
from carrysave.driver import Coprocessor
from carrysave.driver.system import COUNTERS, counters_of
from carrysave.sim.cocotb.device_memory import Pool
from golden.soc.memory_timing import BLOCK_RAM
from verif.compiler.test_program import TARGET, compiled, inputs
from verif.compiler.test_rings import chain
from verif.soc.driver.software_device import SoftwareDevice
from verif.system.networks import convolutions

SIZE = len(COUNTERS)
HIGH = (1 << 32) - 50
"""Counters whose lower bits begin anew within a ring."""


def starts_of(program: Program) -> list[Start]:
    return [step for step in program.steps if isinstance(step, Start)]


class Counting(SoftwareDevice):
    """A co-processor in software, whose counters say what a test sets."""

    whole = 0

    def read(self, offset: int) -> int:
        """Read a register."""
        if 176 <= offset < 176 + 8 * SIZE:
            number, high = divmod((offset - 176) // 4, 2)
            return (self.whole + number) >> 32 * high & 0xFFFFFFFF
        return super().read(offset)


def counted(program: Program, samples: Samples, whole: int) -> np.ndarray:
    """Return memory after a run of the driver, of a device that counts this."""
    memory = np.zeros(1 << (2 * program.image.end + 65536).bit_length(), np.uint8)
    software = Counting(program.target.spec, memory)
    software.whole = whole
    device = Coprocessor(software, Pool(memory, np.random.default_rng(1)))
    ours, runner = by_device(device, place(device, program), lambda: samples)
    network.run(program, inputs(1), ours, runner)
    return ours


def sample(done: int, cycles: int) -> tuple[int, np.ndarray]:
    values = np.arange(cycles, cycles + SIZE)
    return done, (values & 0xFFFFFFFF).astype(np.uint32)


@pytest.mark.parametrize("last", [[], [sample(3, HIGH + 180)]], ids=["ended before", "seen"])
def test_counters_of_each_start_add_up(last: list[tuple[int, np.ndarray]]) -> None:
    """Beyond 32 bits, too; the last job may end before it is looked for."""
    program = chain()
    memory = counted(program, [sample(1, HIGH), sample(2, HIGH + 100), *last], HIGH + 200)
    cycles = [counters_of(memory, [one.counters])["cycles"] for one in starts_of(program)]
    assert cycles == [HIGH, 100, 100]
    others = [counters_of(memory, [one.counters])["macs"] for one in starts_of(program)]
    assert others == [HIGH + SIZE - 1, 100, 100]
    facts = counted_facts(program, [memory])
    assert facts is not None
    assert facts["cycles"] == HIGH + 200
    assert [one["cycles"] for one in facts["nodes"]] == cycles
    model = sum(one.cycles for one in starts_of(program))
    assert facts["cycles_by_model"] == model
    assert facts["deviation"] == (HIGH + 200) / model - 1


def test_starts_that_end_within_a_look_are_one() -> None:
    program = chain()
    memory = counted(program, [sample(2, 300)], 500)
    cycles = [counters_of(memory, [one.counters])["cycles"] for one in starts_of(program)]
    assert cycles == [300, 0, 200]


def test_a_ring_that_is_counted_as_a_whole() -> None:
    """As behind a serial line: there are no nodes; and nothing of a build that does not count."""
    program = chain()
    facts = counted_facts(program, [counted(program, [], 700)])
    assert facts is not None
    assert (facts["cycles"], facts["nodes"]) == (700, None)
    assert counted_facts(program, [program.memory]) is None


def with_counters(
    program: Program, memory: np.ndarray, cycles: Sequence[int], *, apart: bool = True
) -> np.ndarray:
    """Return memory in which each start has counted so many cycles, and rings all of theirs.

    Parameters
    ----------
    apart : False: starts of a ring have counted nothing.
    """
    memory = memory.copy()
    for start, count in zip(starts_of(program), cycles, strict=True):
        values = np.full(SIZE, count, "<u8")
        memory[start.counters : start.counters + values.nbytes] = values.view(np.uint8)
    for ring in program.sections[0].rings:
        total = sum(counters_of(memory, [at])["cycles"] for _, at in ring.starts)
        memory[ring.counters : ring.counters + 8] = np.array([total], "<u8").view(np.uint8)
        for _, at in ring.starts if not apart else ():
            memory[at : at + 8 * SIZE] = 0
    return memory


@pytest.mark.parametrize("batches", [2, 3, 7])
def test_batches_are_averaged_and_shown(batches: int, capsys: pytest.CaptureFixture[str]) -> None:
    """Of starts without a ring, too: one row for each node, be means whole numbers or not."""
    program = compiled(convolutions(5))
    starts = starts_of(program)
    assert program.sections[0].rings
    cycles = np.random.default_rng(5).integers(100, 5000, (batches, len(starts)))
    memories = [with_counters(program, program.memory, one) for one in cycles.tolist()]
    facts = counted_facts(program, memories)
    assert facts is not None
    for one, start, counted in zip(facts["nodes"], starts, cycles.T, strict=True):
        assert (one["node"], one["jobs"]) == (start.node, len(start.jobs))
        assert one["cycles"] == counted.mean()
        assert one["deviation"] == counted.mean() / start.cycles - 1
    assert facts["cycles"] == cycles.sum(axis=1).mean()
    Console(width=120).print(counted_table(facts, "the block"))
    shown = capsys.readouterr().out
    assert all(one["node"] in shown for one in facts["nodes"])
    assert f"{facts['cycles']:,.0f}" in shown.splitlines()[-2]


def test_the_simulated_block_counts_each_start(tmp_path: Path) -> None:
    """All that a start read, wrote and multiplied is within its own cycles, or near."""
    program = chain(target=Target(TARGET.design, timing=BLOCK_RAM), side=1)
    ours, theirs = program.memory.copy(), program.memory.copy()
    network.run(program, inputs(5), ours, by_block(program, ours, tmp_path))
    network.run(program, inputs(5), theirs, by_golden(program, theirs))
    assert first_difference(program, ours, theirs) is None
    facts = counted_facts(program, [ours])
    assert facts is not None
    assert facts["nodes"] is not None
    # Of a few hundred cycles some are a job's begin, whose jitter is not modelled.
    assert abs(facts["deviation"]) < 0.04
    for one, start in zip(facts["nodes"], starts_of(program), strict=True):
        assert 100 < one["cycles"] < 2000
        # 16 pixels of 6 codes, and 6 columns, on 4 x 4.
        assert counters_of(ours, [start.counters])["compute"] == 16 * 8 * 6 / 16
    other = replace(program, parts=program.parts[:1])
    assert counted_facts(other, [ours]) == facts
