"""The data path of a job: memory, operand stores, engine, sum store, memory."""

from typing import Any

from amaranth import C, Module, Mux, Signal, Value
from amaranth.hdl import ShapeLike
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out, connect, flipped

from golden.soc.spec import CoprocessorSpec
from hw.lib.fifo import Fifo
from hw.lib.shared_module import SharedModule
from hw.soc.bus.burst import Beat, Row
from hw.soc.bus.packer import Packed
from hw.soc.path.accumulate_in import connect_addends
from hw.soc.path.array_domain import ArrayDomain
from hw.soc.path.column_values import add_bias, scale
from hw.soc.path.cut_windows import cut_windows
from hw.soc.path.greatest_sum import events, report_sums
from hw.soc.path.group_connections import connect_groups, powers_of, scale_store
from hw.soc.path.listed_rows import ListState, connect_lists, rows_requested
from hw.soc.path.load_router import LoadRouter
from hw.soc.path.operand_feed import OperandFeed
from hw.soc.path.packed_connections import PackedState, connect_packed
from hw.soc.path.requantiser_build import RequantiserBuild, stopping_family
from hw.soc.path.result_writer import ResultWriter
from hw.soc.path.row_factors import RowFactors
from hw.soc.path.share_shift import share_shift
from hw.soc.path.table_rows import connect_tables, table_rows
from hw.soc.path.vector_connections import connect_vector_rows
from hw.soc.path.vector_rows import VectorRows
from hw.soc.path.word_columns import connect_columns
from hw.soc.registers.coprocessor import JobLayout
from hw.soc.schedule.block_done import BlockDone
from hw.soc.schedule.block_walk import Block
from hw.soc.schedule.destination import Destination, of_tables
from hw.soc.schedule.geometry import Geometry
from hw.soc.schedule.loader import Loader, parts
from hw.soc.schedule.row_request import Bases, joins_rows
from hw.soc.schedule.sides import sides, stride_of
from hw.soc.schedule.tile_walk import SumsRequest, TileWalk
from hw.soc.stores.codebooks import Codebooks
from hw.soc.stores.column_store import ColumnStore
from hw.soc.stores.sum_store import SumStore

__all__ = ["Datapath", "events"]


_DESTINATIONS = {name: Destination[name.upper()] for name in ("a", "b", "a_scales", "b_scales")}


