"""Operands of a product in a graph, and their matrices for a co-processor."""

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from carrysave.compiler.graph.broadcast import BROADCAST, paired
from carrysave.compiler.graph.im2col import Tiles, Windows
from carrysave.compiler.graph.names import quoted
from carrysave.compiler.lowered.rights import bundled, columns_of, computed, outer_of, repeated
from carrysave.compiler.target.target import Target
from carrysave.driver.batch import Work
from hw.emit.user_files import shown

__all__ = ["Compiled", "Cut", "Operands"]


@dataclass(frozen=True, kw_only=True, eq=False)
class Compiled:
    """The works of a product, and the assembly of its output.

    Members
    -------
    works : independent of each other.
    cut : the matrices A, and how results become y.
    finish : assembles the model's y from the works' results.
    macs : useful products.
    """

    works: list[Work]
    cut: "Cut"
    finish: Callable[[list[np.ndarray]], np.ndarray]
    macs: int


@dataclass(frozen=True, kw_only=True, eq=False)
class Cut:
    """Matrices A of a product, and the shape of its y.

    Members
    -------
    lefts : M x K each.
    shape : of y, without its columns.
    moved : columns are axis 1 of y, not the last.
    batched : each A has its own y; else they share one, by columns.
    rows : the last axis of `shape` is of rows.
    tiles, groups : of a convolution whose rows have patches of outputs.
    useful : products within groups and kernels; 0: all.
    """

    lefts: list[np.ndarray]
    shape: tuple[int, ...]
    moved: bool = False
    batched: bool = False
    rows: bool = True
    tiles: Tiles | None = None
    groups: int = 1
    useful: int = 0

    def join(self, results: list[np.ndarray]) -> np.ndarray:
        """Assemble the works' results, M x N each, with all columns along the last axis."""
        return np.concatenate(results, axis=0 if self.batched else 1)

    def shaped(self, joined: np.ndarray) -> np.ndarray:
        """Reshape it to y."""
        y = joined.reshape(*self.shape, joined.shape[1])
        if self.tiles is not None:
            return self.tiles.placed(y, self.groups)
        return np.moveaxis(y, -1, 1) if self.moved else y


