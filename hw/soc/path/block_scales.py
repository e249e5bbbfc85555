"""Scales and zero points of blocks along K, with the words that they are of."""

from collections.abc import Iterator, Mapping
from typing import Any

from amaranth import C, Cat, Module, Mux, Signal, Value

from golden.soc.spec import CoprocessorSpec
from hw.soc.schedule.geometry import pick

__all__ = ["connect_scales"]


def connect_scales(
    m: Module,
    spec: CoprocessorSpec,
    geometry: Any,
    operands: Mapping[str, Any],
    port: tuple[str, Any],
    domain: str = "sync",
) -> Value:
    """Send a block's scales and zero points with its words; return whether they are valid.

    Parameters
    ----------
    geometry : :class:`~hw.soc.schedule.geometry.Geometry`.
    operands : feeds of words and of scales, by side.
    port : side, and the engine's port of that side.
    domain : the engine's.
    """
    side, to = port
    if f"{side}_scales" not in operands:
        return C(1, 1)
    scales = operands[f"{side}_scales"].o
    each = [spec.inside.block // mode.codes for mode in spec.kinds]
    left, ends = Signal(range(spec.inside.block), name=f"{side}_block"), Signal()
    count = pick(lambda size: C(size - 1), each, geometry.kind)
    m.d.comb += [
        ends.eq((left == count) | operands[side].o.payload.last),
        *_connect(to.payload, scales.payload.data, spec.inside, side),
        scales.ready.eq(to.valid & to.ready & ends),
    ]
    with m.If(to.valid & to.ready):
        m.d[domain] += left.eq(Mux(ends, 0, left + 1))
    valid: Value = scales.valid
    return valid


def _connect(payload: Any, records: Value, inside: Any, side: str) -> Iterator[Any]:
    """Take records of rows or columns apart: a scale, and of B a zero point behind it."""
    size = inside.a_sides if side == "a" else inside.b_sides
    names = ["scale"] * inside.a_sides + ["zero"] * (size > inside.a_sides)
    count = len(records) // (8 * size)
    for place, name in enumerate(names):
        bytes_of = [records.word_select(size * number + place, 8) for number in range(count)]
        yield payload[name].eq(Cat(bytes_of))
