"""Xilinx 7 series."""

from hw.device.description import Multiplier
from hw.device.dsp48 import Dsp48
from hw.device.xilinx import xilinx_flow

__all__ = ["FAMILY"]

FAMILY = Dsp48(
    name="xilinx7",
    title="Xilinx 7 series",
    flow=xilinx_flow(
        "xc7",
        1,
        luts={"RAM256X1S|RAM128X1D|RAM32M|RAM64M": 4},
        lutrams="RAM(32|64|128|256).*",
    ),
    multiplier=Multiplier(25, 18, 3),
    cell="DSP48E1",
    adds_three=False,
    packs="none",
    chains=True,
)
