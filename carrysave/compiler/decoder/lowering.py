"""The steps of a decoder: a token goes in, logits come out; its position is a parameter.

The program computes what :class:`carrysave.compiler.decoder.attention.Blocks` does of one token, to
the same bits. Products of integers, norms, softmax and SiLU are jobs of the co-processor; what lies
between them are steps on floats. Caches and recurrent states stay in the program's memory.
"""

import math
from dataclasses import dataclass, field, replace

import numpy as np

from carrysave.compiler.decoder.units import GROUP, SHARE_BITS, VECTOR, silu_scaling, turns
from carrysave.compiler.front.gguf import Layer, Model
from carrysave.compiler.program.array import Array
from carrysave.compiler.program.build import Builder, Weights
from carrysave.compiler.program.floats import Format, Operation
from carrysave.driver import Requantisation
from golden.lut.grouped import FastWeights

__all__ = ["POSITION", "SUMS", "TOKEN", "Lowering"]

TOKEN, POSITION = "token", "position"
"""Parameters of the program."""
F32, F64, I8, I16, I32 = Format.F32, Format.F64, Format.I8, Format.I16, Format.I32
SUMS = {16: I16, 32: I32}
"""By their bits in memory."""
_DIGIT = 7
"""Bits of a digit of a probability."""
_ONE = 15
"""Bits of a sigmoid after the point."""


