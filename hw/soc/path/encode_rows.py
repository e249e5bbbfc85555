"""Encoders side by side, which round the sums of a row to the result format."""

from typing import Any

from amaranth import Module, Value

from golden.npe.encoder import EncoderSpec
from golden.soc.spec import CoprocessorSpec

__all__ = ["encode_rows", "encoder_spec"]


def encoder_spec(spec: CoprocessorSpec) -> EncoderSpec:
    """Return the spec of the encoder that rounds sums to the result format."""
    inside = spec.inside
    assert inside.result is not None
    most = max(mode.exponent for mode in inside.modes.values())
    chance = {"rounding": "stochastic", "random_width": spec.random_width}
    return EncoderSpec(
        format=inside.result.name,
        width=inside.sum_width,
        fraction_width=-inside.least_exponent,
        exponent_width=most.bit_length() + 1 if most else 0,
        saturate=inside.saturate,
        **(chance if spec.random_width else {"rounding": inside.rounding}),
    )


def encode_rows(m: Module, rows: Any, numbers: list[Value]) -> None:
    """Place the encoders, which all work in step.

    Parameters
    ----------
    m : where.
    rows : :class:`~hw.soc.path.requantise_rows.RequantiseRows`.
    numbers : its sums, with their flags.
    """
    spec = rows.spec
    for number, (encoder, value) in enumerate(zip(rows.encoders, numbers, strict=True)):
        m.submodules[f"encoder{number}"] = encoder
        payload = encoder.i.payload
        m.d.comb += [
            encoder.i.valid.eq(rows.i.valid),
            payload.sum.eq(value[: spec.inside.sum_width]),
            payload.invalid.eq(value[-1] if spec.inside.flags else 0),
            encoder.o.ready.eq(rows.o.ready),
            rows.o.payload.word_select(number, spec.code_bits).eq(encoder.o.payload.code),
        ]
        if encoder.spec.exponent_width:
            m.d.comb += payload.exponent.eq(rows.i_geometry.exponent)
        if spec.random_width:
            bits = rows.i_random.payload.word_select(number, spec.random_width)
            m.d.comb += encoder.i_random.valid.eq(rows.i_random.valid)
            m.d.comb += encoder.i_random.payload.eq(bits)
    first = rows.encoders[0]
    m.d.comb += [rows.i.ready.eq(first.i.ready), rows.o.valid.eq(first.o.valid)]
    if spec.random_width:
        m.d.comb += rows.i_random.ready.eq(first.i_random.ready)
