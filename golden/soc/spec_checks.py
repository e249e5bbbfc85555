"""What a co-processor cannot be built with, beside what each parameter says of itself."""

from collections.abc import Mapping, Sequence

from golden.soc.mode import FormatMode

__all__ = ["check_rows", "check_scratch", "check_taps", "check_windows"]

_PAGE = 4096
"""Bytes whose end no burst crosses."""
_SCRATCH = 1 << 20
"""Most bytes on chip."""


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


def check_taps(taps: int, width: int) -> None:
    """Refuse jobs on maps without lanes, or a requantiser to bytes of sums of `width` bits."""
    if taps in (1, 2):
        raise ValueError(f"taps must be 0 or 3, not {taps}")
    if taps and width < 24:
        raise ValueError(
            "taps must be 0 but with a requantiser of sums of integers, of 24 bits or more, to"
            f" codes of a byte, and a vector unit, not {taps}"
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
