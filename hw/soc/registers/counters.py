"""Counters of the last start: 64 bits each, in memory, around one adder."""

from collections.abc import Mapping

from amaranth import Array, C, Cat, Module, Mux, Signal, Value
from amaranth.hdl import ShapeLike
from amaranth.lib import data, wiring
from amaranth.lib.memory import Memory
from amaranth.lib.wiring import In, Out

from hw.lib.shared_module import UNINITIALISED

__all__ = ["Counters"]


class Counters(wiring.Component):
    """Adds up events; each counter takes its turn at the adder, or when it is read.

    What it counts between two turns waits in a few bits: with up to 7 counters, and reads in no
    two successive cycles, that is 15 cycles at most. A value read is that before its cycle.

    Parameters
    ----------
    widths : mapping of str to int
        What: bits of an event of each counter, in the order of the map; up to 7 counters.

    Members
    -------
    i_clear : In(1)
        All counters become 0; events of this cycle do not count.
    i_restart : In(1)
        The upper halves kept become 0.
    en : In(1)
        Events of this cycle count.
    i : In
        Events, by counter.
    i_read, i_word, o : In(1), In, Out
        A word is read, and what it is, in the next cycle: the lower half of a counter, or the
        upper as it was when the lower was read last.
    """

    i_clear: Signal
    i_restart: Signal
    en: Signal
    i: data.View
    i_read: Signal
    i_word: Signal
    o: Signal

    def __init__(self, widths: Mapping[str, int]):
        if not 1 <= len(widths) <= 7:
            raise ValueError(f"widths must be of 1..7 counters, not {len(widths)}")
        self.widths = dict(widths)
        events: dict[str, ShapeLike] = dict(widths)
        super().__init__({
            "i_clear": In(1),
            "i_restart": In(1),
            "en": In(1),
            "i": In(data.StructLayout(events)),
            "i_read": In(1),
            "i_word": In(range(2 * len(widths))),
            "o": Out(32),
        })

    def _take_turns(
        self, m: Module, turns: int, known: Value
    ) -> tuple[Signal, Value, Signal, Signal, Signal]:
        """Return the next counter, a bit for each; this one; whether it is the same, and known.

        What is chosen is read, and what waits for it is taken, in the cycle before they are added.
        """
        turn, next_, chosen = (
            Signal(range(turns), name=name) for name in ("turn", "next", "chosen")
        )
        again, there = Signal(), Signal()
        read = self.i_word[1:]
        m.d.comb += [
            # That there is a read comes late.
            next_.eq(Mux(self.i_read, read, turn)),
            again.eq(Mux(self.i_read, read == chosen, turn == chosen)),
            there.eq(Mux(self.i_read, known.bit_select(read, 1), known.bit_select(turn, 1))),
        ]
        m.d.sync += chosen.eq(next_)
        with m.If(~self.i_read):
            m.d.sync += turn.eq(Mux(turn == turns - 1, 0, turn + 1))
        takes = [Mux(self.i_read, read == one, turn == one) for one in range(turns)]
        return next_, Cat(takes), chosen, again, there

    def elaborate(self, platform):
        m = Module()
        count = len(self.widths)
        # There is another turn before the same one comes again.
        turns = max(count, 2)
        known, seen = Signal(count), Signal(count)
        next_, takes, chosen, again, there = self._take_turns(m, turns, known)
        reads, upper = Signal(), Signal()
        m.d.sync += [reads.eq(self.i_read), upper.eq(self.i_word[0])]

        memories: list[Memory[int, Value]] = [
            Memory(shape=width, depth=turns, init=[], attrs={UNINITIALISED: "1"})
            for width in (64, 32)
        ]
        sums, uppers = memories
        m.submodules.sums, m.submodules.uppers = sums, uppers
        write, read = sums.write_port(), sums.read_port(domain="comb")
        stores, upper_half = uppers.write_port(), uppers.read_port(domain="comb")

        waiting: list[Value] = []
        for number, (name, width) in enumerate(self.widths.items()):
            rest = Signal(width + 4, name=f"{name}_rest")
            event = self.i[name] & self.en.replicate(width)
            m.d.sync += rest.eq(Mux(takes[number], event, event + rest))
            with m.If(self.i_clear):
                m.d.sync += rest.eq(0)
            waiting.append(rest)
        total, before = Signal(64), Signal(64, reset_less=True)
        added = Signal(max(map(len, waiting)), reset_less=True)
        m.d.sync += [before.eq(Mux(there, read.data, 0)), added.eq(Array(waiting)[next_])]
        with m.If(again):
            # What was read is written in this cycle.
            m.d.sync += before.eq(total)
        with m.If(self.i_clear):
            m.d.sync += [before.eq(0), added.eq(0)]
        m.d.comb += [
            read.addr.eq(next_),
            total.eq(before + added),
            write.addr.eq(chosen),
            write.data.eq(total),
            write.en.eq(~self.i_clear),
            stores.addr.eq(chosen),
            stores.data.eq(total[32:]),
            stores.en.eq(reads & ~upper),
            upper_half.addr.eq(chosen),
            self.o.eq(
                Mux(
                    upper,
                    upper_half.data & seen.bit_select(chosen, 1).replicate(32),
                    total[:32],
                )
            ),
        ]
        hot = Cat(chosen == number for number in range(count))
        m.d.sync += [
            known.eq(Mux(self.i_clear, C(0), known | hot)),
            seen.eq(Mux(self.i_restart, C(0), seen | (hot & stores.en.replicate(count)))),
        ]
        return m
