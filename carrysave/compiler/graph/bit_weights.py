"""Weights of few bits, packed by blocks of K, as MatMulNBits has them."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from carrysave.compiler.graph.kernels import Unsupported

__all__ = ["MATMUL_N_BITS", "BitWeights"]

MATMUL_N_BITS = "MatMulNBits"


@dataclass(frozen=True, kw_only=True)
class BitWeights:
    """Weights of MatMulNBits.

    Members
    -------
    values : K x N, with zero points subtracted: integers, unless these are floats.
    steps : blocks x N.
    block : rows that share a scale.
    """

    values: np.ndarray
    steps: np.ndarray
    block: int

    @classmethod
    def read(
        cls, codes: np.ndarray, steps: np.ndarray, zeros: np.ndarray | None, numbers: dict[str, Any]
    ) -> "BitWeights":
        """Unpack weights.

        Parameters
        ----------
        codes : bytes, N x blocks x bytes of a block.
        steps : scales, N x blocks, or flat.
        zeros : zero points, packed likewise, or of the scales' type; None: the middle code.
        numbers : K, N, bits and block_size.

        Raises
        ------
        Unsupported
            Other sizes than these, or scales that are not finite.
        """
        depth, columns, bits = (numbers.get(name, 0) for name in ("K", "N", "bits"))
        bits, block = bits or 4, numbers.get("block_size", 0)
        if bits not in (2, 4, 8):
            raise Unsupported(f"bits must be 2, 4 or 8, not {bits}")
        if block < 16 or block & (block - 1):
            raise Unsupported(f"block_size must be a power of two, 16 or more, not {block}")
        if min(depth, columns) < 1:
            raise Unsupported(f"K and N must be 1 or more, not {depth} and {columns}")
        blocks = -(-depth // block)
        wide = -(-blocks * bits // 8)
        for what, given, size in (
            ("B", codes, columns * blocks * block * bits // 8),
            ("scales", steps, columns * blocks),
            (
                "zero points",
                zeros,
                columns * (wide if zeros is not None and zeros.dtype == np.uint8 else blocks),
            ),
        ):
            if given is not None and given.size != size:
                raise Unsupported(f"{what} must have {size} values, not {given.size}")
        if codes.dtype != np.uint8:
            raise Unsupported(f"B must be of uint8, not {codes.dtype}")
        if steps.dtype.kind != "f" or not np.isfinite(steps).all():
            raise Unsupported("scales must be finite floats")
        middle: Any = 1 << bits - 1
        if zeros is not None and zeros.dtype == np.uint8:
            middle = _unpacked(zeros.reshape(columns, wide), bits)[:, :blocks, np.newaxis]
        elif zeros is not None:
            middle = zeros.reshape(columns, blocks, 1)
        kind = np.float32 if zeros is not None and zeros.dtype.kind == "f" else np.int16
        values = _unpacked(codes.reshape(columns, blocks, -1), bits).astype(kind)
        values = (values - np.asarray(middle).astype(kind)).reshape(columns, -1)[:, :depth]
        return cls(values=values.T, steps=steps.reshape(columns, blocks).T, block=block)

    @property
    def floats(self) -> np.ndarray:
        """The weights as float32, K x N."""
        floats: np.ndarray = (
            self.values.astype(np.float32)
            * np.repeat(self.steps.astype(np.float32), self.block, axis=0)[: len(self.values)]
        )
        return floats


def _unpacked(codes: np.ndarray, bits: int) -> np.ndarray:
    """Return codes of 2, 4 or 8 bits from bytes, the lowest first, along the last axis."""
    shifts = np.arange(0, 8, bits, dtype=np.uint8)
    parts = (codes[..., np.newaxis] >> shifts) & np.uint8((1 << bits) - 1)
    unpacked: np.ndarray = parts.reshape(*codes.shape[:-1], -1)
    return unpacked
