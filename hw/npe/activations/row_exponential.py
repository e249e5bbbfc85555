"""Row memory and shift-based exponential of the integer activations."""

from amaranth import C, Cat, Module, Mux, Signal, Value
from amaranth.lib import data, wiring
from amaranth.lib.memory import Memory
from amaranth.lib.wiring import In, Out

from golden.npe.activation import ActivationSpec
from hw.arith.adder import resolve
from hw.arith.bit_heap import BitHeap
from hw.arith.constant_division import divide_by_constant
from hw.arith.shifter import shift_right

__all__ = [
    "RowExponential",
    "Results",
    "RowMemory",
    "Values",
    "add_saturating",
    "exp_parts",
    "exp_shift",
]


class Values(data.StructLayout):
    """A value; ``last`` ends the row."""

    def __init__(self, spec: ActivationSpec):
        super().__init__({"data": spec.width, "last": 1})


class Results(data.StructLayout):
    """A result; ``last`` ends the row."""

    def __init__(self, spec: ActivationSpec):
        super().__init__({"data": spec.out_format.width, "last": 1})


def exp_parts(
    m: Module, inverse_scale: int, below: Value, adder: str, octaves: int | None = None
) -> tuple[Value, Value]:
    """Split the exponential of a negative integer into a mantissa and a power of two.

    Parameters
    ----------
    m : where the gates go.
    inverse_scale : values of `below` per unit of the exponent.
    below : the integer's magnitude.
    adder : carry propagation, see :func:`hw.arith.adder.resolve`.
    octaves : the most, if there is such a number: beyond, the exponential is 2^-octaves.

    Returns
    -------
    The mantissa, times 2 * inverse_scale, and the octaves.
    """
    # Arithmetic shifts of the negative integer round its magnitude up.
    most = (1 << len(below)) - 1
    most += (most + 1 >> 1) - (most + 15 >> 4)
    turned = _base_two(m, below, most.bit_length(), adder)
    whole, rest = divide_by_constant(m, turned, inverse_scale, most, adder)
    if octaves is not None and most // inverse_scale >= octaves:
        least = whole >= octaves
        whole = Mux(least, octaves, whole)
        rest = Mux(least, 0, rest)
    # Two minus the fraction is a number in 1 .. 2, times twice the lower power of two.
    double = 2 * inverse_scale
    fraction = BitHeap(double.bit_length())
    fraction.constant = double
    for weight, bit in enumerate(rest):
        fraction.add_bit(bit, weight, negative=True)
    line = resolve(m, fraction.compress(m, [2] * fraction.width), adder)
    return line, whole


def _base_two(m: Module, below: Value, width: int, adder: str) -> Value:
    """Change an exponential's base: multiply by 1.4375, rounding parts up."""
    if adder == "operator":
        # In two carry chains: half of three times as much, rounded up, less a sixteenth.
        turned = Signal(width, name="turned")
        grown = Cat(C(1, 1), below) + Cat(C(1, 2), below) >> 2
        none = ~below[:4].any()
        less = Cat(none, ~Cat(below[4:], C(0, width))[:width])
        m.d.comb += turned.eq(Cat(none, grown[:width]) + less >> 1)
        return turned
    heap = BitHeap(width)
    for part in (below, below[1:], below[:1]):
        heap.add_term(list(part), signed=False)
    for weight, bit in enumerate(below[4:]):
        heap.add_bit(bit, weight, negative=True)
    heap.add_bit(below[:4].any(), 0, negative=True)
    return resolve(m, heap.compress(m, [2] * heap.width), adder)


def exp_shift(m: Module, spec: ActivationSpec, below: Value, adder: str) -> Value:
    """Compute the exponential of a negative integer.

    Parameters
    ----------
    m : where the gates go.
    spec : scale and octaves.
    below : the integer's magnitude, as wide as the values.
    adder : carry propagation, see :func:`hw.arith.adder.resolve`.
    """
    line, whole = exp_parts(m, spec.inverse_scale, below, adder, spec.octaves)
    amount = Signal(range(spec.octaves + 1), name="octaves")
    m.d.comb += amount.eq(whole)
    shifted, _ = shift_right(m, Cat(C(0, spec.octaves), line), amount, "power")
    return shifted[1:]


def add_saturating(m: Module, a: Value, b: Value, width: int, adder: str) -> Value:
    """Add two unsigned numbers, saturating at `width` bits."""
    heap = BitHeap(width + 1)
    for term in (a, b):
        heap.add_term(list(term), signed=False)
    total = resolve(m, heap.compress(m, [2] * heap.width), adder)
    return total[:-1] | total[-1].replicate(width)


