"""Baud rates of serial lines, and clock cycles of a bit."""

__all__ = ["RATES", "divisor_of", "rate_of"]

RATES = (
    3_000_000,
    2_000_000,
    1_500_000,
    1_000_000,
    921_600,
    460_800,
    230_400,
    115_200,
    57_600,
    9_600,
)
"""Baud rates that bridges and hosts know."""

_TOLERANCE = 0.02
"""Of the baud rate."""


def rate_of(most: int, clock_hz: float) -> int:
    """Return the highest of :data:`RATES` that a clock makes and a bridge takes."""
    return next(rate for rate in RATES if rate <= most and _makes(clock_hz, rate))


def _makes(clock_hz: float, baud: int) -> bool:
    divisor = round(clock_hz / baud)
    return 4 <= divisor <= 65535 and abs(clock_hz / baud / divisor - 1) <= _TOLERANCE


def divisor_of(clock_hz: float, baud: int) -> int:
    """Return the clock cycles of a bit.

    Raises
    ------
    ValueError
        The clock is not 4 to 65535 times the rate, within 2 %.
    """
    divisor = round(clock_hz / baud)
    if not _makes(clock_hz, baud):
        raise ValueError(
            f"baud rate must be {clock_hz / 1e6:g} MHz over 4..65535, within 2 %, not {baud}"
        )
    return divisor
