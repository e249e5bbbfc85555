"""Execution of nests: C and cycles, by interpreting loops and steps."""

import functools
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from golden.formats.integer import IntFormat
from golden.nest.nest import Nest
from golden.nest.notation import INDICES, Loop, Node, Step

__all__ = ["bits", "execute"]

Recode = Callable[[np.ndarray, IntFormat], np.ndarray]
Path = tuple[int, ...]


def bits(codes: np.ndarray, fmt: IntFormat) -> np.ndarray:
    """Split codes into bits, for nests of radix 2; the sign bit counts -1.

    Parameters and result: as :func:`golden.arith.recode.booth`.
    """
    at = np.arange(fmt.width)
    digits = (fmt.check("codes", codes)[..., None] >> at & 1).astype(np.int8)
    if fmt.signed:
        digits[..., -1] *= -1
    return digits


def execute(
    nest: Nest, a: np.ndarray, b: np.ndarray, recode: Recode, fmt: IntFormat
) -> tuple[np.ndarray, int]:
    """Run a nest: loops in time one iteration after the other, parallel ones at once.

    Values are pairs of sum and carry where the nest says so, modulo 2^64.

    Cycles with operands are counted: one each time the loops reach map, and one for each search
    that finds no digit. Iterations of parallel loops count separately until a sync. The output of
    rows of C, and the latency between elements, are not counted: mostly they overlap with the next
    tile.

    Parameters
    ----------
    nest : what to run.
    a, b : codes, M x K and K x N; tiles at the edges are zero-padded.
    recode : recoder of the operand split into digits, such as
        :func:`golden.arith.recode.booth`.
    fmt : format of that operand.

    Returns
    -------
    int64 C, M x N, and cycles.
    """
    a, b = np.asarray(a), np.asarray(b)
    if a.ndim != 2 or b.ndim != 2 or a.shape[1] != b.shape[0]:
        raise ValueError(f"a and b must be M x K and K x N, not {a.shape} and {b.shape}")
    for name, codes in (("a", a), ("b", b)):
        if codes.dtype.kind not in "iu":
            raise TypeError(f"{name} must be integers, not {codes.dtype}")
    machine = _Machine(nest, a, b, recode, fmt)
    machine.run(nest.body)
    return machine.c()[: a.shape[0], : b.shape[1]], int(machine.time.max(initial=0))


@dataclass
class _Value:
    """Sum and carry, or their accumulator."""

    total: np.ndarray
    carry: np.ndarray
    accumulator: Path | None = None


