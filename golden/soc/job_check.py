"""What is wrong with a job, and where its matrices are in memory."""

from dataclasses import replace

from golden.npe.vector import SECOND
from golden.soc.code_table import CODES
from golden.soc.depthwise import DEPTHWISE
from golden.soc.depthwise_limits import fits, most_channels
from golden.soc.group_scales import legal, scale_rows
from golden.soc.job import Error, Job
from golden.soc.lists import INDEX, PLACE_BYTES, TOP_K, choice, list_columns, top_bytes
from golden.soc.maps import MAPS
from golden.soc.memory import Matrix
from golden.soc.mode import FormatMode
from golden.soc.row_factors import FACTOR_BYTES
from golden.soc.second_rows import BLEND
from golden.soc.shares import octave_rows, share_columns, shares_blocks
from golden.soc.spec import CoprocessorSpec
from golden.soc.vector_jobs import c_bytes, narrows, vector_mode
from golden.soc.window import Window

__all__ = ["error_of", "matrices", "mode_of", "narrows"]


def mode_of(spec: CoprocessorSpec, job: Job) -> FormatMode | None:
    """Find the memory layout of a job's formats; None if there are no such formats."""
    return spec.inside.modes.get((job.a_format, job.b_format))


def matrices(spec: CoprocessorSpec, job: Job) -> dict[str, Matrix]:
    """Lay out the matrices of a job: a, b, c; bias, records, factors of rows, a table, a list.

    a and b consist of words, see :class:`golden.soc.mode.FormatMode`.
    """
    if job.vector is not None:
        return _vector_matrices(spec, job)
    mode = mode_of(spec, job) or spec.kinds[0]
    bits = spec.code_bits if job.codes else 8 * spec.sum_bytes
    if spec.sizes and job.codes:
        bits = 8 * (job.c_bytes or 1)
    words = -(-job.k // mode.codes)
    deep = -(-words // mode.b_deep)
    placed = {
        "a": Matrix(address=job.a, rows=job.m, columns=words, distance=job.lda, bits=mode.a_bits),
        "b": Matrix(address=job.b, rows=deep, columns=job.n, distance=job.ldb, bits=mode.b_bits),
        "c": Matrix(address=job.c, rows=job.m, columns=job.n, distance=job.ldc, bits=bits),
    }
    if job.packed and spec.sparse:
        placed["b"] = Matrix(address=job.b, rows=1, columns=job.ldb, distance=job.ldb, bits=8)
    if job.window is not None:
        placed["a"] = _map_of(job, job.window)
    if spec.inside.block:
        blocks = -(-job.k // spec.inside.block)
        if spec.inside.a_sides:
            placed["a_scales"] = Matrix(
                address=job.a_scales, rows=job.m, columns=blocks, distance=job.ldsa, bits=8
            )
        side = {"columns": job.n, "distance": job.ldsb, "bits": 8 * spec.inside.b_sides}
        placed["b_scales"] = Matrix(address=job.b_scales, rows=blocks, **side)
    if size := spec.inside.expander.table_bytes:
        side = {"columns": size, "distance": size, "bits": 8}
        placed["b_scales"] = Matrix(address=job.b_scales, rows=1, **side)
    return placed | octave_rows(spec, job) | scale_rows(spec, job) | _of_columns(spec, job)


def _map_of(job: Job, window: Window) -> Matrix:
    """Lay out the map of a job."""
    return Matrix(
        address=job.a, rows=window.height, columns=window.row_bytes, distance=job.lda, bits=8
    )


def _of_columns(spec: CoprocessorSpec, job: Job) -> dict[str, Matrix]:
    """Lay out what a job has for each column or row, and its table, behind records if any."""
    records = spec.RECORD_BYTES * (job.vector not in MAPS)
    listed = job.places if spec.lists and job.vector is None else None
    sizes = {
        "places": (listed, 1 if choice(spec, job) else list_columns(job.k), PLACE_BYTES),
        "bias": (job.bias, job.n, spec.sum_bytes),
        "row_factors": (job.row_factors, job.m, FACTOR_BYTES),
        "records": (job.records if records else None, job.n, records),
    }
    if job.table and job.records is not None:
        sizes["table"] = job.records + records * job.n, CODES, 1
    return {
        name: Matrix(address=address, rows=1, columns=columns, distance=0, bits=8 * size)
        for name, (address, columns, size) in sizes.items()
        if address is not None
    }


def error_of(spec: CoprocessorSpec, job: Job) -> Error:
    """Check a job before anything is read or written; return the first error."""
    has_k = job.vector in (None, *({"gather", TOP_K, DEPTHWISE} & {*spec.vector_jobs}))
    sizes = (job.m, job.n, job.k) if has_k else (job.m, job.n)
    window = job.window
    if not all(0 < size < 1 << spec.dimension_width for size in sizes) or not (
        window is None or not spec.windows or window.sized
    ):
        return Error.DIMENSION
    if job.vector is not None:
        if job.vector == DEPTHWISE and window is not None:
            return _depthwise_error(spec, job, window)
        return vector_mode(spec, job) or _range_of(spec, job)
    mode = mode_of(spec, job)
    by_columns = job.records is not None
    if (
        mode is None
        or (job.bias is not None and not spec.bias)
        or (job.codes and not spec.requantise)
        or (job.encode != job.codes if spec.inside.result is not None else job.encode)
        or (by_columns and not (job.codes and spec.requantises_columns))
        or (job.by_columns and not spec.blocks)
        or (any((job.block_m, job.block_n, job.block_k)) and not spec.blocks)
        or (job.accumulate and (job.codes or job.bias is not None or not spec.accumulates))
        or (job.row_factors is not None and not (spec.row_factors and job.accumulate))
        or (spec.sizes and job.c_bytes > 2 * job.codes)
        or (window is not None and not spec.windows)
        or (job.table and not (spec.table and by_columns and job.c_bytes < 2))
        or (job.packed and spec.sparse and not 0 < job.ldb < 1 << spec.distance_width)
        or (job.places is not None and spec.lists and job.packed)
        or not legal(spec, job)
    ):
        return Error.MODE
    by_list = job.places is not None and spec.lists > 0 and not choice(spec, job)
    if job.k > (min(mode.k_max, spec.lists) if by_list else mode.k_max):
        return Error.K_TOO_LARGE
    if window is not None and not (window.legal and job.k == window.codes):
        return Error.WINDOW
    return _range_of(spec, job) or _blocks_of(spec, job, mode)


def _blocks_of(spec: CoprocessorSpec, job: Job, mode: FormatMode) -> Error:
    """Check the blocks of a product; those of windows have whole pixels."""
    blocks = job.block_m, job.block_n, job.block_k
    if job.window is not None:
        blocks = (*blocks[:2], -(-job.block_k * job.window.channels // spec.inside.k))
        if not all(blocks):
            return Error.BLOCKS
    fits = not all(blocks) or spec.fits(*blocks, mode)
    return Error.NONE if fits and shares_blocks(spec, job) else Error.BLOCKS


def _depthwise_error(spec: CoprocessorSpec, job: Job, window: Window) -> Error:
    """Check a depthwise job, whose pixels are of whole beats of the unit."""
    unit = spec.vector
    if error := vector_mode(spec, job):
        return error
    assert unit is not None
    if not window.legal or (
        (job.n, window.pixel) != (window.channels, -(-window.channels // unit.lanes) * unit.lanes)
    ):
        return Error.WINDOW
    if job.n > most_channels(spec):
        return Error.LONG_ROW
    if job.k != window.codes:
        return Error.WINDOW
    return _range_of(spec, job) or (Error.NONE if fits(spec, window) else Error.BLOCKS)


def _vector_matrices(spec: CoprocessorSpec, job: Job) -> dict[str, Matrix]:
    """Lay out the matrices of a vector job."""
    bits, columns = 8 * c_bytes(spec, job), job.n + (job.vector == "softmax")
    if job.vector == "exps" and spec.vector is not None:
        columns = share_columns(spec.vector, job.vector, job.n)
    read = 8 * (job.a_format + 1)
    placed = {
        "a": Matrix(address=job.a, rows=job.m, columns=job.n, distance=job.lda, bits=read),
        "c": Matrix(address=job.c, rows=job.m, columns=columns, distance=job.ldc, bits=bits),
    }
    if job.vector == "transpose":
        placed["c"] = Matrix(address=job.c, rows=job.n, columns=job.m, distance=job.ldc, bits=8)
    if job.vector == INDEX:
        words = {"columns": list_columns(job.n), "bits": 8 * PLACE_BYTES}
        placed["c"] = replace(placed["c"], **words)
    if job.vector == TOP_K:
        # Places and their count, and codes as A has them.
        size = top_bytes(job.k, job.a_format + 1)
        placed["c"] = replace(placed["c"], columns=size, bits=8)
    if job.vector == "gather":
        placed["a"] = replace(placed["a"], rows=job.k)
        placed["b"] = Matrix(address=job.b, rows=job.m, columns=1, distance=job.ldb, bits=32)
    if job.vector == DEPTHWISE and job.window is not None:
        placed["a"] = _map_of(job, job.window)
        placed["b"] = Matrix(address=job.b, rows=1, columns=job.k, distance=0, bits=8)
        return placed | _of_columns(spec, job)
    if job.vector in (*SECOND, *MAPS, BLEND):
        both = job.n << (job.vector == BLEND)
        each, size = (1, 8) if job.vector == "scale" else (both, read)
        placed["b"] = Matrix(address=job.b, rows=job.m, columns=each, distance=job.ldb, bits=size)
        placed |= _of_columns(spec, job)
    return placed


def _range_of(spec: CoprocessorSpec, job: Job) -> Error:
    """Check row strides and addresses."""
    placed = {} if spec.STREAM else matrices(spec, job)
    once = job.vector == DEPTHWISE or (job.vector is not None and not job.ldb)
    free = ("places", "bias", "row_factors", "records", "table", "b" if once else "")
    if any(
        matrix.distance < matrix.row_bytes for name, matrix in placed.items() if name not in free
    ):
        return Error.LEADING_DIMENSION
    if "table" in placed and "records" in placed:
        # They are one matrix.
        first, table = placed["records"].address, placed["table"]
        placed["table"] = replace(table, address=first, columns=table.end - first)
    base = spec.scratch_base
    for matrix in placed.values():
        if matrix.end > 1 << spec.address_width or matrix.address < base < matrix.end:
            return Error.WRAPS
    return Error.NONE
