"""Networks for digits with weights and activations in formats."""

from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path
from typing import Any, Protocol

import numpy as np

from carrysave.compiler.front.onnx_model import load
from carrysave.compiler.graph.graph import Graph
from carrysave.compiler.lowered.encoded import Choice
from carrysave.compiler.target.target import Target
from carrysave.precision import layers as products
from carrysave.precision import sensitivity
from carrysave.precision.assess import Judge, apart
from carrysave.precision.batches import Batches
from carrysave.precision.intervals import change, wilson
from carrysave.precision.options import Options, Pair
from carrysave.precision.sensitivity import Option
from carrysave.progress import Steps
from hw.catalog import Design
from scripts.train import train_mnist
from verif.support.mnist import folds, images

__all__ = [
    "CALIBRATION",
    "MIX",
    "UNIFORM",
    "Keep",
    "RoundedNetwork",
    "configurations",
    "digits",
    "measured",
]

MIX = ("e2m1", "posit4e1", "posit8e0", "posit16e1")
"""The paper's formats: FP4, posit(4,1), posit(8,0), posit(16,1)."""
UNIFORM = ("int8", "e4m3", "posit8e0", "int4", "e2m1", "posit4e1")
"""Formats for all layers alike."""
SHARES = (1.0, 0.75, 0.6)
"""Bytes of mixes, of those of all in int8 or FP8."""
CALIBRATION = 32
ENGINE = (
    "npe(lane=sl16,formats=int8,int4,e2m1,posit4e1,e4m3,posit8e0,posit16e1,accumulator_width=127)"
)

Keep = Callable[[str, Callable[[], Any]], Any]
"""Returns what was kept by a name, or makes it."""


def configurations(options: Options) -> dict[str, list[Pair]]:
    """Name the choices that are compared: one format for all, and mixes of some bytes at most."""
    picked = {f"all {name}": options.alike((name, name)) for name in UNIFORM}
    whole = options.cost(options.alike(("int8", "int8")), "bytes")
    pairs = [(name, name) for name in MIX]
    for share in SHARES:
        picks = options.mix(pairs, {"bytes": share * whole * (1 + 1e-9)})
        picked[f"mix, {share:.0%} of int8's bytes"] = picks
    return picked


class RoundedNetwork:
    """A network, with what its layers cost, and who judges it."""

    def __init__(
        self,
        path: Path,
        calibration: np.ndarray,
        inputs: np.ndarray,
        labels: np.ndarray,
        batch: int,
        keep: Keep,
        steps: Steps,
    ) -> None:
        self.graph: Graph = load(path)
        name = next(iter(self.graph.inputs))
        design = Design.parse("coprocessor", {"engine": ENGINE, "requantise": "false"})
        self.target = Target(design, golden=True)
        given = Batches.of_rows(self.graph, {name: calibration}, batch)
        self.layers = products.find(self.graph, given)
        self.weights = sum(layer.weight_bits(1) for layer in self.layers)
        pairs = [(one, one) for one in dict.fromkeys([*MIX, *UNIFORM])]

        def options() -> list[Any]:
            table = sensitivity.measure(
                self.graph,
                self.target,
                self.layers,
                pairs,
                given,
                splits={},
                energy=None,
                steps=steps,
            )
            return [[[pair, asdict(option)] for pair, option in units.items()] for units in table]

        self.options = Options([
            {(pair[0], pair[1]): _option(option) for pair, option in units}
            for units in keep("sensitivity", options)
        ])
        judged = Batches.of_rows(self.graph, {name: inputs}, batch)
        self._judge = Judge(self.graph, self.target, self.layers, judged, labels)

    def configurations(self) -> dict[str, list[Pair]]:
        """Name the choices that are compared."""
        return configurations(self.options)

    def bytes(self, picks: Sequence[Pair]) -> float:
        """Return the bytes of weights of a choice."""
        return self.options.cost(picks, "bytes")

    def counts(self, picks: Sequence[Pair]) -> list[int]:
        """Count the inputs that are right, right in floats, and only here, and only in floats."""
        options = [table[pick] for table, pick in zip(self.options.table, picks, strict=True)]
        return counts_of(self._judge, self._judge.run(options))


