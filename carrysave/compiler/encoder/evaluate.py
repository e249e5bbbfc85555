"""Vectors of sentences from an encoder in integers, beside those in floats; what its jobs take."""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from carrysave.compiler.encoder.compile import VECTORS
from carrysave.compiler.program.cost import Spent, spent
from carrysave.compiler.program.program import Program
from carrysave.compiler.program.steps import Start
from carrysave.compiler.run.network import by_golden
from golden.portable_product import product

__all__ = ["Taken", "batches", "kind_of", "normalised", "rank_correlation", "taken", "vectors"]


_PRODUCTS = {
    "scores": "product of attention",
    "context": "product of attention",
    "pool": "sum of tokens",
}


@dataclass(frozen=True)
class Taken:
    """What a program takes.

    Members
    -------
    kinds : by kind of job, see :func:`kind_of`.
    layers : by layer: ``0``, ``1`` and so on.
    products : the same, of its products alone.
    tokens : that it computes.
    """

    kinds: dict[str, Spent]
    layers: dict[str, Spent]
    products: dict[str, Spent]
    tokens: int

    @property
    def total(self) -> Spent:
        """What all jobs take."""
        return sum(self.kinds.values(), Spent())


def batches(sentences: list[np.ndarray], size: int) -> Iterator[list[np.ndarray]]:
    """Split sentences into lists of some, in their order."""
    for start in range(0, len(sentences), size):
        yield sentences[start : start + size]


def kind_of(step: Start) -> str:
    """Name the kind of jobs; products of attention are another than those of weights."""
    if step.operator != "product":
        return step.operator
    return _PRODUCTS.get(step.node.rpartition(".")[2], "product of weights")


def vectors(program: Program) -> np.ndarray:
    """Run a program by golden; return codes of vectors, sentences x width."""
    memory = program.memory.copy()
    run = by_golden(program, memory)
    for section in program.sections:
        run(section)
    return program.buffers[VECTORS].read(memory)


def normalised(codes: np.ndarray) -> np.ndarray:
    """Divide vectors by their length; zeros stay."""
    lengths = np.sqrt(np.square(codes.astype(np.float64)).sum(axis=1, keepdims=True))
    return codes / np.where(lengths > 0, lengths, 1)


def taken(program: Program) -> Taken:
    """Count what each job of a program takes."""
    kinds: dict[str, Spent] = {}
    layers: dict[str, Spent] = {}
    products: dict[str, Spent] = {}
    for step in program.steps:
        assert isinstance(step, Start)
        of_step = sum((spent(job, program.target) for job in step.jobs), Spent())
        layer = step.node.partition(".")[0]
        places = [(kinds, kind_of(step))]
        if layer.isdecimal():
            places.append((layers, layer))
            if step.operator == "product":
                places.append((products, layer))
        for totals, name in places:
            totals[name] = totals.get(name, Spent()) + of_step
    return Taken(kinds, layers, products, program.buffers["words"].rows)


def rank_correlation(ours: np.ndarray, wanted: np.ndarray) -> float | None:
    """Correlate the ranks of all pairs' cosines (Spearman's); None of fewer than three vectors."""
    if len(ours) < 3:
        return None
    from scipy.stats import spearmanr  # slow to load

    pairs = np.triu_indices(len(ours), 1)
    one, other = (product(each, each.T)[pairs] for each in (ours, wanted))
    return float(spearmanr(one, other).statistic)
