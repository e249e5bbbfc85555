"""Xilinx UltraScale+."""

from hw.device.description import Multiplier
from hw.device.dsp48 import Dsp48
from hw.device.xilinx import xilinx_flow

__all__ = ["FAMILY"]

FAMILY = Dsp48(
    name="ultrascale",
    title="Xilinx UltraScale+",
    flow=xilinx_flow(
        "xcup",
        2,
        luts={
            "RAM256X1S|RAM128X1D": 4,
            "RAM512X1S|RAM256X1D|RAM32M16|RAM64M8|RAM64X8SW|RAM32X16DR8": 8,
        },
        lutrams="RAM(32|64|128|256|512).*",
    ),
    multiplier=Multiplier(27, 18, 3),
    cell="DSP48E2",
    adds_three=True,
    packs="pair",
    chains=True,
    sizes=(
        *(("XCZU2", 240), ("XCZU3", 360), ("XCZU4", 728), ("XCZU5", 1248), ("XCZU7", 1728)),
        *(("XCZU9", 2520), ("XCKU3P", 1368), ("XCKU5P", 1824), ("XCKU15P", 1968)),
    ),
)
