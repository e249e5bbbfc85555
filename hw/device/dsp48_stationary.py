"""Weights in DSP48 blocks, and sums that pass through them."""

from amaranth import C, Cat, Module, Value

from hw.device.cascade import Stationary
from hw.device.dsp48_block import Dsp48Block, Registers

__all__ = ["Dsp48Stationary"]


class Dsp48Stationary(Stationary):
    """A weight in the second register of port B, the next one in the first.

    Sums go down the cascade, and from the last block by port C to the first.

    Parameters
    ----------
    family : Dsp48
        The device.
    """

    width = 48
    latency = 3

    def __init__(self, family: Dsp48Block):
        self.family = family

    def place(
        self,
        m: Module,
        a: Value,
        b: Value,
        load: Value,
        swap: Value,
        above: Value | None,
        ring: tuple[Value, Value, int] | None,
    ) -> tuple[Value, Value]:
        """Place a block."""
        ports = {"CEB1": load, "CEB2": swap}
        z: Value = C(1, 3)
        inverted = waits = 0
        if above is not None:
            ports["PCIN"] = above
        elif ring is not None:
            # Port C, or zero.
            ports["C"], clear, waits = ring
            z, inverted = Cat(clear, clear, C(0, 1)), 3
        registers = Registers(b=2, c=waits, z_inverted=inverted)
        outputs = self.family.block(m, a, b, z, registers=registers, ports=ports)
        return outputs["PCOUT"], outputs["P"]
