"""The derived values of a job, for all parts of the co-processor."""

from collections.abc import Callable, Sequence
from typing import Any

from amaranth import Array, C, Cat, Mux, Value
from amaranth.hdl import ValueLike
from amaranth.lib import data
from amaranth.utils import bits_for, exact_log2

from golden.soc.spec import CoprocessorSpec

__all__ = [
    "BYTES_WIDTH",
    "FACTOR_BYTES",
    "PLACE_BYTES",
    "SCALE_BYTES",
    "Geometry",
    "block_widths",
    "bytes_of",
    "bytes_of_top",
    "job_flags",
    "last_of_list",
    "pick",
    "scales_groups",
    "scales_of",
    "words_bytes",
]

BYTES_WIDTH = 32
"""Bits of a row stride, in bytes."""

FACTOR_BYTES = 2
"""Of a row of the existing C."""

SCALE_BYTES = 2
"""Of a column's scale of a group."""

PLACE_BYTES = 4
"""Of a place in a list, and of its count."""


def block_widths(spec: CoprocessorSpec) -> dict[str, int]:
    """Return the bits of a block's sizes: rows, columns, codes; tiles across.

    The limit is the stores or, if jobs do not choose blocks, the hardware's choice; a block may be
    larger than any product.
    """
    inside = spec.inside
    most = [
        (spec.a_words, spec.b_words * spec.b_slices(kind), spec.a_words * spec.a_slices(kind))
        if spec.blocks
        else spec.default_blocks(kind)
        for kind in spec.kinds
    ]
    down, across, along = (max(side) for side in zip(*most, strict=True))
    sizes = {
        "rows": down * inside.m,
        "columns": across * inside.n,
        "codes": along * inside.k,
        "across": across,
    }
    return {name: bits_for(size) for name, size in sizes.items()}


class Geometry(data.StructLayout):
    """A product and its blocks, checked: sizes in numbers, strides in bytes.

    ``kind`` is an index of :attr:`CoprocessorSpec.kinds`; ``k``, and ``codes`` for a block, count
    words along K; ``m``, ``n``, ``k`` are less one; the last word of K holds ``tail`` valid bits
    (0 = all) and lacks ``missing`` codes. ``across`` is the number of tiles in a block's row;
    ``a_stride``, ``b_stride`` the words of a block's row in the stores; ``p_stride`` the rows of
    sums from a tile to the one below.
    ``exponent`` is the exponent of a sum's last bit minus the smallest possible one. Where jobs
    choose the bytes of a code of C, requantised ones of a product have two if ``wide``, and those
    of a vector job one, though the unit's have two, if ``narrowed``. Rows of the existing C have
    factors if ``factored``; B is bitmaps and what is not zero if ``packed``; places of K are those
    of a list if ``listed``; B is the one of several that a place says if ``chosen``. Rows of A are
    windows of a map if ``of_windows``; ``line`` are the bytes of a kernel row, if there is room for
    as many in a store, and pixels follow each other in memory if ``dense``. ``map_row`` are the
    bytes of a row of a depthwise job's map, less one. Sums of each block along K are ``shifted`` by
    octaves, or scaled as those of a group if ``grouped``.
    """

    def __init__(self, spec: CoprocessorSpec):
        size, address = spec.dimension_width, spec.address_width
        distance = min(BYTES_WIDTH, address)
        most = max(mode.exponent for mode in spec.inside.modes.values())
        blocks = block_widths(spec)
        stride = max(size, blocks["across"] + bits_for(spec.inside.m))
        super().__init__({
            "kind": range(len(spec.kinds)),
            "tail": range(spec.inside.a_width),
            "missing": range(max(kind.codes for kind in spec.kinds)),
            "exponent": range(most + 1),
            "m": size,
            "n": size,
            "k": size,
            **blocks,
            "a_stride": range(spec.a_words + 1),
            "b_stride": range(spec.b_words + 1),
            "p_stride": stride,
            "by_columns": 1,
            "lda": distance,
            "ldb": distance,
            "ldc": distance,
            "ldsa": distance,
            "ldsb": distance,
            "biased": 1,
            "requantised": 1,
            "per_column": 1,
            "accumulate": 1,
            "factored": 1,
            **({"packed": 1} if spec.sparse else {}),
            **({"listed": 1} if spec.lists else {}),
            **({"chosen": 1} if spec.top_k else {}),
            **({"wide": 1, "narrowed": 1} if spec.sizes else {}),
            **({"of_windows": 1, "line": spec.length_width, "dense": 1} if spec.windows else {}),
            **({"shifted": 1} if spec.shares else {}),
            **({"grouped": 1} if scales_groups(spec) else {}),
            **({"map_row": spec.length_width} if spec.depthwise else {}),
        })


def job_flags(spec: CoprocessorSpec, job: Any) -> dict[str, Value]:
    """Return fields of a job's geometry that say what is special of it, in builds that have that.

    Parameters
    ----------
    job : :class:`~hw.soc.registers.coprocessor.JobLayout`.
    """
    mode, flags = job.mode, dict[str, Value]()
    if spec.sparse:
        flags["packed"] = mode.packed
    if spec.lists:
        flags["listed"] = mode.listed & ~job.ldsa.any() if spec.top_k else mode.listed
    if spec.top_k:
        flags["chosen"] = mode.listed & job.ldsa.any()
    if spec.shares:
        flags["shifted"] = job.ldsa.any()
    if scales_groups(spec):
        flags["grouped"] = job.ldsb.any() & ~mode.vector.any()
    return flags


def pick(make: Callable[[int], ValueLike], keys: Sequence[int], index: Value) -> Value:
    """Look up a value by the key that an index selects; equal keys share one value."""
    made = {key: Value.cast(make(key)) for key in dict.fromkeys(keys)}
    if len(made) == 1:
        return made[keys[0]]
    return Value.cast(Array([made[key] for key in keys])[index])


def bytes_of(numbers: Value, bits: int) -> Value:
    """Return the bytes of a count of numbers, whose width is a power of two or whole bytes."""
    return numbers * (bits // 8) if bits >= 8 else (numbers + (8 // bits - 1)) // (8 // bits)


def last_of_list(above: Value) -> Value:
    """Return byte_count - 1 of a list, from its most places less one: a word each, and a count."""
    return Cat(C(PLACE_BYTES - 1, exact_log2(PLACE_BYTES)), above + 1)


def bytes_of_top(count: Value, wide: Value) -> Value:
    """Return the bytes of a row of the greatest codes, of one or two bytes: a list, and codes."""
    return Cat(C(0, exact_log2(PLACE_BYTES)), count + 1) + Mux(wide, count << 1, count)


def words_bytes(spec: CoprocessorSpec, side: str, words: Value, kind: Value) -> Value:
    """Return the bytes of a count of words of A or of B."""
    bits = [getattr(mode, f"{side}_bits") for mode in spec.kinds]
    return pick(lambda size: bytes_of(words, size), bits, kind)


def scales_groups(spec: CoprocessorSpec) -> bool:
    """Return whether products can scale the sums of groups of K."""
    return spec.group_scales != "none"


def scales_of(spec: CoprocessorSpec, words: Value, kind: Value) -> Value:
    """Return the scales of a count of words along K."""
    of_shares = spec.vector.block if spec.shares and spec.vector is not None else 0
    each = [(of_shares or spec.inside.block) // mode.codes for mode in spec.kinds]
    return pick(lambda size: (words + (size - 1)) // size, each, kind)
