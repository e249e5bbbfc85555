"""From a lowered network to a program: products as jobs, all else as moves of codes.

What lies between products moves codes, takes the greatest, or looks codes up in tables. Where codes
are is found by running the model's own operators on addresses in place of codes. What is left are
steps of the host, each with its reason; those before the first product and behind the last one are
at the edges of the program.
"""

from collections import Counter
from typing import Any

import numpy as np
from onnx import NodeProto

from carrysave.compiler.front.samples import Samples
from carrysave.compiler.graph.code_table import CodeTable
from carrysave.compiler.lowered.chosen import ChosenProduct
from carrysave.compiler.lowered.engine_codes import code_offset
from carrysave.compiler.lowered.evaluate import evaluator, no_product
from carrysave.compiler.lowered.gate import GateProduct
from carrysave.compiler.lowered.lowered import Lowered
from carrysave.compiler.lowered.operands import Operands
from carrysave.compiler.lowered.quantised import QuantisedProduct
from carrysave.compiler.program.assemble import assembled, scores_of
from carrysave.compiler.program.between import Between
from carrysave.compiler.program.chosen import chosen_product
from carrysave.compiler.program.copies import lay
from carrysave.compiler.program.depthwise import started_product
from carrysave.compiler.program.dynamic import dynamic_product
from carrysave.compiler.program.gates import gate
from carrysave.compiler.program.host_parts import HostParts
from carrysave.compiler.program.image import Image
from carrysave.compiler.program.lifetimes import Lifetimes
from carrysave.compiler.program.look_ups import Result, look_ups
from carrysave.compiler.program.on_chip import layers_at
from carrysave.compiler.program.program import Layer, Program
from carrysave.compiler.program.reasons import between, check_target, not_a_job, reason_of
from carrysave.compiler.program.schedule import GREEDY_SCHEDULE, Schedule, place
from carrysave.compiler.program.sizes import needed, sizes_of
from carrysave.compiler.program.states import carried, host_made, placed
from carrysave.compiler.program.steps import HostStep, Start
from carrysave.compiler.program.volumes import channels_last
from carrysave.compiler.target.target import Target
from carrysave.driver.system import Tensor

__all__ = ["compile_network"]

_SHOWN = 5
"""Reasons in a message, at most."""


def compile_network(
    lowered: Lowered,
    target: Target,
    inputs: dict[str, np.ndarray],
    *,
    samples: Samples | None = None,
    most: int = 1 << 31,
    schedule: Schedule = GREEDY_SCHEDULE,
) -> Program:
    """Compile a network for one batch of inputs at a time.

    Parameters
    ----------
    lowered : the network, with tables in place of operators where there are such.
    target : the co-processor, of int8 codes.
    inputs : of a batch, whose sizes count; and states as they are before the first run.
    samples : where they are, and what states there are; None: along the first axes, and none.
    most : bytes that the program may have.
    schedule : how it is chosen what is on chip.

    Raises
    ------
    ValueError
        A co-processor of other codes, sizes that do not fit, or a program that is too large.
    """
    check_target(target)
    return _Compiler(lowered, Image(target, most), inputs, samples).compile(schedule)


