"""A network from inputs to outputs: computed, simulated, compared, measured."""

import time
from collections import Counter
from dataclasses import dataclass

import numpy as np

from carrysave.compiler.front.samples import Samples
from carrysave.compiler.lowered.evaluate import evaluate
from carrysave.compiler.lowered.lowered import Lowered
from carrysave.compiler.program.ring_cost import cycles_of
from carrysave.compiler.run.alone import Block
from carrysave.compiler.run.compare import Comparison
from carrysave.compiler.run.machine import Machine
from carrysave.compiler.run.results import Run
from carrysave.compiler.target.target import Target
from carrysave.errors import installed
from carrysave.progress import Steps

__all__ = ["SIMULATIONS", "RunSettings", "run"]

SIMULATIONS = ("all", "sample", "none")
"""Simulate every product of every input; some rows of each product of the first batch; none."""


@dataclass(frozen=True, kw_only=True)
class RunSettings:
    """How a network runs.

    Members
    -------
    batch : inputs of one batch.
    simulation : one of :data:`SIMULATIONS`.
    in_hardware : the co-processor requantises; else the host, as onnxruntime does.
    block : what part of the products runs on, besides the golden model.
    compare : with onnxruntime, which takes the whole model into memory.
    """

    batch: int
    simulation: str
    in_hardware: bool
    block: Block
    compare: bool = True


def run(
    lowered: Lowered,
    target: Target,
    inputs: dict[str, np.ndarray],
    samples: Samples,
    settings: RunSettings,
    steps: Steps,
    whole: Lowered | None = None,
) -> Run:
    """Run a network.

    Parameters
    ----------
    lowered, target : the network, compiled for a co-processor.
    inputs : by name, and the first of each state.
    samples : where samples are in inputs and outputs.
    settings, steps : how it runs, and progress.
    whole : the same before operators became tables, for the comparison of each; None: there are
        no tables.
    """
    count, batch, simulation = samples.count(inputs), settings.batch, settings.simulation
    compare = settings.compare and installed("onnxruntime")
    comparison = Comparison(whole or lowered) if compare else None
    machine = Machine(target, settings.in_hardware, simulation, remember=compare)
    made: list[dict[str, np.ndarray]] = []
    expected: list[dict[str, np.ndarray]] = []
    states: dict[str, np.ndarray] = {}
    expected_states: dict[str, np.ndarray] = {}
    host: Counter[str] = Counter()
    seconds = dict.fromkeys(("golden", "oracle", "simulation"), 0.0)
    for start in range(0, count, batch):
        steps.step(f"compute inputs {start + 1} to {min(start + batch, count)} of {count}")
        part = samples.part(inputs, start, batch) | states
        began = time.monotonic()
        keep = start == 0 or simulation == "all"
        machine.begin(first=start == 0)
        counts = host if start == 0 else None
        multiply = machine.keep if keep else machine.multiply
        made.append(evaluate(lowered, part, multiply, host=counts))
        middle = time.monotonic()
        samples.check(made[-1], min(batch, count - start))
        states = samples.after(part, made[-1])
        if comparison is not None:
            # Its states are not those of the golden model.
            expected.append(comparison.run(part | expected_states, machine.again))
            expected_states = samples.after(part, expected[-1])
        seconds["golden"] += middle - began
        seconds["oracle"] += time.monotonic() - middle

    began = time.monotonic()
    wrong = _on_block(machine, settings.block, steps)
    seconds["simulation"] = time.monotonic() - began
    layers = list(machine.layers.values())
    outputs = samples.joined(made)
    reference = samples.joined(expected) if comparison is not None else None
    return Run(
        outputs, reference, layers, comparison, count, batch, simulation, wrong, dict(host),
        seconds, samples.outputs,
    )  # fmt: skip


def _on_block(machine: Machine, block: Block, steps: Steps) -> list[str]:
    """Run jobs on the block, through its driver; return the wrong products."""
    target, some = machine.target, machine.jobs
    if not some:
        return []
    steps.step(f"run {len(some)} products on {target.design.module}")
    jobs = [(one.job, one.rows) for one, _ in some]
    made = block(jobs, lambda done: steps.advance(done, len(jobs)))
    wrong: dict[str, None] = {}
    for (one, result), (c, counters) in zip(some, made, strict=True):
        layer = machine.layers[one.kind]
        layer.simulated += one.job.m
        layer.modelled += cycles_of(one.job, target)
        layer.cycles += counters.cycles
        if not np.array_equal(c, result):
            wrong[one.kind] = None
    return list(wrong)
