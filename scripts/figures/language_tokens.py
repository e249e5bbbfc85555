"""Tables of cycles, tokens a second and energy of language models, for bench_language.py."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from carrysave.asic import synthesis
from carrysave.boards.board import BOARDS
from carrysave.compiler.front.decoder import Shape
from carrysave.progress import Steps
from hw.catalog import Design
from scripts.language.cost import MODELS, RECURRENT, Cost, Memory, cost_of
from scripts.language.engines import CORES, Core

__all__ = ["ENERGY_COLUMNS", "RIVAL_COLUMNS", "TOKENS_COLUMNS", "count", "recurrent"]

PAST, BATCH = 127, 16
"""Tokens in the cache before one is decoded; sequences at a time."""
DRAM_PJ, HBM_PJ = 20, 4
"""Energy of a bit from or to memory, assumed."""


def _memory(bits: int, transfers: float, clock_mhz: float, copies: int = 1) -> Memory:
    """Return a memory of so many bits, each transferred so many million times a second."""
    return Memory(gigabytes=bits * transfers / 8e3, clock_mhz=clock_mhz, copies=copies)


_ULX3S, _CRAB = BOARDS["ulx3s_25f"].clock_mhz, BOARDS["orangecrab_25f"].clock_mhz
_NANO = BOARDS["tang_nano_20k"].clock_mhz
_BUSES = {
    "16 bits, 1,600 MT/s": _memory(16, 1600, 200),
    "32 bits, 1,600 MT/s": _memory(32, 1600, 200),
    "64 bits, 1,600 MT/s": _memory(64, 1600, 200),
    "HBM2, 32 channels": _memory(2048, 1800, 225, copies=32),
}
_ON_BOARDS = {
    "Tang Nano 20K, SDRAM of 32 bits": _memory(32, _NANO, _NANO),
    "ULX3S, SDRAM of 16 bits": _memory(16, 100, _ULX3S),
    "Colorlight i5, i9, SDRAM of 32 bits": _memory(32, 100, _ULX3S),
    # The open PHY of ECP5 transfers four times in a cycle of the system's clock.
    "OrangeCrab, ECPIX-5, DDR3 of 16 bits": _memory(16, 4 * _CRAB, _CRAB),
    "Arty A7, DDR3 of 16 bits": _memory(16, 667, 100),
    "PYNQ-Z2, DDR3 of 16 bits": _memory(16, 1050, 100),
    "KV260, DDR4 of 64 bits": _memory(64, 2400, 250, copies=2),
}
"""Clocks: of boards that were built, those; else assumed, as are rates."""
MEMORIES = _ON_BOARDS | _BUSES
WIDE = ("64 bits, 1,600 MT/s", "KV260, DDR4 of 64 bits", "HBM2, 32 channels")
"""Memories for the larger models."""
ENERGETIC = {"64 bits, 1,600 MT/s": DRAM_PJ, "HBM2, 32 channels": HBM_PJ}
"""Memories whose energy is shown, and pJ of a bit."""

_SLICE: dict[str, Any] = {"k_max": 4096, "b_width": 4}
_TABLES: dict[str, Any] = _SLICE | {"m": 1, "n": 8, "lookups": 4, "folded": False, "parallel": True}
_BEATS: dict[str, Any] = _SLICE | {"m": 1, "n": 8, "k": 8, "b_width": 2}
SLICES = {
    "W4A8, lut_core": Design("lut_core", _TABLES),
    "W4A8, blocks or int8": Design("systolic_os", _SLICE | {"m": 2, "pe": "mac"}),
    "W8A8, int8": Design("systolic_os", {"m": 2, "k_max": 4096, "pe": "mac"}),
    "W4A4, lut_core": Design("lut_core", _TABLES | {"a_width": 4}),
    "W2A8, shift_add_core": Design("shift_add_core", _BEATS),
    "W2A8 or W1.58A8, lut_core": Design("lut_core", _TABLES | {"b_width": 2}),
    "W1.58A8, ternary_core": Design("ternary_core", _BEATS),
}
"""Parts of the cores whose energy is measured, on osu018."""

TOKENS_COLUMNS = {
    "model": "{}",
    "core": "{}",
    "memory": "{}",
    "GB/s": "{:,.3g}",
    "MHz": "{:,.4g}",
    "products a cycle": "{:,}",
    "cycles, 1": "{:,}",
    "tokens/s, 1": "{:,.2f}",
    "of bound": "{:.0%}",
    "tokens/s for each GB/s": "{:.2f}",
    "cycles, 16": "{:,}",
    "tokens/s, 16": "{:,.1f}",
    "cycles, prompt": "{:,}",
    "tokens/s, prompt": "{:,.1f}",
}
_CASES = ("1", f"{BATCH}", "prompt")
ENERGY_COLUMNS = {
    "model": "{}",
    "core": "{}",
    "memory": "{}",
    "pJ a product": "{:.2f}",
    "MB of the model": "{:,.0f}",
} | {
    f"{what}, {case}": form
    for case in _CASES
    for what, form in (("MB", "{:,.1f}"), ("mJ", "{:,.2f}"), ("memory", "{:.0%}"))
}
RIVAL_COLUMNS = {
    "what": "{}",
    "on": "{}",
    "tokens/s": "{}",
    "size": "{}",
    "from": "{}",
    "ours": "{}",
    "ours, tokens/s": "{}",
}


@dataclass(frozen=True, kw_only=True)
class Rival:
    """What others published, and the row of ours beside it: model, core, memory."""

    what: str
    on: str
    rate: str
    size: str
    source: str
    ours: tuple[str, str, str]


_KV260, _TERNARY = "KV260, DDR4 of 64 bits", "W1.58A8, ternary_core"
_2B_KV260, _2B_HBM = ("2 B", _TERNARY, _KV260), ("2 B", _TERNARY, "HBM2, 32 channels")
RIVALS = (
    Rival(what="SmolLM2-135M, ztachip", on="Arty A7, DDR3 of 16 bits",
          rate="8; 6.70 for each GB/s", size="-", source="its authors, not checked",
          ours=("SmolLM2-135M", "W4A8, lut_core", "Arty A7, DDR3 of 16 bits")),
    Rival(what="BitNet 2B", on="KV260", rate="16.78", size="42,271 LUTs",
          source="its authors, not checked", ours=_2B_KV260),
    Rival(what="BitNet 0.73B, TeLLMe v1", on="KV260", rate="9, at 1,024 tokens", size="-",
          source="arXiv 2504.16266", ours=_2B_KV260),
    Rival(what="the same, TeLLMe v2", on="KV260", rate="25; prompt 143",
          size="98,303 LUTs, 610 DSPs", source="arXiv 2510.15926", ours=_2B_KV260),
    Rival(what="the same, PD-Swap", on="KV260", rate="27.8", size="-", source="arXiv 2512.11550",
          ours=_2B_KV260),
    Rival(what="ternary, 370 M, TerEffic", on="U280s, weights on chip", rate="16,300", size="-",
          source="arXiv 2502.16473", ours=("SmolLM2-135M", _TERNARY, "HBM2, 32 channels")),
    Rival(what="ternary, 2.7 B, TerEffic", on="HBM", rate="727", size="46 W",
          source="arXiv 2502.16473", ours=_2B_HBM),
)  # fmt: skip
"""As the papers and repositories print it; not run here."""


def count(steps: Steps) -> dict[str, list[dict[str, Any]]]:
    """Count tokens a second, energy, and what stands beside published figures."""
    energy = {}
    for name, design in SLICES.items():
        steps.step(f"synthesise {design.module}")
        energy[name] = synthesis.synthesise_design(design, "osu018")["pj_per_mac"]
    tokens: list[dict[str, Any]] = []
    energies: list[dict[str, Any]] = []
    for model, core, name in asked():
        steps.step(f"count {model}, {core}, {name}")
        costs = costs_of(MODELS[model], CORES[core], MEMORIES[name])
        where = {"model": model, "core": core, "memory": name}
        tokens.append(where | rates(MEMORIES[name], costs))
        if name in ENERGETIC:
            energies.append(where | energy_of(costs, energy[core], ENERGETIC[name]))
    return {"tokens": tokens, "energy": energies, "others": list(beside(tokens))}


def recurrent() -> list[dict[str, Any]]:
    """Count tokens a second of models without attention, of ternary weights."""
    return [
        {"model": model, "core": _TERNARY, "memory": name}
        | rates(memory, costs_of(shape, CORES[_TERNARY], memory))
        for model, shape in RECURRENT.items()
        for name, memory in MEMORIES.items()
    ]


def asked() -> Iterator[tuple[str, str, str]]:
    """List rows: SmolLM2 on all memories, larger models on wide ones, in four bits and fewer."""
    for model in MODELS:
        for core, engine in CORES.items():
            for name in MEMORIES:
                if model == "SmolLM2-135M" or (name in WIDE and engine.bits < 8):
                    yield model, core, name


def costs_of(shape: Shape, core: Core, memory: Memory) -> dict[str, Cost]:
    """Count a token alone, one of each sequence, and a prompt."""
    steps = ((1, 1, PAST), (BATCH, 1, PAST), (1, PAST + 1, 0))
    return {
        case: cost_of(shape, core, memory, batch=batch, new=new, past=past)
        for case, (batch, new, past) in zip(_CASES, steps, strict=True)
    }


def rates(memory: Memory, costs: dict[str, Cost]) -> dict[str, Any]:
    """Return the cells of a row of the table of tokens."""
    one = costs["1"]
    figures: dict[str, Any] = {
        "GB/s": memory.gigabytes,
        "MHz": memory.clock_mhz,
        "products a cycle": one.peak,
    }
    for case, cost in costs.items():
        figures[f"cycles, {case}"] = cost.cycles
        figures[f"tokens/s, {case}"] = cost.tokens * memory.clock_mhz * 1e6 / cost.cycles
    alone = figures["tokens/s, 1"]
    figures["of bound"] = alone * one.bytes / memory.gigabytes / 1e9
    figures["tokens/s for each GB/s"] = alone / memory.gigabytes
    return figures


def energy_of(costs: dict[str, Cost], product_pj: float, bit_pj: float) -> dict[str, Any]:
    """Return the cells of a row of the table of energy, of a token."""
    figures: dict[str, Any] = {
        "pJ a product": product_pj,
        "MB of the model": costs["1"].bytes / 1e6,
    }
    for case, cost in costs.items():
        memory, whole = 8 * cost.traffic * bit_pj, cost.macs * product_pj
        figures[f"MB, {case}"] = cost.traffic / cost.tokens / 1e6
        figures[f"mJ, {case}"] = (memory + whole) / cost.tokens / 1e9
        figures[f"memory, {case}"] = memory / (memory + whole)
    return figures


def beside(tokens: list[dict[str, Any]]) -> Iterator[dict[str, Any]]:
    """Put our rows beside what others published."""
    rows = {(row["model"], row["core"], row["memory"]): row for row in tokens}
    for rival in RIVALS:
        ours = rows[rival.ours]
        alone, each = ours["tokens/s, 1"], ours["tokens/s for each GB/s"]
        yield {
            "what": rival.what,
            "on": rival.on,
            "tokens/s": rival.rate,
            "size": rival.size,
            "from": rival.source,
            "ours": ", ".join(rival.ours),
            "ours, tokens/s": f"{alone:,.1f}; {each:.2f} for each GB/s; "
            f"prompt {ours['tokens/s, prompt']:,.0f}",
        }
