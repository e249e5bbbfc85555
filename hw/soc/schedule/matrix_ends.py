"""Where the matrices of a job end in memory: rows, strides and bytes of a row of each."""

from functools import reduce
from operator import or_
from typing import Any, NamedTuple

from amaranth import C, Cat, Module, Mux, Signal, Value
from amaranth.lib import data
from amaranth.utils import exact_log2

from golden.soc.spec import CoprocessorSpec
from hw.arith.constant_division import divide_by_constant
from hw.arith.product import product_in_logic
from hw.soc.registers.window_layout import WindowLayout
from hw.soc.schedule.destination import Destination
from hw.soc.schedule.geometry import (
    FACTOR_BYTES,
    PLACE_BYTES,
    SCALE_BYTES,
    last_of_list,
    pick,
)
from hw.soc.schedule.vector_check import VectorCheck

__all__ = ["MatrixEnd", "matrix_ends"]


class MatrixEnd(NamedTuple):
    """What the end address of a matrix follows from.

    Members
    -------
    to : whose base address it is.
    above : rows less one.
    stride : bytes from row to row; None for a matrix of one row.
    last : bytes of a row less one.
    used : the job has the matrix.
    strided : the stride must be of a row at least; None: if the matrix is used.
    """

    to: Destination
    above: Value
    stride: Value | None
    last: Value
    used: Value
    strided: Value | None = None


def matrix_ends(
    m: Module, spec: CoprocessorSpec, job: Any, geometry: Any, of_rows: VectorCheck | None
) -> list[MatrixEnd]:
    """List the matrices of a job, in the order in which their ends are checked.

    Parameters
    ----------
    m : what registers the rows of packed weights.
    job : :class:`~hw.soc.registers.coprocessor.JobLayout`.
    geometry : :class:`~hw.soc.schedule.geometry.Geometry`, of which M, N and K less one are used.
    of_rows : what is known of a vector job.
    """
    if spec.STREAM:
        return []
    always, rows = C(1), geometry.m
    sums = _last_byte(geometry.n, 8 * spec.sum_bytes)
    records, recorded = _last_byte(geometry.n, 8 * spec.RECORD_BYTES), job.mode.per_column
    if spec.table:
        # A table is behind the records; of a job on maps there is no more than that.
        recorded |= job.mode.table
        behind = Mux(job.mode.per_column, records + spec.TABLE_BYTES, spec.TABLE_BYTES - 1)
        records = Mux(job.mode.table, behind, records)
    beside = sums
    if spec.row_factors:
        # There is no bias then: its address is that of what rows are multiplied by.
        factors = _last_byte(geometry.m, 8 * FACTOR_BYTES)
        beside = Mux(job.mode.accumulate, factors, sums)
    of_product: Value = always if of_rows is None else ~of_rows.here
    return [
        _end_of_a(spec, job, geometry, of_rows),
        _end_of_b(m, spec, job, geometry, of_rows),
        _end_of_c(spec, job, geometry, of_rows),
        MatrixEnd(Destination.BIAS, C(0), None, beside, job.mode.bias),
        MatrixEnd(Destination.RECORD, C(0), None, records, recorded),
        *_ends_of_scales(spec, job, geometry, rows, of_product),
    ]


def _end_of_a(
    spec: CoprocessorSpec, job: Any, geometry: Any, of_rows: VectorCheck | None
) -> MatrixEnd:
    """Return that of A; a gather's A is a table of K rows."""
    rows: Value = geometry.m
    widths = [kind.a_bits for kind in spec.kinds]
    last = pick(lambda bits: _last_byte(geometry.k, bits), widths, geometry.kind)
    if of_rows is not None:
        last = Mux(of_rows.here, of_rows.bytes_a, last)
        if spec.gather:
            table = (job.k - 1)[: spec.dimension_width]
            rows = Mux(of_rows.here & of_rows.gathers, table, rows)
    if spec.windows:
        # Of a map; the bytes of a row of it are a product.
        words: Any = data.View(WindowLayout(), Cat(job.a_scales, job.b_scales))
        rows = Mux(job.mode.window, words.height, rows)
    return MatrixEnd(Destination.A, rows, job.lda, last, C(1))


