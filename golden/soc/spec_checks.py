"""What a co-processor cannot be built with, beside what each parameter says of itself."""

from collections.abc import Sequence

from golden.soc.mode import FormatMode

__all__ = ["check_scratch", "check_windows"]

_PAGE = 4096
"""Bytes whose end no burst crosses."""
_SCRATCH = 1 << 20
"""Most bytes on chip."""


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
