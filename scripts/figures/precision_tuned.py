"""Networks for digits in 4 bits, before and after weights were fitted to the format."""

from functools import partial
from typing import Any

import numpy as np

from carrysave.compiler.front.onnx_model import load
from carrysave.compiler.target.target import Target
from carrysave.errors import needs
from carrysave.precision import layers as products
from carrysave.precision.assess import Judge
from carrysave.precision.batches import Batches
from carrysave.precision.sensitivity import Option
from carrysave.progress import Steps
from hw.catalog import Design
from scripts.figures.precision_digits import CALIBRATION, ENGINE, Keep, counts_of, measured
from scripts.train import train_mnist
from verif.support.mnist import folds, images

__all__ = ["EACH", "tuned"]

FORMATS = ("int4", "e2m1", "posit4e1")
EPOCHS = 3
EACH = 2000
"""Digits that a network tests."""
_BATCH = 100


class _Network:
    """The network that tests a part of the digits, in formats for all layers."""

    def __init__(self, number: int, count: int, keep: Keep, steps: Steps) -> None:
        pixels, classes = images()
        parts = folds(len(pixels), train_mnist.FOLDS)
        chosen, self._others = np.flatnonzero(parts[number])[:count], np.flatnonzero(~parts[number])
        self._graph = load(train_mnist.network(number))
        self._name = next(iter(self._graph.inputs))
        design = Design.parse("coprocessor", {"engine": ENGINE, "requantise": "false"})
        self._target = Target(design, golden=True)
        calibration = {self._name: pixels[self._others[:CALIBRATION]]}
        given, judged = (
            Batches.of_rows(self._graph, inputs, _BATCH)
            for inputs in (calibration, {self._name: pixels[chosen]})
        )
        self._layers = products.find(self._graph, given)
        self.weights = sum(layer.weight_bits(1) for layer in self._layers)
        self._judge = Judge(self._graph, self._target, self._layers, judged, classes[chosen])
        self._pixels, self._steps = pixels, steps

    def configurations(self) -> dict[str, tuple[str, bool]]:
        """Name the formats, each with the weights that it has, and with fitted ones."""
        return {
            f"all {name}{', fine-tuned' if fitted else ''}": (name, fitted)
            for name in FORMATS
            for fitted in (False, True)
        }

    def bytes(self, picks: tuple[str, bool]) -> float:
        """Return the bytes of weights."""
        return self.weights * self._target.formats[picks[0]].width / 8

    def counts(self, picks: tuple[str, bool]) -> list[int]:
        """Count, as :func:`counts_of`; fit the weights, if asked to."""
        from carrysave.precision.tuning import tune  # needs jax

        name, fitted = picks
        formats = self._target.formats
        options = [
            Option(
                choice=layer.choice(formats, (name, name)),
                noise=0.0,
                bytes=0.0,
                cycles=0.0,
                weight_bits=layer.weight_bits(formats[name].width),
                slots=0.0,
            )
            for layer in self._layers
        ]
        graph = None
        if fitted:
            choices = {
                layer.name: option.choice
                for layer, option in zip(self._layers, options, strict=True)
            }
            graph = tune(
                self._graph,
                choices,
                formats,
                {self._name: self._pixels[self._others]},
                epochs=EPOCHS,
                steps=self._steps,
            ).graph
        return counts_of(self._judge, self._judge.run(options, graph))


def tuned(count: int, keep: Keep, steps: Steps) -> list[dict[str, Any]]:
    """Return rows of the digits that the first networks test, :data:`EACH` of each."""
    needs("jax")
    numbers = range(max(count // EACH, 1))
    each = count // len(numbers)

    def network(number: int, keep: Keep) -> _Network:
        return _Network(number, each, keep, steps)

    makers = [partial(network, number) for number in numbers]
    total = each * len(numbers)
    return measured("digits, 4 layers", f"{total:,} digits", makers, total, keep, steps)
