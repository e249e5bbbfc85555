"""Fine-tuning of weights for chosen formats: rounded values go forward, slopes as if none were.

The network learns its own outputs in floats, so that no labels are needed.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import onnx
from onnx import NodeProto, numpy_helper

from carrysave.compiler.graph.graph import Graph
from carrysave.compiler.graph.kernels import FLOAT_PRODUCTS
from carrysave.compiler.graph.names import key
from carrysave.compiler.graph.reference_runtime import Oracle
from carrysave.compiler.lowered.encoded import Choice
from carrysave.precision.grid import grid, weight_steps
from carrysave.precision.in_jax import forward, unknown
from carrysave.progress import Steps
from golden.formats.element import ElementFormat

__all__ = ["RATE", "Tuned", "tune"]

RATE = 1e-3
"""Of learning: the greatest step of a tensor, in parts of its root mean square."""
_BATCH = 64
_FEW = 32


@dataclass(frozen=True, kw_only=True)
class Tuned:
    """A network with other weights.

    Members
    -------
    graph : the network.
    noise : of the rounded outputs on the inputs, relative to those in floats: before, and after
        each epoch. The weights are those of the least.
    """

    graph: Graph
    noise: list[float] = field(default_factory=list)


def tune(
    graph: Graph,
    choices: Mapping[str, Choice],
    formats: Mapping[str, ElementFormat],
    inputs: dict[str, np.ndarray],
    *,
    epochs: int,
    steps: Steps,
    seed: int = 1,
) -> Tuned:
    """Fine-tune weights and biases of the products that have formats, by Adam.

    Scales of activations stay as chosen; those of weights are chosen again before each epoch.

    Parameters
    ----------
    graph, choices : the network, and the formats of its products, by node.
    formats : by name.
    inputs : to learn from, by name.
    epochs : times that all inputs are learnt from.
    steps : progress.
    seed : of the order.

    Raises
    ------
    ValueError
        An operator that is not known here.
    """
    if node := unknown(graph):
        raise ValueError(f"{node}: fine-tuning must know the operator, and does not")
    network = _Network(graph, choices, formats)
    wanted = list(Oracle(graph, {}).run(inputs).values())
    count = len(wanted[0])
    loss = _loss(network, wanted)
    step = _adam(network, loss)
    noise = _noise(network, jax.jit(loss), inputs, wanted)
    rng = np.random.default_rng(seed)
    weights = network.weights
    zeros = {name: np.zeros_like(one) for name, one in weights.items()}
    state: Any = (weights, zeros, zeros)
    best, noises = weights, [noise(weights)]
    starts = range(0, count - count % _BATCH, _BATCH) or range(1)
    done, total = 0, epochs * len(starts)
    for epoch in range(epochs):
        steps.step(f"fine-tune, epoch {epoch + 1} of {epochs}")
        rounding, order = network.rounding(state[0]), rng.permutation(count)
        for start in starts:
            rate = RATE * 0.5 * (1 + np.cos(np.pi * done / total))
            done += 1
            batch = _cut(inputs, wanted, order[start : start + _BATCH])
            state = step(state, rounding, *batch, float(done), rate)
            steps.advance(done, total)
        noises.append(noise(state[0]))
        if noises[-1] == min(noises):
            best = state[0]
    return Tuned(
        graph=_with(graph, {name: np.asarray(one) for name, one in best.items()}), noise=noises
    )


def _noise(
    network: "_Network",
    loss: Callable[..., Any],
    inputs: dict[str, np.ndarray],
    wanted: Sequence[np.ndarray],
) -> Callable[[Any], float]:
    """Return the noise over all inputs, as a function of weights."""
    count = len(wanted[0])
    parts = [slice(at, at + _BATCH) for at in range(0, count, _BATCH)]

    def noise(weights: Any) -> float:
        rounding = network.rounding(weights)
        losses = (float(loss(weights, rounding, *_cut(inputs, wanted, part))) for part in parts)
        shares = (len(wanted[0][part]) / count for part in parts)
        return sum(one * share for one, share in zip(losses, shares, strict=True))

    return noise


def _loss(network: "_Network", wanted: Sequence[np.ndarray]) -> Callable[..., Any]:
    """Return the noise of outputs relative to their power, as a function of weights."""
    count = len(wanted[0])
    power = [float((one**2).sum() / count) or 1.0 for one in wanted]

    def loss(weights: Any, rounding: Any, batch: Any, right: Any) -> Any:
        outputs = network.outputs(weights, rounding, batch)
        apart = (
            ((one - other) ** 2).sum() / len(other)
            for one, other in zip(outputs, right, strict=True)
        )
        return sum(apart) / sum(power)

    return loss


def _adam(network: "_Network", loss: Callable[..., Any]) -> Callable[..., Any]:
    """Return a step of Adam: weights and their first and second moments after a batch."""

    @jax.jit
    def step(state: Any, rounding: Any, batch: Any, right: Any, time: Any, rate: Any) -> Any:
        weights, first, second = state
        slopes = jax.grad(loss)(weights, rounding, batch, right)
        first = jax.tree.map(lambda m, g: 0.9 * m + 0.1 * g, first, slopes)
        second = jax.tree.map(lambda v, g: 0.999 * v + 0.001 * g * g, second, slopes)
        moved = {
            name: one
            - rate
            * network.size[name]
            * (first[name] / (1 - 0.9**time))
            / (jnp.sqrt(second[name] / (1 - 0.999**time)) + 1e-12)
            for name, one in weights.items()
        }
        return moved, first, second

    return step


def _cut(
    inputs: Mapping[str, np.ndarray], wanted: Sequence[np.ndarray], part: Any
) -> tuple[dict[str, np.ndarray], list[np.ndarray]]:
    return {name: one[part] for name, one in inputs.items()}, [one[part] for one in wanted]


class _Network:
    """A network whose products have rounded operands."""

    def __init__(
        self, graph: Graph, choices: Mapping[str, Choice], formats: Mapping[str, ElementFormat]
    ) -> None:
        self._graph, self._choices, self._formats = graph, choices, formats
        self._nodes = [
            node for node in graph.nodes if node.op_type in FLOAT_PRODUCTS and key(node) in choices
        ]
        names = {name for node in self._nodes for name in node.input[1:] if name}
        self.weights = {
            name: graph.constants[name] for name in sorted(names & set(graph.constants))
        }
        self.size = {
            name: float(np.sqrt((one.astype(np.float64) ** 2).mean())) or 1.0
            for name, one in self.weights.items()
        }
        used = {name for one in choices.values() for name in (one.a, one.b)}
        self._grids = {
            name: [jnp.asarray(one, jnp.float32) for one in grid(formats[name])] for name in used
        }

    def rounding(self, weights: Mapping[str, Any]) -> dict[str, np.ndarray]:
        """Return the scales of weights, for each product with a constant B, as they multiply it."""
        steps = {}
        for node in self._nodes:
            if node.input[1] not in weights:
                continue
            b = np.asarray(weights[node.input[1]])
            fmt = self._formats[self._choices[key(node)].b]
            steps[key(node)] = weight_steps(fmt, node, b).astype(np.float32)
        return steps

    def outputs(self, weights: Any, rounding: Any, inputs: Any) -> list[Any]:
        """Return the outputs of the rounded network."""

        def product(node: NodeProto, a: Any, b: Any) -> tuple[Any, Any]:
            choice = self._choices.get(key(node))
            if choice is None:
                return a, b
            step = rounding.get(key(node), choice.b_step)
            return self._through(a, choice.a, choice.a_step), self._through(b, choice.b, step)

        return forward(self._graph, {**self._graph.constants, **weights}, inputs, product)

    def _through(self, x: Any, name: str, step: Any) -> Any:
        """Round values; slopes are those of what saturates at the format's ends."""
        values, thresholds = self._grids[name]
        ends = jnp.clip(x, values[0] * step, values[-1] * step)
        # Of few values, comparing with all takes a twentieth of the time.
        method = "compare_all" if len(thresholds) <= _FEW else "scan_unrolled"
        rounded = values[jnp.searchsorted(thresholds, x / step, side="right", method=method)] * step
        return ends + jax.lax.stop_gradient(rounded - ends)


def _with(graph: Graph, constants: Mapping[str, np.ndarray]) -> Graph:
    """Return a graph with other constants of these names."""
    proto = onnx.ModelProto()
    proto.CopyFrom(graph.proto)
    for tensor in proto.graph.initializer:
        if tensor.name in constants:
            tensor.CopyFrom(numpy_helper.from_array(constants[tensor.name], tensor.name))
    for node in proto.graph.node:
        if node.op_type == "Constant" and node.output[0] in constants:
            value = numpy_helper.from_array(constants[node.output[0]])
            node.attribute[0].t.CopyFrom(value)
    return Graph(proto)
