"""A text encoder in integers to a program: tokens in, vectors of sentences out."""

import numpy as np

from carrysave.compiler.encoder.attention import Attention
from carrysave.compiler.encoder.attention_way import chosen_way
from carrysave.compiler.encoder.codes import (
    DenseCodes,
    IntegerBlock,
    IntegerEncoder,
    NormCodes,
    Row,
)
from carrysave.compiler.encoder.floats import rows_of
from carrysave.compiler.encoder.pooling import VECTORS, add_pool
from carrysave.compiler.lowered.heads import ONE_PASS, ROWS
from carrysave.compiler.program.affine import affine
from carrysave.compiler.program.assemble import assembled
from carrysave.compiler.program.buffers import Buffer
from carrysave.compiler.program.image import Image
from carrysave.compiler.program.jobs import product, rows, scaling
from carrysave.compiler.program.packed import weights
from carrysave.compiler.program.program import Program
from carrysave.compiler.target.target import Target
from carrysave.compiler.timing.products import job_of_shape
from carrysave.driver import Requantisation
from carrysave.driver.system import Parameter

__all__ = ["TOKENS", "VECTORS", "compiled", "compiled_for"]

TOKENS = "tokens"
"""Parameter of a program of one sentence: how many tokens it has."""


def compiled(
    encoder: IntegerEncoder,
    sentences: list[np.ndarray],
    target: Target,
    chip: int | None = None,
    attention: str | None = None,
) -> Program:
    """Compile sentences; where no job can gather, embeddings are gathered here.

    Parameters
    ----------
    encoder : in integers.
    sentences : numbers of the tokens of each.
    target : the co-processor.
    chip : bytes on chip that are used; None: all.
    attention : its way; None: that of fewer cycles, of those there are.
    """
    longest = max(map(len, sentences))
    places = [(rows.start, rows.stop) for rows in rows_of(sentences)]
    compiler = _Compiler(encoder, places[-1][1], target, chip)
    compiler.way = chosen_way(encoder, longest, target, chip, attention)
    compiler.add(np.concatenate(sentences), places)
    return assembled(
        compiler.image, [compiler.image.steps], inputs=compiler.inputs, outputs=(VECTORS,)
    )


def compiled_for(encoder: IntegerEncoder, most: int, target: Target) -> Program:
    """Compile for one sentence, whose count of tokens is a parameter, at most so many.

    Raises
    ------
    ValueError
        The co-processor cannot gather, or the encoder takes fewer tokens.
    """
    if "gather" not in target.spec.vector_jobs:
        raise ValueError("gather must be true: a program has tokens, and gathers their rows")
    longest = min(len(encoder.positions), encoder.unit.length)
    if not 2 <= most <= longest:
        raise ValueError(f"tokens must be 2..{longest}, as of the encoder and unit, not {most}")
    compiler = _Compiler(encoder, most, target, None)
    parameter = Parameter(name=TOKENS, low=1, high=most)
    steps = affine(
        compiler.image,
        parameter,
        lambda count: compiler.add(np.zeros(most, np.int64), [(0, count)], most=most),
    )
    return assembled(
        compiler.image, [steps], inputs=compiler.inputs, outputs=(VECTORS,), parameters=[parameter]
    )


