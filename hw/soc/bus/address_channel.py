"""Address channel of a bus master: issues bursts, and tracks them until they complete."""

from amaranth import C, Module, Mux, ResetInserter, Signal
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out, connect

from golden.soc.bus import BusSpec
from hw.lib.fifo import Fifo
from hw.soc.bus.burst import Burst, Row, Splitter, extent

__all__ = ["AddressChannel"]


class AddressChannel(wiring.Component):
    """Issues the bursts of rows, and tracks outstanding bursts until their responses.

    Latency, row to its first address: :attr:`latency` cycles. Throughput: one burst per cycle.
    Stalls end in the queue of rows; without one, ``o.ready`` reaches ``i.ready`` combinationally.

    Parameters
    ----------
    spec : BusSpec
        What: the bus; a burst is outstanding from the cycle in which ``o.valid`` rises.
    queue : int
        How: rows that wait; 0: there is no queue, and an address comes a cycle earlier.
    urgent : bool
        What: there is ``i_urgent``.

    Members
    -------
    i_stop : In(1)
        Discards rows and the error; no burst is issued until all outstanding ones are answered,
        even if it falls earlier. An address already valid stays valid.
    i : In(stream)
        :class:`hw.soc.bus.burst.Row`.
    i_urgent : In(stream)
        The same: it waits for the rows in the queue, not for a place in it.
    o : Out(stream)
        :class:`hw.soc.bus.burst.Burst`, from registers.
    o_drop : Out(1)
        ``i_stop``, or bursts from before it are outstanding.
    o_idle : Out(1)
        No burst is outstanding and no row waits.
    o_open : Out(1)
        A burst is outstanding.
    o_begin, o_length : Out(1), Out(8)
        A burst begins; its address is valid from the next cycle on. Its beats minus one.
    o_last, o_other : Out(1)
        The oldest outstanding burst ends its row; is of a row that is ``other``.
    i_offer, i_answer, i_response, i_end : In(1), In(1), In(2), In(1)
        A response to the oldest burst is there, and stays; it is taken; it completes the burst.
    i_late : In(1)
        There is no response to the oldest burst, for too long, nor in this cycle: an error, with 0
        as the response. The burst stays outstanding.
    o_final : Out(1)
        A job's ``final`` row is complete, and so are all rows of that job, without an error.
    o_error, o_error_other, o_response, o_address : Out(1), Out(1), Out(2), Out
        A response was SLVERR or DECERR, or late; whether its row is ``other``; the first such
        response, and its burst's address. One to a row that is not ``other`` takes the place of one
        that is, as to response and address once it is there.
    """

    i_stop: Signal
    i: stream.Interface
    i_urgent: stream.Interface
    o: stream.Interface
    o_drop: Signal
    o_idle: Signal
    o_open: Signal
    o_begin: Signal
    o_length: Signal
    o_last: Signal
    o_other: Signal
    i_offer: Signal
    i_answer: Signal
    i_response: Signal
    i_end: Signal
    i_late: Signal
    o_final: Signal
    o_error: Signal
    o_error_other: Signal
    o_response: Signal
    o_address: Signal

    def __init__(self, spec: BusSpec, *, queue: int = 2, urgent: bool = False):
        self.spec = spec
        self.urgent = urgent
        self.rows = Fifo(Row(spec), queue)
        self.splitter = Splitter(spec)
        self.pending = Fifo(
            data.StructLayout({"address": spec.address_width, "last": 1, "final": 1, "other": 1}),
            spec.outstanding,
        )
        super().__init__({
            "i_stop": In(1),
            "i": In(stream.Signature(Row(spec))),
            **({"i_urgent": In(stream.Signature(Row(spec)))} if urgent else {}),
            "o": Out(stream.Signature(Burst(spec))),
            "o_drop": Out(1),
            "o_idle": Out(1),
            "o_open": Out(1),
            "o_begin": Out(1),
            "o_length": Out(8),
            "o_last": Out(1),
            "o_other": Out(1),
            "i_offer": In(1),
            "i_answer": In(1),
            "i_response": In(2),
            "i_end": In(1),
            "i_late": In(1),
            "o_final": Out(1),
            "o_error": Out(1),
            "o_error_other": Out(1),
            "o_response": Out(2),
            "o_address": Out(spec.address_width),
        })

    @property
    def latency(self) -> int:
        """Cycles from a row to its first address."""
        return 3 if self.rows.depth else 2

    def elaborate(self, platform):
        m = Module()
        m.submodules.rows = rows = ResetInserter(self.o_drop)(self.rows)
        m.submodules.splitter = splitter = self.splitter
        m.submodules.pending = pending = self.pending
        burst, oldest = splitter.o.payload, pending.o.payload
        # `keep`: else synthesis would merge this table with those that follow it.
        held, go = Signal(), Signal(attrs={"keep": 1})
        queued = rows.o.valid if rows.depth else C(0, 1)
        wrong, failed, counts = Signal(), Signal(), Signal()
        layout = Burst(self.spec)
        offered = data.View(layout, Signal(layout.size, name="offered", reset_less=True))
        m.d.comb += [
            self.o.payload.eq(offered),
            self.o_drop.eq(self.i_stop | held),
            self.o_open.eq(pending.o.valid),
            self.o_idle.eq(~pending.o.valid & ~splitter.o.valid & ~queued),
            splitter.i_clear.eq(self.o_drop),
            rows.i.valid.eq(self.i.valid),
            rows.i.payload.eq(self.i.payload),
            self.i.ready.eq(rows.i.ready & ~self.o_drop),
            go.eq(~self.o.valid | self.o.ready),
            # What is dropped may leave the splitter, too.
            splitter.o.ready.eq(go & pending.i.ready),
            pending.i.valid.eq(go & splitter.o.valid & ~self.o_drop),
            *(pending.i.payload[name].eq(burst[name]) for name, _ in pending.i.payload.shape()),
            pending.o.ready.eq(self.i_answer & self.i_end),
            self.o_begin.eq(pending.i.valid & pending.i.ready),
            self.o_length.eq(burst.length),
            self.o_last.eq(oldest.last),
            self.o_other.eq(oldest.other),
            wrong.eq((self.i_answer & self.i_response[1]) | self.i_late),
            failed.eq(self.o_error & ~self.o_error_other),
            counts.eq(~self.o_drop & ~failed & (~self.o_error | ~oldest.other)),
            self.o_final.eq(pending.o.ready & oldest.last & oldest.final & ~wrong & ~failed),
        ]
        self._split(m)
        m.d.sync += held.eq(self.o_drop & pending.o.valid)
        with m.If(self.o_begin):
            m.d.sync += [self.o.valid.eq(1), offered.eq(burst)]
        with m.Elif(self.o.ready):
            m.d.sync += self.o.valid.eq(0)

        with m.If(self.o_drop):
            m.d.sync += self.o_error.eq(0)
        with m.Elif(wrong & counts):
            m.d.sync += [self.o_error.eq(1), self.o_error_other.eq(oldest.other)]
        # Many registers, which do not wait for stalls: what is wrong with a response that is there
        # is so when it is taken.
        with m.If(((self.i_offer & self.i_response[1]) | self.i_late) & counts):
            m.d.sync += [
                self.o_response.eq(self.i_response & ~self.i_late.replicate(2)),
                self.o_address.eq(oldest.address),
            ]
        return m

    def _split(self, m: Module) -> None:
        """Split rows into bursts, and urgent ones between them."""
        rows, splits, size = self.rows, self.splitter.i, self.splitter.i_extent
        row_size = extent(self.spec, rows.o.payload)
        if not self.urgent:
            connect(m, rows.o, splits)
            m.d.comb += size.eq(row_size)
            return
        urgent, comes = self.i_urgent, Signal()
        # Rows that were in the queue before it.
        before = Signal.like(rows.o_level, name="before")
        enters, leaves = (end.valid & end.ready for end in (rows.i, rows.o))
        m.d.comb += [
            comes.eq(urgent.valid & (before == 0)),
            splits.valid.eq(rows.o.valid | comes),
            splits.payload.eq(Mux(comes, urgent.payload, rows.o.payload)),
            # Each by itself: the choice of a row is late.
            size.eq(Mux(comes, extent(self.spec, urgent.payload), row_size)),
            rows.o.ready.eq(splits.ready & ~comes),
            urgent.ready.eq(splits.ready & (before == 0) & ~self.o_drop),
        ]
        with m.If(self.o_drop):
            m.d.sync += before.eq(0)
        with m.Elif(urgent.valid & ~urgent.ready):
            m.d.sync += before.eq(before - leaves)
        with m.Else():
            m.d.sync += before.eq(rows.o_level + enters - leaves)
