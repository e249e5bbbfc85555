"""Vectors of sentences from an encoder in integers, beside those in floats; what its jobs take."""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from carrysave.compiler.encoder.compile import JobList
from carrysave.compiler.program.job_cycles import Spent, spent
from carrysave.compiler.program.jobs import Job, Product
from carrysave.compiler.program.matrices import Memory
from carrysave.compiler.program.rows import runs
from carrysave.compiler.target.target import Target
from golden.portable_product import product

__all__ = ["Taken", "batches", "cosines", "kind_of", "normalised", "rank_correlation", "taken"]


_PRODUCTS = {
    "scores": "product of attention", "context": "product of attention", "pool": "sum of tokens",
}  # fmt: skip


@dataclass(frozen=True)
class Taken:
    """What a list of jobs takes.

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


def kind_of(job: Job, memory: Memory, target: Target) -> str:
    """Name the kind of a job; products of attention are another than those of weights."""
    if isinstance(job, Product):
        return _PRODUCTS.get(job.layer.rpartition(".")[2], "product of weights")
    return job.KIND if runs(job, memory, target) else f"{job.KIND} (not in hardware)"


def normalised(codes: np.ndarray) -> np.ndarray:
    """Divide vectors by their length; zeros stay."""
    lengths = np.sqrt(np.square(codes.astype(np.float64)).sum(axis=1, keepdims=True))
    return codes / np.where(lengths > 0, lengths, 1)


def taken(jobs: JobList, target: Target) -> Taken:
    """Run a list of jobs by golden, and count what each takes."""
    kinds: dict[str, Spent] = {}
    layers: dict[str, Spent] = {}
    products: dict[str, Spent] = {}
    for job in jobs.jobs:
        job.run(jobs.memory)
        own = spent(job, jobs.memory, target)
        layer = job.layer.partition(".")[0]
        places = [(kinds, kind_of(job, jobs.memory, target))]
        if layer.isdecimal():
            places.append((layers, layer))
            if isinstance(job, Product):
                places.append((products, layer))
        for found, name in places:
            found[name] = found.get(name, Spent()) + own
    return Taken(kinds, layers, products, len(jobs.memory.matrices["words"]))


def cosines(found: np.ndarray, wanted: np.ndarray) -> np.ndarray:
    """Multiply vectors of length 1, one by one."""
    return (found * wanted).sum(axis=1)


def rank_correlation(found: np.ndarray, wanted: np.ndarray) -> float | None:
    """Correlate the ranks of all pairs' cosines (Spearman's); None of fewer than three vectors."""
    if len(found) < 3:
        return None
    from scipy.stats import spearmanr  # slow to load

    pairs = np.triu_indices(len(found), 1)
    one, other = (product(each, each.T)[pairs] for each in (found, wanted))
    return float(spearmanr(one, other).statistic)
