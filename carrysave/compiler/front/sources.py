"""Tensors of a language model's file, by their names in GGUF, as a decoder takes them."""

from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np

from carrysave.compiler.front.embedding import Embedding
from carrysave.errors import UsageError
from carrysave.weights.array_files import check_all_used
from carrysave.weights.gguf import GgufFile
from carrysave.weights.gguf_tensor import BLOCK, GgufTensor
from carrysave.weights.grouped import error_of, rounded_weights
from golden.lut.grouped import FastWeights
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
    ) -> tuple[str, Iterator[GroupedWeights], float]:
        """Return kind, weights and error of rows of a matrix; of one of several, its number.

        Weights come some columns after the other, where that is the same.
        """

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

    def is_exact(self, name: str) -> bool:
        """Return whether a matrix has the codes and scales of its tensor, unchanged."""
        del name
        return False

    def embedding(self, name: str, words: int, width: int, scale: float) -> Embedding:
        """Return rows of a tensor, multiplied by a scale; the same errors as :meth:`floats`."""
        values = self.floats(name, words, width)
        return Embedding(shape=(words, width), rows=values.__getitem__, scale=scale)

    def matrix(
        self, name: str, shape: tuple[int, ...], rows: tuple[int, int], part: int | None = None
    ) -> FastWeights:
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
            kind, pieces, error = self._weights(name, rows, part)
            weights = FastWeights.joined([FastWeights(one) for one in pieces])
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

    def is_exact(self, name: str) -> bool:
        """Return whether a matrix has the codes and scales of its tensor, unchanged."""
        return self._tensor(name).exact

    def embedding(self, name: str, words: int, width: int, scale: float) -> Embedding:
        """Return rows of a tensor, whose bytes are kept as they are."""
        self._check(name, (words, width))
        tensor = self._tensor(name).loaded()
        for start in range(0, words, _OUTPUTS):
            if not np.isfinite(tensor.part(start, min(start + _OUTPUTS, words)).floats()).all():
                raise FileError(self.path, "must be finite", self._where(name))

        def rows(numbers: np.ndarray) -> np.ndarray:
            each = [tensor.part(one, one + 1).floats()[0] for one in numbers.tolist()]
            return np.stack(each) if each else np.empty((0, width), np.float32)

        return Embedding(shape=(words, width), rows=rows, scale=scale)

    def _weights(
        self, name: str, rows: tuple[int, int], part: int | None
    ) -> tuple[str, Iterator[GroupedWeights], float]:
        tensor = self._tensor(name)
        if part is not None:
            tensor = tensor.part(part, part + 1).reshaped(tensor.shape[1:])
        if rows != (0, tensor.shape[0]):
            tensor = tensor.part(*rows)
        if tensor.exact:
            return tensor.kind, _pieces(tensor), 0.0
        values = tensor.floats()
        if not np.isfinite(values).all():
            raise UsageError("must be finite")
        made = (
            tensor.weights()
            if tensor.grouped
            else rounded_weights(values, bits=self.bits, group=BLOCK)
        )
        return tensor.kind, iter([made]), error_of(made, values)


def _pieces(tensor: GgufTensor) -> Iterator[GroupedWeights]:
    """Yield the weights of some outputs after the other; refuse scales that are no numbers."""
    outputs = tensor.shape[0]
    for start in range(0, outputs, _OUTPUTS):
        some = tensor.part(start, min(start + _OUTPUTS, outputs)).weights()
        for codes in (some.scales, some.offsets):
            if codes is not None and not np.isfinite(codes.astype(np.uint16).view("f2")).all():
                raise UsageError("must be finite")
        yield some
