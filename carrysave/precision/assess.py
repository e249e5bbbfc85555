"""Whole networks with chosen formats: cost, noise, accuracy."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from carrysave.compiler.graph.graph import Graph
from carrysave.compiler.graph.reference_runtime import Oracle
from carrysave.compiler.lowered import golden
from carrysave.compiler.lowered.evaluate import evaluate
from carrysave.compiler.lowered.operands import Operands
from carrysave.compiler.passes.pipeline import lower
from carrysave.compiler.target.target import Target
from carrysave.precision.batches import Arrays, Batches
from carrysave.precision.intervals import Interval, change, ratio, wilson
from carrysave.precision.layers import Layer
from carrysave.precision.sensitivity import Option, noise

__all__ = ["Judge", "Outcome", "apart"]


@dataclass(frozen=True, kw_only=True)
class Outcome:
    """A network with chosen formats.

    Members
    -------
    name : of the choice.
    formats : of each layer.
    bits : mean bits per weight.
    bytes, cycles, energy_uj : sums of those of :class:`Option`.
    noise : of the outputs, relative to the float network's.
    same : fraction of inputs with the same class; None if outputs are not classes.
    right, right_floats : accuracy, here and in floats; None without labels.
    noise_interval, same_interval, right_interval, right_floats_interval : of these; that of the
        noise is None where outputs are not one for each input.
    change_interval : of the difference between the two accuracies.
    """

    name: str
    formats: list[str]
    bits: float
    bytes: float
    cycles: float
    energy_uj: float | None
    noise: float
    same: float | None
    right: float | None
    right_floats: float | None
    noise_interval: Interval | None = None
    same_interval: Interval | None = None
    right_interval: Interval | None = None
    right_floats_interval: Interval | None = None
    change_interval: Interval | None = None


class Judge:
    """Runs a network on the golden model of the co-processor, and compares it with floats.

    Parameters
    ----------
    graph, target, layers : the model, what runs it, and its products.
    given : samples.
    labels : or None.
    """

    def __init__(
        self,
        graph: Graph,
        target: Target,
        layers: Sequence[Layer],
        given: Batches,
        labels: np.ndarray | None,
    ) -> None:
        self._graph, self._target, self._layers = graph, target, layers
        self._given, self._labels = given, labels
        self._reference = self._runs(Oracle(graph, {}).run)

    def _runs(self, run: Callable[[Arrays], Arrays]) -> list[Arrays]:
        """Return the outputs of each batch."""
        return [made for _, made in self._given.followed(run)]

    def assess(self, name: str, options: Sequence[Option], graph: Graph | None = None) -> Outcome:
        """Run the network with these options, one for each layer, and compare it with floats.

        Parameters
        ----------
        name : of the outcome.
        options : of the layers.
        graph : the network with other weights; it is compared with the one that was given.
        """
        ours = self.run(options, graph)
        outputs, reference = (
            [one for part in parts for one in part.values()] for parts in (ours, self._reference)
        )
        same, right, right_floats = self.hits(ours)
        weights = sum(layer.weight_bits(1) for layer in self._layers)
        energies = [option.energy_uj for option in options if option.energy_uj is not None]
        return Outcome(
            name=name,
            formats=[option.choice.formats for option in options],
            bits=sum(option.weight_bits for option in options) / max(weights, 1),
            bytes=sum(option.bytes for option in options),
            cycles=sum(option.cycles for option in options),
            energy_uj=sum(energies) if energies else None,
            noise=noise(outputs, reference),
            same=_share(same),
            right=_share(right),
            right_floats=_share(right_floats),
            noise_interval=_noise_interval(ours, self._reference, self._given.samples.outputs),
            same_interval=_interval(same),
            right_interval=_interval(right),
            right_floats_interval=_interval(right_floats),
            change_interval=None
            if right is None or right_floats is None
            else change(*apart(right, right_floats), len(right)),
        )

    def run(
        self, options: Sequence[Option], graph: Graph | None = None
    ) -> list[dict[str, np.ndarray]]:
        """Return the outputs with these options, batch by batch; of a network of other weights."""
        choices = {
            layer.name: option.choice for layer, option in zip(self._layers, options, strict=True)
        }
        lowered = lower(graph or self._graph, self._target, choices)

        def multiply(product: Operands, a: np.ndarray, b: np.ndarray | None) -> np.ndarray:
            compiled = product.compile(self._target, a, b, in_hardware=False)
            return golden.product(self._target.spec, compiled)

        return self._runs(lambda part: evaluate(lowered, part, multiply))

    def hits(self, parts: Sequence[dict[str, np.ndarray]]) -> tuple[np.ndarray | None, ...]:
        """Return for each input: the same class as in floats; the right one; so in floats."""
        classes, wanted = self._classes(parts), self._classes(self._reference)
        if classes is None or wanted is None:
            return None, None, None
        if self._labels is None:
            return classes == wanted, None, None
        return classes == wanted, classes == self._labels, wanted == self._labels

    def _classes(self, parts: Sequence[dict[str, np.ndarray]]) -> np.ndarray | None:
        """Return the classes of the first output, if it is a classifier's."""
        name = self._graph.outputs[0]
        if self._given.samples.outputs.get(name) != 0:
            return None
        first = [part[name] for part in parts]
        if first[0].ndim != 2 or first[0].shape[1] < 2:
            return None
        return np.concatenate([part.argmax(axis=1) for part in first])


def apart(ours: np.ndarray, theirs: np.ndarray) -> tuple[int, int]:
    """Count the inputs that only the first has right, and that only the second has."""
    return int((ours & ~theirs).sum()), int((theirs & ~ours).sum())


def _share(hits: np.ndarray | None) -> float | None:
    return None if hits is None else float(np.mean(hits))


def _interval(hits: np.ndarray | None) -> Interval | None:
    return None if hits is None else wilson(int(hits.sum()), len(hits))


def _noise_interval(
    outputs: Sequence[Arrays], reference: Sequence[Arrays], axes: Mapping[str, int]
) -> Interval | None:
    """Return the interval of the noise, if outputs have an entry for each input.

    Parameters
    ----------
    axes : of the sample in each output that has one.
    """
    sums, power = [], []
    for ours, theirs in zip(outputs, reference, strict=True):
        names = [name for name in axes if theirs[name].dtype.kind == "f"]
        counts = {theirs[name].shape[axes[name] : axes[name] + 1] for name in names}
        if len(counts) != 1 or counts == {()}:
            return None
        rows = [
            [np.moveaxis(one[name].astype(np.float64), axes[name], 0) for one in (ours, theirs)]
            for name in names
        ]
        pairs = [
            (
                np.square(one - other).reshape(len(other), -1).sum(axis=1),
                np.square(other).reshape(len(other), -1).sum(axis=1),
            )
            for one, other in rows
        ]
        sums.append(sum(one for one, _ in pairs))
        power.append(sum(other for _, other in pairs))
    parts, wholes = np.concatenate(sums), np.concatenate(power)
    if not wholes.any():
        return None
    low, high = ratio(parts, wholes)
    return max(low, 0.0), high
