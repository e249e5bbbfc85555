"""Vivado block design of a system with the block: a Zynq, AXI, DMAs for streams."""

from pathlib import Path
from string import Template

from carrysave.ip.facts import Facts

__all__ = ["NAME", "write"]

NAME = "block_design.tcl"

_SOURCE = Path(__file__).with_name(NAME)


class _Template(Template):
    delimiter = "@"  # Tcl uses dollars itself


def write(block: Facts) -> str:
    """Write the Tcl program; the Verilog is beside it."""
    names = {
        name: block.interface(kind).name
        for name, kind in (
            ("clock", "clock"), ("reset", "reset"), ("interrupt", "interrupt"),
            ("registers", "AXI4LITE"),
        )
    }  # fmt: skip
    if block.spec.STREAM:
        own = _STREAMS
        streams = (stream.name for stream in block.interfaces("AXI4STREAM"))
        names |= dict(zip("abc", streams, strict=True), width=str(block.spec.data_width))
    else:
        own = _MEMORY
        names["manager"] = block.interface("AXI4").name
    parts = {name: _Template(text).substitute(names) for name, text in own.items()}
    return _Template(_SOURCE.read_text()).substitute(
        names, **parts, module=block.module, mhz=f"{1e3 / block.period_ns:g}"
    )


_MEMORY = {
    "subordinates": "1",
    "managers": "1",
    "cells": "",
    "buses": "bus matmul/@manager memory/S00_AXI\n",
    "clocks": "",
    "resets": "",
    "addresses": "reach matmul/@manager ps/[dict get $ps segment]\n",
}
"""System around a block with a memory port."""

_STREAMS = {
    "subordinates": "3",
    "managers": "3",
    "cells": """\
set dma {
    CONFIG.c_include_sg 0
    CONFIG.c_sg_include_stscntrl_strm 0
    CONFIG.c_sg_length_width 26
    CONFIG.c_include_mm2s 1
    CONFIG.c_m_axi_mm2s_data_width @width
    CONFIG.c_m_axis_mm2s_tdata_width @width
}
cell xilinx.com:ip:axi_dma dma_a {*}$dma \\
    CONFIG.c_include_s2mm 1 CONFIG.c_m_axi_s2mm_data_width @width
cell xilinx.com:ip:axi_dma dma_b {*}$dma CONFIG.c_include_s2mm 0
""",
    "buses": """\
bus control/M01_AXI dma_a/S_AXI_LITE
bus control/M02_AXI dma_b/S_AXI_LITE
bus dma_a/M_AXIS_MM2S matmul/@a
bus dma_b/M_AXIS_MM2S matmul/@b
bus matmul/@c dma_a/S_AXIS_S2MM
bus dma_a/M_AXI_MM2S memory/S00_AXI
bus dma_b/M_AXI_MM2S memory/S01_AXI
bus dma_a/M_AXI_S2MM memory/S02_AXI
""",
    "clocks": """ \\
    dma_a/s_axi_lite_aclk dma_a/m_axi_mm2s_aclk dma_a/m_axi_s2mm_aclk \\
    dma_b/s_axi_lite_aclk dma_b/m_axi_mm2s_aclk""",
    "resets": " dma_a/axi_resetn dma_b/axi_resetn",
    "addresses": """\
reach ps/Data dma_a/S_AXI_LITE/Reg
reach ps/Data dma_b/S_AXI_LITE/Reg
reach dma_a/Data_MM2S ps/[dict get $ps segment]
reach dma_a/Data_S2MM ps/[dict get $ps segment]
reach dma_b/Data_MM2S ps/[dict get $ps segment]
""",
}
"""System around a block with streams: a DMA for A, which also takes C, and one for B."""
