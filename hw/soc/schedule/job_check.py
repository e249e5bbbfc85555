"""Checks a job before anything is read or written, and computes its geometry."""

from typing import NamedTuple

from amaranth import C, Cat, Module, Mux, Signal, Value
from amaranth.lib import data, wiring
from amaranth.lib.wiring import In, Out
from amaranth.utils import bits_for, exact_log2

from golden.soc.spec import CoprocessorSpec
from hw.arith.constant_division import divide_by_constant
from hw.arith.product import product_in_logic
from hw.soc.registers.coprocessor import ADDRESSES, JobLayout, error_code
from hw.soc.schedule.destination import Destination
from hw.soc.schedule.geometry import BYTES_WIDTH, Geometry, pick
from hw.soc.schedule.loader import Bases
from hw.soc.schedule.vector_check import vector_check

__all__ = ["JobCheck"]

_AS_GIVEN = ("lda", "ldb", "ldc", "ldsa", "ldsb")


class _End(NamedTuple):
    """A matrix: its rows less one, stride, bytes of a row less one; whether the job has it.

    And whether its stride must be of a row at least; if not said, whether the job has it.
    """

    to: Destination
    above: Value
    stride: Value | None
    last: Value
    used: Value
    strided: Value | None = None


class JobCheck(wiring.Component):
    """Rejects illegal jobs; the error codes, and their order, are those of the golden model.

    End addresses of matrices and sizes of blocks take a bit-serial multiplication each. Latency: 6
    cycles plus, for each matrix, one and one per bit of its number of rows, and likewise for
    blocks; and those in which ``i_hold`` lets an address wait.

    Parameters
    ----------
    spec : CoprocessorSpec
        What: limits.

    Members
    -------
    i_job : In
        :class:`~hw.soc.registers.coprocessor.JobLayout`, stable; without addresses.
    o_matrix, i_address : Out, In
        A matrix, and its address, in the order of the job; in the same cycle, before it is looked
        at.
    i_start : In(1)
        Begin.
    o_done : Out(1)
        The results are valid, from this cycle until the next ``i_start``.
    o_error : Out(8)
        Error code; 0 if the job is legal.
    o_geometry : Out
        The job.
    o_base : Out
        :class:`hw.soc.schedule.loader.Bases`: its addresses, one after the other.
    i_hold : In(1)
        Addresses cannot be taken in this cycle.
    """

    i_job: data.View
    o_matrix: Signal
    i_address: Signal
    i_start: Signal
    o_done: Signal
    o_error: Signal
    o_geometry: data.View
    o_base: data.View
    i_hold: Signal

    def __init__(self, spec: CoprocessorSpec):
        self.spec = spec
        super().__init__({
            "i_job": In(JobLayout()),
            "o_matrix": Out(range(ADDRESSES)),
            "i_address": In(64),
            "i_start": In(1),
            "o_done": Out(1),
            "o_error": Out(8),
            "o_geometry": Out(Geometry(spec)),
            "o_base": Out(Bases(spec)),
            "i_hold": In(1),
        })

    def elaborate(self, platform):
        m = Module()
        spec, inside, job, out = self.spec, self.spec.inside, self.i_job, self.o_geometry
        size, mode = spec.dimension_width, job.mode
        known, limit = self._formats(m)
        kind = out.kind
        codes = [kind.codes for kind in spec.kinds]
        # Sizes less one: K in words.
        above = {side: Signal(size, name=f"above_{side}") for side in "mnk"}
        tail, missing = Signal(len(out.tail)), Signal(len(out.missing))
        m.d.comb += [
            above["m"].eq(job.m - 1),
            above["n"].eq(job.n - 1),
            above["k"].eq(pick(lambda count: (job.k - 1)[:32] // count, codes, kind)),
            tail.eq(pick(lambda count: (job.k % count) * (inside.a_width // count), codes, kind)),
            missing.eq(pick(lambda count: -job.k % count, codes, kind)),
        ]
        widths = self._block_bits()
        blocks = [Signal(width, name=f"block_{side}") for side, width in widths.items()]
        chosen = (job.block_m, job.block_n, job.block_k)
        given = Signal()
        m.d.sync += given.eq(Cat(size != 0 for size in chosen).all() & spec.blocks)
        # Slow results are registered; those of blocks, if jobs choose them.
        choice = m.d.sync if spec.blocks or len(spec.kinds) > 1 else m.d.comb
        for side, block in enumerate(blocks):
            defaults = [spec.default_blocks(kind)[side] for kind in spec.kinds]
            choice += block.eq(Mux(given, chosen[side], pick(C, defaults, kind)))
        block_m, block_n, block_k = blocks

        sizes_of = {
            "rows": product_in_logic(block_m, inside.m),
            "columns": product_in_logic(block_n, inside.n),
            "codes": product_in_logic(block_k, inside.k),
            "across": block_n,
            "p_stride": product_in_logic(block_n, inside.m),
            "a_stride": self._words("a", block_k, kind),
            "b_stride": self._words("b", block_n, kind),
        }
        found: dict[str, Value] = {**above, "tail": tail, "missing": missing}
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
        if spec.sizes:
            m.d.comb += out.wide.eq(mode.c_bytes[1])
            m.d.comb += out.narrowed.eq(mode.c_bytes[0] & (spec.vector_out_bytes > 1))

        with m.If(self.i_start):
            m.d.sync += [self.o_error.eq(error_code("none")), self.o_done.eq(0)]
        fills = Signal()
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
        if spec.sizes:
            unsupported |= mode.c_bytes.all() | (mode.c_bytes.any() & ~mode.requantise)
        split = Signal()
        m.d.sync += split.eq(self._split(block_n, block_k, kind))
        long = job.k > limit
        of_rows = vector_check(spec, job, out.n, out.m)
        if of_rows is not None:
            here = of_rows.here
            zero, large = Mux(here, of_rows.zero, zero), Mux(here, of_rows.large, large)
            unsupported = Mux(here, of_rows.unsupported, unsupported)
            long &= ~here
        reasons = [
            (zero | large, error_code("zero_dimension")),
            (unsupported, error_code("unsupported")),
            (long, error_code("long_k")),
        ]
        if of_rows is not None:
            reasons.append((of_rows.here & of_rows.long, error_code("long_row")))
        refused = Signal(len(reasons))
        m.d.sync += refused.eq(Cat(condition for condition, _ in reasons))

        # Then multiplications, one after the other: x * y + sum.
        distance, address = spec.distance_width, spec.address_width
        longest = max(size, *self._block_bits().values())
        width = max(address + 1, BYTES_WIDTH, distance + longest) + 1
        x, y = Signal(longest), Signal(distance + 1 + longest)
        rows, columns, words = out.m, out.n, out.k
        of_a = pick(lambda bits: _last(words, bits), [kind.a_bits for kind in spec.kinds], kind)
        of_b = pick(lambda bits: _last(columns, bits), [kind.b_bits for kind in spec.kinds], kind)
        sums = _last(columns, 8 * spec.sum_bytes)
        of_codes = _last(columns, spec.code_bits)
        if spec.sizes:
            of_codes = Mux(out.wide, _last(columns, 2 * spec.code_bits), of_codes)
        of_c = Mux(mode.requantise, of_codes, sums)
        records = _last(columns, 8 * spec.RECORD_BYTES)
        always = C(1)
        of_product: Value = always
        if of_rows is not None:
            of_a = Mux(of_rows.here, of_rows.bytes_a, of_a)
            of_c = Mux(of_rows.here, of_rows.bytes_c, of_c)
            of_product = ~of_rows.here
        of_both, rows_b, strided_b = of_product, words, of_product
        rows_a: Value = rows
        rows_c: Value = rows
        if spec.transpose and of_rows is not None:
            rows_c = Mux(of_rows.here & of_rows.turned, columns, rows)
        if spec.gather and of_rows is not None:
            rows_a = Mux(of_rows.here & of_rows.gathers, (job.k - 1)[:size], rows)
        unit = spec.vector
        pairs = spec.gather or (unit is not None and unit.builds(unit.SECOND))
        if of_rows is not None and pairs:
            of_both, rows_b = of_product | of_rows.pair, Mux(of_rows.here, rows, words)
            of_b = Mux(of_rows.here, of_rows.bytes_b, of_b)
            # One row for all rows of a vector job has no stride.
            strided_b = of_both & (of_product | job.ldb.any())
        if spec.b_deep > 1:
            # Rows of B less one: it is long before they are asked for.
            packed, _ = divide_by_constant(m, words, spec.b_deep, (1 << size) - 1, "operator")
            fewer = Signal(size)
            m.d.sync += fewer.eq(packed)
            rows_b = fewer if of_rows is None else Mux(of_rows.here, rows, fewer)
        ends = [
            _End(Destination.A, rows_a, job.lda, of_a, always),
            _End(Destination.B, rows_b, job.ldb, of_b, of_both, strided_b),
            _End(Destination.ADDEND, rows_c, job.ldc, of_c, always),
            _End(Destination.BIAS, C(0), None, sums, mode.bias),
            _End(Destination.RECORD, C(0), None, records, mode.per_column),
        ]
        if inside.block:
            scales = pick(lambda count: words // (inside.block // count), codes, kind)
            ends += [
                _End(Destination.A_SCALES, rows, job.ldsa, scales, of_product),
                _End(Destination.B_SCALES, scales, job.ldsb, columns, of_product),
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
        # the next multiplication starts; so is the stride.
        length, ending, striding = Signal(distance), Signal(), Signal()
        first = Signal(distance + 1)
        short, beyond, large_block = Signal(), Signal(), Signal()
        ends_sum = Signal()
        adds = Mux(ends_sum, length, Mux(x[0], y, 0))
        # The address of the next step is there when it begins, and asked for long before.
        place = Signal(address + 1, reset_less=True)
        m.d.sync += [striding.eq(0), place.eq(_fold(self.i_address, address))]
        # It ends behind all addresses, or on chip and begins elsewhere.
        outside: Value = total[address:] != 0
        on_chip = slice((spec.scratch - 1).bit_length(), address)
        begins = Signal()
        if spec.scratch:
            outside |= total[on_chip].all() & ~begins
        with m.If(striding & (first <= length)):
            m.d.sync += short.eq(1)
        with m.FSM():
            with m.State("IDLE"), m.If(self.i_start):
                m.d.sync += [step.eq(0), short.eq(0), beyond.eq(0), ending.eq(0)]
                m.d.sync += self.o_matrix.eq(0)
                m.d.sync += large_block.eq(0)
                m.next = "FORMATS"
            with m.State("FORMATS"):
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
            with m.State("BEGIN"), m.If(~self.i_hold):
                m.next = "MULTIPLY"
                m.d.sync += begins.eq(place[on_chip].all())
                m.d.sync += beyond.eq(beyond | (ending & outside))
                with m.If((step == len(ends)) & (~given | split)):
                    with m.If(given):
                        m.d.sync += self.o_error.eq(error_code("bad_block"))
                    m.next = "DONE"
                with m.If(large_block):
                    m.next = "DONE"
                m.d.sync += [ending.eq(0), self.o_matrix.eq(step + 1)]
                with m.Switch(step):
                    for number, end in enumerate(ends):
                        with m.Case(number):
                            m.d.sync += [x.eq(end.above), length.eq(end.last), ending.eq(end.used)]
                            if end.stride is not None:
                                m.d.sync += [
                                    y.eq(_fold(end.stride, distance)),
                                    striding.eq(end.used if end.strided is None else end.strided),
                                ]
                            m.d.comb += [self.o_base.valid.eq(1), self.o_base.to.eq(end.to)]
                    for number, (factor, other, _) in enumerate(sizes, len(ends)):
                        with m.Case(number):
                            m.d.sync += [x.eq(factor), y.eq(other), length.eq(0)]
                m.d.sync += total.eq(Mux(step < len(ends), place, 0) if ends else 0)
            with m.State("MULTIPLY"):
                m.d.sync += [x.eq(x >> 1), y.eq(y << 1), total.eq(total + adds)]
                with m.If(x[1:] == 0):
                    m.next = "LAST"
            with m.State("LAST"):
                m.d.comb += ends_sum.eq(1)
                m.d.sync += [total.eq(total + adds), step.eq(step + 1)]
                m.next = "BEGIN"
                with m.Switch(step):
                    for number, (_, _, most) in enumerate(sizes, len(ends)):
                        with m.Case(number):
                            m.d.sync += large_block.eq(total > most)
                if sizes:
                    with m.If(step == count - 1):
                        m.next = "DONE"
            with m.State("DONE"):
                m.d.sync += self.o_done.eq(1)
                for flag, name in (
                    (large_block, "bad_block"), (beyond, "address_range"), (short, "short_row"),
                ):  # fmt: skip
                    with m.If(flag):
                        m.d.sync += self.o_error.eq(error_code(name))
                m.next = "IDLE"
        m.d.comb += [first.eq(y), self.o_base.address.eq(place)]
        return m

    def _block_bits(self) -> dict[str, int]:
        """Return the bits of a block's sizes in tiles and beats; larger ones are refused."""
        spec = self.spec
        return {
            "m": bits_for(spec.a_words),
            "n": bits_for(max(spec.b_words * spec.b_slices(kind) for kind in spec.kinds)),
            "k": bits_for(max(spec.a_words * spec.a_slices(kind) for kind in spec.kinds)),
        }

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

    def _split(self, block_n: Value, block_k: Value, kind: Value) -> Value:
        """Tell whether blocks are too large to be counted, or start inside a byte."""
        spec, inside = self.spec, self.spec.inside
        sides = [
            (block_n, self.i_job.block_n, [inside.n * kind.b_bits for kind in spec.kinds],
             [spec.b_words * spec.b_slices(kind) for kind in spec.kinds]),
            (block_k, self.i_job.block_k, [inside.k * kind.a_bits for kind in spec.kinds],
             [spec.a_words * spec.a_slices(kind) for kind in spec.kinds]),
        ]  # fmt: skip
        width = self._block_bits()["m"]
        wrong = _above(self.i_job.block_m, width, C(spec.a_words))
        for count, whole, widths, most in sides:

            def inside_byte(width: int, count: Value = count) -> Value:
                return product_in_logic(count, width)[:3] != 0

            wrong |= _above(whole, len(count), pick(C, most, kind))
            wrong |= pick(inside_byte, widths, kind)
        if inside.block:
            each = [inside.block // mode.codes for mode in spec.kinds]
            wrong |= (self.i_job.block_m != 1) | (self.i_job.block_n != 1)
            wrong |= pick(lambda size: block_k[: size.bit_length() - 1] != 0, each, kind)
        return wrong


def _fold(value: Value, width: int) -> Value:
    """Replace the bits from that place up by their OR: too large values stay too large."""
    return Cat(value[:width], value[width:].any())


def _above(value: Value, width: int, most: Value) -> Value:
    """Tell whether a value is more than one of some bits."""
    return value[width:].any() | (value[:width] > most)


def _last(above: Value, bits: int) -> Value:
    """Return the bytes of some numbers less one, from their count less one."""
    if bits < 8:
        return above // (8 // bits)
    size = bits // 8
    if size.bit_count() > 1:
        return product_in_logic(above, size) + (size - 1)
    return Cat(C(size - 1, exact_log2(size)), above)
