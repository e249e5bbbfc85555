"""The steps of a decoder whose mixer is attention, with a cache; see :mod:`.lowering`."""

import math
from dataclasses import dataclass, field, replace
from typing import ClassVar

import numpy as np

from carrysave.compiler.decoder.caches import POSITION, Cache, stored, turned
from carrysave.compiler.decoder.hadamard import hadamard_size
from carrysave.compiler.decoder.lowering import F32, F64, I8, I16, I32, Lowering
from carrysave.compiler.decoder.lowering_activation import capped
from carrysave.compiler.decoder.units import SHARE_BITS, VECTOR, turns
from carrysave.compiler.front.decoder import Layer, Rope
from carrysave.compiler.program.buffers import Buffer
from carrysave.compiler.program.floats import Format, Operation

__all__ = ["AttentionLowering"]

_DIGIT = 7
"""Bits of a digit of a probability."""
_UNSEEN = -1e30
"""Added to a score: its code is the least, however great it was."""


@dataclass(eq=False)
class AttentionLowering(Lowering):
    """Takes a decoder with attention apart.

    Parameters
    ----------
    model, to : of :class:`Lowering`.
    cache : tokens that are taken at most.
    bits : of a key or value in the cache, 8 or 4.
    """

    cache: int
    bits: int
    _tables: dict[str, Buffer] = field(default_factory=dict)
    _ropes: dict[Rope, tuple[int, np.ndarray]] = field(default_factory=dict)

    OUTPUT: ClassVar[str] = "attn_output"

    def mixed(self, name: str, layer: Layer, h: Buffer) -> Buffer:
        """Mix a row with those in the cache."""
        to = self.to
        q, k, v = self.products(name, layer, h, "attn_q", "attn_k", "attn_v")
        q = self.normed(name + "attn_q_norm", q, layer.query_gain)
        k = self.normed(name + "attn_k_norm", k, layer.key_gain)
        with to.naming(name + "attn", "Attention"):
            if layer.rope is not None:
                q, k = self._rotated(q, layer.rope), self._rotated(k, layer.rope)
            return self._attended(layer, q, k, v)

    def _attended(self, layer: Layer, q: Buffer, k: Buffer, v: Buffer) -> Buffer:
        """Write keys and values to the cache; return values by the softmax of scores."""
        to, shape = self.to, self.model.shape
        scale = shape.score_scale or 1 / math.sqrt(shape.head)
        if self.bits == 4:
            q, k = turned(to, q, shape.head), turned(to, k, shape.head)
            scale /= hadamard_size(shape.head)
            if not shape.score_cap:
                k = self._less_the_first(k)
        keys = stored(to, k, shape, self.cache, bits=self.bits, keys=True)
        values = stored(to, v, shape, self.cache, bits=self.bits, keys=False)
        codes, powers = to.array(I8, q.columns), to.array(Format.POWER, shape.heads)
        parts = codes.split(shape.head), q.split(shape.head)
        to.floats(Operation.ALIGN, *parts, powers.turned, width=8)
        factors = to.array(F64, shape.heads)
        to.floats(Operation.MULTIPLY, factors, to.constant(scale, F64), powers)
        scores = self._scores(codes.split(shape.head), keys)
        to.floats(Operation.MULTIPLY, scores, scores, factors.turned)
        self._bounded(layer, scores)
        return self._weighted(self._softmax(scores), values)

    def _bounded(self, layer: Layer, scores: Buffer) -> None:
        """Cap scores, and hide tokens that are behind a window."""
        if self.model.shape.score_cap:
            capped(self.to, scores, self.model.shape.score_cap)
        if 0 < layer.window < self.cache:
            unseen = self._unseen(layer.window)
            self.to.floats(Operation.ADD, scores, scores, unseen)

    def _unseen(self, window: int) -> Buffer:
        """Return what is added to scores: much below zero, of tokens too far before this one."""
        to, name = self.to, f"unseen beyond {window}"
        if name not in self._tables:
            far = np.arange(2 * self.cache) <= self.cache - window
            self._tables[name] = to.constant(np.where(far, _UNSEEN, 0.0), F64)
        table = self._tables[name]
        # The last column is this token's: the row begins the earlier, the later it is.
        return table.across(self.cache, self.cache).moving(POSITION, -table.step).growing(POSITION)

    def _rotated(self, x: Buffer, rope: Rope) -> Buffer:
        """Turn pairs of values by the angles of the position."""
        to, half = self.to, self.model.shape.head // 2
        if rope not in self._ropes:
            tables = turns(np.arange(self.cache), rope.frequencies, rope.factor)
            self._ropes[rope] = len(self._ropes), tables
        number, values = self._ropes[rope]
        cosines, sines = (
            self._table(f"{name} {number}", one, F32)
            for name, one in zip(("cos", "sin"), values, strict=True)
        )
        out = to.array(F32, x.columns)
        one, other = to.array(F32, half * (x.columns // (2 * half))), to.array(F32, x.columns // 2)
        one, other = one.split(half), other.split(half)
        (even, odd), (made, more) = (
            [part.split(2 * half).across(first, half, 2) for first in (0, 1)] for part in (x, out)
        )
        to.floats(Operation.MULTIPLY, one, even, cosines)
        to.floats(Operation.MULTIPLY, other, odd, sines)
        to.floats(Operation.SUBTRACT, made, one, other)
        to.floats(Operation.MULTIPLY, one, even, sines)
        to.floats(Operation.MULTIPLY, other, odd, cosines)
        to.floats(Operation.ADD, more, one, other)
        return out

    def _less_the_first(self, k: Buffer) -> Buffer:
        """Subtract the keys of the first token, which stay until the next text begins."""
        to = self.to
        first = np.zeros((self.cache, 1))
        first[0] = 1
        common, first_key = to.state(F32, k.columns), to.array(F32, k.columns)
        to.floats(Operation.MULTIPLY, common, common, self._table("not first", 1 - first, F32))
        to.floats(Operation.MULTIPLY, first_key, k, self._table("first", first, F32))
        to.floats(Operation.ADD, common, common, first_key)
        return to.floats(Operation.SUBTRACT, to.array(F32, k.columns), k, common)

    def _scores(self, q: Buffer, keys: Cache) -> Buffer:
        """Multiply queries by keys of tokens; doubles, heads x tokens."""
        to, shape = self.to, self.model.shape
        each, size = shape.heads // shape.shared, shape.head // keys.blocks
        scores = to.array(F64, self.cache, shape.heads).growing(POSITION)
        part = scores
        if keys.offsets is not None:
            part = to.array(F64, self.cache, shape.heads).growing(POSITION)
        sums = to.array(self._attention_sums, self.cache, shape.heads).growing(POSITION)
        for block in range(keys.blocks):
            block_q = q.across(block * size, size)
            for head in range(shape.shared):
                rows = keys.codes.at(head * shape.head + block * size, size).growing(POSITION)
                self._matmul(block_q.at(head * each, each), rows, sums.at(head * each, each))
            if keys.offsets is not None:
                ones = to.floats(Operation.SUM, to.array(F64, 1, shape.heads), block_q)
            for head in range(shape.shared):
                mine = part.at(head * each, each)
                index = head * keys.blocks + block
                to.floats(
                    Operation.MULTIPLY, mine, sums.at(head * each, each), keys.steps.at(index, 1)
                )
                if keys.offsets is None:
                    continue
                total = scores.at(head * each, each)
                if block:
                    to.floats(Operation.ADD, total, total, mine)
                else:
                    to.floats(Operation.COPY, total, mine)
                to.floats(
                    Operation.MULTIPLY, mine, ones.at(head * each, each), keys.offsets.at(index, 1)
                )
                to.floats(Operation.ADD, total, total, mine)
        return scores

    def _softmax(self, scores: Buffer) -> Buffer:
        """Return probabilities, doubles."""
        to, heads = self.to, scores.rows
        top = to.floats(Operation.GREATEST, to.array(F64, 1, heads), scores)
        codes = to.array(I16, self.cache, heads).growing(POSITION)
        to.floats(Operation.SUBTRACT, codes, scores, top, shift=VECTOR.scale_width)
        made = to.array(I16, self.cache + 1, heads)
        to.rows("softmax", codes, made.growing(POSITION))
        exponents = replace(made.across(1, 1), format=Format.FRACTION).moving(POSITION, made.step)
        shares = made.across(0, self.cache).growing(POSITION)
        return to.floats(Operation.MULTIPLY, scores, shares, exponents)

    def _weighted(self, shares: Buffer, values: Cache) -> Buffer:
        """Add up values of tokens by their shares; doubles, a row of all heads."""
        to, shape = self.to, self.model.shape
        heads, each = shape.heads, shape.heads // shape.shared
        size = shape.head // values.blocks
        out = to.array(F64, heads * shape.head)
        weighted = to.array(F64, self.cache, heads).growing(POSITION)
        codes = to.array(I16, self.cache, heads).growing(POSITION)
        digits = to.array(I8, self.cache, 2 * heads).growing(POSITION)
        powers, sums = (
            to.array(Format.POWER, 1, heads),
            to.array(self._attention_sums, size, 2 * heads),
        )
        for block in range(values.blocks):
            self._multiplied(weighted, shares, values.steps.at(block, shape.shared, values.blocks))
            to.floats(Operation.ALIGN, codes, weighted, powers, width=SHARE_BITS)
            for digit in range(2):
                to.floats(
                    Operation.BITS,
                    digits.at(digit, heads, 2),
                    codes,
                    shift=digit * _DIGIT,
                    width=_DIGIT,
                )
            for head in range(shape.shared):
                rows = values.codes.at(head * self.cache, self.cache).across(block * size, size)
                self._matmul(
                    digits.at(2 * head * each, 2 * each), rows, sums.at(2 * head * each, 2 * each)
                )
            made = out.split(shape.head).across(block * size, size)
            to.floats(Operation.COPY, made, sums.at(1, heads, 2), shift=_DIGIT)
            to.floats(Operation.ADD, made, made, sums.at(0, heads, 2))
            to.floats(Operation.MULTIPLY, made, made, powers)
            if values.offsets is not None:
                rest = to.array(F64, 1, heads)
                offsets = values.offsets.at(block, shape.shared, values.blocks)
                self._multiplied(weighted, shares, offsets)
                to.floats(Operation.SUM, rest, weighted)
                to.floats(Operation.ADD, made, made, rest)
        return out

    def _multiplied(self, out: Buffer, shares: Buffer, rows: Buffer) -> None:
        """Multiply shares by numbers of tokens, of which each head of keys has a row."""
        each = shares.rows // rows.rows
        for head in range(rows.rows):
            part = head * each, each
            self.to.floats(Operation.MULTIPLY, out.at(*part), shares.at(*part), rows.at(head, 1))

    def _table(self, name: str, values: np.ndarray, format_: Format) -> Buffer:
        """Return a table of which each position has a row."""
        if name not in self._tables:
            self._tables[name] = self.to.constant(values, format_)
        table = self._tables[name]
        return table.at(0, 1).moving(POSITION, table.stride)

    @property
    def _attends(self) -> bool:
        """Whether the engine has keys and values as operands: B of 8 bits."""
        mode = self.to.image.target.mode
        return mode.b_stored == mode.a

    @property
    def _attention_sums(self) -> Format:
        return self.sums if self._attends else I32

    def _matmul(self, a: Buffer, b: Buffer, c: Buffer) -> None:
        """Multiply integers of attention."""
        if self._attends:
            self.to.product(a, b, c)
        else:
            self.to.multiply(a, b, c)
