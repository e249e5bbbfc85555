"""Tensors of GGUF: floats, or blocks of codes with a scale, and maybe an offset."""

import math
from dataclasses import dataclass, replace

import numpy as np

from carrysave.errors import UsageError
from carrysave.weights.file_part import FilePart
from carrysave.weights.ggml_codes import LAYOUTS, PLAIN, codes_of, dequantised
from carrysave.weights.grouped import grouped_weights
from golden.formats.names import minifloat
from golden.lut.weights import GroupedWeights

__all__ = ["BLOCK", "KINDS", "OTHERS", "GgufTensor", "bytes_of"]

BLOCK = 32
"""Weights of a row that share a scale, in the simplest kinds of blocks, and in rounded floats."""

# Number of a kind, and how floats are held, or bytes of a block: scale, offset, high bits, codes.
_FLOATS = {"F32": (0, "<u4", "fp32"), "F16": (1, "<u2", "fp16"), "BF16": (30, "<u2", "bf16")}
_BLOCKS = {"Q4_0": (2, 18), "Q4_1": (3, 20), "Q5_0": (6, 22), "Q5_1": (7, 24), "Q8_0": (8, 34)}
# Numbers of kinds, weights of a block, and its bytes; those of codes first.
_LARGE = {
    "Q2_K": (10, 256, 84), "Q3_K": (11, 256, 110), "Q4_K": (12, 256, 144), "Q5_K": (13, 256, 176),
    "Q6_K": (14, 256, 210), "Q8_K": (15, 256, 292), "IQ4_NL": (20, 32, 18),
    "IQ4_XS": (23, 256, 136), "TQ1_0": (34, 256, 54), "TQ2_0": (35, 256, 66),
    "MXFP4": (39, 32, 17), "NVFP4": (40, 64, 36),
    "IQ2_XXS": (16, 256, 66), "IQ2_XS": (17, 256, 74), "IQ3_XXS": (18, 256, 98),
    "IQ1_S": (19, 256, 50), "IQ3_S": (21, 256, 110), "IQ2_S": (22, 256, 82),
    "IQ1_M": (29, 256, 56),
}  # fmt: skip
_TRITS, _TRITS_BLOCK, _TRITS_END = "I2_S", 128, 32
"""Trits, one scale of fp32 behind all of them, and what there is of room for it."""
KINDS = {
    number: name for name, (number, *_) in (*_FLOATS.items(), *_BLOCKS.items(), *_LARGE.items())
} | {36: _TRITS}
"""Kinds that are read, by their numbers in files."""
OTHERS = {
    9: "Q8_1", 24: "I8", 25: "I16", 26: "I32", 27: "I64", 28: "F64", 38: "TL1", 41: "Q1_0"
}  # fmt: skip
"""Kinds that are not, for messages."""


