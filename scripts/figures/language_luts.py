"""What a ternary product takes of an FPGA, and its weights, which are five to a byte in memory."""

from pathlib import Path
from typing import Any

from amaranth import Cat, Elaboratable, Module, Signal, Value
from amaranth.back import rtlil  # type: ignore[attr-defined]

from carrysave import jobs
from carrysave.asic.design_job import design_job
from carrysave.asic.options import Verilog
from carrysave.asic.synthesis import synthesise
from carrysave.progress import Steps
from golden.lut.trits import TRITS
from hw.catalog import Design
from hw.emit import tools
from hw.emit.instance import DesignInstance
from hw.soc.path.trits import unpack_trits

__all__ = ["LUT_COLUMNS", "luts"]

TARGETS = ("xilinx7", "ecp5")
PLACED = "LFE5U-85F-6CABGA756"
"""The part in which the tile with registers is placed; xilinx7 has no open place and route."""
LUT_COLUMNS = {
    "rows x columns": "{}",
    "k": "{}",
    "chain": "{}",
    "registers": "{}",
    **{
        f"{target}, {what}": form
        for target in TARGETS
        for what, form in (("LUTs", "{:,}"), ("for a product", "{:.1f}"), ("from bytes", "{:.1f}"))
    },
    "ecp5, MHz": "{:.0f}",
}
TILES = ((4, 4, 80, 8, 0), (4, 2, 80, 8, 0), (4, 2, 30, 4, 4))
"""Rows, columns, k, chain, registers; those with registers are placed."""


def luts(steps: Steps) -> list[dict[str, Any]]:
    """Map ``ternary_core`` with carry chains; place one that has registers.

    What is done is kept: a run that was ended goes on where it was.
    """
    wanted = [_job(*tile, target) for tile in TILES for target in TARGETS]
    with jobs.session(jobs.Options(progress=steps.jobs)):
        results = iter([outcome.get() for outcome in jobs.run(wanted, ordered=True)])
    rows: list[dict[str, Any]] = []
    for m, n, k, chain, registers in TILES:
        row: dict[str, Any] = {
            "rows x columns": f"{m} x {n}",
            "k": k,
            "chain": chain,
            "registers": registers,
        }
        for target in TARGETS:
            facts = next(results)
            row[f"{target}, LUTs"] = facts["luts"]
            row[f"{target}, for a product"] = facts["luts"] / (m * n * k)
            packed = _packed(_design(m, n, k, chain, registers), target, steps)
            row[f"{target}, from bytes"] = packed / (m * n * k)
            row[f"{target}, MHz"] = facts["fmax_mhz"]
        rows.append(row)
    return rows


def _design(m: int, n: int, k: int, chain: int, registers: int) -> Design:
    return Design(
        "ternary_core",
        {
            "m": m,
            "n": n,
            "k": k,
            "k_max": 4096,
            "together": True,
            "chain": chain,
            "pipeline": registers,
            "adder": "operator",
        },
    )


def _job(m: int, n: int, k: int, chain: int, registers: int, target: str) -> jobs.Job:
    place = bool(registers) and target == "ecp5"
    return design_job(
        _design(m, n, k, chain, registers),
        target,
        place=place,
        part=PLACED if place else None,
        seeds=1,
    )


class _Packed(Elaboratable):
    """A tile whose weights come in bytes, and are taken out of them in front of a register."""

    def __init__(self, design: Design):
        tile: Any = DesignInstance(design)
        self.tile: Any = tile
        self.columns = design.spec.n
        weights = design.spec.k * design.spec.n
        self.bytes = Signal(8 * weights // TRITS)
        self.others = [
            Value.cast(one)
            for port in (tile.i_a, tile.i_b, tile.o_c)
            for one in (port.valid, port.ready, *([] if port is tile.i_b else [port.payload]))
        ]

    def elaborate(self, platform: Any) -> Module:
        m = Module()
        m.submodules.tile = self.tile
        codes: list[Value] = []
        size = 8 * self.columns
        for start in range(0, len(self.bytes), size):
            row = self.bytes[start : start + size]
            unpacked = [
                unpack_trits(m, row.word_select(at, 8), f"weights{start // 8 + at}")
                for at in range(self.columns)
            ]
            codes += (one.word_select(step, 2) for step in range(TRITS) for one in unpacked)
        m.d.sync += self.tile.i_b.payload.data.eq(Cat(codes))
        return m


def _packed(design: Design, target: str, steps: Steps) -> int:
    """Return the LUTs of a tile with what takes weights out of bytes."""
    made = _Packed(design)
    with tools.workplace() as folder:
        whole, tile = Path(folder, "packed.il"), Path(folder, "tile.v")
        whole.write_text(rtlil.convert(made, name="packed", ports=[made.bytes, *made.others]))
        tile.write_text(made.tile.emission.verilog)
        facts = synthesise(
            Verilog([whole, tile], "packed"),
            target,
            place=False,
            progress=steps.note,
        )
    return int(facts["luts"])
