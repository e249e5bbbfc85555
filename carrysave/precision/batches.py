"""Samples that a network is measured on, some at once."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np

from carrysave.compiler.front.samples import Samples
from carrysave.compiler.graph.graph import Graph

__all__ = ["Arrays", "Batches"]

Arrays = dict[str, np.ndarray]


@dataclass(frozen=True)
class Batches:
    """Samples of a network.

    Members
    -------
    inputs : by name, and the first of each state.
    size : samples that run at once.
    samples : where they are.
    """

    inputs: Arrays
    size: int
    samples: Samples

    @classmethod
    def of_rows(cls, graph: Graph, inputs: Arrays, size: int) -> "Batches":
        """Return samples that are along the first axes of all inputs and outputs."""
        outputs = dict.fromkeys(graph.outputs, 0)
        return cls(inputs, size, Samples(inputs=dict.fromkeys(graph.inputs, 0), outputs=outputs))

    @property
    def count(self) -> int:
        """Number of samples."""
        return self.samples.count(self.inputs)

    def followed(self, run: Callable[[Arrays], Arrays]) -> Iterator[tuple[Arrays, Arrays]]:
        """Run a network batch by batch, on the states that the batch before left.

        Yields
        ------
        Inputs of each batch, states too, and what `run` makes of them.
        """
        states: Arrays = {}
        for start in range(0, self.count, self.size):
            part = self.samples.part(self.inputs, start, self.size) | states
            made = run(part)
            states = self.samples.after(part, made)
            yield part, made
