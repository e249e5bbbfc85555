"""Families with Xilinx's DSP48E1 and DSP48E2: products and sums in these blocks."""

from collections.abc import Sequence
from dataclasses import dataclass

from amaranth import C, Module, Value

from golden.pe.mac import MacSpec
from hw.device.cascade import Cascade, Stationary
from hw.device.dsp48_block import Dsp48Block, Registers
from hw.device.dsp48_cascade import Dsp48Cascade
from hw.device.dsp48_stationary import Dsp48Stationary

__all__ = ["Dsp48"]


@dataclass(frozen=True, kw_only=True)
class Dsp48(Dsp48Block):
    """Products and sums in DSP48 blocks, named so that every register of a block is used."""

    def dot(self, m: Module, pairs: Sequence[tuple[Value, Value]]) -> Value:
        """Chain a block for each pair."""
        above: dict[str, Value] = {}
        for number, (a, b) in enumerate(pairs):
            ports = {"PCIN": above["PCOUT"]} if number else {}
            above = self.block(
                m,
                a,
                b,
                C(1 if number else 0, 3),
                registers=Registers(a=min(number + 1, 2)),
                ports=ports,
            )
        return above["P"].as_signed()

    def multiply(self, m: Module, a: Value, b: Value, en: Value | None = None) -> Value:
        """Use a block with registers of operands, within, and of the product."""
        return self.dot(m, [(a, b)])

    def cascade(self, spec: MacSpec, packing: str, columns: int) -> Cascade | None:
        """Hold the sum in the block, or two of them, if all fits in its 48 bits."""
        if spec.k > 1 and not self.adds_three:
            return None
        choice = self.packs if packing == "auto" else packing
        if choice == "densest":
            return None
        return Dsp48Cascade.choose(self, spec, 2 if choice == "pair" and columns > 1 else 1)

    def stationary(self, width: int) -> Stationary:
        """Hold weights and sums in blocks, if sums fit their 48 bits; operands always do."""
        return Dsp48Stationary(self) if width <= 48 else super().stationary(width)
