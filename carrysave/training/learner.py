"""A network that learns: steps of a program on the golden model, from batch to batch."""

from collections.abc import Callable, Sequence

import numpy as np

from carrysave.compiler.program.program import Section
from carrysave.compiler.run.golden import execute
from carrysave.compiler.run.network import Runner
from carrysave.compiler.target.target import Target
from carrysave.driver.job import Job
from carrysave.training.compile import Rates, StepProgram, compiled
from carrysave.training.encodings import Draws, encode, rounded
from carrysave.training.recipes import Recipe
from golden.elementary import exp, log
from golden.formats.element import ElementFormat

__all__ = ["Learner", "cross_entropy"]


class Learner:
    """A network's weights, and how they learn.

    Parameters
    ----------
    recipe, target : of operands, and a co-processor for them.
    weights : of each layer, K x N; biases are zeros.
    batch : rows of a step.
    rates : of updates.
    draws : bits by which gradients and updates are rounded; None: to nearest.
    stored : format of weights between steps.

    Members
    -------
    step_program : of a step.
    memory : of it.
    """

    def __init__(
        self,
        recipe: Recipe,
        target: Target,
        weights: Sequence[np.ndarray],
        *,
        batch: int,
        rates: Rates,
        draws: Draws | None,
        stored: ElementFormat,
    ) -> None:
        self.recipe, self.target, self.draws, self.stored = recipe, target, draws, stored
        self.sizes = (len(weights[0]), *(one.shape[1] for one in weights))
        self.step_program = compiled(recipe, target, self.sizes, batch, rates)
        self._rates, self._steps = rates, 0
        self.memory = self.step_program.program.memory.copy()
        for buffer, values in zip(self.step_program.weights, weights, strict=True):
            buffer.view(self.memory)[:] = values
            rounded(self.memory, buffer, stored, None)

    def step(
        self,
        x: np.ndarray,
        labels: np.ndarray,
        run: Runner | None = None,
    ) -> float:
        """Learn from a batch; return its loss, before.

        Parameters
        ----------
        x, labels : floats, batch x inputs, and classes.
        run : runs sections on the memory; None: by golden.
        """
        step = self.step_program
        step.x.view(self.memory)[:] = x
        step.rate.view(self.memory)[:] = self._rates.at(self._steps)
        self._steps += 1
        step.wanted.view(self.memory)[:] = np.arange(self.sizes[-1]) == labels[:, None]
        _run(step, self.memory, self.recipe, self.draws, run or self.by_golden())
        loss = cross_entropy(step.y.view(self.memory), labels)
        for one in step.weights:
            rounded(self.memory, one, self.stored, self.draws)
        return loss

    def by_golden(self, watch: Callable[[Job], None] = lambda job: None) -> Runner:
        """Return what runs sections by the golden model; `watch` sees each job before it runs."""
        spec = self.target.spec
        return lambda section: execute(spec, self.memory, section.start, watch=watch)

    def logits(self, x: np.ndarray) -> np.ndarray:
        """Return the outputs for any number of inputs, of products of the same kind."""
        program = compiled(self.recipe, self.target, self.sizes, len(x), None)
        memory = program.program.memory.copy()
        ours = self.step_program
        pairs = zip((*ours.weights, *ours.biases), (*program.weights, *program.biases), strict=True)
        for one, other in pairs:
            other.view(memory)[:] = one.view(self.memory)
        program.x.view(memory)[:] = x

        def run(section: Section) -> None:
            execute(self.target.spec, memory, section.start)

        _run(program, memory, self.recipe, None, run)
        return program.y.view(memory).copy()


def _run(
    step: StepProgram, memory: np.ndarray, recipe: Recipe, draws: Draws | None, run: Runner
) -> None:
    """Run sections, and round operands before each."""
    for encodings, section in zip(step.encodings, step.program.sections, strict=True):
        for one in encodings:
            encode(memory, one, recipe.operands, draws)
        run(section)


def cross_entropy(y: np.ndarray, labels: np.ndarray) -> float:
    """Return the mean cross entropy of logits, count x classes, in nats."""
    shifted = y.astype(np.float64) - y.max(axis=1, keepdims=True)
    each = log(exp(shifted).sum(axis=1)) - shifted[np.arange(len(y)), labels]
    return float(each.mean())