class _Machine:
    """State of a run.

    All arrays have one axis for each parallel loop of the nest but chains, in the order of the
    text, of length 1 where they do not depend on that loop; a loop over sums that are kept side
    by side has that of the loop that made them. Accumulators have two more before these: the rows
    and columns of C.
    """

    def __init__(self, nest: Nest, a: np.ndarray, b: np.ndarray, recode: Recode, fmt: IntFormat):
        self.axes: dict[Path, int] = {}
        self.summed: set[int] = set()
        self._find_axes(nest.body, (), [])
        self.rank = len(set(self.axes.values()))
        self.total = {"m": a.shape[0], "k": a.shape[1], "n": b.shape[1]}
        self.extent = {index: self._extent(nest, index) for index in self.total}
        self.bits = nest.radix.bit_length() - 1
        self.planes = max(loop.covers("bw") for loop in _loops(nest.body))
        # Each operand with the indices that it depends on; digits of one, codes of the other.
        codes = {"a": (("m", "k"), a), "b": (("k", "n"), b)}
        _, coded = codes.pop(nest.coded)
        digits = recode(coded, fmt)
        if digits.shape[-1] != self.planes:
            raise ValueError(f"recode must make {self.planes} digits, not {digits.shape[-1]}")
        ((indices, other),) = codes.values()
        self.operands = [
            (nest.digits, self._fill(nest.digits, digits)),
            (indices, self._fill(indices, other)),
        ]
        zero = np.zeros((1,) * self.rank, dtype=np.int64)
        self.at = {**dict.fromkeys(INDICES, zero), "end": zero + self.extent["k"]}
        self.inside: set[int] = set()
        self.active = zero == 0
        self.time = zero
        self.sums: dict[Path, tuple[np.ndarray, np.ndarray, list[np.ndarray]]] = {}
        self.value = _Value(zero, zero)

    def _find_axes(self, body: tuple[Node, ...], path: Path, side: list[int]) -> None:
        """Give the parallel loops axes; `side` are those along which there are values so far."""
        for number, node in enumerate(body):
            if node is Step.HALF_REDUCE:
                side.clear()
            if not isinstance(node, Loop):
                continue
            inner = (*path, number)
            summed = node.parallel and not node.chain and node.index in ("k", "bw")
            if summed and side:
                self.axes[inner] = side.pop()
            elif node.parallel and not node.chain:
                self.axes[inner] = len(set(self.axes.values()))
            self._find_axes(node.body, inner, side)
            if summed:
                self.summed.add(self.axes[inner])
                side.append(self.axes[inner])

    def _extent(self, nest: Nest, index: str) -> int:
        """Rows, columns or codes, filled up to whole tiles."""
        tile = max(loop.covers(index) for loop in _loops(nest.body))
        if any(isinstance(n, Loop) and n.index == index and n.size is None for _, n in nest.walk()):
            return -(-self.total[index] // tile) * tile
        if self.total[index] > tile:
            raise ValueError(f"{index.upper()} must be 0..{tile}, not {self.total[index]}")
        return tile

    def _fill(self, indices: tuple[str, ...], codes: np.ndarray) -> np.ndarray:
        """Zero-pad an operand, with one extra zero after the last k."""
        shape = [self.extent.get(index, self.planes) + (index == "k") for index in indices]
        filled = np.zeros(shape, dtype=np.int64)
        filled[tuple(slice(size) for size in codes.shape)] = codes
        return filled

    def c(self) -> np.ndarray:
        """Return C, at the end."""
        if self.value.accumulator is None:  # no operands, no sums
            return np.zeros((self.total["m"], self.total["n"]), dtype=np.int64)
        total, carry, _ = self.sums[self.value.accumulator]
        assert not carry.any()
        return total.reshape(total.shape[:2])

    def run(self, body: tuple[Node, ...], path: Path = ()) -> None:
        """Run a body."""
        for number, node in enumerate(body):
            if isinstance(node, Loop):
                self._loop(node, (*path, number))
            elif node is Step.ACCUMULATE:
                self._accumulate((*path, number))
            elif node is Step.ADD:
                self._add((*path, number))
            elif node not in (Step.ENCODE, Step.SELECT):  # all digits are there from the start
                getattr(self, f"_{node.name.lower()}")()

    def _loop(self, loop: Loop, path: Path) -> None:
        at, active = self.at, self.active
        if loop.chain:
            begin = end = self.time
            for position in self._positions(loop, path):
                self.at, self.time = _step(at, loop, position), begin
                self.run(loop.body, path)
                end = np.maximum(end, self.time)
            self.time = end
        elif loop.parallel:
            self.inside.add(self.axes[path])
            self.at = _step(at, loop, self._positions(loop, path)[0])
            self.run(loop.body, path)
            self.inside.remove(self.axes[path])
        elif loop.nonzero:
            order, count = self._select(loop, path)
            self.time = self.time + (active & (count == 0))
            # If no iteration has work, one idle turn.
            for turn in range(max(1, int((active * count).max()))):
                self.at = _step(at, loop, order[turn])
                self.active = active & (turn < count)
                self.run(loop.body, path)
        else:
            value = self.value  # each iteration takes its own part of sums that are kept
            for position in self._positions(loop, path):
                self.at, self.value = _step(at, loop, position), value
                self.run(loop.body, path)
        self.at, self.active = at, active

    def _positions(self, loop: Loop, path: Path) -> list[np.ndarray]:
        """Return what each iteration adds to the index; of a parallel loop, all at once."""
        count = -(-self.total[loop.index] // loop.stride) if loop.size is None else loop.size
        positions = loop.stride * np.arange(count)
        if path in self.axes:
            return [self._along(self.axes[path], positions)]
        return [np.full(self.rank * (1,), position) for position in positions]

    def _along(self, axis: int, values: np.ndarray) -> np.ndarray:
        return values.reshape([-1 if one == axis else 1 for one in range(self.rank)])

    def _select(self, loop: Loop, path: Path) -> tuple[np.ndarray, np.ndarray]:
        """Find the positions of a loop with digits, in order, and their number.

        Each iteration of the parallel loops, around it or inside, finds its own.
        """
        positions = self._positions(loop, path)
        chosen = np.stack([
            self._has_digit(loop.body, path, _step(self.at, loop, position))
            for position in positions
        ])
        order = np.argsort(~chosen, axis=0, kind="stable")
        return np.array(positions).reshape(-1)[order], chosen.sum(axis=0)

    def _has_digit(
        self, body: tuple[Node, ...], path: Path, at: dict[str, np.ndarray]
    ) -> np.ndarray:
        """Return whether any sequential iteration of the loops inside has a digit."""
        for number, node in enumerate(body):
            if isinstance(node, Loop):
                inner = (*path, number)
                present = [
                    self._has_digit(node.body, inner, _step(at, node, position))
                    for position in self._positions(node, inner)
                ]
                return np.logical_or.reduce(present)
        return self._operand(0, at) != 0

    def _operand(self, which: int, at: dict[str, np.ndarray]) -> np.ndarray:
        indices, values = self.operands[which]
        at = {**at, "k": np.where(at["k"] < at["end"], at["k"], self.extent["k"])}
        return values[tuple(at[index] for index in indices)]

    def _map(self) -> None:
        self.time = self.time + self.active
        # Finished iterations are at a zero digit.
        product = self._operand(0, self.at) * self._operand(1, self.at)
        self.value = _Value(product, np.zeros_like(product))

    def _shift(self) -> None:
        value, places = self._take(), self.bits * self.at["bw"]
        self.value = _Value(value.total << places, value.carry << places)

    def _half_reduce(self) -> None:
        value = self._take()
        for axis in self.summed - self.inside:
            pairs = [
                _Value(np.take(value.total, [one], axis), np.take(value.carry, [one], axis))
                for one in range(value.total.shape[axis])
            ]
            value = functools.reduce(_compress, pairs)
        self.value = value

    def _accumulate(self, path: Path) -> None:
        value = self._take()
        if path not in self.sums:
            # Values that are side by side are kept apart.
            axes = [axis in self.summed & self.inside for axis in range(self.rank)]
            shape = [size if has else 1 for has, size in zip(axes, value.total.shape, strict=True)]
            sums = np.zeros((self.extent["m"], self.extent["n"], *shape), dtype=np.int64)
            places = [self._along(axis, np.arange(size)) for axis, size in enumerate(shape)]
            self.sums[path] = sums, sums.copy(), places
        total, carry, places = self.sums[path]
        where = (self.at["m"], self.at["n"], *places)
        value = _compress(_Value(total[where], carry[where]), value)
        total[where], carry[where] = value.total, value.carry
        self.value = _Value(value.total, value.carry, path)

    def _take(self) -> _Value:
        """Return the value, from its accumulators if it is there."""
        if self.value.accumulator is None:
            return self.value
        total, carry, places = self.sums[self.value.accumulator]
        where = (self.at["m"], self.at["n"], *places)
        value = _Value(total[where], carry[where])
        total[where] = carry[where] = 0
        return value

    def _add(self, path: Path) -> None:
        if self.value.accumulator is None:
            total = self.value.total + self.value.carry
            self.value = _Value(total, np.zeros_like(total))
            self._accumulate(path)
            return
        total, carry, places = self.sums[self.value.accumulator]
        where = (self.at["m"], self.at["n"], *places)
        total[where] += carry[where]
        carry[where] = 0

    def _sync(self) -> None:
        waiting = tuple(axis for axis in range(self.rank) if axis not in self.inside)
        self.time = self.time.max(axis=waiting, keepdims=True)


def _step(at: dict[str, np.ndarray], loop: Loop, position: np.ndarray) -> dict[str, np.ndarray]:
    """Return the indices in an iteration, and the end of the k loops around it."""
    start = at[loop.index]
    end = np.minimum(at["end"], start + loop.covers("k")) if loop.short else at["end"]
    return {**at, "end": end, loop.index: start + position}


def _loops(body: tuple[Node, ...]) -> list[Loop]:
    return [node for node in body if isinstance(node, Loop)]


def _compress(x: _Value, y: _Value) -> _Value:
    """Compress two pairs to one, by two rows of full adders."""
    total, carry = _full_adders(x.total, x.carry, y.total)
    return _Value(*_full_adders(total, carry, y.carry))


def _full_adders(x: np.ndarray, y: np.ndarray, z: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    return x ^ y ^ z, (x & y | x & z | y & z) << 1
