"""The engine's inputs (words of A, of B, of their scales), and where a tile's words are."""

from dataclasses import dataclass
from typing import Any

from amaranth import C, Value
from amaranth.lib import data
from amaranth.utils import exact_log2

from golden.lut.expander import ExpanderSpec
from golden.soc.spec import CoprocessorSpec
from hw.soc.schedule.geometry import block_widths, scales_groups

__all__ = [
    "Side",
    "TileRequest",
    "apart",
    "counts",
    "place_of",
    "sides",
    "stride_of",
    "where_shifted",
]


_AS_THEY_ARE = ExpanderSpec(name="none", width=0, bits=0, table=())


@dataclass(frozen=True, kw_only=True)
class Side:
    """One input of an engine: words of A, of B, or of their scales.

    A beat has `across` words of each of `banks` rows, `k` steps along K. The next beat is the next
    slice of the same rows or, if `down`, the same slice of the next rows. `shapes` are, for each
    kind of mode, the codes of a word and its bits in memory; `width` is a word's bits at the
    engine's port. With `deep` above 1, a word has as many steps, so that there are as many fewer
    banks. An `expander` makes numbers at the port of the codes of a word.
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
    deep: int = 1
    expander: ExpanderSpec = _AS_THEY_ARE

    @property
    def steps(self) -> int:
        """Steps of a word that are masked each for itself: those of codes that are not 0 of 0."""
        return 1 if self.expander.name == "trits" or self.expander.group else self.deep

    @property
    def numbers(self) -> int:
        """Numbers at the engine's port of a word."""
        return self.expander.present if self.expander.group else self.deep

    @property
    def slices(self) -> list[int]:
        """Slices of a word in the store, for each kind of mode."""
        return [8 * self.word_bytes // (self.across * bits) for _, bits in self.shapes]


def sides(spec: CoprocessorSpec) -> dict[str, Side]:
    """List an engine's inputs: "a", "b" and, of side bytes of blocks, "a_scales", "b_scales"."""
    inside, kinds = spec.inside, spec.kinds
    inputs = [
        Side(
            name="a", banks=inside.m, across=inside.k, width=inside.a_width, k=inside.k,
            down=False, shapes=tuple((kind.codes, kind.a_bits) for kind in kinds),
            word_bytes=spec.a_word_bytes, words=spec.a_words,
        ),
        Side(
            name="b", banks=inside.k // spec.b_deep, across=inside.n, k=inside.k, down=True,
            width=inside.b_port, deep=spec.b_deep, expander=inside.expander,
            shapes=tuple((kind.codes, kind.b_bits) for kind in kinds),
            word_bytes=spec.b_word_bytes, words=spec.b_words,
        ),
    ]  # fmt: skip
    if spec.shares:
        # A byte of a beat, for each row of a tile.
        one = ((1, 8 * spec.a_scale_bytes),)
        inputs.append(_of_rows(spec, one, min(spec.a_words, spec.rows // inside.m)))
    if inside.block:
        if inside.a_sides:
            words = -(-spec.scales // spec.a_scale_bytes)
            inputs.append(_of_rows(spec, ((1, 8),) * len(kinds), words))
        bits = 8 * inside.b_sides
        inputs.append(
            Side(
                name="b_scales",
                banks=1,
                across=inside.n,
                width=bits,
                k=1,
                down=True,
                shapes=((1, bits),) * len(kinds),
                word_bytes=spec.b_scale_bytes,
                words=spec.scales,
            )
        )
    return {side.name: side for side in inputs}


def _of_rows(spec: CoprocessorSpec, shapes: tuple[tuple[int, int], ...], words: int) -> Side:
    """Return the side bytes of rows of A."""
    return Side(
        name="a_scales",
        banks=spec.inside.m,
        across=1,
        width=8,
        k=1,
        down=False,
        shapes=shapes,
        word_bytes=spec.a_scale_bytes,
        words=words,
    )


def stride_of(spec: CoprocessorSpec, job: Any, side: Side) -> Value:
    """Return the words from a row of a block to the next one in its bank.

    Parameters
    ----------
    job : :class:`~hw.soc.schedule.geometry.Geometry`.
    side : whose rows.
    """
    if side.name in ("a", "b"):
        stride: Value = job[f"{side.name}_stride"]
        return stride
    if spec.shares:
        return C(1)
    if not side.down or spec.inside.a_sides:
        return C(1 if side.down else side.words)
    slices = side.slices[0]
    return (job.across + (slices - 1)) >> exact_log2(slices)


def place_of(spec: CoprocessorSpec, side: Side, request: Any, tile: Any) -> list[Any]:
    """Place the side bytes of a tile's columns, or rows, in their store, if there are several.

    Parameters
    ----------
    side : whose :class:`TileRequest` it is.
    request : that.
    tile : its indices in its block: its row, and its column.
    """
    column = tile.column
    if spec.shares and side.name == "a_scales":
        return [request.address.eq(tile.row)]
    if side.name != "b_scales" or spec.inside.a_sides:
        return []
    bits = exact_log2(side.slices[0])
    return [request.slice.eq(column[:bits]), request.address.eq(column[bits:])]


def counts(spec: CoprocessorSpec, side: Side) -> bool:
    """Return whether products are counted by the words of a side."""
    return spec.counters and side.name == "a"


def where_shifted(spec: CoprocessorSpec, side: str, job: Any, value: Value) -> Value:
    """Return a condition of a side, or 0 if it is octaves, and the job has none."""
    return value & job.shifted if spec.shares and side == "a_scales" else value


def apart(spec: CoprocessorSpec, job: Any, single: Value) -> Value:
    """Return whether the sums of a block that is a single tile stay in the engine for all of K."""
    if spec.shares:
        return single & ~job.shifted
    return single & ~job.grouped if scales_groups(spec) else single


class TileRequest(data.StructLayout):
    """A tile's operands: their address in a store, and their size.

    ``row`` is the row of its words in each bank: for A the tile's, for B the first beat's, 0.
    ``codes`` counts words along K, the last of which is the last of K if ``tail``; ``lines`` the
    rows of A, or columns of B, inside of C. ``last`` ends the sums, ``release`` frees the buffer.
    Where products are counted, that of A has the numbers of C in the tile, ``area``. Where jobs
    have tables of the codes of B, that of B has the number of the job, modulo 4, its ``turn``.
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
            **({"area": range(spec.inside.m * spec.inside.n + 1)} if counts(spec, side) else {}),
            **({"turn": range(spec.PARTS)} if side.expander.table_bytes else {}),
        })
