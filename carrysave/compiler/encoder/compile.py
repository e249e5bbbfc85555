"""A text encoder in integers to one list of jobs: tokens in, vectors of sentences out."""

from dataclasses import dataclass

import numpy as np

from carrysave.compiler.encoder.attention import attention
from carrysave.compiler.encoder.codes import (
    WIDE,
    DenseCodes,
    IntegerBlock,
    IntegerEncoder,
    NormCodes,
    Row,
    scaled,
)
from carrysave.compiler.encoder.floats import rows_of
from carrysave.compiler.program.jobs import (
    Add,
    Gate,
    Gather,
    Job,
    Multiply,
    Norm,
    Product,
    Scaling,
)  # fmt: skip
from carrysave.compiler.program.matrices import Memory, View
from carrysave.compiler.target.target import Target
from carrysave.driver import Requantisation

__all__ = ["JobList", "compiled"]

_MEAN = 1 << 7
"""Codes of 16 bits that the mean of a sentence's codes of 8 bits becomes."""


@dataclass(frozen=True, kw_only=True, eq=False)
class JobList:
    """Jobs, and the memory that they work on.

    Members
    -------
    jobs : in order.
    memory : with tables of embeddings, numbers of tokens, weights and room for results.
    vectors : where the vectors of sentences go, one each in a row.
    """

    jobs: list[Job]
    memory: Memory
    vectors: View

    def run(self) -> np.ndarray:
        """Compute by golden; returns sentences x width codes of 16 bits."""
        for job in self.jobs:
            job.run(self.memory)
        return self.memory.read(self.vectors)


def compiled(encoder: IntegerEncoder, sentences: list[np.ndarray], target: Target) -> JobList:
    """List the jobs; where none can gather, embeddings are gathered here.

    Parameters
    ----------
    encoder : in integers.
    sentences : numbers of the tokens of each.
    target : the co-processor.
    """
    return _Compiler(encoder, sentences, target).compiled()


