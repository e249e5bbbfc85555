"""Tables of one code behind what makes the codes: these are looked up on their way to memory."""

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from carrysave.compiler.graph.code_table import TABLE, CodeTable
from carrysave.compiler.graph.graph import DOMAIN
from carrysave.compiler.lowered.engine_codes import code_offset
from carrysave.compiler.lowered.lowered import Lowered
from carrysave.compiler.target.target import Target
from carrysave.driver.job import TABLE_BYTES
from carrysave.driver.system import Tensor

__all__ = ["LookUp", "Result", "codes_of_bytes", "composed", "look_ups", "table_bytes", "with_axes"]


@dataclass(frozen=True, kw_only=True, eq=False)
class LookUp:
    """A table that alone reads codes.

    Members
    -------
    output : the tensor that it makes.
    table : it.
    """

    output: str
    table: CodeTable


def look_ups(lowered: Lowered, target: Target, states: Iterable[str]) -> Mapping[str, LookUp]:
    """Return the tables that a job may do beside what it makes, by the codes that they read.

    Parameters
    ----------
    states : names that are read after a run, too.
    """
    if not target.spec.table:
        return {}
    nodes = lowered.proto.graph.node
    uses = Counter(name for node in nodes for name in node.input)
    uses.update((*lowered.graph.outputs, *states))
    return {
        node.input[0]: LookUp(output=node.output[0], table=table)
        for node in nodes
        if node.domain == DOMAIN and node.op_type == TABLE and uses[node.input[0]] == 1
        if (table := lowered.tables[node.attribute[0].i]).values.ndim == 1
    }


def table_bytes(target: Target, table: CodeTable, offset: int) -> bytes:
    """Write a table as jobs have it: by the byte of a code, which is the code less an offset."""
    places = codes_of_bytes(offset, table.lows[0], len(table.values))
    to = code_offset("A", table.values.dtype, target.mode.a)
    return (table.values.astype(np.int64)[places] - to).astype(np.int8).tobytes()


def codes_of_bytes(offset: int, low: int, size: int) -> np.ndarray:
    """Return the place in a table of each byte that may be in memory."""
    bytes_ = np.arange(TABLE_BYTES).astype(np.uint8).view(np.int8).astype(np.int64)
    return np.clip(bytes_ + offset - low, 0, size - 1)


@dataclass(frozen=True, kw_only=True, eq=False)
class Result:
    """What a product's job leaves in memory.

    Members
    -------
    name, kind, offset : of the tensor.
    table, written : in which codes are looked up, as it is, and as the job has it; None: in none.
    """

    name: str
    kind: "np.dtype[Any]"
    offset: int
    table: CodeTable | None = None
    written: bytes | None = None

    @classmethod
    def of(
        cls, behind: Mapping[str, LookUp], target: Target, name: str, kind: "np.dtype[Any]"
    ) -> "Result":
        """Return that of a product's codes, or of the table behind them, of :func:`look_ups`."""
        after = behind.get(name)
        offset = code_offset("C", kind, target.info.codes)
        if after is None:
            return cls(name=name, kind=kind, offset=offset)
        table, made = after.table, after.table.values.dtype
        return cls(
            name=after.output, kind=made, offset=code_offset("A", made, target.mode.a), table=table,
            written=table_bytes(target, table, offset),
        )  # fmt: skip

    def tensor(self, sources: np.ndarray) -> Tensor:
        """Return it, from where codes are."""
        if self.table is not None:
            sources = with_axes(sources, self.table)
        return Tensor(sources, self.kind, self.offset)


def composed(table: CodeTable, after: CodeTable) -> CodeTable:
    """Return two tables as one: each code of the first is looked up in the second."""
    places = table.values.astype(np.int64) - after.lows[0]
    axes = max(table.axes, after.axes)
    return replace(table, values=after.values[places], axes=axes, operator=None, rule=None)


def with_axes(sources: np.ndarray, table: CodeTable) -> np.ndarray:
    """Return sources with as many axes as the results of a table have at least."""
    return sources.reshape((1,) * (table.axes - sources.ndim) + sources.shape)
