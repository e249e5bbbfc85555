"""A copy of a job, made part by part."""

from amaranth import Module, Mux, Signal, Value
from amaranth.lib import data, wiring
from amaranth.lib.memory import Memory
from amaranth.lib.wiring import In, Out

from golden.soc.spec import CoprocessorSpec
from hw.lib.shared_module import UNINITIALISED
from hw.soc.registers.coprocessor import ADDRESSES, PART, JobLayout

__all__ = ["JobSnapshot"]


class JobSnapshot(wiring.Component):
    """Holds a job, from registers or descriptor, while the next one may be written or read.

    Parameters
    ----------
    spec : CoprocessorSpec
        What: bits of a beat; windows, whose words are copied as all else is.

    Members
    -------
    o_part, i_word : Out, In
        The part of the registers' job to copy, and its bits.
    i_beat : In
        A beat of a descriptor, from its first one on.
    i_gathers : In(1)
        Copy beats, not the registers.
    i_addresses : In(1)
        Copy only addresses.
    i_first : In(1)
        The next part is the first one.
    en : In(1)
        Copy a part.
    o_last : Out(1)
        All but the addresses is copied with it; they follow, in the next cycles.
    o : Out(JobLayout)
        The copy, without the addresses before ``m``.
    i_matrix, o_address : In, Out
        One of the addresses, in the same cycle.
    """

    o_part: Signal
    i_word: Signal
    i_beat: Signal
    i_gathers: Signal
    i_addresses: Signal
    i_first: Signal
    en: Signal
    o_last: Signal
    o: data.View
    i_matrix: Signal
    o_address: Signal

    def __init__(self, spec: CoprocessorSpec):
        self.spec = spec
        # Words of windows are where scales are in other builds.
        first = JobLayout()["a_scales" if spec.windows else "m"]
        self.addresses = first.offset // PART
        super().__init__({
            "o_part": Out(range(JobLayout().size // PART)),
            "i_word": In(PART),
            "i_beat": In(spec.data_width),
            "i_gathers": In(1),
            "i_addresses": In(1),
            "i_first": In(1),
            "en": In(1),
            "o_last": Out(1),
            "o": Out(JobLayout()),
            "i_matrix": In(range(ADDRESSES)),
            "o_address": Out(PART),
        })

    def elaborate(self, platform):
        m = Module()
        layout = JobLayout()
        size, beat = layout.size, self.spec.data_width
        part = Signal(range(size // min(beat, PART)))
        job = Signal(size, reset_less=True)
        both = max(beat, PART)
        words, beats = self.i_word.replicate(both // PART), self.i_beat.replicate(both // beat)
        incoming, copies, more = Signal(both), Signal(), Signal()
        parts = size // PART
        ahead = self.addresses
        start = ahead * PART
        # The place of what is copied.
        now = Mux(self.i_gathers, part, self.o_part)
        m.d.comb += [
            self.o.eq(job),
            # Addresses, which are looked at last, are copied last.
            self.o_part.eq(part + ahead),
            self.o_last.eq(part == parts - ahead - 1),
            copies.eq(self.en | more),
            incoming.eq(Mux(self.i_gathers, beats, words)),
        ]
        with m.If(self.i_first):
            m.d.sync += part.eq(0)
        with m.Elif(copies):
            m.d.sync += part.eq(part + 1)
        with m.If(self.i_first):
            m.d.sync += more.eq(0)
        with m.Elif(copies & ~self.i_gathers):
            m.d.sync += more.eq((self.o_last | more) & (part != parts - 1))
        self._store_addresses(m, part, copies, incoming)
        step = min(beat, PART)
        others = Signal()
        m.d.comb += others.eq(copies & ~self.i_addresses)
        for low in range(start, size, step):
            with m.If(others & (now == Mux(self.i_gathers, low // beat, low // PART))):
                m.d.sync += job[low : low + step].eq(incoming[low % both : low % both + step])
        return m

    def _store_addresses(self, m: Module, part: Value, copies: Value, incoming: Value) -> None:
        """Write addresses into a memory as they come, and read the one that is wanted."""
        beat, both, ahead = self.spec.data_width, len(incoming), self.addresses
        start, step = ahead * PART, min(beat, PART)
        # Addresses are read one by one: they are in memory.
        rows = start // both + 1
        addresses: Memory[int, Value] = Memory(
            shape=both, depth=max(rows, 2), init=[], attrs={UNINITIALISED: "1"}
        )
        m.submodules.addresses = addresses
        write, read = addresses.write_port(granularity=step), addresses.read_port(domain="comb")
        m.d.comb += [
            write.addr.eq(
                Mux(self.i_gathers, part // (both // beat), self.o_part // (both // PART))
            ),
            write.data.eq(incoming),
            read.addr.eq(self.i_matrix // (both // PART)),
            self.o_address.eq(read.data.word_select(self.i_matrix % (both // PART), PART)),
        ]
        for lane in range(both // step):
            bits = lane * step
            hit = Mux(
                self.i_gathers,
                part % (both // beat) == bits // beat,
                self.o_part % (both // PART) == bits // PART,
            )
            inside = Mux(self.i_gathers, part < -(-start // beat), self.o_part < ahead)
            m.d.comb += write.en[lane].eq(copies & hit & inside)
