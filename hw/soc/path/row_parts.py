"""Sub-units of vector jobs, for operations that the vector unit does not have."""

from typing import Any

from amaranth import Module, Signal
from amaranth.lib.wiring import In, Out, connect, flipped
from amaranth.utils import bits_for

from golden.soc.spec import CoprocessorSpec
from hw.soc.path.blend_rows import BlendRows
from hw.soc.path.gather_rows import GatherRows
from hw.soc.path.index_rows import IndexRows
from hw.soc.path.map_lanes import MapFactors, sums_of
from hw.soc.path.map_rows import MapRows
from hw.soc.path.top_rows import TopRows
from hw.soc.path.transpose_rows import TransposeRows
from hw.soc.path.word_columns import ColumnReads
from hw.soc.registers.window_layout import WindowLayout
from hw.soc.schedule.destination import Destination

__all__ = ["Part", "connect_part", "part_bases", "part_ports", "parts_of"]

Part = TransposeRows | GatherRows | IndexRows | TopRows | BlendRows | MapRows


def parts_of(spec: CoprocessorSpec) -> dict[tuple[str, ...], Part]:
    """Make those of a build, each by the operations that it has."""
    parts: dict[tuple[str, ...], Part] = {}
    if spec.transpose:
        parts["transpose",] = TransposeRows(spec)
    if spec.gather:
        parts["gather",] = GatherRows(spec)
    if spec.lists:
        parts["index",] = IndexRows(spec)
    if spec.top_k:
        parts["top_k",] = TopRows(spec)
    if spec.blend:
        parts["blend",] = BlendRows(spec)
    if spec.taps:
        parts[(*spec.MAPS, *["depthwise"] * spec.depthwise)] = MapRows(spec)
    return parts


def part_ports(spec: CoprocessorSpec) -> dict[str, Any]:
    """Return the ports of vector jobs that are those of a sub-unit."""
    ports: dict[str, Any] = {}
    if spec.taps:
        ports |= {"i_factors": In(MapFactors), "o_sums": Out(sums_of(spec)), "o_sums_end": Out(1)}
    if spec.depthwise:
        ports |= {"i_window": In(WindowLayout()), "columns": Out(ColumnReads(spec))}
    if spec.lists:
        ports |= {"i_least": In(16)}
    if spec.top_k:
        ports |= {"i_count": In(bits_for(spec.top_k))}
    if spec.gather:
        ports |= {"i_rows": In(spec.dimension_width), "o_beyond": Out(1)}
    return ports


def part_bases(m: Module, rows: Any) -> dict[Destination, Signal]:
    """Return registers of the addresses of the matrices that jobs have.

    Parameters
    ----------
    m : where.
    rows : :class:`hw.soc.path.vector_rows.VectorRows`.
    """
    spec, given = rows.spec, rows.i_base
    names = {Destination.A: "base_a", Destination.ADDEND: "base_c"}
    if rows.pairs or spec.gather or spec.blend or spec.taps:
        names[Destination.B] = "base_b"
    if spec.depthwise:
        names |= {Destination.BIAS: "base_bias", Destination.RECORD: "base_records"}
    bases = {
        to: Signal(spec.address_width, name=name, reset_less=True) for to, name in names.items()
    }
    for to, base in bases.items():
        with m.If(given.valid & (given.to == to)):
            m.d.sync += base.eq(given.address)
    return bases


def connect_part(m: Module, rows: Any, part: Part, bases: dict[Destination, Signal]) -> None:
    """Connect a sub-unit's inputs.

    Parameters
    ----------
    m : where.
    rows : :class:`hw.soc.path.vector_rows.VectorRows`, whose part it is.
    part : one of :func:`parts_of`, whose memory streams are connected.
    bases : addresses of matrices.
    """
    m.d.comb += [
        part.i_geometry.eq(rows.i_geometry),
        part.i_a.eq(bases[Destination.A]),
        part.i_c.eq(bases[Destination.ADDEND]),
    ]
    if isinstance(part, GatherRows):
        m.d.comb += [
            part.i_rows.eq(rows.i_rows),
            part.i_wide.eq(rows.i_mode.wide if rows.spec.vector_in_bytes > 1 else 0),
            part.i_b.eq(bases[Destination.B]),
            rows.o_beyond.eq(part.o_beyond),
        ]
    if isinstance(part, IndexRows):
        m.d.comb += [
            part.i_wide.eq(rows.i_mode.wide if rows.spec.vector_in_bytes > 1 else 0),
            part.i_least.eq(rows.i_least),
        ]
    if isinstance(part, TopRows):
        m.d.comb += [
            part.i_wide.eq(rows.i_mode.wide if rows.spec.vector_in_bytes > 1 else 0),
            part.i_count.eq(rows.i_count),
        ]
    if isinstance(part, BlendRows):
        m.d.comb += [
            part.i_wide.eq(rows.i_mode.wide if rows.spec.vector_in_bytes > 1 else 0),
            part.i_b.eq(bases[Destination.B]),
            *(getattr(part, f"i_{name}").eq(rows.i_scale[name]) for name in part.SCALE),
        ]
    if isinstance(part, MapRows):
        m.d.comb += [
            part.i_multiplies.eq(rows.is_("map_multiply")),
            part.i_greater.eq(rows.is_("map_max")),
            part.i_factors.eq(rows.i_factors),
            part.i_b.eq(bases[Destination.B]),
        ]
        connect(m, part.o_sums, flipped(rows.o_sums))
        m.d.comb += rows.o_sums_end.eq(part.o_end)
        if rows.spec.depthwise:
            m.d.comb += [
                part.i_windows.eq(rows.of_windows),
                part.i_window.eq(rows.i_window),
                part.i_bias.eq(bases[Destination.BIAS]),
                part.i_records.eq(bases[Destination.RECORD]),
            ]
            connect(m, part.columns, flipped(rows.columns))