@dataclass(frozen=True, kw_only=True, eq=False)
class Operands(ABC):
    """Operands of a product.

    Parameters
    ----------
    name, operator : of the node, as in the model.
    a, b, y : tensors; `b` is "" if it is constant.
    weights : integers, K x N, or groups x K x N; None if B is computed.
    windows : of a convolution; None for a matrix product.
    transposed : A is K x M.
    outer : axes of a constant B beyond its last two, whose matrices weights has; else groups of a
        matrix product have a part of K and of N each.
    """

    name: str
    operator: str
    a: str
    b: str
    y: str
    weights: np.ndarray | None
    windows: Windows | None = None
    transposed: bool = False
    outer: tuple[int, ...] = ()

    @property
    def formats(self) -> str:
        """Names of the formats of A and B, if chosen."""
        return ""

    @property
    def why(self) -> str:
        """Why its results may differ from onnxruntime's."""
        return (
            "rounds exact sums times a scale once, halves as the block's requantiser_rounding;"
            " onnxruntime rounds to float32 first, then halves to even"
        )

    @property
    def late(self) -> tuple[str, ...]:
        """Names of tensors that tell more about it when it runs."""
        return ()

    def bound(self, *values: np.ndarray | None) -> "Operands":
        """Return this product with the values of :attr:`late`; None: there is no such tensor.

        Raises
        ------
        ValueError
            A value that it cannot have; names the node.
        """
        return self

    @property
    @abstractmethod
    def y_type(self) -> "np.dtype[Any]":
        """Type of y."""

    def check(self, target: Target) -> None:
        """Refuse a product the co-processor cannot run, as far as known before running.

        Raises
        ------
        ValueError
            Unsupported codes or sizes; names the node.
        """
        try:
            self._check(target)
        except ValueError as error:
            raise self._named(error) from None

    def compile(
        self, target: Target, a: np.ndarray, b: np.ndarray | None, in_hardware: bool
    ) -> Compiled:
        """Make matrices of codes.

        Parameters
        ----------
        target : the co-processor.
        a, b : tensors, as in the model; `b` is None if it is constant.
        in_hardware : the co-processor requantises, if it can; else the host.

        Raises
        ------
        ValueError
            Unsupported codes or sizes; names the node.
        """
        try:
            shape: tuple[int, ...] | None = None
            if self.weights is None and b is not None and self.operator in BROADCAST:
                a, b, shape = paired(a, b)
            if not a.size:
                return self._empty(a, shape)
            made = self._compile(target, a, b, in_hardware)
        except ValueError as error:
            raise self._named(error) from None
        if shape is None:
            return made
        return replace(made, finish=lambda results: made.finish(results).reshape(shape))

    def _empty(self, a: np.ndarray, shape: tuple[int, ...] | None) -> Compiled:
        """Make no works of an A without rows, and so a y without numbers.

        Raises
        ------
        ValueError
            Another axis of A is empty.
        """
        if self.weights is not None and self.windows is None and not self.transposed and a.ndim:
            batch = outer_of(a.shape, self.outer) if self.outer else a.shape[:-2]
            shape = (*batch, *a.shape[-2:-1], columns_of(self.weights, self.outer))
        elif self.weights is not None and self.windows is not None and a.ndim > 2 and not len(a):
            channels = self.weights.size // (self.weights.shape[-2] * self.windows.patch)
            shape = (0, channels, *self.windows.outputs(a.shape[2:]))
        if shape is None or 0 not in shape:
            raise ValueError(f"A must have an axis, none of them empty, not {a.shape}")
        y = np.zeros(shape, self.y_type)
        cut = Cut(lefts=[], shape=shape)
        return Compiled(works=[], cut=cut, finish=lambda results: y, macs=0)

    @abstractmethod
    def _check(self, target: Target) -> None:
        """Implement :meth:`check`; errors need not name the node."""

    @abstractmethod
    def _compile(
        self, target: Target, a: np.ndarray, b: np.ndarray | None, in_hardware: bool
    ) -> Compiled:
        """Implement :meth:`compile`; errors need not name the node."""

    def _named(self, error: ValueError) -> ValueError:
        return ValueError(f"{shown(self.operator, 100)} {quoted(self.name)}: {error}")

    def cut(self, a: np.ndarray, zero: int, bundle: int) -> Cut:
        """Extract the matrices A from a tensor.

        Parameters
        ----------
        a : codes.
        zero : code of 0, beyond the edges.
        bundle : groups combined in one matrix.
        """
        if not a.ndim or not a.size:
            raise ValueError(f"A must have an axis, none of them empty, not {a.shape}")
        if self.windows is None:
            if self.weights is None and a.ndim > 2:
                lefts = list(a.reshape(-1, *a.shape[-2:]))
                return Cut(lefts=lefts, shape=a.shape[:-1], batched=True)
            if self.outer:
                return self._batch(a)
            a = a.T if self.transposed else a
            size = a.shape[-1]
            if self.weights is not None and self.weights.ndim == 3:
                size = bundle * self.weights.shape[1]
            parts = range(0, a.shape[-1], size)
            lefts = [a[..., at : at + size].reshape(-1, size) for at in parts]
            return Cut(lefts=lefts, shape=a.shape[:-1])
        assert self.weights is not None
        groups, depth, _ = self.weights.shape
        seen = self.windows.cut(a, zero)
        shape = seen.shape[: 1 + len(self.windows.kernel)]
        rows = seen.reshape(int(np.prod(shape)), groups * depth)
        size = bundle * depth
        lefts = [rows[:, at : at + size] for at in range(0, groups * depth, size)]
        return Cut(
            lefts=lefts,
            shape=shape,
            moved=True,
            tiles=self.windows.tiles(a.shape[2:]),
            groups=groups,
            useful=self.useful(a.shape),
        )

    def _batch(self, a: np.ndarray) -> Cut:
        """Extract the matrices A, one for each of a constant B."""
        alone = a.ndim == 1
        a = a[None] if alone else a
        batch = outer_of(a.shape, self.outer)
        spread = np.broadcast_to(a, (*batch, *a.shape[-2:]))
        lefts = list(spread.reshape(-1, *a.shape[-2:]))
        shape = batch if alone else spread.shape[:-1]
        return Cut(lefts=lefts, shape=shape, batched=True, rows=not alone)

    def useful(self, shape: tuple[int, ...]) -> int:
        """Count the useful products of a convolution, for a shape of A."""
        assert self.weights is not None
        assert self.windows is not None
        uses = shape[0] * self.windows.uses(shape[2:])
        return uses * self.weights.size // (self.windows.depth * self.windows.patch)

    def per_column(self, values: np.ndarray) -> np.ndarray:
        """Repeat what each channel has for the columns that it has in a patch."""
        if self.weights is None or self.windows is None or values.size == 1:
            return values
        parts = values.reshape(len(self.weights), 1, -1)
        return np.repeat(parts, self.windows.patch, axis=1).reshape(-1)

    def bundle(self, target: Target, k_max: int) -> int:
        """Return how many groups fill the columns of the engine's tile, as far as K allows."""
        if self.weights is None or self.weights.ndim == 2 or self.outer:
            return 1
        groups, depth, columns = self.weights.shape
        wide = target.info.stores.tile_n // columns
        return min(groups, max(1, min(wide, k_max // depth)))

    def rights(self, cut: Cut, b: np.ndarray | None, bundle: int) -> list[np.ndarray]:
        """Make a matrix B, K x N, for each A; bundled groups are block-diagonal.

        Parameters
        ----------
        cut : the matrices A.
        b : integers, if B is computed.
        bundle : as :meth:`cut` had it.
        """
        if self.weights is None:
            assert b is not None
            return computed(b, len(cut.lefts), cut.shape, cut.batched)
        if self.outer:
            return repeated(self.weights, self.outer, cut.shape[: len(cut.shape) - cut.rows])
        return [self.weights] if self.weights.ndim == 2 else bundled(self.weights, bundle)

    def split(self, values: np.ndarray, rights: list[np.ndarray]) -> list[np.ndarray]:
        """Split per-column data, one part for each B."""
        if self.weights is None or self.outer:
            return [values] * len(rights)
        ends = np.cumsum([right.shape[1] for right in rights])
        return np.split(values, ends[:-1])

    def macs(self, cut: Cut, rights: list[np.ndarray]) -> int:
        """Count the useful products: those within groups."""
        if cut.useful:
            return cut.useful
        if self.weights is None or self.outer:
            return sum(
                len(left) * right.size for left, right in zip(cut.lefts, rights, strict=True)
            )
        return len(cut.lefts[0]) * self.weights.size
