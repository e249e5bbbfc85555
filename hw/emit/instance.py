"""A design inside somebody else's Amaranth design."""

from typing import Any

from amaranth import ClockSignal, Instance, ResetSignal
from amaranth.lib import wiring

from hw.catalog import Design
from hw.emit.flat_ports import flat_ports
from hw.emit.verilog import Emission

__all__ = ["DesignInstance"]


class DesignInstance(wiring.Component):
    """Places a design: its streams, with the generated Verilog behind them.

    Amaranth's platforms get the Verilog by themselves; after ``amaranth.back.verilog`` add the
    file that :func:`hw.emit.verilog.generate` writes. Amaranth's own simulator cannot look inside.

    Parameters
    ----------
    design : Design
        What to place.

    Members
    -------
    As the design's component.
    """

    def __init__(self, design: Design):
        self.emission = Emission(design)
        super().__init__(self.emission.component.signature)

    def elaborate(self, platform):
        module = self.emission.design.module
        if hasattr(platform, "add_file"):
            platform.add_file(f"{module}.v", self.emission.verilog)
        connections: dict[str, Any] = {"i_clk": ClockSignal(), "i_rst": ResetSignal()}
        for port in flat_ports(self):
            connections[f"{'i' if port.inward else 'o'}_{port.name}"] = port.value
        return Instance(module, **connections)
