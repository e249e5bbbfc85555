"""What a ternary product takes of an FPGA."""

from typing import Any

from carrysave import jobs
from carrysave.asic.design_job import design_job
from carrysave.progress import Steps
from hw.catalog import Design

__all__ = ["LUT_COLUMNS", "luts"]

TARGETS = ("xilinx7", "ecp5")
PLACED = "LFE5U-85F-6CABGA756"
"""The part in which the tile with registers is placed; xilinx7 has no open place and route."""
LUT_COLUMNS = {
    "rows x columns": "{}", "k": "{}", "chain": "{}", "registers": "{}",
    **{f"{target}, {what}": form for target in TARGETS
       for what, form in (("LUTs", "{:,}"), ("for a product", "{:.1f}"))},
    "ecp5, MHz": "{:.0f}",
}  # fmt: skip
TILES = ((4, 4, 32, 8, 0), (4, 2, 64, 8, 0), (4, 2, 32, 4, 4))
"""Rows, columns, k, chain, registers; those with registers are placed."""


def luts(steps: Steps) -> list[dict[str, Any]]:
    """Map ``ternary_core`` with carry chains; place one that has registers.

    What is done is kept: a run that was ended goes on where it was.
    """
    wanted = [_job(*tile, target) for tile in TILES for target in TARGETS]
    with jobs.session(jobs.Options(progress=steps.jobs)):
        found = iter([outcome.get() for outcome in jobs.run(wanted, ordered=True)])
    rows: list[dict[str, Any]] = []
    for m, n, k, chain, registers in TILES:
        row: dict[str, Any] = {
            "rows x columns": f"{m} x {n}", "k": k, "chain": chain, "registers": registers,
        }  # fmt: skip
        for target in TARGETS:
            own = next(found)
            row[f"{target}, LUTs"] = own["luts"]
            row[f"{target}, for a product"] = own["luts"] / (m * n * k)
            row[f"{target}, MHz"] = own["fmax_mhz"]
        rows.append(row)
    return rows


def _job(m: int, n: int, k: int, chain: int, registers: int, target: str) -> jobs.Job:
    tile = {"m": m, "n": n, "k": k, "k_max": 4096, "together": True, "chain": chain,
            "pipeline": registers, "adder": "operator"}  # fmt: skip
    place = bool(registers) and target == "ecp5"
    return design_job(
        Design("ternary_core", tile), target, activity="none", place=place,
        part=PLACED if place else None, seeds=1,
    )  # fmt: skip
