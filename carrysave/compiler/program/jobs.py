"""Jobs on buffers: products, and operations of the vector unit on rows."""

from dataclasses import dataclass

import numpy as np

from carrysave.compiler.program.buffers import Buffer
from carrysave.compiler.target.target import Target
from carrysave.compiler.timing.blocks import planned
from carrysave.compiler.timing.golden_job import golden_job
from carrysave.driver import Mode, Requantisation
from carrysave.driver.job import Job
from carrysave.driver.maps import Maps
from carrysave.driver.operations import MAPS, REQUANTISED
from carrysave.driver.window import Window
from golden.npe import requantiser as unit
from golden.soc.job import Error
from golden.soc.job_check import error_of
from golden.soc.lists import INDEX, PLACE_BYTES, TOP_K, list_columns, top_bytes
from golden.soc.second_rows import BLEND
from golden.soc.shares import share_columns
from golden.soc.spec import CoprocessorSpec

__all__ = ["Scaled", "checked", "product", "rows", "same", "scaled", "scaled_product", "scaling"]

_FACTOR = 15
"""Bits of a multiplier of the vector unit, but of a gate's."""


def scaling(
    scale: float, bits: int, zero_point: int = 0, multiplier_bits: int = _FACTOR
) -> Requantisation:
    """Return what makes codes of results of the vector unit.

    Parameters
    ----------
    scale : codes per unit of the results.
    bits : of a code, two's complement.
    zero_point : code of 0.
    multiplier_bits : of the multiplier.
    """
    multiplier, shift = (int(one.item()) for one in unit.dyadic(scale, multiplier_bits))
    high = (1 << bits - 1) - 1
    return Requantisation(
        multiplier=multiplier, shift=shift, zero_point=zero_point, low=-high - 1, high=high
    )


def scaled(scale: np.ndarray | float, most: int) -> Requantisation:
    """Return the requantisation of sums, times a scale, to codes of up to `most`."""
    values: list[int | np.ndarray] = [*unit.dyadic(scale)]
    if not np.ndim(scale):
        values = [int(np.asarray(value).item()) for value in values]
    multiplier, shift = values
    return Requantisation(multiplier=multiplier, shift=shift, zero_point=0, low=-most, high=most)


