"""The combinational core of an element: from operands to the next value of its sum."""

import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass

from carrysave.prove.aig import FALSE, TRUE, Aig, Step, Unrolled, node_of
from golden.pe.mac import MacSpec

__all__ = ["KNOWN", "Core", "NotUnderstoodError", "core_of"]

KNOWN = {"clk": False, "rst": False, "o_ready": True}
"""Inputs that are constant: no reset, and results are taken, so that the clock is enabled."""


_SUM = re.compile(r"o_(?:sum|carry)\[(\d+)\]")


class NotUnderstoodError(ValueError):
    """A circuit is not of the kind that is proven; the text says why."""


@dataclass(frozen=True)
class Core:
    """What is proven: sum' = (clear ? 0 : sum) + taken x (products of a and b), modulo 2^width.

    Members
    -------
    aig : both parts: outputs of the accumulator's registers, and next values of these.
    width : bits of the sum.
    outputs : weight (its logarithm) and literal of each bit of the sum and of its carries, as
        functions of the accumulator's registers.
    next : literal of each register's next value, by the node that is its value before.
    a, b : literals of the operands' bits, lowest first; of all pairs.
    clear : literal that clears the sum; FALSE if nothing does.
    taken : literal that says that operands are taken.
    through : registers that were looked through.
    cut : registers that were cut: the accumulator's, and those of control.
    """

    aig: Aig
    width: int
    outputs: Sequence[tuple[int, int]]
    next: Mapping[int, int]
    a: Sequence[int]
    b: Sequence[int]
    clear: int
    taken: int
    through: Sequence[str]
    cut: Sequence[str]


def core_of(step: Step, spec: MacSpec) -> Core:
    """Cut the core out of an element between two streams, with the clock enabled.

    Raises
    ------
    NotUnderstoodError
        There is no such core.
    """
    width = sum(name.startswith("o_sum[") for name in step.outputs)
    if width != spec.accumulator_width:
        raise NotUnderstoodError(f"its sum has {width} bits, not {spec.accumulator_width}")
    accumulator, through = _registers(step)
    ready = step.outputs.get("i_ready", FALSE)
    unrolled = Unrolled(step, through, ready)
    aig = unrolled.aig
    outputs = []
    for name, literal in sorted(step.outputs.items()):
        if match := _SUM.fullmatch(name):
            outputs.append((int(match[1]), unrolled.literal(literal, 0)))
    cycle = _cycle(aig, accumulator, "the accumulator's registers")
    following = {
        node_of(aig.input(f"{name}@{cycle}")): unrolled.literal(step.next[name], cycle)
        for name in accumulator
    }
    a = _operand_bits(aig, "i_a", spec.k * spec.a_width)
    b = _operand_bits(aig, "i_b", spec.k * spec.b_width)
    known = {*(aig.names[node_of(read)] for read in (*a, *b)), *(aig.names[n] for n in following)}
    controls = [name for name in aig.names.values() if name not in known and name[:4] != "cut@"]
    taken = [name for name in aig.names.values() if name.startswith("cut@")]
    if len(controls) > 1 or len(taken) > 1:
        raise NotUnderstoodError(f"its sum depends on {', '.join((*controls, *taken))}")
    return Core(
        aig,
        width,
        outputs,
        following,
        a,
        b,
        clear=aig.input(controls[0]) if controls else FALSE,
        taken=aig.input(taken[0]) ^ (ready & 1) if taken else TRUE,
        through=through,
        cut=[*accumulator, *controls],
    )


def _registers(step: Step) -> tuple[list[str], list[str]]:
    """Return the registers of the accumulator, and those that only delay what they have."""
    support = _supports(step.aig)
    sources = {name: support[node_of(read)] for name, read in step.next.items()}
    data = _reached(sources, filter(_operand, step.aig.names.values()))
    # What an accumulator holds comes back to it, or goes on to what does.
    feeding = {name for name in data if name in _reached(sources, [name])}
    new = feeding
    while new:
        new = {name for after in new for name in sources[after] if name in data} - feeding
        feeding |= new
    # Operands go on to it, too: of them all, it is what is nearest to the outputs.
    outputs = [read for name, read in step.outputs.items() if _SUM.fullmatch(name)]
    waiting = {name for read in outputs for name in support[node_of(read)] if name in data}
    accumulator: set[str] = set()
    while waiting:
        accumulator |= waiting & feeding
        late = waiting - feeding
        waiting = {name for after in late for name in sources[after] if name in data} - accumulator
    through = [
        name
        for name in step.next
        if name not in accumulator and (name in data or not sources[name])
    ]
    loops = set(through)
    while ends := {name for name in loops if not sources[name] & loops}:
        loops -= ends
    if loops:
        some = ", ".join(sorted(loops)[:3])
        raise NotUnderstoodError(f"what comes back to itself is not its sum alone: {some}")
    return [name for name in step.next if name in accumulator], through


def _operand(name: str) -> bool:
    return re.match(r"i_[ab]\[", name) is not None


def _operand_bits(aig: Aig, port: str, width: int) -> list[int]:
    """Return the literals of a port's bits, in the one cycle in which it is read."""
    names = [f"{port}[{bit}]" for bit in range(width)]
    cycle = _cycle(aig, names, port)
    return [aig.input(f"{name}@{cycle}") for name in names]


def _cycle(aig: Aig, names: Collection[str], what: str) -> int:
    """Return the one cycle in which inputs of these names are read."""
    split = [name.rpartition("@") for name in aig.names.values()]
    cycles = {int(cycle) for name, _, cycle in split if name in names}
    if len(cycles) != 1:
        raise NotUnderstoodError(f"{what} are read in {len(cycles)} cycles, not in one")
    return cycles.pop()


def _supports(aig: Aig) -> list[frozenset[str]]:
    """Return for each node the names of the inputs that it depends on."""
    support: list[frozenset[str]] = []
    for node, gate in enumerate(aig.gates):
        if gate is not None:
            support.append(support[node_of(gate[0])] | support[node_of(gate[1])])
        else:
            support.append(frozenset({aig.names[node]} if node else ()))
    return support


def _reached(sources: Mapping[str, frozenset[str]], start: Iterable[str]) -> set[str]:
    """Return the registers that depend on some names, after a cycle or more."""
    reached: set[str] = set()
    new = set(start)
    while new:
        new = {name for name, needs in sources.items() if name not in reached and needs & new}
        reached |= new
    return reached
