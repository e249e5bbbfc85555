"""Access of a host to single bytes of memory."""

from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

__all__ = ["UNSTARTED", "ByteAccess"]

UNSTARTED = 2
"""Error of :class:`ByteAccess`: memory has not started."""


class ByteAccess(wiring.Signature):
    """A byte read or written, from the initiator's side.

    Members
    -------
    request : Out(1)
        High until ``done``.
    write, address, data : Out
        Stable with ``request``: whether the byte is written; its address; what is written.
    done : In(1)
        High for one cycle, the last one of the access.
    read, error : In
        With ``done``: the byte; 0, or 3: there is none at this address, or memory answers with an
        error; or 1: memory does not answer; or 2: it has not started.
    """

    def __init__(self) -> None:
        super().__init__({
            "request": Out(1),
            "write": Out(1),
            "address": Out(32),
            "data": Out(8),
            "done": In(1),
            "read": In(8),
            "error": In(2),
        })
