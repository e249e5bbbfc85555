"""One job at a time: loads, multiplies, adds up, requantises, stores."""

from typing import Any

from amaranth import Cat, Module, Mux, ResetInserter, Signal
from amaranth.lib import data, wiring
from amaranth.lib.wiring import In, Out, connect

from golden.soc.spec import CoprocessorSpec
from hw.cell import Cell
from hw.soc.axi import Axi4, Axi4Read, Axi4Write
from hw.soc.drain import Drain
from hw.soc.job import Requantising
from hw.soc.ledger import Ledger
from hw.soc.load import BIAS, BIAS_PARTS, A, B, Loader
from hw.soc.operand import Operand
from hw.soc.prepare import Prepare
from hw.soc.read import ReadMaster
from hw.soc.registers import ErrorLayout, JobLayout
from hw.soc.store import OperandStore
from hw.soc.sums import Sums
from hw.soc.tiles import BlockDone, SumsRequest, TileWalk
from hw.soc.unpack import Unpacker
from hw.soc.write import WriteMaster

__all__ = ["Core"]

_READ, _WRITE, _DESCRIPTOR = 16, 17, 18


class Core(wiring.Component):
    """Computes one product at a time, block by block.

    While a block is multiplied the next one is loaded, and the last one stored. After an error
    no burst begins any more; those under way are completed, and everything is as after reset.

    Parameters
    ----------
    spec : CoprocessorSpec
        What: bus, stores, requantiser.
    engine : wiring.Component
        How: the engine of that spec.

    Members
    -------
    m_axi : Out(Axi4)
        Memory.
    i_job : In(JobLayout)
        The job; does not change while one is under way.
    i_start : In(1)
        Begin; only while ``o_idle``.
    i_fetch, i_address : In
        Read the descriptor there instead; ``o_descriptor`` stands from ``o_done`` on.
    i_stop : In(1)
        Give up what is under way, and stay idle as long as it is high.
    o_idle : Out(1)
        No job is under way, and no burst.
    o_done : Out(1)
        The job has ended, in this one cycle; with an error if ``o_error.valid``.
    o_error : Out(ErrorLayout)
        What went wrong.
    o_events : Out
        For counters; what happens in this cycle.
    """

    EVENTS = ("compute", "stall_load", "stall_store", "read_beats", "write_beats", "macs")

    m_axi: wiring.PureInterface
    i_job: data.View
    i_start: Signal
    i_fetch: Signal
    i_address: Signal
    o_descriptor: data.View
    i_stop: Signal
    o_idle: Signal
    o_done: Signal
    o_error: data.View
    o_events: data.View
    _events: dict[str, Signal]

    def __init__(self, spec: CoprocessorSpec, engine: Any):
        self.spec = spec
        self.engine = engine
        self.operands = {side: Operand(spec, side) for side in "ab"}
        self.biases = OperandStore(
            "bias_bank",
            1,
            spec.bias_slices * spec.engine.n * spec.sum_bytes,
            spec.bias_words,
            BIAS_PARTS,
        )
        self.sums = Sums(spec)
        self.drain = Drain(spec)
        super().__init__({
            "m_axi": Out(Axi4(spec)),
            "i_job": In(JobLayout()),
            "i_start": In(1),
            "i_fetch": In(1),
            "i_address": In(64),
            "o_descriptor": Out(JobLayout()),
            "i_stop": In(1),
            "o_idle": Out(1),
            "o_done": Out(1),
            "o_error": Out(ErrorLayout),
            "o_events": Out(
                data.StructLayout({name: 64 if name == "macs" else 1 for name in self.EVENTS})
            ),
        })

    @property
    def cells(self) -> tuple[Cell, ...]:
        """Those of the engine, the stores and the requantiser."""
        stores = [operand.store for operand in self.operands.values()]
        if self.spec.bias:
            stores.append(self.biases)
        banks = [cell for store in stores for cell in store.cells]
        return (*self.engine.cells, *banks, *self.sums.cells, *self.drain.cells)

    def elaborate(self, platform):
        m = Module()
        spec = self.spec
        self._events = {name: Signal.like(self.o_events[name], name=name) for name in self.EVENTS}
        m.submodules.prepare = prepare = Prepare(spec)
        m.submodules.read = read = ReadMaster(spec)
        m.submodules.write = write = WriteMaster(spec)
        for master, channels in ((read, Axi4Read(spec)), (write, Axi4Write(spec))):
            for name, member in channels.members.items():
                port, own = getattr(self.m_axi, name), getattr(master.axi, name)
                m.d.comb += port.eq(own) if member.flow == Out else own.eq(port)

        # All of the datapath begins anew with each job.
        begin, stop, clear, done = Signal(), Signal(), Signal(), Signal()
        path = Module()
        m.submodules.path = ResetInserter(clear)(path)
        job = prepare.o_geometry
        m.d.comb += [
            prepare.i_job.eq(self.i_job),
            read.i_stop.eq(stop),
            write.i_stop.eq(stop),
            self._events["read_beats"].eq(read.o_beats),
            self._events["write_beats"].eq(write.o_beats),
            *(self.o_events[name].eq(event) for name, event in self._events.items()),
        ]
        error = data.View(ErrorLayout, Signal(ErrorLayout.as_shape().size, name="error"))
        asks, beats, fetches, gathers = (
            Signal(name=name) for name in ("asks", "beats", "fetches", "gathers")
        )
        row = self._move(path, job, begin, done, read, write, asks, beats)
        descriptor = self.o_descriptor.as_value()
        m.d.comb += [
            read.o.ready.eq(beats | gathers),
            read.i.valid.eq(asks | fetches),
            read.i.payload.address.eq(Mux(fetches, self.i_address, row.address)),
            read.i.payload.bytes.eq(Mux(fetches, len(descriptor) // 8, row.bytes)),
        ]
        with m.FSM():
            with m.State("IDLE"):
                m.d.comb += [self.o_idle.eq(1), clear.eq(1)]
                with m.If(self.i_stop):
                    m.next = "STOP"
                with m.Elif(self.i_start):
                    m.d.comb += prepare.i_start.eq(1)
                    m.d.sync += error.eq(0)
                    m.next = "PREPARE"
                with m.Elif(self.i_fetch):
                    m.d.sync += error.eq(0)
                    m.next = "FETCH"
            with m.State("FETCH"):
                m.d.comb += [clear.eq(1), fetches.eq(1)]
                with m.If(self.i_stop):
                    m.next = "STOP"
                with m.Elif(read.i.ready):
                    m.next = "FETCHING"
            with m.State("FETCHING"):
                m.d.comb += [clear.eq(1), gathers.eq(1)]
                with m.If(read.o.valid):
                    m.d.sync += descriptor.eq(
                        Cat(descriptor, read.o.payload.data)[spec.data_width :]
                    )
                with m.If(self.i_stop):
                    m.next = "STOP"
                with m.Elif(read.o.valid & read.o.payload.last):
                    m.next = "FETCHED"
            with m.State("FETCHED"):
                m.d.comb += clear.eq(1)
                m.next = "DONE"
                with m.If(read.o_error):
                    m.d.sync += [
                        error.valid.eq(1),
                        error.code.eq(_DESCRIPTOR),
                        error.response.eq(read.o_response),
                        error.address.eq(read.o_address),
                    ]
                    m.next = "STOP"
            with m.State("PREPARE"):
                m.d.comb += clear.eq(1)
                with m.If(prepare.o_done):
                    m.next = "BEGIN"
                    with m.If(prepare.o_error != 0):
                        m.d.sync += [error.valid.eq(1), error.code.eq(prepare.o_error)]
                        m.next = "DONE"
            with m.State("BEGIN"):
                m.d.comb += begin.eq(1)
                m.next = "RUN"
            with m.State("RUN"):
                with m.If(self.i_stop):
                    m.next = "STOP"
                with m.Elif(read.o_error | write.o_error):
                    for master, code in ((write, _WRITE), (read, _READ)):
                        with m.If(master.o_error):
                            m.d.sync += [
                                error.valid.eq(1),
                                error.code.eq(code),
                                error.response.eq(master.o_response),
                                error.address.eq(master.o_address),
                            ]
                    m.next = "STOP"
                with m.Elif(done & read.o_idle & write.o_idle):
                    m.next = "DONE"
            with m.State("STOP"):
                m.d.comb += [stop.eq(1), clear.eq(1)]
                with m.If(read.o_idle & write.o_idle):
                    m.next = "DONE"
                    with m.If(self.i_stop):
                        m.next = "STOPPED"
            with m.State("STOPPED"):
                m.d.comb += [self.o_idle.eq(1), stop.eq(1), clear.eq(1)]
                with m.If(~self.i_stop):
                    m.next = "IDLE"
            with m.State("DONE"):
                m.d.comb += [self.o_done.eq(1), clear.eq(1)]
                m.next = "IDLE"
        m.d.comb += self.o_error.eq(error)
        return m

    def _move(
        self,
        m: Module,
        job: data.View,
        begin: Signal,
        done: Signal,
        read: ReadMaster,
        write: WriteMaster,
        asks: Signal,
        beats: Signal,
    ) -> data.View:
        """Connect the way of an operand: memory, store, engine, sums, memory.

        Returns
        -------
        The row that is asked for, when `asks`; `beats` says that what comes can be taken.
        """
        spec = self.spec
        m.submodules.engine = engine = self.engine
        m.submodules.loader = loader = Loader(spec)
        m.submodules.tiles = tiles = TileWalk(spec, self.operands["a"], self.operands["b"])
        m.submodules.sums = sums = self.sums
        m.submodules.drain = drain = self.drain
        m.submodules.requests = requests = Ledger(SumsRequest(spec), 16)
        m.submodules.blocks = blocks = Ledger(BlockDone(spec), 4)
        m.d.comb += [part.i_geometry.eq(job) for part in (loader, tiles, sums, drain)]
        m.d.comb += [part.i_start.eq(begin) for part in (loader, tiles, drain)]
        connect(m, tiles.o_sums, requests.i)
        connect(m, requests.o, sums.i)
        connect(m, tiles.o_done, blocks.i)
        connect(m, blocks.o, drain.i)
        connect(m, engine.o_c, sums.i_rows)

        full, free = {}, {}
        for side, operand in self.operands.items():
            m.submodules[f"operand_{side}"] = operand
            m.submodules[f"requests_{side}"] = queue = Ledger(operand.request, 2)
            connect(m, getattr(tiles, f"o_{side}"), queue.i)
            connect(m, queue.o, operand.i)
            connect(m, operand.o, getattr(engine, f"i_{side}"))
            m.submodules[f"store_{side}"] = store = operand.store
            stride = job[f"{side}_stride"]
            m.d.comb += [
                store.i_stride.eq(stride),
                operand.i_stride.eq(stride),
                store.en.eq(operand.en),
                store.o_part.eq(operand.o_part),
                store.o_address.eq(operand.o_address),
                operand.i_words.eq(store.o),
                getattr(tiles, f"i_full_{side}").eq(store.o_full),
            ]
            full[side], free[side] = store, operand.o_release
        self._receive(m, loader, read, {A: full["a"], B: full["b"]}, asks, beats)
        m.d.comb += loader.i_free.eq(Cat(free["a"], free["b"], sums.o_bias_release))
        if spec.bias:
            self._add_bias(m, sums)

        m.d.comb += [
            sums.en.eq(drain.en),
            sums.i_half.eq(drain.o_half),
            sums.i_address.eq(drain.o_address),
            drain.i_row.eq(sums.o),
            drain.i_full.eq(sums.o_full),
            sums.i_free.eq(drain.o_free),
            write.i_data.valid.eq(drain.o.valid),
            write.i_data.payload.data.eq(drain.o.payload.data),
            write.i_data.payload.strb.eq(drain.o.payload.strb),
            drain.o.ready.eq(write.i_data.ready),
        ]
        connect(m, drain.o_rows, write.i)
        if spec.requantise:
            m.d.comb += drain.i_requantising.valid.eq(begin)
            for name, _ in Requantising(spec):
                source = self.i_job.mode.relu if name == "relu" else self.i_job[name]
                m.d.comb += drain.i_requantising.payload[name].eq(source)
        self._watch(m, engine, tiles)
        ended = Signal()
        with m.If(tiles.o_done.valid & tiles.o_done.ready & tiles.o_last):
            m.d.sync += ended.eq(1)
        m.d.comb += done.eq(ended & drain.o_idle)
        return loader.o.payload

    def _watch(self, m: Module, engine: Any, tiles: TileWalk) -> None:
        """Tell what happens: operands taken, or missing; sums that wait; products that count."""
        events = self._events
        area, codes = Signal(len(tiles.o_area)), Signal(len(tiles.o_codes))
        m.d.sync += [
            area.eq(tiles.o_area),
            codes.eq(tiles.o_codes),
            events["macs"].eq(area * codes),
        ]
        m.d.comb += [
            events["compute"].eq(engine.i_a.valid & engine.i_a.ready),
            events["stall_load"].eq(~(engine.i_a.valid & engine.i_b.valid)),
            events["stall_store"].eq(engine.o_c.valid & ~engine.o_c.ready),
        ]

    def _receive(
        self,
        m: Module,
        loader: Loader,
        read: ReadMaster,
        stores: dict[int, OperandStore],
        asks: Signal,
        beats: Signal,
    ) -> None:
        """Send the loader's rows to the bus, and what comes to their stores."""
        spec = self.spec
        if spec.bias:
            stores = {**stores, BIAS: self.biases}
            m.submodules.store_bias = self.biases
        beat = spec.bytes
        place = data.StructLayout({
            "offset": range(beat), "bytes": spec.LENGTH_WIDTH, "to": 2, "last": 1,
        })  # fmt: skip
        m.submodules.rows = rows = Ledger(place, 2 * spec.outstanding)
        row, next_ = loader.o.payload, rows.o.payload
        m.d.comb += [
            asks.eq(loader.o.valid & rows.i.ready),
            rows.i.valid.eq(loader.o.valid & read.i.ready),
            rows.i.payload.offset.eq(row.address),
            rows.i.payload.bytes.eq(row.bytes),
            rows.i.payload.to.eq(row.to),
            rows.i.payload.last.eq(row.last),
            loader.o.ready.eq(read.i.ready & rows.i.ready),
        ]
        # The row whose beats come now; the next one is told to its unpacker meanwhile.
        coming, to = Signal(), Signal(2)
        leaves = read.o.valid & read.o.ready & read.o.payload.last
        announce = Signal()
        m.d.comb += announce.eq(~coming | leaves)
        with m.If(leaves):
            m.d.sync += coming.eq(0)
        with m.If(rows.o.valid & rows.o.ready):
            m.d.sync += [coming.eq(1), to.eq(next_.to)]
        for number, store in stores.items():
            word_bytes = len(store.i.payload.data) // 8
            m.submodules[f"unpack{number}"] = unpacker = Unpacker(beat, word_bytes)
            m.submodules[f"ends{number}"] = ends = Ledger(data.StructLayout({"last": 1}), 4)
            mine, here = next_.to == number, coming & (to == number)
            m.d.comb += [
                unpacker.i_row.valid.eq(rows.o.valid & announce & mine & ends.i.ready),
                unpacker.i_row.payload.offset.eq(next_.offset),
                unpacker.i_row.payload.bytes.eq(next_.bytes),
                ends.i.valid.eq(rows.o.valid & announce & mine & unpacker.i_row.ready),
                ends.i.payload.last.eq(next_.last),
                unpacker.i.valid.eq(read.o.valid & here),
                unpacker.i.payload.eq(read.o.payload),
                ends.o.ready.eq(store.i.valid & store.i.payload.last),
                store.i_end.eq(ends.o.payload.last),
            ]
            connect(m, unpacker.o, store.i)
            with m.If(mine):
                m.d.comb += rows.o.ready.eq(announce & unpacker.i_row.ready & ends.i.ready)
            with m.If(here):
                m.d.comb += beats.eq(unpacker.i.ready)

    def _add_bias(self, m: Module, sums: Sums) -> None:
        """Read the biases of a tile's columns."""
        spec, store = self.spec, self.biases
        part, chosen = Signal(range(BIAS_PARTS)), Signal(range(spec.bias_slices))
        width = spec.engine.c_format.width
        with m.If(sums.o_bias_release):
            m.d.sync += part.eq(part + 1)
        m.d.sync += chosen.eq(sums.o_bias)
        words = store.o.word_select(chosen, spec.engine.n * 8 * spec.sum_bytes)
        m.d.comb += [
            store.en.eq(1),
            store.o_part.eq(part),
            store.o_address.eq(sums.o_bias // spec.bias_slices),
            sums.i_bias.eq(
                Cat(
                    words.word_select(column, 8 * spec.sum_bytes)[:width]
                    for column in range(spec.engine.n)
                )
            ),
        ]
