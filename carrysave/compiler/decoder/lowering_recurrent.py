"""The steps of a decoder with a gated recurrent state; see :mod:`.lowering`."""

from dataclasses import dataclass
from typing import ClassVar

from carrysave.compiler.decoder.lowering import F64, I16, I32, Lowering
from carrysave.compiler.decoder.row_gates import GATE_BITS, STATE_BITS, blending, has_gates, scaling
from carrysave.compiler.decoder.units import VECTOR
from carrysave.compiler.front.decoder import Layer
from carrysave.compiler.program.buffers import Buffer
from carrysave.compiler.program.floats import Operation
from golden.soc.second_rows import BLEND

__all__ = ["RecurrentLowering"]

_ONE = 15
"""Bits of a sigmoid after the point."""


@dataclass(eq=False)
class RecurrentLowering(Lowering):
    """Takes a decoder without a cache apart."""

    OUTPUT: ClassVar[str] = "mix_output"

    def mixed(self, name: str, layer: Layer, h: Buffer) -> Buffer:
        """Move the state towards what is fresh."""
        gates = self.products(name, layer, h, "mix_forget", "mix_candidate", "mix_gate")
        with self.to.naming(name + "mix", "Recurrent"):
            if has_gates(self.to.image.target.spec):
                return self._moved_by_jobs(*gates)
            return self._moved(*gates)

    def _moved(self, forget: Buffer, candidate: Buffer, gate: Buffer) -> Buffer:
        """Move a state of 23 bits, on floats, as :func:`carrysave.compiler.decoder.units.moved`."""
        to, size = self.to, gate.columns
        state, keep, less = to.state(I32, size), self._sigmoid(forget), to.array(I32, size)
        fresh, remains, moved = self.gate(candidate), to.array(F64, size), to.array(F64, size)
        to.floats(Operation.SUBTRACT, less, to.constant(1 << _ONE, F64), keep)
        to.floats(Operation.MULTIPLY, remains, keep, state)
        to.floats(Operation.MULTIPLY, moved, less, fresh, shift=VECTOR.scale_width)
        to.floats(Operation.ADD, moved, remains, moved)
        to.floats(Operation.HALF_UP, state, moved, shift=-_ONE)
        out = to.array(F64, size)
        return to.floats(Operation.MULTIPLY, out, self._sigmoid(gate), state, shift=-_ONE - 16)

    def _moved_by_jobs(self, forget: Buffer, candidate: Buffer, gate: Buffer) -> Buffer:
        """Move a state of 16 bits by jobs, as :mod:`carrysave.compiler.decoder.row_gates`."""
        to, size = self.to, gate.columns
        state, gates, out = to.state(I16, size), to.array(I16, size), to.array(F64, size)
        given = [self.gates(one) for one in (forget, candidate, gate)]
        for first in range(0, size, VECTOR.length):
            some = min(VECTOR.length, size - first)
            keep, new, weighs = (one.across(first, some) for one in given)
            part, second = state.across(first, some), to.array(I16, 2 * some)
            to.rows("silu", new, second.across(0, some), how=scaling("silu"))
            to.rows("sigmoid", keep, second.across(some, some), how=scaling("sigmoid"))
            to.rows(BLEND, part, part, second, how=blending())
            to.rows("sigmoid", weighs, gates.across(first, some), how=scaling("sigmoid"))
        return to.floats(Operation.MULTIPLY, out, gates, state, shift=-GATE_BITS - STATE_BITS)

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
