"""Encoder between two streams: exact sums to codes of a number format."""

from typing import ClassVar

from amaranth import Cat, Module, Signal, Value, signed
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out

from golden.check import Integer, Parameter, check_fields
from golden.npe.encoder import EncoderSpec
from hw.arith.adder import ADDER
from hw.lib.shared_module import SharedModule
from hw.npe.rounding.encode import encode
from hw.npe.rounding.normalised import Cut, no_cut
from hw.npe.rounding.registers import registers
from hw.npe.rounding.rounding import Rounding

__all__ = ["Code", "Encoder", "Random", "Sum"]


class Sum(data.StructLayout):
    """A sum, with its exponent if it has one; ``invalid`` if it is not a number."""

    def __init__(self, spec: EncoderSpec):
        exponent = {"exponent": signed(spec.exponent_width)} if spec.exponent_width else {}
        super().__init__({"sum": spec.width, **exponent, "invalid": 1})


class Random(data.StructLayout):
    """Random bits of one code."""

    def __init__(self, spec: EncoderSpec):
        super().__init__({"bits": spec.random_width})


class Code(data.StructLayout):
    """A code."""

    def __init__(self, spec: EncoderSpec):
        super().__init__({"code": spec.code_format.width})


class Encoder(wiring.Component):
    """Encodes exact sums, one per cycle.

    Computes :func:`golden.npe.encoder.encoder`, exactly.

    A sum is normalised without negating it first: leading bits equal to its sign are shifted out,
    and the carry of the negation is merged with the rounding's. With a constant exponent, bits
    above the format's largest and below its smallest number are only tested for ones.

    Latency, sum to code: :attr:`latency` cycles. Throughput: one sum per cycle. Stalls: ``o.ready``
    reaches ``i.ready`` combinationally; so does ``i_random.valid``, from which it reaches
    ``i_random.ready``. Rounding: to nearest even, toward zero, or stochastic; for posits, on the
    bit string. Overflow: saturates, or becomes infinity or NaN.

    Random bits are taken where a sum is rounded, before its code's register, one number for each
    sum in order: so they need no registers of their own on the way.

    Parameters
    ----------
    spec : EncoderSpec
        What: format, widths, rounding.
    pipeline : int
        How: registers before the output register: after the normaliser; before the rounding carry;
        in the middle of the normaliser.
    adder : str
        How: rounding carry, see :func:`hw.arith.adder.resolve`.

    Members
    -------
    i : In(stream)
        :class:`Sum`, two's complement.
    i_random : In(stream)
        Where rounding is stochastic: a :class:`Random` for each sum, without sign.
    o : Out(stream)
        :class:`Code`, in the format of `spec`.

    Examples
    --------
    >>> encoder = Encoder(EncoderSpec(format="e4m3", width=20), pipeline=1)
    >>> encoder.latency
    2
    >>> encoder.i.payload.shape(), encoder.o.payload.shape()
    (StructLayout({'sum': 20, 'invalid': 1}), StructLayout({'code': 8}))
    """

    SPEC = EncoderSpec
    SUMMARY = "exact sums to codes of any minifloat, posit or integer format, rounded once"
    BENCH = "tb_encoder"
    EVIDENCE = (
        "cocotb against numpy: all sums up to 16 bits, ties and neighbours, stalls, resets",
        "formal proof of 8-bit and smaller formats",
        "rounding by random bits against gfloat: all numbers of half precision",
        "mutants",
        "netlist simulation",
    )

    BUILD: ClassVar[dict[str, Parameter]] = {
        "pipeline": Integer("registers between sum and code", 1, 0, 3),
        "adder": ADDER,
    }

    i: stream.Interface
    i_random: stream.Interface
    o: stream.Interface

    def __init__(self, spec: EncoderSpec, *, pipeline: int = 1, adder: str = "sklansky"):
        if not isinstance(spec, EncoderSpec):
            raise TypeError(f"spec must be an EncoderSpec, not {spec!r}")
        check_fields(self.BUILD, {"pipeline": pipeline, "adder": adder})
        self.spec = spec
        self.pipeline = pipeline
        self.adder = adder
        random = {}
        if spec.rounding == "stochastic":
            random = {"i_random": In(stream.Signature(Random(spec)))}
        super().__init__({
            "i": In(stream.Signature(Sum(spec))),
            **random,
            "o": Out(stream.Signature(Code(spec))),
        })

    @property
    def shared_modules(self) -> tuple[SharedModule, ...]:
        """None."""
        return ()

    @property
    def latency(self) -> int:
        """Cycles from a sum to its code."""
        return 1 + self.pipeline

    @property
    def operations_per_cycle(self) -> int:
        """A normalisation and a rounding."""
        return 2

    def elaborate(self, platform):
        m = Module()
        spec = self.spec
        move, valid = Signal(), Signal(self.latency)
        free = ~self.o.valid | self.o.ready
        random: Value | None = None
        if spec.rounding == "stochastic":
            rounds = Cat(self.i.valid, valid)[self.pipeline]
            random = self.i_random.payload.bits
            m.d.comb += self.i_random.ready.eq(free & rounds)
            with m.If(free):
                # Without random bits a code that is taken has none behind it.
                m.d.sync += valid[-1].eq(0)
            free &= self.i_random.valid | ~rounds
        m.d.comb += [move.eq(free), self.i.ready.eq(move), self.o.valid.eq(valid[-1])]

        def crossing(least: int, name: str) -> Cut:
            return registers(m, move, name) if self.pipeline >= least else no_cut

        payload = self.i.payload
        exponent: int | Value = -spec.fraction_width
        if spec.exponent_width:
            exponent = payload.exponent - spec.fraction_width
        low, high = (bound - spec.fraction_width for bound in spec.exponent_bounds)
        code = encode(
            m,
            payload.sum,
            exponent,
            spec.code_format,
            bounds=(low, high),
            how=Rounding(
                mode=spec.rounding,
                saturate=spec.saturate,
                adder=self.adder,
                cut=crossing(2, "r"),
                random=random,
            ),
            invalid=payload.invalid,
            cuts=(crossing(3, "w"), crossing(1, "n")),
        )
        with m.If(move):
            m.d.sync += [valid.eq((valid << 1) | self.i.valid), self.o.payload.code.eq(code)]
        return m