class _Compiler:
    """Adds jobs.

    Members
    -------
    image : of the program.
    inputs : names of buffers with tokens.
    """

    def __init__(
        self, encoder: IntegerEncoder, tokens: int, target: Target, chip: int | None
    ) -> None:
        self.encoder, self.target, self.chip, self.tokens = encoder, target, chip, tokens
        self.way = ROWS
        self.width = encoder.words.shape[1]
        self.image = Image(target)
        self.inputs: tuple[str, ...] = ()
        self.matrices: dict[str, Buffer] = {}
        self.places: list[tuple[int, int]] = []
        self.most: int | None = None

    def add(
        self, tokens: np.ndarray, places: list[tuple[int, int]], *, most: int | None = None
    ) -> None:
        """Add the jobs of some sentences, on buffers that may be there from others.

        Parameters
        ----------
        tokens : numbers of those of all sentences, as many as buffers have rows.
        places : rows of each sentence.
        most : tokens that the only sentence may have; None: there are no others.
        """
        encoder, self.places, self.most = self.encoder, places, most
        words = self.gathered("words", encoder.words, tokens)
        self.inputs = ("words.rows" if "words.rows" in self.image.buffers else "words",)
        lengths = [self.tokens] if most else [stop - start for start, stop in places]
        numbers = np.concatenate([np.arange(length) for length in lengths])
        positions = self.gathered("positions", encoder.positions, numbers)
        sums = self.room("sums", self.width, 16)
        self.rows("embedding", "add", words, sums, positions, scaling(1.0, 16))
        x, residual = self.norm("embedding", sums, encoder.blocks[0].before)
        for number, block in enumerate(encoder.blocks):
            after = [*[one.before for one in encoder.blocks[1:]], encoder.last][number]
            x, residual = self.block(number, block, after, x, residual)
        add_pool(self, x)

    @property
    def count(self) -> int:
        """Tokens of all sentences."""
        return self.places[-1][1]

    def gathered(self, name: str, table: np.ndarray, numbers: np.ndarray) -> Buffer:
        """Gather rows of a table, by a job, or before the program begins."""
        if "gather" not in self.target.spec.vector_jobs:
            return self.placed(name, table[numbers], 16)
        whole = self.placed(f"{name}.table", table, 16)
        wanted = self.placed(f"{name}.rows", numbers[:, None], 32)
        c = self.room(name, self.width, 16)
        self.rows("embedding", "gather", whole, c, wanted.part((0, self.count)))
        return c

    def placed(self, name: str, codes: np.ndarray, bits: int) -> Buffer:
        """Place codes, once."""
        return self.image.buffers.get(name) or self.image.place(name, codes, bits)

    def room(self, name: str, columns: int, bits: int) -> Buffer:
        known = self.image.buffers.get(name)
        whole = known or self.image.reserve(name, self.tokens, columns, bits)
        return whole.part((0, self.count))

    def rows(
        self, layer: str, operation: str, a: Buffer, c: Buffer, b: Buffer | None = None,
        how: Requantisation | None = None, *, once: bool = False,
    ) -> None:  # fmt: skip
        """Add an operation of the vector unit."""
        job = rows(self.target, operation, a, c, b=b, how=how, once=once)
        self.image.start(layer, operation, job)

    def scaled(self, layer: str, name: str, x: Buffer, row: Row, columns: int, bits: int) -> Buffer:
        """Multiply columns by factors."""
        factors = self.placed(f"{name}.row", row.codes, 16)
        c = self.room(name, columns, bits)
        self.rows(layer, "multiply", x, c, factors, scaling(row.scale, bits), once=True)
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
        weights = self.weights(layer, codes.weights, how, wide=wide)
        bias = self.placed(f"{layer}.bias", codes.bias, self.target.info.sums.bits)
        c = self.room(f"{layer}.c", codes.weights.shape[1], 16 if wide else 8)
        records = self.records(layer, [how], c.columns)
        job = product(self.target, x, weights, c, bias=bias, how=how, records=records)
        self.image.start(layer, "product", job)
        return c

    def weights(self, layer: str, codes: np.ndarray, how: Requantisation, *, wide: bool) -> Buffer:
        """Place the weights of a product, once; packed for as many tokens as there are at most."""
        if layer not in self.matrices:
            shape = self.tokens, *codes.shape
            job = job_of_shape(self.target, shape, requantisation=how, wide=wide, bias=True)
            rows = np.ascontiguousarray(codes, np.int8).view(np.uint8)
            self.matrices[layer] = weights(self.image, f"{layer}.weights", job, [rows])
        return self.matrices[layer]

    def records(self, name: str, requantisations: list[Requantisation], columns: int) -> Buffer:
        """Place how columns are requantised, in rows."""
        codes = np.stack([one.records(columns).view("<i8").ravel() for one in requantisations])
        return self.placed(f"{name}.records", codes, 64)

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
        scale = block.gate * 2.0**-encoder.unit.scale_width
        how = scaling(scale, 8, block.gate_zero, encoder.unit.reciprocal_width)
        split = raised.part(parts=parts), gate.part(parts=parts)
        self.rows(f"{b}gate", encoder.activation, *split, how=how)
        made = self.dense(f"{b}down", gate, block.down, block.fed)
        return self.added(f"{b}feed", made, residual, after)

    def added(
        self, layer: str, made: Buffer, residual: Buffer, after: NormCodes
    ) -> tuple[Buffer, Buffer]:
        """Add what a product made to what it took, and normalise."""
        sums = self.room(f"{layer}.sums", self.width, 16)
        self.rows(layer, "add", residual, sums, made, scaling(1.0, 16))
        return self.norm(layer, sums, after)

    def attention(self, b: str, block: IntegerBlock, qkv: Buffer) -> Buffer:
        """Add the jobs of attention, sentence by sentence."""
        # What the last head's divisor makes is in a beat of its own.
        behind = self.target.info.stores.data_width // 8 * (self.way == ONE_PASS)
        context = self.room(f"{b}context", self.width + behind, 8).part(None, (0, self.width))
        for span in self.places:
            Attention(
                self.image, self.encoder, b, block, qkv.part(span), context.part(span), self.chip,
                self.most, self.way,
            ).add()  # fmt: skip
        return context
