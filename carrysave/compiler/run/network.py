"""Runs a program from inputs to outputs: sections by a runner, the rest on the host."""

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from carrysave.compiler.graph.graph import DOMAIN
from carrysave.compiler.graph.host_runtime import on_host
from carrysave.compiler.lowered import golden
from carrysave.compiler.lowered.evaluate import evaluator
from carrysave.compiler.lowered.operands import Operands
from carrysave.compiler.program.program import Program, Section
from carrysave.compiler.program.steps import HostStep
from carrysave.compiler.run.golden import execute
from carrysave.driver.system import parameter_words

__all__ = ["Runner", "by_golden", "run"]

Runner = Callable[[Section], None]
"""Runs a section on the memory that it was made for."""


def run(
    program: Program,
    inputs: Mapping[str, np.ndarray],
    memory: np.ndarray,
    runner: Runner,
    parameters: Mapping[str, int] | None = None,
) -> dict[str, np.ndarray]:
    """Return the model's outputs, by name; the program's codes stay in memory.

    Parameters
    ----------
    inputs : of the batch that it was compiled for.
    memory : uint8, filled with the program's; inputs are written into it.
    runner : runs sections on it.
    parameters : values, by name; others stay as they are in memory.

    Raises
    ------
    ValueError
        A parameter that is not there, or out of its range.
    """
    for address, data in parameter_words(program.parameters, parameters or {}).items():
        memory[address : address + len(data)] = np.frombuffer(data, np.uint8)
    host = _host_of(program)
    known: dict[str, Any] = {"": None, **program.constants, **inputs}

    def write(name: str) -> None:
        if name not in program.tensors:
            program.buffers[name].write(memory, known[name])
            return
        tensor = program.tensors[name]
        if tensor.kind == np.float32:
            memory.view(np.float32)[tensor.sources // 4] = known[name]
            return
        codes = known[name].astype(np.int64) - tensor.offset
        memory.view(np.int8)[tensor.sources] = codes

    for name in program.inputs:
        if name in known:
            write(name)
    for part in program.parts:
        if isinstance(part, Section):
            runner(part)
            continue
        for name in part.reads:
            known[name] = codes_of(program, name, memory)
        host(part, known)
        for name in part.writes:
            write(name)
    for name in program.outputs:
        if name not in known:
            known[name] = codes_of(program, name, memory)
    return {name: known[name] for name in program.outputs}


def by_golden(program: Program, memory: np.ndarray) -> Runner:
    """Return what runs sections by the golden model."""
    chip = np.zeros(program.target.spec.scratch, np.uint8)
    return lambda section: execute(program.target.spec, memory, section.start, chip)


def codes_of(program: Program, name: str, memory: np.ndarray) -> np.ndarray:
    """Return the codes of a tensor, or the floats that they stand for; or those of a buffer."""
    if name not in program.tensors:
        return program.buffers[name].read(memory)
    tensor = program.tensors[name]
    if tensor.kind == np.float32:
        return memory.view(np.float32)[tensor.sources // 4]
    if tensor.width > 1:
        return memory.view(np.int32)[tensor.sources // 4].astype(tensor.kind)
    codes = (memory.view(np.int8)[tensor.sources].astype(np.int64) + tensor.offset).astype(
        tensor.kind
    )
    if tensor.scale is None:
        return codes
    scale, zero = tensor.scale
    return ((codes.astype(np.int32) - np.int32(zero)) * np.float32(scale)).astype(np.float32)


def _host_of(program: Program) -> Callable[[HostStep, dict[str, Any]], None]:
    """Return what runs steps of the host: takes tensors by name, and adds those it makes."""

    def multiply(product: Operands, a: np.ndarray, b: np.ndarray | None) -> np.ndarray:
        return golden.product(program.target.spec, product.compile(program.target, a, b, True))

    nodes: Mapping[tuple[str, ...], Any] = {}
    opsets: Mapping[str, int] = {}
    if program.lowered is not None:
        machine = evaluator(program.lowered, multiply, lambda name, codes: codes)
        nodes = {tuple(node.onnx_node.output): node for node in machine.rt_nodes_}
        opsets = machine.opsets

    def run(step: HostStep, known: dict[str, Any]) -> None:
        for written in step.nodes:
            node = nodes[tuple(written.output)]
            given = [known[name] for name in written.input]
            made = node.run(*given) if written.domain == DOMAIN else on_host(node, given, opsets)
            known.update(zip(written.output, made, strict=False))

    return run
