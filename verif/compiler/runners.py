"""Every runner of a program, each on a memory of its own."""

import ctypes
from collections.abc import Callable
from ctypes import c_uint32, c_uint64
from pathlib import Path
from typing import Any

import numpy as np

from carrysave.compiler.lowered import golden
from carrysave.compiler.lowered.evaluate import evaluate
from carrysave.compiler.lowered.operands import Operands
from carrysave.compiler.program.program import Program, Section
from carrysave.compiler.run import block, network
from carrysave.compiler.run.device import by_device, place
from carrysave.compiler.run.network import Runner
from carrysave.compiler.run.stepwise import comparable, stepwise
from carrysave.driver import Coprocessor
from carrysave.sim.cocotb.device_memory import Pool
from verif.soc.driver.c_driver import CDevice
from verif.soc.driver.software_device import SoftwareDevice

__all__ = [
    "check",
    "memory_of",
    "on_block",
    "on_c",
    "on_driver",
    "on_golden",
]

On = Callable[[Program], tuple[np.ndarray, Runner]]


def on_golden(program: Program) -> tuple[np.ndarray, Runner]:
    """Return memory whose bytes that nobody writes are random, and the golden runner."""
    memory = np.random.default_rng(0).integers(0, 256, program.image.end).astype(np.uint8)
    for address, data in program.image.parts.items():
        memory[address : address + len(data)] = np.frombuffer(data, np.uint8)
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
        return memory, block.by_block(program, memory, folder)

    return make


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
        made[product.y] = y = golden.product(program.target.spec, compiled)
        names[product.name] = product.y
        return y

    assert program.lowered is not None
    expected = evaluate(program.lowered, inputs, multiply)
    steps = stepwise(program)
    memory, runner = on_golden(steps)
    last = {
        section.steps[0].node: section
        for section in steps.sections
        if names.get(section.steps[0].node) in program.tensors
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
    assert len(last) >= len(program.layers)
