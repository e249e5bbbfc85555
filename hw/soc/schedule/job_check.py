"""Checks a job before anything is read or written, and computes its geometry."""

from amaranth import C, Cat, Module, Mux, Signal, Value
from amaranth.lib import data, wiring
from amaranth.lib.wiring import In, Out
from amaranth.utils import bits_for

from golden.soc.spec import CoprocessorSpec
from hw.soc.registers.coprocessor import JobLayout, error_code
from hw.soc.schedule.geometry import BYTES_WIDTH, Geometry, bytes_of, pick, scales_of, words_bytes

__all__ = ["JobCheck"]

_AS_GIVEN = ("m", "n", "a", "b", "c", "bias", "requant", "a_scales", "b_scales",
             "lda", "ldb", "ldc", "ldsa", "ldsb")  # fmt: skip


class JobCheck(wiring.Component):
    """Rejects illegal jobs; the error codes, and their order, are those of the golden model.

    End addresses of matrices and sizes of blocks take a bit-serial multiplication each. Latency: 5
    cycles plus, for each matrix, one per bit of its number of rows, and likewise for blocks.

    Parameters
    ----------
    spec : CoprocessorSpec
        What: limits.

    Members
    -------
    i_job : In
        :class:`~hw.soc.registers.coprocessor.JobLayout`; stable.
    i_start : In(1)
        Begin.
    o_done : Out(1)
        The results are valid, from this cycle until the next ``i_start``.
    o_error : Out(8)
        Error code; 0 if the job is legal.
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
        spec, inside, job, out = self.spec, self.spec.inside, self.i_job, self.o_geometry
        size, mode = spec.dimension_width, job.mode
        known, limit = self._formats(m)
        kind = out.kind
        codes = [kind.codes for kind in spec.kinds]
        words, tail, missing = Signal(size), Signal(len(out.tail)), Signal(len(out.missing))
        m.d.comb += [
            words.eq(pick(lambda count: (job.k + count - 1) // count, codes, kind)),
            tail.eq(pick(lambda count: (job.k % count) * (inside.a_width // count), codes, kind)),
            missing.eq(pick(lambda count: -job.k % count, codes, kind)),
        ]
        blocks = [Signal(32, name=f"block_{side}") for side in "mnk"]
        chosen = (job.block_m, job.block_n, job.block_k)
        given = Cat(size != 0 for size in chosen).all() & spec.blocks
        for side, block in enumerate(blocks):
            defaults = [spec.default_blocks(kind)[side] for kind in spec.kinds]
            m.d.comb += block.eq(Mux(given, chosen[side], pick(C, defaults, kind)))
        block_m, block_n, block_k = blocks
        lengths = {
            "a": words_bytes(spec, "a", words, kind),
            "b": words_bytes(spec, "b", job.n, kind),
            "c": Mux(mode.requantise, bytes_of(job.n, spec.code_bits), job.n * spec.sum_bytes),
            "bias": job.n * spec.sum_bytes,
            "requant": job.n * spec.RECORD_BYTES,
        }

        # Slow results are registered; those of blocks, if jobs choose them.
        sizes_of = {
            "rows": block_m * inside.m,
            "columns": block_n * inside.n,
            "codes": block_k * inside.k,
            "across": block_n,
            "p_stride": block_n * inside.m,
            "a_stride": self._words("a", block_k, kind),
            "b_stride": self._words("b", block_n, kind),
        }
        found: dict[str, Value] = {"k": words, "tail": tail, "missing": missing}
        if spec.blocks or len(spec.kinds) > 1:
            found |= sizes_of
        layout = Geometry(spec)
        worked = data.View(layout, Signal(layout.size, name="worked"))
        m.d.comb += [
            *(out[name].eq(job[name]) for name in _AS_GIVEN),
            *(out[name].eq(worked[name]) for name in found),
            *(out[name].eq(value) for name, value in sizes_of.items() if name not in found),
            out.by_columns.eq(mode.order & spec.blocks),
            out.biased.eq(mode.bias & spec.bias),
            out.requantised.eq(mode.requantise & spec.requantise),
            out.per_column.eq(mode.per_column & spec.requantises_columns),
            out.accumulate.eq(mode.accumulate & spec.accumulates),
        ]

        with m.If(self.i_start):
            m.d.sync += [self.o_error.eq(error_code("none")), self.o_done.eq(0)]
        fills = Signal()
        m.d.sync += fills.eq(self.i_start)
        with m.If(fills):
            m.d.sync += [worked[name].eq(value) for name, value in found.items()]

        # Errors found at once, in order of precedence.
        zero = (job.m == 0) | (job.n == 0) | (job.k == 0)
        large = (job.m >> size != 0) | (job.n >> size != 0) | (job.k >> size != 0)
        unsupported = (
            ~known
            | (mode.per_column & ~(mode.requantise & spec.requantises_columns))
            | (mode.accumulate & (mode.requantise | mode.bias | (not spec.accumulates)))
            | (mode.bias & (not spec.bias))
            | (mode.requantise & (not spec.requantise))
            | ((mode.order | Cat(chosen).any()) & (not spec.blocks))
        )
        short = (job.lda < lengths["a"]) | (job.ldb < lengths["b"]) | (job.ldc < lengths["c"])
        scales = scales_of(spec, words, kind) if inside.block else C(0)
        if inside.block:
            short |= (job.ldsa < scales) | (job.ldsb < job.n)
        split = self._split(block_n, block_k, kind)
        reasons = [
            (zero | large, error_code("zero_dimension")),
            (unsupported, error_code("unsupported")),
            (job.k > limit, error_code("long_k")),
        ]
        if not spec.STREAM:
            reasons.append((short, error_code("short_row")))

        # Then multiplications, one after the other: x * y + sum.
        distance, address = spec.distance_width, spec.address_width
        longest = max(size, *(bits_for(block) for block in self._largest()))
        width = max(address + 1, BYTES_WIDTH, distance + longest) + 1
        x, y = Signal(longest), Signal(distance + 1 + longest)
        ends: list[tuple[Value, Value, Value, Value]] = [
            (job.m - 1, job.lda, job.a, lengths["a"]),
            (words - 1, job.ldb, job.b, lengths["b"]),
            (job.m - 1, job.ldc, job.c, lengths["c"]),
            (C(0), job.ldc, Mux(mode.bias, job.bias, 0), Mux(mode.bias, lengths["bias"], 1)),
            (
                C(0),
                job.ldc,
                Mux(mode.per_column, job.requant, 0),
                Mux(mode.per_column, lengths["requant"], 1),
            ),
        ]
        if inside.block:
            ends += [
                (job.m - 1, job.ldsa, job.a_scales, scales),
                (scales - 1, job.ldsb, job.b_scales, job.n),
            ]
        if spec.STREAM:
            ends = []
        sizes: list[tuple[Value, Value, int]] = [
            (block_m, out.a_stride, spec.a_words),
            (block_k, out.b_stride, spec.b_words),
            (block_m, out.p_stride, spec.rows),
        ]
        if not spec.blocks:
            sizes = []
        count = len(ends) + len(sizes)
        total, step = Signal(width), Signal(range(count + 1))
        # The bytes of the last row minus one are added last, and the end address is checked while
        # the next multiplication starts.
        length, ending, beyond = Signal(distance), Signal(), Signal()
        adds = Mux(x == 0, length, Mux(x[0], y, 0))
        m.d.comb += beyond.eq(ending & (total[address:] != 0))
        with m.FSM():
            with m.State("IDLE"), m.If(self.i_start):
                m.d.sync += step.eq(0)
                m.next = "FORMATS"
            with m.State("FORMATS"):
                m.next = "SIZES"
            with m.State("SIZES"):
                m.next = "BEGIN"
                for condition, code in reversed(reasons):
                    with m.If(condition):
                        m.d.sync += self.o_error.eq(code)
                        m.next = "DONE"
            with m.State("BEGIN"):
                m.next = "MULTIPLY"
                m.d.sync += ending.eq(step < len(ends) if ends else 0)
                with m.If(beyond):
                    m.d.sync += self.o_error.eq(error_code("address_range"))
                    m.next = "DONE"
                with m.Elif((step == len(ends)) & ~given):
                    m.next = "DONE"
                with m.Elif((step == len(ends)) & split):
                    m.d.sync += self.o_error.eq(error_code("bad_block"))
                    m.next = "DONE"
                with m.Switch(step):
                    for number, (factor, other, start, bytes_) in enumerate(ends):
                        with m.Case(number):
                            m.d.sync += [x.eq(factor), y.eq(_fold(other, distance))]
                            m.d.sync += total.eq(_fold(start, address))
                            m.d.sync += length.eq(bytes_ - 1)
                    for number, (factor, other, _) in enumerate(sizes, len(ends)):
                        with m.Case(number):
                            m.d.sync += [x.eq(factor), y.eq(other), total.eq(0), length.eq(0)]
            with m.State("MULTIPLY"):
                m.d.sync += [x.eq(x >> 1), y.eq(y << 1), total.eq(total + adds)]
                with m.If(x == 0):
                    m.d.sync += step.eq(step + 1)
                    m.next = "BEGIN"
                    with m.Switch(step):
                        for number, (_, _, most) in enumerate(sizes, len(ends)):
                            with m.Case(number), m.If(total > most):
                                m.d.sync += self.o_error.eq(error_code("bad_block"))
                                m.next = "DONE"
                    if sizes:
                        with m.If(step == count - 1):
                            m.next = "DONE"
            with m.State("DONE"):
                m.d.sync += self.o_done.eq(1)
                m.next = "IDLE"
        return m

    def _formats(self, m: Module) -> tuple[Value, Value]:
        """Look up a pair of formats; return whether it exists, and its largest K."""
        modes = self.spec.inside.modes
        known, limit = Signal(), Signal(self.spec.dimension_width + 1)
        out = self.o_geometry
        numbers = self.i_job.mode.a_format, self.i_job.mode.b_format
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

    def _words(self, side: str, count: Value, kind: Value) -> Value:
        """Return the words of a count of slices in a store."""
        of = self.spec.a_slices if side == "a" else self.spec.b_slices
        slices = [of(kind) for kind in self.spec.kinds]
        return pick(lambda size: (count + size - 1) // size, slices, kind)

    def _largest(self) -> tuple[int, int]:
        """Return the most rows and words along K of a block that :meth:`_split` lets pass."""
        spec = self.spec
        return spec.a_words, max(spec.a_words * spec.a_slices(kind) for kind in spec.kinds)

    def _split(self, block_n: Value, block_k: Value, kind: Value) -> Value:
        """Tell whether blocks are too large to be counted, or start inside a byte."""
        spec, inside = self.spec, self.spec.inside
        sides = [
            (block_n, [inside.n * kind.b_bits for kind in spec.kinds],
             [spec.b_words * spec.b_slices(kind) for kind in spec.kinds]),
            (block_k, [inside.k * kind.a_bits for kind in spec.kinds],
             [spec.a_words * spec.a_slices(kind) for kind in spec.kinds]),
        ]  # fmt: skip
        wrong = self.i_job.block_m > spec.a_words
        for count, widths, most in sides:

            def inside_byte(width: int, count: Value = count) -> Value:
                return (count * width)[:3] != 0

            wrong |= (count > pick(C, most, kind)) | pick(inside_byte, widths, kind)
        if inside.block:
            each = [inside.block // mode.codes for mode in spec.kinds]
            wrong |= (self.i_job.block_m != 1) | (self.i_job.block_n != 1)
            wrong |= pick(lambda size: block_k[: size.bit_length() - 1] != 0, each, kind)
        return wrong


def _fold(value: Value, width: int) -> Value:
    """Replace the bits from that place up by their OR: too large values stay too large."""
    return Cat(value[:width], value[width:].any())
