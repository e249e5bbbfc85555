"""The template of contracts: all atoms that the timing of a design may depend on."""

from collections.abc import Iterator, Sequence

from carrysave.contract.atoms import Atom, Group, Slice
from carrysave.contract.handshakes import Handshakes
from carrysave.contract.operands import Digits, Operand
from golden.engine import EngineSpec
from golden.pe.mac import MacSpec
from hw.catalog import Design

__all__ = ["operands_of", "template_of"]

_SINGLE = 8
"""Most codes of an operand that have atoms of their own."""


def template_of(design: Design, core: Handshakes) -> list[Atom | Slice]:
    """Return the atoms of a design, of which each reads inputs of one stream.

    Operands of elements and engines have counts of digits: of a code, of a lane (codes whose places
    are equal modulo the lanes), of a row, of all; sums of these, their maximum, and the same of
    products of both operands. Every input has its sign and its value.
    """
    operands = [each for each in operands_of(design, core) if each.field in core.reaching]
    atoms: list[Atom | Slice] = []
    for operand in operands:
        atoms += _counts(operand)
    if [operand.field for operand in operands] == ["i_a", "i_b"]:
        atoms += _products(*operands)
    for name in (each for each in core.reaching if each not in core.known):
        width = core.fields[name]
        if width > 1:
            atoms.append(Slice(f"sign({name})", name, width - 1, 1))
        atoms.append(Slice(f"value({name})", name, 0, width))
    return atoms


def operands_of(design: Design, core: Handshakes) -> Iterator[Operand]:
    """Find the operands of integers at the inputs, where their places are known."""
    spec = design.spec
    if isinstance(spec, MacSpec):
        shapes = {"i_a": (1, spec.a_codes), "i_b": (1, spec.k)}
    elif isinstance(spec, EngineSpec) and not spec.bipolar:
        shapes = {"i_a_data": (spec.m, spec.a_codes), "i_b_data": (spec.b_codes, spec.n)}
    else:
        return
    for field, (rows, codes) in shapes.items():
        first = field[2] == "a"
        fmt = spec.a_format if first else spec.b_format
        recoded = first and bool(getattr(spec, "a_recoded", False))
        operand = Operand(field, fmt, rows, codes, recoded)
        if core.fields.get(field) == rows * codes * operand.width:
            yield operand


def _counts(operand: Operand) -> Iterator[Atom]:
    """Yield the atoms of counts of one operand."""
    field, rows, codes = operand.field, operand.rows, operand.codes
    total = rows * codes
    for recoding in operand.recodings:
        each: list[Group] = [((Digits(operand, number, recoding),),) for number in range(total)]
        text = f"{recoding}_digits({field})"
        if total <= _SINGLE:
            for number, group in enumerate(each):
                place = f"{field}[{number}]" if total > 1 else field
                if recoding == operand.recodings[0]:
                    yield Atom(f"nonzero({place})", (group,), most=1)
                yield from _limited(f"{recoding}_digits({place})", (group,))
        powers = {1 << bit for bit in range(codes.bit_length())}
        for lanes in sorted(count for count in {*powers, codes} if count <= codes):
            groups = [
                _joined(each[row * codes + lane : (row + 1) * codes : lanes])
                for row in range(rows)
                for lane in range(lanes)
            ]
            if len(groups) > 1:
                yield from _limited(f"max over {_named(rows, lanes, codes)} of {text}", groups)
            if total > rows > 1 and lanes == 1 and rows <= _SINGLE:
                for row, group in enumerate(groups):
                    yield from _limited(f"sum over row {row} of {text}", (group,))
        if total > 1:
            yield from _limited(f"sum of {text}", (_joined(each),))


def _named(rows: int, lanes: int, codes: int) -> str:
    """Say of what a group is: rows, lanes of a row, or codes."""
    if lanes == codes:
        return "codes" if codes > 1 else "rows"
    return f"{lanes} lanes" + (" of each row" if rows > 1 else "") if lanes > 1 else "rows"


def _products(a: Operand, b: Operand) -> Iterator[Atom]:
    """Yield the atoms of products of counts of both operands, code by code."""
    for recoding in a.recodings:
        if recoding not in b.recodings or a.codes != b.codes:
            continue
        each: list[Group] = [
            ((Digits(a, number, recoding), Digits(b, number, recoding)),)
            for number in range(a.codes)
        ]
        text = f"{recoding}_digits({a.field}) x {recoding}_digits({b.field})"
        if a.codes > 1:
            yield from _limited(f"max over codes of {text}", each)
        yield from _limited(f"sum of {text}" if a.codes > 1 else text, (_joined(each),))


def _joined(groups: Sequence[Group]) -> Group:
    """Make one group of some."""
    return tuple(product for group in groups for product in group)


def _limited(name: str, groups: Sequence[Group]) -> Iterator[Atom]:
    """Yield an atom as it is, and with zero counted as one, as no beat takes less than a cycle."""
    yield Atom(f"max(1, {name})", tuple(groups), least=1)
    yield Atom(name, tuple(groups))
