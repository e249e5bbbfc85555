"""Lattice Nexus (CrossLink-NX, Certus-NX)."""

from hw.device.family import Family, Flow, Multiplier

__all__ = ["FAMILY"]

_FLOW = Flow(
    synth="synth_nexus -noiopad",
    counts={
        "luts": {"LUT4": 1, "CCU2": 2, "DPR16X4": 4},
        "ffs": {"FD1P3.X": 1},
        "dsps": {"MULT9X9|MULT18X18|MULTADDSUB9X9WIDE|MULTADDSUB18X18": 1},
        "brams": {"PDP16K|DP16K|PDPSC16K": 1},
        "carry": {"CCU2": 1},
    },
)

FAMILY = Family(name="nexus", title="Lattice Nexus", flow=_FLOW, multiplier=Multiplier(18, 18, 2))
