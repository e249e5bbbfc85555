"""Vector unit: softmax and norms of rows, several values per cycle."""

from typing import ClassVar

from amaranth import C, Cat, Module, Mux, Signal, Value, signed
from amaranth.lib import data, stream, wiring
from amaranth.lib.memory import Memory
from amaranth.lib.wiring import In, Out

from golden.check import Parameter, check_fields
from golden.npe.vector import VectorUnitSpec
from hw.arith.adder import ADDER
from hw.npe.activations.row_exponential import exp_parts
from hw.npe.activations.row_scale import RowScale
from hw.npe.rounding.requantise_column import code, floor_shift

__all__ = ["CodeBeat", "ValueBeat", "VectorUnit"]


class ValueBeat(data.StructLayout):
    """Values of a row; of the last beat, ``count`` + 1, the lowest; ``operation`` is the row's.

    Operations are numbers: 0 softmax, 1 layer norm, 2 RMS norm. That of the last beat counts.
    """

    def __init__(self, spec: VectorUnitSpec):
        super().__init__({
            "data": spec.lanes * spec.width,
            "operation": 3,
            "count": range(max(spec.lanes, 2)),
            "last": 1,
        })


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

    Computes :func:`golden.npe.vector_unit.vector_unit`, exactly. A row is stored, then read once
    for each of its sums (the exponentials; the squares and, of a layer norm, the values), and once
    more to be scaled by one reciprocal, which :class:`~hw.npe.activations.row_scale.RowScale`
    finds. All passes use one multiplier and one shifter per lane.

    Latency, a row of one beat to its codes: :attr:`latency` cycles or more, as the values are.
    Throughput: :func:`golden.npe.vector_unit.cycles` for a row; the input stalls from the last
    beat of a row until the last of its codes are computed. Stalls: ``o.ready`` does not reach
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

    HOWS: ClassVar[dict[str, Parameter]] = {
        "adder": ADDER,
    }

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
        self.numbers = [spec.OPERATIONS.index(operation) for operation in operations]
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
        # A layer norm reads a row three times, and spends the most cycles on its scale.
        slow = 4 * beats + 8 * spec.width + 120
        return 4 * spec.length / (slow if self.norms else 3 * beats + 30 + spec.magnitude_width)

    def elaborate(self, platform):
        m = Module()
        spec, layout = self.spec, self.i.payload
        beats = -(-spec.length // spec.lanes)
        memory: Memory[int, Value] = Memory(shape=len(layout.data), depth=beats, init=[])
        m.submodules.memory = memory
        write, read = memory.write_port(), memory.read_port()
        at, end = Signal(range(beats)), Signal(range(beats), reset_less=True)
        operation = Signal(3, reset_less=True)
        count = Signal(len(layout.count), reset_less=True)
        full, first, move = Signal(), Signal(init=1), Signal()
        reading, squaring, scaling = Signal(), Signal(), Signal()
        top = Signal(spec.width, reset_less=True)
        norm, refused = Signal(), Signal(reset_less=True)
        sum_width = self.value_width + spec.length.bit_length()
        total = Signal(sum_width, reset_less=True)
        squares = Signal(sum_width, reset_less=True)
        carried = Signal(spec.carry_width, reset_less=True)
        m.submodules.row = row = RowScale(spec, sum_width)
        m.d.comb += [
            self.i.ready.eq(~full),
            move.eq(~self.o.valid | self.o.ready),
            norm.eq((operation != 0) if self.softmaxes else 1),
            write.en.eq(self.i.valid & ~full),
            write.addr.eq(at), write.data.eq(layout.data),
            read.en.eq(move), read.addr.eq(at),
            row.norm.eq(norm if self.norms else 0), row.centred.eq(operation == 1),
            row.total.eq(total), row.squares.eq(squares),
            row.count.eq(end * spec.lanes + count + 1),
        ]  # fmt: skip
        built = layout.operation.matches(*self.numbers)
        with m.If(write.en):
            m.d.sync += [at.eq(at + 1), first.eq(0), operation.eq(layout.operation)]
            before = Mux(first, spec.in_format.low, top.as_signed())
            m.d.sync += top.eq(self._greatest(m, before))
            with m.If(layout.last):
                m.d.sync += [at.eq(0), end.eq(at), count.eq(layout.count), first.eq(1)]
                m.d.sync += [full.eq(1), reading.eq(1), total.eq(0), squares.eq(0)]
                m.d.sync += [refused.eq(~built), scaling.eq(~built)]
                m.d.sync += squaring.eq(layout.operation == 2)

        # Stages: the memory's output, d: difference, a: operand and factor, p: product, s: shifted.
        valid, last = Signal(5), Signal(5, reset_less=True)
        with m.If(move):
            m.d.sync += [valid.eq(Cat(reading, valid)), last.eq(Cat(at == end, last))]
            with m.If(reading):
                m.d.sync += at.eq(at + 1)
                with m.If(at == end):
                    m.d.sync += [at.eq(0), reading.eq(0)]

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
                m, lane, move, read.data.word_select(lane, spec.width), keep[lane], norm,
                offset, low, factor, norm & squaring & ~scaling, shift,
            )
            for lane in range(spec.lanes)
        ]  # fmt: skip
        added = sum((value.as_signed() for value, _, _ in lanes[1:]), lanes[0][0].as_signed())
        codes, after = self._probabilities(m, carried, [value for value, _, _ in lanes])
        if self.norms:
            codes = [
                Mux(norm, self._rounded(m, lane), probability)
                for lane, probability in zip(lanes, codes, strict=True)
            ]

        with m.If(self.o.ready):
            m.d.sync += self.o.valid.eq(0)
        done = Signal()
        m.d.comb += done.eq(move & valid[-1] & last[-1])
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
        waiting = Signal()
        with m.If(done):
            with m.If(scaling):
                m.d.sync += full.eq(0)
            with m.Elif(norm & ~squaring):
                m.d.sync += [squaring.eq(1), reading.eq(1)]
            with m.Else():
                m.d.sync += waiting.eq(1)
        started = Signal()
        m.d.comb += row.start.eq(waiting & ~started)
        with m.If(waiting):
            m.d.sync += started.eq(1)
            with m.If(~row.busy):
                m.d.sync += [waiting.eq(0), started.eq(0), scaling.eq(1), reading.eq(1)]
                m.d.sync += carried.eq(1 << spec.carry_width - 1)
        return m

    def _greatest(self, m: Module, before: Value) -> Value:
        """Find the greatest value of a beat and of those before it."""
        spec, payload = self.spec, self.i.payload
        values: list[Value] = [before]
        for lane in range(spec.lanes):
            value = payload.data.word_select(lane, spec.width).as_signed()
            beyond = payload.last & (lane > payload.count)
            values.append(Mux(beyond, spec.in_format.low, value) if lane else value)
        level = 0
        while len(values) > 1:
            pairs = []
            for number, (a, b) in enumerate(zip(values[::2], values[1::2], strict=False)):
                most = Signal(signed(spec.width), name=f"most{level}_{number}")
                m.d.comb += most.eq(Mux(a > b, a, b))
                pairs.append(most)
            values = pairs + values[len(pairs) * 2 :]
            level += 1
        return values[0]

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

    def _probabilities(
        self, m: Module, carried: Value, products: list[Value]
    ) -> tuple[list[Value], Value]:
        """Round products, each with what is left of the one before."""
        spec = self.spec
        codes: list[Value] = []
        for lane, product in enumerate(products):
            grown = Signal(spec.exponential_width + 2, name=f"grown{lane}")
            m.d.comb += grown.eq(product[: spec.exponential_width + 1] + carried)
            carried, whole = grown[: spec.carry_width], grown[spec.carry_width :]
            most = whole[spec.magnitude_width].replicate(spec.magnitude_width)
            codes.append(Cat(whole[: spec.magnitude_width] | most, C(0, int(spec.signed))))
        return codes, carried

    def _rounded(self, m: Module, lane: tuple[Value, Value, Value]) -> Value:
        """Round a shifted product as the requantiser does."""
        floor, half, over = lane
        spec = self.spec.norm_spec
        sign, high = over[1], floor[spec.out_width :]
        beyond = over[0] | Mux(sign, ~high.all(), high.any())
        kept = Mux(beyond, (~sign).replicate(spec.out_width), floor[: spec.out_width])
        low, top = (C(limit % (1 << spec.out_width), spec.out_width)
                    for limit in (spec.out_format.low, spec.out_format.high))  # fmt: skip
        zero = C(0, spec.out_width)
        return code(m, spec, Cat(half, kept, sign), zero, low, top, C(0, 1), self.adder)
