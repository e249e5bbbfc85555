"""Beats on the bus of a product in blocks."""

from collections.abc import Mapping

from golden.soc.blocking import Blocks, Stores, ranges

__all__ = ["beats_of"]


def beats_of(
    stores: Stores, blocks: Blocks, bits: Mapping[str, int], sizes: tuple[int, int, int], beat: int
) -> dict[str, int]:
    """Return the beats that each matrix takes on the bus; each row begins with one.

    A part of a row that begins or ends inside a beat takes all of it. Rows are those of
    :func:`golden.soc.blocking.spans`, counted by side.

    Parameters
    ----------
    bits : bits per number of each matrix in use.
    sizes : rows and columns of C, words along K.
    beat : bytes.
    """
    m, n, words = sizes
    up, across, deep = (
        part * tile
        for part, tile in zip(
            (blocks.m, blocks.n, blocks.k),
            (stores.tile_m, stores.tile_n, stores.tile_k),
            strict=True,
        )
    )
    columns, depths = ranges(n, across), ranges(words, deep)
    scales = [_parted(one, max(stores.block, 1)) for one in depths]
    packed = [_parted(one, stores.b_deep) for one in depths]
    whole = deep >= words  # then A or B stays from block to block
    a_times = 1 if whole and not blocks.by_columns else len(columns)
    b_times = 1 if whole and blocks.by_columns else -(-m // up)

    def along(name: str, parts: list[range]) -> int:
        each = bits.get(name, 0)
        rows = ((one.start * each // 8, -(-one.stop * each // 8)) for one in parts)
        return sum(-(-end // beat) - start // beat for start, end in rows)

    return {
        "a": m * a_times * along("a", depths),
        "a_scales": m * a_times * along("a_scales", scales),
        "b": sum(map(len, packed)) * b_times * along("b", columns),
        "b_scales": sum(map(len, scales)) * b_times * along("b_scales", columns),
        "c": m * along("c", columns),
        "addend": m * along("addend", columns),
        **{name: -(-m // up) * along(name, columns) for name in ("bias", "records")},
    }


def _parted(part: range, each: int) -> range:
    """Return the blocks of a part that have so many words each."""
    return range(part.start // each, -(-part.stop // each))
