"""The steps of a decoder with a gated recurrent state; see :mod:`.lowering`."""

from dataclasses import dataclass
from typing import ClassVar

from carrysave.compiler.decoder.lowering import F64, I32, Lowering
from carrysave.compiler.decoder.units import VECTOR
from carrysave.compiler.front.decoder import Layer
from carrysave.compiler.program.buffers import Buffer
from carrysave.compiler.program.floats import Operation

__all__ = ["RecurrentLowering"]

_ONE = 15
"""Bits of a sigmoid after the point."""


@dataclass(eq=False)
class RecurrentLowering(Lowering):
    """Takes a decoder without a cache apart."""

    OUTPUT: ClassVar[str] = "mix_output"

    def mixed(self, name: str, layer: Layer, h: Buffer) -> Buffer:
        """Move the state towards what is fresh."""
        to, size = self.to, h.columns
        forget, candidate, gate = self.products(
            name, layer, h, "mix_forget", "mix_candidate", "mix_gate"
        )
        with to.naming(name + "mix", "Recurrent"):
            state, keep, less = to.state(I32, size), self._sigmoid(forget), to.array(I32, size)
            fresh, remains, moved = self.gate(candidate), to.array(F64, size), to.array(F64, size)
            to.floats(Operation.SUBTRACT, less, to.constant(1 << _ONE, F64), keep)
            to.floats(Operation.MULTIPLY, remains, keep, state)
            to.floats(Operation.MULTIPLY, moved, less, fresh, shift=VECTOR.scale_width)
            to.floats(Operation.ADD, moved, remains, moved)
            to.floats(Operation.HALF_UP, state, moved, shift=-_ONE)
            out = to.array(F64, size)
            to.floats(Operation.MULTIPLY, out, self._sigmoid(gate), state, shift=-_ONE - 16)
        return out

    def _sigmoid(self, x: Buffer) -> Buffer:
        """Return sigmoids, in units of 2^-15."""
        return self.to.floats(
            Operation.SIGMOID,
            self.to.array(I32, x.columns),
            self.gates(x),
            shift=VECTOR.scale_width,
            width=VECTOR.gate_width,
            limits=(0, 1 << _ONE),
        )
