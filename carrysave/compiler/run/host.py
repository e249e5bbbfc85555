"""Runs what a program has for the host."""

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from carrysave.compiler.graph.graph import DOMAIN
from carrysave.compiler.graph.host_runtime import on_host
from carrysave.compiler.lowered import golden
from carrysave.compiler.lowered.evaluate import evaluator
from carrysave.compiler.lowered.operands import Operands
from carrysave.compiler.program.program import Program
from carrysave.compiler.program.steps import HostStep

__all__ = ["host_of"]


def host_of(program: Program) -> Callable[[HostStep, dict[str, Any]], None]:
    """Return what runs steps of the host: takes tensors by name, and adds those it makes."""
    nodes: Mapping[tuple[str, ...], Any] = {}
    opsets: Mapping[str, int] = {}
    if program.lowered is not None:
        machine = evaluator(program.lowered, _multiplier(program), lambda name, codes: codes)
        nodes = {tuple(node.onnx_node.output): node for node in machine.rt_nodes_}
        opsets = machine.opsets

    def run(step: HostStep, known: dict[str, Any]) -> None:
        for own in step.nodes:
            node = nodes[tuple(own.output)]
            given = [known[name] for name in own.input]
            made = node.run(*given) if own.domain == DOMAIN else on_host(node, given, opsets)
            known.update(zip(own.output, made, strict=False))

    return run


def _multiplier(
    program: Program,
) -> Callable[[Operands, np.ndarray, np.ndarray | None], np.ndarray]:
    def multiply(product: Operands, a: np.ndarray, b: np.ndarray | None) -> np.ndarray:
        return golden.product(program.target.spec, product.compile(program.target, a, b, True))

    return multiply
