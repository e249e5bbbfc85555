"""A netlist's core beside that of the design, over the same inputs and registers."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from carrysave.prove.aig import Aig, Step, node_of
from carrysave.prove.core import Core, NotUnderstoodError, core_of
from carrysave.prove.statement import Statement
from golden.pe.mac import MacSpec

__all__ = ["Beside", "beside"]


@dataclass(frozen=True)
class Beside:
    """Both circuits in one, the design's nodes first.

    Members
    -------
    outputs : literals of the netlist's sum and carries, in the order of the core's.
    next : literal of the next value of each register in the netlist, by the register's node.
    """

    aig: Aig
    outputs: tuple[int, ...]
    next: Mapping[int, int]

    def of(self, statement: Statement) -> Statement:
        """Return what a statement about the design says of the netlist."""
        reads: Sequence[int] = self.outputs
        if statement.a:
            # What follows the sum's bits is in their order.
            reads = [self.next[node_of(read)] for _, read in statement.before]
        weights = [weight for weight, _ in statement.after]
        return replace(statement, aig=self.aig, after=list(zip(weights, reads, strict=True)))


def beside(design: Step, core: Core, netlist: Step, spec: MacSpec) -> Beside:
    """Put a netlist's core beside that of its design.

    Operands, the bits of control and the sums are known by what they do, registers of the sum by
    their names.

    Raises
    ------
    NotUnderstoodError
        The netlist has no such core, or other registers.
    """
    other = core_of(netlist, spec)
    aig = core.aig.copy()
    registers = {core.aig.names[node].rpartition("@")[0]: node for node in core.next}
    same = {
        name: alias
        for alias, name in netlist.aliases.items()
        if design.aliases.get(alias) in registers
    }
    reads = {0: 0}
    for mine, theirs in (
        *zip(core.a, other.a, strict=True),
        *zip(core.b, other.b, strict=True),
        (core.clear, other.clear),
        (core.taken, other.taken),
    ):
        if (mine < 2) != (theirs < 2):
            raise NotUnderstoodError("its netlist has other bits of control")
        reads[node_of(theirs)] = mine ^ (theirs & 1)
    for node in other.next:
        name = other.aig.names[node].rpartition("@")[0]
        if name not in same:
            raise NotUnderstoodError(f"its netlist has a register more: {name}")
        reads[node] = 2 * registers[design.aliases[same[name]]]

    def literal(read: int) -> int:
        return reads[node_of(read)] ^ (read & 1)

    for node, gate in enumerate(other.aig.gates):
        if gate is not None:
            reads[node] = aig.both(literal(gate[0]), literal(gate[1]))
    following = {node_of(reads[node]): literal(read) for node, read in other.next.items()}
    if following.keys() != core.next.keys() or len(other.outputs) != len(core.outputs):
        raise NotUnderstoodError("its netlist has not all registers of the sum")
    return Beside(aig, tuple(literal(read) for _, read in other.outputs), following)
