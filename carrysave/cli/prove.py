"""``carrysave prove``."""

import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from cyclopts import Parameter
from cyclopts.types import ExistingFile

from carrysave.api.targets import library_of
from carrysave.cli.options import Json, Name, Sets, console, errors, settings
from carrysave.errors import UsageError
from carrysave.progress import Steps
from carrysave.prove.circuit import circuit_of, design_of, source_of
from carrysave.prove.netlist import FAMILIES, Cells, mapped_for, netlist_circuit
from carrysave.prove.prove import prove as prove_circuit
from carrysave.prove.proving import Verdict
from carrysave.prove.report import data, describe
from carrysave.prove.wide import ELEMENTS, WideDesign
from hw.emit import tools

if TYPE_CHECKING:
    from carrysave.asic.liberty.cells import Library

__all__ = ["prove"]

Mapped = Annotated[
    str | None,
    Parameter(
        help="Prove the mapped netlist: osu018, generic, sky130, gf180, ihp, a Liberty file, or"
        " ecp5; --verilog is then such a netlist, in place of what synthesis makes."
    ),
]


def prove(
    design: Name = None,
    /,
    *,
    parameter: Sets = None,
    verilog: Annotated[
        ExistingFile | None,
        Parameter(help="Prove this Verilog in place of ours: same module, same ports."),
    ] = None,
    mapped: Mapped = None,
    certificate: Annotated[
        Path | None, Parameter(help="Folder for the proof's steps, for another program to check.")
    ] = None,
    json_: Json = False,
) -> int:
    """Prove by algebra that an element adds the products of its operands to its sum.

    `mac`, `opt1` and `opt2`, with operands of up to 64 bits and sums of up to 160, beyond what the
    catalogue has. The generated Verilog becomes gates; full and half adders, and carries of prefix
    adders, are recognised in them, and the sum of the outputs is rewritten, adder by adder, to a
    polynomial of the operands. Each step is checked against the gates. It is proven if nothing is
    left, modulo 2^accumulator_width; else there are operands for which the sum is wrong, and a
    stream is looked for in which the netlist and the golden twin differ.

    With --mapped, it is the netlist that is proven, by what its cells compute. Gates that equal one
    of the design's are proven to, by polynomials of a few gates, so that what is proven of the
    design holds of the netlist. What is left is for ABC's SAT solver, and has no certificate.

    Proven is what one cycle makes of any sum, with the clock enabled. Which cycles these are
    (stalls, resets, the start of a sum) is for `carrysave verify`.

    The exit code is 0 only if all is proven.

    **Examples:**

    - `carrysave prove opt1`
    - `carrysave prove opt1 -p a_width=32 -p b_width=32 -p accumulator_width=72`
    - `carrysave prove opt1 -p a_width=16 -p b_width=16 -p accumulator_width=40 --mapped osu018`
    - `carrysave prove mac -p k=4 -p adder=kogge_stone --certificate proof --json`
    """
    if design is None:
        raise UsageError(f"a design must be named: {', '.join(ELEMENTS)}")
    if certificate is not None and certificate.exists() and not certificate.is_dir():
        raise UsageError(f"--certificate must be a folder, not the file {str(certificate)!r}")
    chosen = design_of(design, settings(parameter))
    target = None
    if mapped is not None:
        target = mapped if mapped in FAMILIES else library_of(mapped, "mapped", FAMILIES)
    with Steps(errors) as steps:
        steps.step(f"turn {chosen.module} into gates")
        circuit = circuit_of(chosen, verilog if target is None else None)
        netlist = None if target is None else _netlist(chosen, target, verilog, steps)
        proof = prove_circuit(
            circuit, chosen.spec, netlist=netlist, folder=certificate, progress=steps.step
        )
    if json_:
        print(json.dumps(data(chosen, proof) | {"mapped": mapped}, indent=2))
    else:
        console.print(describe(chosen, proof), highlight=False, markup=False, soft_wrap=True)
    return 0 if proof.verdict is Verdict.PROVEN else 1


def _netlist(
    design: WideDesign, target: "str | Library", verilog: Path | None, steps: Steps
) -> str:
    """Return the circuit of a design's netlist, or of one that a user has."""
    from carrysave.asic.bench_job import netlist_sources  # slow to load
    from carrysave.asic.liberty.cells import cell_models

    if isinstance(target, str):
        cells = FAMILIES[target]
        text = source_of(verilog) if verilog else mapped_for(design, target)
    else:
        gates = {cell.name: cell.gate for cell in target.cells.values() if cell.gate}
        cells = Cells(cell_models(target), gates)
        if verilog is not None:
            text = source_of(verilog)
        else:
            steps.step(f"synthesise {design.module} for {target.name}")
            with tools.workplace() as folder:
                text = netlist_sources(design, target, folder)[0].read_text()
    steps.step("turn the netlist into gates")
    return netlist_circuit(design.module, text, cells)