class RowMemory(wiring.Component):
    """Stores a row and its maximum, and replays the row any number of times.

    Latency: a value is on ``o_data`` in the cycle after ``read``, until the next one. Throughput:
    one value per cycle.

    Parameters
    ----------
    spec : ActivationSpec
        What: width of values and length of rows.
    floor : int
        Lower bound of the maximum.

    Members
    -------
    write, i_data, i_last : In
        Take a value; whether it ends the row.
    read : In(1)
        Fetch the next value, the first one after the last.
    more : Out(1)
        The value that ``read`` fetches is not the row's last.
    o_data, top : Out
        Value fetched, and the row's maximum.
    """

    write: Signal
    i_data: Signal
    i_last: Signal
    read: Signal
    more: Signal
    o_data: Signal
    top: Signal

    def __init__(self, spec: ActivationSpec, floor: int):
        self.spec = spec
        self.floor = floor
        super().__init__({
            "write": In(1),
            "i_data": In(spec.width),
            "i_last": In(1),
            "read": In(1),
            "more": Out(1),
            "o_data": Out(spec.width),
            "top": Out(spec.width),
        })

    def elaborate(self, platform):
        m = Module()
        spec = self.spec
        memory: Memory[int, Value] = Memory(shape=spec.width, depth=spec.length, init=[])
        m.submodules.memory = memory
        write, read = memory.write_port(), memory.read_port()
        count = Signal(range(spec.length))
        at, end = Signal.like(count), Signal.like(count, reset_less=True)
        top = Signal(spec.width, reset_less=True)
        m.d.comb += [
            write.en.eq(self.write),
            write.addr.eq(count),
            write.data.eq(self.i_data),
            read.en.eq(self.read),
            read.addr.eq(at),
            self.o_data.eq(read.data),
            self.more.eq(at != end),
            self.top.eq(top),
        ]
        before = Mux(count == 0, self.floor, top.as_signed())
        with m.If(self.write):
            m.d.sync += count.eq(Mux(self.i_last, 0, count + 1))
            m.d.sync += top.eq(Mux(self.i_data.as_signed() > before, self.i_data, before))
            with m.If(self.i_last):
                m.d.sync += end.eq(count)
        with m.If(self.read):
            m.d.sync += at.eq(Mux(self.more, at + 1, 0))
        return m


class RowExponential(wiring.Component):
    """Stores a row, and computes exponentials of its values minus the maximum, repeatedly.

    Latency: 2 cycles from ``read``. Throughput: one value per cycle.

    Parameters
    ----------
    spec : ActivationSpec
        What: scale, width of values, length of rows.
    floor : int
        Lower bound of the maximum.
    adder : str
        How: carry propagation, see :func:`hw.arith.adder.resolve`.

    Members
    -------
    write, i_data, i_last : In
        Take a value; whether it ends the row.
    move : In(1)
        Clock enable of the pipeline to ``o``.
    read : In(1)
        Start the next value; after the last, the first again.
    zero : In(1)
        Start a zero.
    more : Out(1)
        The value that ``read`` starts is not the row's last.
    valid, o_zero, o_last : Out(1)
        ``o`` is valid; it is that of a zero; that of the last value.
    o, o_data : Out
        The exponential, and the value.
    """

    write: Signal
    i_data: Signal
    i_last: Signal
    move: Signal
    read: Signal
    zero: Signal
    more: Signal
    valid: Signal
    o_zero: Signal
    o_last: Signal
    o: Signal
    o_data: Signal

    def __init__(self, spec: ActivationSpec, floor: int, adder: str):
        self.spec = spec
        self.row = RowMemory(spec, floor)
        self.adder = adder
        super().__init__({
            **dict.fromkeys(("write", "i_last", "move", "read", "zero"), In(1)),
            "i_data": In(spec.width),
            **dict.fromkeys(("more", "valid", "o_zero", "o_last"), Out(1)),
            "o": Out(spec.greatest.bit_length()),
            "o_data": Out(spec.width),
        })

    def elaborate(self, platform):
        m = Module()
        m.submodules.row = row = self.row
        # Stage of the memory's output register.
        f_valid, f_zero, f_last = Signal(), Signal(reset_less=True), Signal(reset_less=True)
        below = Signal(self.spec.width)
        data = Mux(f_zero, 0, row.o_data)
        m.d.comb += [
            row.write.eq(self.write),
            row.i_data.eq(self.i_data),
            row.i_last.eq(self.i_last),
            row.read.eq(self.read & self.move),
            self.more.eq(row.more),
            below.eq(row.top - data),
        ]
        made = exp_shift(m, self.spec, below, self.adder)
        with m.If(self.move):
            m.d.sync += [
                f_valid.eq(self.read | self.zero),
                f_zero.eq(self.zero),
                f_last.eq(~row.more),
                self.valid.eq(f_valid),
                self.o_zero.eq(f_zero),
                self.o_last.eq(f_last),
                self.o.eq(made),
                self.o_data.eq(data),
            ]
        return m
