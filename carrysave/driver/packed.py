"""B on the device as bitmaps and what is not zero, in the blocks of the products that take it."""

from typing import Any, ClassVar

import numpy as np

from .bitmap import BlockSize, pack_image
from .blocking import Blocks
from .matrix import Allocate, Matrix
from .mode import Mode
from .number import BYTE, Number
from .product import blocks_of
from .vector import VectorControl

__all__ = ["PackedMatrix", "PackingControl"]


class PackedMatrix(Matrix):
    """An image of B, which products take where they take B; it is not read back.

    Parameters
    ----------
    allocate, beat : as of other matrices.
    image : its bytes.
    shape, number : of B, as it would be without.
    blocks : of the products.
    """

    def __init__(
        self,
        allocate: Allocate,
        image: bytes,
        shape: tuple[int, int],
        number: Number,
        blocks: Blocks,
        beat: int,
    ) -> None:
        super().__init__(allocate, (1, len(image)), BYTE, beat)
        with self.freed_on_error():
            self.write_bytes(np.frombuffer(image, np.uint8)[None])
        self.shape, self.number, self.blocks = shape, number, blocks
        self.distance = len(image)

    @property
    def end(self) -> int:
        """First address after it."""
        return self.address + self.distance

    def read(self) -> np.ndarray:
        """Refuse it."""
        raise ValueError("a packed matrix must be read by a job")

    def blocks_with(self, blocks: Blocks | None) -> Blocks:
        """Return the blocks of a product: those of the image, or given ones that are like them.

        Raises
        ------
        ValueError
            They have other tiles across, or other beats.
        """
        if blocks is None:
            return self.blocks
        if (blocks.n, blocks.k) != (self.blocks.n, self.blocks.k):
            raise ValueError(f"blocks must be as b was packed, {self.blocks}, not {blocks}")
        return blocks


class PackingControl(VectorControl):
    """Packs matrices for a co-processor that is built ``sparse``."""

    STREAM: ClassVar[bool] = False
    """Whether matrices are on streams, not in memory."""

    def pack(
        self, b: Any, rows: int, *, mode: Mode | None = None, blocks: Blocks | None = None
    ) -> PackedMatrix:
        """Place B as bitmaps and what is not zero, for :meth:`Coprocessor.matmul` and `product`.

        Parameters
        ----------
        b : K x N numbers of ``info.b``; with `mode`, of its numbers.
        rows : of the A of the products, for which blocks are planned.
        mode : formats, as of a product.
        blocks : of the products; None: the planner's choice.

        Raises
        ------
        TypeError, ValueError
            The build has no such option, or fixed blocks, or rows of blocks are too short to be
            packed.
        """
        self.info.require("sparse")
        if "fixed_blocks" in self.info.features:
            raise ValueError("b must be as it is where blocks are the hardware's own choice")
        array = np.asarray(b)
        known = self._mode(mode)
        deep, columns = array.shape
        sizes = rows, columns, deep
        chosen = blocks_of(self.info, blocks, sizes, known, self.info.sums)
        words, number = known.words(array), known.b_stored
        packed = number.pack(number.check("b", words))
        stores = known.stores(self.info.stores)
        size = BlockSize(chosen.k * stores.tile_k, chosen.n * stores.tile_n * stores.b_bits // 8)
        image = pack_image(packed, size, most=2 * stores.b_bytes)
        allocate, beat = self._allocate, stores.data_width // 8
        return PackedMatrix(allocate, image, words.shape, number, chosen, beat)

    def _mode(self, mode: Mode | None) -> Mode:
        info = self.info
        if ("stream" in info.features) != self.STREAM:
            raise ValueError("products must be made by CoprocessorStream between streams")
        for feature in ("formats", "scales"):
            if mode is None and feature in info.features:
                raise ValueError(f"mode must be given to an engine with {feature}")
        return mode or info.mode