def product(
    target: Target, a: Buffer, b: Buffer, c: Buffer, *, bias: Buffer | None = None,
    how: Requantisation | None = None, records: Buffer | None = None,
    window: Window | None = None,
) -> Job:  # fmt: skip
    """Return C = A x B + bias, as sums, or requantised to codes of a byte or two, in its blocks.

    Parameters
    ----------
    records : of columns, if `how` is not the same for all.
    window : of which A's rows are made; A's stride is that of the map's rows.

    Raises
    ------
    ValueError
        Buffers of other sizes, or what the co-processor cannot do.
    """
    info, mode = target.info, target.mode
    wide = how is not None and c.bits > info.codes.bits
    codes = info.wide if wide else info.codes
    expected = info.sums.bits if how is None else codes.bits
    deep = -(-a.columns // (mode.codes * mode.b_deep))
    same(c, "must have the product's", (c.rows, c.columns, c.bits), (a.rows, b.columns, expected))
    same(a, "must have an operand's", (a.bits,), (mode.a.bits,))
    same(b, "must have an operand's", (b.rows, b.bits), (deep, mode.b_stored.bits))
    if bias is not None:
        sums = 1, c.columns, info.sums.bits
        same(bias, "must have the sums'", (bias.rows, bias.columns, bias.bits), sums)
    table = how is not None and how.table is not None
    if how is not None:
        how.check(codes, c.columns)
        low, high = how.limits(codes)
        how = Requantisation(how.multiplier, how.shift, how.zero_point, low, high, how.relu)
    one = int(window is not None)
    job = Job(
        a=a.address, b=b.address, c=c.address, m=a.rows, n=c.columns, k=a.columns, lda=a.stride,
        ldb=b.stride, ldc=c.stride, bias=None if bias is None else bias.address,
        records=None if records is None else records.address, requantisation=how,
        a_format=mode.a_format, b_format=mode.b_format, c_bytes=2 if wide else 0, window=window,
        block_m=one, block_n=one, block_k=one, table=table,
    )  # fmt: skip
    return planned(checked(target, c.name, "a product", b.packs(job)), target)


@dataclass(frozen=True, kw_only=True)
class Scaled:
    """An operand of codes in blocks along K, in memory, with their scales.

    Members
    -------
    mode : formats of the product.
    k : codes along K.
    codes : bytes, a row of A, or of words of B, in each row.
    scales : bytes, of A rows x blocks, of B blocks x columns.
    """

    mode: Mode
    k: int
    codes: Buffer
    scales: Buffer


def scaled_product(target: Target, a: Scaled, b: Scaled, c: Buffer) -> Job:
    """Return C = A x B in floats of 32 bits, of blocks of codes with scales, in its blocks.

    Raises
    ------
    ValueError
        Buffers of other sizes, or what the co-processor cannot do.
    """
    mode, m, n = a.mode, c.rows, c.columns
    same(c, "must have floats'", (c.bits,), (target.info.sums.bits,))
    same(b.codes, "must have an operand's", (b.k, b.codes.rows), (a.k, -(-a.k // mode.codes)))
    of_a, of_b = (a.codes.rows, a.scales.rows), (b.scales.rows, b.scales.columns)
    same(a.scales, "must have scales", (*of_a, a.scales.columns), (m, m, mode.blocks(a.k)))
    same(b.scales, "must have scales", of_b, (mode.blocks(b.k), n))
    return planned(
        checked(
            target,
            c.name,
            "a product",
            Job(
                a=a.codes.address,
                b=b.codes.address,
                c=c.address,
                m=m,
                n=n,
                k=a.k,
                lda=a.codes.stride,
                ldb=b.codes.stride,
                ldc=c.stride,
                a_scales=a.scales.address,
                b_scales=b.scales.address,
                ldsa=a.scales.stride,
                ldsb=b.scales.stride,
                a_format=mode.a_format,
                b_format=mode.b_format,
            ),
        ),
        target,
    )


def rows(
    target: Target, operation: str, a: Buffer, c: Buffer, *, b: Buffer | None = None,
    how: Requantisation | None = None, once: bool = False, maps: Maps | None = None,
) -> Job:  # fmt: skip
    """Return an operation on each row of A; an index lists what is not zero.

    Parameters
    ----------
    b : of sums and products rows as those of A, or one for all; of a scale exponents, a column; of
        a gather numbers of rows, a column; of a blend codes, and as many factors behind them.
    how : of what is requantised; of a division, the zero point, the limits, and in its shift the
        bits of codes after the point; of a blend, the limits, and in its shift those of factors.
    once : the only row of B is for all rows of A, even if that has one, too.
    maps : zero points and factors of maps.

    Raises
    ------
    ValueError
        Buffers of other sizes, or what the co-processor cannot do.
    """
    spec = target.spec
    if spec.vector is None or operation not in spec.vector_jobs:
        has = ", ".join(spec.vector_jobs) if spec.vector is not None else "no vector unit"
        raise ValueError(f"{c.name}: the co-processor must have {operation}; it has {has}")
    if (how is None) == (operation in REQUANTISED):
        raise ValueError(f"{c.name}: only {', '.join(REQUANTISED)} are requantised")
    m, k = a.rows, 0
    shape = m, share_columns(spec.vector, operation, a.columns)
    if operation == "transpose":
        shape = a.columns, m
    if operation == INDEX:
        shape = m, list_columns(a.columns)
    if operation == TOP_K:
        k = _greatest(a, c)
        shape = m, top_bytes(k, a.bits // 8)
    if operation == "gather":
        assert b is not None
        m, k = b.rows, a.rows
        shape = m, a.columns
    same(c, "must have the results'", (c.rows, c.columns), shape)
    if b is not None:
        both = {"scale": (1, 8), "gather": (1, 32), BLEND: (2 * a.columns, a.bits)}
        across, bits = both.get(operation, (a.columns, a.bits))
        one = 1 if b.rows == 1 else m
        same(b, "must have the operand's", (b.rows, b.columns, b.bits), (one, across, bits))
    small = spec.sizes and c.bits == 8 < spec.vector.out_width and operation != TOP_K
    same(c, "must have codes'", (c.bits,), (_bits(spec, operation, a, small=small),))
    return checked(target, c.name, operation, Job(
        a=a.address, b=0 if b is None else b.address, c=c.address, m=m, n=a.columns, k=k,
        lda=a.stride, ldb=0 if b is None or once or b.rows != m else b.stride, ldc=c.stride,
        a_format=a.bits // 8 - 1, vector=operation, requantisation=how, c_bytes=int(small),
        least=int(operation == INDEX), zeros=(0, 0) if maps is None else maps.zeros,
        factors=(0, 0) if maps is None else maps.factors,
    ))  # fmt: skip


def _bits(spec: CoprocessorSpec, operation: str, a: Buffer, *, small: bool) -> int:
    """Return the bits of a code of C, or of a place; those of small results are 8."""
    if operation in ("transpose", TOP_K):
        return 8
    if operation == "gather" or operation in MAPS:
        return a.bits
    return 8 * (PLACE_BYTES if operation == INDEX else 1 if small else spec.vector_out_bytes)


def _greatest(a: Buffer, c: Buffer) -> int:
    """Return how many of the greatest codes of A have room in a row of C, but for one at least."""
    return max((c.columns - PLACE_BYTES) // (PLACE_BYTES + a.bits // 8), 1)


def checked(target: Target, name: str, what: str, job: Job) -> Job:
    """Return a job that the co-processor takes; ValueError, with its reason, else."""
    error = error_of(target.spec, golden_job(job, target.spec))
    if error:
        why = {Error.LONG_ROW: f"rows of {job.n} codes", Error.K_TOO_LARGE: f"K of {job.k}"}
        raise ValueError(
            f"{name}: the co-processor cannot do {what} of"
            f" {why.get(error, f'{job.m} x {job.n} codes')}: {error.name}"
        )
    return job


def same(buffer: Buffer, what: str, given: tuple[int, ...], wanted: tuple[int, ...]) -> None:
    """Refuse a buffer whose size, or width, is not that which is wanted; ValueError."""
    if given != wanted:
        raise ValueError(
            f"{buffer.name}: {what} {' x '.join(map(str, wanted))}, not"
            f" {' x '.join(map(str, given))}"
        )
