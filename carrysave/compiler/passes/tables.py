"""Makes tables of what the host does between codes: each code is then looked up once.

Quantised models have steps between all operators, so that a hard swish is five of them between
quantisers. Where all of it depends on the codes of one tensor or of two, element by element, a
table has the same results, computed by the same operators. Operators that move numbers, and pools
of the greatest, move codes: their steps commute with them.
"""

from collections.abc import Iterator
from dataclasses import replace
from itertools import product
from typing import Any

import numpy as np
from onnx import NodeProto, helper

from carrysave.compiler.graph.code_table import TABLE, CodeTable
from carrysave.compiler.graph.graph import DOMAIN, Graph, needed, with_nodes
from carrysave.compiler.lowered.lowered import Lowered
from carrysave.compiler.passes.code_paths import CodePaths, OpenPathError
from carrysave.compiler.passes.code_region import Region, tabled

__all__ = ["tables"]

_BITS = 16
"""Bits of the codes that an entry of a table is found by."""


def tables(lowered: Lowered, *, apart: bool = False) -> Lowered:
    """Return a lowered model with tables in place of host operators; it computes the same.

    Parameters
    ----------
    apart : tables of one code stay apart from those of two, which are jobs on two maps: behind
        these, and behind products, codes are looked up for nothing.
    """
    return _Tables(lowered, apart=apart).replaced()


class _Tables:
    """Goes through a lowered model once."""

    def __init__(self, lowered: Lowered, *, apart: bool) -> None:
        self._separate = apart
        self._lowered = lowered
        self._graph = Graph(lowered.proto)
        self._paths = CodePaths(self._graph, lowered.graph.types)
        self._regions: dict[str, Region] = {}
        self._tables: list[CodeTable] = []

    def replaced(self) -> Lowered:
        """Return the lowered model with tables."""
        made = [self._made(node, number) for number, node in enumerate(self._graph.nodes)]
        after = self._paths.after
        return self._replaced([
            one for number, nodes in enumerate(made) for one in (*nodes, *after.get(number, []))
        ])

    def _made(self, node: NodeProto, number: int) -> list[NodeProto]:
        """Return what takes the place of a node: itself, or a table and what moves its codes."""
        if node.domain or node.op_type != "QuantizeLinear" or not self._paths.plain(node):
            return [node]
        moves = self._before(node)
        for count in range(len(moves) + 1):
            quantiser = node
            if count:
                quantiser = NodeProto()
                quantiser.CopyFrom(node)
                quantiser.input[0] = moves[count - 1].input[0]
                quantiser.output[0] = self._paths.fresh(f"{quantiser.input[0]}/codes")
            table = self._table(quantiser, number)
            if table is not None:
                return [table, *self._moving(moves[:count], quantiser.output[0], node.output[0])]
        return [node]

    def _moving(self, moves: list[NodeProto], codes: str, y: str) -> Iterator[NodeProto]:
        """Make of what moves floats what moves codes, of another name."""
        for one in reversed(moves):
            moved = NodeProto()
            moved.CopyFrom(one)
            moved.input[0] = codes
            codes = y if one is moves[0] else self._paths.fresh(f"{one.output[0]}/codes")
            moved.output[0] = codes
            yield moved

    def _before(self, node: NodeProto) -> list[NodeProto]:
        """Return what moves floats right before a quantiser, last first.

        Only what nothing else reads: else it would move both floats and codes.
        """
        moves: list[NodeProto] = []
        name = node.input[0]
        while name not in self._graph.outputs and len(self._graph.readers[name]) == 1:
            maker = self._graph.makers.get(name)
            if maker is None or not self._paths.moves(maker, self._paths.step(node)):
                break
            moves.append(maker)
            name = maker.input[0]
        return moves

    def _table(self, node: NodeProto, number: int) -> NodeProto | None:
        """Make a node for the table of a quantiser, if it has one."""
        try:
            region = self._least(self._paths.region(node, number))
        except OpenPathError:
            return None
        if not 1 <= len(region.leaves) <= 2 or region.bits > _BITS:
            return None
        table = tabled(region, self._graph)
        if table is None:
            return None
        out, names = node.output[0], list(region.leaves)
        self._regions[out], self._paths.kinds[out] = region, table.values.dtype
        name = node.name or out
        if table.same and table.values.dtype == self._paths.kind(names[0]):
            return helper.make_node("Identity", names, [out], name)
        self._tables.append(table)
        return helper.make_node(
            TABLE, names, [out], name, domain=DOMAIN, index=len(self._tables) - 1
        )

    def _least(self, region: Region) -> Region:
        """Let regions of leaves take their place, where that makes fewer look-ups, or not more."""
        choices = list(self._choices(region))
        if self._separate and self._apart(region):
            choices = [one for one in choices if len(one.leaves) == 1] or [region]
        return min(choices, key=lambda one: (self._cost(one), one.bits, -len(one.nodes)))

    def _apart(self, region: Region) -> bool:
        """Return whether a table stays apart from those of its leaves: one code from two.

        Codes are looked up for nothing behind what makes them, also behind jobs on two maps. But
        codes times a gate that is made of them, as in a hard swish, are a table of one code.
        """
        counts = [
            len(self._regions[leaf].leaves) for leaf in region.leaves if leaf in self._regions
        ]
        return region.bits <= _BITS and (len(region.leaves) == 2 or 2 in counts)

    def _cost(self, region: Region) -> int:
        """Count what is read for each result: also by tables whose results only this one reads."""
        inner = {id(node) for node in region.nodes.values()}

        def inside(name: str) -> bool:
            readers = self._graph.readers.get(name, [])
            return name not in self._graph.outputs and all(id(one) in inner for one in readers)

        private = [
            self._regions[name]
            for name in region.leaves
            if name in self._regions
            and all(
                one.op_type == "DequantizeLinear" and inside(one.output[0])
                for one in self._graph.readers.get(name, [])
            )
        ]
        return len(region.leaves) + sum(len(one.leaves) for one in private)

    def _choices(self, region: Region) -> Iterator[Region]:
        options = [
            [None, *([self._regions[name]] if name in self._regions else [])]
            for name in region.leaves
        ]
        for chosen in product(*options):
            leaves: dict[str, np.dtype[Any]] = {}
            nodes, constants = dict(region.nodes), region.constants
            for (name, kind), other in zip(region.leaves.items(), chosen, strict=True):
                leaves |= {name: kind} if other is None else other.leaves
                nodes |= {} if other is None else other.nodes
                constants |= frozenset() if other is None else other.constants
            # A leaf that is kept for one part is not computed in another.
            if not any(
                node.op_type == "QuantizeLinear" and node.output[0] in leaves
                for node in nodes.values()
            ):
                made = Region(leaves, nodes, constants)
                if (made.bits <= _BITS and len(leaves) <= 2) or made.nodes == region.nodes:
                    yield made

    def _replaced(self, nodes: list[NodeProto]) -> Lowered:
        outputs = self._lowered.graph.outputs
        useful, _ = needed(nodes, outputs)
        used = [one.attribute[0].i for one in useful if one.op_type == TABLE]
        for one in useful:
            if one.op_type == TABLE:
                one.attribute[0].i = used.index(one.attribute[0].i)
        tables = [self._tables[index] for index in used]
        proto = with_nodes(self._lowered.proto, useful, outputs)
        return replace(self._lowered, proto=proto, tables=tables)
