"""Products in a graph whose weights have a scale for each block of K."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from onnx import NodeProto, helper

from .blocked_product import BlockedProduct
from .code_types import limits
from .expand import MICROSOFT
from .kernels import Unsupported
from .match_products import Match, constant, dequantised, key
from .model import Graph
from .names import quoted

__all__ = ["MATMUL_N_BITS", "BitWeights", "match_blocked"]

MATMUL_N_BITS = "MatMulNBits"
_INT8 = 4
"""The accuracy level at which activations are rounded to int8."""


@dataclass(frozen=True, kw_only=True)
class BitWeights:
    """Weights of MatMulNBits.

    Members
    -------
    values : K x N, with zero points subtracted: integers, unless these are floats.
    steps : blocks x N.
    block : rows that share a scale.
    """

    values: np.ndarray
    steps: np.ndarray
    block: int

    @classmethod
    def read(
        cls, codes: np.ndarray, steps: np.ndarray, zeros: np.ndarray | None, numbers: dict[str, Any]
    ) -> "BitWeights":
        """Unpack weights.

        Parameters
        ----------
        codes : bytes, N x blocks x bytes of a block.
        steps : scales, N x blocks, or flat.
        zeros : zero points, packed likewise, or of the scales' type; None: the middle code.
        numbers : K, N, bits and block_size.

        Raises
        ------
        Unsupported
            Other sizes than these, or scales that are not finite.
        """
        depth, columns, bits = (numbers.get(name, 0) for name in ("K", "N", "bits"))
        bits, block = bits or 4, numbers.get("block_size", 0)
        if bits not in (2, 4, 8):
            raise Unsupported(f"bits must be 2, 4 or 8, not {bits}")
        if block < 16 or block & (block - 1):
            raise Unsupported(f"block_size must be a power of two, 16 or more, not {block}")
        if min(depth, columns) < 1:
            raise Unsupported(f"K and N must be 1 or more, not {depth} and {columns}")
        blocks = -(-depth // block)
        wide = -(-blocks * bits // 8)
        for what, given, size in (
            ("B", codes, columns * blocks * block * bits // 8), ("scales", steps, columns * blocks),
            ("zero points", zeros, columns * (wide if zeros is not None and zeros.dtype == np.uint8
                                              else blocks)),
        ):  # fmt: skip
            if given is not None and given.size != size:
                raise Unsupported(f"{what} must have {size} values, not {given.size}")
        if codes.dtype != np.uint8:
            raise Unsupported(f"B must be of uint8, not {codes.dtype}")
        if steps.dtype.kind != "f" or not np.isfinite(steps).all():
            raise Unsupported("scales must be finite floats")
        middle: Any = 1 << bits - 1
        if zeros is not None and zeros.dtype == np.uint8:
            middle = _unpacked(zeros.reshape(columns, wide), bits)[:, :blocks, np.newaxis]
        elif zeros is not None:
            middle = zeros.reshape(columns, blocks, 1)
        kind = np.float32 if zeros is not None and zeros.dtype.kind == "f" else np.int16
        values = _unpacked(codes.reshape(columns, blocks, -1), bits).astype(kind)
        values = (values - np.asarray(middle).astype(kind)).reshape(columns, -1)[:, :depth]
        return cls(values=values.T, steps=steps.reshape(columns, blocks).T, block=block)

    @property
    def floats(self) -> np.ndarray:
        """The weights as float32, K x N."""
        found: np.ndarray = self.values.astype(np.float32) * np.repeat(
            self.steps.astype(np.float32), self.block, axis=0)[: len(self.values)]  # fmt: skip
        return found


def _unpacked(codes: np.ndarray, bits: int) -> np.ndarray:
    """Return codes of 2, 4 or 8 bits from bytes, the lowest first, along the last axis."""
    shifts = np.arange(0, 8, bits, dtype=np.uint8)
    parts = (codes[..., np.newaxis] >> shifts) & np.uint8((1 << bits) - 1)
    found: np.ndarray = parts.reshape(*codes.shape[:-1], -1)
    return found


def match_blocked(graph: Graph, node: NodeProto) -> Match | None:
    """Return the product of a node by blocks; None if it is not one, or one of floats.

    MatMulNBits is one at accuracy level 4, where activations are rounded to int8; MatMul, if its
    activations are dequantised codes, and its weights have blocks along K.

    Raises
    ------
    Unsupported
        A product that cannot be compiled.
    """
    values = {one.name: helper.get_attribute_value(one) for one in node.attribute}
    if (node.domain, node.op_type) == (MICROSOFT, MATMUL_N_BITS):
        return _bits(graph, node, values)
    if not node.domain and node.op_type == "MatMul":
        return _dequantised_blocks(graph, node)
    return None


def _bits(graph: Graph, node: NodeProto, values: dict[str, Any]) -> Match | None:
    a, b, steps, zeros, order, bias = [*node.input, "", "", ""][:6]
    if order:
        raise Unsupported("g_idx is not supported")
    weights = BitWeights.read(
        constant(graph, b, "B"),
        constant(graph, steps, "scales"),
        constant(graph, zeros, "zero points") if zeros else None,
        values,
    )
    kind = graph.types.get(a, np.dtype(np.float32))
    if values.get("accuracy_level", 0) != _INT8 or weights.values.dtype.kind == "f":
        return None
    if kind != np.float32:
        return None
    added = constant(graph, bias, "bias").astype(np.float32).reshape(-1) if bias else None
    if added is not None and added.size != weights.values.shape[1]:
        raise Unsupported(f"bias must be {weights.values.shape[1]} numbers, not {added.size}")
    product = BlockedProduct(
        name=key(node), operator=node.op_type, a=a, b="", y=node.output[0],
        weights=weights.values, block=weights.block, b_steps=weights.steps.astype(np.float32),
        bias=added,
    )  # fmt: skip
    return Match(product=product, node=node)


def _dequantised_blocks(graph: Graph, node: NodeProto) -> Match | None:
    """Find a MatMul of dequantised codes and of weights in blocks along K."""
    maker = graph.makers.get(node.input[1])
    if maker is None or maker.domain or maker.op_type != "DequantizeLinear":
        return None
    values = {one.name: helper.get_attribute_value(one) for one in maker.attribute}
    block = values.get("block_size", 0)
    codes = graph.constants.get(maker.input[0])
    a = dequantised(graph, node.input[0]) if block else None
    if a is None or codes is None or codes.ndim != 2 or values.get("axis", 1) not in (0, -2):
        return None
    if limits(codes.dtype) is None or limits(a.zero.dtype) is None:
        return None
    steps = constant(graph, maker.input[1], "scale")
    given = maker.input[2] if len(maker.input) > 2 else ""
    zeros = constant(graph, given, "zero point") if given else np.zeros(steps.shape, np.int8)
    legal = (-(-len(codes) // block), codes.shape[1])
    for what, array in (("scales", steps), ("zero points", zeros)):
        if array.shape != legal:
            text = f"{what} of {quoted(node.input[1])} must be {legal}, not {array.shape}"
            raise Unsupported(text)
    if not np.isfinite(steps).all():
        raise Unsupported(f"scales of {quoted(node.input[1])} must be finite")
    spread = np.repeat(zeros.astype(np.int64), block, axis=0)[: len(codes)]
    product = BlockedProduct(
        name=key(node), operator=node.op_type, a=a.name, b="", y=node.output[0],
        weights=codes.astype(np.int64) - spread, block=block, b_steps=steps.astype(np.float32),
        a_scale=np.float32(a.step[0]), a_zero=a.number, a_type=a.zero.dtype,
    )  # fmt: skip
    return Match(product=product, node=node)
