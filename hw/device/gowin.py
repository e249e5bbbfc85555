"""Gowin LittleBee and Arora (GW1N, GW2A)."""

from hw.device.family import Family, Flow, Multiplier

__all__ = ["FAMILY"]

_FLOW = Flow(
    synth="synth_gowin -noiopads",
    counts={
        "luts": {"LUT[1-4]": 1, "ALU": 1, "RAM16SDP4": 4},
        "ffs": {"DFF.*": 1},
        "dsps": {"MULT9X9|MULT18X18|MULTALU18X18|MULTADDALU18X18": 1},
        "brams": {"SDPB|SDPX9B|DPB|DPX9B|SP|SPX9": 1},
        "carry": {"ALU": 1},
    },
)

FAMILY = Family(
    name="gowin", title="Gowin GW1N and GW2A", flow=_FLOW, multiplier=Multiplier(18, 18, 2)
)
