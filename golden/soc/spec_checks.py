"""What a co-processor cannot be built with, beside what each parameter says of itself."""

from collections.abc import Mapping, Sequence
from typing import Any

from golden.formats.bitmap import CHUNK
from golden.soc.lists import check_lists
from golden.soc.mode import FormatMode
from golden.soc.row_factors import WIDEST
from golden.soc.shares import share_fraction
from golden.soc.write_checks import check_written

__all__ = ["MOST_BITS", "check_parts"]

MOST_BITS = 63
"""Maximum bits of a sum for the requantiser, sign included."""

_PAGE = 4096
"""Bytes whose end no burst crosses."""
_SCRATCH = 1 << 20
"""Most bytes on chip."""
_CODE = 8
"""Bits of a code of a map."""
_FP32_BYTES = 4
_SUM_CYCLES = 3
"""Cycles from a row of sums that is read to when it has been added to."""


def check_parts(spec: Any) -> None:
    """Refuse what a vector unit, a memory on chip and windows need, and is not there.

    Of a :class:`golden.soc.spec.CoprocessorSpec`, which is not known here.
    """
    inside, stream = spec.inside, spec.STREAM
    if spec.rounding is not None and inside.sum_width + (not inside.signed) > MOST_BITS:
        raise ValueError(
            f"requantise must be false with sums of {inside.sum_width} bits:"
            f" the requantiser takes up to {MOST_BITS}"
        )
    check_codes(spec.code_bytes, integers=spec.rounding is not None, stream=stream)
    check_table(spec.table, spec.requantises_columns and not stream)
    others = stream or spec.windows or spec.row_factors
    check_codebook(spec.codebook, inside.expander.table_bytes, others=others)
    moves = {"transpose": spec.transpose, "gather": spec.gather}
    check_rows(moves, spec.vector_out_bytes, spec.code_bytes * (not stream))
    check_scratch(spec.scratch, spec.address_width, stream=stream)
    if spec.sparse:
        check_sparse(spec.data_width, spec.b_deep, others=stream or spec.windows or not spec.blocks)
    unit = spec.vector
    if spec.blend and (unit is None or not unit.scales):
        raise ValueError(
            "blend must be false without a vector unit that has an operation that requantises,"
            " not True"
        )
    check_lists(
        spec.lists,
        [(kind.codes, kind.b_deep, kind.a_bits) for kind in spec.kinds],
        None if unit is None else unit.lanes * spec.vector_out_bytes,
        others=others or spec.shares or inside.block > 0 or inside.expander.table_bytes > 0,
        most=spec.top_k,
    )
    if spec.row_factors:
        width = inside.sum_width + (not inside.signed)
        check_row_factors(width, accumulates=spec.accumulates, blocks=inside.block > 0)
    signed = spec.rounding is not None and inside.signed and spec.vector is not None
    check_taps(spec.taps, inside.sum_width * (signed and spec.code_bits == _CODE))
    if spec.tap_rows > 1 and not spec.depthwise:
        raise ValueError(
            "tap_rows must be 1 where jobs on maps have no windows: without windows, taps, or lanes"
            f" that are a power of two, not {spec.tap_rows}"
        )
    check_written(spec)
    if spec.shares:
        check_shares(spec)
    if spec.group_scales != "none":
        check_group_scales(spec)
    if spec.windows:
        check_windows(spec.kinds, fixed=stream or not spec.blocks or inside.block > 0)


def check_codes(size: int, *, integers: bool, stream: bool) -> None:
    """Refuse codes of two bytes where jobs could not choose them; ValueError."""
    if size > 1 and (not integers or stream):
        raise ValueError(
            "code_bytes must be 1 between streams, or where no integer sums are requantised, "
            f"not {size}"
        )


def check_rows(moves: Mapping[str, bool], made: int, most: int) -> None:
    """Refuse vector jobs between streams, and moves of bytes where none are made; ValueError.

    Codes that jobs make have `made` bytes, 0 if there are none, and `most` or fewer, 0 of streams.
    """
    if made and not most:
        raise ValueError("vector must be none between streams, not a vector unit")
    for name, built in moves.items():
        if built and not 0 < made <= most:
            raise ValueError(
                f"{name} must be false without a vector unit whose jobs make codes of a byte, "
                "not True"
            )


def check_scratch(size: int, address_width: int, *, stream: bool) -> None:
    """Refuse a memory on chip that a burst could be in part in; ValueError."""
    most = 1 << address_width - 1
    if size and stream:
        raise ValueError(f"scratch must be 0 between streams, not {size}")
    if size and not (size.bit_count() == 1 and _PAGE <= size <= most):
        raise ValueError(
            f"scratch must be 0, or a power of two of {_PAGE}..{min(most, _SCRATCH)} bytes,"
            f" not {size}"
        )


