"""A program: steps, the memory that they work on, what goes in and what comes out."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np

from carrysave.compiler.front.samples import Samples
from carrysave.compiler.lowered.lowered import Lowered
from carrysave.compiler.program.buffers import Buffer
from carrysave.compiler.program.floats import SectionStep
from carrysave.compiler.program.image import Image
from carrysave.compiler.program.rings import Ring
from carrysave.compiler.program.steps import HostStep, Start, State
from carrysave.compiler.program.words import APART_WORD
from carrysave.compiler.target.target import Target
from carrysave.driver.system import Parameter, Plan, Tensor

__all__ = ["Layer", "Program", "Section", "Solved"]


@dataclass(frozen=True, eq=False)
class Layer:
    """A product in a program.

    Members
    -------
    node, operator : of the model.
    shapes : M K N of its jobs.
    tensor, y : its codes' name, and where they are.
    counters : addresses of the counters of its starts.
    """

    node: str
    operator: str
    shapes: list[tuple[int, int, int]]
    tensor: str
    y: Tensor
    counters: list[int]


@dataclass(frozen=True, eq=False)
class Section:
    """Steps that run one after the other, without the host.

    Members
    -------
    steps : in order.
    start : address of their words.
    rings : of its starts, those whose jobs are ready in memory.
    """

    steps: tuple[SectionStep, ...]
    start: int
    rings: tuple[Ring, ...] = ()

    @property
    def written(self) -> list[Start]:
        """Starts whose jobs are not ready: a runner writes them."""
        ready = {counters for ring in self.rings for _, counters in ring.starts}
        starts = (step for step in self.steps if isinstance(step, Start))
        return [step for step in starts if step.counters not in ready]

    @property
    def counters(self) -> tuple[int, ...]:
        """Addresses of the counters of all starts, those of rings together."""
        return (*(one.counters for one in self.rings), *(one.counters for one in self.written))


@dataclass(frozen=True, kw_only=True)
class Solved:
    """What the solver made of a program.

    Members
    -------
    greedy : bytes on the bus of the greedy schedule.
    bound : bytes that none of the solver's choices goes below.
    seconds : of the solver.
    taken : the program is the solver's; else nothing had fewer bytes than the greedy schedule.
    """

    greedy: int
    bound: int
    seconds: float
    taken: bool


@dataclass(frozen=True, kw_only=True, eq=False)
class Program:
    """What a model is compiled to, for one batch of inputs at a time.

    Members
    -------
    target : the co-processor.
    image : memory that is filled before it runs, with its buffers.
    parts : sections, and what the host does before, between and behind them, in order.
    tensors : codes in memory, by the name of the tensor.
    constants : tensors that are known before it runs.
    inputs : names of codes that come from the host, before the first section.
    outputs : names of what it makes: tensors in memory, or of the host; or buffers.
    layers : products, in the order in which they run.
    ring, scores, classes : of the last product, for firmware that answers with a class: room for
        descriptors, address of its codes, their count.
    parameters : what is chosen for each run.
    states : what a run leaves for the next one.
    results : outputs that are numbers, not codes.
    lowered : the network, whose nodes the host runs; None: there is none.
    takes : type and shape of the model's inputs, for which it was compiled.
    samples : where samples are in inputs and outputs, and states by name; None: along first axes.
    solved : how the solver did that chose what is on chip; None: it is the greedy schedule.
    more : what users of the program have in its manifest.
    """

    target: Target
    image: Image
    parts: tuple[Section | HostStep, ...]
    ring: int
    tensors: dict[str, Tensor] = field(default_factory=dict)
    constants: dict[str, np.ndarray] = field(default_factory=dict)
    inputs: tuple[str, ...] = ()
    outputs: tuple[str, ...] = ()
    layers: tuple[Layer, ...] = ()
    scores: int = 0
    classes: int = 1
    parameters: tuple[Parameter, ...] = ()
    states: tuple[State, ...] = ()
    results: Mapping[str, Buffer] = field(default_factory=dict)
    lowered: Lowered | None = None
    takes: Mapping[str, tuple[np.dtype[Any], tuple[int, ...]]] = field(default_factory=dict)
    samples: Samples | None = None
    solved: Solved | None = None
    more: Mapping[str, Any] = field(default_factory=dict)

    @property
    def batch(self) -> int:
        """Samples of a run."""
        name, (_, shape) = next(iter(self.takes.items()), ("", ("", (1,))))
        return shape[self.samples.inputs[name] if self.samples else 0]

    @property
    def buffers(self) -> dict[str, Buffer]:
        """All buffers, by name."""
        return self.image.buffers

    @property
    def steps(self) -> Iterator[SectionStep | HostStep]:
        """All steps in order."""
        for part in self.parts:
            yield from part.steps if isinstance(part, Section) else (part,)

    @property
    def sections(self) -> list[Section]:
        """Sections alone."""
        return [part for part in self.parts if isinstance(part, Section)]

    @property
    def host(self) -> list[HostStep]:
        """Host segments: what the host does between input codes and output codes."""
        return [part for part in self.parts if isinstance(part, HostStep) and part.reasons]

    @cached_property
    def memory(self) -> np.ndarray:
        """Memory as it is before it runs, uint8."""
        memory = np.zeros(self.image.end, np.uint8)
        for address, data in self.image.parts.items():
            memory[address : address + len(data)] = np.frombuffer(data, np.uint8)
        return memory

    @property
    def plan(self) -> Plan:
        """What a system must know.

        Raises
        ------
        ValueError
            There are host segments: names the nodes, with reasons. Or several sections.
        """
        if self.host:
            reasons = [reason for step in self.host for reason in step.reasons]
            more = f"; and {len(reasons) - _SHOWN} more" if len(reasons) > _SHOWN else ""
            raise ValueError("; ".join(reasons[:_SHOWN]) + more)
        if (count := len(self.sections)) > 1:
            raise ValueError(f"a system runs one section, not {count}")
        layers = [(layer.y, layer.counters) for layer in self.layers]
        inputs = {name: self.tensors[name] for name in self.inputs}
        section = self.sections[0]
        apart = section.start + 4 * APART_WORD
        return Plan(
            self.image.parts,
            section.start,
            inputs,
            layers,
            self.parameters,
            apart,
            section.counters,
            {name: (one.address, one.end - one.address) for name, one in self.results.items()},
        )


_SHOWN = 5
"""Reasons in one message at most."""
