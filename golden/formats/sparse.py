"""N:M structured sparsity: N codes of each M along K, and a mask that says which they are."""

from dataclasses import dataclass

import numpy as np

from golden.check import Choice
from golden.lut.expander import kept_places

__all__ = ["DENSE", "SPARSITY", "SparseFormat"]

DENSE = "none"

SPARSITY = Choice(
    "codes of B that are multiplied, N of each M along K, which a mask tells",
    DENSE,
    (DENSE, "1:4", "2:4", "4:8"),
)


@dataclass(frozen=True)
class SparseFormat:
    """Groups of `group` codes along K, of which `count` are kept, with a mask of `group` bits.

    Bit i of a mask is 1 if code i of the group is there. Kept code j, from 0 on, is at place
    ``min(p, group - count + j)``, where p is that of bit j among those of the mask that are 1, or
    infinity if it has no more. So each code has a place of its own whatever the mask is: of too
    many bits the lowest count, and with too few the codes without one are at the highest places,
    and must be 0 where they stand for nothing. A code has ``group - count + 1`` places to choose
    from, not `group`.
    """

    count: int
    group: int

    @classmethod
    def parse(cls, text: str) -> "SparseFormat":
        """Read ``N:M``, one of :data:`SPARSITY`."""
        count, group = map(int, text.split(":"))
        return cls(count, group)

    @property
    def name(self) -> str:
        """N:M."""
        return f"{self.count}:{self.group}"

    @property
    def share(self) -> int:
        """Bits of the mask for each kept code."""
        return self.group // self.count

    @property
    def reach(self) -> int:
        """Places beyond the first that a kept code can have."""
        return self.group - self.count

    def places(self, masks: np.ndarray) -> np.ndarray:
        """Return the places of the kept codes in their group.

        Parameters
        ----------
        masks : integers, any shape.

        Returns
        -------
        int64, the same shape x `count`, rising.
        """
        bits = np.asarray(masks)[..., None] >> np.arange(self.group) & 1
        return kept_places(bits == 1, self.count)

    def expand(self, masks: np.ndarray, codes: np.ndarray) -> np.ndarray:
        """Return the numbers that masks and codes stand for.

        Parameters
        ----------
        masks : G x N, one for each group.
        codes : count G x N, those of a group one after the other.

        Returns
        -------
        int64, group G x N.
        """
        groups, columns = masks.shape
        dense = np.zeros((groups, columns, self.group), np.int64)
        by_group = np.reshape(codes, (groups, self.count, columns)).swapaxes(1, 2)
        np.put_along_axis(dense, self.places(masks), by_group, axis=-1)
        return dense.swapaxes(1, 2).reshape(groups * self.group, columns)

    def pack(self, dense: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return masks of what is not 0, and the codes at their places.

        What is not 0 beyond the first `count` of a group has a bit and no code.

        Parameters
        ----------
        dense : K x N; rows of zeros are appended up to a multiple of `group`.

        Returns
        -------
        masks : int64, G x N.
        codes : int64, count G x N.
        """
        padded = np.pad(np.asarray(dense, np.int64), ((0, -len(dense) % self.group), (0, 0)))
        groups = padded.reshape(-1, self.group, padded.shape[1]).swapaxes(1, 2)
        masks = ((groups != 0) << np.arange(self.group)).sum(axis=-1)
        codes = np.take_along_axis(groups, self.places(masks), axis=-1)
        return masks, codes.swapaxes(1, 2).reshape(-1, padded.shape[1])

    def read(self, dense: np.ndarray) -> np.ndarray:
        """Return what is left of K x N numbers: of each group the first `count` that are not 0."""
        return self.expand(*self.pack(dense))[: len(dense)]

    def prune(self, dense: np.ndarray) -> np.ndarray:
        """Set all but the `count` of greatest magnitude of each group along K to 0.

        Parameters
        ----------
        dense : K x N, integers or floats; K need not be a multiple of `group`. Of equal magnitudes
            those with lower k stay.

        Returns
        -------
        The same type and shape.
        """
        padded = np.pad(dense, ((0, -len(dense) % self.group), (0, 0)))
        groups = padded.reshape(-1, self.group, padded.shape[1])
        # Floats: the least integer has no magnitude of its own type.
        order = np.argsort(-np.abs(groups.astype(np.float64)), axis=1, kind="stable")
        stays = np.zeros(groups.shape, bool)
        np.put_along_axis(stays, order[:, : self.count], True, axis=1)
        return np.where(stays, groups, 0).astype(dense.dtype).reshape(padded.shape)[: len(dense)]