def check_row_factors(width: int, *, accumulates: bool, blocks: bool) -> None:
    """Refuse factors of rows where no integers are accumulated, or wide ones; ValueError.

    Parameters
    ----------
    width : bits of a sum, with a sign.
    accumulates : C can be added to.
    blocks : B has scales or zero points, which travel as the factors do.
    """
    if not accumulates or blocks or width > WIDEST:
        raise ValueError(
            "row_factors must be false between streams, without accumulate, with scales or zero"
            f" points of B, and with sums that are no integers of {WIDEST} bits or fewer, sign"
            " included, not True"
        )


def check_shares(spec: Any) -> None:
    """Refuse shares that no product can take, or whose sums are not shifted; ValueError."""
    unit, inside, kind = spec.vector, spec.inside, spec.kinds[0]
    if unit is None or not unit.builds(["exps"]):
        raise ValueError("shares must be false without a vector unit that has exps, not True")
    if spec.STREAM or spec.windows or not spec.blocks or spec.array_clock > 1:
        raise ValueError(
            "shares must be false between streams, where jobs have windows or do not choose their"
            " blocks, and with an array of a clock of its own, not True"
        )
    plain = len(spec.kinds) * kind.codes * kind.b_deep == 1 and kind.a_bits == _CODE
    if not plain or inside.block or not inside.signed:
        raise ValueError(
            "shares must be false where codes of A are no bytes, words of B have several along K,"
            " or scales or formats of their own, and with sums without a sign, not True"
        )
    if inside.m < _SUM_CYCLES or unit.block % inside.k or unit.block // inside.k < inside.m:
        raise ValueError(
            f"shares must be false with tiles of fewer than {_SUM_CYCLES} rows, and where a block"
            f" of exps, {unit.block} codes, is not whole beats of K, of a tile's rows or more"
        )
    code, width = inside.spec.a_format, inside.sum_width
    if code.high < (1 << unit.share_width) - 1 or width > WIDEST or share_fraction(spec) < 0:
        raise ValueError(
            f"shares must be false where codes of A do not hold {unit.share_width} bits beside a"
            f" sign, and with sums of {width} bits, of more than {WIDEST} or too few, not True"
        )


def check_group_scales(spec: Any) -> None:
    """Refuse scales of groups where they have no place, or sums are no integers; ValueError."""
    inside, kinds, name = spec.inside, spec.kinds, spec.group_scales
    others = spec.shares or spec.row_factors or spec.lists or inside.expander.table_bytes
    if spec.STREAM or spec.windows or spec.sparse or others or inside.block or not spec.blocks:
        raise ValueError(
            "group_scales must be none between streams, where jobs have windows, lists, packed or"
            " looked-up codes of B, factors of rows, or shares, where blocks have scales, and where"
            f" jobs do not choose their blocks, not {name}"
        )
    integers = inside.signed and not inside.flags and spec.sum_bytes == _FP32_BYTES
    if not integers or len(kinds) > 1 or kinds[0].codes > 1:
        raise ValueError(
            "group_scales must be none where sums are no integers of 17..32 bits with a sign, and"
            f" where words of A have several codes, or one of several formats, not {name}"
        )
    if inside.k.bit_count() > 1 or spec.b_deep > 1:
        raise ValueError(
            "group_scales must be none where a beat has no power of two codes along K, or a word"
            f" of B several, not {name}"
        )


def check_table(table: bool, records: bool) -> None:
    """Refuse tables where no records of columns are in front of them; ValueError."""
    if table and not records:
        raise ValueError(
            "table must be false between streams, and without a requantisation of integers per"
            f" column, not {table}"
        )


def check_codebook(name: str, size: int, *, others: bool) -> None:
    """Refuse tables of jobs where their address, or their number, is that of others; ValueError."""
    if size and others:
        raise ValueError(
            "codebook must be none or constant between streams, and where jobs have windows or"
            f" factors of rows, not {name}"
        )


def check_sparse(data_width: int, deep: int, *, others: bool) -> None:
    """Refuse bitmaps where B is not loaded from memory, in blocks of its rows; ValueError."""
    if others or deep > 1 or data_width > 8 * CHUNK:
        raise ValueError(
            "sparse must be false between streams, where jobs have windows or do not choose their"
            f" blocks, with words of several codes along K, and with beats of more than {8 * CHUNK}"
            " bits, not True"
        )


def check_taps(taps: int, width: int) -> None:
    """Refuse jobs on maps without lanes, or a requantiser to bytes of sums of `width` bits."""
    if taps in (1, 2):
        raise ValueError(f"taps must be 0, or 3..7, not {taps}")
    if taps and width < 24:
        raise ValueError(
            "taps must be 0 without a vector unit, and a requantiser of sums of integers, of 24"
            f" bits or more, to codes of a byte, not {taps}"
        )


def check_windows(kinds: Sequence[FormatMode], *, fixed: bool) -> None:
    """Refuse windows where jobs do not choose any number of codes along K; ValueError.

    Rows of A are of bytes, one code each, of which a block has any number.
    """
    kind = kinds[0]
    if fixed or not (len(kinds) == kind.codes == kind.b_deep == 1 and kind.a_bits == 8):
        raise ValueError(
            "windows must be false between streams, where blocks are fixed, and where codes of A "
            "are no bytes or those of B share one along K, not True"
        )