class Datapath(wiring.Component):
    """Loads blocks, multiplies, accumulates, requantises, writes back; a reset restarts it.

    Parameters
    ----------
    spec : CoprocessorSpec
        What: bus, stores, requantiser.
    engine : wiring.Component
        How: the engine of that spec.
    build : RequantiserBuild
        How: from sums to codes; if lean, no more than the queues that are needed, of one entry.
    vector : VectorUnit
        How: the vector unit of that spec, or None.

    Members
    -------
    i_geometry, i_job : In
        The job that runs: derived values, and the arguments as given.
    i_load_geometry, i_load_job : In
        The job that is loaded.
    i_start, i_run : In(1)
        Begin to load; only while ``o_ready``, as the jobs begun but for the addresses, or while
        ``o_free``, and as at most the fourth that is not written yet. Run what has begun.
    i_hold : In(1)
        A of the job that is loaded is not there yet.
    o_asked, o_ready : Out(1)
        All rows of the jobs begun have been requested; and those of a vector job written.
    o_free : Out(1)
        Nothing is loaded any more for the jobs begun, and it has been used.
    o_ahead : Out(1)
        The job to be loaded may be ahead, but for what is written: both are products or the one
        that runs has requested all rows, and this one adds nothing to C.
    i_base : In
        :class:`hw.soc.schedule.row_request.Bases`: addresses of the job, before ``i_start``; not
        valid while ``o_writes``.
    o_writes : Out(1)
        A memory that keeps addresses is written in this cycle.
    o_row : Out(stream)
        :class:`hw.soc.bus.burst.Row`, to read.
    i : In(stream)
        :class:`hw.soc.bus.burst.Beat`: the data read.
    o_rows : Out(stream)
        :class:`hw.soc.bus.burst.Row`, to write.
    o : Out(stream)
        :class:`hw.soc.bus.packer.Packed`: the data to write.
    o_done : Out(1)
        All rows of the jobs begun have been handed to the bus.
    o_beyond : Out(1)
        An index is beyond a gather's table; no more of it is read or written. Where jobs gather.
    o_final : Out(1)
        The last row of a job is beyond a map's edges, and not read; all before it have come.
    o_events : Out
        Events of this cycle: operand beats, stalls for operands or for space for sums, useful
        products, NaN sums; the greatest sum, if built; beats, products and stalls for operands are
        those of all cycles of the array's clock in it.
    """

    i_geometry: data.View
    i_job: data.View
    i_load_geometry: data.View
    i_load_job: data.View
    i_start: Signal
    i_run: Signal
    i_hold: Signal
    o_asked: Signal
    o_ready: Signal
    o_free: Signal
    o_ahead: Signal
    i_base: data.View
    o_writes: Signal
    o_row: stream.Interface
    i: stream.Interface
    o_rows: stream.Interface
    o: stream.Interface
    o_done: Signal
    o_beyond: Signal
    o_final: Signal
    o_events: data.View

    def __init__(
        self, spec: CoprocessorSpec, engine: Any, build: RequantiserBuild, vector: Any = None
    ):
        self.spec = spec
        self.lean = lean = build.lean
        self.ahead = spec.follows_ring and not lean
        """A job is loaded while the one before runs."""
        self.engine = engine
        family = stopping_family(engine)
        slices = 1 if family is None else family.reads_slices
        self.operands = {
            name: OperandFeed(spec, side, slices=slices, lean=lean)
            for name, side in sides(spec).items()
        }
        self.sum_store = SumStore(spec, copies=build.sum_copies)
        self.result_writer = ResultWriter(spec, build, blocks=family)
        self.vector_rows = None if spec.vector is None else VectorRows(spec, vector)
        self.table_rows = table_rows(spec)
        self.codebooks = Codebooks(spec) if spec.inside.expander.table_bytes else None
        self.packed, self.lists = PackedState.make(), ListState.make()
        self.row_factors = RowFactors(spec, build) if spec.row_factors else None
        self.columns = scale_store(spec, build.requantisers)
        most = parts(spec)
        if spec.bias:
            self.columns[Destination.BIAS] = ColumnStore(
                spec, "bias_bank", spec.sum_bytes, most[Destination.BIAS], spec.inside.n
            )
        if spec.requantises_columns:
            of_records = spec.RECORD_BYTES, most[Destination.RECORD], build.requantisers
            self.columns[Destination.RECORD] = ColumnStore(spec, "record_bank", *of_records)
        super().__init__({
            "i_geometry": In(Geometry(spec)),
            "i_job": In(JobLayout()),
            "i_load_geometry": In(Geometry(spec)),
            "i_load_job": In(JobLayout()),
            **dict.fromkeys(("i_start", "i_run", "i_hold"), In(1)),
            **dict.fromkeys(("o_asked", "o_ready", "o_free", "o_ahead"), Out(1)),
            "i_base": In(Bases(spec)),
            "o_writes": Out(1),
            "o_row": Out(stream.Signature(Row(spec))),
            "i": In(stream.Signature(Beat(spec.data_width))),
            "o_rows": Out(stream.Signature(Row(spec))),
            "o": Out(stream.Signature(Packed(spec.bytes))),
            "o_done": Out(1),
            **({"o_beyond": Out(1)} if spec.gather else {}),
            **({"o_final": Out(1)} if joins_rows(spec) else {}),
            "o_events": Out(data.StructLayout(events(spec))),
        })

    @property
    def event_bits(self) -> dict[str, int]:
        """Bits of what is counted in a cycle; of products, of the most that there are."""
        products = self.spec.array_clock * self.operands["a"].most_products
        return events(self.spec) | {"macs": products.bit_length()}

    @property
    def shared_modules(self) -> tuple[SharedModule, ...]:
        """Those of the engine, the stores and the requantiser."""
        parts: list[Any] = [operand.store for operand in self.operands.values()]
        parts += [*self.columns.values(), self.row_factors]
        banks = [cell for part in parts if part is not None for cell in part.shared_modules]
        units = () if self.vector_rows is None else self.vector_rows.unit.shared_modules
        return (
            *self.engine.shared_modules,
            *units,
            *banks,
            *self.sum_store.shared_modules,
            *self.result_writer.shared_modules,
        )

    def elaborate(self, platform):
        m = Module()
        spec, job, loaded = self.spec, self.i_geometry, self.i_load_geometry
        array = ArrayDomain(m, spec)
        array.place("engine", self.engine)
        m.submodules.loader = loader = Loader(spec, lean=self.lean)
        m.submodules.tile_walk = tiles = TileWalk(spec, sides(spec))
        m.submodules.sum_store = sums = self.sum_store
        m.submodules.result_writer = writer = self.result_writer
        m.submodules.requests = requests = self._queue(SumsRequest(spec), 16, 0)
        m.submodules.loads = loads = self._queue(Block(spec), 2 * spec.PARTS)
        m.submodules.blocks = blocks = self._queue(BlockDone(spec), 4)
        of_array = array.still(job, "job")
        m.d.comb += [tiles.i_geometry.eq(job), sums.i_geometry.eq(job), writer.i_geometry.eq(job)]
        m.d.comb += [operand.i_geometry.eq(of_array) for operand in self.operands.values()]
        m.d.comb += [loader.i_geometry.eq(loaded), loader.i_hold.eq(self.i_hold)]
        # Vector jobs have nothing to do with the engine.
        starts, runs = self.i_start, self.i_run
        if self.vector_rows is not None:
            starts, runs = (Signal(name=f"{name}_product") for name in ("starts", "runs"))
            m.d.comb += starts.eq(self.i_start & ~self._vector(self.i_load_job))
            m.d.comb += runs.eq(self.i_run & ~self.of_rows)
        m.d.comb += [part.i_start.eq(starts) for part in (loader, writer)]
        m.d.comb += [part.i_base.eq(self.i_base) for part in (loader, writer)]
        m.d.comb += self.o_writes.eq(loader.o_writes | writer.o_writes)
        connect(m, loader.o_block, loads.i)
        connect(m, tiles.o_sums, requests.i)
        connect(m, requests.o, sums.i)
        connect(m, tiles.o_done, blocks.i)
        connect(m, blocks.o, writer.i)
        self._feed(m, tiles, array)
        self._receive(m, loader, tiles)
        array.multiply(self, of_array, share_shift(m, self))
        m.d.comb += [
            loader.i_free[_DESTINATIONS[name]].eq(array.released(operand.o_release, name))
            for name, operand in self.operands.items()
        ]
        m.d.comb += [
            loader.i_free[Destination.BIAS].eq(sums.o_bias_release),
            loader.i_free[Destination.RECORD].eq(writer.sums.free & job.per_column),
            loader.i_free[Destination.ADDEND].eq(writer.sums.free & job.accumulate),
        ]
        if Destination.BIAS in self.columns:
            add_bias(m, self, self.columns[Destination.BIAS])
        if spec.requantise:
            scale(m, self)
        connect_columns(m, self)
        connect(m, writer.sums, sums.read)
        connect(m, writer.o, flipped(self.o))
        connect(m, writer.o_rows, flipped(self.o_rows))
        running = self._report(m, loader, tiles, runs, array)
        # Blocks of a job that is loaded, and does not run, wait.
        goes: Value = running if self.ahead else C(1, 1)
        m.d.comb += [
            tiles.i_block.valid.eq(loads.o.valid & goes),
            tiles.i_block.payload.eq(loads.o.payload),
            loads.o.ready.eq(tiles.i_block.ready),
        ]
        return m

    def _feed(self, m: Module, tiles: TileWalk, array: ArrayDomain) -> None:
        """Read operands from their stores as the walk through the tiles requests them."""
        spec, job = self.spec, self.i_geometry
        for name, operand in self.operands.items():
            array.place(f"operand_{name}", operand)
            m.submodules[f"store_{name}"] = store = operand.store
            # Tiles of one beat may come in each cycle, and each side may miss one: with two places,
            # the sides would wait for each other in turn.
            queue = array.requests(operand.request, 0 if self.lean else 4)
            m.submodules[f"requests_{name}"] = queue
            connect(m, getattr(tiles, f"o_{name}"), queue.i)
            connect(m, queue.o, operand.i)
            m.d.comb += [
                store.i_stride.eq(stride_of(spec, self.i_load_geometry, operand.side)),
                operand.i_stride.eq(
                    array.still(stride_of(spec, job, operand.side), f"{name}_stride")
                ),
                store.en.eq(operand.en),
                store.o_part.eq(operand.o_part),
                store.o_address.eq(operand.o_address),
                store.o_slice.eq(operand.o_slice),
                operand.i_words.eq(store.o),
                operand.i_filled.eq(array.filled(store.o_filled, name)),
            ]

    def _report(
        self, m: Module, loader: Loader, tiles: TileWalk, runs: Value, array: ArrayDomain
    ) -> Value:
        """Drive the status outputs: ready, done, and events; return whether a product runs."""
        engine, rows, writer = self.engine, self.vector_rows, self.result_writer
        ended, computes = Signal(), Signal()
        begun = Signal(3)  # jobs that run, whose tiles have not all been requested
        loaded = rows_requested(self, loader)
        asked, idle = (
            (loaded, loaded) if rows is None else (loaded & rows.o_asked, loaded & rows.o_ready)
        )
        goes_on = (
            ~self.of_rows if rows is None else ~self.of_rows | (rows.o_asked & ~rows.of_windows)
        )
        done = writer.o_idle if rows is None else writer.o_idle & rows.o_ready
        m.d.sync += begun.eq(begun + runs - ended)
        stalls = array.total(~computes & ~(engine.i_a.valid & engine.i_b.valid), "stalls")
        a, full = self.operands["a"], self.sum_store.i_rows
        m.d.comb += [
            self.o_events.macs.eq(
                array.total(a.o_products, "products", a.most_products) if self.spec.counters else 0
            ),
            ended.eq(tiles.o_last),
            computes.eq(engine.i_a.valid & engine.i_a.ready),
            self.o_asked.eq(asked),
            self.o_ready.eq(idle),
            self.o_free.eq(loaded & loader.o_free),
            self.o_ahead.eq(
                goes_on & ~self._vector(self.i_load_job) & ~self.i_load_geometry.accumulate
            ),
            self.o_done.eq((begun == 0) & done),
            self.o_events.compute.eq(array.total(computes, "beats")),
            # Some engines take A before the first B arrives.
            self.o_events.stall_load.eq(stalls if rows is None else Mux(self.of_rows, 0, stalls)),
            self.o_events.stall_store.eq(full.valid & ~full.ready),
            *report_sums(self),
        ]
        return begun != 0

    def _queue(self, shape: ShapeLike, depth: int, least: int = 1) -> Fifo:
        """Make a queue; in a lean build, of the least depth."""
        return Fifo(shape, least if self.lean else depth)

    def _receive(self, m: Module, loader: Loader, tiles: TileWalk) -> None:
        """Send the loader's rows to the bus, and the data to its store."""
        spec = self.spec
        stores: dict[Destination, Any] = {
            **{_DESTINATIONS[name]: operand.store for name, operand in self.operands.items()},
            **self.columns,
        }
        if spec.accumulates:
            stores[Destination.ADDEND] = connect_addends(m, self, loader, tiles)
        sizes = [(int(to), len(store.i.payload.data) // 8) for to, store in stores.items()]
        sizes += [(Destination.VECTOR, spec.vector_word_bytes)] if self.vector_rows else []
        sizes += [(of_tables(spec), spec.bytes)] if spec.table else []
        more = {"PLACES": spec.lists, "ROW_FACTORS": spec.row_factors, **powers_of(self)}
        sizes += [(Destination[name], spec.bytes) for name, there in more.items() if there]
        sizes += [(Destination.CODEBOOK, self.codebooks.word_bytes)] if self.codebooks else []
        words = dict(sizes)
        assert len(words) == len(sizes), "two stores have one number"
        m.submodules.load_router = router = LoadRouter(spec, words, lean=self.lean)
        rows = (cut_windows if spec.windows else connect_packed)(m, self, loader, router)
        rows = connect_lists(m, self, loader, router, rows)
        if self.vector_rows is not None:
            rows = connect_vector_rows(m, self, rows, router)
        rows = connect_tables(m, self, rows, router)
        connect(m, rows, router.i_row)
        connect(m, router.o_row, flipped(self.o_row))
        # Stalls of stores end here.
        m.submodules.beats = beats = self._queue(Beat(spec.data_width), 2, 0)
        connect(m, flipped(self.i), beats.i)
        connect(m, beats.o, router.i)
        connect_groups(m, self, loader, router)
        if self.row_factors is not None:
            connect(m, getattr(router, f"o{Destination.ROW_FACTORS}"), self.row_factors.i_factors)
        for to, store in stores.items():
            connect(m, getattr(router, f"o{to}"), store.i)
            if to in self.columns:
                m.submodules[f"columns{to}"] = store
            else:
                m.d.comb += store.i_end.eq(router.o_end[to])

    @property
    def of_rows(self) -> Value:
        """Whether the job is a vector job."""
        return self._vector(self.i_job)

    @staticmethod
    def _vector(job: Any) -> Value:
        """Return whether it is a vector job."""
        vector: Value = job.mode.vector
        return vector.any()
