"""Cost of a layer's format, and its effect on the network's outputs."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np
import onnx
from onnx import TensorProto, helper

from carrysave.compiler.graph.graph import Graph
from carrysave.compiler.graph.names import label
from carrysave.compiler.graph.reference_runtime import Oracle, session
from carrysave.compiler.lowered import golden
from carrysave.compiler.lowered.encoded import Choice
from carrysave.compiler.lowered.split_product import shares_of
from carrysave.compiler.passes.floats import match_floats
from carrysave.compiler.program.cost import Spent, spent_by_all
from carrysave.compiler.run.alone import product_job
from carrysave.compiler.target.energy import Energy
from carrysave.compiler.target.target import Target
from carrysave.precision.batches import Arrays, Batches
from carrysave.precision.layers import Layer
from carrysave.precision.options import Pair
from carrysave.precision.splits import SplitFormats
from carrysave.progress import Steps

__all__ = ["Option", "measure", "noise"]


@dataclass(frozen=True, kw_only=True)
class Option:
    """A format for a layer.

    Members
    -------
    choice : formats and steps.
    noise : of the outputs, if only this layer is rounded; power relative to the outputs.
    weight_bits : of all weights, without padding of containers.
    bytes : of weights in memory.
    cycles, slots : per input: clock cycles; product slots of the engine.
    energy_uj : per input, of the engine; None if not measured.
    """

    choice: Choice
    noise: float
    weight_bits: int
    bytes: float
    cycles: float
    slots: float
    energy_uj: float | None = None


class _Tail:
    """The model from a product's output on."""

    def __init__(self, graph: Graph, layer: Layer) -> None:
        proto = onnx.ModelProto()
        proto.CopyFrom(graph.proto)
        others = [node for node in proto.graph.node if layer.y not in node.output]
        del proto.graph.node[:]
        proto.graph.node.extend(others)
        if layer.y not in graph.outputs:
            proto.graph.input.append(
                helper.make_tensor_value_info(layer.y, TensorProto.FLOAT, None)
            )
            self._session = session(proto.SerializeToString())
        self._graph, self._y = graph, layer.y

    def run(self, inputs: dict[str, np.ndarray], y: np.ndarray) -> list[np.ndarray]:
        """Return the outputs."""
        names = self._graph.outputs
        if self._y in names:
            return [y if name == self._y else np.zeros(0) for name in names]
        return list(self._session.run(names, {**inputs, self._y: y}))


def noise(outputs: Sequence[np.ndarray], reference: Sequence[np.ndarray]) -> float:
    """Return the power of differences relative to the reference; float outputs only."""
    apart = power = 0.0
    for ours, theirs in zip(outputs, reference, strict=True):
        if ours.size and theirs.dtype.kind == "f":
            apart += float(np.square(ours.astype(np.float64) - theirs).sum())
            power += float(np.square(theirs.astype(np.float64)).sum())
    return apart / power if power else 0.0


def measure(
    graph: Graph,
    target: Target,
    layers: Sequence[Layer],
    pairs: Sequence[Pair],
    given: Batches,
    *,
    splits: Mapping[Pair, SplitFormats],
    energy: Energy | None,
    steps: Steps,
) -> list[dict[Pair, Option]]:
    """Round one layer at a time to each pair of formats, all others in floats.

    The layer is multiplied by the golden model of the engine, what follows it by onnxruntime.

    Parameters
    ----------
    graph, target : the model, and what runs it.
    layers : its products.
    pairs : of formats, of A and B.
    splits : what some of them stand for; layers that cannot be split lack it.
    given : the calibration inputs; each batch begins with the states that the network in floats
        has left.
    energy : of the engine, or None.
    steps : progress.

    Returns
    -------
    For each layer, its options by pair of formats.
    """
    oracle = Oracle(graph, {})
    runs = list(given.followed(oracle.run))
    for one in (one for _, made in runs for one in made.values()):
        if one.dtype.kind == "f" and not np.isfinite(one).all():
            raise ValueError("outputs on the calibration inputs must be finite")
    measured: list[dict[Pair, Option]] = []
    for number, layer in enumerate(layers):
        steps.step(f"sensitivity of {layer.name}, {number + 1} of {len(layers)}")
        tail = _Tail(graph, layer)
        fit = [pair for pair in pairs if pair in splits or layer.depth <= target.modes[pair].k_max]
        if not any(pair not in splits for pair in fit):
            most = max(target.modes[pair].k_max for pair in pairs if pair not in splits)
            raise ValueError(f"{label(layer.node)}: K must be 1..{most}, not {layer.depth}")
        of_layer = {}
        for done, pair in enumerate(fit, 1):
            choose = splits[pair].choice if pair in splits else partial(Layer.choice, pair=pair)
            choice = choose(layer, formats=target.formats)
            if choice is not None:
                of_layer[pair] = _option(
                    graph, target, layer, choice, tail, runs, given.count, energy
                )
            steps.advance(number * len(pairs) + done, len(layers) * len(pairs))
        measured.append(of_layer)
    return measured


def _option(
    graph: Graph,
    target: Target,
    layer: Layer,
    choice: Choice,
    tail: _Tail,
    runs: Sequence[tuple[Arrays, Arrays]],
    count: int,
    energy: Energy | None,
) -> Option:
    """Round a layer to chosen formats; figures are of one of a count of samples."""
    product = match_floats(graph, layer.node, target, choice).product
    product.check(target)
    takes = Spent()
    outputs: list[np.ndarray] = []
    for number, ((part, _), a) in enumerate(zip(runs, layer.a, strict=True)):
        b = layer.b[number] if layer.b else None
        compiled = product.compile(target, a, b, in_hardware=False)
        jobs = [product_job(work, target) for work in compiled.works]
        takes += spent_by_all(jobs, target)
        outputs += tail.run(part, golden.product(target.spec, compiled))
    reference = [one for _, made in runs for one in made.values()]
    slots = takes.slots / count
    return Option(
        choice=choice,
        noise=noise(outputs, reference),
        weight_bits=layer.chosen_bits(choice, lambda pair: target.formats[pair[1]].width),
        bytes=layer.chosen_bits(choice, lambda pair: target.modes[pair].b.bits) / 8,
        cycles=takes.cycles / count,
        slots=slots,
        energy_uj=energy.uj(slots, shares_of(product)) if energy else None,
    )
