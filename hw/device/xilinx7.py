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
    sizes=(
        *(("XC7S6", 10), ("XC7S15", 20), ("XC7S25", 80), ("XC7S50", 120), ("XC7S75", 140)),
        *(("XC7S100", 160), ("XC7A12T", 40), ("XC7A15T", 45), ("XC7A25T", 80), ("XC7A35T", 90)),
        *(("XC7A50T", 120), ("XC7A75T", 180), ("XC7A100T", 240), ("XC7A200T", 740)),
        *(("XC7K70T", 240), ("XC7K160T", 600), ("XC7K325T", 840), ("XC7K410T", 1540)),
        *(("XC7Z010", 80), ("XC7Z015", 160), ("XC7Z020", 220), ("XC7Z030", 400), ("XC7Z045", 900)),
    ),
)
