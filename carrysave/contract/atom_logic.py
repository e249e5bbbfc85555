"""Atoms as gates: their values, and inputs that have the same ones."""

from collections.abc import Mapping, Sequence
from functools import reduce
from typing import Any

from amaranth import Cat, Module, Mux, Signal, Value
from amaranth.back import rtlil  # type: ignore[attr-defined]

from carrysave.contract.atoms import Atom, Product, Slice, sums_of
from carrysave.contract.handshakes import Handshakes
from carrysave.contract.operands import Digits
from hw.arith import recode

__all__ = ["VALUES", "stage_logic", "value_logic", "value_width"]

VALUES = "values__"
"""Module with the inputs that atoms read, and an output for all values of atoms."""

_RECODERS = {
    "naf": recode.naf_digits,
    "booth": recode.booth_digits,
    "ent": recode.ent_digits,
    "ent_direct": recode.ent_direct_digits,
}


def value_logic(core: Handshakes, atoms: Sequence[Atom | Slice]) -> str:
    """Return RTLIL of the module :data:`VALUES`, whose output ``o`` has the first atom lowest."""
    m = Module()
    inputs = _inputs(core, atoms)
    o = Signal(sum(map(value_width, atoms)))
    m.d.comb += o.eq(Cat(_value(m, inputs, atom) for atom in atoms))
    return _rtlil(m, VALUES, [*inputs.values(), o])


def stage_logic(core: Handshakes, atom: Atom | Slice | None, stage: int, name: str) -> str:
    """Return RTLIL of a module with other inputs that have the same value of an atom.

    Its outputs are ``to_i_a`` for each input ``i_a`` that the atom reads, and `missing`, which is 1
    if there are no such inputs.

    Parameters
    ----------
    stage : 0: inputs are as they are. Then code by code is an example of its number of digits; then
        group by group is zero, and the first group has what is the most of all so far; the last,
        :attr:`~carrysave.contract.atoms.Atom.stages`, has an example of each value of the atom.
    """
    m = Module()
    inputs = _inputs(core, [atom] if atom else [])
    outputs = {field: Signal(core.fields[field], name=f"to_{field}") for field in inputs}
    missing = Signal()
    # What nothing drives would be an input.
    m.d.comb += missing.eq(0)
    m.d.comb += [outputs[field].eq(inputs[field]) for field in inputs if atom]
    if atom is not None and stage == atom.stages:
        assert atom.states is not None
        _choose(m, _value(m, inputs, atom), atom.states, outputs, missing)
    elif isinstance(atom, Atom):
        for digits in atom.codes[:stage]:
            low = digits.number * digits.operand.width
            examples = {
                count: {digits.operand.field: pattern << low}
                for count, pattern in digits.operand.examples(digits.recoding).items()
            }
            part = {digits.operand.field: _bits(digits)}
            _choose(m, _count(m, inputs, digits), examples, outputs, missing, part)
        if stage > len(atom.codes):
            groups = atom.groups[: stage - len(atom.codes) + 1]
            most = _most(m, [_sum(m, inputs, group) for group in groups])
            part = {}
            for digits in (digits for group in groups for product in group for digits in product):
                field = digits.operand.field
                part[field] = part.get(field, 0) | _bits(digits)
            _choose(m, most, sums_of(groups[0]), outputs, missing, part)
    return _rtlil(m, name, [*inputs.values(), *outputs.values(), missing])


def _bits(digits: Digits) -> int:
    """Return the bits of an input that are a code."""
    width = digits.operand.width
    return (1 << width) - 1 << digits.number * width


def _choose(
    m: Module,
    value: Value,
    states: Mapping[int, Mapping[str, int]],
    outputs: Mapping[str, Signal],
    missing: Signal,
    part: Mapping[str, int] | None = None,
) -> None:
    """Set bits of outputs, all or those of `part`, by a value; all that is not given is zero."""

    def assign(fields: Mapping[str, int]) -> list[Any]:
        return [
            outputs[field][bit].eq(fields.get(field, 0) >> bit & 1)
            for field in outputs
            for bit in range(len(outputs[field]))
            if part is None or part.get(field, 0) >> bit & 1
        ]

    with m.Switch(value):
        for case, fields in states.items():
            with m.Case(case):
                m.d.comb += assign(fields)
        with m.Default():
            m.d.comb += missing.eq(1)


def value_width(atom: Atom | Slice) -> int:
    """Return the bits of an atom's value."""
    if isinstance(atom, Slice):
        return atom.width
    return max(atom.states).bit_length()


def _inputs(core: Handshakes, atoms: Sequence[Atom | Slice]) -> dict[str, Signal]:
    names = sorted({name for atom in atoms for name in atom.fields})
    return {name: Signal(core.fields[name], name=name) for name in names}


def _rtlil(m: Module, name: str, ports: list[Signal]) -> str:
    return rtlil.convert(m, name=name, ports=ports, emit_src=False)


def _value(m: Module, inputs: dict[str, Signal], atom: Atom | Slice) -> Value:
    """Return the value of an atom, of :func:`value_width` bits."""
    width = value_width(atom)
    value = Signal(width, name="value")
    if isinstance(atom, Slice):
        m.d.comb += value.eq(inputs[atom.field][atom.start : atom.start + width])
        return value
    most = _most(m, [_sum(m, inputs, group) for group in atom.groups])
    most = _signal(m, Mux(most < atom.least, atom.least, most))
    if atom.most is not None:
        most = _signal(m, Mux(most > atom.most, atom.most, most))
    m.d.comb += value.eq(most)
    return value


def _most(m: Module, sums: list[Value]) -> Value:
    """Return the largest."""
    return reduce(lambda one, other: _signal(m, Mux(one > other, one, other)), sums)


def _sum(m: Module, inputs: dict[str, Signal], group: Sequence[Product]) -> Value:
    """Add up products of counts."""
    products = [
        reduce(lambda one, other: one * other, [_count(m, inputs, digits) for digits in product])
        for product in group
    ]
    return _signal(m, sum(products[1:], products[0]))


def _signal(m: Module, value: Value) -> Signal:
    """Give a value a name of its own, so that it is built once."""
    signal = Signal(len(value))
    m.d.comb += signal.eq(value)
    return signal


def _count(m: Module, inputs: dict[str, Signal], digits: Digits) -> Value:
    """Count the digits of a code that are not zero."""
    operand = digits.operand
    code = inputs[operand.field].word_select(digits.number, operand.width)
    if digits.recoding == "given":
        nonzero = [code[at] | code[at + 1] for at in range(0, operand.width, 3)]
    elif digits.recoding == "ones":
        nonzero = list(code)
    else:
        # Amaranth names signals of recoders alike: those of a submodule do not meet.
        part = Module()
        m.submodules += part
        nonzero = [one | two for one, two, _ in _RECODERS[digits.recoding](part, code, operand.fmt)]
    return _signal(m, sum(nonzero[1:], nonzero[0]))
