"""What an engine takes: words of A, of B, and of their scales; and where a tile's are."""

from dataclasses import dataclass
from typing import Any

from amaranth.lib import data

from golden.soc.spec import CoprocessorSpec
from hw.soc.schedule.geometry import block_widths

__all__ = ["Side", "sides", "TileRequest"]


@dataclass(frozen=True, kw_only=True)
class Side:
    """What an engine takes of one kind: words of A, of B, or their scales.

    A beat has `across` words of each of `banks` rows, `k` steps along K. The next beat is the next
    slice of the same rows; or, where `down`, the same slice of the next rows. `shapes` are codes of
    a word and its bits in memory, of each kind of mode; `width` those of the engine's port.
    """

    name: str
    banks: int
    across: int
    width: int
    k: int
    down: bool
    shapes: tuple[tuple[int, int], ...]
    word_bytes: int
    words: int

    @property
    def slices(self) -> list[int]:
        """Slices of a word in the store, for each kind of mode."""
        return [8 * self.word_bytes // (self.across * bits) for _, bits in self.shapes]


def sides(spec: CoprocessorSpec) -> dict[str, Side]:
    """List what an engine takes: "a", "b" and, if codes have scales, "a_scales", "b_scales"."""
    inside, kinds = spec.inside, spec.kinds
    found = [
        Side(
            name="a", banks=inside.m, across=inside.k, width=inside.a_width, k=inside.k,
            down=False, shapes=tuple((kind.codes, kind.a_bits) for kind in kinds),
            word_bytes=spec.a_word_bytes, words=spec.a_words,
        ),
        Side(
            name="b", banks=inside.k, across=inside.n, width=inside.b_width, k=inside.k,
            down=True, shapes=tuple((kind.codes, kind.b_bits) for kind in kinds),
            word_bytes=spec.b_word_bytes, words=spec.b_words,
        ),
    ]  # fmt: skip
    if inside.block:
        common: dict[str, Any] = {"width": 8, "k": 1, "shapes": ((1, 8),) * len(kinds)}
        found += [
            Side(
                name="a_scales", banks=inside.m, across=1, down=False,
                word_bytes=spec.a_scale_bytes, words=-(-spec.scales // spec.a_scale_bytes),
                **common,
            ),
            Side(
                name="b_scales", banks=1, across=inside.n, down=True,
                word_bytes=spec.b_scale_bytes, words=spec.scales, **common,
            ),
        ]  # fmt: skip
    return {side.name: side for side in found}


class TileRequest(data.StructLayout):
    """A tile's operands: where they begin in a store, and how many there are.

    ``row`` is that of its words in each bank: of A the tile's, of B the first beat's, which is 0.
    ``codes`` are words along K, the last of which is that of K if ``tail``; ``lines`` rows of A,
    or columns of B, that are inside of C. ``last`` ends the sums, ``release`` the use of the part.
    """

    def __init__(self, spec: CoprocessorSpec, side: Side):
        super().__init__({
            "part": range(spec.PARTS),
            "address": range(side.words),
            "row": range(1 if side.down else side.words),
            "slice": range(max(side.slices)),
            "codes": block_widths(spec)["codes"],
            "lines": range((side.across if side.down else side.banks) + 1),
            "tail": 1,
            "last": 1,
            "release": 1,
        })