class _Compiler:
    """Lists jobs."""

    def __init__(
        self, encoder: IntegerEncoder, sentences: list[np.ndarray], target: Target
    ) -> None:
        self.encoder = encoder
        self.target = target
        self.sentences = sentences
        self.places = [(rows.start, rows.stop) for rows in rows_of(sentences)]
        self.tokens = self.places[-1][1]
        self.width = encoder.words.shape[1]
        self.memory = Memory(chip=target.spec.scratch)
        self.jobs: list[Job] = []

    def compiled(self) -> JobList:
        memory, encoder = self.memory, self.encoder
        tokens = np.concatenate(self.sentences)
        words = self.gathered("words", encoder.words, tokens)
        places = np.concatenate([np.arange(one.size) for one in self.sentences])
        positions = self.gathered("positions", encoder.positions, places)
        sums = self.room("sums", self.width, 16)
        self.jobs.append(
            Add(layer="embedding", a=words, b=positions, factors=(1, 1), c=sums,
                scaling=Scaling(scale=1.0, bits=16))
        )  # fmt: skip
        first = encoder.blocks[0].before
        x, residual = self.norm("embedding", sums, first)
        for number, block in enumerate(encoder.blocks):
            after = [*[one.before for one in encoder.blocks[1:]], encoder.last][number]
            x, residual = self.block(number, block, after, x, residual)
        return JobList(jobs=self.jobs, memory=memory, vectors=self.pool(x))

    def gathered(self, name: str, table: np.ndarray, rows: np.ndarray) -> View:
        """Gather rows of a table, by a job, or before the list begins."""
        if "gather" not in self.target.spec.vector_jobs:
            self.memory.place(name, table[rows], 16)
            return View(name)
        self.memory.place(f"{name}.table", table, 16)
        self.memory.place(f"{name}.rows", rows[:, None], 32)
        c = self.room(name, self.width, 16)
        self.jobs.append(
            Gather(layer="embedding", x=View(f"{name}.table"), rows=View(f"{name}.rows"), c=c)
        )
        return c

    def room(self, name: str, columns: int, bits: int) -> View:
        return self.memory.reserve(name, self.tokens, columns, bits)

    def scaled(self, layer: str, name: str, x: View, row: Row, columns: int, bits: int) -> View:
        """Multiply columns by factors."""
        self.memory.place(f"{name}.row", row.codes, 16)
        c = self.room(name, columns, bits)
        self.jobs.append(
            Multiply(layer=layer, a=x, b=View(f"{name}.row"), c=c,
                     scaling=Scaling(scale=row.scale, bits=bits))
        )  # fmt: skip
        return c

    def norm(self, layer: str, sums: View, after: NormCodes) -> tuple[View, View]:
        """Normalise rows; returns operands of the next product, and what is added later."""
        normal = self.room(f"{layer}.normal", self.width, 16)
        self.jobs.append(Norm(layer=layer, x=sums, c=normal, centred=True, spec=self.encoder.unit))
        x = self.scaled(layer, f"{layer}.x", normal, after.operand, self.width, 8)
        if after.residual is None:
            return x, normal
        return x, self.scaled(layer, f"{layer}.rest", normal, after.residual, self.width, 16)

    def dense(
        self, layer: str, x: View, codes: DenseCodes, how: Requantisation, *, wide: bool = True
    ) -> View:
        """Multiply by weights; to codes of 16 bits, or of 8."""
        self.memory.place(f"{layer}.weights", codes.weights, 8)
        self.memory.place(f"{layer}.bias", codes.bias, 32)
        c = self.room(f"{layer}.c", codes.weights.shape[1], 16 if wide else 8)
        self.jobs.append(
            Product(layer=layer, a=x, b=View(f"{layer}.weights"), bias=View(f"{layer}.bias"), c=c,
                    how=how, wide=wide, target=self.target)
        )  # fmt: skip
        return c

    def block(
        self, number: int, block: IntegerBlock, after: NormCodes, x: View, residual: View
    ) -> tuple[View, View]:
        """List the jobs of a layer."""
        b = f"{number}."
        qkv = self.dense(f"{b}qkv", x, block.qkv, block.to_qkv, wide=False)
        context = self.attention(b, block, qkv)
        made = self.dense(f"{b}out", context, block.out, block.mixed)
        x, residual = self.added(f"{b}attention", made, residual, block.between)
        raised = self.dense(f"{b}up", x, block.up, block.raised)
        encoder, wide = self.encoder, block.up.weights.shape[1]
        gate = self.room(f"{b}gate", wide, 8)
        # Rows that are too long for the vector unit are several.
        most = encoder.unit.length
        parts = next(count for count in range(-(-wide // most), wide + 1) if wide % count == 0)
        self.jobs.append(
            Gate(layer=f"{b}gate", x=View(raised.name, parts=parts), c=View(gate.name, parts=parts),
                 operation=encoder.activation, spec=encoder.unit,
                 scaling=Scaling(scale=block.gate, bits=8, zero_point=block.gate_zero))
        )  # fmt: skip
        made = self.dense(f"{b}down", gate, block.down, block.fed)
        return self.added(f"{b}feed", made, residual, after)

    def added(self, layer: str, made: View, residual: View, after: NormCodes) -> tuple[View, View]:
        """Add what a product made to what it took, and normalise."""
        sums = self.room(f"{layer}.sums", self.width, 16)
        self.jobs.append(
            Add(layer=layer, a=residual, b=made, factors=(1, 1), c=sums,
                scaling=Scaling(scale=1.0, bits=16))
        )  # fmt: skip
        return self.norm(layer, sums, after)

    def attention(self, b: str, block: IntegerBlock, qkv: View) -> View:
        """List the jobs of attention, sentence by sentence."""
        context = self.room(f"{b}context", self.width, 8)
        for rows in self.places:
            made = View(context.name, rows)
            self.jobs += attention(self.memory, self.encoder, b, block, qkv, made, self.target)
        return context

    def pool(self, x: View) -> View:
        """Sum the codes of each sentence, and scale columns, to its mean."""
        memory, encoder, count = self.memory, self.encoder, len(self.sentences)
        vectors = memory.reserve("vectors", count, self.width, 16)
        longest = max(stop - start for start, stop in self.places)
        memory.place("ones", np.ones((1, longest), np.int64), 8)
        steps = encoder.last.steps / encoder.last.steps.max()
        for number, (start, stop) in enumerate(self.places):
            length, own = stop - start, (number, number + 1)
            bias = np.rint(encoder.beta * length).astype(np.int64)[None]
            memory.place(f"pool.{number}.bias", bias, 32)
            self.jobs.append(
                Product(layer="pool", a=View("ones", None, (0, length)),
                        b=View(x.name, (start, stop)), bias=View(f"pool.{number}.bias"),
                        c=View(vectors.name, own), how=scaled(steps * _MEAN / length, WIDE),
                        wide=True, target=self.target)
            )  # fmt: skip
        return vectors
