"""Vector unit: softmax, norms, gates, sums and products of rows, several values at a time."""

from collections.abc import Sequence
from typing import ClassVar, NamedTuple

from amaranth import C, Cat, Module, Mux, Signal, Value
from amaranth.lib import stream, wiring
from amaranth.lib.wiring import In, Out

from golden.check import Choice, Parameter, check_fields
from golden.npe.vector import VectorUnitSpec
from hw.arith.adder import ADDER
from hw.npe.activations.row_banks import RowBanks
from hw.npe.activations.row_beats import CodeBeat, ValueBeat
from hw.npe.activations.row_connections import connect_rows, held_scale, is_norm, take_sums
from hw.npe.activations.row_elements import RowElements
from hw.npe.activations.row_lane import RowStep
from hw.npe.activations.row_scale import RowScale
from hw.npe.activations.row_schedule import RowSchedule
from hw.npe.activations.summed_lanes import SummedLanes
from hw.npe.activations.summed_step import SummedStep
from hw.npe.activations.summed_table import SummedTable
from hw.npe.activations.summed_widths import SummedWidths

__all__ = ["CodeBeat", "ValueBeat", "VectorUnit"]


class _Pass(NamedTuple):
    """What lanes do with a beat: that it moves, is of a norm; values, which are valid, a carry."""

    move: Value
    norm: Value
    values: list[Value]
    keep: list[Value]
    carried: Value


