"""Rows of a B that is packed, among those that memory sends."""

from typing import Any

from amaranth import Module, Mux, Value
from amaranth.lib import stream
from amaranth.lib.wiring import In, Member, Out, connect, flipped

from golden.soc.spec import CoprocessorSpec
from hw.soc.bus.bitmap_group import ENTRY_BYTES
from hw.soc.bus.bitmap_unpacker import BitmapUnpacker, PackedBlock
from hw.soc.schedule.destination import PackedDestination
from hw.soc.schedule.geometry import block_widths

__all__ = [
    "PAIR",
    "merge_rows",
    "packed_block",
    "packed_ports",
    "packed_words",
    "unpack_bitmaps",
]

PAIR = 2 * ENTRY_BYTES
"""Bytes of the entries of a block's begin and end."""


def packed_block(spec: CoprocessorSpec) -> PackedBlock:
    """Return the layout of what is known of a block of a packed B."""
    return PackedBlock(block_widths(spec)["codes"], spec.length_width)


def packed_words(spec: CoprocessorSpec) -> dict[Any, int]:
    """Return the bytes of a word of what a packed B is, by its destination; none of others."""
    words = {PackedDestination.OFFSETS: max(PAIR, spec.bytes), PackedDestination.PACKED: spec.bytes}
    return words if spec.sparse else {}


def packed_ports(spec: CoprocessorSpec) -> dict[str, Member]:
    """Return the ports of :class:`hw.soc.path.load_router.LoadRouter` that others have not."""
    blocks = {"i_block": In(stream.Signature(packed_block(spec)))}
    return {**blocks, "o_unpacked": Out(1), "o_wrong": Out(1)} if spec.sparse else {}


def unpack_bitmaps(m: Module, router: Any, unpack: Any, to: Value) -> BitmapUnpacker:
    """Unpack what is read of a packed B.

    Parameters
    ----------
    router : :class:`hw.soc.path.load_router.LoadRouter`.
    unpack : its :class:`~hw.soc.bus.unpacker.Unpacker`.
    to : a bit for each destination.
    """
    layout = packed_block(router.spec)
    widths = (layout[name].width for name in ("rows", "bytes"))
    m.submodules.bitmaps = bitmaps = BitmapUnpacker(router.spec.bytes, *widths)
    connect(m, flipped(router.i_block), bitmaps.i_block)
    m.d.comb += [
        bitmaps.i.payload.eq(unpack.o.payload),
        bitmaps.i.valid.eq(unpack.o.valid & to[list(router.words).index(PackedDestination.PACKED)]),
        router.o_wrong.eq(bitmaps.o_wrong),
        router.o_unpacked.eq(bitmaps.o_idle),
    ]
    return bitmaps


def merge_rows(m: Module, plain: Any, packed: BitmapUnpacker, here: Value) -> Any:
    """Return rows of B: those that were packed, and others once all before have left.

    Parameters
    ----------
    plain, here : pieces as they were read, which are of B.
    packed : what has unpacked the others.
    """
    both: Any = packed.o.signature.create()
    m.d.comb += [
        both.valid.eq(packed.o.valid | (plain.valid & here & packed.o_idle)),
        both.payload.eq(Mux(packed.o.valid, packed.o.payload, plain.payload)),
        packed.o.ready.eq(both.ready),
    ]
    return both
