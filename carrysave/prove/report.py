"""A proof as text and as data."""

import re
from collections.abc import Mapping
from importlib.metadata import version
from typing import Any

from carrysave.prove.counterexample import Counterexample
from carrysave.prove.prove import Proof
from carrysave.prove.proving import Part, Verdict
from carrysave.prove.replay import Shown
from hw.catalog import Design

__all__ = ["data", "describe"]

_CLAIMS = {
    "value": "outputs = sum of the accumulator's bits times their weights, modulo 2^{width}",
    "step": "sum' = (clear ? 0 : sum) + taken x ({products}), modulo 2^{width}",
}
_MOST = 6
"""Names of registers that are printed."""


def data(design: Design, proof: Proof) -> dict[str, Any]:
    """Return a proof as JSON has it; numbers of any size are texts in hexadecimal."""
    fault = proof.parts[-1].fault if proof.parts else None
    core = proof.core
    return {
        "design": design.name,
        "module": design.module,
        "parameters": dict(design.parameters),
        "verdict": proof.verdict.value,
        "parts": [_part(part) for part in proof.parts],
        "cut": list(core.cut) if core else [],
        "through": list(core.through) if core else [],
        "counterexample": fault and _counterexample(fault),
        "shown": proof.shown and _shown(proof.shown),
        "files": [str(path) for path in proof.files],
        "versions": {name: version(name) for name in ("carrysave", "amaranth", "pyosys")},
    }


def _claim(part: Part) -> str:
    pairs = len(part.statement.a)
    products = "a x b" if pairs == 1 else f"a_0 x b_0 + ... + a_{pairs - 1} x b_{pairs - 1}"
    return _CLAIMS[part.name].format(width=part.statement.width, products=products)


def _part(part: Part) -> dict[str, Any]:
    return {
        "name": part.name,
        "claim": _claim(part),
        "verdict": part.verdict.value,
        "gates": len(part.statement.aig.cone(part.statement.outputs)),
        "adders": dict(part.adders),
        "monomials": part.monomials,
        "steps": part.steps,
        "equal": part.equal,
        "seconds": round(part.seconds, 3),
        "why": part.why,
    }


def _counterexample(fault: Counterexample) -> dict[str, Any]:
    return {
        "a": [hex(code) for code in fault.a],
        "b": [hex(code) for code in fault.b],
        "clear": fault.clear,
        "taken": fault.taken,
        "before": hex(fault.before),
        "after": hex(fault.after),
        "expected": hex(fault.expected),
    }


def _shown(shown: Shown) -> dict[str, Any]:
    return {
        "beats": [
            {"a": [hex(code) for code in a], "b": [hex(code) for code in b]} for a, b in shown.beats
        ],
        "netlist": None if shown.netlist is None else hex(shown.netlist),
        "golden": hex(shown.golden),
    }


def describe(design: Design, proof: Proof) -> str:
    """Write a proof as lines of text."""
    core, lines = proof.core, [f"{design.module}: {proof.verdict.value}"]
    for part in proof.parts:
        facts = _part(part)
        lines.append(f"  {part.name:6} {part.verdict.value:8} {facts['claim']}")
        lines.append(f"         {facts['gates']} gates{_effort(part)}; {part.seconds:.2f} s")
        if part.why:
            lines.append(f"         {part.why}")
    if core is None:
        lines.append("  of another structure than the design, and wrong")
    else:
        lines.append(f"  for all values of the operands and of {_names(core.cut)}")
        lines.append("  with the clock enabled (o_ready) and no reset; registers that only delay,")
        lines.append(f"  {_names(core.through)}, are looked through")
    if proof.parts and (fault := proof.parts[-1].fault) is not None:
        lines += _at_core(fault)
    if proof.verdict is not Verdict.PROVEN:
        lines += _at_outputs(proof.shown)
    return "\n".join([*lines, *(f"wrote {path}" for path in proof.files)])


def _effort(part: Part) -> str:
    """Write what was recognised and rewritten, if operands that were drawn did not decide it."""
    if not part.monomials:
        return ""
    adders = ", ".join(f"{count} {kind}" for kind, count in part.adders.items() if count)
    return f"; adders: {adders or 'none'}; at most {part.monomials} monomials{_equal(part)}"


def _equal(part: Part) -> str:
    return f"; {part.equal} gates of the netlist equal the design's" if part.equal else ""


def _names(names: Any) -> str:
    """Write the first names, and how many more there are."""
    listed = [re.sub(r"[\d_]*(\[\d+\])?(@-?\d+)?$", "", name) for name in names]
    counted: Mapping[str, int] = {name: listed.count(name) for name in dict.fromkeys(listed)}
    parts = [name if count == 1 else f"{name} ({count} bits)" for name, count in counted.items()]
    more = f" and {len(parts) - _MOST} more" if len(parts) > _MOST else ""
    return ", ".join(parts[:_MOST]) + more if parts else "no register"


def _at_core(fault: Counterexample) -> list[str]:
    """Write a counterexample."""
    operands = f"a = {_codes(fault.a)}, b = {_codes(fault.b)}, " if fault.a else ""
    return [
        f"  counterexample: {operands}clear = {fault.clear:d}, taken = {fault.taken:d},"
        f" sum = 0x{fault.before:x}:",
        f"    what comes is 0x{fault.after:x}, and should be 0x{fault.expected:x}",
    ]


def _at_outputs(shown: Shown | None) -> list[str]:
    """Write a stream with a wrong sum."""
    if shown is None:
        return ["  of the streams that were simulated from reset on, no sum is wrong"]
    came = "none" if shown.netlist is None else f"0x{shown.netlist:x}"
    beats = ", ".join(f"{_codes(a)} x {_codes(b)}" for a, b in shown.beats)
    return [
        f"  simulated from reset on, beats {beats}:",
        f"    the netlist's sum is {came}, the golden twin's 0x{shown.golden:x}",
    ]


def _codes(codes: tuple[int, ...]) -> str:
    return ", ".join(f"0x{code:x}" for code in codes)
