"""Vivado block design of a system with the block: a Zynq, AXI, DMAs for streams."""

from carrysave.ip.facts import Facts
from carrysave.ip.templates import fill

__all__ = ["NAME", "write"]

NAME = "block_design.tcl"


def write(block: Facts) -> str:
    """Write the program; the Verilog is beside it.

    Around a block between streams are a DMA of A, which also takes C, and one of B.
    """
    return fill(
        NAME,
        block=block,
        spec=block.spec,
        mhz=f"{1e3 / block.period_ns:g}",
        registers=block.interface("AXI4LITE").name,
        managers=[manager.name for manager in block.interfaces("AXI4")],
        streams=[stream.name for stream in block.interfaces("AXI4STREAM")],
    )
