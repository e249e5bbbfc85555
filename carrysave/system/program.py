"""From a quantised network to a program of a system: products as jobs, codes moved between them.

What lies between products must only move codes, or take the greatest: it becomes tables of
addresses, found by running the model's own operators on addresses in place of codes. What is before
the first product and behind the last one is left to the host.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from onnx import NodeProto

from carrysave.driver.system import Plan, Tensor
from carrysave.networks.check_model import DOMAIN
from carrysave.networks.evaluate import evaluate, evaluator
from carrysave.networks.im2col import Windows
from carrysave.networks.lower import Lowered
from carrysave.networks.names import place
from carrysave.networks.product_base import Compiled, Operands
from carrysave.networks.quantised_product import QuantisedProduct, code_offset
from carrysave.networks.target import Target
from carrysave.system.cycles import Memory
from carrysave.system.image import Image

__all__ = ["Layer", "Program", "compile_program"]

_MOVES = (
    "Concat", "Expand", "Flatten", "Gather", "Identity", "Reshape", "Slice", "Squeeze", "Tile",
    "Transpose", "Unsqueeze",
)  # fmt: skip
_GREATEST = ("MaxPool", "GlobalMaxPool")
_STEPS = ("DequantizeLinear", "QuantizeLinear")
_JOBS = 8
"""Products on one start, as the firmware has room for."""
_DESCRIPTOR = 128
_FAR = 1 << 40
"""Added to addresses, so that they are no codes."""


@dataclass(frozen=True, eq=False)
class Layer:
    """A product in a program.

    Members
    -------
    product, shapes, cycles : which, M K N of its works, and its cycles by the model.
    y : where its codes are.
    counters : addresses of the counters of its starts.
    """

    product: Operands
    shapes: list[tuple[int, int, int]]
    cycles: int
    y: Tensor
    counters: list[int]


@dataclass(frozen=True, eq=False)
class Program:
    """A program of a system.

    Members
    -------
    image : memory that is filled before it runs.
    start : address of the program.
    inputs : codes that it takes, by the name of the tensor.
    layers : in the order in which they run.
    classes : count of the last layer's codes, of which the firmware tells the greatest.
    """

    image: Image
    start: int
    inputs: dict[str, Tensor]
    layers: list[Layer]
    classes: int

    @property
    def plan(self) -> Plan:
        """What a system must be told."""
        layers = [(layer.y, layer.counters) for layer in self.layers]
        return Plan(self.image.parts, self.start, self.inputs, layers)


def compile_program(
    lowered: Lowered, target: Target, memory: Memory, inputs: dict[str, np.ndarray],
    multiply: Callable[[Operands, np.ndarray, np.ndarray | None], np.ndarray],
) -> Program:  # fmt: skip
    """Compile a network for one input at a time.

    Parameters
    ----------
    lowered : the network.
    target : the co-processor.
    memory : how long the system's SDRAM takes.
    inputs : one input: sizes between products are its.
    multiply : makes y of a product.

    Raises
    ------
    ValueError
        What the firmware cannot do; names the node.
    """
    _check(target)
    _check_nodes(lowered, target)
    shapes: dict[int, tuple[tuple[int, ...], Any]] = {}

    def watched(product: Operands, a: np.ndarray, b: np.ndarray | None) -> np.ndarray:
        shapes[id(product)] = a.shape, a.dtype
        return multiply(product, a, b)

    evaluate(lowered, inputs, watched)
    return _Compiler(lowered, target, memory, shapes).compile()


def _check(target: Target) -> None:
    """Refuse codes that the firmware does not move."""
    for name, number in (("A", target.mode.a), ("B", target.mode.b), ("C", target.info.codes)):
        if (number.bits, number.low, number.high) != (8, -128, 127):
            text = f"{number.low}..{number.high}"
            raise ValueError(f"a system's co-processor must have {name} of int8, not {text}")


def _check_nodes(lowered: Lowered, target: Target) -> None:
    """Refuse operators that the firmware has not, before anything is computed."""
    codes: set[str] = set()
    lost: dict[str, NodeProto] = {}
    for node in lowered.proto.graph.node:
        if node.domain == DOMAIN and node.op_type == "Recurrent":
            layer = lowered.recurrent[node.name].node
            raise ValueError(f"{place(layer)}: the firmware has no such operator")
        if node.domain == DOMAIN and node.op_type == "Product":
            _check_product(node, lowered.products[node.attribute[0].i], lost, target)
            codes.update(node.output)
            continue
        before = next((lost[name] for name in node.input if name in lost), None)
        if before is None and not codes.intersection(node.input):
            continue
        if before is None and not node.domain and node.op_type in (*_MOVES, *_GREATEST, *_STEPS):
            codes.update(node.output)
        else:
            lost |= dict.fromkeys(node.output, node if before is None else before)


def _check_product(
    node: NodeProto, product: Operands, lost: Mapping[str, NodeProto], target: Target
) -> None:
    """Refuse a product that the firmware cannot start, or what is before it."""
    if (before := lost.get(node.input[0])) is not None:
        raise ValueError(f"{place(before)}: between products, the firmware has no such operator")
    if not isinstance(product, QuantisedProduct) or product.b or product.scale is None:
        raise ValueError(f"{place(node)}: must have constant weights, and codes as results")
    if not target.requantises(product.scale.size):
        raise ValueError(f"{place(node)}: must be requantised by the co-processor")


class _Compiler:
    """Goes through a network's nodes once."""

    def __init__(
        self, lowered: Lowered, target: Target, memory: Memory, shapes: dict[int, Any]
    ) -> None:
        self._lowered, self._target, self._shapes = lowered, target, shapes
        self._image = Image(target, memory)
        self._tensors: dict[str, Tensor] = {}
        self._inputs: dict[str, Tensor] = {}
        self._layers: list[Layer] = []
        self._lost: dict[str, NodeProto] = {}
        """Tensors of operators behind products, and the operator that the firmware has not."""

    def compile(self) -> Program:
        machine = evaluator(self._lowered, _not_run, lambda name, codes: codes)
        constants = dict(machine.rt_inits_)
        for node in machine.rt_nodes_:
            own = node.onnx_node
            if own.domain == DOMAIN:
                self._product(own)
            elif any(name in self._tensors or name in self._lost for name in own.input):
                self._between(node, constants)
            elif all(name in constants for name in own.input if name):
                made = node.run(*(constants[name] for name in own.input))
                constants |= dict(zip(own.output, made, strict=False))
        last = self._layers[-1].y.sources.reshape(1, -1)
        image = self._image
        scores, _ = image.rows(last)
        ring = image.room(_DESCRIPTOR * _JOBS)
        start = image.program(ring, scores, last.size)
        return Program(image, start, self._inputs, self._layers, last.size)

    def _product(self, node: NodeProto) -> None:
        product = self._lowered.products[node.attribute[0].i]
        _check_product(node, product, self._lost, self._target)
        assert isinstance(product, QuantisedProduct)
        a = self._tensors.get(product.a) or self._input(product)
        compiled, sources = self._cut(product, a)
        jobs, places, cycles = [], [], 0
        for work, own in zip(compiled.works, sources, strict=True):
            words, result, taken = self._image.job(work, own)
            cycles += taken
            jobs.append(words)
            places.append(result)
        counters = [
            self._image.product(jobs[first : first + _JOBS]) for first in range(0, len(jobs), _JOBS)
        ]
        y = Tensor(
            compiled.cut.shaped(compiled.cut.join(places)), product.y_type,
            code_offset("C", product.y_type, self._target.info.codes),
        )  # fmt: skip
        self._tensors[product.y] = y
        shapes = [
            (len(own), *work.b.shape) for work, own in zip(compiled.works, sources, strict=True)
        ]
        self._layers.append(Layer(product, shapes, cycles, y, counters))

    def _input(self, product: QuantisedProduct) -> Tensor:
        """Make room for codes that come from the host."""
        shape, kind = self._shapes[id(product)]
        size = int(np.prod(shape))
        sources = self._image.room(size) + np.arange(size).reshape(shape)
        found = Tensor(sources, kind, code_offset("A", kind, self._target.mode.a))
        self._tensors[product.a] = self._inputs[product.a] = found
        return found

    def _cut(self, product: QuantisedProduct, a: Tensor) -> tuple[Compiled, list[np.ndarray]]:
        """Cut matrices A of addresses, as if these were codes; what else is in them are codes."""
        if a.kind != product.a_type:
            raise ValueError(f"{product.name}: A must be of {product.a_type}, not of {a.kind}")
        # Addresses can be cut into A alone.
        laid = replace(product, turns=False)
        compiled = laid.compile(self._target, a.sources + _FAR, None, True)
        sources = []
        for work in compiled.works:
            assert work.a is not None
            # The compiler takes the offset from all codes, and so from addresses.
            far = work.a + a.offset - _FAR
            known = self._image.constant(work.a)
            sources.append(np.where(far >= 0, far, known))
        return compiled, sources

    def _between(self, node: Any, constants: dict[str, np.ndarray]) -> None:
        """Do an operator on codes of products."""
        own: NodeProto = node.onnx_node
        before = next((self._lost[name] for name in own.input if name in self._lost), None)
        made = None if before is not None else self._moved(node, constants)
        for name in own.output:
            if made is None:
                self._lost[name] = own if before is None else before
            else:
                self._tensors[name] = made

    def _moved(self, node: Any, constants: dict[str, np.ndarray]) -> Tensor | None:
        """Return what an operator makes; None if the firmware has no such operator."""
        own: NodeProto = node.onnx_node
        given = [self._tensors.get(name) for name in own.input]
        first = next(one for one in given if one is not None)
        known = constants.keys() | self._tensors.keys() | {""}
        if any(name not in known for name in own.input):
            return None
        if own.op_type in _STEPS:
            scale, zero = (constants.get(name) for name in (*own.input[1:3], "")[:2])
            if scale is None or scale.size != 1 or (zero is not None and zero.size != 1):
                return None
            found = float(scale), 0 if zero is None else int(zero)
            if own.op_type == "DequantizeLinear":
                return replace(first, scale=found) if first.scale is None else None
            kind = np.dtype(np.uint8) if zero is None else zero.dtype
            same = first.scale == found and first.kind == kind
            return replace(first, scale=None) if same else None
        if own.op_type in _GREATEST:
            return self._greatest(own, first)
        alike = all(
            one is None or (one.kind, one.scale) == (first.kind, first.scale) for one in given
        )
        if own.op_type not in _MOVES or not alike:
            return None
        operands = [
            constants.get(name) if one is None else one.sources
            for name, one in zip(own.input, given, strict=True)
        ]
        (made,) = node.run(*operands)
        return replace(first, sources=made)

    def _greatest(self, node: NodeProto, x: Tensor) -> Tensor | None:
        """Take the greatest of windows: scales are positive, so codes go as what they stand for."""
        axes = x.sources.ndim - 2
        values = {one.name: one for one in node.attribute}

        def numbers(name: str, otherwise: list[int]) -> tuple[int, ...]:
            return tuple(values[name].ints) if name in values else tuple(otherwise)

        automatic = values["auto_pad"].s.decode() if "auto_pad" in values else "NOTSET"
        if len(node.output) != 1:
            return None
        pads = None if automatic.startswith("SAME") else numbers("pads", [0] * 2 * axes)
        windows = Windows(
            kernel=numbers("kernel_shape", list(x.sources.shape[2:])),
            strides=numbers("strides", [1] * axes), dilations=numbers("dilations", [1] * axes),
            pads=pads, auto_pad=automatic,
        )  # fmt: skip
        if "ceil_mode" in values and values["ceil_mode"].i:
            windows = windows.reaching(x.sources.shape[2:])
        least = int(self._image.constant(np.array(self._target.info.codes.low)))
        seen = np.moveaxis(windows.cut(x.sources, least), 1 + axes, 1)
        taps = seen.reshape(-1, int(np.prod(windows.kernel)))
        shape = seen.shape[: 2 + axes]
        at = self._image.gathered(taps)
        return replace(x, sources=at + np.arange(len(taps)).reshape(shape))


def _not_run(product: Operands, a: np.ndarray, b: np.ndarray | None) -> np.ndarray:
    raise NotImplementedError(product.name)
