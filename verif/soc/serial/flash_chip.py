"""An SPI flash at its pins, cycle by cycle of the design's clock, as data sheets have it."""

from dataclasses import dataclass, field

__all__ = ["FlashChip"]

_WAKE, _READ = 0xAB, 0x03


@dataclass
class FlashChip:
    """Mode 0, one wire each way; asleep at first, as an FPGA's configuration leaves it.

    A command while it wakes, an address beyond it, or a wire that changes at a rising edge of the
    clock is an `AssertionError`.

    Parameters
    ----------
    data : from address 0 on; erased behind that.
    size : bytes.
    wake : cycles that it takes to wake.
    late : cycles from a falling edge of the clock to the bit that it shows.
    absent : what the wire is held at, if there is no chip; None: there is one.

    Members
    -------
    reads : addresses of reads.
    taken : bytes that were shown whole.
    """

    data: bytes
    size: int = 1 << 24
    wake: int = 100
    late: int = 2
    absent: int | None = None
    reads: list[int] = field(default_factory=list)
    taken: int = 0

    def __post_init__(self) -> None:
        """Begin asleep."""
        self._awake: int | None = None
        self._now = 0
        self._before = (1, 0, 0)
        self._bits: list[int] = []
        self._at: int | None = None
        self._shows: list[tuple[int, int]] = []
        self._level = 1

    def step(self, cs_n: int, clk: int, mosi: int) -> int:
        """Take the pins of a cycle; return the wire to the design in the next one."""
        self._now += 1
        if self.absent is not None:
            return self.absent
        was_n, was, wire = self._before
        self._before = cs_n, clk, mosi
        if cs_n and not was_n:
            self._end()
        elif was_n and not cs_n:
            assert not clk, "selected while the clock is high"
            assert self._awake is None or self._now >= self._awake, "selected while it wakes"
            self._bits, self._at = [], None
        elif not cs_n and clk and not was:
            assert wire == mosi, "data change at the rising edge"
            self._take(mosi)
        elif not cs_n and was and not clk and self._at is not None:
            self._shows.append((self._now + self.late - 1, self._bit()))
        if self._shows and self._shows[0][0] <= self._now:
            self._level = self._shows.pop(0)[1]
        return self._level

    def _end(self) -> None:
        """Carry out what is done at the end of a command."""
        self._shows, self._level = [], 1
        if self._awake is None and self._bits[:8] == _bits_of(_WAKE):
            self._awake = self._now + self.wake

    def _take(self, bit: int) -> None:
        self._bits.append(bit)
        if self._awake is not None and len(self._bits) == 32 and self._at is None:
            assert self._bits[:8] == _bits_of(_READ), "no command that is known"
            address = int("".join(map(str, self._bits[8:])), 2)
            assert address < self.size, "an address beyond it"
            self.reads.append(address)
            self._at = 8 * address

    def _bit(self) -> int:
        assert self._at is not None
        byte, place = divmod(self._at, 8)
        self._at += 1
        self.taken += place == 7
        return (self.data[byte] if byte < len(self.data) else 255) >> (7 - place) & 1


def _bits_of(byte: int) -> list[int]:
    return [byte >> place & 1 for place in reversed(range(8))]
