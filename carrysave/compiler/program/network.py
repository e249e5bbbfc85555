"""From a lowered network to a program: products as jobs, all else as moves of codes.

What lies between products moves codes, takes the greatest, or looks codes up in tables. Where codes
are is found by running the model's own operators on addresses in place of codes. What is left are
steps of the host, each with its reason; those before the first product and behind the last one are
at the edges of the program.
"""

from dataclasses import replace
from typing import Any

import numpy as np
from onnx import NodeProto

from carrysave.compiler.graph.code_table import TABLE, CodeTable
from carrysave.compiler.graph.code_types import limits
from carrysave.compiler.graph.graph import DOMAIN
from carrysave.compiler.graph.names import place, quoted
from carrysave.compiler.lowered import golden
from carrysave.compiler.lowered.engine_codes import code_offset
from carrysave.compiler.lowered.evaluate import evaluate, evaluator
from carrysave.compiler.lowered.gate import GateProduct
from carrysave.compiler.lowered.lowered import Lowered
from carrysave.compiler.lowered.mean import MeanProduct
from carrysave.compiler.lowered.operands import Operands
from carrysave.compiler.lowered.quantised import QuantisedProduct
from carrysave.compiler.program.cycles import Memory
from carrysave.compiler.program.image import COUNTERS, Image
from carrysave.compiler.program.moves import codes_of_bytes, greatest, looked_up
from carrysave.compiler.program.program import Layer, Program, Section
from carrysave.compiler.program.steps import HostStep, Start
from carrysave.compiler.target.target import Target
from carrysave.driver.batch import Work
from carrysave.driver.system import Tensor
from hw.emit.user_files import shown

__all__ = ["between", "check_target", "compile_network"]

_MOVES = (
    "Concat", "DepthToSpace", "Expand", "Flatten", "Gather", "Identity", "Reshape", "Shape",
    "Slice", "SpaceToDepth", "Split", "Squeeze", "Tile", "Transpose", "Unsqueeze",
)  # fmt: skip
_GREATEST = ("MaxPool", "GlobalMaxPool")
_STEPS = ("DequantizeLinear", "QuantizeLinear")
_SHOWN = 5
"""Reasons in a message, at most."""
_JOBS = 8
"""Products on one start, as the firmware has room for."""
_DESCRIPTOR = 128
_FAR = 1 << 40
"""Added to addresses, so that they are no codes."""
_NO_OPERATOR = "between products, the firmware has no such operator"


