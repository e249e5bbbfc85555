"""Checks a job before anything is read or written, and works out what the other parts need."""

from amaranth import C, Module, Mux, Signal, Value
from amaranth.lib import data, wiring
from amaranth.lib.wiring import In, Out

from golden.soc.spec import CoprocessorSpec
from hw.soc.job import BYTES_WIDTH, Geometry
from hw.soc.registers import JobLayout

__all__ = ["Prepare"]


class Prepare(wiring.Component):
    """Refuses illegal jobs; the reasons, and their order, are those of the golden model.

    Ends of matrices and sizes of blocks take a product each, one bit of a factor a cycle. Latency:
    4 cycles and, for each matrix, one for each bit of its rows, and as many for blocks.

    Parameters
    ----------
    spec : CoprocessorSpec
        What: limits.

    Members
    -------
    i_job : In
        :class:`JobLayout`; does not change.
    i_start : In(1)
        Begin.
    o_done : Out(1)
        The results stand, from this cycle until the next ``i_start``.
    o_error : Out(8)
        Why the job is refused; 0 if it is not.
    o_geometry : Out
        The job.
    """

    i_job: data.View
    i_start: Signal
    o_done: Signal
    o_error: Signal
    o_geometry: data.View

    def __init__(self, spec: CoprocessorSpec):
        self.spec = spec
        super().__init__({
            "i_job": In(JobLayout()),
            "i_start": In(1),
            "o_done": Out(1),
            "o_error": Out(8),
            "o_geometry": Out(Geometry(spec)),
        })

    def elaborate(self, platform):
        m = Module()
        spec, engine, job, out = self.spec, self.spec.engine, self.i_job, self.o_geometry
        default = spec.default_blocks
        size = spec.DIMENSION_WIDTH
        given = (job.block_m != 0) & (job.block_n != 0) & (job.block_k != 0)
        blocks = [Signal(32, name=f"block_{side}") for side in "mnk"]
        for block, own, chosen in zip(
            blocks, default, (job.block_m, job.block_n, job.block_k), strict=True
        ):
            m.d.comb += block.eq(Mux(given, chosen, own))
        block_m, block_n, block_k = blocks
        c_bits = Mux(job.mode.requantise, spec.code_bytes, spec.sum_bytes)
        lengths = {
            "a": (job.k * spec.a_bits + 7) >> 3,
            "b": (job.n * spec.b_bits + 7) >> 3,
            "c": job.n * c_bits,
            "bias": job.n * spec.sum_bytes,
        }

        with m.If(self.i_start):
            m.d.sync += [
                out.m.eq(job.m),
                out.n.eq(job.n),
                out.k.eq(job.k),
                out.rows.eq(block_m * engine.m),
                out.columns.eq(block_n * engine.n),
                out.codes.eq(block_k * engine.k),
                out.across.eq(block_n),
                out.p_stride.eq(block_n * engine.m),
                out.a_stride.eq(_divided(block_k, spec.a_slices)),
                out.b_stride.eq(_divided(block_n, spec.b_slices)),
                out.by_columns.eq(job.mode.order),
                out.biased.eq(job.mode.bias),
                out.requantised.eq(job.mode.requantise),
                *(out[name].eq(job[name]) for name in ("a", "b", "c", "bias")),
                *(out[name].eq(job[name]) for name in ("lda", "ldb", "ldc")),
            ]

        # What stops a job at once, in the order in which it is told.
        zero = (job.m == 0) | (job.n == 0) | (job.k == 0)
        large = (job.m >> size != 0) | (job.n >> size != 0) | (job.k >> size != 0)
        mode = job.mode
        unsupported = (
            (mode.a_format != 0)
            | (mode.b_format != 0)
            | mode.per_column
            | mode.accumulate
            | (mode.bias & (not spec.bias))
            | (mode.requantise & (not spec.requantise))
        )
        short = (job.lda < lengths["a"]) | (job.ldb < lengths["b"]) | (job.ldc < lengths["c"])
        split = self._split(block_n, block_k)
        reasons = [
            (zero | large, 1),
            (job.k > engine.depth, 2),
            (unsupported, 5),
            (short, 7),
        ]

        # Then products, one after the other: x * y + sum.
        width = 66  # an address of 64 bits, and more
        x, y = Signal(size), Signal(BYTES_WIDTH + size)
        total, step = Signal(width), Signal(range(8))
        products: list[tuple[Value, Value, Value | int, int | None]] = [
            (job.m - 1, job.lda, job.a + lengths["a"] - 1, None),
            (job.k - 1, job.ldb, job.b + lengths["b"] - 1, None),
            (job.m - 1, job.ldc, job.c + lengths["c"] - 1, None),
            (C(0), job.ldc, Mux(mode.bias, job.bias + lengths["bias"] - 1, 0), None),
            (block_m, out.a_stride, 0, spec.a_words),
            (block_k, out.b_stride, 0, spec.b_words),
            (block_m, out.p_stride, 0, spec.rows),
        ]
        with m.FSM():
            with m.State("IDLE"), m.If(self.i_start):
                m.d.sync += [self.o_error.eq(0), step.eq(0), self.o_done.eq(0)]
                m.next = "SIZES"
            with m.State("SIZES"):
                m.next = "BEGIN"
                for condition, code in reversed(reasons):
                    with m.If(condition):
                        m.d.sync += self.o_error.eq(code)
                        m.next = "DONE"
            with m.State("BEGIN"):
                m.next = "MULTIPLY"
                with m.If((step == 4) & ~given):
                    m.next = "DONE"
                with m.Elif((step == 4) & split):
                    m.d.sync += self.o_error.eq(6)
                    m.next = "DONE"
                with m.Switch(step):
                    for number, (factor, other, start, _) in enumerate(products):
                        with m.Case(number):
                            m.d.sync += [x.eq(factor), y.eq(other), total.eq(start)]
            with m.State("MULTIPLY"):
                with m.If(x != 0):
                    m.d.sync += [x.eq(x >> 1), y.eq(y << 1)]
                    with m.If(x[0]):
                        m.d.sync += total.eq(total + y)
                with m.Else():
                    m.d.sync += step.eq(step + 1)
                    m.next = "BEGIN"
                    with m.Switch(step):
                        for number, (*_, limit) in enumerate(products):
                            wrong = (
                                total[spec.address_width :] != 0 if limit is None else total > limit
                            )
                            with m.Case(number), m.If(wrong):
                                m.d.sync += self.o_error.eq(4 if limit is None else 6)
                                m.next = "DONE"
                    with m.If(step == len(products) - 1):
                        m.next = "DONE"
            with m.State("DONE"):
                m.d.sync += self.o_done.eq(1)
                m.next = "IDLE"
        return m

    def _split(self, block_n: Value, block_k: Value) -> Value:
        """Whether blocks are too large to be counted, or begin inside of a byte."""
        spec = self.spec
        bits = [
            (block_n, spec.engine.n * spec.b_bits, spec.b_words * spec.b_slices),
            (block_k, spec.engine.k * spec.a_bits, spec.a_words * spec.a_slices),
        ]
        wrong = self.i_job.block_m > spec.a_words
        for count, width, most in bits:
            wrong |= (count > most) | ((count * width)[:3] != 0)
        return wrong


def _divided(count: Value, slices: int) -> Value:
    """Count the words of so many slices."""
    return (count + slices - 1) // slices
