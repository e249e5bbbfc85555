"""Ports of the result writer that some builds have."""

from typing import Any

from amaranth.lib import stream
from amaranth.lib.wiring import In, Member, Out

from hw.soc.bus.burst import Beat, Row
from hw.soc.bus.packer import Word
from hw.soc.path.greatest_sum import GREATEST_WIDTH
from hw.soc.path.place_walk import SEED_WIDTH

__all__ = ["writer_ports"]


def writer_ports(writer: Any) -> dict[str, Member]:
    """Return those of a build.

    Parameters
    ----------
    writer : :class:`~hw.soc.path.result_writer.ResultWriter`, as far as it is made.
    """
    spec, ports = writer.spec, dict[str, Member]()
    if spec.requantise and spec.inside.result is None:
        assert writer.codes is not None
        ports |= writer.codes.scale_ports
    if writer.row_bytes:
        ports["i_of_rows"] = In(1)
        ports["i_rows"] = In(stream.Signature(Row(spec)))
        ports["i_words"] = In(stream.Signature(Word(writer.row_bytes)))
    if spec.taps:
        ports["i_of_maps"] = In(1)
        ports["i_sums"] = In(stream.Signature(writer.across * spec.number_width))
    if spec.table:
        ports["i_looks"] = In(1)
        ports["i_table"] = In(stream.Signature(Beat(spec.data_width)))
        ports |= {"i_sums_end": In(1)} if spec.taps else {}
    if spec.random_width:
        ports["i_seed"] = In(SEED_WIDTH)
    if spec.amax:
        ports["o_greatest"] = Out(GREATEST_WIDTH)
    if writer.groups is not None:
        ports |= {name: writer.groups.signature.members[name] for name in ("i_powers", "i_scales")}
        ports["o_taken"] = Out(1)
    return ports