def _end_of_b(
    m: Module, spec: CoprocessorSpec, job: Any, geometry: Any, of_rows: VectorCheck | None
) -> MatrixEnd:
    """Return that of B, which some vector jobs have; one row for all of theirs has no stride."""
    size, unit, words = spec.dimension_width, spec.vector, geometry.k
    widths = [kind.b_bits for kind in spec.kinds]
    last = pick(lambda bits: _last_byte(geometry.n, bits), widths, geometry.kind)
    used: Value = C(1) if of_rows is None else ~of_rows.here
    rows, strided = words, used
    if of_rows is not None and (
        spec.gather or spec.blend or spec.taps or (unit and unit.builds(unit.SECOND))
    ):
        of_product = used
        used, rows = of_product | of_rows.pair, Mux(of_rows.here, geometry.m, words)
        if spec.depthwise:
            rows = Mux(of_rows.here & of_rows.windows, 0, rows)
        last = Mux(of_rows.here, of_rows.bytes_b, last)
        strided = used & (of_product | (job.ldb.any() & ~of_rows.windows))
    if spec.b_deep > 1:
        # Rows of B less one: it is long before they are used.
        packed, _ = divide_by_constant(m, words, spec.b_deep, (1 << size) - 1, "operator")
        fewer = Signal(size)
        m.d.sync += fewer.eq(packed)
        rows = fewer if of_rows is None else Mux(of_rows.here, geometry.m, fewer)
    if spec.sparse:
        # One row, of all bytes.
        packed = job.mode.packed
        rows, last, strided = (
            Mux(packed, 0, rows),
            Mux(packed, job.ldb - 1, last),
            strided & ~packed,
        )
    return MatrixEnd(Destination.B, rows, job.ldb, last, used, strided)


def _end_of_c(
    spec: CoprocessorSpec, job: Any, geometry: Any, of_rows: VectorCheck | None
) -> MatrixEnd:
    """Return that of C: sums or codes; a transposition's C has a row for each column of A."""
    columns, rows = geometry.n, geometry.m
    codes = _last_byte(columns, spec.code_bits)
    if spec.sizes:
        codes = Mux(geometry.wide, _last_byte(columns, 2 * spec.code_bits), codes)
    last: Value = Mux(job.mode.requantise, codes, _last_byte(columns, 8 * spec.sum_bytes))
    if of_rows is not None:
        last = Mux(of_rows.here, of_rows.bytes_c, last)
        if spec.transpose:
            rows = Mux(of_rows.here & of_rows.turned, columns, rows)
    return MatrixEnd(Destination.ADDEND, rows, job.ldc, last, C(1))


def _ends_of_scales(
    spec: CoprocessorSpec, job: Any, geometry: Any, rows: Value, used: Value
) -> list[MatrixEnd]:
    """Return those of the side bytes of blocks along K, or that of a table of B."""
    block, table = spec.inside.block, spec.inside.expander.table_bytes
    if spec.shares and spec.vector is not None:
        octaves = geometry.k // spec.vector.block
        used &= job.ldsa.any()
        return [MatrixEnd(Destination.A_SCALES, rows, job.ldsa, octaves, used)]
    if spec.group_scales != "none":
        # Groups less one: blocks along K are 2^i beats.
        first = exact_log2(spec.inside.k)
        steps = range(len(geometry.k) - first)
        groups = reduce(or_, (Mux(job.block_k[i], geometry.k >> i + first, 0) for i in steps))
        used &= job.ldsb.any()
        last = _last_byte(geometry.n, 8 * SCALE_BYTES)
        return [
            MatrixEnd(Destination.A_SCALES, groups, job.ldsa, rows, used),
            MatrixEnd(Destination.B_SCALES, groups, job.ldsb, last, used),
        ]
    if table:
        # Ends are in the order of addresses: none has that of scales of A.
        return [
            MatrixEnd(Destination.A_SCALES, C(0), None, C(0), C(0)),
            MatrixEnd(Destination.CODEBOOK, C(0), None, C(table - 1), used),
        ]
    if spec.lists:
        # K places and their count, in place of scales of A.
        listed, last = job.mode.listed & used, last_of_list(geometry.k)
        if spec.top_k:
            last = Mux(job.ldsa.any(), PLACE_BYTES - 1, last)
        return [MatrixEnd(Destination.PLACES, C(0), None, last, listed)]
    if not block:
        return []
    codes = [kind.codes for kind in spec.kinds]
    scales = pick(lambda count: geometry.k // (block // count), codes, geometry.kind)
    of_a = MatrixEnd(Destination.A_SCALES, rows, job.ldsa, scales, used)
    if not spec.inside.a_sides:
        of_a = MatrixEnd(Destination.A_SCALES, C(0), None, C(0), C(0))
    last = _last_byte(geometry.n, 8 * spec.inside.b_sides)
    return [of_a, MatrixEnd(Destination.B_SCALES, scales, job.ldsb, last, used)]


def _last_byte(above: Value, bits: int) -> Value:
    """Return byte_count - 1 of numbers of some `bits`, from their count - 1."""
    if bits < 8:
        return above // (8 // bits)
    size = bits // 8
    if size.bit_count() > 1:
        return product_in_logic(above, size) + (size - 1)
    return Cat(C(size - 1, exact_log2(size)), above)
