"""A product as a job: what fits together, where results go, which blocks are taken."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any, TypedDict

from .blocking import Blocks, plan
from .device_info import Info
from .job import FACTOR_BITS, Job, Requantisation
from .matrix import Matrix
from .mode import Mode
from .number import Number

__all__ = [
    "FACTOR",
    "STRIDES",
    "ProductOptions",
    "blocks_of",
    "check_beside",
    "check_factors",
    "check_names",
    "check_number",
    "check_out",
    "check_scales",
    "check_shape",
    "job_of",
    "product_job",
    "results_of",
    "sizes_of",
]

FACTOR = Number.of(FACTOR_BITS, FACTOR_BITS, False)
"""Of rows of the existing C: as many 2^-15."""

STRIDES = {"a": "lda", "b": "ldb", "c": "ldc", "a_scales": "ldsa", "b_scales": "ldsb"}
"""Fields of a job with the bytes from a row to the next, by matrix."""


class ProductOptions(TypedDict, total=False):
    """How C is made of the sums.

    Members
    -------
    requantisation : None, the default: C holds sums.
    accumulate : accumulate into the sums in `out`.
    row_factors : 1 x M numbers of 16 bits, if the device has them: rows of the sums in `out` are
        multiplied by so many 2^-15, and rounded, halves up, before any are added.
    mode : formats of A and B; needed if the engine has several, or scales.
    wide : requantised codes are of ``info.wide``, if jobs choose (``sizes``).
    group : codes along K whose integer sums are scaled, if the device has ``group_scales``: 2^i
        beats; the last group may have fewer. `a_scales` are exponents of 2 then, groups x M, and
        `b_scales` codes of scales, groups x N, see :mod:`.group_scales`; C is float32.
    """

    requantisation: Requantisation | None
    accumulate: bool
    row_factors: Any
    mode: Mode | None
    wide: bool
    group: int


def check_names(options: Mapping[str, object]) -> None:
    """Refuse what is none of the options, as Python does for arguments that it knows."""
    if unknown := sorted(options.keys() - ProductOptions.__optional_keys__):
        known = ", ".join(sorted(ProductOptions.__optional_keys__))
        raise TypeError(f"options must be of {known}, not {', '.join(unknown)}")


def sizes_of(a: Matrix, b: Matrix, mode: Mode) -> tuple[int, int, int]:
    """Return M, N and K of a product; refuse operands that do not fit together."""
    (m, k), (rows, across) = a.shape, b.shape
    words = -(-k // mode.codes)
    deep = -(-words // mode.b_deep)
    if rows != deep:
        raise ValueError(f"b must have {deep} rows, for {k} columns of a, not {rows}")
    if k > mode.k_max:
        raise ValueError(f"K must be 1..{mode.k_max}, not {k}")
    check_number("a", a, mode.a)
    check_number("b", b, mode.b_stored)
    return m, across // mode.codes, k


def results_of(
    info: Info, n: int, requantisation: Requantisation | None, *, wide: bool
) -> tuple[Number, Requantisation | None]:
    """Return what C has, and the requantisation with its limits."""
    if wide:
        info.require("sizes")
        if requantisation is None:
            raise ValueError("wide must be false without requantisation, not true")
    if requantisation is None:
        return info.sums, None
    info.require("requantiser")
    codes = info.wide if wide else info.codes
    number = requantisation.check(codes, n)
    low, high = requantisation.limits(codes)
    if requantisation.recorded:
        info.require("per_column")
    if requantisation.table is not None:
        info.require("table")
    return number, replace(requantisation, low=low, high=high)


def blocks_of(
    info: Info, blocks: Blocks | None, sizes: tuple[int, int, int], mode: Mode, number: Number
) -> Blocks:
    """Return the sizes of blocks: those that are given, or the planner's, or the hardware's."""
    m, n, k = sizes
    stores = mode.stores(info.stores)
    if "fixed_blocks" in info.features:
        if blocks is not None:
            raise ValueError(f"blocks must be the hardware's own choice, not {blocks}")
        return Blocks(0, 0, 0)
    if blocks is None:
        return plan(stores, m, n, -(-k // mode.codes), number.bits)
    if not stores.fits(blocks.m, blocks.n, blocks.k):
        raise ValueError(f"blocks must fit into the stores, not {blocks}")
    return blocks


def check_scales(
    info: Info, scales: tuple[Matrix | None, ...], sizes: tuple[int, int, int], mode: Mode
) -> None:
    """Refuse scales that do not fit the mode, and a mode of another build."""
    m, n, k = sizes
    if not mode.block and "scales" in info.features:
        raise ValueError("mode must have blocks with scales, as this co-processor's modes do")
    if mode.block or any(scales):
        info.require("scales")
    blocks = mode.blocks(k)
    for name, matrix, shape, number in zip(
        ("a_scales", "b_scales"),
        scales,
        ((m, blocks), (blocks, n)),
        (mode.scales, mode.b_sides),
        strict=True,
    ):
        what = f"one for each block of {mode.block} codes"
        if matrix is None:
            if mode.block and number is not None:
                raise ValueError(f"{name} must be given, {what}: {shape}")
            continue
        if number is None:
            raise ValueError(f"{name} must be None without scales")
        check_number(name, matrix, number)
        if matrix.shape != shape:
            raise ValueError(f"{name} must be {shape}, {what}, not {matrix.shape}")


def check_beside(
    info: Info, shape: tuple[int, int], bias: Matrix | None, out: Matrix | None, number: Number
) -> None:
    """Refuse a bias that cannot be added to C, and a matrix that cannot hold it."""
    if bias is not None:
        info.require("bias")
        check_number("bias", bias, info.sums)
        check_shape("bias", bias, (1, shape[1]))
    if out is not None:
        check_out(out, shape, number)


def check_factors(info: Info, rows: int, factors: Matrix | None, *, accumulates: bool) -> None:
    """Refuse factors of rows that are of another number, or multiply nothing."""
    if factors is None:
        return
    info.require("row_factors")
    if not accumulates:
        raise ValueError("row_factors must be None without accumulate")
    check_number("row_factors", factors, FACTOR)
    check_shape("row_factors", factors, (1, rows))


def check_out(out: Matrix, shape: tuple[int, int], number: Number) -> None:
    """Refuse a matrix that cannot hold results."""
    check_shape("out", out, shape)
    if not out.number.holds(number):
        raise ValueError(f"out must hold {number}, not {out.number}")


def check_number(name: str, matrix: Matrix, number: Number) -> None:
    """Refuse a matrix of other numbers."""
    if not number.holds(matrix.number):
        raise ValueError(f"{name} must be of {number}, not of {matrix.number}")


def check_shape(name: str, matrix: Any, shape: tuple[int, int]) -> None:
    """Refuse a matrix of another shape."""
    if matrix.shape != shape:
        raise ValueError(f"{name} must be of shape {shape}, not {matrix.shape}")


def product_job(
    matrices: Mapping[str, Matrix],
    sizes: tuple[int, int, int],
    mode: Mode,
    blocks: Blocks,
    how: tuple[Requantisation | None, bool, int],
) -> Job:
    """Return the job of a product.

    Parameters
    ----------
    matrices : ``a b c``, and ``bias row_factors records a_scales b_scales`` if there are any.
    how : requantisation; whether sums are accumulated; bytes of C, if jobs choose them.
    """
    requantisation, accumulate, c_bytes = how
    return job_of(
        matrices,
        sizes,
        requantisation=requantisation,
        accumulate=accumulate,
        a_format=mode.a_format,
        b_format=mode.b_format,
        block_m=blocks.m,
        block_n=blocks.n,
        block_k=blocks.k,
        by_columns=blocks.by_columns,
        c_bytes=c_bytes,
        table=requantisation is not None and requantisation.table is not None,
        packed=hasattr(matrices["b"], "blocks"),
        **({"ldsb": 0} if mode.expander.table_bytes else {}),
    )


def job_of(matrices: Mapping[str, Matrix], sizes: tuple[int, int, int], **more: Any) -> Job:
    """Return a job with the addresses of its matrices, and the strides of those that have any.

    Parameters
    ----------
    matrices : by the names of :class:`Job`; without a ``b`` its address and stride are 0.
    sizes : M, N, K.
    more : other fields of the job; they come before what follows from the matrices.
    """
    m, n, k = sizes
    addresses = {name: matrix.address for name, matrix in matrices.items()}
    strides = {
        STRIDES[name]: matrix.distance for name, matrix in matrices.items() if name in STRIDES
    }
    return Job(**{"b": 0, "ldb": 0, "m": m, "n": n, "k": k, **addresses, **strides, **more})
