"""A list of places: read before all else of its job, checked, and kept on chip; or one place."""

from amaranth import Module, Mux, Signal
from amaranth.lib import data, stream, wiring
from amaranth.lib.memory import Memory
from amaranth.lib.wiring import In, Out

from golden.soc.spec import CoprocessorSpec
from hw.lib.shared_module import UNINITIALISED
from hw.soc.bus.burst import Beat
from hw.soc.schedule.destination import Destination
from hw.soc.schedule.geometry import PLACE_BYTES, Geometry, last_of_list
from hw.soc.schedule.row_request import Bases, RowRequest

__all__ = ["ListReader"]

_BITS = 8 * PLACE_BYTES


class ListReader(wiring.Component):
    """Requests the list of each job that has one, and has the job begin when it is there.

    Places come one in a cycle. They are right if they rise, and are less than K; of places behind
    the count, which comes last, nothing is asked. A list that is wrong begins no job. Of a job that
    chooses one of several B there is one place, which is multiplied by the bytes from one B to the
    next, a bit in a cycle.

    Parameters
    ----------
    spec : CoprocessorSpec
        What: the bus, places of a list.

    Members
    -------
    i_geometry : In
        The job.
    i_base : In
        :class:`hw.soc.schedule.row_request.Bases`: of the list, before ``i_start``.
    i_start : In(1)
        A job with a list begins; only while not ``o_waits``.
    o_waits, o_begin : Out(1)
        It waits for its list; it begins, for one cycle.
    o_above, o_none : Out
        The places of the list less one, or 0, and whether there are none; from ``o_begin`` on.
    o_beyond : Out
        Bytes from the first B to the one that is chosen, from then on; where jobs choose.
    o_wrong : Out(1)
        The list is none, or there is no such B; until a reset.
    row : Out(stream)
        :class:`RowRequest`: the list; while ``o_waits``.
    i : In(stream)
        :class:`hw.soc.bus.burst.Beat`: what was read.
    i_at, o_place : In, Out
        A number of a place, and in the next cycle the place.
    """

    i_geometry: data.View
    i_base: data.View
    i_start: Signal
    o_waits: Signal
    o_begin: Signal
    o_above: Signal
    o_none: Signal
    o_wrong: Signal
    o_beyond: Signal
    row: stream.Interface
    i: stream.Interface
    i_at: Signal
    o_place: Signal

    def __init__(self, spec: CoprocessorSpec):
        self.spec = spec
        places = range(max(spec.lists, 2))
        super().__init__({
            "i_geometry": In(Geometry(spec)),
            "i_base": In(Bases(spec)),
            "i_start": In(1),
            **dict.fromkeys(("o_waits", "o_begin", "o_none", "o_wrong"), Out(1)),
            "o_above": Out(spec.dimension_width),
            **({"o_beyond": Out(spec.address_width)} if spec.top_k else {}),
            "row": Out(stream.Signature(RowRequest(spec))),
            "i": In(stream.Signature(Beat(spec.data_width))),
            "i_at": In(places),
            "o_place": Out(places),
        })

    def elaborate(self, platform):
        m = Module()
        row, width = self.row.payload, self.spec.address_width
        base, following = (
            Signal(width, name=name, reset_less=True) for name in ("base", "following")
        )
        comes, last, (wrong, count) = Signal(), Signal(), self._keep(m)
        size = last_of_list(self.i_geometry.k) + 1
        with m.If(self.i_base.valid & (self.i_base.to == Destination.PLACES)):
            m.d.sync += following.eq(self.i_base.address)
        m.d.comb += [
            row.address.eq(base),
            row.bytes.eq(Mux(self.i_geometry.chosen, PLACE_BYTES, size) if self._chooses else size),
            row.to.eq(Destination.PLACES),
            row.last.eq(1),
            comes.eq(self.i.valid & self.i.ready),
            last.eq(comes & self.i.payload.last),
        ]
        with m.FSM():
            with m.State("IDLE"), m.If(self.i_start):
                m.d.sync += base.eq(following)
                m.next = "ASK"
            with m.State("ASK"):
                m.d.comb += [self.o_waits.eq(1), self.row.valid.eq(1)]
                with m.If(self.row.ready):
                    m.next = "COME"
            with m.State("COME"):
                m.d.comb += self.o_waits.eq(1)
                with m.If(last):
                    m.next = "LOOK"
            with m.State("LOOK"):
                m.d.comb += self.o_waits.eq(1)
                m.next = "LOAD" if self._chooses else "BEGIN"
                with m.If(wrong):
                    m.next = "WRONG"
            if self._chooses:
                self._multiply(m, count)
            with m.State("BEGIN"):
                m.d.comb += [self.o_waits.eq(1), self.o_begin.eq(1)]
                m.next = "IDLE"
            with m.State("WRONG"):
                m.d.comb += [self.o_waits.eq(1), self.o_wrong.eq(1)]
        return m

    @property
    def _chooses(self) -> bool:
        """Whether jobs choose one of several B."""
        return self.spec.top_k > 0

    def _multiply(self, m: Module, place: Signal) -> None:
        """Multiply a place by the bytes from one B to the next; of a list by none."""
        left, step = Signal.like(place, name="left"), Signal.like(self.o_beyond, name="step")
        with m.State("LOAD"):
            m.d.comb += self.o_waits.eq(1)
            m.d.sync += [step.eq(self.i_geometry.ldsa), self.o_beyond.eq(0)]
            m.d.sync += left.eq(Mux(self.i_geometry.chosen, place, 0))
            m.next = "MULTIPLY"
        with m.State("MULTIPLY"):
            m.d.comb += self.o_waits.eq(1)
            m.d.sync += [left.eq(left >> 1), step.eq(step << 1)]
            with m.If(left[0]):
                m.d.sync += self.o_beyond.eq(self.o_beyond + step)
            with m.If(left == 0):
                m.next = "BEGIN"

    def _keep(self, m: Module) -> tuple[Signal, Signal]:
        """Write places that come, one by one; return whether they are wrong, and the last word."""
        size, k = self.spec.dimension_width, self.i_geometry.k
        each = self.spec.bytes // PLACE_BYTES
        memory: Memory[int, Signal] = Memory(
            shape=len(self.o_place),
            depth=max(self.spec.lists, 2),
            init=[],
            attrs={UNINITIALISED: "1"},
        )
        m.submodules.places = memory
        write, read = memory.write_port(), memory.read_port()
        # The word of the list that comes, its place in a beat, and the least place that is right.
        number, slot, least = Signal(size + 1), Signal(range(each)), Signal(size + 1)
        word, counts, right = Signal(_BITS), Signal(), Signal(init=1)
        # Places that are right, before the first one that is not; all of them; how many there are.
        good, wrong, count = Signal(size + 1), Signal(), Signal(_BITS, reset_less=True)
        ends, fails = number == k + 1, count > good
        if self._chooses:
            chosen = self.i_geometry.chosen
            ends, fails = chosen | ends, Mux(chosen, count >= self.i_geometry.ldsb, fails)
        m.d.comb += [
            word.eq(self.i.payload.data.word_select(slot, _BITS)),
            counts.eq(ends),
            write.en.eq(self.i.valid & ~counts),
            write.addr.eq(number),
            write.data.eq(word),
            read.addr.eq(self.i_at),
            self.o_place.eq(read.data),
            self.i.ready.eq(counts | (slot == each - 1)),
            wrong.eq(fails),
            self.o_none.eq(count == 0),
            self.o_above.eq(Mux(self.o_none, 0, count - 1)),
        ]
        with m.If(self.i.valid):
            m.d.sync += [number.eq(number + 1), slot.eq(slot + 1), least.eq(word + 1)]
            with m.If((word < least) | (word > k)):
                m.d.sync += right.eq(0)
            with m.Elif(right & ~counts):
                m.d.sync += good.eq(number + 1)
            with m.If(counts):
                m.d.sync += [count.eq(word), number.eq(0), slot.eq(0), least.eq(0), right.eq(1)]
        with m.If(self.i_start):
            m.d.sync += good.eq(0)
        return wrong, count
