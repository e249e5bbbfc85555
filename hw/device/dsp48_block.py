"""One of Xilinx's DSP48E1 and DSP48E2: a multiplier and a 48-bit sum with cascades."""

from collections.abc import Mapping
from dataclasses import dataclass

from amaranth import C, Cat, ClockSignal, Const, Instance, Module, Signal, Value

from hw.device.family import Family

__all__ = ["Dsp48Block", "Registers"]

_RESETS = ("A", "ALLCARRYIN", "ALUMODE", "B", "C", "CTRL", "D", "INMODE", "M", "P")
_ENABLES = (
    "A1", "A2", "AD", "ALUMODE", "B1", "B2", "C", "CARRYIN", "CTRL", "D", "INMODE", "M", "P",
)  # fmt: skip
_ZEROS = {
    "ACIN": 30,
    "BCIN": 18,
    "C": 48,
    "PCIN": 48,
    "ALUMODE": 4,
    "INMODE": 5,
    "CARRYIN": 1,
    "CARRYINSEL": 3,
    "CARRYCASCIN": 1,
    "MULTSIGNIN": 1,
}
"""Ports that are 0 unless they are given, and their widths."""
_REGISTERS = {
    **dict.fromkeys(("D", "AD", "M", "P", "OPMODE"), 1),
    **dict.fromkeys(("ALUMODE", "INMODE", "CARRYIN", "CARRYINSEL"), 0),
}
_OUTPUTS = {"P": 48, "PCOUT": 48, "ACOUT": 30, "BCOUT": 18}


@dataclass(frozen=True, kw_only=True)
class Registers:
    """How a block's ports are registered.

    Members
    -------
    a, b, c : registers of each port; of B as many as of A if 0.
    z_inverted : bits of the selection of Z that the block inverts.
    """

    a: int = 1
    b: int = 0
    c: int = 0
    z_inverted: int = 0


@dataclass(frozen=True, kw_only=True)
class Dsp48Block(Family):
    """A family of DSP48 blocks, as far as a block of its own is concerned.

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
        registers: Registers | None = None,
        ports: Mapping[str, Value] | None = None,
        passed: str = "",
    ) -> dict[str, Value]:
        """Place a block that adds a product to what `z` and `w` select; return its outputs.

        Parameters
        ----------
        m : where.
        wide, narrow : operands of ports A and B, signed.
        z, w : OPMODE's selection of what is added, one cycle early; zero if None.
        registers : of its ports; one of either operand by default.
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
            **{name: C(0, width) for name, width in _ZEROS.items()},
            "D": C(0, self.multiplier.a_width),
            "CLK": ClockSignal(),
            "OPMODE": Cat(C(5, 4), z, C(0, 2) if w is None else w)[:bits],
            **(ports or {}),
        }
        outputs: dict[str, Value] = {
            name: Signal(width, name=name.lower()) for name, width in _OUTPUTS.items()
        }
        stages = registers or Registers()
        number = {"A": stages.a, "B": stages.b or stages.a}
        m.submodules += Instance(
            self.cell,
            **({} if self.adds_three else {"p_USE_DPORT": "FALSE"}),
            **{f"p_{name}_INPUT": "CASCADE" if name == passed else "DIRECT" for name in "AB"},
            p_USE_MULT="MULTIPLY",
            **{f"p_{name}REG": count for name, count in number.items()},
            # Of two registers the first one's goes to the cascade.
            **{f"p_{name}CASCREG": count - (count > 1) for name, count in number.items()},
            # Unused, but at 0 Yosys takes a register away from port A, and sums come out wrong.
            p_CREG=stages.c,
            **{f"p_{name}REG": count for name, count in _REGISTERS.items()},
            p_IS_OPMODE_INVERTED=Const(stages.z_inverted << 4, bits),
            **{f"i_{name}": value for name, value in inputs.items()},
            **{f"o_{name}": value for name, value in outputs.items()},
        )
        return outputs
