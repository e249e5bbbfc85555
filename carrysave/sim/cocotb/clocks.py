"""The clock of a design under cocotb; two clocks, where its array has one of its own."""

from typing import Any

import cocotb
from cocotb.clock import Clock
from cocotb.triggers import Timer

__all__ = ["PERIOD_NS", "start_clocks"]

PERIOD_NS = 10


def start_clocks(clock: Any) -> None:
    """Start a clock; and, of a design that has it, that of twice its frequency.

    Edges of both at one time are one write: no register of one of them sees what the other's edge
    has changed.

    Parameters
    ----------
    clock : the port ``clk`` or ``aclk`` of a design.
    """
    top, name = cocotb.top, clock._name
    if not hasattr(top, f"{name}_fast"):
        Clock(clock, PERIOD_NS, unit="ns").start()
        return
    cocotb.start_soon(_both(clock, getattr(top, f"{name}_fast")))


async def _both(clock: Any, fast: Any) -> None:
    quarter = Timer(PERIOD_NS / 4, unit="ns")
    while True:
        for values in ((1, 1), (1, 0), (0, 1), (0, 0)):
            clock.value, fast.value = values
            await quarter
