"""Activations of gates in a decoder's program that no job has."""

from dataclasses import replace

from carrysave.compiler.decoder.matrix import F32, F64
from carrysave.compiler.decoder.units import GELU
from carrysave.compiler.program.buffers import Buffer
from carrysave.compiler.program.build import Builder
from carrysave.compiler.program.floats import Operation

__all__ = ["activated", "capped"]


def activated(to: Builder, activation: str, gate: Buffer, up: Buffer) -> Buffer:
    """Multiply values by GELU or the squared ReLU of gates, as golden's units do."""
    hidden = to.array(F32, up.columns)
    if activation == "relu2":
        to.floats(Operation.MAXIMUM, hidden, gate, to.constant(0, F32))
        to.floats(Operation.MULTIPLY, hidden, hidden, hidden)
    else:
        low, high = (to.constant(one, F32) for one in GELU)
        to.floats(Operation.MULTIPLY, hidden, gate, gate)
        to.floats(Operation.MULTIPLY, hidden, hidden, high)
        to.floats(Operation.ADD, hidden, hidden, low)
        to.floats(Operation.MULTIPLY, hidden, hidden, gate)
        to.floats(Operation.TANH, hidden, hidden)
        to.floats(Operation.ADD, hidden, hidden, to.constant(1, F32))
        to.floats(Operation.MULTIPLY, hidden, hidden, gate, shift=-1)
    return to.floats(Operation.MULTIPLY, hidden, hidden, up)


def capped(to: Builder, x: Buffer, cap: float) -> None:
    """Replace numbers by cap * tanh(x / cap)."""
    inner = replace(to.array(F32, x.columns, x.rows), grows=x.grows)
    to.floats(Operation.MULTIPLY, inner, x, to.constant(1 / cap, F64))
    to.floats(Operation.TANH, inner, inner)
    to.floats(Operation.MULTIPLY, x, inner, to.constant(cap, F64))
