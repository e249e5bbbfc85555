"""A run of a program from its folder, as it is asked for."""

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from rich.console import Console

from carrysave import cache
from carrysave.compiler.front.inputs import read_labels
from carrysave.compiler.front.samples import Samples
from carrysave.compiler.program.facts import facts
from carrysave.compiler.program.program import Program
from carrysave.compiler.program.read import read
from carrysave.compiler.run import network
from carrysave.compiler.run.attached import on_board
from carrysave.compiler.run.block import by_block
from carrysave.compiler.run.counted import counted_facts, counted_table
from carrysave.compiler.run.network import by_golden
from carrysave.compiler.run.outputs import archive, array_names
from carrysave.compiler.run.products import SIMULATIONS
from carrysave.compiler.run.spans import Span, by_counters, by_model
from carrysave.compiler.run.stepwise import first_difference
from carrysave.compiler.run.timeline import check_path, write_timeline
from carrysave.errors import ArgumentError, UsageError, check_choice, refusal
from carrysave.progress import Steps
from carrysave.report import tables
from carrysave.weights.array_files import read_arrays

__all__ = ["ProgramRequest", "batches", "execute", "show"]


@dataclass(frozen=True, kw_only=True)
class ProgramRequest:
    """A request for a run.

    Parameters
    ----------
    program : its folder.
    data, labels : files.
    simulate : batches on the simulated block, too: all, sample (the first one), none.
    port, baud : serial line of a board with the program's co-processor, in place of the simulated
        block; None: the rate of its build.
    timeline : file for when each part of the co-processor is busy.
    """

    program: Path
    data: Path
    labels: Path | None
    simulate: str
    port: str | None = None
    baud: int | None = None
    timeline: Path | None = None

    def __post_init__(self) -> None:
        """Check the choices."""
        check_path(self.timeline)
        check_choice("simulate", self.simulate, SIMULATIONS)
        if self.baud is not None and self.port is None:
            raise ArgumentError("{baud} needs {port}")


def execute(request: ProgramRequest, folder: Path, command: str, steps: Steps) -> dict[str, Any]:
    """Run a program on all inputs.

    Returns
    -------
    ``command program design inputs batch cycles host_segments simulate port simulated different
    counted outputs files``: `cycles` of a batch by the cost model; `simulated` batches on the
    block, or on the board at the port, of which the first whose memory is not golden's is said by
    `different`; `counted` of :func:`counted_facts`, None if none was simulated; of each output
    ``name array type shape accuracy``.
    """
    steps.step(f"read {request.program.name}")
    program = read(request.program)
    given = list(batches(program, read_arrays(request.data), "x"))
    count = len(given) * program.batch
    labels = read_labels(request.labels, count)
    steps.step(f"run {count} inputs")
    made: list[dict[str, np.ndarray]] = []
    different: str | None = None
    chosen = {"all": len(given), "sample": 1, "none": 0}[request.simulate]
    where = _where(request.port)
    memory, carried, after = program.memory.copy(), program.memory.copy(), list[np.ndarray]()
    with _hardware(request, program, folder) as run_there:
        for number, inputs in enumerate(given):
            made.append(network.run(program, inputs, memory, by_golden(program, memory)))
            if number < chosen and different is None:
                steps.step(f"run input {number * program.batch} on {where}")
                carried = run_there(inputs, carried)
                after.append(carried.copy())
                different = first_difference(program, carried, memory)
    outputs = samples_of(program).joined(made)
    names = array_names(outputs)
    facts_of_run = facts(program, command, request.program.name)
    counted = counted_facts(program, after) if after else None
    files = [cache.write(folder / "run" / request.program.name / "outputs.npz", archive(outputs))]
    if request.timeline is not None:
        spans = by_model(program)
        if counted is not None and counted["nodes"] is not None:
            spans += by_counters(program, after[-1])
        files.append(_timeline(request, facts_of_run, spans))
    return {
        "command": command,
        "program": str(request.program),
        "design": facts_of_run["design"],
        "inputs": count,
        "batch": program.batch,
        "cycles": facts_of_run["cycles"],
        "host_segments": facts_of_run["host_segments"],
        "simulate": request.simulate,
        "port": request.port,
        "simulated": chosen,
        "different": different,
        "counted": counted,
        "outputs": [
            {"name": name, "array": names[name], "type": str(values.dtype),
             "shape": list(values.shape), "accuracy": _accuracy(values, labels)}
            for name, values in outputs.items()
        ],
        "files": [str(file) for file in files],
    }  # fmt: skip


def _timeline(request: ProgramRequest, facts: Mapping[str, Any], spans: list[Span]) -> Path:
    assert request.timeline is not None
    title = f"{request.program.name} on {facts['design']}"
    return write_timeline(request.timeline, title, facts["command"], spans, facts["losses"])


