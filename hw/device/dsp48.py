"""Xilinx's DSP48E1 and DSP48E2: a multiplier and a 48-bit sum with cascades in one block."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from amaranth import C, Cat, ClockSignal, Const, Instance, Module, Signal, Value

from golden.pe.mac import MacSpec
from hw.device.cascade import Cascade, Stationary
from hw.device.dsp48_cascade import Dsp48Cascade
from hw.device.dsp48_stationary import Dsp48Stationary
from hw.device.family import Family

__all__ = ["Dsp48"]

_RESETS = ("A", "ALLCARRYIN", "ALUMODE", "B", "C", "CTRL", "D", "INMODE", "M", "P")
_ENABLES = (
    "A1", "A2", "AD", "ALUMODE", "B1", "B2", "C", "CARRYIN", "CTRL", "D", "INMODE", "M", "P",
)  # fmt: skip
_OUTPUTS = {"P": 48, "PCOUT": 48, "ACOUT": 30, "BCOUT": 18}


@dataclass(frozen=True, kw_only=True)
class Dsp48(Family):
    """Products and sums in DSP48 blocks, named so that every register of a block is used.

    Members
    -------
    cell : the block.
    adds_three : a block adds its own sum, a neighbour's and a product in one cycle.
    """

    cell: str
    adds_three: bool

    def block(
        self,
        m: Module,
        wide: Value,
        narrow: Value,
        z: Value,
        *,
        w: Value | None = None,
        inverted: int = 0,
        registers: int = 1,
        b_registers: int = 0,
        c_registers: int = 0,
        ports: Mapping[str, Value] | None = None,
        passed: str = "",
    ) -> dict[str, Value]:
        """Place a block that adds a product to what it is told; returns its outputs.

        Parameters
        ----------
        m : where.
        wide, narrow : operands of ports A and B, signed.
        z, w : OPMODE's selection of what is added, one cycle early; zero if None.
        inverted : bits of `z` that the block inverts.
        registers, b_registers, c_registers : of both operands; of B, if not as many; of port C.
        ports : further ones, by name; enables of registers among them.
        passed : "A" or "B": that operand comes from the block above.
        """
        # Yosys reads an instance again after mapping, and fails, if a port is of a signed signal.
        operands = {"A": Signal(30, name="whole_a"), "B": Signal(18, name="whole_b")}
        m.d.comb += [operands["A"].eq(wide), operands["B"].eq(narrow)]
        bits = 9 if self.adds_three else 7
        inputs: dict[str, Value] = {
            **operands,
            **{f"CE{name}": C(1, 1) for name in _ENABLES},
            **{f"RST{name}": C(0, 1) for name in _RESETS},
            "ACIN": C(0, 30), "BCIN": C(0, 18), "C": C(0, 48), "PCIN": C(0, 48),
            "D": C(0, self.multiplier.a_width), "ALUMODE": C(0, 4), "INMODE": C(0, 5),
            "CARRYIN": C(0, 1), "CARRYINSEL": C(0, 3), "CARRYCASCIN": C(0, 1),
            "MULTSIGNIN": C(0, 1), "CLK": ClockSignal(),
            "OPMODE": Cat(C(5, 4), z, C(0, 2) if w is None else w)[:bits],
            **(ports or {}),
        }  # fmt: skip
        outputs: dict[str, Value] = {
            name: Signal(width, name=name.lower()) for name, width in _OUTPUTS.items()
        }
        number = {"A": registers, "B": b_registers or registers}
        m.submodules += Instance(
            self.cell,
            **({} if self.adds_three else {"p_USE_DPORT": "FALSE"}),
            **{f"p_{name}_INPUT": "CASCADE" if name == passed else "DIRECT" for name in "AB"},
            p_USE_MULT="MULTIPLY",
            **{f"p_{name}REG": own for name, own in number.items()},
            # Of two registers the first one's goes to the cascade.
            **{f"p_{name}CASCREG": own - (own > 1) for name, own in number.items()},
            # Unused, but at 0 Yosys takes a register away from port A, and sums come out wrong.
            p_CREG=c_registers, p_DREG=1, p_ADREG=1, p_MREG=1, p_PREG=1,
            p_OPMODEREG=1, p_ALUMODEREG=0, p_INMODEREG=0, p_CARRYINREG=0, p_CARRYINSELREG=0,
            p_IS_OPMODE_INVERTED=Const(inverted << 4, bits),
            **{f"i_{name}": value for name, value in inputs.items()},
            **{f"o_{name}": value for name, value in outputs.items()},
        )  # fmt: skip
        return outputs

    def dot(self, m: Module, pairs: Sequence[tuple[Value, Value]]) -> Value:
        """Chain a block for each pair."""
        above: dict[str, Value] = {}
        for number, (a, b) in enumerate(pairs):
            ports = {"PCIN": above["PCOUT"]} if number else {}
            above = self.block(
                m, a, b, C(1 if number else 0, 3), registers=min(number + 1, 2), ports=ports
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