@dataclass(eq=False)
class Lowering:
    """Takes a decoder apart.

    Parameters
    ----------
    model : weights.
    cache : tokens that are taken at most.
    bits : of a key or value in the cache, 8 or 4.
    to : the program's steps.
    """

    model: Model
    cache: int
    bits: int
    to: Builder
    _tables: dict[str, Array] = field(default_factory=dict)

    def logits(self) -> Array:
        """Add all steps; return where logits are."""
        model, to = self.model, self.to
        x = to.array(F32, model.shape.width)
        with to.naming("token_embd", "Gather"):
            table = to.constant(model.embedding, F32)
            to.floats(Operation.COPY, x, table.at(0, 1).moving(TOKEN, table.row))
        for number, layer in enumerate(model.layers):
            name = f"blk.{number}."
            h = self._normed(name + "attn_norm", x, layer.attention_gain)
            mix = self._recurrent if model.form == "recurrent" else self._attention
            mixed, output = mix(name, layer, h)
            if layer.output_gain is not None:
                mixed = self._normed(name + "output_norm", mixed, layer.output_gain)
            (y,) = self._products(name, layer, mixed, output)
            self._add(name + output, x, y)
            h = self._normed(name + "ffn_norm", x, layer.feed_gain)
            gate, up = self._products(name, layer, h, "ffn_gate", "ffn_up")
            with to.naming(name + "ffn_gate", "SiLU"):
                hidden = to.array(F32, up.columns)
                to.floats(
                    Operation.MULTIPLY, hidden, self._gate(gate), up, shift=-VECTOR.scale_width
                )
            if layer.down_gain is not None:
                hidden = self._normed(name + "down_norm", hidden, layer.down_gain)
            (y,) = self._products(name, layer, hidden, "ffn_down")
            self._add(name + "ffn_down", x, y)
        h = self._normed("output_norm", x, model.gain)
        codes, powers = self._aligned("output_norm", h, model.bits, model.head.group)
        return self._product("output", codes, powers, model.head)

    def _add(self, node: str, x: Array, y: Array) -> None:
        with self.to.naming(node, "Add"):
            self.to.floats(Operation.ADD, x, x, y)

    def _normed(self, node: str, x: Array, gain: np.ndarray) -> Array:
        """Divide by the root mean square, and multiply by gains."""
        to, size, epsilon = self.to, x.columns, self.model.shape.epsilon
        with to.naming(node, "RMSNormalization"):
            codes, powers = to.array(I16, size), to.array(Format.POWER, 1)
            to.floats(Operation.ALIGN, codes, x, powers, width=VECTOR.width)
            made = to.array(I16, size)
            to.rows("rms_norm", codes, made)
            out, shift = to.array(F32, size), -VECTOR.norm_fraction
            if epsilon:
                squares, mean, more = (to.array(F64, one) for one in (size, 1, 1))
                to.floats(Operation.MULTIPLY, squares, codes, codes)
                to.floats(Operation.SUM, mean, squares)
                to.floats(Operation.DIVIDE, mean, mean, to.constant(size, F64))
                to.floats(Operation.MULTIPLY, mean, mean, powers)
                to.floats(Operation.MULTIPLY, mean, mean, powers)
                to.floats(Operation.ADD, more, mean, to.constant(epsilon, F64))
                to.floats(Operation.DIVIDE, mean, mean, more)
                factor = to.floats(Operation.ROOT, to.array(F32, 1), mean)
                made, shift = to.floats(Operation.MULTIPLY, out, made, factor, shift=shift), 0
            to.floats(Operation.MULTIPLY, out, made, to.constant(gain, F32), shift=shift)
        return out

    def _aligned(self, node: str, x: Array, width: int, block: int) -> tuple[Array, Array]:
        """Return integers of a row, and the exponent of each block."""
        to = self.to
        with to.naming(node, "QuantizeLinear"):
            codes = to.array(I8, x.columns)
            powers = to.array(Format.POWER, x.columns // block)
            to.floats(Operation.ALIGN, codes.split(block), x.split(block), powers.turned,
                      width=width)  # fmt: skip
        return codes, powers

    def _products(self, name: str, layer: Layer, h: Array, *names: str) -> list[Array]:
        """Multiply by matrices of equal groups, and add their biases."""
        group = layer.matrices[names[0]].group
        codes, powers = self._aligned(name + names[0], h, self.model.bits, group)
        found = []
        for one in names:
            y = self._product(name + one, codes, powers, layer.matrices[one])
            if one in layer.biases:
                with self.to.naming(name + one, "Add"):
                    bias = self.to.constant(layer.biases[one], F32)
                    self.to.floats(Operation.ADD, y, y, bias)
            found.append(y)
        return found

    def _product(self, node: str, codes: Array, powers: Array, weights: FastWeights) -> Array:
        """Multiply groups of a row by groups of weights, and add the sums, scaled."""
        to, (groups, size, columns) = self.to, weights.integers.shape
        with to.naming(node, "MatMul"):
            b = to.weights(weights.integers.astype(np.int64))
            every = [to.array(self._sums, columns, groups) for _ in b.parts]
            for sums, part in zip(every, b.parts, strict=True):
                for group in range(groups):
                    to.product(
                        codes.across(group * size, size), part.at(group, 1), sums.at(group, 1),
                        ldb=part.column, macs=None if sums is every[0] else 0,
                    )  # fmt: skip
            ones = offsets = None
            if weights.offsets is not None or b.offset:
                ones = to.floats(Operation.SUM, to.array(I32, groups).turned, codes.split(size))
            sums = self._whole(every, b, ones)
            if weights.offsets is not None:
                offsets = to.constant(weights.offsets, Format.F16)
            return to.floats(
                Operation.GROUPS, to.array(F32, columns), sums,
                to.constant(weights.scales, Format.F16), powers.turned, ones, offsets,
            )  # fmt: skip

    def _whole(self, every: list[Array], b: Weights, ones: Array | None) -> Array:
        """Add up the sums of digits, and what these are less."""
        to, total = self.to, every[0]
        if (len(every) > 1 or b.offset) and total.format != I32:
            total = to.floats(Operation.COPY, to.array(I32, total.columns, total.rows), total)
        for sums, place in zip(every[1:], b.places[1:], strict=True):
            more = sums
            if sums.format != I32:
                more = to.array(I32, sums.columns, sums.rows)
            to.floats(Operation.COPY, more, sums, shift=place)
            to.floats(Operation.ADD, total, total, more)
        if b.offset:
            assert ones is not None
            less = to.array(I32, ones.rows).turned
            to.floats(Operation.MULTIPLY, less, ones, to.constant(b.offset, F64))
            to.floats(Operation.ADD, total, total, less)
        return total

    @property
    def _sums(self) -> Format:
        return SUMS[self.to.image.target.info.sums.bits]

    @property
    def _attends(self) -> bool:
        """Whether the engine has keys and values as operands: B of 8 bits."""
        mode = self.to.image.target.mode
        return mode.b_stored == mode.a

    @property
    def _attention_sums(self) -> Format:
        return self._sums if self._attends else I32

    def _matmul(self, a: Array, b: Array, c: Array) -> None:
        """Multiply integers of attention."""
        if self._attends:
            self.to.product(a, b, c)
        else:
            self.to.multiply(a, b, c)

    def _gate(self, x: Array) -> Array:
        """Return the SiLU of a row, in codes."""
        to, codes = self.to, self._gates(x)
        made, scaling = to.array(I16, x.columns), silu_scaling()
        limit = 1 << VECTOR.out_width - 1
        how = Requantisation(
            multiplier=int(scaling.multiplier[0]), shift=int(scaling.shift[0]), low=-limit,
            high=limit - 1,
        )  # fmt: skip
        for first in range(0, x.columns, VECTOR.length):
            size = min(VECTOR.length, x.columns - first)
            to.rows("silu", codes.across(first, size), made.across(first, size), how)
        return made

    def _gates(self, x: Array) -> Array:
        """Return what gates take."""
        codes = self.to.array(I16, x.columns)
        return self.to.floats(Operation.COPY, codes, x, shift=VECTOR.scale_width)

    def _table(self, name: str, values: np.ndarray, format_: Format) -> Array:
        """Return a table of which each position has a row."""
        if name not in self._tables:
            self._tables[name] = self.to.constant(values, format_)
        found = self._tables[name]
        return found.at(0, 1).moving(POSITION, found.row)

    # Attention

    def _attention(self, name: str, layer: Layer, h: Array) -> tuple[Array, str]:
        """Mix a row with those in the cache."""
        to, shape = self.to, self.model.shape
        q, k, v = self._products(name, layer, h, "attn_q", "attn_k", "attn_v")
        with to.naming(name + "attn", "Attention"):
            q, k = self._rotated(q), self._rotated(k)
            scale = 1 / math.sqrt(shape.head)
            if self.bits == 4:
                q, k = self._turned(q), self._turned(k)
                scale /= shape.head
                k = self._less_the_first(k)
            keys = self._stored(k, keys=True)
            values = self._stored(v, keys=False)
            codes, powers = to.array(I8, q.columns), to.array(Format.POWER, shape.heads)
            to.floats(Operation.ALIGN, codes.split(shape.head), q.split(shape.head),
                      powers.turned, width=8)  # fmt: skip
            factors = to.array(F64, shape.heads)
            to.floats(Operation.MULTIPLY, factors, to.constant(scale, F64), powers)
            scores = self._scores(codes.split(shape.head), keys)
            to.floats(Operation.MULTIPLY, scores, scores, factors.turned)
            return self._weighted(self._softmax(scores), values), "attn_output"

    def _rotated(self, x: Array) -> Array:
        """Turn pairs of values by the angles of the position."""
        to, half = self.to, self.model.shape.head // 2
        cosines, sines = (
            self._table(name, one, F32)
            for name, one in zip(
                ("cos", "sin"), turns(np.arange(self.cache), self.model.frequencies), strict=True
            )
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

    def _turned(self, x: Array) -> Array:
        """Turn heads by the Hadamard transform, not scaled."""
        to, step = self.to, 1
        while step < self.model.shape.head:
            out = to.array(F32, x.columns)
            (low, high), (sums, rest) = (
                [one.split(2 * step).across(first, step) for first in (0, step)] for one in (x, out)
            )
            to.floats(Operation.ADD, sums, low, high)
            to.floats(Operation.SUBTRACT, rest, low, high)
            x, step = out, 2 * step
        return x

    def _less_the_first(self, k: Array) -> Array:
        """Subtract the keys of the first token, which stay until the next text begins."""
        to = self.to
        first = np.zeros((self.cache, 1))
        first[0] = 1
        common, own = to.state(F32, k.columns), to.array(F32, k.columns)
        to.floats(Operation.MULTIPLY, common, common, self._table("not first", 1 - first, F32))
        to.floats(Operation.MULTIPLY, own, k, self._table("first", first, F32))
        to.floats(Operation.ADD, common, common, own)
        return to.floats(Operation.SUBTRACT, to.array(F32, k.columns), k, common)

    def _stored(self, x: Array, *, keys: bool) -> "_Cache":
        """Write keys, of which each token is a column, or values, each a row, to the cache."""
        to, shape = self.to, self.model.shape
        head, shared = shape.head, shape.shared
        size = (shared * head, self.cache) if keys else (shared * self.cache, head)
        codes = to.state(I8, size[1], size[0])
        # The next token's place.
        own = replace(codes, rows=shared, columns=head,
                      row=head * codes.row if keys else self.cache * codes.row,
                      column=codes.row if keys else 1,
                      ).moving(POSITION, 1 if keys else codes.row)  # fmt: skip
        if self.bits == 8:
            steps = to.state(Format.POWER, self.cache, shared)
            place = steps.across(0, 1).moving(POSITION, steps.column)
            to.floats(Operation.ALIGN, own, x.split(head), place, width=8)
            return _Cache(codes, steps, None, 1)
        blocks = head // GROUP
        x, rows = x.split(GROUP), shared * blocks
        steps, lows = (to.state(Format.F16, self.cache, rows) for _ in range(2))
        step, low = (one.across(0, 1).moving(POSITION, one.column) for one in (steps, lows))
        most = to.array(F64, 1, rows)
        to.floats(Operation.LEAST, low, x)
        to.floats(Operation.GREATEST, most, x)
        to.floats(Operation.SUBTRACT, most, most, low)
        to.floats(Operation.DIVIDE, step, most, to.constant(15, F64))
        rest = to.array(F64, GROUP, rows)
        to.floats(Operation.SUBTRACT, rest, x, low)
        for block in range(blocks):
            part = own.across(block * GROUP, GROUP)
            to.floats(Operation.DIVIDE, part, rest.at(block, shared, blocks),
                      step.at(block, shared, blocks), limits=(0, 15))  # fmt: skip
        return _Cache(codes, steps, lows, blocks)

    def _scores(self, q: Array, keys: "_Cache") -> Array:
        """Multiply queries by keys of tokens; doubles, heads x tokens."""
        to, shape = self.to, self.model.shape
        each, size = shape.heads // shape.shared, shape.head // keys.blocks
        scores = to.array(F64, self.cache, shape.heads).growing(POSITION)
        part = scores
        if keys.offsets is not None:
            part = to.array(F64, self.cache, shape.heads).growing(POSITION)
        sums = to.array(self._attention_sums, self.cache, shape.heads).growing(POSITION)
        for block in range(keys.blocks):
            own = q.across(block * size, size)
            for head in range(shape.shared):
                rows = keys.codes.at(head * shape.head + block * size, size).growing(POSITION)
                self._matmul(own.at(head * each, each), rows, sums.at(head * each, each))
            if keys.offsets is not None:
                ones = to.floats(Operation.SUM, to.array(F64, 1, shape.heads), own)
            for head in range(shape.shared):
                mine = part.at(head * each, each)
                place = head * keys.blocks + block
                to.floats(Operation.MULTIPLY, mine, sums.at(head * each, each),
                          keys.steps.at(place, 1))  # fmt: skip
                if keys.offsets is None:
                    continue
                total = scores.at(head * each, each)
                if block:
                    to.floats(Operation.ADD, total, total, mine)
                else:
                    to.floats(Operation.COPY, total, mine)
                to.floats(Operation.MULTIPLY, mine, ones.at(head * each, each),
                          keys.offsets.at(place, 1))  # fmt: skip
                to.floats(Operation.ADD, total, total, mine)
        return scores

    def _softmax(self, scores: Array) -> Array:
        """Return probabilities, doubles."""
        to, heads = self.to, scores.rows
        top = to.floats(Operation.GREATEST, to.array(F64, 1, heads), scores)
        codes = to.array(I16, self.cache, heads).growing(POSITION)
        to.floats(Operation.SUBTRACT, codes, scores, top, shift=VECTOR.scale_width)
        made = to.array(I16, self.cache + 1, heads)
        to.rows("softmax", codes, made.growing(POSITION))
        exponents = replace(made.across(1, 1), format=Format.FRACTION).moving(POSITION, made.column)
        shares = made.across(0, self.cache).growing(POSITION)
        return to.floats(Operation.MULTIPLY, scores, shares, exponents)

    def _weighted(self, shares: Array, values: "_Cache") -> Array:
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
            for head in range(shape.shared):
                part = slice_of(head, each)
                to.floats(Operation.MULTIPLY, weighted.at(*part), shares.at(*part),
                          values.steps.at(head * values.blocks + block, 1))  # fmt: skip
            to.floats(Operation.ALIGN, codes, weighted, powers, width=SHARE_BITS)
            for place in range(2):
                to.floats(Operation.BITS, digits.at(place, heads, 2), codes,
                          shift=place * _DIGIT, width=_DIGIT)  # fmt: skip
            for head in range(shape.shared):
                rows = values.codes.at(head * self.cache, self.cache).across(block * size, size)
                self._matmul(digits.at(2 * head * each, 2 * each), rows,
                             sums.at(2 * head * each, 2 * each))  # fmt: skip
            made = out.split(shape.head).across(block * size, size)
            to.floats(Operation.COPY, made, sums.at(1, heads, 2), shift=_DIGIT)
            to.floats(Operation.ADD, made, made, sums.at(0, heads, 2))
            to.floats(Operation.MULTIPLY, made, made, powers)
            if values.offsets is not None:
                rest = to.array(F64, 1, heads)
                for head in range(shape.shared):
                    part = slice_of(head, each)
                    to.floats(Operation.MULTIPLY, weighted.at(*part), shares.at(*part),
                              values.offsets.at(head * values.blocks + block, 1))  # fmt: skip
                to.floats(Operation.SUM, rest, weighted)
                to.floats(Operation.ADD, made, made, rest)
        return out

    # A gated recurrent state

    def _recurrent(self, name: str, layer: Layer, h: Array) -> tuple[Array, str]:
        """Move the state towards what is fresh."""
        to, size = self.to, h.columns
        forget, candidate, gate = self._products(
            name, layer, h, "mix_forget", "mix_candidate", "mix_gate"
        )
        with to.naming(name + "mix", "Recurrent"):
            state, keep, less = to.state(I32, size), self._sigmoid(forget), to.array(I32, size)
            fresh, kept, moved = self._gate(candidate), to.array(F64, size), to.array(F64, size)
            to.floats(Operation.SUBTRACT, less, to.constant(1 << _ONE, F64), keep)
            to.floats(Operation.MULTIPLY, kept, keep, state)
            to.floats(Operation.MULTIPLY, moved, less, fresh, shift=VECTOR.scale_width)
            to.floats(Operation.ADD, moved, kept, moved)
            to.floats(Operation.HALF_UP, state, moved, shift=-_ONE)
            out = to.array(F64, size)
            to.floats(Operation.MULTIPLY, out, self._sigmoid(gate), state, shift=-_ONE - 16)
        return out, "mix_output"

    def _sigmoid(self, x: Array) -> Array:
        """Return sigmoids, in units of 2^-15."""
        return self.to.floats(
            Operation.SIGMOID, self.to.array(I32, x.columns), self._gates(x),
            shift=VECTOR.scale_width, width=VECTOR.gate_width, limits=(0, 1 << _ONE),
        )  # fmt: skip


@dataclass(frozen=True)
class _Cache:
    """Keys or values of all tokens.

    Members
    -------
    codes : of keys heads * head x tokens, of values heads * tokens x head.
    steps, offsets : for each block of a head a row of all tokens.
    blocks : of a head.
    """

    codes: Array
    steps: Array
    offsets: Array | None
    blocks: int


def slice_of(head: int, each: int) -> tuple[int, int]:
    """Return the first of the heads of queries that a head of keys serves, and their count."""
    return head * each, each