class VectorUnit(wiring.Component):
    """Computes softmax, norms, GELU, SiLU, sigmoid of rows of integers, sums or products of two.

    Or requantises a row as it is: scales it.

    Computes :func:`golden.npe.vector_unit.vector_unit`, exactly. A row is stored in one of two
    banks. Of a softmax and of norms it is read once for each of its sums (the exponentials; the
    squares and, of a layer norm, the values), and once more to be scaled by one reciprocal, which
    :class:`~hw.npe.activations.row_scale.RowScale` finds while the next row is summed up. Gates,
    sums and products are requantised in one pass, in which each beat is read twice: of gates, for
    the divisor and when it has been divided by; of two operands, that of either. Two operands
    share a bank. All passes use one multiplier per lane, and one adder or one shifter.

    Latency, a row of one beat to its codes: :attr:`latency` cycles or more, as the values are.
    Throughput: :func:`golden.npe.vector_unit.cycles`; of rows of many beats, beats + 7 cycles for
    each pass of a softmax or a norm, 2 cycles a beat of a sum, 3 of a product, 1 of a scale, and
    ``spec.period``, 6 or more, of a gate. The input stalls while both
    banks are full. Stalls: ``o.ready`` does not reach ``i.ready`` combinationally. Rounding: to
    the nearest, of a softmax with errors carried along the row; codes saturate. A row of an
    operation that is not built is refused: its codes and the exponent are zeros, and ``refused``
    is set.

    Parameters
    ----------
    spec : VectorUnitSpec
        What: operations, lanes, widths, length of rows.
    adder : str
        How: carry propagation, see :func:`hw.arith.adder.resolve`.
    exponential : str
        How: exponentials of lanes, as logic or in tables, one for two lanes.

    Members
    -------
    i : In(stream)
        :class:`ValueBeat`, two's complement; all beats but a row's last are full.
    o : Out(stream)
        :class:`CodeBeat`, unsigned for a softmax, else two's complement.

    Examples
    --------
    >>> unit = VectorUnit(VectorUnitSpec(operations="softmax,add", lanes=4, length=64))
    >>> unit.o.payload.shape()  # the codes of four lanes
    StructLayout({'data': 32, 'exponent': 6, 'refused': 1, 'last': 1})
    >>> unit.latency
    13
    """

    SPEC = VectorUnitSpec
    SUMMARY = (
        "softmax, norms, GELU, SiLU of rows of up to 4,096 values; sums and products of two; "
        "several values per cycle"
    )
    BENCH = "tb_vector_unit"
    EVIDENCE = (
        "cocotb against numpy: all operations, rows of all kinds, stalls, resets, cycles",
        "netlist simulation",
    )

    COUNTED: ClassVar[dict[str, int]] = {
        "softmax": 4,  # difference, power, sum, product
        "layer_norm": 4,  # difference, square, sum, product
        "rms_norm": 3,  # square, sum, product
        # Product, power, sum, quotient, product.
        **dict.fromkeys(("gelu", "silu", "sigmoid"), 5),
        "add": 2,  # sum, product
        "multiply": 2,  # products
        "scale": 1,  # product
        "exps": 3,  # product, power, sum
        "divide": 1,  # product
    }
    """Operations on each value, by which the throughput is stated."""

    BUILD: ClassVar[dict[str, Parameter]] = {
        "adder": ADDER,
        "exponential": Choice(
            "exponentials of a softmax: logic; or tables in block memories, of values of up to"
            " 8 bits, where nothing is requantised",
            "logic",
            ("logic", "table"),
            on_device="table",
        ),
    }

    i: stream.Interface
    o: stream.Interface

    shared_modules = ()

    def __init__(
        self, spec: VectorUnitSpec, *, adder: str = "sklansky", exponential: str = "logic"
    ):
        if not isinstance(spec, VectorUnitSpec):
            raise TypeError(f"spec must be a VectorUnitSpec, not {spec!r}")
        check_fields(self.BUILD, {"adder": adder, "exponential": exponential})
        if exponential == "table" and (
            "softmax" not in spec.built or spec.scales or spec.width > SummedTable.WIDTH
        ):
            raise ValueError(
                "exponential must be 'logic' but of softmax, alone or with norms, of values of up"
                f" to {SummedTable.WIDTH} bits, not {exponential!r}"
            )
        self.spec = spec
        self.adder = adder
        self.exponential = exponential
        super().__init__({
            "i": In(stream.Signature(ValueBeat(spec))),
            "o": Out(stream.Signature(CodeBeat(spec))),
        })
        self.norms = spec.builds(spec.NORMS)
        self.softmaxes = "softmax" in spec.built

    @property
    def latency(self) -> int:
        """Least cycles from a row of one beat to its codes."""
        least = {"softmax": 21 + self.spec.magnitude_width, "layer_norm": 27, "rms_norm": 20}
        least |= {"add": 13, "multiply": 15, "scale": 11, "exps": 11}
        least["divide"] = 12 + self.spec.reciprocal_width - self.spec.signed
        least |= {gate: 16 + self.spec.period(gate) for gate in self.spec.GATES}
        return min(least[operation] for operation in self.spec.built)

    @property
    def operations_per_cycle(self) -> float:
        """Sustained rate of the slowest built operation, on long rows.

        Operations on a value are counted as in :attr:`COUNTED`, cycles by ``spec.row_cycles``.
        """
        spec = self.spec
        return min(
            self.COUNTED[name] * spec.most(name) / spec.row_cycles(name) for name in spec.built
        )

    def _scale(self) -> RowScale:
        """Return the unit that computes the scales of rows, for the sums that are built."""
        spec, count = self.spec, self.spec.length.bit_length()
        # At most `length` exponentials, or squares; a sum of values has a sign.
        width = spec.width
        if self.softmaxes:
            width = spec.exponential_width
        width += spec.builds(spec.SHARES)  # twice a divisor
        if self.norms:
            width = max(width, 2 * spec.width - 2)
        if spec.scales:
            return RowScale(spec, width + count)
        widths = SummedWidths(spec)
        return RowScale(spec, width + count, most=widths.places[-1], fine=widths.fine, negated=True)

    def elaborate(self, platform):
        m = Module()
        spec = self.spec
        m.submodules.banks = banks = RowBanks(spec)
        wiring.connect(m, wiring.flipped(self.i), banks.i)
        m.submodules.schedule = schedule = RowSchedule(spec)
        m.submodules.row = row = self._scale()
        # Sums of a pass; of a softmax's codes, what is left of those before.
        sum_width = max(len(row.sum), spec.carry_width)
        summed, so_far = Signal(sum_width), Signal(sum_width, reset_less=True)
        move, norm = Signal(), Signal()
        now = schedule.now
        m.d.comb += [
            move.eq(~self.o.valid | self.o.ready),
            banks.move.eq(move),
            norm.eq(is_norm(spec, now.operation)),
        ]
        connect_rows(m, spec, banks, schedule, row)
        # Stages: the memory's output, d: difference, a: operand and factor, p: product, s: shifted,
        # t: summed up.
        valid, last = Signal(spec.PASS), Signal(spec.PASS, reset_less=True)
        elements: RowElements | None = None
        if spec.scales:
            elements = RowElements(m, spec, now, banks, move, valid, last, self.adder)
            m.d.comb += banks.operation.eq(now.operation)
        else:
            with m.If(move):
                m.d.sync += [valid.eq(Cat(banks.reading, valid)), last.eq(Cat(banks.last, last))]
        lanes = range(spec.lanes)
        in_row = [~last[0] | (lane <= now.count) if lane else C(1, 1) for lane in lanes]
        keep = [~schedule.refused & inside for inside in in_row]
        values = [banks.o_data.word_select(lane, spec.width) for lane in lanes]
        step = _Pass(move, norm, values, keep, so_far[: spec.carry_width])
        fulls: Sequence[Value] = ()
        emits: Value = valid[-1]
        fraction: Value = C(spec.norm_fraction)
        if elements is None:
            codes, added, fulls = self._sum(m, schedule, row, step)
        else:
            codes, added = self._requantise(m, schedule, row, step, elements)
            codes, emits = elements.masked(codes, last[-1]), elements.emits
            fraction = Mux(elements.direct, 0, fraction)
        m.d.comb += schedule.done.eq(move & valid[-1] & last[-1])
        data = self._offered(m)
        with m.If(move & emits):
            m.d.sync += so_far.eq(summed if elements is None else elements.carried(summed))
            with m.If(schedule.scaling):
                self._offer(m, data, codes, fulls)
                m.d.sync += self.o.payload.last.eq(last[-1])
                exponent: Value = Mux(norm, fraction, row.shift)
                if elements is not None:
                    exponent = elements.exponent(exponent)
                m.d.sync += self.o.payload.exponent.eq(Mux(schedule.refused, 0, exponent))
                m.d.sync += self.o.payload.refused.eq(schedule.refused)
        m.d.comb += summed.eq(so_far.as_signed() + added.as_signed())
        with m.If(schedule.start):
            m.d.sync += so_far.eq(schedule.final << spec.carry_width - 1)
        take_sums(m, spec, schedule, row, summed)
        return m

    def _sum(
        self, m: Module, schedule: RowSchedule, row: RowScale, step: _Pass
    ) -> tuple[list[Value], Value, list[Value]]:
        """Work on a beat in lanes without requantisation; return codes, sums, and full codes."""
        lanes = SummedLanes(
            m,
            self.spec,
            SummedStep(
                move=step.move,
                norm=step.norm,
                scaling=schedule.scaling,
                squaring=schedule.squaring,
                top=schedule.now.top,
                mean=row.mean,
                factor=row.factor,
                shift=row.shift,
            ),
            self.adder,
            table=self.exponential == "table",
        )
        return lanes.add(m, step.values, step.keep, step.carried)

    def _requantise(
        self,
        m: Module,
        schedule: RowSchedule,
        row: RowScale,
        step: _Pass,
        elements: RowElements,
    ) -> tuple[list[Value], Value]:
        """Work on a beat in lanes that requantise, too; return codes and sums."""
        spec, norm, scaling = self.spec, step.norm, schedule.scaling
        factor, shift = elements.chosen(*held_scale(m, spec, schedule, row), norm, scaling)
        mean, offset = Signal(len(row.mean)), Signal(spec.width)
        top = schedule.now.top
        m.d.comb += [
            mean.eq(Mux(norm & scaling & ~elements.direct, row.mean, 0)),
            offset.eq(Mux(norm | elements.direct, mean[spec.MEAN_FRACTION :], top)),
        ]
        blocks = elements.blocks
        if blocks is not None:
            with m.If(elements.exps):
                m.d.comb += offset.eq(-1)  # all bits of values are inverted
        lane_step = RowStep(
            move=step.move,
            norm=norm,
            offset=offset,
            low=mean[: spec.MEAN_FRACTION],
            factor=factor,
            shift=shift,
            square=norm & schedule.squaring & ~scaling,
            elements=elements.elements,
            shares=None if blocks is None else elements.exps,
            block_octaves=None if blocks is None else blocks.octaves,
        )
        return elements.lanes(m, step.values, step.keep, step.carried, lane_step)

    def _offered(self, m: Module) -> Signal:
        """Make the register of a beat's codes, which leave when they are taken."""
        spec = self.spec
        # Flip-flops that are set begin set.
        ones = 0 if spec.scales else (1 << spec.lanes * spec.out_width) - 1
        data = Signal(spec.lanes * spec.out_width, name="data", reset_less=True, init=ones)
        m.d.comb += self.o.payload.data.eq(data)
        with m.If(self.o.ready):
            m.d.sync += self.o.valid.eq(0)
        return data

    def _offer(self, m: Module, data: Signal, codes: list[Value], fulls: Sequence[Value]) -> None:
        """Offer codes of a beat; those that are full have all bits but the sign set."""
        m.d.sync += [self.o.valid.eq(1), data.eq(Cat(codes))]
        for lane, full in enumerate(fulls):
            with m.If(full):
                m.d.sync += data.word_select(lane, self.spec.out_width)[:-1].eq(-1)
