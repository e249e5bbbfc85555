"""Finds when data of DDR3 are to be read: a machine in the place of LiteDRAM's software."""

from random import Random
from typing import Any

from litedram.phy.dfi import Interface
from litex.gen import LiteXModule
from migen import FSM, Array, Cat, If, NextState, NextValue, Replicate, Signal

__all__ = ["PATTERNS", "ReadLevelling"]

PATTERNS = tuple(Random(seed).getrandbits(128) for seed in (42, 84, 36))
"""What is written and read at each place: a burst of 8 words of 16 bits, the first one low."""
_TRIAL, _MOVE = 64, 128
"""Cycles of a pattern that is written and read, and of a move of delays, with a refresh."""
_ACTIVATE, _WRITE, _CLEAR, _READ, _PRECHARGE = 4, 12, 26, 28, 48
"""When a trial does what: further apart than any memory needs at 200 MHz and less."""
_ALL = 1 << 10
"""Of an address: all banks of a precharge."""
_REFRESH, _DELAY, _SLIP, _TOGETHER = 1, (40, 48, 56), (64, 72, 80), (88, 104)
"""When a move does what: select, strobe, and release; all at once, as the PHY asks for."""


class ReadLevelling(LiteXModule):  # type: ignore[misc]
    """Tries each bit slip and delay of each byte of the bus, and sets the middle of the best.

    All bytes are tried together: a burst is written and read at row 0 of bank 0, three times; a
    byte is right if all of its bits are, and the PHY has seen the strobe's burst. Of each byte the
    longest run of delays that are right, at one bit slip, counts; its middle is set, and tried
    once more. Nothing is waited for: the whole has :data:`_TRIAL` and :data:`_MOVE` cycles for
    each step, and the memory is refreshed between them.

    Parameters
    ----------
    dfi : of the PHY; for its widths.
    settings : of the PHY.
    enable : the memory takes commands.

    Members
    -------
    dfi : Interface
        Commands, as long as it is not done.
    select : Out
        Bytes whose delays are moved.
    delay_reset, delay_next, slip_reset, slip_next : Out(1)
        What is done with them.
    burst_clear, burst_seen : Out(1), In
        Forget bursts of strobes; bytes in which one was seen.
    done : Out(1)
        All are tried.
    failed : Out
        Bytes that have no place at which they are right.
    """

    def __init__(self, dfi: Any, settings: Any, enable: Any) -> None:
        self.settings = settings
        self.bytes = settings.databits // 8
        first = dfi.phases[0]
        widths = len(first.address), len(first.bank), settings.nranks, len(first.wrdata)
        self.dfi = Interface(*widths, settings.nphases)
        self.select = Signal(self.bytes)
        self.delay_reset = Signal()
        self.delay_next = Signal()
        self.slip_reset = Signal()
        self.slip_next = Signal()
        self.burst_clear = Signal()
        self.burst_seen = Signal(self.bytes)
        self.done = Signal()
        self.failed = Signal(self.bytes)

        self.time = Signal(max=_MOVE)
        self.pattern = Signal(max=len(PATTERNS))
        self.good, self.hit = Signal(self.bytes), Signal(self.bytes)
        self.delay, self.slip = Signal(max=settings.delays), Signal(max=settings.bitslips)
        self.best = [
            (Signal(max=settings.delays + 1), Signal.like(self.delay), Signal.like(self.slip))
            for _ in range(self.bytes)
        ]
        """Of each byte: the longest run so far, its middle, and its bit slip."""
        self.moves = Signal(self.bytes), Signal(self.bytes), Signal(2)
        """Bytes whose delay, and whose bit slip is moved; whether it is reset."""
        self.fsm = FSM(reset_state="start")
        self._compare()
        self.checking = Signal()
        """All places were tried, and what is tried now is what was set."""
        self._steps(enable)
        self._record()
        self._trial()
        self._move()

    def _compare(self) -> None:
        """Compare what comes with the pattern, beat by beat, and then all of a byte."""
        pattern = Array(PATTERNS)[self.pattern]
        whole, came = Signal(128), Signal(128)
        valid = Signal()
        self.comb += [
            whole.eq(pattern),
            came.eq(Cat(*(phase.rddata for phase in self.dfi.phases))),
            Cat(*(phase.wrdata for phase in self.dfi.phases)).eq(whole),
        ]
        self.sync += valid.eq(self.dfi.phases[0].rddata_valid)
        for byte in range(self.bytes):
            same = Signal(8)
            places = [slice(16 * beat + 8 * byte, 16 * beat + 8 * byte + 8) for beat in range(8)]
            self.sync += same.eq(Cat(*(came[place] == whole[place] for place in places)))
            self.sync += If(valid & (same == 255), self.hit[byte].eq(1))
        self.sync += If(self.time == _ACTIVATE, self.hit.eq(0))

    def _steps(self, enable: Any) -> None:
        """Go through all places, then set the best ones, and try them."""
        fsm, time, every = self.fsm, self.time, (1 << self.bytes) - 1
        delays, slips = self.settings.delays, self.settings.bitslips
        setting, checking, count = Signal(), self.checking, Signal(max=max(delays, slips))
        delay_moves, slip_moves, resets = self.moves
        last_delay, last_slip = self.delay == delays - 1, self.slip == slips - 1
        both = [NextValue(delay_moves, every), NextValue(slip_moves, every)]
        fsm.act("start", If(enable, *both, NextValue(resets, 3), NextState("move")))
        fsm.act(
            "move",
            NextValue(time, time + 1),
            NextValue(self.good, every),
            If(
                time == _MOVE - 1,
                NextState("trial"),
                If(setting & ~checking, NextState("set")),
            ),
        )
        fsm.act(
            "trial",
            NextValue(time, time + 1),
            If(
                time == _TRIAL - 1,
                NextValue(time, 0),
                NextValue(self.good, self.good & self.hit & self.burst_seen),
                NextValue(self.pattern, self.pattern + 1),
                If(
                    self.pattern == len(PATTERNS) - 1,
                    NextValue(self.pattern, 0),
                    NextState("judge"),
                ),
            ),
        )
        fsm.act(
            "judge",
            NextValue(self.delay, self.delay + 1),
            NextValue(delay_moves, every),
            NextValue(slip_moves, Replicate(last_delay, self.bytes)),
            NextValue(resets, Cat(last_delay, last_delay & last_slip)),
            NextState("move"),
            If(last_delay, NextValue(self.delay, 0), NextValue(self.slip, self.slip + 1)),
            If(last_delay & last_slip, NextValue(setting, 1)),
            If(
                checking,
                NextValue(self.failed, ~self.good | Cat(*(run[0] == 0 for run in self.best))),
                NextState("done"),
            ),
        )
        fsm.act(
            "set",
            NextValue(delay_moves, Cat(*(middle > count for _, middle, _ in self.best))),
            NextValue(slip_moves, Cat(*(slip > count for _, _, slip in self.best))),
            NextValue(resets, 0),
            NextValue(count, count + 1),
            If(count == max(delays, slips) - 1, NextValue(checking, 1)),
            NextState("move"),
        )
        fsm.act("done", self.done.eq(1))

    def _record(self) -> None:
        """Keep the longest run of delays of each byte."""
        judged = self.fsm.ongoing("judge") & ~self.checking
        for byte, (longest, middle, slip) in enumerate(self.best):
            run, length = Signal.like(longest), Signal.like(longest)
            self.comb += If(self.good[byte], length.eq(run + 1))
            self.sync += If(
                judged,
                run.eq(length),
                If(self.delay == self.settings.delays - 1, run.eq(0)),
                If(
                    length > longest,
                    longest.eq(length),
                    middle.eq(self.delay - (length >> 1)),
                    slip.eq(self.slip),
                ),
            )

    def _trial(self) -> None:
        """Write a burst, and read it."""
        phases, settings = self.dfi.phases, self.settings
        read, write = phases[settings.rdphase], phases[settings.wrphase]
        trial = self.fsm.ongoing("trial")
        for phase in phases:
            self.comb += [phase.cke.eq(1), phase.odt.eq(1), phase.reset_n.eq(1)]
        self.comb += If(
            trial,
            self.burst_clear.eq(self.time == _CLEAR),
            If(self.time == _ACTIVATE, phases[0].cs_n.eq(0), phases[0].ras_n.eq(0)),
            If(
                self.time == _WRITE,
                write.cs_n.eq(0),
                write.cas_n.eq(0),
                write.we_n.eq(0),
                write.wrdata_en.eq(1),
            ),
            If(self.time == _READ, read.cs_n.eq(0), read.cas_n.eq(0), read.rddata_en.eq(1)),
            If(
                self.time == _PRECHARGE,
                phases[0].cs_n.eq(0),
                phases[0].ras_n.eq(0),
                phases[0].we_n.eq(0),
                phases[0].address.eq(_ALL),
            ),
        )

    def _move(self) -> None:
        """Refresh the memory, and move delays and bit slips of bytes."""
        time, phase, resets = self.time, self.dfi.phases[0], self.moves[2]
        strobes = (self.delay_next, self.delay_reset), (self.slip_next, self.slip_reset)
        parts: list[Any] = []
        for number, (begin, strobe, end) in enumerate((_DELAY, _SLIP)):
            again = resets[number]
            next_, reset = strobes[number]
            parts += [
                If((time >= begin) & (time < end), self.select.eq(self.moves[number])),
                If(time == strobe, next_.eq(~again), reset.eq(again)),
            ]
        begin, end = _TOGETHER
        self.comb += If(
            self.fsm.ongoing("move"),
            If(time == _REFRESH, phase.cs_n.eq(0), phase.ras_n.eq(0), phase.cas_n.eq(0)),
            *parts,
            If((time >= begin) & (time < end), self.select.eq((1 << self.bytes) - 1)),
        )
