"""The network or language model of a system: read, or compiled, with its inputs."""

import json
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from carrysave import cache
from carrysave.compiler.front.inputs import read_inputs, read_labels
from carrysave.compiler.front.options import ReadOptions, sized
from carrysave.compiler.front.samples import Samples
from carrysave.compiler.graph.graph import Graph
from carrysave.compiler.graph.names import within_file
from carrysave.compiler.passes.pipeline import PASSES, lower
from carrysave.compiler.program.floats import Floats
from carrysave.compiler.program.head_ways import HeadWays
from carrysave.compiler.program.names import is_program
from carrysave.compiler.program.network import compile_network
from carrysave.compiler.program.program import Program
from carrysave.compiler.program.read import read
from carrysave.compiler.program.reasons import between, check_target
from carrysave.compiler.run.stored import batches
from carrysave.compiler.target.target import Target
from carrysave.errors import ArgumentError, refusal
from carrysave.progress import Steps
from carrysave.system.request import SystemRequest, TextRun
from carrysave.system.simulate import SystemInputs
from carrysave.system.text import answer_of, text_program
from carrysave.weights.array_files import read_arrays

__all__ = ["SystemNetwork", "has_floats", "network_of", "write_network"]


@dataclass(frozen=True, kw_only=True, eq=False)
class SystemNetwork:
    """What a system runs.

    Members
    -------
    program : of it.
    inputs : of each run.
    labels : of inputs, or None.
    answer : of a language model, to its prompt; else None.
    """

    program: Program
    inputs: list[SystemInputs]
    labels: np.ndarray | None = None
    answer: str | None = None


def network_of(request: SystemRequest, target: Target, steps: Steps) -> SystemNetwork | None:
    """Read and compile a network, or a language model; return it with its inputs."""
    if request.model is None:
        return None
    if request.text is not None:
        return _answering(request, request.text, target, steps)
    assert request.data is not None
    if is_program(request.model):
        if request.reading != ReadOptions() or request.batch > 1:
            raise ArgumentError(
                "{batch}, {batch_axis}, {constants} and {states} must be left out: the program is"
                " compiled"
            )
        steps.step(f"read {request.model.name}")
        program = read(request.model, target)
        taken = read_arrays(request.data)
        most = request.chosen.sdram.bytes
        if len(program.memory) > most:
            size = len(program.memory)
            raise ValueError(f"the program must take {most:,} bytes of memory, not {size:,}")
        _ = program.plan
    else:
        steps.step(f"compile {request.model.name}")
        graph, samples = request.reading.read(request.model)
        inputs = read_inputs(request.data, graph, "x", samples)
        with within_file(request.model):
            if samples.states and request.batch > 1:
                raise ArgumentError("{batch} must be 1 with {states}, not {_n}", _n=request.batch)
            first = samples.part(inputs, 0, request.batch)
            program = _compiled(sized(graph, first), target, first, samples, request)
        taken = {name: inputs[name] for name in program.takes}
    if not program.layers:
        raise ValueError("a product must have codes as results: the firmware answers with them")
    if request.count is not None and request.count % program.batch:
        raise refusal("count", f"a multiple of {program.batch}", str(request.count))
    each: list[SystemInputs] = [(one, {}) for one in batches(program, taken, "x", request.count)]
    if request.labels is None:
        return SystemNetwork(program=program, inputs=each)
    if program.batch > 1:
        raise ArgumentError("{labels} are of runs of one input, not of {_n}", _n=program.batch)
    every = batches(program, taken, "x")
    labels = read_labels(request.labels, len(every))
    return SystemNetwork(program=program, inputs=each, labels=labels)


def _answering(
    request: SystemRequest, text: TextRun, target: Target, steps: Steps
) -> SystemNetwork:
    """Compile a language model; return it with the runs of an answer, if there is a prompt."""
    model, most = request.model, request.chosen.sdram.bytes
    assert model is not None
    steps.step(f"compile {model.name}")
    program = text_program(model, target, cache=text.cache, bits=text.kv, most=most)
    if text.prompt is None:
        return SystemNetwork(program=program, inputs=[])
    steps.step(f"answer by golden, {text.tokens} tokens at most")
    runs, answer = answer_of(program, model, text.prompt, text.tokens)
    return SystemNetwork(program=program, inputs=[({}, one) for one in runs], answer=answer)


def has_floats(program: Program) -> bool:
    """Return whether the firmware must have arithmetic of floats."""
    return any(isinstance(step, Floats) for step in program.steps)


def _compiled(
    graph: Graph,
    target: Target,
    inputs: dict[str, np.ndarray],
    samples: Samples,
    request: SystemRequest,
) -> Program:
    """Compile a network; refuse one with host segments before anything is computed."""
    check_target(target)
    lowered = lower(graph, target, until=PASSES[-1].name, program=True, attention=HeadWays(target))
    if reasons := between(lowered, target):
        raise ValueError("; ".join(reasons))
    most = request.chosen.sdram.bytes
    return compile_network(lowered, target, inputs, samples=samples, most=most)


def write_network(program: Program, folder: Path) -> Path:
    """Write the memory of a network as it is before it runs, and where what is in it."""
    plan = program.plan
    places = {
        "start": plan.start,
        "inputs": {name: list(tensor.span) for name, tensor in plan.inputs.items()},
        "layers": [
            {"layer": layer.node, "codes": list(layer.y.span), "counters": layer.counters}
            for layer in program.layers
        ],
    }
    cache.write(folder / "network.json", json.dumps(places, indent=2) + "\n")
    return cache.write(folder / "network.bin", program.memory.tobytes())
