"""Contracts of atoms: text and data."""

from typing import Any

from carrysave.contract.atoms import Atom, Slice
from carrysave.contract.miter import Verdict, Witness
from carrysave.contract.synthesis import Atoms

__all__ = ["atoms_data", "describe_atoms"]

_PROOFS = {
    Verdict.STRUCTURE: "no gate leads from it",
    Verdict.INDUCTION: "proven by induction",
}


def atoms_data(contract: Atoms) -> dict[str, Any]:
    """Return a contract of atoms as JSON has it."""
    core = contract.core
    return {
        "design": contract.design.name,
        "module": core.module,
        "parameters": dict(contract.design.parameters),
        "outputs": list(core.outputs),
        "controls": [core.reset, *core.controls, *core.known],
        "proven": contract.proven,
        "atoms": [
            _atom(atom) | {"without": _runs(contract.without[atom.name])}
            for atom in contract.chosen
        ],
        "template": [_atom(atom) for atom in contract.template],
        "counterexamples": {"drawn": contract.drawn, "solved": contract.solved},
    }


def _atom(atom: Atom | Slice) -> dict[str, Any]:
    return {"name": atom.name, "inputs": sorted(atom.fields), "values": atom.values}


def _runs(witness: Witness) -> dict[str, Any]:
    return {
        "cycles": witness.cycles,
        "inputs": [dict(values) for values in witness.inputs],
        "other": [dict(values) for values in witness.other],
    }


def describe_atoms(contract: Atoms) -> str:
    """Write a contract of atoms as lines of text."""
    core = contract.core
    names = [", ".join([core.reset, *core.controls, *core.known])]
    names += [atom.name for atom in contract.chosen]
    wide = max(map(len, names))
    lines = [
        f"{core.module}: when {', '.join(core.outputs)} are high depends on",
        f"  {names[0]:{wide}}  taken as known",
    ]
    for atom in contract.chosen:
        witness = contract.without[atom.name]
        lines.append(
            f"  {atom.name:{wide}}  {_number(atom.values)} values; without it"
            f" {_differing(witness)} shows in cycle {witness.cycles - 1}"
        )
    proof = _PROOFS.get(contract.verdict, "not proven in time, nor refuted")
    lines.append(f"  {'nothing else':{wide}}  {proof}")
    if contract.template:
        lines.append(
            f"the least of {len(contract.template)} atoms: all that tell less are refuted by"
            f" {contract.drawn} pairs of runs that were drawn, and {contract.solved} of a solver"
        )
    return "\n".join(lines)


def _number(values: int) -> str:
    """Write how many values there are; large ones are powers of two."""
    return str(values) if values < 1 << 16 else f"2^{values.bit_length() - 1}"


def _differing(witness: Witness) -> str:
    """Name the first inputs that differ."""
    for cycle, (values, other) in enumerate(zip(witness.inputs, witness.other, strict=True)):
        different = [
            f"{name} of 0x{values[name]:x} or 0x{value:x}"
            for name, value in other.items()
            if values[name] != value
        ]
        if different:
            return f"{', '.join(different)} in cycle {cycle}"
    raise AssertionError("two runs that are the same do not differ")
