"""Co-processors and models for tests of the ways of attention."""

from typing import Any

import numpy as np

from carrysave.compiler.graph.graph import Graph
from carrysave.compiler.lowered.evaluate import evaluate
from carrysave.compiler.passes.pipeline import PASSES, lower
from carrysave.compiler.program.head_ways import HeadWays
from carrysave.compiler.program.network import compile_network
from carrysave.compiler.program.program import Program
from carrysave.compiler.run.machine import Machine
from carrysave.compiler.run.network import by_golden, run
from carrysave.compiler.target.target import Target
from hw.catalog import Design
from verif.networks.attending import Coded, attend, joined
from verif.networks.comparing import draw

__all__ = ["by_program", "by_run", "error", "inputs", "parameters", "program", "target"]

_UNIT = {
    "width": "16",
    "scale_width": "8",
    "out_width": "16",
    "signed": "true",
    "lanes": "4",
    "length": "128",
    "operations": "softmax,add,scale,exps,divide",
}


def parameters(unit: dict[str, str] | None = None, **more: str) -> dict[str, str]:
    """Return parameters of a small co-processor, whose vector unit has both ways of attention."""
    text = ",".join(f"{name}={value}" for name, value in {**_UNIT, **(unit or {})}.items())
    given = {"m": "4", "n": "4", "code_bytes": "2", "shares": "true"}
    return {**given, "vector": f"vector_unit({text})", **more}


def target(unit: dict[str, str] | None = None, **more: str) -> Target:
    """Return that co-processor."""
    return Target(Design.parse("coprocessor", parameters(unit, **more)))


def inputs(coded: Coded) -> np.ndarray:
    """Draw inputs of a model."""
    return draw(np.random.default_rng(3), coded.shape, coded.kind)


def by_run(coded: Coded, on: Target, way: str, x: np.ndarray | None = None) -> np.ndarray:
    """Return the outputs of a model as ``run`` computes it; of those inputs, if none are given."""
    network = lower(Graph(coded.model()), on, attention=HeadWays(on, way))
    machine = Machine(on, True, "none", remember=False)
    made: np.ndarray = evaluate(network, {"x": inputs(coded) if x is None else x}, machine.keep)[
        "y"
    ]
    return made


def program(coded: Coded, on: Target, way: str) -> Program:
    """Compile a model."""
    last, ways = PASSES[-1].name, HeadWays(on, way)
    lowered = lower(Graph(coded.model()), on, until=last, program=True, attention=ways)
    return compile_network(lowered, on, {"x": inputs(coded)})


def by_program(coded: Coded, on: Target, way: str) -> np.ndarray:
    """Return the outputs of its program, by golden; it has no segment of the host."""
    made = program(coded, on, way)
    assert not made.host
    memory = made.memory.copy()
    return run(made, {"x": inputs(coded)}, memory, by_golden(made, memory))["y"]


def error(coded: Coded, outputs: np.ndarray, **how: Any) -> float:
    """Return the root mean square of errors against float64, of the outputs' deviation."""
    expected = attend(*coded.floats(inputs(coded)), **how)
    expected = expected if coded.by_head else joined(expected)
    return float(np.sqrt(np.square(outputs - expected).mean()) / expected.std())
