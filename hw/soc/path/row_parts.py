"""Sub-units of vector jobs, for operations that the vector unit does not have."""

from typing import Any

from amaranth import Module, Signal, Value
from amaranth.lib.wiring import connect, flipped

from golden.soc.spec import CoprocessorSpec
from hw.soc.path.gather_rows import GatherRows
from hw.soc.path.map_rows import MapRows
from hw.soc.path.transpose_rows import TransposeRows
from hw.soc.schedule.destination import Destination

__all__ = ["Part", "connect_part", "parts_of"]

Part = TransposeRows | GatherRows | MapRows


def parts_of(spec: CoprocessorSpec) -> dict[tuple[str, ...], Part]:
    """Make those of a build, each by the operations that it has."""
    parts: dict[tuple[str, ...], Part] = {}
    if spec.transpose:
        parts["transpose",] = TransposeRows(spec)
    if spec.gather:
        parts["gather",] = GatherRows(spec)
    if spec.taps:
        parts[spec.MAPS] = MapRows(spec)
    return parts


def connect_part(m: Module, rows: Any, part: Part, bases: dict[Destination, Signal]) -> Value:
    """Connect a sub-unit's inputs; return whether it is done.

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
    if isinstance(part, MapRows):
        m.d.comb += [
            part.i_multiplies.eq(rows.is_("map_multiply")),
            part.i_greater.eq(rows.is_("map_max")),
            part.i_factors.eq(rows.i_factors),
            part.i_b.eq(bases[Destination.B]),
        ]
        connect(m, part.o_sums, flipped(rows.o_sums))
    return part.o_ready
