"""What every bench of a design between streams has: its clock, and its resets."""

from typing import Any, Self

from verif.streams import reset, start_clock

__all__ = ["Bench"]


class Bench:
    """A design with its clock running, reset; benches add its streams."""

    def __init__(self, dut: Any) -> None:
        self.dut = dut

    async def start(self) -> Self:
        """Start the clock, and reset."""
        await start_clock(self.dut)
        await reset(self.dut)
        return self

    async def restart(self) -> Self:
        """Reset in the middle of whatever goes on; what was under way is forgotten."""
        again = type(self)(self.dut)
        await reset(self.dut)
        return again
