"""Attention of a sentence, all heads, as jobs."""

from dataclasses import dataclass

import numpy as np

from carrysave.compiler.encoder.codes import CODE, WIDE, IntegerBlock, IntegerEncoder
from carrysave.compiler.encoder.on_chip import Held, held
from carrysave.compiler.lowered.heads import ONE_PASS, ROWS
from carrysave.compiler.program.buffers import Buffer
from carrysave.compiler.program.image import Image
from carrysave.compiler.program.jobs import product, rows, scaled, scaling
from carrysave.compiler.program.one_pass import ONE, averaging, dividing, share_parts, unit_of
from carrysave.compiler.program.share_jobs import share_product
from carrysave.driver import Requantisation
from carrysave.driver.job import Job
from golden.soc.shares import share_columns

__all__ = ["Attention"]


@dataclass
class Attention:
    """The jobs of a sentence's attention.

    Heads are side by side in buffers of the sentence's length, which the next sentence of the same
    length writes over; shares have a column more for each head, where the vector unit writes
    exponents. A row of all heads is as many rows of one, for the vector unit. With a scratch, that
    is where these buffers are, of some heads at a time, or of some rows of one. In one pass, all is
    in memory, and context has room for a column more, which is the last divisor's.

    Parameters
    ----------
    image : gets these jobs and buffers.
    encoder, block : in integers, all and this layer.
    layer : such as ``0.``.
    qkv : queries, keys and values of the sentence.
    context : where its results go.
    chip : bytes on chip that are used; None: all.
    tokens : that buffers have room for; None: those of the sentence. If they are more, rows are not
        computed in parts.
    way : :data:`ONE_PASS` or :data:`ROWS`.
    """

    image: Image
    encoder: IntegerEncoder
    layer: str
    block: IntegerBlock
    qkv: Buffer
    context: Buffer
    chip: int | None = None
    tokens: int | None = None
    way: str = ROWS

    def __post_init__(self) -> None:
        """Cut it."""
        encoder, target = self.encoder, self.image.target
        self.target, self.length, self.width = target, self.context.rows, encoder.words.shape[1]
        self.each, self.most = self.width // encoder.heads, self.tokens or self.length
        self.held = held(
            encoder.heads,
            self.most,
            self.each,
            tile=target.info.stores.tile_m,
            chip=0 if self.way == ONE_PASS else self._chip,
        )
        if self.tokens is not None and self.held.rows < self.tokens:
            self.held = Held(heads=encoder.heads, rows=self.tokens)
        # Sums of shares times values are at most 2^bits codes of 8 bits.
        bits = 6 + (self.most - 1).bit_length()
        self.less = max(bits + CODE.bit_length() - WIDE.bit_length(), 0)

    @property
    def _chip(self) -> int:
        """Return the bytes on chip that are used."""
        return self.target.spec.scratch if self.chip is None else self.chip

    def add(self) -> None:
        """Add them."""
        for heads in self.held.groups(self.encoder.heads):
            turned = self._room("turned", len(heads) * self.each, self.most, 8, self.held.turned)
            keys = self.qkv.part(None, self._columns(heads, self.width))
            self._rows("scores", "transpose", keys, turned.part(None, (0, self.length)))
            if self.way == ONE_PASS:
                self._one_pass(heads, turned)
                continue
            for chunk in self.held.chunks(self.length):
                self._some(heads, chunk, turned)

    def _some(self, heads: range, chunk: range, turned: Buffer) -> None:
        """Add the jobs of some heads, and some rows of these."""
        length, most, count, rows = self.length, self.most, len(heads), (0, len(chunk))
        tall = len(chunk) if self.most == self.length else self.most
        scores = self._room("scores", tall, count * most, 16, self.held.scores)
        shares = self._room("shares", tall, count * (most + 1), 8, self.held.scores)
        mixed = self._room("mixed", tall, count * self.each, 16, self.held.mixed)
        here = chunk.start, chunk.stop
        self._scores(heads, here, turned, scores.part(rows))
        self._rows(
            "shares",
            "softmax",
            scores.part(rows, (0, length), parts=count),
            shares.part(rows, (0, length + 1), parts=count),
        )
        averaged = scaled(2.0**-self.less, WIDE)
        for number, head in enumerate(heads):
            v = self.qkv.part(None, self._columns(range(head, head + 1), 2 * self.width))
            start = number * (most + 1)
            share = shares.part(rows, (start, start + length))
            c = mixed.part(rows, (number * self.each, (number + 1) * self.each))
            job = product(self.target, share, v, c, how=averaged)
            self._start("context", "product", job)
        self._scales(heads, here, mixed.part(rows), shares.part(rows))

    def _scores(self, heads: range, here: tuple[int, int], turned: Buffer, scores: Buffer) -> None:
        """Multiply some rows of queries by keys, head by head."""
        for number, head in enumerate(heads):
            q = self.qkv.part(here, self._columns(range(head, head + 1), 0))
            c = scores.part(None, (number * self.most, number * self.most + self.length))
            keys = turned.part((number * self.each, (number + 1) * self.each), (0, self.length))
            job = product(self.target, q, keys, c, how=self.block.scores[head])
            self._start("scores", "product", job)

    def _one_pass(self, heads: range, turned: Buffer) -> None:
        """Add the jobs of some heads: shares by blocks of keys, their sums, and divisions."""
        length, count, wide = self.length, len(heads), self.each + 1
        unit = unit_of(self.target, self.layer)
        columns = share_columns(unit, "exps", length)
        scores = self._room("scores", length, count * length, 16, None)
        shares = self._room("shares", length, count * columns, 8, None)
        sums = self._room("sums", length, count * wide, 16, None)
        ones = self.image.buffers.get(f"ones.{length}")
        ones = ones or self.image.place(f"ones.{length}", np.full((length, 1), ONE), 8)
        self._scores(heads, (0, length), turned, scores)
        self._rows("shares", "exps", scores.part(parts=count), shares.part(parts=count))
        for number, head in enumerate(heads):
            here = shares.part(None, (number * columns, (number + 1) * columns))
            share, octaves = share_parts(here, length, self.target)
            of_head = sums.part(None, (number * wide, (number + 1) * wide))
            values = self.qkv.part(None, self._columns(range(head, head + 1), 2 * self.width))
            for start, b, factor in ((0, values, self.block.context), (self.each, ones, 1.0)):
                c = of_head.part(None, (start, start + b.columns))
                how = averaging(self.target, length, factor)
                job = share_product(self.target, share, octaves, b, c, how)
                self._start("context", "product", job)
            # The last column of a head is where the next one begins, which comes after it.
            c = self.context.across(head * self.each, wide)
            self._rows("context", "divide", of_head, c, how=dividing(unit, 8))

    def _scales(self, heads: range, here: tuple[int, int], mixed: Buffer, shares: Buffer) -> None:
        """Scale rows by their exponents: of all heads at once, or of each alone."""
        length, count = self.length, len(heads)
        how = scaling(self.block.context * 2.0**self.less, 8)
        if count == self.encoder.heads:
            exponents = shares.part(None, (length, length + 1), parts=count)
            c = self.context.part(here, parts=count)
            self._rows("context", "scale", mixed.part(parts=count), c, exponents, how)
            return
        for number, head in enumerate(heads):
            last = number * (self.most + 1) + length
            self._rows(
                "context",
                "scale",
                mixed.part(None, (number * self.each, (number + 1) * self.each)),
                self.context.part(here, self._columns(range(head, head + 1), 0)),
                shares.part(None, (last, last + 1)),
                how,
            )

    def _rows(
        self,
        name: str,
        operation: str,
        a: Buffer,
        c: Buffer,
        b: Buffer | None = None,
        how: Requantisation | None = None,
    ) -> None:
        self._start(name, operation, rows(self.target, operation, a, c, b=b, how=how))

    def _start(self, name: str, operation: str, job: Job) -> None:
        self.image.start(f"{self.layer}{name}", operation, job)

    def _columns(self, heads: range, start: int) -> tuple[int, int]:
        """Return the columns of some heads, behind others."""
        return start + heads.start * self.each, start + heads.stop * self.each

    def _room(self, name: str, rows: int, columns: int, bits: int, chip: int | None) -> Buffer:
        """Make room that others of the name, and of the same place, have too."""
        name = f"{name}.{self.most}" if chip is None else f"{name}.{rows}x{columns}.chip{chip}"
        known = self.image.buffers.get(name)
        return known or self.image.reserve(name, rows, columns, bits, chip=chip)
