"""Floats that depend on a code, and on where it is: they are looked up when they are read."""

from collections.abc import Sequence
from dataclasses import dataclass, fields
from math import prod

import numpy as np

from carrysave.compiler.graph.arithmetic import ArithmeticNode, Arrays
from carrysave.compiler.graph.code_types import limits
from carrysave.compiler.program.look_ups import codes_of_bytes
from carrysave.driver.job import TABLE_BYTES
from carrysave.driver.system import Tensor

__all__ = ["Looked", "floats_of", "looked"]

_ELEMENTWISE = frozenset((
    "Abs",
    "Add",
    "Clip",
    "Div",
    "Erf",
    "Exp",
    "Gelu",
    "HardSigmoid",
    "HardSwish",
    "LeakyRelu",
    "Max",
    "Min",
    "Mul",
    "Neg",
    "PRelu",
    "Pow",
    "Reciprocal",
    "Relu",
    "Sigmoid",
    "Sqrt",
    "Sub",
    "Sum",
    "Tanh",
))
"""Operators whose results depend on one number of each input."""


@dataclass(frozen=True, eq=False, kw_only=True)
class Looked(Tensor):
    """Codes in memory, in place of floats that depend on each of them.

    Members
    -------
    values : the float of each byte, from -128 on, along the last axis; the others are the last axes
        of the codes, or 1.
    node, operator : of the model, that make them.
    """

    values: np.ndarray
    node: str
    operator: str

    @property
    def alike(self) -> bool:
        """Whether codes have the same floats wherever they are."""
        return self.values.size == TABLE_BYTES


def looked(
    node: ArithmeticNode, given: Sequence[Tensor | None], known: Sequence[np.ndarray | None]
) -> Looked | None:
    """Return what an operator makes of codes of one tensor, and of constants; None: of others, too.

    A table is never larger than the tensor.

    Parameters
    ----------
    given : tensors in memory; None: it is a constant, or left out.
    known : constants.
    """
    tensors = [one for one in given if one is not None]
    if node.node.op_type not in _ELEMENTWISE or not tensors:
        return None
    x = tensors[0]
    size, axes = x.sources.size, x.sources.ndim
    takes: list[np.ndarray | None] = []
    for one, constant in zip(given, known, strict=True):
        floats = None if one is None else floats_of(one)
        if one is not None and (floats is None or one.sources is not x.sources):
            return None
        takes.append(constant if floats is None else _codes_first(floats, axes))
    try:
        places = np.broadcast_shapes(*(one.shape for one in takes if one is not None))
    except ValueError:
        return None  # sizes that do not fit: that is said where it is computed
    fits = len(places) == 1 + axes and all(
        one in (1, all_) for one, all_ in zip(places[1:], x.sources.shape, strict=True)
    )
    if not fits or prod(places) > size:
        return None
    with np.errstate(all="ignore"):
        made = np.asarray(node.on(Arrays(), takes, known), np.float32)
    plain = {one.name: getattr(x, one.name) for one in fields(Tensor)}
    maker = node.node
    return Looked(
        **plain | {"scale": None},
        values=_codes_last(made),
        node=maker.name or maker.output[0],
        operator=maker.op_type,
    )


def floats_of(x: Tensor) -> np.ndarray | None:
    """Return the float of each byte, as :attr:`Looked.values`; None: it depends on no byte."""
    if isinstance(x, Looked):
        return x.values
    low, high = limits(x.kind) or (0, TABLE_BYTES)
    if x.scale is None or high - low >= TABLE_BYTES:
        return None
    step, zero = x.scale
    codes = low + codes_of_bytes(x.offset, low, high - low + 1)
    in_order = np.roll(codes, TABLE_BYTES // 2)  # from -128 on
    return ((in_order - zero) * np.float64(np.float32(step))).astype(np.float32)


def _codes_first(values: np.ndarray, axes: int) -> np.ndarray:
    """Return tables with the axis of bytes before so many others."""
    *places, codes = values.shape
    return np.moveaxis(values, -1, 0).reshape(codes, *(1,) * (axes - len(places)), *places)


def _codes_last(values: np.ndarray) -> np.ndarray:
    """Return tables with the axis of bytes behind others, without the first ones that are 1."""
    codes, *places = values.shape
    while places and places[0] == 1:
        places.pop(0)
    return np.ascontiguousarray(np.moveaxis(values.reshape(codes, *places), 0, -1))
