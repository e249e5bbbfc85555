"""A generated design as an instance in another Amaranth design."""

from typing import Any

from amaranth import ClockSignal, Instance, ResetSignal
from amaranth.lib import wiring

from hw.catalog import Design
from hw.emit.flat_ports import check_one_clock, flat_ports
from hw.emit.verilog import Emission

__all__ = ["DesignInstance"]


class DesignInstance(wiring.Component):
    """Instantiates a design's generated Verilog, with Amaranth streams as ports.

    Amaranth platforms add the Verilog file by themselves; after ``amaranth.back.verilog`` add the
    file that :func:`hw.emit.files.generate` writes. Amaranth's own simulator cannot simulate it.

    Parameters
    ----------
    design : Design
        The design.

    Members
    -------
    Those of the design's component.
    """

    def __init__(self, design: Design):
        check_one_clock(design, "as an instance of an Amaranth design")
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