@contextmanager
def _hardware(
    request: ProgramRequest, program: Program, folder: Path
) -> Iterator[Callable[[dict[str, np.ndarray], np.ndarray], np.ndarray]]:
    """Give what runs a batch, on memory as the batch before left it, and returns memory then."""
    if request.port is None:

        def simulated(inputs: dict[str, np.ndarray], memory: np.ndarray) -> np.ndarray:
            network.run(program, inputs, memory, by_block(program, memory, folder / "runs"))
            return memory

        yield simulated
        return
    with on_board(program, request.port, request.baud) as attached:

        def there(inputs: dict[str, np.ndarray], memory: np.ndarray) -> np.ndarray:
            attached.run(inputs)
            return attached.memory

        yield there


def batches(
    program: Program,
    data: np.ndarray | Mapping[str, np.ndarray],
    argument: str,
    most: int | None = None,
) -> list[dict[str, np.ndarray]]:
    """Return inputs, batch by batch, as the program takes them: the first so many, or all.

    Raises
    ------
    UsageError
        Other names, types or shapes, or a program that takes no inputs.
    """
    takes = program.takes
    if not takes:
        raise UsageError("the program takes text: carrysave chat or embed runs it")
    arrays = dict(data) if isinstance(data, Mapping) else dict.fromkeys(list(takes)[:1], data)
    if set(arrays) != set(takes):
        raise refusal(argument, ", ".join(takes), ", ".join(arrays))
    size, samples = program.batch, samples_of(program)
    for name, (kind, shape) in takes.items():
        axis = samples.inputs[name]
        if arrays[name].ndim > axis:
            arrays[name] = arrays[name][(*[slice(None)] * axis, slice(most))]
        array = arrays[name]
        rest = [one for at, one in enumerate(shape) if at != axis]
        there = [one for at, one in enumerate(array.shape) if at != axis]
        if array.ndim != len(shape) or there != rest or array.shape[axis] % size:
            legal = [*shape[:axis], f"a multiple of {size}", *shape[axis + 1 :]]
            sides = [" x ".join(map(str, sizes)) for sizes in (legal, array.shape)]
            raise _other(argument, name, *sides)
        if array.dtype != kind:
            raise _other(argument, name, f"of {kind}", str(array.dtype))
    counts = {arrays[name].shape[samples.inputs[name]] for name in takes}
    if len(counts) != 1 or counts == {0}:
        text = f"{{{argument}}} must hold as many inputs, one or more, in each array"
        raise ArgumentError(text)
    (count,) = counts
    bare = replace(samples, states={})
    return [bare.part(arrays, first, size) for first in range(0, count, size)]


def _other(argument: str, name: str, legal: str, given: str) -> ArgumentError:
    """Return what is said of an array of an argument."""
    text = f"{{{argument}}} {{_name}} must be {{_legal}}, not {{_given}}"
    return ArgumentError(text, _name=name, _legal=legal, _given=given)


def samples_of(program: Program) -> Samples:
    """Return where samples are: along the first axes, if nothing else is said."""
    plain = Samples(
        inputs=dict.fromkeys(program.takes, 0), outputs=dict.fromkeys(program.outputs, 0)
    )
    return program.samples or plain


def _accuracy(values: np.ndarray, labels: np.ndarray | None) -> float | None:
    if labels is None or values.ndim != 2 or values.shape[1] < 2 or len(values) != len(labels):
        return None
    return float(np.mean(values.argmax(axis=1) == labels))


def show(console: Console, facts: Mapping[str, Any]) -> None:
    """Print the results."""
    if facts["counted"] is not None:
        console.print(counted_table(facts["counted"], _where(facts["port"])))
    tables.say(console, _lines(facts))


def _lines(facts: Mapping[str, Any]) -> Iterator[str]:
    yield (
        f"{facts['design']}: {facts['inputs']:,} inputs, in batches of {facts['batch']} of"
        f" {facts['cycles']:,} cycles by the cost model"
    )
    yield f"host segments: {facts['host_segments']}"
    for one in facts["outputs"]:
        right = "" if one["accuracy"] is None else f", right {one['accuracy']:.2%}"
        yield f"{one['name']}: {' x '.join(map(str, one['shape']))} of {one['type']}{right}"
    if facts["simulated"]:
        what = facts["different"] or "all of memory is golden's"
        yield f"batches on {_where(facts['port'])}: {facts['simulated']:,}; {what}"


def _where(port: str | None) -> str:
    """Name what ran batches."""
    return "the simulated block" if port is None else f"the board at {port}"
