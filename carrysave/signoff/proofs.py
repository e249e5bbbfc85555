"""Proofs of one design: of its sum by algebra, and of what its timing depends on."""

from typing import Any

from carrysave.contract.contract import contract_of
from carrysave.contract.contract import data as contract_data
from carrysave.contract.handshakes import handshakes_of
from carrysave.prove.circuit import circuit_of, design_of
from carrysave.prove.core import NotUnderstoodError
from carrysave.prove.prove import prove
from carrysave.prove.report import data as proof_data
from carrysave.signoff.part import FAILED, IMPOSSIBLE, PASSED
from hw.catalog import Design

__all__ = ["proof", "timing"]


def proof(name: str, parameters: dict[str, Any]) -> dict[str, Any]:
    """Prove that an element multiplies and adds: a job's function; a part without its name."""
    design = Design(name, parameters)
    try:
        chosen = design_of(name, {key: str(value) for key, value in design.changed.items()})
        circuit = circuit_of(chosen)
        result = proof_data(chosen, prove(circuit, chosen.spec))
    except NotUnderstoodError as error:
        return {"outcome": IMPOSSIBLE, "why": str(error), "facts": {}}
    proven = result["verdict"] == "proven"
    says = f"{result['verdict']}: {'; '.join(one['claim'] for one in result['parts'])}"
    return {"outcome": PASSED if proven else FAILED, "why": says, "facts": result}


def timing(name: str, parameters: dict[str, Any], seconds: float) -> dict[str, Any]:
    """Decide of each input whether timing depends on it: a job's function, as :func:`proof`."""
    design = Design(name, parameters)
    try:
        core = handshakes_of(design)
    except ValueError as error:
        return {"outcome": IMPOSSIBLE, "why": str(error), "facts": {}}
    result = contract_data(contract_of(design, core, seconds))
    unknown = result["unknown"]
    depends = ", ".join(result["depends_on"]) or "nothing but handshakes"
    says = f"depends on {depends}"
    if unknown:
        says += f"; not decided: {', '.join(unknown)}"
    facts = {key: result[key] for key in ("depends_on", "independent_of", "unknown")}
    return {"outcome": FAILED if unknown else PASSED, "why": says, "facts": facts}