@dataclass(frozen=True, kw_only=True, eq=False)
class GgufTensor:
    """A tensor as the file has it.

    Members
    -------
    name : of it, as in ``blk.0.attn_q.weight``.
    shape : outputs x inputs of a matrix, so that the last axis lies together in the file.
    kind : one of :data:`KINDS`.
    data : its bytes, or where they are.
    """

    name: str
    shape: tuple[int, ...]
    kind: str
    data: memoryview | FilePart

    @property
    def grouped(self) -> bool:
        """It has codes of a few bits, with scales."""
        return self.kind in _BLOCKS or self.kind in LAYOUTS or self.kind in (*PLAIN, _TRITS)

    @property
    def exact(self) -> bool:
        """What :meth:`weights` returns has the codes and scales of the file, unchanged."""
        return self.kind in _BLOCKS

    def floats(self) -> np.ndarray:
        """Return float32 of `shape`; of codes scale * code + offset, each step rounded.

        Scales that are no numbers make weights that are none: who takes them looks.
        """
        with np.errstate(invalid="ignore", over="ignore"):
            return self._floats().reshape(self.shape)

    def _floats(self) -> np.ndarray:
        if self.kind in _LARGE:
            return dequantised(self.kind, self._blocks(_LARGE[self.kind][2]))
        if self.kind == _TRITS:
            trits, scale = self._trits()
            return trits.astype(np.float32) * scale
        if self.kind in _FLOATS:
            _, dtype, form = _FLOATS[self.kind]
            array = np.frombuffer(self._bytes(), dtype)
            if self.kind == "F32":
                return array.view("<f4").astype(np.float32)
            return minifloat(form).to_float(array.astype(np.int64)).astype(np.float32)
        codes, scales, offsets, zero = self._parts()
        values = codes.astype(np.float32)
        values -= np.float32(zero)
        values *= scales.astype(np.float32)[:, None]
        if offsets is not None:
            values += offsets.astype(np.float32)[:, None]
        return values

    def weights(self) -> GroupedWeights:
        """Return the weights of a matrix of codes, inputs x outputs.

        Q4_1 and Q5_1 have offsets ("affine"), the others of 32 weights a zero point in the middle
        of the codes; all these are unchanged. Of other kinds codes stay, and scales and offsets are
        rounded to fp16.
        """
        if not self.grouped or len(self.shape) != 2:
            raise UsageError(
                f"must be a matrix of codes with scales ({', '.join(_BLOCKS)}, or of larger "
                f"blocks), not {self.kind} of {' x '.join(map(str, self.shape))}"
            )
        if not self.exact:
            return self._rounded()
        codes, scales, offsets, zero = self._parts()
        columns, rows = self.shape

        def grouped(values: np.ndarray) -> np.ndarray:
            return values.view(np.uint16).astype(np.int64).reshape(columns, -1).T

        return GroupedWeights(
            codes=codes.reshape(columns, rows).T.astype(np.int16),
            bits=int(self.kind[1]),
            levels="uniform" if offsets is None else "affine",
            group=BLOCK,
            scale_format="fp16",
            scales=grouped(scales),
            zeros=np.full((rows // BLOCK, columns), zero) if offsets is None else None,
            offsets=None if offsets is None else grouped(offsets),
        )

    def part(self, first: int, last: int) -> "GgufTensor":
        """Return a range along the first axis."""
        behind = _TRITS_END if self.kind == _TRITS else 0
        size = (len(self.data) - behind) // self.shape[0]
        data = self.data[first * size : last * size]
        if behind:
            whole = self._bytes()
            data = memoryview(bytes(whole[first * size : last * size]) + bytes(whole[-behind:]))
        return replace(self, shape=(last - first, *self.shape[1:]), data=data)

    def loaded(self) -> "GgufTensor":
        """Return the same with its bytes in memory, whatever becomes of the file."""
        return replace(self, data=self._bytes())

    def _bytes(self) -> memoryview:
        return self.data.read() if isinstance(self.data, FilePart) else self.data

    def reshaped(self, shape: tuple[int, ...]) -> "GgufTensor":
        """Return the same with other axes but the last."""
        return replace(self, shape=shape)

    def _rounded(self) -> GroupedWeights:
        """Return the weights of a matrix whose scales fp16 may not have."""
        columns, rows = self.shape
        if self.kind == _TRITS:
            trits, scale = self._trits()
            return grouped_weights(
                trits.reshape(columns, rows), np.full((columns, 1), scale), bits=2, ternary=True
            )
        made = codes_of(self.kind, self._blocks(_LARGE[self.kind][2]))
        offsets = None if made.offsets is None else made.offsets.reshape(columns, -1)
        return grouped_weights(
            made.integers.reshape(columns, rows),
            made.scales.reshape(columns, -1),
            offsets,
            bits=made.bits,
            ternary=made.levels == "ternary",
        )

    def _blocks(self, size: int) -> np.ndarray:
        return np.frombuffer(self._bytes(), np.uint8).reshape(-1, size)

    def _trits(self) -> tuple[np.ndarray, np.float32]:
        """Return trits, in the file's order, and the scale of them all."""
        count = math.prod(self.shape) // 4
        data = self._bytes()
        packed = np.frombuffer(data, np.uint8)[:count].reshape(-1, 1, _TRITS_BLOCK // 4)
        codes = packed >> np.array([6, 4, 2, 0], np.uint8)[:, None] & 3
        if codes.max(initial=0) > 2:
            raise UsageError("codes of I2_S must be 0..2, not 3")
        scale = np.frombuffer(data, "<f4", 1, count)[0]
        return codes.reshape(-1).astype(np.int64) - 1, scale

    def _parts(self) -> tuple[np.ndarray, np.ndarray, np.ndarray | None, int]:
        """Return codes from 0, blocks x 32; scales and offsets of fp16; the code of zero."""
        size = _BLOCKS[self.kind][1]
        blocks = self._blocks(size)
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
    if kind == _TRITS:
        each, of_block, more = _TRITS_BLOCK, _TRITS_BLOCK // 4, _TRITS_END
    elif kind in _BLOCKS:
        each, of_block, more = BLOCK, _BLOCKS[kind][1], 0
    else:
        (_, each, of_block), more = _LARGE[kind], 0
    if shape[-1] % each:
        raise ValueError(f"rows must be whole blocks of {each}, not {shape[-1]} codes")
    return size // each * of_block + more
