"""Tensors of a language model's file, by their names in GGUF, as a decoder takes them."""

from abc import ABC, abstractmethod
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from carrysave.errors import UsageError
from carrysave.weights.array_files import check_all_used
from carrysave.weights.gguf import GgufFile
from carrysave.weights.gguf_tensor import BLOCK, GgufTensor
from carrysave.weights.grouped import error_of, rounded_weights
from golden.lut.weights import GroupedWeights
from hw.emit.user_files import FileError, shown

__all__ = ["GgufSource", "Source", "described"]


_OUTPUTS = 2048
"""Of a matrix whose floats are looked at together."""


def described(shape: tuple[int, ...]) -> str:
    """Return sizes as messages have them."""
    return " x ".join(map(str, shape)) or "a number"


class Source(ABC):
    """Tensors, each of which somebody must take.

    Parameters
    ----------
    path : of the file, for messages.
    tensors : of it, by its own names.
    bits : to which floats are rounded; or a table, :data:`carrysave.weights.tables.BOOKS`.

    Members
    -------
    rounded : matrices by their kind in the file: how many, and the largest error that their
        rounding made, relative to their values, as rms.
    """

    def __init__(self, path: Path, tensors: Mapping[str, Any], bits: int | str) -> None:
        self.path, self.bits = path, bits
        self.rounded: dict[str, tuple[int, float]] = {}
        self._tensors = tensors
        self._taken: set[str] = set()

    def file_name(self, name: str) -> str:
        """Return the file's name of a tensor."""
        return name

    @abstractmethod
    def shape(self, name: str) -> tuple[int, ...]:
        """Return the shape of a tensor that there is."""

    @abstractmethod
    def _values(self, name: str) -> np.ndarray:
        """Return a tensor's floats."""

    @abstractmethod
    def _weights(
        self, name: str, rows: tuple[int, int], part: int | None
    ) -> tuple[str, GroupedWeights, float]:
        """Return kind, weights and error of rows of a matrix; of one of several, its number."""

    def __len__(self) -> int:
        """Return how many tensors there are."""
        return len(self._tensors)

    def has(self, name: str) -> bool:
        """Return whether there is a tensor."""
        return self.file_name(name) in self._tensors

    def floats(self, name: str, *shape: int) -> np.ndarray:
        """Return float32 of a shape.

        Raises
        ------
        FileError
            There is none, it has another shape, or some number is not finite.
        """
        self._check(name, shape)
        with np.errstate(over="ignore"):
            values = self._values(name).astype(np.float32, copy=False)
        if not np.isfinite(values).all():
            raise FileError(self.path, "must be finite", self._where(name))
        return values

    def matrix(
        self, name: str, shape: tuple[int, ...], rows: tuple[int, int], part: int | None = None
    ) -> GroupedWeights:
        """Return weights, inputs x outputs.

        Parameters
        ----------
        name : of the tensor.
        shape : of it, outputs x inputs; of several, how many before that.
        rows : the first of its outputs, and that behind the last.
        part : which of several.

        Raises
        ------
        FileError
            As :meth:`floats`; or an engine cannot have it.
        """
        self._check(name, shape)
        try:
            kind, weights, error = self._weights(name, rows, part)
        except (UsageError, ValueError) as error_:
            raise FileError(self.path, error_, self._where(name)) from None
        count, most = self.rounded.get(kind, (0, 0.0))
        self.rounded[kind] = count + 1, max(most, error)
        return weights

    def check_rest(self, harmless: set[str]) -> None:
        """Refuse tensors that nobody took, but for those that change nothing."""
        check_all_used(self.path, "tensor", self._tensors, self._taken | harmless)

    def _where(self, name: str) -> str:
        return f"tensor '{shown(self.file_name(name))}'"

    def _check(self, name: str, shape: tuple[int, ...]) -> None:
        self._taken.add(self.file_name(name))
        there = self.has(name)
        if not there or self.shape(name) != shape:
            what = f"not {described(self.shape(name))}" if there else "not there"
            raise FileError(self.path, f"must be {described(shape)}, {what}", self._where(name))


class GgufSource(Source):
    """Tensors of GGUF.

    Parameters
    ----------
    file, bits : see :class:`Source`.
    """

    def __init__(self, file: GgufFile, bits: int | str) -> None:
        super().__init__(file.path, file.tensors, bits)

    def shape(self, name: str) -> tuple[int, ...]:
        """Return the shape of a tensor that there is."""
        return self._tensor(name).shape

    def _tensor(self, name: str) -> GgufTensor:
        tensor: GgufTensor = self._tensors[name]
        return tensor

    def _values(self, name: str) -> np.ndarray:
        return self._tensor(name).floats()

    def _weights(
        self, name: str, rows: tuple[int, int], part: int | None
    ) -> tuple[str, GroupedWeights, float]:
        tensor = self._tensor(name)
        if part is not None:
            tensor = tensor.part(part, part + 1).reshaped(tensor.shape[1:])
        if rows != (0, tensor.shape[0]):
            tensor = tensor.part(*rows)
        if tensor.grouped and tensor.exact:
            _check_finite(tensor)
            return tensor.kind, tensor.weights(), 0.0
        values = tensor.floats()
        if not np.isfinite(values).all():
            raise UsageError("must be finite")
        made = (
            tensor.weights()
            if tensor.grouped
            else rounded_weights(values, bits=self.bits, group=BLOCK)
        )
        return tensor.kind, made, error_of(made, values)


def _check_finite(tensor: GgufTensor) -> None:
    """Refuse scales that are no numbers, some outputs at a time."""
    outputs = tensor.shape[0]
    for start in range(0, outputs, _OUTPUTS):
        some = tensor.part(start, min(start + _OUTPUTS, outputs))
        if not np.isfinite(some.floats()).all():
            raise UsageError("must be finite")
