"""Requantiser: columns of integer sums to codes of a few bits, by a run-time dyadic scale."""

from typing import ClassVar

from amaranth import Cat, Module, Signal, Value
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out

from golden.check import Choice, Integer, Parameter, check_fields
from golden.npe.requantiser import RequantiserSpec
from hw.arith.adder import ADDER
from hw.arith.product import ENCODINGS, encode
from hw.lib.shared_module import SharedModule
from hw.npe.rounding.requantise_column import RequantiseColumn

__all__ = ["CodeRow", "Requantisation", "Requantiser", "SumRow"]


class SumRow(data.StructLayout):
    """Row of n sums; ``last`` ends the tile."""

    def __init__(self, spec: RequantiserSpec):
        super().__init__({"data": spec.n * spec.width, "last": 1})


class CodeRow(data.StructLayout):
    """Row of n codes; ``last`` ends the tile."""

    def __init__(self, spec: RequantiserSpec):
        super().__init__({"data": spec.n * spec.out_width, "last": 1})


class Requantisation(data.StructLayout):
    """Scale, zero point, bias and limits; per-column values with column 0 lowest."""

    def __init__(self, spec: RequantiserSpec):
        super().__init__({
            "multiplier": spec.scales * spec.multiplier_width,
            "shift": spec.scales * spec.shift_format.width,
            "zero_point": spec.scales * spec.out_width,
            **({"bias": spec.n * spec.width} if spec.bias else {}),
            "low": spec.out_width,
            "high": spec.out_width,
            "relu": 1,
        })


class Requantiser(wiring.Component):
    """Requantises rows of sums, one row per cycle.

    Computes :func:`golden.npe.requantiser.requantiser`, exactly.

    Latency, row of sums to row of codes: :attr:`latency` cycles. Throughput: one row of n sums
    per cycle. Stalls: ``o.ready`` and ``i_config.valid`` reach ``i.ready`` combinationally. No row
    is taken before the first configuration, which applies to the tiles that start after it. A new
    one is taken between tiles, before a waiting row, when all codes but those on ``o`` have left:
    `pipeline` cycles without a row.

    Parameters
    ----------
    spec : RequantiserSpec
        What: rows, widths and rounding.
    encoding : str
        How: multiplier, see :func:`hw.arith.product.product_planes`; the scale is recoded.
    adder : str
        How: carry propagation, see :func:`hw.arith.adder.resolve`.
    pipeline : int
        How: registers between sums and codes.

    Members
    -------
    i_config : In(stream)
        :class:`Requantisation`; ``low`` must be at most ``high``, and with ``relu`` the zero point
        too.
    i : In(stream)
        :class:`SumRow`, two's complement.
    o : Out(stream)
        :class:`CodeRow`, two's complement if ``out_signed``.

    Examples
    --------
    >>> unit = Requantiser(RequantiserSpec(n=4, width=32))
    >>> unit.i.payload.shape(), unit.o.payload.shape()  # sums of 32 bits, codes of 8
    (StructLayout({'data': 128, 'last': 1}), StructLayout({'data': 32, 'last': 1}))
    >>> unit.latency
    3
    """

    SPEC = RequantiserSpec
    SUMMARY = "integer sums to codes by dyadic scales: gemmlowp's or HAWQ's rounding, ReLU"
    BENCH = "tb_requantiser"
    EVIDENCE = (
        "cocotb against numpy: every shift, ties, corners, stalls, resets",
        "formal proof of rounding",
        "mutants",
        "netlist simulation",
    )

    BUILD: ClassVar[dict[str, Parameter]] = {
        "encoding": Choice(
            "multiplier: Booth rows, EN-T rows, AND array, or the tool's",
            "booth",
            ENCODINGS,
            on_device="operator",
        ),
        "adder": ADDER,
        "pipeline": Integer("registers between sums and codes", 2, 0, 6),
    }

    i_config: stream.Interface
    i: stream.Interface
    o: stream.Interface

    def __init__(
        self,
        spec: RequantiserSpec,
        *,
        encoding: str = "booth",
        adder: str = "sklansky",
        pipeline: int = 2,
    ):
        if not isinstance(spec, RequantiserSpec):
            raise TypeError(f"spec must be a RequantiserSpec, not {spec!r}")
        check_fields(self.BUILD, {"encoding": encoding, "adder": adder, "pipeline": pipeline})
        self.spec = spec
        self.column = RequantiseColumn(spec, encoding=encoding, adder=adder, pipeline=pipeline)
        self.pipeline = pipeline
        super().__init__({
            "i_config": In(stream.Signature(Requantisation(spec))),
            "i": In(stream.Signature(SumRow(spec))),
            "o": Out(stream.Signature(CodeRow(spec))),
        })

    @property
    def shared_modules(self) -> tuple[SharedModule, ...]:
        """The one column."""
        return (self.column,)

    @property
    def latency(self) -> int:
        """Cycles from a row of sums to its codes."""
        return 1 + self.pipeline

    @property
    def operations_per_cycle(self) -> int:
        """A multiplication and an addition (of the zero point) per column."""
        return 2 * self.spec.n

    def elaborate(self, platform):
        m = Module()
        spec = self.spec
        known, inside = Signal(), Signal()
        valid, last = Signal(self.latency), Signal(self.latency, reset_less=True)
        en, taken = Signal(), Signal()
        layout = Requantisation(spec)
        held = data.View(layout, Signal(layout.size, name="held", reset_less=True))
        m.d.comb += [
            en.eq(~self.o.valid | self.o.ready),
            self.i_config.ready.eq(~inside & (valid[:-1] == 0)),
            self.i.ready.eq(en & known & (inside | ~self.i_config.valid)),
            taken.eq(self.i.valid & self.i.ready),
            self.o.valid.eq(valid[-1]),
            self.o.payload.last.eq(last[-1]),
        ]
        with m.If(en):
            m.d.sync += [valid.eq(Cat(taken, valid)), last.eq(Cat(self.i.payload.last, last))]
        with m.If(taken):
            m.d.sync += inside.eq(~self.i.payload.last)
        with m.If(self.i_config.valid & self.i_config.ready):
            m.d.sync += [held.eq(self.i_config.payload), known.eq(1)]

        multipliers = [
            encode(
                m,
                _part(held.multiplier, scale, spec.scales),
                spec.multiplier_format,
                self.column.encoding,
            )
            for scale in range(spec.scales)
        ]
        for number in range(spec.n):
            scale = number if spec.per_column else 0
            m.submodules[f"column{number}"] = column = self.column.place()
            m.d.comb += [
                column.en.eq(en),
                column.i.eq(_part(self.i.payload.data, number, spec.n)),
                column.i_multiplier.eq(multipliers[scale]),
                column.i_shift.eq(_part(held.shift, scale, spec.scales)),
                column.i_zero_point.eq(_part(held.zero_point, scale, spec.scales)),
                column.i_low.eq(held.low),
                column.i_high.eq(held.high),
                column.i_relu.eq(held.relu),
                _part(self.o.payload.data, number, spec.n).eq(column.o),
            ]
            if spec.bias:
                m.d.comb += column.i_bias.eq(_part(held.bias, number, spec.n))
        return m


def _part(bits: Value, number: int, count: int) -> Value:
    """Split into `count` equal parts; return one."""
    return bits.word_select(number, len(bits) // count)
