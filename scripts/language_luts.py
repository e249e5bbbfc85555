"""What a ternary product takes of an FPGA."""

from typing import Any

from carrysave.asic.synthesis import synthesise_design
from carrysave.progress import Steps
from hw.catalog import Design

__all__ = ["LUT_COLUMNS", "luts"]

TARGETS = ("xilinx7", "ecp5")
LUT_COLUMNS = {
    "k": "{}", "chain": "{}",
    **{f"{target}, {what}": form for target in TARGETS
       for what, form in (("LUTs", "{:,}"), ("for a product", "{:.1f}"))},
}  # fmt: skip


def luts(steps: Steps) -> list[dict[str, Any]]:
    """Map ``ternary_core`` of 4 x 8 rows and columns, with compressors and with carry chains."""
    rows: list[dict[str, Any]] = []
    for k, chain in ((16, 0), (16, 8), (32, 8)):
        row: dict[str, Any] = {"k": k, "chain": chain}
        for target in TARGETS:
            steps.step(f"{target}: k = {k}, chain = {chain}")
            tile = {"m": 4, "n": 8, "k": k, "k_max": 4096, "chain": chain, "adder": "operator"}
            design = Design("ternary_core", tile)
            found = synthesise_design(design, target, activity="none", place=False)
            row[f"{target}, LUTs"] = found["luts"]
            row[f"{target}, for a product"] = found["luts"] / (4 * 8 * k)
        rows.append(row)
    return rows
