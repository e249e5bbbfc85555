"""Xilinx UltraScale+."""

from hw.device.dsp48 import Dsp48
from hw.device.family import Flow, Multiplier

__all__ = ["FAMILY"]

_FLOW = Flow(
    synth="synth_xilinx -family xcup -flatten",
    bare="-noiopad -noclkbuf",
    counts={
        "luts": {
            "LUT[1-6]|INV": 1,
            "SRL.*": 1,
            "RAM(32|64)X1S": 1,
            "RAM128X1S|RAM(32|64)X1D": 2,
            "RAM256X1S|RAM128X1D": 4,
            "RAM512X1S|RAM256X1D|RAM32M16|RAM64M8|RAM64X8SW|RAM32X16DR8": 8,
        },
        "ffs": {"FD[RSCP]E(_1)?": 1},
        "dsps": {"DSP48E2": 1},
        "brams": {"RAMB36E2": 1, "RAMB18E2": 0.5},
        "lutrams": {"RAM(32|64|128|256|512).*": 1},
        "carry": {"CARRY8": 1},
    },
)

FAMILY = Dsp48(
    name="ultrascale",
    title="Xilinx UltraScale+",
    flow=_FLOW,
    multiplier=Multiplier(27, 18, 3),
    cell="DSP48E2",
    adds_three=True,
    packs="pair",
    chains=True,
)
