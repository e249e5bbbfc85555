"""Simulate products of a decoder by lists of places, and count tokens a second with them.

    .venv/bin/python scripts/figures/bench_lists.py        minutes

Groups of 32 of a row of 384 codes of SmolLM2's last matrix of a feed-forward, half of which are
zero, on the block of `chat --core lut_core`: all of them, and by lists that a job before makes. In
a token's cycles by the cost model of bench_language.py, codes of feed-forwards take that share.
"""

import json
import tempfile
from pathlib import Path

from rich.console import Console

from carrysave.compiler.decoder.compile import core_block
from carrysave.sim.options import BenchOptions
from carrysave.sim.parameters import describe
from carrysave.sim.runner import run, sources_of
from carrysave.sim.verilator import build
from scripts.figures.language_tokens import MEMORIES, PAST
from scripts.language.cost import MODELS, Memory, cost_of
from scripts.language.engines import CORES
from scripts.tables import show

BENCH = "verif.soc.benches.tb_coprocessor_list_cycles"
MODEL, CORE = "SmolLM2-135M", "W4A8, lut_core"
PAUSES = {8: 0, 2: 3}
"""By bytes of memory in a cycle: cycles of a bus of 64 bits without a beat, after one with it."""
GROUPS, SIZES, SHARE = 12, (32, 576), 0.5
COLUMNS = {
    "memory": "{}",
    "bytes a cycle": "{:.1f}",
    "tokens/s": "{:.2f}",
    "by lists": "{:.2f}",
    "times": "{:.2f}",
}


def simulated(folder: Path) -> dict[int, dict[str, dict[str, int]]]:
    """Return cycles and beats, dense and by lists, by bytes in a cycle."""
    design = core_block("lut_core", {"lists": str(SIZES[0]), "data_width": "64"})
    block, took = build(sources_of(design, folder, rules=True), design.module), {}
    for bytes_, pause in PAUSES.items():
        given = {"share": SHARE, "pause": pause, "sizes": SIZES, "groups": GROUPS}
        result = run(
            block,
            BENCH,
            BenchOptions(seed=1),
            directory=folder,
            parameters=describe(design) | given,
        )
        if not result.ok:
            raise SystemExit(f"{result.failed}: see {result.log}")
        took[bytes_] = json.loads((folder / "groups.json").read_text())
    return took


def feed_forwards(memory: Memory) -> float:
    """Return the part of a token's cycles in which codes of feed-forwards are read."""
    shape, core = MODELS[MODEL], CORES[CORE]
    whole = cost_of(shape, core, memory, batch=1, new=1, past=PAST)
    weights = 3 * shape.layers * shape.width * shape.hidden
    # Of bytes that a memory gives, as long as it is what is waited for; scales are read whole.
    return min(weights * core.stored / memory.bits / memory.copies / whole.cycles, 1.0)


def main() -> None:
    """Print both tables."""
    with tempfile.TemporaryDirectory() as folder:
        took = simulated(Path(folder))
    shares = {size: one["lists"]["cycles"] / one["dense"]["cycles"] for size, one in took.items()}
    print(json.dumps({"simulated": took, "shares": shares}))
    rows = []
    for name, memory in MEMORIES.items():
        if memory.bits > 64:
            continue
        share = shares[2] if memory.bits <= 16 else shares[8]
        cost = cost_of(MODELS[MODEL], CORES[CORE], memory, batch=1, new=1, past=PAST)
        rate = memory.clock_mhz * 1e6 / cost.cycles
        times = 1 / (1 - feed_forwards(memory) * (1 - share))
        figures = {"bytes a cycle": memory.bits / 8, "tokens/s": rate, "by lists": rate * times}
        rows.append({"memory": name, **figures, "times": times})
    show(Console(), "Tokens a second", rows, COLUMNS)


if __name__ == "__main__":
    main()