def compile_network(
    lowered: Lowered,
    target: Target,
    inputs: dict[str, np.ndarray],
    *,
    memory: Memory | None = None,
    most: int = 1 << 31,
) -> Program:
    """Compile a network for one batch of inputs at a time.

    Parameters
    ----------
    lowered : the network, with tables in place of operators where there are such.
    target : the co-processor, of int8 codes.
    inputs : of a batch: sizes between products are its. Numbers do not matter.
    memory : how long the system's SDRAM takes; None: as the planner's cost model has it.
    most : bytes that the program may have.

    Raises
    ------
    ValueError
        A co-processor of other codes, sizes that do not fit, or a program that is too large.
    """
    check_target(target)
    shapes: dict[str, tuple[tuple[int, ...], Any]] = {}

    def sized(product: Operands, a: np.ndarray, b: np.ndarray | None) -> np.ndarray:
        shapes[product.a] = a.shape, a.dtype
        compiled = product.compile(target, a, b, True)
        zeros: list[np.ndarray] = []
        for work in compiled.works:
            rows = zeros[-1] if work.a is None else work.a
            zeros.append(np.zeros((len(rows), work.b.shape[1] // (work.mode or target.mode).codes),
                                  np.int64))  # fmt: skip
        return compiled.finish(zeros)

    evaluate(lowered, inputs, sized)
    return _Compiler(lowered, target, Image(target, memory, most), shapes).compile()


def check_target(target: Target) -> None:
    """Refuse a co-processor whose codes are not of int8."""
    for name, number in (("A", target.mode.a), ("B", target.mode.b), ("C", target.info.codes)):
        if (number.bits, number.low, number.high) != (8, -128, 127):
            text = f"{number.low}..{number.high}"
            raise ValueError(f"the co-processor must have {name} of int8, not {text}")


def between(lowered: Lowered, target: Target) -> list[str]:
    """Return why a program of a network would have host segments, before anything is computed."""
    codes: set[str] = set()
    lost: dict[str, NodeProto] = {}
    found: dict[str, None] = {}
    for node in lowered.proto.graph.node:
        before = next((lost[name] for name in node.input if name in lost), None)
        if node.domain == DOMAIN and node.op_type == "Product":
            product = lowered.products[node.attribute[0].i]
            reason = _not_a_job(product, target)
            if before is not None:
                found[f"{_named(lowered, before)}: {_NO_OPERATOR}"] = None
                lost = {}
            if not reason:
                codes.update(node.output)
                continue
            found[f"{_named(lowered, node)}: {reason}"] = None
        elif node.domain == DOMAIN and node.op_type == "Recurrent":
            found[f"{_named(lowered, node)}: the firmware has no such operator"] = None
        elif before is None and not codes.intersection(node.input):
            continue
        elif before is None and (
            (not node.domain and node.op_type in (*_MOVES, *_GREATEST, *_STEPS))
            or node.op_type == TABLE
        ):
            codes.update(node.output)
            continue
        lost |= dict.fromkeys(node.output, node if before is None else before)
    return list(found)


def _named(lowered: Lowered, node: NodeProto) -> str:
    """Say which node of the model it is."""
    if node.domain == DOMAIN and node.op_type == "Product":
        product = lowered.products[node.attribute[0].i]
        return f"{shown(product.operator, 100)} {quoted(product.name)}"
    if node.domain == DOMAIN and node.op_type == "Recurrent":
        node = lowered.recurrent[node.name].node
    return place(node)


def _not_a_job(product: Operands, target: Target) -> str:
    """Return why a product is no job; empty if it is."""
    if not isinstance(product, QuantisedProduct) or product.scale is None or product.late:
        return "must have constant weights, and codes as results"
    if product.b and not isinstance(product, GateProduct):
        return "must have constant weights, and codes as results"
    if not isinstance(product, GateProduct) and not target.requantises(product.scale.size):
        return "must be requantised by the co-processor"
    return ""


class _Compiler:
    """Goes through a network's nodes once."""

    def __init__(
        self, lowered: Lowered, target: Target, image: Image, shapes: dict[str, Any]
    ) -> None:
        self._lowered, self._target, self._image, self._shapes = lowered, target, image, shapes
        machine = evaluator(lowered, _not_run, lambda name, codes: codes)
        self._nodes: list[Any] = machine.rt_nodes_
        self._constants: dict[str, np.ndarray] = dict(machine.rt_inits_)
        self._tensors: dict[str, Tensor] = {}
        self._inputs: list[str] = []
        self._layers: list[Layer] = []
        self._parts: list[list[Any] | HostStep] = []
        self._waiting: list[NodeProto] = []
        """Nodes of the host that no part has yet."""
        self._by_host: dict[str, NodeProto] = {}
        """What the host makes, and the node."""
        self._done: set[str] = set()
        """What of it is made in a part already."""
        self._taken = 0

    def compile(self) -> Program:
        for node in self._nodes:
            own: NodeProto = node.onnx_node
            if own.domain == DOMAIN and own.op_type == "Product":
                self._product(own)
            elif own.input and all(name in self._constants for name in own.input if name):
                made = node.run(*(self._constants.get(name) for name in own.input))
                self._constants |= dict(zip(own.output, made, strict=False))
            elif not any(name in self._tensors for name in own.input) or not self._between(node):
                self._host(own)
        if not self._layers:
            reasons = between(self._lowered, self._target)
            raise ValueError(f"no product can be a job: {'; '.join(reasons[:_SHOWN])}")
        self._section()
        if self._waiting:
            self._flush(self._waiting, (), last=True)
        image = self._image
        end = self._layers[-1]
        last = end.y.sources.reshape(1, -1)
        scores = image.rows(end.product.name, end.product.operator, last)[0]
        self._section()
        ring = image.room(_DESCRIPTOR * _JOBS)
        parts = tuple(
            part if isinstance(part, HostStep)
            else Section(tuple(part), image.words(part, ring, scores, last.size))
            for part in self._parts
        )  # fmt: skip
        return Program(
            self._lowered, self._target, image, parts, self._tensors, self._constants,
            tuple(self._inputs), self._layers, ring, scores, last.size,
        )  # fmt: skip

    def _section(self) -> None:
        """End a section: the steps since the last one."""
        steps = self._image.steps[self._taken :]
        self._taken = len(self._image.steps)
        if not steps:
            return
        if self._parts and isinstance(self._parts[-1], list):
            self._parts[-1] += steps
        else:
            self._parts.append(list(steps))

    def _host(self, node: NodeProto) -> None:
        self._waiting.append(node)
        self._by_host |= dict.fromkeys(node.output, node)

    def _product(self, node: NodeProto) -> None:
        product = self._lowered.products[node.attribute[0].i]
        if _not_a_job(product, self._target):
            self._host(node)
            return
        assert isinstance(product, QuantisedProduct)
        a = self._tensors.get(product.a) or self._brought(product.a, product)
        if isinstance(product, GateProduct):
            b = self._tensors.get(product.b)
            if a is None or b is None:
                self._host(node)
                return
            self._tensors[product.y] = self._gate(product, a, b)
            return
        assert a is not None
        offset = code_offset("C", product.y_type, self._target.info.codes)
        works, sources, rights, shaped, macs = self._cut(product, a)
        jobs, places, cycles = [], [], 0
        for work, left, right in zip(works, sources, rights, strict=True):
            job, result, spent = self._image.product(
                work, left, right, product.name, product.operator
            )
            cycles += spent
            jobs.append(job)
            places.append(result)
        counters = []
        for first in range(0, len(jobs), _JOBS):
            some = tuple(jobs[first : first + _JOBS])
            counters.append(self._image.room(COUNTERS))
            share = cycles * len(some) // len(jobs)
            self._image.steps.append(Start(
                node=product.name, operator=product.operator, jobs=some, cycles=share,
                macs=macs * len(some) // len(jobs), counters=counters[-1],
            ))  # fmt: skip
        y = Tensor(shaped(places), product.y_type, offset)
        self._tensors[product.y] = y
        shapes = [(job.m, job.k, job.n) for job in jobs]
        self._layers.append(Layer(product, shapes, cycles, y, counters))

    def _brought(self, name: str, product: QuantisedProduct) -> Tensor | None:
        """Make room for codes that come from the host, channels last, and have it make them."""
        if name not in self._shapes:
            return None
        shape, kind = self._shapes[name]
        size = int(np.prod(shape))
        sources = self._image.room(size) + np.arange(size)
        if len(shape) > 2:
            last = np.moveaxis(np.empty(shape, np.int8), 1, -1).shape
            sources = np.moveaxis(sources.reshape(last), -1, 1)
        tensor = Tensor(
            sources.reshape(shape), kind, code_offset("A", kind, self._target.mode.a)
        )  # fmt: skip
        self._tensors[name] = tensor
        if name in self._by_host:
            self._section()
            self._flush(self._needed(name), (name,))
        else:
            self._inputs.append(name)
        return tensor

    def _needed(self, name: str) -> list[NodeProto]:
        """Return the nodes of the host that make a tensor, and that are in no part yet."""
        wanted, found = {name}, []
        for node in reversed(self._waiting):
            if wanted.intersection(node.output):
                found.append(node)
                wanted.update(node.input)
        return found[::-1]

    def _flush(
        self, nodes: list[NodeProto], writes: tuple[str, ...], *, last: bool = False
    ) -> None:
        """Make a part of nodes of the host."""
        chosen = {id(node) for node in nodes}
        self._waiting = [node for node in self._waiting if id(node) not in chosen]
        read = dict.fromkeys(
            name for node in nodes for name in node.input
            if name in self._tensors and name not in writes
        )  # fmt: skip
        depends = bool(read) or any(
            name in self._done for node in nodes for name in node.input
        )  # fmt: skip
        reasons: tuple[str, ...] = ()
        if depends and not last:
            self._done.update(name for node in nodes for name in node.output)
            reasons = tuple(dict.fromkeys(self._reason(node) for node in nodes))
        elif writes:
            self._inputs += writes
        self._parts.append(HostStep(
            nodes=tuple(nodes), reads=tuple(read), writes=writes, reasons=reasons
        ))  # fmt: skip

    def _reason(self, node: NodeProto) -> str:
        if node.domain == DOMAIN and node.op_type == "Product":
            product = self._lowered.products[node.attribute[0].i]
            why = _not_a_job(product, self._target) or _NO_OPERATOR
            return f"{_named(self._lowered, node)}: {why}"
        if node.domain == DOMAIN and node.op_type == "Recurrent":
            return f"{_named(self._lowered, node)}: the firmware has no such operator"
        return f"{_named(self._lowered, node)}: {_NO_OPERATOR}"

    def _cut(
        self, product: QuantisedProduct, a: Tensor
    ) -> tuple[list[Work], list[np.ndarray | None], list[np.ndarray | None], Any, int]:
        """Cut matrices A of addresses, as if these were codes; what else is in them are codes.

        Codes along K go in the order of their addresses, and rows of B with them.

        Returns
        -------
        Works; sources of A, and of B, None where these are the work's; what makes addresses of y of
        those of the results; the products of codes that the model needs.
        """
        if a.kind != product.a_type:
            raise ValueError(f"{product.name}: A must be of {product.a_type}, not of {a.kind}")
        if isinstance(product, MeanProduct) and (found := self._mean(product, a)) is not None:
            return found
        # Addresses can be cut into A alone.
        laid = replace(product, turns=False)
        compiled = laid.compile(self._target, a.sources + _FAR, None, True)
        works, sources = [], []
        for work in compiled.works:
            assert work.a is not None
            # The compiler takes the offset from all codes, and so from addresses.
            far = work.a + a.offset - _FAR
            known = self._image.constant(work.a)
            own = np.where(far >= 0, far, known)
            row = own[(own >= 0).sum(axis=1).argmax()]
            order = np.argsort(np.where(row >= 0, row, _FAR), kind="stable")
            works.append(replace(work, b=work.b[order]))
            sources.append(own[:, order])
        join, shaped = compiled.cut.join, compiled.cut.shaped
        return (
            works, [*sources], [None] * len(works), lambda places: shaped(join(places)),
            compiled.macs,
        )  # fmt: skip

    def _mean(self, product: MeanProduct, a: Tensor) -> Any:
        """Make a product of ones and a map of each sample; None: it is longer than K may be."""
        batch, channels, *space = a.sources.shape
        count = int(np.prod(space))
        if count > self._target.mode.k_max:
            return None
        maps = np.moveaxis(a.sources, 1, -1).reshape(batch, count, channels)
        (work,) = product.compile(self._target, np.zeros((1, 1, *space), a.kind), None, True).works
        assert work.a is not None
        assert work.bias is not None
        ones = replace(
            work, a=np.ones((1, count), np.int64), bias=np.repeat(work.bias, channels)
        )  # fmt: skip
        shape = (batch, channels, *[1] * len(space))
        return (
            [ones] * batch, [None] * batch, list(maps),
            lambda places: np.concatenate(places).reshape(shape), a.sources.size,
        )  # fmt: skip

    def _between(self, node: Any) -> bool:
        """Do an operator on codes of products; return whether it can be done."""
        own: NodeProto = node.onnx_node
        if any(name not in self._constants and name not in self._tensors
               for name in own.input if name):  # fmt: skip
            return False
        if own.domain == DOMAIN and own.op_type == TABLE:
            table = self._lowered.tables[own.attribute[0].i]
            made: list[Tensor] | None = self._table(own, table)
        elif own.domain:
            made = None
        elif own.op_type in _STEPS:
            made = self._step(own)
        elif own.op_type in _GREATEST:
            made = self._greatest(own)
        elif own.op_type in _MOVES:
            made = self._moved(node)
        else:
            made = None
        if made is None:
            return False
        self._tensors |= dict(zip(own.output, made, strict=False))
        return True

    def _step(self, node: NodeProto) -> list[Tensor] | None:
        """Remember what codes stand for, or take the same codes again."""
        x = self._tensors.get(node.input[0])
        scale, zero = (self._constants.get(name) for name in (*node.input[1:3], "")[:2])
        if x is None or scale is None or scale.size != 1 or (zero is not None and zero.size != 1):
            return None
        found = float(scale.reshape(())), 0 if zero is None else int(zero.reshape(()))
        if node.op_type == "DequantizeLinear":
            return [replace(x, scale=found)] if x.scale is None else None
        kind = np.dtype(np.uint8) if zero is None else zero.dtype
        same = x.scale == found and x.kind == kind
        return [replace(x, scale=None)] if same else None

    def _moved(self, node: Any) -> list[Tensor] | None:
        """Move addresses as the operator moves codes."""
        own: NodeProto = node.onnx_node
        data = own.input if own.op_type == "Concat" else own.input[:1]
        given = [self._tensors.get(name) for name in data]
        first = next((one for one in given if one is not None), None)
        if first is None or any(name in self._tensors for name in own.input[len(data) :]):
            return None
        if own.op_type == "Shape":
            self._constants |= dict(zip(own.output, node.run(first.sources), strict=True))
            return []
        if any(one is None or (one.kind, one.scale, one.offset)
               != (first.kind, first.scale, first.offset) for one in given):  # fmt: skip
            return None
        operands: list[Any] = [one.sources for one in given if one is not None]
        operands += [self._constants.get(name) for name in own.input[len(data) :]]
        return [replace(first, sources=made) for made in node.run(*operands)]

    def _table(self, node: NodeProto, table: CodeTable) -> list[Tensor] | None:
        given = [self._tensors.get(name) for name in node.input]
        if any(one is None or one.scale is not None for one in given):
            return None
        tensors = [one for one in given if one is not None]
        shape = np.broadcast_shapes(*(one.sources.shape for one in tensors), (1,) * table.axes)
        kind = table.values.dtype
        values = table.values.astype(np.int64)
        codes = [
            codes_of_bytes(*one) for one in zip(tensors, table.lows, values.shape, strict=True)
        ]
        made = looked_up(
            self._image, (node.name, TABLE), tensors, shape, values[np.ix_(*codes)], kind
        )
        return [made]

    def _gate(self, product: GateProduct, a: Tensor, b: Tensor) -> Tensor:
        """Look the product of a code and its channel's number up: all of them, by golden."""
        low, high = limits(a.kind) or (0, 0)
        least, most = limits(b.kind) or (0, 0)
        codes, gates = np.arange(low, high + 1), np.arange(least, most + 1)
        x = np.broadcast_to(codes.astype(a.kind), (1, gates.size, codes.size))
        compiled = product.compile(self._target, x, gates.astype(b.kind)[None, :, None], True)
        values = golden.product(self._target.spec, compiled)[0].T.astype(np.int64)
        index = np.ix_(codes_of_bytes(a, low, codes.size), codes_of_bytes(b, least, gates.size))
        shape = np.broadcast_shapes(a.sources.shape, b.sources.shape)
        return looked_up(
            self._image, (product.name, product.operator), [a, b], shape, values[index],
            product.y_type,
        )  # fmt: skip

    def _greatest(self, node: NodeProto) -> list[Tensor] | None:
        x = self._tensors.get(node.input[0])
        return None if x is None or len(node.output) != 1 else [greatest(self._image, node, x)]


def _not_run(product: Operands, a: np.ndarray, b: np.ndarray | None) -> np.ndarray:
    raise NotImplementedError(product.name)
