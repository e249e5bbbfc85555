"""Every runner of a program, each on a memory of its own."""

import ctypes
from collections.abc import Callable, Sequence
from ctypes import c_uint32, c_uint64
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np

from carrysave.compiler.lowered import golden
from carrysave.compiler.lowered.evaluate import evaluate
from carrysave.compiler.lowered.operands import Operands
from carrysave.compiler.program.look_ups import look_ups
from carrysave.compiler.program.program import Program, Section
from carrysave.compiler.run import block, network
from carrysave.compiler.run.device import by_device, place
from carrysave.compiler.run.network import Runner
from carrysave.compiler.run.stepwise import comparable
from carrysave.compiler.timing.golden_job import CHIP
from carrysave.driver import Coprocessor
from carrysave.sim.cocotb.device_memory import Pool
from carrysave.system.generate import Written
from verif.compiler.stepwise import stepwise
from verif.compiler.system_steps import system_memories
from verif.soc.driver.c_driver import CDevice
from verif.soc.driver.software_device import SoftwareDevice

__all__ = [
    "check",
    "memory_of",
    "on_block",
    "on_c",
    "on_driver",
    "on_golden",
    "on_zeros",
    "on_system",
]

On = Callable[[Program], tuple[np.ndarray, Runner]]


def on_golden(program: Program) -> tuple[np.ndarray, Runner]:
    """Return memory whose bytes that nobody writes are random, and the golden runner."""
    memory = np.random.default_rng(0).integers(0, 256, program.image.end).astype(np.uint8)
    for address, data in program.image.parts.items():
        memory[address : address + len(data)] = np.frombuffer(data, np.uint8)
    return memory, network.by_golden(program, memory)


def on_zeros(program: Program) -> tuple[np.ndarray, Runner]:
    """Return memory whose bytes that nobody writes are 0, as a block's, and the golden runner."""
    memory = program.memory.copy()
    return memory, network.by_golden(program, memory)


def _software(program: Program) -> tuple[SoftwareDevice, np.ndarray]:
    memory = np.zeros(1 << (2 * program.image.end + 65536).bit_length(), np.uint8)
    return SoftwareDevice(program.target.spec, memory), memory


def on_driver(program: Program) -> tuple[np.ndarray, Runner]:
    """Return the Python driver's memory, and its runner, on a device in software."""
    software, memory = _software(program)
    device = Coprocessor(software, Pool(memory, np.random.default_rng(1)))
    return by_device(device, place(device, program))


def on_c(library: Any) -> On:
    """Return the same for the C driver."""

    def make(program: Program) -> tuple[np.ndarray, Runner]:
        software, memory = _software(program)
        pool = Pool(memory, np.random.default_rng(2), manual=True)
        device = CDevice(library, software, pool)
        buffer = pool((program.image.end + 64,), np.uint8)
        skip = -buffer.device_address % 64
        own = np.asarray(buffer)[skip : skip + program.image.end]
        own[:] = program.memory

        def run(section: Section) -> None:
            status = device.call(
                "program_run",
                own.ctypes.data_as(ctypes.c_void_p),
                c_uint64(buffer.device_address + skip),
                c_uint32(section.start),
                None,
                None,
            )
            device.check(status)

        return own, run

    return make


def on_block(folder: Path) -> On:
    """Return the same for the simulated block."""

    def make(program: Program) -> tuple[np.ndarray, Runner]:
        memory = program.memory.copy()

        def simulate(sections: Sequence[Section]) -> list[np.ndarray]:
            return block.simulated(program, memory, sections, folder)

        return memory, _ahead(program, memory, simulate)

    return make


def on_system(written: Written, folder: Path) -> On:
    """Return the same for a simulated system with its firmware."""

    def make(program: Program) -> tuple[np.ndarray, Runner]:
        memory = program.memory.copy()

        def simulate(sections: Sequence[Section]) -> list[np.ndarray]:
            return system_memories(written, memory, [one.start for one in sections], folder)

        return memory, _ahead(program, memory, simulate)

    return make


def _ahead(
    program: Program, memory: np.ndarray, simulate: Callable[[Sequence[Section]], list[np.ndarray]]
) -> Runner:
    """Return a runner that simulates all sections at once, and gives memory after each.

    It simulates again where memory has changed since: by the host, or for another run.
    """
    sections = list(program.sections)
    known: dict[int, tuple[np.ndarray, np.ndarray]] = {}

    def run(section: Section) -> None:
        number = next(at for at, one in enumerate(sections) if one is section)
        if number not in known or not np.array_equal(known[number][0], memory):
            made = simulate(sections[number:])
            before = [memory.copy(), *made]
            known.update({number + at: pair for at, pair in enumerate(pairwise(before))})
        memory[:] = known[number][1]

    return run


def memory_of(program: Program, on: On, inputs: dict[str, np.ndarray]) -> np.ndarray:
    """Return memory after a run, but for counters and what firmware writes for the device."""
    memory, runner = on(program)
    network.run(program, inputs, memory, runner)
    return comparable(program, memory)


def check(program: Program, inputs: dict[str, np.ndarray]) -> None:
    """Compare what golden makes of a program with what the network's own evaluator makes."""
    made: dict[str, np.ndarray] = {}
    names: dict[str, str] = {}

    def multiply(product: Operands, a: np.ndarray, b: np.ndarray | None) -> np.ndarray:
        compiled = product.compile(program.target, a, b, True)
        y = golden.product(program.target.spec, compiled)
        after = behind.get(product.y)
        name = product.y if after is None else after.output
        made[name] = y if after is None else after.table.run([y])
        names[product.name] = name
        return y

    assert program.lowered is not None
    behind = look_ups(program.lowered, program.target, ())
    expected = evaluate(program.lowered, inputs, multiply)
    steps = stepwise(program)
    memory, runner = on_golden(steps)
    last = {
        section.steps[0].node: section
        for section in steps.sections
        if (tensor := program.tensors.get(names.get(section.steps[0].node, ""))) is not None
        # What is on chip only jobs see.
        and tensor.sources.max() < CHIP
    }

    def watched(section: Section) -> None:
        runner(section)
        node = section.steps[0].node
        if last.get(node) is section:
            # What is made later may take its room.
            own = network.codes_of(program, names[node], memory)
            np.testing.assert_array_equal(own, made[names[node]], node)

    found = network.run(steps, inputs, memory, watched)
    for name, values in expected.items():
        np.testing.assert_array_equal(found[name], values)
    assert last
    near = sum(layer.y.sources.max() >= CHIP for layer in program.layers)
    assert len(last) >= len(program.layers) - near
