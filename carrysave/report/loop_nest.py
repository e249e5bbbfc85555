"""Loop nests of designs as text, in the bit-weight paper's notation, and as data."""

from collections.abc import Iterator
from typing import Any

from golden.nest.nest import Nest
from golden.nest.notation import Loop, Node, Step
from golden.nest.shapes import nest_of
from hw.catalog import Design

__all__ = ["data", "describe"]

_EFFECTS = {
    Step.ENCODE: "codes of {coded} to digits d",
    Step.SELECT: "digits that are not 0",
    Step.MAP: "d times code of {other}",
    Step.SHIFT: "by bw digits",
    Step.HALF_REDUCE: "to sum and carry",
    Step.ACCUMULATE: "onto those before",
    Step.ADD: "sum and carry to number",
    Step.SYNC: "wait for the slowest",
}


def describe(design: Design) -> str:
    """Write the loop nest of a design, one line per loop and step, and how to read it.

    Raises
    ------
    ValueError
        The design has no loop nest.
    """
    nest = nest_of(design.name, design.parameters)
    lines = list(_lines(nest, (), nest.body))
    wide = max(len(node) for node, _, _ in lines)
    effects = max(len(effect) for _, effect, _ in lines)
    counts = max(len(count) for _, _, count in lines)
    return "\n".join([
        f"{design.module}: {_formula(nest)}",
        "",
        *(
            f"{node:{wide}}  {effect:{effects}}  {'x' if count else ''} {count:>{counts}}".rstrip()
            for node, effect, count in lines
        ),
        "",
        "x: hardware units; for encode and select, one per code.",
        "Each iteration of the loops in time around map is a cycle; draining sums is not counted.",
    ])


def _formula(nest: Nest) -> str:
    """Write the formula computed, with the indices in use."""
    used = {loop.index for path, _ in nest.walk() for loop in path}
    (_, c), (coded, d), (other, x) = (
        (name, ",".join(index for index in indices if index in used))
        for name, indices in (
            ("C", ("m", "n")),
            (nest.coded.upper(), nest.digits),
            ("B", ("k", "n")) if nest.coded == "a" else ("A", ("m", "k")),
        )
    )
    return (
        f"C{f'[{c}]' if c else ''} = sum over k, bw of {nest.radix}^bw d[{d}] {other}[{x}],"
        f" d the {'digits' if nest.radix == 4 else 'bits'} of {coded}"
    )


def _lines(
    nest: Nest, path: tuple[Loop, ...], body: tuple[Node, ...]
) -> Iterator[tuple[str, str, str]]:
    """Write each line: loop or step, its effect, and its number of hardware units."""
    coded, other = ("A", "B") if nest.coded == "a" else ("B", "A")
    for node in body:
        indent = "  " * len(path)
        if isinstance(node, Loop):
            yield f"{indent}{node.title}", "", ""
            yield from _lines(nest, (*path, node), node.body)
        else:
            count = "" if node is Step.SYNC else str(nest.units(path, node))
            yield f"{indent}{node}", _EFFECTS[node].format(coded=coded, other=other), count


def data(design: Design) -> dict[str, Any]:
    """Return the loop nest of a design as data for JSON; raises as :func:`describe` does.

    Loops have ``loop`` (m, n, k or bw), ``size`` (null: the rest), ``parallel``,
    ``chain``, ``nonzero``, ``short`` (as :class:`golden.nest.notation.Loop`) and ``body``; steps
    have ``step`` and ``units``, the number of hardware units.
    """
    nest = nest_of(design.name, design.parameters)
    return {
        "design": design.name,
        "module": design.module,
        "parameters": dict(design.parameters),
        "radix": nest.radix,
        "coded": nest.coded,
        "recoded": nest.recoded,
        "nest": _data(nest, (), nest.body),
    }


def _data(nest: Nest, path: tuple[Loop, ...], body: tuple[Node, ...]) -> list[dict[str, Any]]:
    return [
        {
            "loop": node.index,
            "size": node.size,
            "parallel": node.parallel,
            "chain": node.chain,
            "nonzero": node.nonzero,
            "short": node.short,
            "body": _data(nest, (*path, node), node.body),
        }
        if isinstance(node, Loop)
        else {"step": str(node), "units": nest.units(path, node)}
        for node in body
    ]
