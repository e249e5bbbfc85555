"""README of a pack with streams: the data on each stream, and its order."""

from collections.abc import Iterator
from itertools import groupby
from typing import Any

from carrysave.ip.facts import Facts
from carrysave.ip.readme_tables import table
from golden.soc.blocking import Blocks, Part, order

__all__ = ["facts"]


def facts(block: Facts) -> dict[str, Any]:
    """Gather what the template README_streams.md takes: an example, beside the streams' names."""
    a, b, c = streams = [stream.name for stream in block.interfaces("AXI4STREAM")]
    names = {"a": a, "a_scales": a, "c": c}
    sizes, parts = _example(block)
    rows = [
        (
            f"`{names.get(name, b)}`",
            _TITLES[name],
            _span(numbers),
            _span(range(first, first + size)),
            str(len(numbers) * -(-size // block.spec.bytes)),
        )
        for name, numbers, first, size in parts
    ]
    return {
        "streams": streams,
        "sizes": " x ".join(f"{size}" for size in sizes),
        "example": table(("stream", "matrix", "rows", "bytes of each", "beats"), rows),
    }


_TITLES = {
    "a": "A",
    "b": "B",
    "c": "C",
    "bias": "bias",
    "a_scales": "scales of A",
    "b_scales": "scales of B",
}


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
    for (name, first, size), group in groupby(parts, key=lambda p: (p.name, p.first, p.bytes)):
        numbers = [part.row for part in group]
        yield name, range(numbers[0], numbers[-1] + 1), first, size


def _span(numbers: range) -> str:
    return f"{numbers[0]}" if len(numbers) == 1 else f"{numbers[0]}..{numbers[-1]}"
