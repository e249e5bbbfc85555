"""Floating-point multiply-accumulate: exact products, each addition rounded."""

from typing import Any

from amaranth import Module, Signal, Value
from amaranth.lib import data

from golden.npe.float_mac import FloatMacSpec
from hw.lib.evidence import FLOAT
from hw.npe.floats.add import add
from hw.npe.floats.stream import FloatStream, Steps
from hw.npe.floats.term import multiply, normalised, unpack

__all__ = ["FloatMac", "FloatOperands"]


class FloatOperands(data.StructLayout):
    """One operand pair; ``last`` ends the sum."""

    def __init__(self, spec: FloatMacSpec):
        a, b = spec.operands
        super().__init__({"a": a.width, "b": b.width, "last": 1})


class FloatMac(FloatStream):
    """Sums products of operand pairs in floating point.

    Computes :func:`golden.npe.float_mac.float_mac`, exactly: each step is a fused multiply-add
    whose product is computed and normalised ahead of the accumulator loop. Members: see
    :class:`FloatStream`; ``i`` takes :class:`FloatOperands`.

    Parameters
    ----------
    spec : FloatMacSpec
        What: formats of operands and sums.
    build
        How: see :data:`hw.npe.floats.stream.FLOAT_BUILD`.

    Examples
    --------
    >>> mac = FloatMac(FloatMacSpec(a_format="bf16", b_format="bf16", sum_format="fp32"))
    >>> mac.i.payload.shape(), mac.o.payload.shape()
    (StructLayout({'a': 16, 'b': 16, 'last': 1}), StructLayout({'sum': 32}))
    >>> mac.latency
    3
    """

    SPEC = FloatMacSpec
    SUMMARY = "fused multiply-add of bf16, fp16, FP8 and other floats into fp32"
    BENCH = "tb_float"
    EVIDENCE = FLOAT

    def __init__(self, spec: FloatMacSpec, **build: Any):
        if not isinstance(spec, FloatMacSpec):
            raise TypeError(f"spec must be a FloatMacSpec, not {spec!r}")
        super().__init__(spec, FloatOperands(spec), spec.total, **build)

    def term(self, m: Module, beat: data.View, steps: Steps) -> data.View:
        """Multiply, and normalise the product."""
        a_format, b_format = self.spec.operands
        a = unpack(m, beat.a, a_format, "a")
        b = unpack(m, beat.b, b_format, "b")
        a_held, b_held = steps.cut(a.as_value(), b.as_value())
        product = multiply(
            m,
            data.View(a.shape(), a_held),
            data.View(b.shape(), b_held),
            self.spec.total.bias - a_format.bias - b_format.bias,
            encoding=self.encoding,
            adder=self.adder,
        )
        return steps.view(normalised(m, steps.view(product)))

    def total(self) -> Signal:
        """Make the accumulator: a code."""
        return Signal(self.spec.total.width, name="total", reset_less=True)

    def add(self, m: Module, total: Value, term: data.View) -> Value:
        """Add, and round."""
        return add(m, unpack(m, total, self.spec.total, "kept"), term, self.spec.total, self.adder)
