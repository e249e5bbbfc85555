"""README of a pack with streams: the data on each stream, and its order."""

from collections.abc import Iterator
from itertools import groupby

from carrysave.ip import readme_tables
from carrysave.ip.facts import Facts
from golden.soc.blocking import Blocks, Part, order

__all__ = ["section"]


def section(block: Facts) -> str:
    """Write the section on streams."""
    spec = block.spec
    a, b, c = (stream.name for stream in block.interfaces("AXI4STREAM"))
    scales = spec.inside.block != 0
    lines = [
        (1, b, "the biases of the block's columns, if MODE.bias", spec.bias),
        (1, b, "their requantisations, 8 bytes each, if MODE.per_column", spec.requantises_columns),
        (1, "for each part of K", "", True),
        (2, a, "the block's rows of A, of each the words of this part", True),
        (2, a, "the block's rows of A's scales, of each those of this part", scales),
        (2, b, "the rows of B of this part, of each the block's columns", True),
        (2, b, "the rows of B's scales of this part, of each the block's columns", scales),
        (1, c, "the block's rows of C, of each the block's columns", True),
    ]
    names = {"a": a, "a_scales": a, "c": c}
    sizes, parts = _example(block)
    rows = [
        (f"`{names.get(name, b)}`", _TITLES[name], _span(numbers),
         _span(range(first, first + size)), str(len(numbers) * -(-size // spec.bytes)))
        for name, numbers, first, size in parts
    ]  # fmt: skip
    return _TEMPLATE.format(
        a=a,
        b=b,
        c=c,
        beat=spec.bytes,
        loop="\n".join(
            f"{'    ' * depth}{what}: {which}".rstrip() for depth, what, which, has in lines if has
        ),
        sizes=" x ".join(f"{size}" for size in sizes),
        bias=", with a bias" if spec.bias else "",
        example=readme_tables.table(("stream", "matrix", "rows", "bytes of each", "beats"), rows),
    )


_TITLES = {
    "a": "A", "b": "B", "c": "C", "bias": "bias",
    "a_scales": "scales of A", "b_scales": "scales of B",
}  # fmt: skip


def _example(block: Facts) -> tuple[tuple[int, int, int], Iterator[tuple[str, range, int, int]]]:
    """Make an example of two blocks, each of two parts along K: its sizes, its parts of rows."""
    spec, inside = block.spec, block.spec.inside
    mode = spec.kinds[0]
    up, across, deep = spec.default_blocks(mode)
    m, n, words = up * inside.m, across * inside.n + 1, deep * inside.k + 1
    bits = {"a": mode.a_bits, "b": mode.b_bits, "c": 8 * spec.sum_bytes}
    if inside.block:
        bits |= {"a_scales": 8, "b_scales": 8}
    if spec.bias:
        bits["bias"] = 8 * spec.sum_bytes
    parts = order(spec.stores(mode), Blocks(up, across, deep), bits, m, n, words)
    return (m, words * mode.codes, n), _together(parts)


def _together(parts: Iterator[Part]) -> Iterator[tuple[str, range, int, int]]:
    """Merge successive rows: name, rows, first byte, bytes."""
    for (name, first, size), found in groupby(parts, key=lambda p: (p.name, p.first, p.bytes)):
        numbers = [part.row for part in found]
        yield name, range(numbers[0], numbers[-1] + 1), first, size


def _span(numbers: range) -> str:
    return f"{numbers[0]}" if len(numbers) == 1 else f"{numbers[0]}..{numbers[-1]}"


_TEMPLATE = """\
## Streams

| stream | carries |
| --- | --- |
| `{a}` | A, and its scales if it has any |
| `{b}` | biases and requantisations of columns, B and its scales |
| `{c}` | C; `tlast` with its last beat |

Each carries parts of rows, one after the other. A part begins at byte 0 of a beat, in the lowest
bits of `tdata`, and takes as many beats of {beat} bytes as it needs; padding in its last beat is
ignored, and is 0 without `tkeep` in C. `tkeep` and `tlast` of `{a}` and `{b}` are ignored: the job
defines the lengths. C's `tkeep` is partial wherever a part of a row ends within a beat: let a DMA
store whole beats, or choose N and `BLOCK_N` so that parts of rows of C are whole beats. The two
input streams are read independently, so each needs its own sender.

C is split into blocks of `BLOCK_M` x `BLOCK_N` tiles, K into parts of `BLOCK_K` beats, see above.

```
for each block of C, row by row; with MODE.order column by column:
{loop}
```

If all of K is one part, data shared with the previous block is not sent again: A, if blocks go row
by row and have the same rows; B, if they go column by column and have the same columns.

With default blocks, a product of {sizes} (M x K x N) of sums{bias}:

{example}
"""
