"""The streams by which vector jobs read and write memory."""

from typing import Any

from amaranth import Cat, Module, Value
from amaranth.lib import stream, wiring
from amaranth.lib.wiring import In, Out

from golden.soc.spec import CoprocessorSpec
from hw.soc.bus.burst import Beat, Row
from hw.soc.bus.packer import Word
from hw.soc.schedule.row_request import RowRequest

__all__ = ["MemoryStreams", "share"]


class MemoryStreams(wiring.Signature):
    """Rows that are read, rows that are written, and their data.

    A request that is offered stays. Data come in the order of requests; those that are written are
    offered no earlier than their row's address is taken.

    Parameters
    ----------
    spec : CoprocessorSpec
        What: the bus, the vector unit.
    word_bytes : int
        What: bytes of a word that is written.

    Members
    -------
    read_row : Out(stream)
        :class:`hw.soc.schedule.row_request.RowRequest`, to read.
    read : In(stream)
        :class:`hw.soc.bus.burst.Beat`: words of the rows.
    write_row : Out(stream)
        :class:`hw.soc.bus.burst.Row`, to write.
    write : Out(stream)
        :class:`hw.soc.bus.packer.Word`: codes of the rows.
    """

    def __init__(self, spec: CoprocessorSpec, word_bytes: int):
        super().__init__({
            "read_row": Out(stream.Signature(RowRequest(spec))),
            "read": In(stream.Signature(Beat(8 * spec.vector_word_bytes))),
            "write_row": Out(stream.Signature(Row(spec))),
            "write": Out(stream.Signature(Word(word_bytes))),
        })


def share(m: Module, memory: Any, users: list[tuple[Value, Any]]) -> None:
    """Let the user that is selected have the streams; the first one's data come if none is.

    Parameters
    ----------
    m : where.
    memory : the streams, of a component's own port.
    users : what selects each, one at most, and its streams.
    """
    reads = memory.read
    for selected, user in users:
        m.d.comb += [
            user.read.payload.eq(reads.payload),
            user.read.valid.eq(reads.valid & selected),
        ]
    m.d.comb += reads.ready.eq(Cat(selected & user.read.ready for selected, user in users).any())
    for name in ("read_row", "write_row", "write"):
        port = getattr(memory, name)
        ends = [(selected, getattr(user, name)) for selected, user in users]
        m.d.comb += port.valid.eq(Cat(selected & end.valid for selected, end in ends).any())
        m.d.comb += [end.ready.eq(port.ready & selected) for selected, end in ends]
        m.d.comb += port.payload.eq(ends[0][1].payload)
        for selected, end in ends[1:]:
            with m.If(selected):
                m.d.comb += Value.cast(port.payload).eq(Value.cast(end.payload))
