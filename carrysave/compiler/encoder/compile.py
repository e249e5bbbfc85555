"""A text encoder in integers to a program: tokens in, vectors of sentences out."""

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
from carrysave.compiler.program.assemble import assembled
from carrysave.compiler.program.buffers import Buffer
from carrysave.compiler.program.cost import planned
from carrysave.compiler.program.image import Image
from carrysave.compiler.program.jobs import product, rows, scaling
from carrysave.compiler.program.program import Program
from carrysave.compiler.target.target import Target
from carrysave.driver import Requantisation

__all__ = ["VECTORS", "compiled"]

VECTORS = "vectors"
"""Buffer of the vectors of sentences, one each in a row, of codes of 16 bits."""
_MEAN = 1 << 7
"""Codes of 16 bits that the mean of a sentence's codes of 8 bits becomes."""


def compiled(
    encoder: IntegerEncoder, sentences: list[np.ndarray], target: Target, chip: int | None = None
) -> Program:
    """Compile sentences; where no job can gather, embeddings are gathered here.

    Parameters
    ----------
    encoder : in integers.
    sentences : numbers of the tokens of each.
    target : the co-processor.
    chip : bytes on chip that are used; None: all.
    """
    return _Compiler(encoder, sentences, target, chip).compiled()


class _Compiler:
    """Adds jobs."""

    def __init__(
        self, encoder: IntegerEncoder, sentences: list[np.ndarray], target: Target,
        chip: int | None,
    ) -> None:  # fmt: skip
        self.encoder, self.target, self.sentences, self.chip = encoder, target, sentences, chip
        self.places = [(rows.start, rows.stop) for rows in rows_of(sentences)]
        self.tokens = self.places[-1][1]
        self.width = encoder.words.shape[1]
        self.image = Image(target)
        self.inputs: list[str] = []

    def compiled(self) -> Program:
        encoder = self.encoder
        tokens = np.concatenate(self.sentences)
        words = self.gathered("words", encoder.words, tokens)
        self.inputs.append("words.rows" if "words.rows" in self.image.buffers else "words")
        places = np.concatenate([np.arange(one.size) for one in self.sentences])
        positions = self.gathered("positions", encoder.positions, places)
        sums = self.room("sums", self.width, 16)
        self.rows("embedding", "add", words, sums, positions, scaling(1.0, 16))
        x, residual = self.norm("embedding", sums, encoder.blocks[0].before)
        for number, block in enumerate(encoder.blocks):
            after = [*[one.before for one in encoder.blocks[1:]], encoder.last][number]
            x, residual = self.block(number, block, after, x, residual)
        self.pool(x)
        return assembled(
            self.image, [self.image.steps], inputs=tuple(self.inputs), outputs=(VECTORS,)
        )

    def gathered(self, name: str, table: np.ndarray, numbers: np.ndarray) -> Buffer:
        """Gather rows of a table, by a job, or before the program begins."""
        if "gather" not in self.target.spec.vector_jobs:
            return self.image.place(name, table[numbers], 16)
        whole = self.image.place(f"{name}.table", table, 16)
        wanted = self.image.place(f"{name}.rows", numbers[:, None], 32)
        c = self.room(name, self.width, 16)
        self.rows("embedding", "gather", whole, c, wanted)
        return c

    def room(self, name: str, columns: int, bits: int) -> Buffer:
        return self.image.reserve(name, self.tokens, columns, bits)

    def rows(
        self, layer: str, operation: str, a: Buffer, c: Buffer, b: Buffer | None = None,
        how: Requantisation | None = None,
    ) -> None:  # fmt: skip
        """Add an operation of the vector unit."""
        self.image.start(layer, operation, rows(self.target, operation, a, c, b=b, how=how))

    def product(
        self, layer: str, a: Buffer, b: Buffer, c: Buffer, bias: np.ndarray, how: Requantisation
    ) -> None:
        """Add a product with biases."""
        sums = self.image.place(f"{c.name}.bias", bias, self.target.info.sums.bits)
        records = self.image.records(c.name, how, c.columns)
        job = product(self.target, a, b, c, bias=sums, how=how, records=records)
        self.image.start(layer, "product", planned(job, self.target))

    def scaled(self, layer: str, name: str, x: Buffer, row: Row, columns: int, bits: int) -> Buffer:
        """Multiply columns by factors."""
        factors = self.image.place(f"{name}.row", row.codes, 16)
        c = self.room(name, columns, bits)
        self.rows(layer, "multiply", x, c, factors, scaling(row.scale, bits))
        return c

    def norm(self, layer: str, sums: Buffer, after: NormCodes) -> tuple[Buffer, Buffer]:
        """Normalise rows; returns operands of the next product, and what is added later."""
        normal = self.room(f"{layer}.normal", self.width, 16)
        self.rows(layer, "layer_norm", sums, normal)
        x = self.scaled(layer, f"{layer}.x", normal, after.operand, self.width, 8)
        if after.residual is None:
            return x, normal
        return x, self.scaled(layer, f"{layer}.rest", normal, after.residual, self.width, 16)

    def dense(
        self, layer: str, x: Buffer, codes: DenseCodes, how: Requantisation, *, wide: bool = True
    ) -> Buffer:
        """Multiply by weights; to codes of 16 bits, or of 8."""
        weights = self.image.place(f"{layer}.weights", codes.weights, 8)
        c = self.room(f"{layer}.c", codes.weights.shape[1], 16 if wide else 8)
        self.product(layer, x, weights, c, codes.bias, how)
        return c

    def block(
        self, number: int, block: IntegerBlock, after: NormCodes, x: Buffer, residual: Buffer
    ) -> tuple[Buffer, Buffer]:
        """Add the jobs of a layer."""
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
        how = scaling(
            block.gate * 2.0**-encoder.unit.scale_width, 8, block.gate_zero,
            encoder.unit.reciprocal_width,
        )  # fmt: skip
        split = raised.part(parts=parts), gate.part(parts=parts)
        self.rows(f"{b}gate", encoder.activation, *split, how=how)
        made = self.dense(f"{b}down", gate, block.down, block.fed)
        return self.added(f"{b}feed", made, residual, after)

    def added(
        self, layer: str, made: Buffer, residual: Buffer, after: NormCodes
    ) -> tuple[Buffer, Buffer]:  # fmt: skip
        """Add what a product made to what it took, and normalise."""
        sums = self.room(f"{layer}.sums", self.width, 16)
        self.rows(layer, "add", residual, sums, made, scaling(1.0, 16))
        return self.norm(layer, sums, after)

    def attention(self, b: str, block: IntegerBlock, qkv: Buffer) -> Buffer:
        """Add the jobs of attention, sentence by sentence."""
        context = self.room(f"{b}context", self.width, 8)
        for own in self.places:
            attention(
                self.image, self.encoder, b, block, qkv.part(own), context.part(own), self.chip
            )
        return context

    def pool(self, x: Buffer) -> None:
        """Sum the codes of each sentence, and scale columns, to its mean."""
        image, encoder = self.image, self.encoder
        vectors = image.reserve(VECTORS, len(self.sentences), self.width, 16)
        longest = max(stop - start for start, stop in self.places)
        ones = image.place("ones", np.ones((1, longest), np.int64), 8)
        steps = encoder.last.steps / encoder.last.steps.max()
        for number, (start, stop) in enumerate(self.places):
            length = stop - start
            bias = np.rint(encoder.beta * length).astype(np.int64)[None]
            self.product(
                "pool", ones.part(None, (0, length)), x.part((start, stop)),
                vectors.part((number, number + 1)), bias, scaled(steps * _MEAN / length, WIDE),
            )  # fmt: skip
