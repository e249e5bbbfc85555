"""A frame of a host that is taken: signals of its header, and of its answer."""

from typing import NamedTuple, Self

from amaranth import Cat, Signal, Value

__all__ = ["HostFrame"]


class HostFrame(NamedTuple):
    """A frame that is taken, and what is to be answered.

    Members
    -------
    header : sequence, address, code and value, in the order in which they come.
    sequence, address, command : of these.
    place : the address in memory, whose bits 24 to 31 are above a count of bytes in the value.
    last : sequence of the command that was done last: it is not done again.
    word, byte : of registers, of memory.
    status : of the answer.
    fresh : no host has claimed the link.
    """

    header: Value
    sequence: Signal
    address: Signal
    place: Value
    command: Value
    last: Signal
    word: Signal
    byte: Signal
    status: Signal
    fresh: Signal

    @classmethod
    def make(cls, value: Signal) -> Self:
        """Make the signals of a frame whose value is there."""
        sequence, address, code = (
            Signal(width, name=name)
            for name, width in (("sequence", 8), ("address", 24), ("code", 8))
        )
        return cls(
            header=Cat(sequence, address, code, value),
            sequence=sequence,
            address=address,
            place=Cat(address, value[16:24]),
            command=code[:3],
            last=Signal(8, name="last"),
            word=Signal(32, name="word"),
            byte=Signal(8, name="byte"),
            status=Signal(7, name="status"),
            fresh=Signal(name="fresh", init=1),
        )