def counts_of(judge: Judge, outputs: Sequence[dict[str, np.ndarray]]) -> list[int]:
    """Count the inputs that are right, right in floats, and only here, and only in floats."""
    _, right, floats = judge.hits(outputs)
    assert right is not None
    assert floats is not None
    return [int(right.sum()), int(floats.sum()), *apart(right, floats)]


class Network(Protocol):
    """What :func:`measured` measures; a pick is a configuration's."""

    weights: int

    def configurations(self) -> dict[str, Any]:
        """Name the configurations that are compared."""

    def bytes(self, picks: Any) -> float:
        """Return the bytes of weights of one."""

    def counts(self, picks: Any) -> list[int]:
        """Count, as :func:`counts_of`."""


def _option(facts: dict[str, Any]) -> Option:
    return Option(**{**facts, "choice": Choice(**facts["choice"])})


def _figure(counts: Sequence[int], total: int, floats: bool) -> dict[str, Any]:
    """Make a figure of the counts of all inputs."""
    right, in_floats, more, less = counts
    return {
        "value": right / total,
        "interval": wilson(right, total),
        "change": None if floats else (right - in_floats) / total,
        "change_interval": None if floats else change(more, less, total),
    }


@dataclass
class _Row:
    """What the networks of all parts of the inputs have right, added up."""

    counts: list[int]
    bytes: float

    def figures(self, parts: int, total: int, title: str) -> dict[str, Any]:
        """Return the members of a row of the table."""
        floats = title == "floats"
        return {
            "title": title,
            "size": None if floats else self.bytes / parts,
            "found": _figure(self.counts, total, floats),
        }


def measured(
    name: str,
    inputs: str,
    makers: Sequence[Callable[[Keep], Network]],
    total: int,
    keep: Keep,
    steps: Steps,
) -> list[dict[str, Any]]:
    """Measure networks, each of which has a part of the inputs, in all configurations."""
    rows: dict[str, _Row] = {}

    def add(title: str, counts: Sequence[int], size: float) -> None:
        row = rows.setdefault(title, _Row([0] * 4, 0.0))
        row.counts = [one + more for one, more in zip(row.counts, counts, strict=True)]
        row.bytes += size

    for number, make in enumerate(makers):

        def keep_named(what: str, make: Callable[[], Any], number: int = number) -> Any:
            return keep(f"{number} of {len(makers)}, {what}", make)

        network = make(keep_named)
        for title, picks in network.configurations().items():
            steps.step(f"judge {name}, {number + 1} of {len(makers)}, {title}")
            counts = keep_named(repr(picks), partial(network.counts, picks))
            size = network.bytes(picks)
            if title == next(iter(network.configurations())):
                add("floats", [counts[1], counts[1], 0, 0], 0.0)
            add(title, counts, size)
    order = ["floats", *(title for title in rows if title != "floats")]
    return [
        {
            "name": name,
            "inputs": inputs,
            "weights": network.weights,
            **rows[title].figures(len(makers), total, title),
        }
        for title in order
    ]


def digits(count: int, keep: Keep, steps: Steps) -> list[dict[str, Any]]:
    """Return rows of the digits: each fold is tested by a network that the others trained."""
    pixels, classes = images()
    parts = folds(len(pixels), train_mnist.FOLDS)
    each = count // train_mnist.FOLDS

    def network(number: int, keep: Keep) -> RoundedNetwork:
        chosen, others = np.flatnonzero(parts[number])[:each], np.flatnonzero(~parts[number])
        return RoundedNetwork(
            train_mnist.network(number),
            pixels[others[:CALIBRATION]],
            pixels[chosen],
            classes[chosen],
            100,
            keep,
            steps,
        )

    makers = [partial(network, number) for number in range(train_mnist.FOLDS)]
    total = each * train_mnist.FOLDS
    return measured("digits, 4 layers", f"{total:,} digits", makers, total, keep, steps)
