"""The steps of a decoder: a token goes in, logits come out; its position is a parameter.

The program computes what :class:`carrysave.compiler.decoder.attention.Blocks` does of one token, to
the same bits. Products of integers, norms, softmax and SiLU are jobs of the co-processor; what lies
between them are steps on floats. Caches and recurrent states stay in the program's memory.
"""

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import ClassVar

import numpy as np

from carrysave.compiler.decoder.blocks import like
from carrysave.compiler.decoder.embedding import embed
from carrysave.compiler.decoder.lowering_activation import activated, capped
from carrysave.compiler.decoder.lowering_experts import choose
from carrysave.compiler.decoder.lowering_skip import has_lists, listed, thresholded
from carrysave.compiler.decoder.matrix import (
    F32,
    F64,
    I8,
    I16,
    I32,
    SUMS,
    Matrix,
    multiplied,
    placed,
)
from carrysave.compiler.decoder.units import VECTOR, silu_scaling
from carrysave.compiler.front.decoder import FEED, Layer, Model
from carrysave.compiler.program.buffers import Buffer
from carrysave.compiler.program.build import Builder
from carrysave.compiler.program.floats import Format, Operation
from carrysave.driver import Requantisation
from carrysave.driver.system import Parameter

__all__ = ["F32", "F64", "I8", "I16", "I32", "SUMS", "TOKEN", "Lowering"]

TOKEN = "token"
"""A parameter of the program."""


