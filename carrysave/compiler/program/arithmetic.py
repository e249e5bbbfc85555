"""Places operators on floats in a program: the machine of rules that works on addresses."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from carrysave.compiler.graph.arithmetic import Move
from carrysave.compiler.graph.im2col import Windows
from carrysave.compiler.graph.kernels import Unsupported
from carrysave.compiler.lowered.engine_codes import code_offset
from carrysave.compiler.program.floats import INTEGERS, LOOPS, Floats, Format, Operand, Operation
from carrysave.compiler.program.image import Image
from carrysave.compiler.program.looked import Looked, floats_of
from carrysave.compiler.program.places import regular, steps_of
from carrysave.driver.system import Tensor
from golden.single import encode

__all__ = ["Emitter"]

_FLOAT = np.dtype(np.float32)
_SUM = np.dtype(np.int32)
_MOST = 4096
"""Steps of an operator, at most."""
_MANY = 1024
"""Codes from which on a table of floats is worth its room."""


class Emitter:
    """A machine whose tensors are in memory.

    Parameters
    ----------
    image : gets the steps.
    node, operator : of the model, for which they are.
    """

    def __init__(self, image: Image, node: str, operator: str) -> None:
        self._image, self._node, self._operator = image, node, operator

    def shape(self, x: Tensor) -> tuple[int, ...]:
        """Return the sizes of a tensor."""
        return x.sources.shape

    def constant(self, values: Any) -> Tensor:
        """Place floats, the same ones once."""
        values = np.asarray(values, _FLOAT)
        at = self._image.shared(values.tobytes())
        return _floats(at + 4 * np.arange(values.size).reshape(values.shape))

    def one(self, what: str, x: Tensor) -> Tensor:
        """Do an operator on each number."""
        return self._made(what, _FLOAT, x)

    def two(self, what: str, x: Tensor, y: Tensor) -> Tensor:
        """Do an operator on numbers of two tensors."""
        return self._made(what, _FLOAT, x, y)

    def reduced(self, what: str, x: Tensor, axes: Sequence[int]) -> Tensor:
        """Reduce axes, the last one first."""
        for axis in sorted(axes, reverse=True):
            shape = list(x.sources.shape)
            shape[axis] = 1
            sources = self._room(np.take(x.sources, [0], axis), tuple(shape), _FLOAT)
            result = _floats(sources)
            self._step(what, x.sources.shape, result, [x], axis=axis)
            x = result
        return x

    def moved(self, x: Tensor, move: Move) -> Tensor:
        """Move numbers: their addresses."""
        return _floats(move(x.sources))

    def cut(self, x: Tensor, windows: Windows, fill: float) -> Tensor:
        """Cut windows of addresses."""
        beyond = int(self.constant(np.float32(fill)).sources.reshape(()))
        return _floats(windows.cut(x.sources, beyond))

    def decoded(self, x: Tensor) -> Tensor:
        """Make floats of codes with a step, or of sums."""
        if x.kind == _FLOAT:
            return x
        floats = floats_of(x)
        if floats is not None and (isinstance(x, Looked) or x.sources.size >= _MANY):
            return self.looked_up(x, floats)
        if x.scale is None:
            return self._made("copy", _FLOAT, x)
        step, zero = x.scale
        return self._made(
            "decode", _FLOAT, x, self.constant(np.float32(step)), shift=x.offset - zero
        )

    def looked_up(self, x: Tensor, values: np.ndarray) -> Tensor:
        """Look codes up in tables of floats or bytes, as :attr:`.looked.Looked.values`."""
        kind, places = values.dtype, values[..., 0]
        each = kind.itemsize * values.shape[-1]
        tables = self._image.shared(values.tobytes()) + each * np.arange(places.size)
        return self._made("look_up", kind, x, Tensor(tables.reshape(places.shape), kind, 0))

    def encoded(self, x: Tensor, step: float, zero: int, kind: "np.dtype[Any]") -> Tensor:
        """Round floats to codes."""
        offset = code_offset("A", kind, self._image.target.mode.a)
        ends = np.iinfo(kind)
        zero, low, high = (int(one) - offset for one in (zero, ends.min, ends.max))
        if isinstance(x, Looked):
            codes = encode(x.values, np.float32(step), zero, low, high).astype(np.int8)
            made = self.looked_up(x, codes)
        else:
            divisor = self.constant(np.float32(step))
            made = self._made(
                "encode", kind, self.decoded(x), divisor, shift=zero, low=low, high=high
            )
        return Tensor(made.sources, kind, offset)

    def rounded(self, x: Tensor) -> Tensor:
        """Round floats to integers, halves to even ones."""
        return self._made("copy", _FLOAT, self._made("copy", _SUM, x))

    def added_codes(self, x: Tensor, zero: Tensor) -> Tensor:
        """Round floats to integers, and add one to each; return bytes, within their limits."""
        low, high = np.iinfo(np.int8).min, np.iinfo(np.int8).max
        whole = self._made("copy", _SUM, x)
        return self._made("add", np.dtype(np.int8), whole, zero, low=int(low), high=int(high))

    def integers(self, values: np.ndarray) -> Tensor:
        """Place integers of 32 bits, the same ones once."""
        at = self._image.shared(values.astype("<i4").tobytes())
        return Tensor(at + 4 * np.arange(values.size).reshape(values.shape), _SUM, 0)

    def integer_products(self, x: Tensor, y: Tensor) -> Tensor:
        """Multiply integers by floats that are integers."""
        return self._made("multiply", _SUM, x, y)

    def _made(self, what: str, kind: "np.dtype[Any]", *given: Tensor, **numbers: int) -> Tensor:
        """Do an operator into room of its own."""
        shape = np.broadcast_shapes(*(one.sources.shape for one in given))
        like = max((one.sources for one in given), key=lambda one: one.size)
        tensor = Tensor(self._room(like, shape, kind), kind, 0)
        self._step(what, shape, tensor, given, **numbers)
        return tensor

    def _room(self, like: np.ndarray, shape: tuple[int, ...], kind: "np.dtype[Any]") -> np.ndarray:
        """Return addresses whose axes go as those of others, without gaps."""
        order = _order(np.broadcast_to(like, shape))
        size, width = int(np.prod(shape)), _width(kind)
        places = self._image.pool.take(width * size) + width * np.arange(size)
        return places.reshape([shape[axis] for axis in order]).transpose(
            np.argsort(order, kind="stable")
        )

    def _step(
        self,
        what: str,
        shape: tuple[int, ...],
        to: Tensor,
        given: Sequence[Tensor],
        axis: int | None = None,
        **numbers: Any,
    ) -> None:
        """Place steps, whose operands lie in loops; `axis` is reduced, each row to a number."""
        ways = []
        for one in (to, *given):
            merged = _loops(one.sources, shape)
            ways.append(_loops(self._straight(one), shape) if merged is None else merged)
        columns = None
        loops = np.array(ways, np.int64)
        if axis is not None:
            columns = shape[axis], loops[:, 1 + axis]
            loops, shape = np.delete(loops, 1 + axis, axis=1), (*shape[:axis], *shape[axis + 1 :])
        sizes, steps = _joined(shape, loops[:, 1:].T)
        for size, step in [(1, np.zeros(len(ways), np.int64))] * 2:
            sizes, steps = [size, *sizes], [step, *steps]
        inner = [(sizes.pop(), steps.pop()) for _ in range(2 if columns is None else 1)]
        inner = inner if columns is None else [columns, *inner]
        around = [one for one in zip(sizes, steps, strict=True) if one[0] > 1]
        firsts = [loops[:, 0]]
        while len(around) > LOOPS:
            size, step = around.pop(0)
            firsts = [first + number * step for first in firsts for number in range(size)]
        if len(firsts) > _MOST:
            raise Unsupported(f"it must take {_MOST} steps at most, not {len(firsts)}")
        names = ("out", "a", "b")
        for first in firsts:
            operands = {
                name: Operand(
                    address=int(at), format=_format(one.kind), row=int(row), column=int(column)
                )
                for name, at, one, row, column in zip(
                    names, first, (to, *given), inner[1][1], inner[0][1], strict=False
                )
            }
            self._image.steps.append(Floats(
                node=self._node, operator=self._operator, operation=Operation[what.upper()],
                rows=inner[1][0], columns=inner[0][0], operands=operands,
                loops=tuple((size, tuple(map(int, step))) for size, step in around),
                numbers=int(np.prod([*(size for size, _ in around), inner[0][0], inner[1][0]])),
                **numbers,
            ))  # fmt: skip

    def _straight(self, x: Tensor) -> np.ndarray:
        """Move numbers to where they lie one after the other."""
        width, order = _width(x.kind), _order(x.sources)
        turned = x.sources.transpose(order)
        bytes_ = (turned[..., None] + np.arange(width)).reshape(-1, 1)
        row = width * turned.shape[-1] if turned.ndim else 0
        at = self._image.move(
            self._node, self._operator, bytes_, row=row, reason="steps on floats take even places"
        )
        places = (at + width * np.arange(turned.size)).reshape(turned.shape)
        return places.transpose(np.argsort(order, kind="stable"))


def _floats(sources: np.ndarray) -> Tensor:
    return Tensor(sources, _FLOAT, 0)


def _width(kind: "np.dtype[Any]") -> int:
    return kind.itemsize


def _format(kind: "np.dtype[Any]") -> Format:
    return Format.F32 if kind == _FLOAT else INTEGERS[8 * kind.itemsize]


def _order(sources: np.ndarray) -> list[int]:
    """Return the axes by the distance of their numbers in memory, the nearest last."""
    steps = steps_of(sources)
    return sorted(range(sources.ndim), key=lambda axis: (-abs(steps[axis]), axis))


def _loops(sources: np.ndarray, shape: tuple[int, ...]) -> np.ndarray | None:
    """Return the first address and the step of each loop; None: they are not regular."""
    spread = np.broadcast_to(sources, shape)
    if regular(sources) is None:
        return None
    return np.array([int(spread[(0,) * len(shape)]), *steps_of(spread)], np.int64)


def _joined(shape: Sequence[int], steps: np.ndarray) -> tuple[list[int], list[np.ndarray]]:
    """Join loops that go on from each other; leave those out that go once."""
    sizes: list[int] = []
    joined: list[np.ndarray] = []
    for size, step in zip(shape, steps, strict=True):
        if size > 1 and sizes and np.array_equal(joined[-1], step * size):
            sizes[-1], joined[-1] = sizes[-1] * size, step
        elif size > 1:
            sizes.append(size)
            joined.append(step)
    return sizes, joined
