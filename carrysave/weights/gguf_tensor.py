"""Tensors of GGUF: floats, or blocks of codes with a scale, and maybe an offset."""

import math
from dataclasses import dataclass

import numpy as np

from carrysave.errors import UsageError
from golden.formats.names import minifloat
from golden.lut.weights import GroupedWeights

__all__ = ["BLOCK", "KINDS", "OTHERS", "GgufTensor", "bytes_of"]

BLOCK = 32
"""Weights of a row that share a scale, in all kinds of blocks that are read here."""

# Number of a kind, and how floats are held, or bytes of a block: scale, offset, high bits, codes.
_FLOATS = {"F32": (0, "<u4", "fp32"), "F16": (1, "<u2", "fp16"), "BF16": (30, "<u2", "bf16")}
_BLOCKS = {"Q4_0": (2, 18), "Q4_1": (3, 20), "Q5_0": (6, 22), "Q5_1": (7, 24), "Q8_0": (8, 34)}
KINDS = {number: name for name, (number, *_) in (*_FLOATS.items(), *_BLOCKS.items())}
"""Kinds that are read, by their numbers in files."""
OTHERS = {
    9: "Q8_1", 10: "Q2_K", 11: "Q3_K", 12: "Q4_K", 13: "Q5_K", 14: "Q6_K", 15: "Q8_K",
    16: "IQ2_XXS", 17: "IQ2_XS", 18: "IQ3_XXS", 19: "IQ1_S", 20: "IQ4_NL", 21: "IQ3_S",
    22: "IQ2_S", 23: "IQ4_XS", 24: "I8", 25: "I16", 26: "I32", 27: "I64", 28: "F64", 29: "IQ1_M",
    34: "TQ1_0", 35: "TQ2_0", 39: "MXFP4", 40: "NVFP4",
    41: "Q1_0",
}  # fmt: skip
"""Kinds that are not, for messages."""


@dataclass(frozen=True, kw_only=True, eq=False)
class GgufTensor:
    """A tensor as the file has it.

    Members
    -------
    name : of it, as in ``blk.0.attn_q.weight``.
    shape : outputs x inputs of a matrix, so that the last axis lies together in the file.
    kind : F32, F16, BF16, Q4_0, Q4_1, Q5_0, Q5_1 or Q8_0.
    data : its bytes.
    """

    name: str
    shape: tuple[int, ...]
    kind: str
    data: memoryview

    @property
    def grouped(self) -> bool:
        """It has codes of a few bits, with scales."""
        return self.kind in _BLOCKS

    def floats(self) -> np.ndarray:
        """Return float32 of `shape`; of codes scale * code + offset, each step rounded."""
        if not self.grouped:
            _, dtype, form = _FLOATS[self.kind]
            array = np.frombuffer(self.data, dtype).reshape(self.shape)
            if self.kind == "F32":
                return array.view("<f4").astype(np.float32)
            return minifloat(form).to_float(array.astype(np.int64)).astype(np.float32)
        codes, scales, offsets, zero = self._parts()
        values = (codes.astype(np.float32) - np.float32(zero)) * scales.astype(np.float32)[:, None]
        if offsets is not None:
            values += offsets.astype(np.float32)[:, None]
        return values.reshape(self.shape)

    def weights(self) -> GroupedWeights:
        """Return the weights of a matrix of codes, inputs x outputs, unchanged.

        Q4_1 and Q5_1 have offsets ("affine"), the others a zero point in the middle of the codes.
        """
        if not self.grouped or len(self.shape) != 2:
            raise UsageError(
                f"must be a matrix of codes with scales ({', '.join(_BLOCKS)}), not {self.kind} of "
                f"{' x '.join(map(str, self.shape))}"
            )
        codes, scales, offsets, zero = self._parts()
        columns, rows = self.shape

        def grouped(values: np.ndarray) -> np.ndarray:
            return values.view(np.uint16).astype(np.int64).reshape(columns, -1).T

        return GroupedWeights(
            codes=codes.reshape(columns, rows).T.astype(np.int64),
            bits=int(self.kind[1]),
            levels="uniform" if offsets is None else "affine",
            group=BLOCK,
            scale_format="fp16",
            scales=grouped(scales),
            zeros=np.full((rows // BLOCK, columns), zero) if offsets is None else None,
            offsets=None if offsets is None else grouped(offsets),
        )

    def _parts(self) -> tuple[np.ndarray, np.ndarray, np.ndarray | None, int]:
        """Return codes from 0, blocks x 32; scales and offsets of fp16; the code of zero."""
        size = _BLOCKS[self.kind][1]
        blocks = np.frombuffer(self.data, np.uint8).reshape(-1, size)
        affine, bits = self.kind.endswith("_1"), int(self.kind[1])
        scales = blocks[:, :2].copy().view("<f2")[:, 0]
        offsets = blocks[:, 2:4].copy().view("<f2")[:, 0] if affine else None
        if bits == 8:
            codes = (blocks[:, 2:] ^ 0x80).astype(np.uint8)
        else:
            packed = blocks[:, size - 16 :]
            codes = np.concatenate([packed & 15, packed >> 4], axis=1)
        if bits == 5:
            start = 4 if affine else 2
            high = np.unpackbits(blocks[:, start : start + 4], axis=1, bitorder="little")
            codes = np.bitwise_or(codes, high << 4, dtype=np.uint8)
        return codes, scales, offsets, 0 if affine else 1 << bits - 1


def bytes_of(kind: str, shape: tuple[int, ...]) -> int:
    """Return the bytes of a tensor.

    Raises
    ------
    ValueError
        Its rows are not whole blocks.
    """
    size = math.prod(shape)
    if kind in _FLOATS:
        return size * np.dtype(_FLOATS[kind][1]).itemsize
    if shape[-1] % BLOCK:
        raise ValueError(f"rows must be whole blocks of {BLOCK}, not {shape[-1]} codes")
    return size // BLOCK * _BLOCKS[kind][1]
