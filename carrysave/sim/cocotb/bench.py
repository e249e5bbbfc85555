"""Common base of benches and drivers of designs with streams: clock and resets."""

from typing import Any, Self

from carrysave.sim.cocotb.streams import reset, start_clock

__all__ = ["Bench"]


class Bench:
    """A design with its clock running, reset; benches and drivers add its streams.

    `more` is whatever else one is made of.
    """

    def __init__(self, dut: Any, *more: Any) -> None:
        self.dut = dut
        self._more = more

    async def start(self) -> Self:
        """Start the clock, and reset."""
        await start_clock(self.dut)
        await reset(self.dut)
        return self

    async def restart(self) -> Self:
        """Reset at any time; transfers in flight are dropped."""
        again = type(self)(self.dut, *self._more)
        await reset(self.dut)
        return again
