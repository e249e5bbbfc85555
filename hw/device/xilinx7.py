"""Xilinx 7 series."""

from hw.device.dsp48 import Dsp48
from hw.device.family import Flow, Multiplier

__all__ = ["FAMILY"]

_FLOW = Flow(
    synth="synth_xilinx -family xc7 -flatten",
    bare="-noiopad -noclkbuf",
    counts={
        "luts": {
            "LUT[1-6]|INV": 1,
            "SRL.*": 1,
            "RAM(32|64)X1S": 1,
            "RAM128X1S|RAM(32|64)X1D": 2,
            "RAM256X1S|RAM128X1D|RAM32M|RAM64M": 4,
        },
        "ffs": {"FD[RSCP]E(_1)?": 1},
        "dsps": {"DSP48E1": 1},
        "brams": {"RAMB36E1": 1, "RAMB18E1": 0.5},
        "lutrams": {"RAM(32|64|128|256).*": 1},
        "carry": {"CARRY4": 1},
    },
)

FAMILY = Dsp48(
    name="xilinx7",
    title="Xilinx 7 series",
    flow=_FLOW,
    multiplier=Multiplier(25, 18, 3),
    cell="DSP48E1",
    adds_three=False,
    packs="none",
    chains=True,
)
