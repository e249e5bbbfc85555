"""Weights of 4 bits that are codes of a table, as MatMulBnb4 has them."""

from dataclasses import dataclass
from math import gcd
from typing import Any

import numpy as np

from carrysave.compiler.graph.kernels import Unsupported
from golden.lut.expander import expand

__all__ = ["KINDS", "MATMUL_BNB4", "Bnb4Weights"]

MATMUL_BNB4 = "MatMulBnb4"
_FP4 = (0, 1 / 192, 2 / 3, 1, 1 / 3, 1 / 2, 1 / 6, 1 / 4)
_NF4 = (
    -1.0,
    -0.6961928009986877,
    -0.5250730514526367,
    -0.39491748809814453,
    -0.28444138169288635,
    -0.18477343022823334,
    -0.09105003625154495,
    0.0,
    0.07958029955625534,
    0.16093020141124725,
    0.24611230194568634,
    0.33791524171829224,
    0.44070982933044434,
    0.5626170039176941,
    0.7229568362236023,
    1.0,
)
KINDS = {0: (*_FP4, *(-one for one in _FP4)), 1: _NF4}
"""Tables of quant_type: FP4, and NF4 of QLoRA (Dettmers et al., 2023); times absmax of a block."""
_MOST = 127
"""What an entry of 1 is as a number of a byte."""
_LEAST_BLOCK = 16


@dataclass(frozen=True, kw_only=True)
class Bnb4Weights:
    """Weights of MatMulBnb4, which is flat, N x K: blocks are of its order.

    Members
    -------
    codes : K x N, of `kind`.
    steps : float32, blocks x N: what an entry of 1 stands for.
    block : rows that share a scale: no run of these is in two of the file's blocks.
    kind : of :data:`KINDS`.
    """

    codes: np.ndarray
    steps: np.ndarray
    block: int
    kind: int

    @classmethod
    def read(cls, packed: np.ndarray, most: np.ndarray, numbers: dict[str, Any]) -> "Bnb4Weights":
        """Unpack weights.

        Parameters
        ----------
        packed : bytes, of two codes each, the first one in the upper half.
        most : the largest magnitude of each block.
        numbers : K, N, block_size, quant_type, transB.

        Raises
        ------
        Unsupported
            Other sizes than these, a table that no file has, or magnitudes that are not finite.
        """
        depth, columns, block, kind = (
            numbers.get(name, 0) for name in ("K", "N", "block_size", "quant_type")
        )
        if not numbers.get("transB", 1):
            raise Unsupported("transB must be 1, not 0")
        if kind not in KINDS:
            raise Unsupported(f"quant_type must be 0 (FP4) or 1 (NF4), not {kind}")
        if block < _LEAST_BLOCK or block & (block - 1):
            raise Unsupported(f"block_size must be a power of two, 16 or more, not {block}")
        if min(depth, columns) < 1:
            raise Unsupported(f"K and N must be 1 or more, not {depth} and {columns}")
        count = depth * columns
        for what, given, size in (
            ("B", packed, -(-count // 2)),
            ("absmax", most, -(-count // block)),
        ):
            if given.size != size:
                raise Unsupported(f"{what} must have {size} values, not {given.size}")
        if packed.dtype != np.uint8:
            raise Unsupported(f"B must be of uint8, not {packed.dtype}")
        if most.dtype.kind != "f" or not np.isfinite(most).all():
            raise Unsupported("absmax must be of finite floats")
        flat = packed.reshape(-1)
        codes = np.stack([flat >> 4, flat & 15], axis=1).reshape(-1)[:count]
        run = gcd(depth, block)
        starts = np.arange(columns)[:, None] * depth + np.arange(0, depth, run)
        return cls(
            codes=codes.reshape(columns, depth).T,
            steps=most.reshape(-1).astype(np.float32)[starts // block].T,
            block=run,
            kind=kind,
        )

    @property
    def values(self) -> np.ndarray:
        """The weights in units of 1 / 127 of a step, rounded: int8, K x N."""
        table = np.rint(np.array(KINDS[self.kind]) * _MOST).astype(np.int8)
        return expand(self.codes, table)

    @property
    def scales(self) -> np.ndarray:
        """What one unit of `values` stands for: float32, blocks x N."""
        return self.steps / np.float32(_MOST)

    @property
    def floats(self) -> np.ndarray:
        """The weights as float32, K x N."""
        entries = np.array(KINDS[self.kind], np.float32)[self.codes]
        floats: np.ndarray = entries * np.repeat(self.steps, self.block, axis=0)
        return floats
