"""Codes of a graph, with their scales and zero points."""

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from carrysave.compiler.graph.code_types import limits
from carrysave.compiler.graph.graph import Graph
from carrysave.compiler.graph.kernels import Unsupported, attributes
from carrysave.compiler.graph.names import quoted

__all__ = [
    "QuantisedTensor",
    "codes_of_one_scale",
    "constant",
    "dequantised",
    "integers",
    "product_of_scales",
    "quantised_tensor",
    "row",
]


@dataclass(frozen=True)
class QuantisedTensor:
    """A quantised tensor: its codes, or their name; scale and zero point."""

    name: str
    values: np.ndarray | None
    scale: np.ndarray | None
    zero: np.ndarray
    axis: int | None = None
    late: str = ""
    """Name of the zero point, if it is known when the model runs."""

    @property
    def number(self) -> int:
        """The zero point, if it and the scale are single."""
        for values in (self.zero, self.zero if self.scale is None else self.scale):
            if values.size != 1:
                raise Unsupported(
                    f"{quoted(self.name)} must have one scale and zero point, not {values.size}"
                )
        return int(self.zero.reshape(()))

    @property
    def step(self) -> np.ndarray:
        """The scales, one or a row."""
        if self.scale is None:
            raise Unsupported(f"{quoted(self.name)} must have a scale")
        with np.errstate(over="ignore"):
            steps = self.scale.astype(np.float32).reshape(-1)
        if not (np.isfinite(steps) & (steps > 0)).all():
            wrong = steps[~(np.isfinite(steps) & (steps > 0))][0]
            raise Unsupported(
                f"scales of {quoted(self.name)} must be finite and greater than 0, not {wrong}"
            )
        return steps


def quantised_tensor(graph: Graph, names: list[str], axis: int | None = None) -> QuantisedTensor:
    """Read codes, scale and zero point; the last two must be known."""
    codes, scale, zero = [*names, "", "", ""][:3]
    values = graph.constants.get(codes)
    kind = graph.types.get(codes, np.dtype(np.uint8)) if values is None else values.dtype
    zeros = constant(graph, zero, "zero point") if zero else np.zeros((), kind)
    factor = constant(graph, scale, "scale") if scale else None
    for what, array, legal in (
        ("codes", values, "iu"),
        ("zero points", zeros, "iu"),
        ("scales", factor, "f"),
    ):
        fits = array is None or (
            array.dtype.kind == "f" if legal == "f" else bool(limits(array.dtype))
        )
        if array is not None and not (fits and array.size):
            plain = "integers" if legal == "iu" else "floats"
            actual = f"of {array.dtype}" if array.size else "empty"
            raise Unsupported(f"{what} of {quoted(codes)} must be {plain}, not {actual}")
    return QuantisedTensor(codes, values, factor, zeros, axis)


def integers(graph: Graph, name: str, zero: str) -> QuantisedTensor:
    """Read codes without a scale; their zero point may be known only when the model runs."""
    if not zero or zero in graph.constants:
        return quantised_tensor(graph, [name, "", zero])
    return replace(quantised_tensor(graph, [name]), late=zero)


def constant(graph: Graph, name: str, what: str) -> np.ndarray:
    """Return a constant, if it is one."""
    if name not in graph.constants:
        raise Unsupported(f"{what} {quoted(name)} must be a constant")
    return graph.constants[name]


def row(values: np.ndarray) -> np.ndarray:
    """Return a bias as a row, one for each column."""
    if any(size != 1 for size in values.shape[:-1]):
        raise Unsupported(f"bias must be a row, not {' x '.join(map(str, values.shape))}")
    return values.reshape(-1)


def dequantised(graph: Graph, name: str) -> QuantisedTensor | None:
    """Return the codes of a DequantizeLinear's output, if they are integers with no blocks."""
    maker = graph.makers.get(name)
    if maker is None or maker.domain or maker.op_type != "DequantizeLinear":
        return None
    values = attributes(maker)
    codes = graph.constants.get(maker.input[0])
    kind = graph.types.get(maker.input[0]) if codes is None else codes.dtype
    # Of floats, or with a scale for each block, it is no product of integers as a whole.
    if values.get("block_size") or (kind is not None and limits(kind) is None):
        return None
    return quantised_tensor(graph, list(maker.input), values.get("axis", 1))


def codes_of_one_scale(graph: Graph, name: str) -> QuantisedTensor | None:
    """Return the codes of a DequantizeLinear's output, if they are computed and have one scale."""
    codes = dequantised(graph, name)
    if codes is None or codes.values is not None or codes.late or codes.scale is None:
        return None
    return codes if {codes.scale.size, codes.zero.size} == {1} else None


def product_of_scales(a: QuantisedTensor, b: QuantisedTensor, factor: Any) -> np.ndarray:
    """Multiply scales; in float32, as onnxruntime does."""
    if not isinstance(factor, float | int):
        raise Unsupported(f"alpha must be a number, not {factor!r}")
    with np.errstate(all="ignore"):
        steps: np.ndarray = a.step * b.step * np.float32(factor)
    if not np.isfinite(steps).all():
        raise Unsupported("the product of scales must be finite")
    return steps
