"""The steps of a decoder that attends in one pass; see :mod:`.one_pass`."""

from dataclasses import dataclass, field, replace

import numpy as np

from carrysave.compiler.decoder.caches import POSITION
from carrysave.compiler.decoder.lowering import F32, F64, I8, I16
from carrysave.compiler.decoder.lowering_attention import AttentionLowering
from carrysave.compiler.decoder.one_pass import (
    BLOCK,
    DIGIT,
    LEAST,
    MOST,
    one_pass_unit,
    score_scale,
    side_of,
    value_power,
)
from carrysave.compiler.decoder.units import VECTOR
from carrysave.compiler.front.decoder import Layer, Model
from carrysave.compiler.program.buffers import Buffer
from carrysave.compiler.program.floats import Format, Operation
from carrysave.compiler.target.target import Target
from golden.soc.shares import share_columns

__all__ = ["BLOCKS", "OnePassLowering", "attends_in_one_pass", "lacking"]

BLOCKS = "blocks"
"""A parameter of the program: whole blocks of keys before that of the position."""


@dataclass(eq=False)
class OnePassLowering(AttentionLowering):
    """Takes a decoder apart that attends in one pass.

    Both products are jobs whose groups are scaled: by exponents of queries and of keys, and by
    those of blocks of shares. A processor rounds scores, and divides what was added up.

    Parameters
    ----------
    model, to, cache, bits : of :class:`.lowering_attention.AttentionLowering`.
    """

    _codes: Buffer | None = field(default=None, init=False)
    _digits: Buffer | None = field(default=None, init=False)

    @property
    def _room(self) -> int:
        """Keys of whole blocks."""
        return -(-self.cache // BLOCK) * BLOCK

    def _attended(self, layer: Layer, q: Buffer, k: Buffer, v: Buffer) -> Buffer:
        to, shape = self.to, self.model.shape
        power = value_power(self.model, layer)
        scores = self._products_of(q, *self._keys(k))
        values = self._values(v, power)
        self._bounded(layer, scores)
        codes = self._score_codes(shape.heads)
        some = codes.across(0, self.cache).growing(POSITION)
        shift = VECTOR.scale_width + score_scale(self.model).shift
        to.floats(Operation.COPY, some, scores, shift=shift, limits=(LEAST, MOST))
        sums = self._added_up(codes.across(0, self._room), values)
        out = to.array(F64, shape.heads * shape.head)
        each = out.split(shape.head)
        high, low = (sums.across(digit * shape.head, shape.head) for digit in range(2))
        to.floats(Operation.ADD, each, high, low)
        to.floats(Operation.DIVIDE, each, each, sums.across(2 * shape.head, 1), shift=power)
        return out

    def _keys(self, k: Buffer) -> tuple[Buffer, Buffer]:
        """Write a token's keys, a column each; return codes of all, and steps of their sides."""
        to, shape, side = self.to, self.model.shape, side_of(self.model.shape.head)
        codes = to.state(I8, self.cache, shape.shared * shape.head)
        steps = to.state(Format.F16, self.cache, codes.rows // side)
        column = replace(
            codes, rows=steps.rows, columns=side, stride=side * codes.stride, column=codes.stride
        )
        powers = to.array(Format.POWER, steps.rows).turned
        to.floats(Operation.ALIGN, column.moving(POSITION, 1), k.split(side), powers, width=8)
        to.floats(Operation.COPY, steps.across(0, 1).moving(POSITION, steps.step), powers)
        return codes, steps

    def _values(self, v: Buffer, power: int) -> Buffer:
        """Write a token's values, a row of both digits, and 1, for each head; return all."""
        to, shape = self.to, self.model.shape
        whole = np.zeros((shape.shared * self._room, 2 * shape.head + 1))
        whole[:, -1] = 1
        values = to.constant(whole, I8)
        token = replace(values, rows=shape.shared, stride=self._room * values.stride)
        high, low = (
            token.across(digit * shape.head, shape.head).moving(POSITION, values.stride)
            for digit in range(2)
        )
        v, back = v.split(shape.head), to.array(F64, shape.head, shape.shared)
        to.floats(Operation.COPY, high, v, shift=-power - DIGIT, limits=(-127, 127))
        to.floats(Operation.COPY, back, high, shift=power + DIGIT)
        to.floats(Operation.SUBTRACT, low, v, back, shift=-power, limits=(-127, 127))
        return values

    def _products_of(self, q: Buffer, keys: Buffer, steps: Buffer) -> Buffer:
        """Multiply queries by keys of tokens; floats, heads x tokens."""
        to, shape, side = self.to, self.model.shape, side_of(self.model.shape.head)
        heads, each, sides = shape.heads, shape.heads // shape.shared, shape.head // side
        if (factor := score_scale(self.model).factor) != 1:
            q = to.floats(Operation.MULTIPLY, to.array(F32, q.columns), q, to.constant(factor, F64))
        codes, powers = to.array(I8, q.columns), to.array(I8, heads, sides)
        rows, q = codes.split(shape.head), q.split(shape.head)
        for number in range(sides):
            parts = (one.across(number * side, side) for one in (rows, q))
            to.floats(Operation.ALIGN, *parts, powers.at(number, 1).turned, width=8)
        scores = to.array(F32, self.cache, heads)
        for head in range(shape.shared):
            mine = head * each, each
            to.product(
                rows.at(*mine),
                keys.at(head * shape.head, shape.head).growing(POSITION),
                scores.at(*mine),
                at=(powers.across(*mine), steps.at(head * sides, sides)),
            )
        return scores.growing(POSITION)

    def _score_codes(self, heads: int) -> Buffer:
        """Return room for codes of scores, for all layers; keys behind a token have the least."""
        to = self.to
        if self._codes is None:
            self._codes = to.state(I16, self._room + BLOCK, heads)
            behind = self._codes.across(1, BLOCK).moving(POSITION, self._codes.step)
            to.floats(Operation.COPY, behind, to.constant(np.full((heads, BLOCK), LEAST), I16))
        return self._codes

    def _added_up(self, scores: Buffer, values: Buffer) -> Buffer:
        """Add up values by their shares; floats, heads x digits of values, and of the shares."""
        to, shape = self.to, self.model.shape
        heads, each, room = shape.heads, shape.heads // shape.shared, self._room
        blocks, wide = room // BLOCK, values.columns
        if self._digits is None:
            factors = np.ones((blocks, wide))
            factors[:, : shape.head] = 1 << DIGIT
            self._digits = to.constant(factors, Format.F16)
        shares = to.array(I8, share_columns(one_pass_unit(self.cache), "exps", room), heads)
        to.rows("exps", scores.growing(BLOCKS, BLOCK), shares)
        # Exponents are behind a row's codes; a product takes them by blocks.
        exponents = shares.across(BLOCK, blocks).moving(BLOCKS, BLOCK).growing(BLOCKS)
        powers = to.array(I8, heads, blocks)
        to.floats(Operation.COPY, powers.turned.growing(BLOCKS), exponents)
        sums = to.array(F32, wide, heads)
        for head in range(shape.shared):
            mine = head * each, each
            to.product(
                shares.at(*mine).across(0, room).growing(BLOCKS, BLOCK),
                values.at(head * room, room),
                sums.at(*mine),
                at=(powers.across(*mine), self._digits),
            )
        return sums


def attends_in_one_pass(target: Target) -> bool:
    """Return whether a co-processor is for attention in one pass: its vector unit makes shares."""
    unit = target.spec.vector
    return unit is not None and unit.builds(["exps"])


def lacking(model: Model, target: Target) -> list[str]:
    """Say what a co-processor lacks for attention in one pass."""
    spec, wrong, beat = target.spec, list[str](), target.spec.inside.k
    if not spec.sizes or spec.group_scales != "fp16":
        wrong.append(
            "code_bytes must be 2 and group_scales fp16 for attention in one pass, not"
            f" {spec.code_bytes} and {spec.group_scales}"
        )
    if target.mode.b_stored != target.mode.a:
        bits = target.mode.b_stored.bits
        wrong.append(f"engine must have B of int8 for attention in one pass, not {bits} bits")
    if side_of(model.shape.head) % beat:
        side = side_of(model.shape.head)
        wrong.append(f"a beat of K must be 1..{side} codes, a power of two, not {beat}")
    return wrong
