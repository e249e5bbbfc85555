"""Sums on their way to words of memory: as they are, or by the requantiser."""

from typing import Any

from amaranth import Cat, Module, Mux, Value

from hw.soc.path.sum_words import cut_sums

__all__ = ["send_sums"]


def send_sums(
    m: Module, writer: Any, to: Any, numbers: list[Value], codes: Value, valid: Value
) -> Value:
    """Send rows of sums to a stream, or through the requantiser; return ready."""
    spec = writer.spec
    word, ready = cut_sums(m, writer, numbers, to.ready, valid & ~codes)
    if writer.codes is None:
        m.d.comb += [to.valid.eq(valid), to.payload.data.eq(word)]
        return ready
    m.submodules.codes = unit = writer.codes
    comes: Value = valid & codes
    taken: Value = Cat(numbers)
    if spec.taps:
        comes = Mux(writer.i_of_maps, writer.i_sums.valid, comes)
        taken = Mux(writer.i_of_maps, writer.i_sums.payload, taken)
        m.d.comb += writer.i_sums.ready.eq(unit.i.ready & writer.i_of_maps)
    m.d.comb += [
        unit.i_geometry.eq(writer.i_geometry),
        unit.i.valid.eq(comes),
        unit.i.payload.eq(taken),
        unit.o.ready.eq(to.ready),
        to.valid.eq(Mux(codes, unit.o.valid, valid)),
        to.payload.data.eq(word),
    ]
    made: Value = unit.o.payload
    if spec.sizes:
        bytes_ = [made.word_select(2 * number, 8) for number in range(writer.across)]
        made = Mux(writer.i_geometry.wide, made, Cat(bytes_))
    with m.If(codes):
        m.d.comb += to.payload.data[: len(unit.o.payload)].eq(made)
    if spec.inside.result is None:
        m.d.comb += [getattr(unit, name).eq(getattr(writer, name)) for name in unit.scale_ports]
    return Mux(codes, unit.i.ready, ready)