@dataclass(eq=False)
class Lowering(ABC):
    """Takes a decoder apart.

    Parameters
    ----------
    model : weights.
    to : the program's steps.

    Members
    -------
    parameters : that steps of the program choose.
    cuts : how many steps there are before each of the sections that follow the first one.
    """

    model: Model
    to: Builder
    parameters: list[Parameter] = field(default_factory=list, init=False)
    cuts: list[int] = field(default_factory=list, init=False)

    OUTPUT: ClassVar[str]
    """The mixer's last matrix."""

    def logits(self) -> Buffer:
        """Add all steps; return where logits are."""
        model, to = self.model, self.to
        x = to.array(F32, model.shape.width)
        head = placed(to, model.head, beside=True)
        with to.naming("token_embd", "Gather"):
            embed(to, x, TOKEN, model, head)
        for number, layer in enumerate(model.layers):
            with to.passing():
                self._layer(f"blk.{number}.", x, layer)
        h = self.normed("output_norm", x, model.gain)
        logits = self._product("output", *self._aligned("output_norm", h, head), head)
        with to.naming("output", "Mul"):
            self._times(logits, model.shape.logit_scale)
            if model.shape.logit_cap:
                capped(to, logits, model.shape.logit_cap)
        return logits

    def _layer(self, name: str, x: Buffer, layer: Layer) -> None:
        """Add the steps of a block to a row."""
        h = self.normed(name + "attn_norm", x, layer.attention_gain)
        mixed = self.normed(name + "output_norm", self.mixed(name, layer, h), layer.output_gain)
        (y,) = self.products(name, layer, mixed, self.OUTPUT)
        y = self.normed(name + "mixed_norm", y, layer.mixed_gain)
        self._add(name + self.OUTPUT, x, y)
        h = self.normed(name + "ffn_norm", x, layer.feed_gain)
        y = self.normed(name + "fed_norm", self._fed(name, layer, h), layer.fed_gain)
        self._add(name + "ffn_down", x, y)

    def _fed(self, name: str, layer: Layer, h: Buffer) -> Buffer:
        """Add the steps of a feed-forward; of experts, those of the ones that a router chooses."""
        packs = not has_lists(self.to, layer)
        if layer.experts is None:
            placed_ = {one: placed(self.to, layer.matrices[one], packs=packs) for one in FEED}
            return self._gated(name, layer, placed_, h)
        to, chosen = self.to, choose(self.to, name, layer.experts, h, packs=packs)
        self.parameters += chosen.parameters
        self.cuts += [len(to.steps)] * bool(chosen.parameters)
        total = to.array(F32, h.columns)
        with to.naming(name + "ffn_down", "Add"):
            to.floats(Operation.COPY, total, to.constant(0, F32))
        for matrices, share in zip(chosen.matrices, chosen.shares, strict=True):
            y = self._gated(name, layer, matrices, h)
            with to.naming(name + "ffn_down", "Add"):
                to.floats(Operation.MULTIPLY, y, y, share)
                to.floats(Operation.ADD, total, total, y)
        return total

    def _gated(self, name: str, layer: Layer, matrices: Mapping[str, Matrix], h: Buffer) -> Buffer:
        """Multiply by gated matrices and the last one."""
        h = thresholded(self.to, name + "ffn_gate", h, layer, "inputs")
        gate, up = self._of_matrices(name, layer, matrices, h, "ffn_gate", "ffn_up")
        hidden = self._activated(name + "ffn_gate", gate, up)
        hidden = self.normed(name + "down_norm", hidden, layer.down_gain)
        hidden = thresholded(self.to, name + "ffn_down", hidden, layer, "hidden")
        return self._of_matrices(name, layer, matrices, hidden, "ffn_down")[0]

    @abstractmethod
    def mixed(self, name: str, layer: Layer, h: Buffer) -> Buffer:
        """Mix a row of a block with those before it; without the last matrix."""

    def _add(self, node: str, x: Buffer, y: Buffer) -> None:
        with self.to.naming(node, "Add"):
            self._times(y, self.model.shape.residual_scale)
            self.to.floats(Operation.ADD, x, x, y)

    def _times(self, x: Buffer, factor: float) -> None:
        if factor != 1.0:
            self.to.floats(Operation.MULTIPLY, x, x, self.to.constant(factor, F64))

    def _activated(self, node: str, gate: Buffer, up: Buffer) -> Buffer:
        """Multiply by the activation of gates."""
        to, activation = self.to, self.model.shape.activation
        hidden = to.array(F32, up.columns)
        if activation == "silu":
            with to.naming(node, "SiLU"):
                shift = -VECTOR.scale_width
                return to.floats(Operation.MULTIPLY, hidden, self.gate(gate), up, shift=shift)
        with to.naming(node, "Gelu" if activation == "gelu" else "Relu"):
            return activated(to, activation, gate, up)

    def normed(self, node: str, x: Buffer, gain: np.ndarray | None) -> Buffer:
        """Divide by the root mean square, and multiply by gains, if there are any.

        A row that is longer than its gains is several rows.
        """
        if gain is None:
            return x
        to, epsilon, result = self.to, self.model.shape.epsilon, self.to.array(F32, x.columns)
        size, rows = gain.size, x.columns // gain.size
        x, out = x.split(size), result.split(size)
        with to.naming(node, "RMSNormalization"):
            codes, powers = to.array(I16, size, rows), to.array(Format.POWER, 1, rows)
            to.floats(Operation.ALIGN, codes, x, powers, width=VECTOR.width)
            made = to.array(I16, size, rows)
            to.rows("rms_norm", codes, made)
            shift = -VECTOR.norm_fraction
            if epsilon:
                squares = to.array(F64, size, rows)
                mean, more = (to.array(F64, 1, rows) for _ in range(2))
                to.floats(Operation.MULTIPLY, squares, codes, codes)
                to.floats(Operation.SUM, mean, squares)
                to.floats(Operation.DIVIDE, mean, mean, to.constant(size, F64))
                to.floats(Operation.MULTIPLY, mean, mean, powers)
                to.floats(Operation.MULTIPLY, mean, mean, powers)
                to.floats(Operation.ADD, more, mean, to.constant(epsilon, F64))
                to.floats(Operation.DIVIDE, mean, mean, more)
                factor = to.floats(Operation.ROOT, to.array(F32, 1, rows), mean)
                made, shift = to.floats(Operation.MULTIPLY, out, made, factor, shift=shift), 0
            to.floats(Operation.MULTIPLY, out, made, to.constant(gain, F32), shift=shift)
        return result

    def _aligned(self, node: str, x: Buffer, matrix: Matrix) -> tuple[Buffer, Buffer]:
        """Return integers of a row as a matrix takes it, and the exponent of each group."""
        to, width, weights = self.to, self.model.bits, matrix.weights
        block = weights.group
        if weights.rows is not None:
            with to.naming(node, "Gather"):
                x = to.gathered(x, weights.rows)
        with to.naming(node, "QuantizeLinear"):
            codes = to.array(I8, x.columns)
            powers = to.array(I8 if matrix.grouped else Format.POWER, x.columns // block)
            parts = codes.split(block), x.split(block), powers.turned
            to.floats(Operation.ALIGN, *parts, width=width)
        return codes, powers

    def products(self, name: str, layer: Layer, h: Buffer, *names: str) -> list[Buffer]:
        """Multiply by a layer's matrices, and add their biases."""
        matrices = {one: placed(self.to, layer.matrices[one]) for one in names}
        return self._of_matrices(name, layer, matrices, h, *names)

    def _of_matrices(
        self, name: str, layer: Layer, matrices: Mapping[str, Matrix], h: Buffer, *names: str
    ) -> list[Buffer]:
        """Multiply by matrices, and add a layer's biases."""
        rows: dict[tuple[int, bytes, bool], tuple[Buffer, Buffer, Buffer | None]] = {}
        for one in names:
            matrix = matrices[one]
            if (key := (*like(matrix.weights), matrix.grouped)) not in rows:
                codes, powers = self._aligned(name + one, h, matrix)
                lists = listed(self.to, name + one, codes, layer, matrix.weights.group)
                rows[key] = codes, powers, lists
        results = []
        for one in names:
            codes, powers, lists = rows[*like(matrices[one].weights), matrices[one].grouped]
            y = self._product(name + one, codes, powers, matrices[one], lists)
            if one in layer.biases:
                with self.to.naming(name + one, "Add"):
                    self.to.floats(Operation.ADD, y, y, self.to.constant(layer.biases[one], F32))
            results.append(y)
        return results

    def _product(
        self, node: str, codes: Buffer, powers: Buffer, matrix: Matrix, lists: Buffer | None = None
    ) -> Buffer:
        with self.to.naming(node, "MatMul"):
            return multiplied(self.to, codes, powers, matrix, lists)

    @property
    def sums(self) -> Format:
        """What the engine's sums are in memory."""
        return SUMS[self.to.image.target.info.sums.bits]

    def gate(self, x: Buffer) -> Buffer:
        """Return the SiLU of a row, in codes."""
        to, codes = self.to, self.gates(x)
        made, scaling = to.array(I16, x.columns), silu_scaling()
        limit = 1 << VECTOR.out_width - 1
        how = Requantisation(
            multiplier=int(scaling.multiplier[0]),
            shift=int(scaling.shift[0]),
            low=-limit,
            high=limit - 1,
        )
        for first in range(0, x.columns, VECTOR.length):
            size = min(VECTOR.length, x.columns - first)
            to.rows("silu", codes.across(first, size), made.across(first, size), how=how)
        return made

    def gates(self, x: Buffer) -> Buffer:
        """Return what gates take."""
        codes = self.to.array(I16, x.columns)
        return self.to.floats(Operation.COPY, codes, x, shift=VECTOR.scale_width)
