"""Vector unit: softmax and norms of rows, several values per cycle."""

from typing import ClassVar

from amaranth import C, Cat, Module, Mux, Signal, Value
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out

from golden.check import Parameter, check_fields
from golden.npe.vector import VectorUnitSpec
from hw.arith.adder import ADDER
from hw.npe.activations.row_banks import RowBanks, ValueBeat
from hw.npe.activations.row_codes import probabilities, rounded
from hw.npe.activations.row_exponential import exp_parts
from hw.npe.activations.row_scale import RowScale
from hw.npe.activations.row_schedule import RowSchedule
from hw.npe.rounding.requantise_column import floor_shift

__all__ = ["CodeBeat", "ValueBeat", "VectorUnit"]


class CodeBeat(data.StructLayout):
    """Codes of a row, zeros beyond its end; the exponent; whether the operation is not built."""

    def __init__(self, spec: VectorUnitSpec):
        super().__init__({
            "data": spec.lanes * spec.out_width,
            "exponent": 6,
            "refused": 1,
            "last": 1,
        })


class VectorUnit(wiring.Component):
    """Computes softmax, layer norm or RMS norm of rows of integers.

    Computes :func:`golden.npe.vector_unit.vector_unit`, exactly. A row is stored in one of two
    banks, then read once for each of its sums (the exponentials; the squares and, of a layer norm,
    the values), and once more to be scaled by one reciprocal, which
    :class:`~hw.npe.activations.row_scale.RowScale` finds while the next row is summed up. All
    passes use one multiplier and one shifter per lane.

    Latency, a row of one beat to its codes: :attr:`latency` cycles or more, as the values are.
    Throughput: :func:`golden.npe.vector_unit.cycles`; of rows of many beats, beats + 6 cycles for
    each pass. The input stalls while both banks are full. Stalls: ``o.ready`` does not reach
    ``i.ready`` combinationally. Rounding: to the nearest, of a softmax with errors carried along
    the row; codes saturate. A row of an operation that is not built is refused: its codes and the
    exponent are zeros, and ``refused`` is set.

    Parameters
    ----------
    spec : VectorUnitSpec
        What: operations, lanes, widths, length of rows.
    adder : str
        How: carry propagation, see :func:`hw.arith.adder.resolve`.

    Members
    -------
    i : In(stream)
        :class:`ValueBeat`, two's complement; all beats but a row's last are full.
    o : Out(stream)
        :class:`CodeBeat`, unsigned for a softmax, else two's complement.
    """

    SPEC = VectorUnitSpec
    SUMMARY = "softmax and norms of rows of up to 4,096 values, several values per cycle"
    BENCH = "tb_vector_unit"
    EVIDENCE = (
        "cocotb against numpy: all operations, rows of all kinds, stalls, resets, cycles",
        "netlist simulation",
    )

    HOWS: ClassVar[dict[str, Parameter]] = {"adder": ADDER}

    i: stream.Interface
    o: stream.Interface

    shared_modules = ()

    def __init__(self, spec: VectorUnitSpec, *, adder: str = "sklansky"):
        if not isinstance(spec, VectorUnitSpec):
            raise TypeError(f"spec must be a VectorUnitSpec, not {spec!r}")
        check_fields(self.HOWS, {"adder": adder})
        self.spec = spec
        self.adder = adder
        super().__init__({
            "i": In(stream.Signature(ValueBeat(spec))),
            "o": Out(stream.Signature(CodeBeat(spec))),
        })
        operations = spec.operations.split(",")
        self.norms = operations != ["softmax"]
        self.softmaxes = operations[0] == "softmax"
        # Exponentials, shifted until nothing is left of them; a sign.
        self.value_width = spec.exponential_width + 2
        self.factor_width = spec.magnitude_width + 5
        self.operand_width = spec.carry_width - 2
        most = spec.exponential_width + 1
        if self.norms:
            # Squares; differences from a mean; shifts, of the largest deviation.
            self.value_width = max(self.value_width, 2 * spec.width)
            self.factor_width = max(spec.reciprocal_width, spec.width) + 1
            self.operand_width = spec.width + 1 + spec.MEAN_FRACTION
            deviation = spec.reciprocal_width + spec.width + spec.MEAN_FRACTION
            most = max(most, deviation - spec.norm_fraction)
        self.shift_width = most.bit_length()

    @property
    def latency(self) -> int:
        """Least cycles from a row of one beat to its codes."""
        least = {"softmax": 19 + self.spec.magnitude_width, "layer_norm": 24, "rms_norm": 18}
        return min(least[operation] for operation in self.spec.operations.split(","))

    @property
    def operations_per_cycle(self) -> float:
        """Sustained in rows of `length`: a subtraction, power, addition and product per value."""
        spec = self.spec
        beats = -(-spec.length // spec.lanes)
        # A layer norm reads a row three times, a scale is found while another row is summed up.
        passes = 3 if "layer_norm" in spec.operations else 2
        scale = 8 * spec.width + 120 if self.norms else 2 * spec.magnitude_width + 12
        return 4 * spec.length / (beats + 6 + max((passes - 1) * (beats + 6), scale))

    def elaborate(self, platform):
        m = Module()
        spec = self.spec
        m.submodules.banks = banks = RowBanks(spec)
        wiring.connect(m, wiring.flipped(self.i), banks.i)
        m.submodules.schedule = schedule = RowSchedule(spec)
        sum_width = self.value_width + spec.length.bit_length()
        m.submodules.row = row = RowScale(spec, sum_width)
        total = Signal(sum_width, reset_less=True)
        squares = Signal(sum_width, reset_less=True)
        carried = Signal(spec.carry_width, reset_less=True)
        move, norm = Signal(), Signal()
        now, found = schedule.now, schedule.o_found
        scaling, squaring, refused = schedule.scaling, schedule.squaring, schedule.refused
        top, count = now.top, now.count

        def is_norm(operation: Value) -> Value:
            return (operation != 0) & int(self.norms) if self.softmaxes else C(1, 1)

        m.d.comb += [
            move.eq(~self.o.valid | self.o.ready), banks.move.eq(move),
            norm.eq(is_norm(now.operation)),
            schedule.full.eq(banks.full), schedule.busy.eq(row.busy),
            schedule.i_row0.eq(banks.o_row0), schedule.i_row1.eq(banks.o_row1),
            banks.start.eq(schedule.start), banks.bank.eq(schedule.bank),
            banks.final.eq(schedule.final), row.start.eq(schedule.begin),
            row.norm.eq(is_norm(found.operation)), row.centred.eq(found.operation == 1),
            row.total.eq(total), row.squares.eq(squares),
            row.count.eq(found.end * spec.lanes + found.count + 1),
        ]  # fmt: skip
        with m.If(schedule.start):
            with m.If(schedule.final):
                m.d.sync += carried.eq(1 << spec.carry_width - 1)
            with m.Elif(~schedule.done):
                m.d.sync += [total.eq(0), squares.eq(0)]

        # Stages: the memory's output, d: difference, a: operand and factor, p: product, s: shifted.
        valid, last = Signal(5), Signal(5, reset_less=True)
        with m.If(move):
            m.d.sync += [valid.eq(Cat(banks.reading, valid)), last.eq(Cat(banks.last, last))]

        mean = row.mean.as_signed()
        plain = norm & ~scaling
        offset = Signal(spec.width)
        m.d.comb += offset.eq(Mux(plain, 0, Mux(norm, mean >> spec.MEAN_FRACTION, top)))
        low = Signal(spec.MEAN_FRACTION)
        m.d.comb += low.eq(Mux(plain, 0, mean[: spec.MEAN_FRACTION]))
        shift = Signal(self.shift_width)
        m.d.comb += shift.eq(Mux(scaling, row.shift, spec.MEAN_FRACTION))
        factor = Signal(self.factor_width)
        one = 1 << spec.magnitude_width + 3
        m.d.comb += factor.eq(Mux(scaling, Mux(norm, -row.factor, row.factor), Mux(norm, -1, one)))
        keep = [
            ~refused & (~last[0] | (lane <= count) if lane else C(1, 1))
            for lane in range(spec.lanes)
        ]
        lanes = [
            self._lane(
                m, lane, move, banks.o_data.word_select(lane, spec.width), keep[lane], norm,
                offset, low, factor, norm & squaring & ~scaling, shift,
            )
            for lane in range(spec.lanes)
        ]  # fmt: skip
        added = sum((value.as_signed() for value, _, _ in lanes[1:]), lanes[0][0].as_signed())
        codes, after = probabilities(m, spec, carried, [value for value, _, _ in lanes])
        if self.norms:
            codes = [
                Mux(norm, rounded(m, spec, lane, self.adder), probability)
                for lane, probability in zip(lanes, codes, strict=True)
            ]

        with m.If(self.o.ready):
            m.d.sync += self.o.valid.eq(0)
        m.d.comb += schedule.done.eq(move & valid[-1] & last[-1])
        with m.If(move & valid[-1]):
            with m.If(scaling):
                m.d.sync += [self.o.valid.eq(1), self.o.payload.last.eq(last[-1])]
                m.d.sync += [self.o.payload.data.eq(Cat(codes)), carried.eq(after)]
                exponent = Mux(norm, spec.norm_fraction, row.shift)
                m.d.sync += self.o.payload.exponent.eq(Mux(refused, 0, exponent))
                m.d.sync += self.o.payload.refused.eq(refused)
            with m.Elif(squaring):
                m.d.sync += squares.eq(squares + added)
            with m.Else():
                m.d.sync += total.eq(total.as_signed() + added)
        return m

    def _lane(
        self, m: Module, lane: int, move: Value, bits: Value, keep: Value, norm: Value,
        offset: Value, low: Value, factor: Value, square: Value, shift: Value,
    ) -> tuple[Value, Value, Value]:  # fmt: skip
        """Subtract a value, take the exponential, multiply and shift.

        Returns
        -------
        The floor, the bit below it, and whether it overflows; two's complement.
        """
        spec = self.spec

        def held(name: str, width: int, value: Value) -> Signal:
            register = Signal(width, name=f"{name}{lane}", reset_less=True)
            with m.If(move):
                m.d.sync += register.eq(value)
            return register

        below = held("d_below", spec.width + 1, offset.as_signed() - bits.as_signed())
        d_keep = held("d_keep", 1, keep)
        operand_width, shift_width = self.operand_width, self.shift_width
        linear = Cat(low, below) if self.norms else C(0, operand_width)
        mantissa, whole = exp_parts(m, 1 << spec.scale_width, below[: spec.width], self.adder)
        power = Cat(C(0, spec.carry_width - spec.scale_width - 5), mantissa)
        beyond = whole[shift_width:].any() if len(whole) > shift_width else C(0, 1)
        octaves = whole[:shift_width] | beyond.replicate(shift_width)
        a = held("a", operand_width, Mux(norm, linear, power) & d_keep.replicate(operand_width))
        if self.norms:
            factor = Mux(square, below.as_signed(), factor.as_signed())
        a_factor = held("a_factor", self.factor_width, factor)
        a_shift = held("a_shift", shift_width, Mux(norm, shift, octaves))
        width = operand_width + self.factor_width
        p = held("p", width, a.as_signed() * a_factor.as_signed())
        p_shift = held("p_shift", shift_width, a_shift)
        # A probability is not negative, and fits.
        bits = p if self.norms else Cat(p[: spec.exponential_width + 1], C(0, 1))
        floor, half, _, over = floor_shift(m, bits, p_shift, self.value_width)
        return (
            held("s", self.value_width, floor), held("s_half", 1, half),
            held("s_over", 2, Cat(over, p[-1])),
        )  # fmt: skip