class _Compiler:
    """Goes through a network's nodes once."""

    def __init__(
        self,
        lowered: Lowered, image: Image, inputs: dict[str, np.ndarray], samples: Samples | None,
    ) -> None:  # fmt: skip
        self._samples = samples
        self._states = dict(samples.states) if samples else {}
        self._lowered, self._image, self._inputs = lowered, image, inputs
        self._shapes = sizes_of(lowered, image.target, inputs)
        self._target = target = image.target
        machine = evaluator(lowered, no_product, lambda name, codes: codes)
        self._nodes: list[Any] = machine.rt_nodes_
        uses = Counter(name for node in lowered.proto.graph.node for name in node.input)
        uses.update((*lowered.graph.outputs, *self._states))
        constants, behind = dict(machine.rt_inits_), look_ups(lowered, target, self._states)
        self._between = Between(image, lowered, machine.opsets[""], constants, behind)
        self._tensors, self._constants = self._between.tensors, self._between.constants
        self._lifetimes = Lifetimes(image.pool, uses, self._tensors)
        self._host = HostParts(self._tensors, lambda node: reason_of(lowered, node, target))
        self._layers: list[Layer] = []
        self._parts: list[list[Any] | HostStep] = []
        self._taken = 0

    def compile(self, schedule: Schedule) -> Program:
        for to in self._states.values():
            self._tensors[to] = placed(self._image, to, self._inputs[to])
        for node in self._nodes:
            proto: NodeProto = node.onnx_node
            self._beside_states(proto)
            self._lifetimes.begin()
            here = self._here(node)
            if not here:
                self._between.settle(proto.input)
            after = self._between.look_ups.get(proto.output[0])
            self._lifetimes.done(proto, here=here, more=after.output if after else "")
            if not here:
                self._host.add(proto)
        if not any(isinstance(step, Start) for step in self._image.steps):
            reasons = between(self._lowered, self._target) or ["none has codes as results"]
            raise ValueError(f"no product can be a job: {'; '.join(reasons[:_SHOWN])}")
        states = carried(self._image, self._states, self._tensors)
        self._section()
        if self._host.waiting:
            self._parts.append(
                host_made(self._host.step((), last=True), self._states, self._tensors)
            )
        taken = next(iter(self._inputs.values()))
        count = self._samples.count(self._inputs) if self._samples else (*taken.shape, 1)[0]
        scores = scores_of(self._image, self._layers, count)
        self._section()
        parts, solved = place(self._image, self._parts, scores[0], self._tensors, schedule)
        return assembled(
            self._image, parts, scores=scores,
            tensors=self._tensors, constants=self._constants,
            inputs=tuple(self._host.inputs), outputs=tuple(self._lowered.graph.outputs),
            layers=layers_at(self._layers, self._tensors), lowered=self._lowered,
            takes={
                name: (values.dtype, values.shape)
                for name, values in self._inputs.items()
                if name not in self._states.values()
            },
            states=states, samples=self._samples, solved=solved,
        )  # fmt: skip

    def _beside_states(self, node: NodeProto) -> None:
        """Bring the floats that an operator takes with what depends on a state."""
        here = self._states and any(name in self._tensors for name in node.input)
        for name in filter(None, node.input) if here else ():
            if name in self._tensors or name in self._constants:
                continue
            if self._shapes.get(name, (0, 0))[1] == np.float32:
                self._brought(name)

    def _here(self, node: Any) -> bool:
        """Place a node in memory; return whether it is there, and not left to the host."""
        proto: NodeProto = node.onnx_node
        content = self._lowered.of(proto)
        if isinstance(content, CodeTable) and proto.output[0] in self._tensors:
            return True  # by the job that made its codes
        if isinstance(content, Operands):
            return self._product(content)
        if not proto.domain and proto.op_type == "Shape" and proto.input[0] in self._shapes:
            # Sizes of inputs are the program's.
            made = node.run(np.empty(self._shapes[proto.input[0]][0], np.int8))
            self._constants |= dict(zip(proto.output, made, strict=True))
            return True
        if proto.input and all(name in self._constants for name in proto.input if name):
            made = node.run(*(self._constants.get(name) for name in proto.input))
            self._constants |= dict(zip(proto.output, made, strict=False))
            return True
        for name in needed(proto, content, self._shapes):
            if name not in self._tensors:
                self._brought(name)
        return self._between.run(node)

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

    def _product(self, product: Operands) -> bool:
        if not_a_job(product, self._target):
            return False
        assert isinstance(product, QuantisedProduct)
        if isinstance(product, ChosenProduct):
            return chosen_product(self._image, product, self._tensors)
        if product.late:
            return dynamic_product(self._image, product, self._tensors)
        node = product.name, product.operator
        matrix = product.weights is not None and product.windows is None and not product.transposed
        lay(self._image, node, self._tensors, (product.a, product.b), any_order=matrix)
        a = self._tensors.get(product.a) or self._brought(product.a)
        made = Result.of(self._between.look_ups, self._target, product.y, product.y_type)
        if isinstance(product, GateProduct):
            b = self._tensors.get(product.b)
            if a is None or b is None:
                return False
            self._tensors[made.name] = gate(self._image, product, a, b, made.table)
            return True
        b = self._tensors.get(product.b)
        if product.b and (a is None or b is None or a.kind != product.a_type):
            return False
        assert a is not None
        before = len(self._image.steps)
        groups, places = started_product(self._image, product, a, b, made.written)
        self._tensors[made.name] = y = made.tensor(places)
        starts = [step for step in self._image.steps[before:] if isinstance(step, Start)]
        self._layers.append(Layer(
            product.name, product.operator,
            [(one.job.m, one.job.k, one.job.n) for one in groups for _ in range(one.count)],
            made.name, y, [step.counters for step in starts],
        ))  # fmt: skip
        self._lifetimes.keep(made.name)
        return True

    def _brought(self, name: str) -> Tensor | None:
        """Make room for what comes from the host, codes channels last, and have it make them."""
        if name not in self._shapes:
            return None
        shape, kind = self._shapes[name]
        floats = kind == np.float32
        size, width = int(np.prod(shape)), 4 if floats else 1
        sources = self._image.room(width * size) + width * np.arange(size)
        if len(shape) > 2 and not floats:
            sources = channels_last(sources, shape)
        offset = 0 if floats else code_offset("A", kind, self._target.mode.a)
        tensor = Tensor(sources.reshape(shape), kind, offset)
        if self._host.makes(name):
            self._section()
            self._parts.append(self._host.step((name,)))
        else:
            self._host.inputs.append(name)
        self._tensors[name] = tensor
        return tensor
