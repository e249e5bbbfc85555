"""Checks a job before anything is read or written, and computes its geometry."""

from typing import Any

from amaranth import C, Cat, Module, Mux, Signal, Value
from amaranth.lib import data, wiring
from amaranth.lib.wiring import In, Out

from golden.soc.spec import CoprocessorSpec
from hw.arith.product import product_in_logic
from hw.soc.registers.coprocessor import ADDRESSES, JobLayout, error_code
from hw.soc.schedule.block_check import BlockSizes, WindowCodes, block_bits, fold, unfit, words_of
from hw.soc.schedule.geometry import BYTES_WIDTH, Geometry, job_flags, pick
from hw.soc.schedule.job_overlap import JobOverlap
from hw.soc.schedule.job_reasons import job_reasons
from hw.soc.schedule.matrix_ends import MatrixEnd, matrix_ends
from hw.soc.schedule.multiplications import FLAGS, Multiplications
from hw.soc.schedule.row_request import Bases
from hw.soc.schedule.vector_check import vector_check
from hw.soc.schedule.window_check import WindowSteps

__all__ = ["JobCheck"]


class JobCheck(wiring.Component):
    """Rejects illegal jobs; the error codes, and their order, are those of the golden model.

    End addresses of matrices and sizes of blocks take a bit-serial multiplication each. Latency: 6
    cycles plus, for each matrix, two and one per bit of its number of rows, and likewise for
    blocks, but for those of the job before; and those in which ``i_hold`` lets an address wait.

    Parameters
    ----------
    spec : CoprocessorSpec
        What: limits.
    ahead : bool
        How: it is known what the job reads of what the one before writes.

    Members
    -------
    i_job : In
        :class:`~hw.soc.registers.coprocessor.JobLayout`, stable; without addresses.
    o_matrix, i_address : Out, In
        A matrix, and its address, in the order of the job; in the same cycle, before it is looked
        at.
    i_start, i_alike : In(1), In(1)
        Begin. From the next cycle on: only addresses are new, blocks are those of the job before.
    o_done : Out(1)
        The results are valid, from this cycle until the next ``i_start``.
    o_error : Out(8)
        Error code; 0 if the job is legal.
    o_geometry : Out
        The job.
    o_base : Out
        :class:`hw.soc.schedule.row_request.Bases`: its addresses, one after the other.
    i_hold : In(1)
        Addresses cannot be taken in this cycle.
    o_a_written, o_others_written : Out(1), Out(1)
        See :class:`~hw.soc.schedule.job_overlap.JobOverlap`; valid like the results.
    """

    i_job: data.View
    o_matrix: Signal
    i_address: Signal
    i_start: Signal
    i_alike: Signal
    o_done: Signal
    o_error: Signal
    o_geometry: data.View
    o_base: data.View
    i_hold: Signal
    o_a_written: Signal
    o_others_written: Signal

    def __init__(self, spec: CoprocessorSpec, *, ahead: bool = False):
        self.spec, self.ahead = spec, ahead
        super().__init__({
            "i_job": In(JobLayout()),
            "o_matrix": Out(range(ADDRESSES)),
            "i_address": In(64),
            "i_start": In(1),
            "i_alike": In(1),
            "o_done": Out(1),
            "o_error": Out(8),
            "o_geometry": Out(Geometry(spec)),
            "o_base": Out(Bases(spec)),
            "i_hold": In(1),
            "o_a_written": Out(1),
            "o_others_written": Out(1),
        })

    def elaborate(self, platform):
        m = Module()
        out = self.o_geometry
        formats = self._formats(m)
        codes = WindowCodes.make(m, self.spec) if self.spec.windows else None
        sizes = self._block_sizes(m, codes)
        fills = Signal()
        m.d.sync += self.o_done.eq(self.o_done & ~self.i_start)
        self._set_geometry(m, sizes, codes, fills)
        of_rows = vector_check(self.spec, self.i_job, out.n, out.m)
        splits = Signal()
        m.d.sync += splits.eq(unfit(self.spec, self.i_job, out.kind, sizes, codes))
        reasons = job_reasons(self.spec, self.i_job, formats, of_rows)
        refused = Signal(len(reasons))
        m.d.sync += refused.eq(Cat(condition for condition, _ in reasons))
        ends = matrix_ends(m, self.spec, self.i_job, out, of_rows)
        products = self._multiplications(m, ends, sizes, codes)
        if self.ahead:
            self._compare(m, products)
        with m.FSM() as fsm:
            with m.State("IDLE"), m.If(self.i_start):
                m.d.sync += [products.step.eq(0), self.o_matrix.eq(0)]
                m.d.sync += [products.short.eq(0), products.beyond.eq(0), products.ending.eq(0)]
                m.d.sync += products.large_block.eq(0)
                if products.windows is not None:
                    products.windows.start(m, of_rows)
                    with m.If(self.i_job.mode.window):
                        m.d.sync += products.step.eq(products.windows.first)
                m.next = "FORMATS"
            with m.State("FORMATS"):
                m.d.sync += self.o_error.eq(error_code("none"))  # the start itself is late
                m.next = "BLOCKS"
            with m.State("BLOCKS"):
                m.d.comb += fills.eq(1)
                m.next = "REASONS"
            with m.State("REASONS"):
                m.next = "BEGIN"
                for condition, (_, code) in reversed(list(zip(refused, reasons, strict=True))):
                    with m.If(condition):
                        m.d.sync += self.o_error.eq(code)
                        m.next = "DONE"
            self._multiply(m, products, sizes.given, splits, fills)
            with m.State("DONE"):
                m.d.sync += self.o_done.eq(1)
                flags: list[tuple[Value, str]] = [
                    (products.large_block, "bad_block"),
                    (products.beyond, "address_range"),
                    (products.short, "short_row"),
                ]
                if products.windows is not None:
                    flags = [products.windows.large_row, *flags, products.windows.unlike]
                for flag, name in flags:
                    with m.If(flag):
                        m.d.sync += self.o_error.eq(error_code(name))
                m.next = "IDLE"
        if products.windows is not None:
            with m.If(fsm.ongoing("IDLE")):
                m.d.sync += products.total.eq(-1)
        return m

    def _block_sizes(self, m: Module, codes: WindowCodes | None) -> BlockSizes:
        """Choose blocks: those of the job, or the build's."""
        spec, job, kind = self.spec, self.i_job, self.o_geometry.kind
        blocks = [Signal(width, name=f"block_{side}") for side, width in block_bits(spec).items()]
        chosen = (job.block_m, job.block_n, job.block_k)
        given = Signal()
        m.d.sync += given.eq(Cat(size != 0 for size in chosen).all() & spec.blocks)
        # Slow results are registered; those of blocks, if jobs choose them.
        choice = m.d.sync if spec.blocks or len(spec.kinds) > 1 else m.d.comb
        for side, block in enumerate(blocks):
            defaults = [spec.default_blocks(kind)[side] for kind in spec.kinds]
            choice += block.eq(Mux(given, chosen[side], pick(C, defaults, kind)))
        if codes is not None:
            with m.If(job.mode.window):
                choice += blocks[2].eq(codes.beats)
        m_size, n_size, k_size = blocks
        return BlockSizes(m_size, n_size, k_size, given)

    def _set_geometry(
        self, m: Module, blocks: BlockSizes, windows: WindowCodes | None, fills: Value
    ) -> None:
        """Set what follows from the job; what takes long, a cycle after `fills`."""
        spec, inside, job, out = self.spec, self.spec.inside, self.i_job, self.o_geometry
        kind, mode, codes = out.kind, job.mode, [kind.codes for kind in spec.kinds]
        # Sizes less one: K in words.
        less = {side: Signal(spec.dimension_width, name=f"above_{side}") for side in "mnk"}
        tail, missing = Signal(len(out.tail)), Signal(len(out.missing))
        m.d.comb += [
            less["m"].eq(job.m - 1),
            less["n"].eq(job.n - 1),
            less["k"].eq(pick(lambda count: (job.k - 1)[:32] // count, codes, kind)),
            tail.eq(pick(lambda count: (job.k % count) * (inside.a_width // count), codes, kind)),
            missing.eq(pick(lambda count: -job.k % count, codes, kind)),
        ]
        of_blocks = {
            "rows": product_in_logic(blocks.m, inside.m),
            "columns": product_in_logic(blocks.n, inside.n),
            "codes": product_in_logic(blocks.k, inside.k),
            "across": blocks.n,
            "p_stride": product_in_logic(blocks.n, inside.m),
            "a_stride": words_of(spec, "a", blocks.k, kind),
            "b_stride": words_of(spec, "b", blocks.n, kind),
        }
        if windows is not None:
            if inside.k > 1:
                of_blocks["codes"] = Mux(mode.window, windows.codes, of_blocks["codes"])
            m.d.comb += [out.of_windows.eq(mode.window), out.line.eq(windows.line)]
            m.d.comb += out.dense.eq(windows.dense)
        registered: dict[str, Value] = {**less, "tail": tail, "missing": missing}
        if spec.blocks or len(spec.kinds) > 1:
            registered |= of_blocks
        layout = Geometry(spec)
        register = data.View(layout, Signal(layout.size, name="registered"))
        m.d.comb += [
            *(out[f"ld{side}"].eq(job[f"ld{side}"]) for side in ("a", "b", "c", "sa", "sb")),
            *(out[name].eq(register[name]) for name in registered),
            *(out[name].eq(value) for name, value in of_blocks.items() if name not in registered),
            out.by_columns.eq(mode.order & spec.blocks),
            out.biased.eq(mode.bias & spec.bias & ~(mode.accumulate & spec.row_factors)),
            out.requantised.eq(mode.requantise & spec.requantise),
            out.per_column.eq(mode.per_column & spec.requantises_columns),
            out.accumulate.eq(mode.accumulate & spec.accumulates),
            out.factored.eq(mode.bias & mode.accumulate & spec.row_factors),
            *(out[name].eq(value) for name, value in job_flags(spec, job).items()),
        ]
        if spec.sizes:
            m.d.comb += out.wide.eq(mode.c_bytes[1])
            m.d.comb += out.narrowed.eq(mode.c_bytes[0] & (spec.vector_out_bytes > 1))
        with m.If(fills):
            m.d.sync += [register[name].eq(value) for name, value in registered.items()]

    def _multiplications(
        self,
        m: Module,
        ends: list[MatrixEnd],
        blocks: BlockSizes,
        codes: WindowCodes | None,
    ) -> Multiplications:
        """Make what multiplies bit by bit, one after the other: x * y + sum."""
        spec, out = self.spec, self.o_geometry
        sizes: list[tuple[Value, Value, int]] = [
            (blocks.m, out.a_stride, spec.a_words),
            (blocks.k, out.b_stride, spec.b_words),
            (blocks.m, out.p_stride, spec.rows),
        ]
        if not spec.blocks:
            sizes = []
        distance, address = spec.distance_width, spec.address_width
        # A factor is a matrix's rows, or a block's size. The sum is an address, or the bytes of a
        # block, or a stride times the largest factor; and one bit more, which says that it is
        # beyond all addresses.
        longest = max(spec.dimension_width, *block_bits(spec).values())
        count, windows = len(ends) + len(sizes) + 1, None
        if codes is not None:
            windows = WindowSteps(m, spec, self.i_job, codes, count)
            count += windows.count
            longest = max(longest, windows.FACTOR)
        width = max(address + 1, BYTES_WIDTH, distance + longest) + 1
        # The first sum of a job of windows begins with -1.
        begin: dict[str, Any] = {"init": (1 << width) - 1, "reset_less": True} if windows else {}
        products = Multiplications(
            windows=windows,
            ends=ends,
            sizes=sizes,
            x=Signal(longest, name="x"),
            y=Signal(distance + 1 + longest, name="y"),
            total=Signal(width, name="total", **begin),
            step=Signal(range(count), name="step"),
            length=Signal(distance, name="length"),
            address=Signal(address + 1, name="matrix_address", reset_less=True),
            **{name: Signal(name=name) for name in FLAGS},
        )
        m.d.comb += self.o_base.address.eq(products.address)
        products.look_at_strides(m, fold(self.i_address, address))
        return products

    def _compare(self, m: Module, products: Multiplications) -> None:
        """Compare the ranges of matrices with the C of the job before."""
        matrices = [end.to for end in products.ends]
        m.submodules.overlap = overlap = JobOverlap(matrices, self.spec.address_width)
        chosen = job_flags(self.spec, self.i_job).get("chosen")  # nobody knows yet where its B is
        others = overlap.o_others if chosen is None else overlap.o_others | chosen
        m.d.comb += [
            overlap.i_start.eq(self.i_start),
            overlap.en.eq(products.next & (products.step <= len(products.ends))),
            overlap.i_step.eq(products.step),
            overlap.i_first.eq(products.address),
            overlap.i_last.eq(products.total),
            overlap.i_used.eq(products.ending),
            self.o_a_written.eq(overlap.o_a),
            self.o_others_written.eq(others),
        ]

    def _multiply(
        self, m: Module, products: Multiplications, given: Value, splits: Value, fills: Signal
    ) -> None:
        """Add the states that work through them."""
        x, y, total, step = products.x, products.y, products.total, products.step
        ends, sizes, windows = products.ends, products.sizes, products.windows
        ends_sum = Signal()
        adds = Mux(ends_sum, products.length, Mux(x[0], y, 0))
        with m.State("BEGIN"), m.If(~self.i_hold):
            m.d.comb += products.next.eq(1)
            self._begin(m, products, given, splits)
        with m.State("MULTIPLY"):
            m.d.sync += [x.eq(x >> 1), y.eq(y << 1), total.eq(total + adds)]
            with m.If(x[1:] == 0):
                m.next = "LAST"
                # What is multiplied behind a row of a map leaves its length as it is.
                m.d.sync += ends_sum.eq(1 if windows is None else step <= windows.first)
        with m.State("LAST"):
            m.d.sync += ends_sum.eq(0)
            m.d.sync += [total.eq(total + adds), step.eq(step + 1)]
            m.next = "BEGIN"
            with m.Switch(step):
                for number, (_, _, most) in enumerate(sizes, len(ends)):
                    with m.Case(number):
                        m.d.sync += products.large_block.eq(total > most)
            if sizes:
                with m.If(step == len(ends) + len(sizes) - 1):
                    m.next = "DONE"
            if windows is not None:
                m.d.sync += products.of_row.eq(step == windows.first)
                with m.If((step == windows.first) & windows.skips):
                    m.d.sync += step.eq(windows.block)
                with m.If(step == windows.last):
                    m.d.sync += step.eq(0)
                    m.d.comb += fills.eq(1)

    def _begin(self, m: Module, products: Multiplications, given: Value, splits: Value) -> None:
        """Check the end of the matrix before, and begin the next multiplication, if any is left."""
        spec, ends, step, address = self.spec, products.ends, products.step, products.address
        x, y, length, ending = products.x, products.y, products.length, products.ending
        # It ends behind all addresses, or on chip and begins elsewhere.
        outside: Value = products.total[spec.address_width :] != 0
        on_chip = slice((spec.scratch - 1).bit_length(), spec.address_width)
        if spec.scratch:
            outside |= products.total[on_chip].all() & ~products.begins
        m.next = "MULTIPLY"
        m.d.sync += products.begins.eq(address[on_chip].all())
        m.d.sync += products.beyond.eq(products.beyond | (ending & outside))
        with m.If((step == len(ends)) & (~given | splits)):
            chosen = given | self.i_job.mode.window if spec.windows else given
            chosen = given | self.i_job.ldsa.any() if spec.shares else chosen
            with m.If(chosen & (self.i_job.mode.vector == 0)):
                m.d.sync += products.large_block.eq(1)
            m.next = "DONE"
        with m.If(products.large_block | ((step == len(ends)) & self.i_alike)):
            m.next = "DONE"
        products.begin_sum(m, Mux(step < len(ends), address, 0) if ends else C(0))
        m.d.sync += [ending.eq(0), self.o_matrix.eq(step + 1)]
        with m.Switch(step):
            for number, end in enumerate(ends):
                with m.Case(number):
                    last = products.last_of_row(number, end, self.i_job)
                    m.d.sync += [x.eq(end.above), length.eq(last), ending.eq(end.used)]
                    if end.stride is not None:
                        m.d.sync += [
                            y.eq(fold(end.stride, spec.distance_width)),
                            products.striding.eq(end.used if end.strided is None else end.strided),
                        ]
                    m.d.comb += [self.o_base.valid.eq(1), self.o_base.to.eq(end.to)]
            for number, (factor, other, _) in enumerate(products.sizes, len(ends)):
                with m.Case(number):
                    m.d.sync += [x.eq(factor), y.eq(other), length.eq(0)]
            if products.windows is not None:
                products.windows.begin(m, x, y, length, products.total)
        if products.windows is not None:
            with m.If(step >= products.windows.first):
                m.d.sync += self.o_matrix.eq(0)
            products.look_at_windows(m, products.windows, self.i_job, self.o_geometry)

    def _formats(self, m: Module) -> tuple[Value, Value]:
        """Look up a pair of formats; return whether it exists, and its largest K."""
        modes = self.spec.inside.modes
        known, limit = Signal(), Signal(self.spec.dimension_width + 1)
        out, numbers = self.o_geometry, (self.i_job.mode.a_format, self.i_job.mode.b_format)
        m.d.sync += known.eq(0)
        with m.Switch(Cat(*numbers)):
            for (a, b), mode in modes.items():
                kind = [kind.kind for kind in self.spec.kinds].index(mode.kind)
                with m.Case(b << len(numbers[0]) | a):
                    m.d.sync += [
                        known.eq(1),
                        limit.eq(min(mode.k_max, 1 << self.spec.dimension_width)),
                        out.kind.eq(kind),
                        out.exponent.eq(mode.exponent),
                    ]
        return known, limit
