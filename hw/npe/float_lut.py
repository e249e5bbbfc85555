"""Lookups in tables of floats, with every entry and every sum rounded."""

from typing import Any, ClassVar

from amaranth import Cat, Module, Mux, Signal, Value
from amaranth.lib import data

from golden.check import Parameter
from golden.npe.float_lut import FloatLutSpec
from hw.lib.evidence import FLOAT
from hw.npe.floats.add import add
from hw.npe.floats.stream import FLOAT_BUILD, FloatStream, Steps
from hw.npe.floats.term import FloatTerm, normalised, unpack
from hw.pe.entry_select import multiplex

__all__ = ["FloatGroup", "FloatLut"]


class FloatGroup(data.StructLayout):
    """A group of activations, a key per column, and the keys' plane; ``last`` ends the run.

    The first activation and the first column are lowest; a key is an index, then a sign.
    """

    def __init__(self, spec: FloatLutSpec):
        super().__init__({
            "a": spec.group * spec.activation.width,
            "keys": spec.columns * spec.group,
            "plane": max((spec.planes - 1).bit_length(), 1),
            "last": 1,
        })


class FloatLut(FloatStream):
    """Accumulates entries of float tables, one per column and beat.

    Computes :func:`golden.npe.float_lut.float_lut`, exactly. A beat's table is made once for all
    columns; its entries are normalised there too. It is the baseline for
    tables of aligned integers. Members: see :class:`FloatStream`; ``i`` takes :class:`FloatGroup`,
    and ``sum`` has a code for each column, the first lowest.

    Parameters
    ----------
    spec : FloatLutSpec
        What: formats, group and columns.
    adder, pipeline
        How: see :data:`hw.npe.floats.stream.FLOAT_BUILD`.

    Examples
    --------
    >>> unit = FloatLut(FloatLutSpec(columns=2, group=4))
    >>> unit.latency, unit.operations_per_cycle
    (3, 16)
    """

    SPEC = FloatLutSpec
    SUMMARY = "LUT unit in fp16 and other floats, all entries and sums rounded: a baseline"
    BENCH = "tb_float"
    EVIDENCE = (FLOAT[0], "mutants", "netlist simulation")

    BUILD: ClassVar[dict[str, Parameter]] = {
        name: kind for name, kind in FLOAT_BUILD.items() if name != "encoding"
    }

    def __init__(self, spec: FloatLutSpec, **build: Any):
        if not isinstance(spec, FloatLutSpec):
            raise TypeError(f"spec must be a FloatLutSpec, not {spec!r}")
        super().__init__(spec, FloatGroup(spec), spec.total, columns=spec.columns, **build)

    @property
    def operations_per_cycle(self) -> int:
        """A multiplication and an addition per weight bit."""
        return 2 * self.spec.group * self.spec.columns

    def term(self, m: Module, beat: data.View, steps: Steps) -> list[data.View]:
        """Make the table, look up, and add the plane to exponents."""
        spec, fmt = self.spec, self.spec.activation
        codes = [beat.a.word_select(at, fmt.width) for at in range(spec.group)]
        entries = steps.cut(*self._half(m, codes))
        keys, plane = steps.keep(beat.keys, beat.plane)
        numbers = [self._number(m, code) for code in entries]
        rows = steps.cut(*(number.as_value() for number in numbers))
        keys, plane = steps.keep(keys, plane)
        terms = []
        for column in range(spec.columns):
            key = list(keys.word_select(column, spec.group))
            bits = multiplex(m, list(rows), key[:-1], f"found{column}")
            entry = data.View(numbers[0].shape(), bits)
            terms.append(self._raised(m, entry, key[-1], plane))
        held = steps.cut(*(term.as_value() for term in terms))
        return [data.View(terms[0].shape(), bits) for bits in held]

    def _half(self, m: Module, codes: list[Value]) -> list[Value]:
        """Make a half table from those of the two halves of its activations."""
        if len(codes) == 1:
            return [_negative(codes[0])]
        low = len(codes) // 2
        half = self._half(m, codes[:low])
        full = half + [_negative(code) for code in reversed(half)]
        fmt = self.spec.activation
        return [
            add(m, unpack(m, below, fmt, "below"), unpack(m, above, fmt, "above"), fmt, self.adder)
            for above in self._half(m, codes[low:])
            for below in full
        ]

    def _number(self, m: Module, code: Value) -> data.View:
        """Normalise an entry, to the bias of sums."""
        entry = unpack(m, code, self.spec.activation, "entry")
        shape, more = entry.shape(), self.spec.total.bias - self.spec.activation.bias
        layout = FloatTerm(shape.significand_width, shape.low + more, shape.high + more)
        number = layout.signal("number")
        m.d.comb += [
            number.sign.eq(entry.sign),
            number.nan.eq(entry.nan),
            number.infinite.eq(entry.infinite),
            number.significand.eq(entry.significand),
            number.exponent.eq(entry.exponent + more),
        ]
        return normalised(m, number)

    def _raised(self, m: Module, entry: data.View, flip: Value, plane: Value) -> data.View:
        """Multiply an entry by a power of two, and by -1 if `flip` is set."""
        shape = entry.shape()
        layout = FloatTerm(shape.significand_width, shape.low, shape.high + self.spec.planes - 1)
        term = layout.signal("term")
        m.d.comb += [
            term.sign.eq(entry.sign ^ flip),
            term.nan.eq(entry.nan),
            term.infinite.eq(entry.infinite),
            term.significand.eq(entry.significand),
            # The exponent of zero stays below that of all sums.
            term.exponent.eq(entry.exponent + Mux(entry.significand[-1], plane, 0)),
        ]
        return term

    def total(self) -> Signal:
        """Make the accumulators: codes."""
        return Signal(self.spec.columns * self.spec.total.width, name="total", reset_less=True)

    def add(self, m: Module, total: Value, term: list[data.View]) -> Value:
        """Add, and round."""
        fmt = self.spec.total
        return Cat(
            add(
                m,
                unpack(m, total.word_select(column, fmt.width), fmt, "kept"),
                one,
                fmt,
                self.adder,
            )
            for column, one in enumerate(term)
        )


def _negative(code: Value) -> Value:
    """Flip the sign."""
    return Cat(code[:-1], ~code[-1])
