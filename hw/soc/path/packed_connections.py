"""Connects what reads a packed B to the rest of the data path."""

from typing import Any, NamedTuple, Self

from amaranth import Module, Signal
from amaranth.lib import data
from amaranth.lib.wiring import connect

from hw.soc.path.packed_blocks import PackedBlocks
from hw.soc.schedule.destination import PackedDestination
from hw.soc.schedule.packed_walk import PackedPlace, packed_place

__all__ = ["PackedState", "connect_packed"]


class PackedState(NamedTuple):
    """No block of a packed B is under way; one, or an offset, is wrong."""

    idle: Signal
    wrong: Signal

    @classmethod
    def make(cls) -> Self:
        """Make the signals."""
        return cls(*(Signal(name=f"packed_{name}") for name in cls._fields))


def connect_packed(m: Module, path: Any, loader: Any, router: Any) -> Any:
    """Have blocks of a packed B read by their offsets; return the stream of all rows.

    Parameters
    ----------
    path : :class:`~hw.soc.datapath.Datapath`, whose job it is, the one that is loaded.
    loader, router : what requests rows, and what hands out the data.
    """
    if not path.spec.sparse:
        return loader.o
    m.submodules.packed_blocks = blocks = PackedBlocks(path.spec)
    connect(m, loader.o, blocks.i)
    connect(m, getattr(router, f"o{PackedDestination.OFFSETS}"), blocks.i_pair)
    connect(m, blocks.o_block, router.i_block)
    job, walk = path.i_load_geometry, loader.walk
    place: Any = data.View(
        PackedPlace(path.spec), Signal(PackedPlace(path.spec).size, name="place")
    )
    packed_place(m, place, walk, job.by_columns, (walk.i_start, walk.i_next))
    m.d.comb += [
        blocks.i_geometry.eq(job),
        blocks.i_base.eq(path.i_base),
        blocks.i_start.eq(path.i_start),
        blocks.i_place.eq(place),
        path.packed.wrong.eq(blocks.o_wrong | router.o_wrong),
        path.packed.idle.eq(router.o_unpacked),
    ]
    return blocks.o
