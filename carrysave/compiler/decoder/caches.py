"""Keys and values of a decoder's program, which stay in its memory."""

from dataclasses import dataclass, replace

from carrysave.compiler.decoder.hadamard import hadamard_size
from carrysave.compiler.decoder.lowering import F32, F64, I8
from carrysave.compiler.decoder.units import GROUP
from carrysave.compiler.front.decoder import Shape
from carrysave.compiler.program.buffers import Buffer
from carrysave.compiler.program.build import Builder
from carrysave.compiler.program.floats import Format, Operation

__all__ = ["POSITION", "Cache", "stored", "turned"]

POSITION = "position"
"""A parameter of the program."""


@dataclass(frozen=True)
class Cache:
    """Keys or values of all tokens.

    Members
    -------
    codes : of keys heads * head x tokens, of values heads * tokens x head.
    steps, offsets : for each block of a head a row of all tokens.
    blocks : of a head.
    """

    codes: Buffer
    steps: Buffer
    offsets: Buffer | None
    blocks: int


def stored(to: Builder, x: Buffer, shape: Shape, tokens: int, *, bits: int, keys: bool) -> Cache:
    """Write keys, of which each token is a column, or values, each a row, to the cache."""
    head, shared = shape.head, shape.shared
    size = (shared * head, tokens) if keys else (shared * tokens, head)
    codes = to.state(I8, size[1], size[0])
    # The next token's place.
    token = replace(
        codes,
        rows=shared,
        columns=head,
        stride=head * codes.stride if keys else tokens * codes.stride,
        column=codes.stride if keys else 1,
    ).moving(POSITION, 1 if keys else codes.stride)
    if bits == 8:
        steps = to.state(Format.POWER, tokens, shared)
        next_step = steps.across(0, 1).moving(POSITION, steps.step)
        to.floats(Operation.ALIGN, token, x.split(head), next_step, width=8)
        return Cache(codes, steps, None, 1)
    blocks = head // GROUP
    x, rows = x.split(GROUP), shared * blocks
    steps, lows = (to.state(Format.F16, tokens, rows) for _ in range(2))
    step, low = (one.across(0, 1).moving(POSITION, one.step) for one in (steps, lows))
    most = to.array(F64, 1, rows)
    to.floats(Operation.LEAST, low, x)
    to.floats(Operation.GREATEST, most, x)
    to.floats(Operation.SUBTRACT, most, most, low)
    to.floats(Operation.DIVIDE, step, most, to.constant(15, F64))
    rest = to.array(F64, GROUP, rows)
    to.floats(Operation.SUBTRACT, rest, x, low)
    for block in range(blocks):
        part = token.across(block * GROUP, GROUP)
        to.floats(
            Operation.DIVIDE,
            part,
            rest.at(block, shared, blocks),
            step.at(block, shared, blocks),
            limits=(0, 15),
        )
    return Cache(codes, steps, lows, blocks)


def turned(to: Builder, x: Buffer, head: int) -> Buffer:
    """Turn heads by the Hadamard transform, not scaled."""
    step = 1
    while step < hadamard_size(head):
        out = to.array(F32, x.columns)
        (low, high), (sums, rest) = (
            [one.split(2 * step).across(first, step) for first in (0, step)] for one in (x, out)
        )
        to.floats(Operation.ADD, sums, low, high)
        to.floats(Operation.SUBTRACT, rest, low, high)
        x, step = out, 2 * step
    return x
