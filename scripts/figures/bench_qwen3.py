"""Count tokens a second of Qwen3-0.6B at 4 bits, with keys and values of 8 and of 4 bits.

    .venv/bin/python scripts/figures/bench_qwen3.py          seconds
    .venv/bin/python scripts/figures/bench_qwen3.py --docs   also rewrites docs/figures
    .venv/bin/python scripts/figures/bench_qwen3.py --program        what programs take today
    .venv/bin/python scripts/figures/bench_qwen3.py --simulate 24    one of 24 jobs of two layers

By the model of cycles of `bench_language.py --parts tokens`; nobody's weights are needed. Programs
are of two layers with drawn weights, and of 2,048 words, from which the others follow.
"""

import argparse
from dataclasses import replace
from typing import Any

import numpy as np
from rich.console import Console

from carrysave.compiler.decoder.units import VECTOR
from golden.npe.vector_unit import cycles as vector_cycles
from scripts.figures.language_tokens import MEMORIES
from scripts.figures.qwen3_slice import QWEN3, cycles_of_token, simulated, slice_program
from scripts.language.cost import Memory, cost_of
from scripts.language.engines import CORES
from scripts.tables import ROOT, markdown, show
from scripts.upkeep.pages import write_table

NAMES = (
    "OrangeCrab, ECPIX-5, DDR3 of 16 bits",
    "PYNQ-Z2, DDR3 of 16 bits",
    "32 bits, 1,600 MT/s",
    "KV260, DDR4 of 64 bits",
)
CLOCK_MHZ, GIGABYTES = 100, 0.8
"""Of the program's memory: eight bytes a cycle."""
PASTS, PROMPT = (127, 1023), 128
COLUMNS = {
    "core": "{}",
    "memory": "{}",
    "keys and values": "{}",
    "GB/s": "{:,.3g}",
    "products a cycle": "{:,}",
    "MB a token": "{:,.0f}",
    **{
        f"{what}, {past + 1:,}": form
        for past in PASTS
        for what, form in (("tokens/s for each GB/s", "{:.2f}"), ("of bound", "{:.0%}"))
    },
    "prompt, tokens/s": "{:,.1f}",
    "prompt, of the array": "{:.0%}",
}


def row(core: str, name: str, bits: int) -> dict[str, Any]:
    """Count a token behind others, and a prompt."""
    memory, engine = MEMORIES[name], replace(CORES[core], cache=bits)
    made: dict[str, Any] = {
        "core": core,
        "memory": name,
        "keys and values": f"{bits} bits",
        "GB/s": memory.gigabytes,
    }
    for past in PASTS:
        cost = cost_of(QWEN3, engine, memory, batch=1, new=1, past=past)
        seconds = (cost.cycles + norms_of_heads(memory, 1)) / memory.clock_mhz / 1e6
        made["products a cycle"], made["MB a token"] = cost.peak, cost.bytes / 1e6
        made[f"tokens/s for each GB/s, {past + 1:,}"] = 1 / seconds / memory.gigabytes
        made[f"of bound, {past + 1:,}"] = cost.bytes / memory.gigabytes / 1e9 / seconds
    cost = cost_of(QWEN3, engine, memory, batch=1, new=PROMPT, past=0)
    cycles = cost.cycles + norms_of_heads(memory, PROMPT)
    made["prompt, tokens/s"] = PROMPT * memory.clock_mhz * 1e6 / cycles
    made["prompt, of the array"] = cost.macs / cost.peak / cycles
    return made


def norms_of_heads(memory: Memory, tokens: int) -> int:
    """Count the cycles of norms of queries and keys, which the cost model of others has not."""
    values = np.random.default_rng(0).integers(-4000, 4000, QWEN3.head)
    rows = QWEN3.layers * tokens * (QWEN3.heads + QWEN3.shared)
    return -(-rows // memory.copies) * vector_cycles(VECTOR, [("rms_norm", values)])


def main() -> None:
    """Count, print, write."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--docs", action="store_true", help="rewrite the table of docs/figures")
    parser.add_argument("--program", action="store_true", help="count a program's jobs")
    parser.add_argument("--simulate", type=int, metavar="N", help="one of N jobs of the program")
    arguments = parser.parse_args()
    if arguments.program:
        for cache in (past + 1 for past in PASTS):
            cycles = cycles_of_token(slice_program(cache, opens=True))
            rate = 1e6 * CLOCK_MHZ / cycles / GIGABYTES
            print(f"cache of {cache:,}: {cycles:,} cycles of jobs, {rate:.2f} tokens/s per GB/s")
        return
    if arguments.simulate:
        sample = simulated(slice_program(128, opens=False), arguments.simulate, ROOT / "build")
        apart = sample.whole_modelled / sample.whole_counted - 1
        print(
            f"{sum(sample.jobs.values()):,} jobs, wrong: {sample.wrong or 'none'};"
            f" {sample.whole_counted:,} "
            f"cycles counted, {sample.whole_modelled:,} by the model ({apart:+.1%})"
        )
        return
    rows = [
        row(core, name, bits)
        for core in ("W4A8, lut_core", "W4A8, blocks or int8")
        for name in NAMES
        for bits in (8, 4)
    ]
    show(Console(), "Qwen3-0.6B at 4 bits", rows, COLUMNS)
    if arguments.docs:
        write_table("qwen3", markdown(rows, COLUMNS))


if __name__ == "__main__":
    main()
