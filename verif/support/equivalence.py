"""Proofs that mutants of a design are no faults."""

from pathlib import Path
from typing import Any

from golden.engine import EngineSpec
from golden.npe.activation import ActivationSpec
from golden.tpe.lut_core import LutCoreSpec
from hw.catalog import Design
from hw.emit import yosys
from hw.emit.verilog import Emission
from verif.support.alike import always_same

__all__ = ["by_outputs", "by_reachability", "by_states", "equivalent", "longest", "proven"]

PATIENCE = 400
"""Seconds for a proof by reachability."""


def equivalent(design: Design, folder: Path, mutant: int) -> bool:
    """Whether the mutant is proven equal to the design, over all states or from the first one."""
    # Any may be done at once where another takes minutes.
    return (
        by_states(design, folder, mutant)
        or by_outputs(design, folder, mutant, 20)
        or by_reachability(design, folder, mutant, 20)
        or by_induction(design, folder, mutant)
        or by_reachability(design, folder, mutant, PATIENCE)
        or by_outputs(design, folder, mutant, PATIENCE)
    )


def selected(design: Design, mutant: int) -> str:
    """Yosys script that reads the design as `gold`, and as `gate` with this mutant."""
    return "".join(
        f"read_verilog mutants.v\nproc\nrename {design.module} {name}\ncd {name}\n"
        f"delete -port mutant\nconnect -set mutant 8'd{number}\ncd ..\n"
        for name, number in (("gate", mutant), ("gold", 0))
    )


def by_induction(design: Design, folder: Path, mutant: int) -> bool:
    """Whether Yosys proves the mutant equal to the design, by induction over all states."""
    try:
        yosys.run(
            f"{selected(design, mutant)}opt -full\nwreduce\nopt -full\n"
            # Bit by bit, since what nobody reads may differ.
            "techmap\nopt -full\nsplitnets\nopt_clean -purge\n"
            "equiv_make gold gate equiv\nhierarchy -top equiv\nflatten\nopt_clean\n"
            "equiv_struct\nequiv_simple -undef\nequiv_induct -undef -seq 3\n"
            "equiv_status -assert",
            cwd=folder,
        )
    except yosys.YosysError as error:
        if "unproven" not in str(error):
            raise
        return False
    return True


def by_reachability(design: Design, folder: Path, mutant: int, seconds: int) -> bool:
    """Whether ABC proves that from the first state on, no register and no output ever differs.

    Both share the registers' values, so that what is proven is only that each next state that can
    be reached, and each output, is made alike.
    """
    name = f"reachable{mutant}"
    (folder / "same.v").write_text(
        '(* techmap_celltype = "$equiv" *)\n'
        "module same (input A, input B, output Y);\nassign Y = A;\n"
        "\\$assert check (.A(A ~^ B), .EN(1'b1));\nendmodule\n"
    )
    log = yosys.run(
        f"{selected(design, mutant)}setundef -zero\nopt -full\nwreduce\nopt -full\n"
        "techmap\nopt -full\ndffunmap\nopt_clean\nsplitnets\nopt_clean -purge\n"
        # Of what is inside, registers alone are paired.
        "select -set registers t:$_DFF_* %co1:+[Q] w:* %i\nrename -hide w:* @registers %d\n"
        "equiv_make gold gate equiv\nhierarchy -top equiv\nflatten\nopt_clean\n"
        "techmap -map +/techmap.v -map same.v\nselect -assert-none t:$equiv\n"
        "delete -port o:*\nopt -full\n"
        f"techmap\ndffunmap\naigmap\nopt_clean\nstat\nwrite_aiger -zinit {name}.aig",
        cwd=folder,
    )
    _, counted, cells = log.rpartition("Printing statistics")
    assert counted, log
    if "$assert" not in cells:
        return True  # the two became the same circuit
    return proven(folder, name, seconds)


def by_outputs(design: Design, folder: Path, mutant: int, seconds: int) -> bool:
    """Whether ABC proves that from the first state on no output ever differs.

    Registers may: those of which nobody reads what they have then. No tile or row is longer than
    the design allows: of longer ones sums may overflow. Tables from outside are of activations.
    """
    name = f"outputs{mutant}"
    (folder / "legal.v").write_text(_legal(design))
    yosys.run(
        f"{selected(design, mutant)}setundef -zero\nopt -full\n"
        "miter -equiv -make_outputs gold gate miter\nread_verilog legal.v\n"
        "hierarchy -top legal\nproc\nflatten\nopt -full\n"
        "memory_map\ntechmap\nopt -full\ndffunmap\naigmap\nopt_clean -purge\n"
        f"write_aiger -zinit {name}.aig",
        cwd=folder,
    )
    return proven(folder, name, seconds)


def by_states(design: Design, folder: Path, mutant: int) -> bool:
    """Whether a unit of rows and its mutant are alike in all states that rows lead to.

    Of other designs it is not known. Outputs are; registers may differ.
    """
    if not isinstance(design.spec, ActivationSpec):
        return False
    path = folder / "rows.aag"
    if not path.exists():
        ports = [port for port in Emission(design).ports if port["name"] != "clk"]
        heads = [f"{port['direction']} [{port['width'] - 1}:0] {port['name']}" for port in ports]
        pins = [f".{port['name']}({port['name']})" for port in ports]
        length = design.spec.length
        (folder / "rows.v").write_text(
            f"module rows(input clk, {', '.join(heads)}, input [7:0] mutant, output beyond);\n"
            f"{design.module} unit({', '.join(pins)}, .clk(clk), .mutant(mutant));\n"
            f"reg [{length.bit_length() - 1}:0] values = 0;\n"
            f"assign beyond = i_valid & i_ready & ~i_last & values == {length - 1};\n"
            "always @(posedge clk) if (rst | i_valid & i_ready & i_last) values <= 0;\n"
            "else if (i_valid & i_ready) values <= values + 1;\nendmodule\n"
        )
        yosys.run(
            "read_verilog mutants.v\nread_verilog rows.v\nhierarchy -top rows\nproc\nflatten\n"
            "setundef -zero\nopt -full\nmemory_map\ntechmap\nopt -full\ndffunmap\naigmap\n"
            "opt_clean -purge\nwrite_aiger -ascii -zinit -symbols rows.aag",
            cwd=folder,
        )
    return always_same(path, mutant)


def _legal(design: Design) -> str:
    """Return Verilog of a module whose only output is 1 if the two differ in a legal run."""
    ports = [port for port in Emission(design).ports if port["direction"] == "input"]
    made = _tables(design.spec)
    inputs = {f"in_{port['name']}": f"input [{port['width'] - 1}:0]" for port in ports}
    pins = [f".{name}({name})" for name in inputs] + [".trigger(differ)"]
    heads = [name for name in inputs if name not in made] + ["activations"] * len(made)
    lines, bad = [f"module legal({', '.join(heads)}, bad);", "output bad;\nwire differ;"], "differ"
    lines += [made.get(name, f"{kind} {name};") for name, kind in inputs.items()]
    limit = longest(design)
    if limit is not None:
        stream, beats = limit
        padded = _padded(design.spec) if made else "0"
        pins.append(f".gold_{stream}_ready(ready)")
        lines += [
            f"wire ready;\nwire beat = in_{stream}_valid & ready;",
            f"reg [{beats.bit_length() - 1}:0] beats = 0;\nreg before = 0;",
            f"wire beyond = before | beat & (beats == {beats} | beats == {beats - 1} & {padded});",
            "always @(posedge in_clk) begin\nbefore <= beyond;",
            f"if (in_rst | beat & in_{stream}_last) beats <= 0; else if (beat) beats <= beats + 1;",
            "end",
        ]
        bad = "differ & ~beyond"
    return "\n".join([*lines, f"miter both({', '.join(pins)});", f"assign bad = {bad};",
                      "endmodule\n"])  # fmt: skip


def _tables(spec: Any) -> dict[str, str]:
    """Write Verilog of inputs that are made of others: a LUT core's tables, of activations.

    Returns
    -------
    By name of the input, its declaration and that of what it is made of. Others are not there.
    """
    if not isinstance(spec, LutCoreSpec) or not spec.external:
        return {}
    width, wide, entries = spec.a_width, spec.a_code_width, spec.made.table_entries
    tables = spec.m * spec.lookups
    lines = [
        f"input [{tables * spec.group * width - 1}:0] activations;",
        f"wire [{tables * entries * wide - 1}:0] in_i_a_data;",
    ]
    for number in range(tables * spec.group):
        kind = "signed " if spec.a_signed else ""
        lines.append(f"wire {kind}[{width - 1}:0] a{number};")
        lines.append(f"assign a{number} = activations[{number * width} +: {width}];")
    for number in range(tables * entries):
        table, entry = divmod(number, entries)
        half = spec.table == "half"
        # Of a half table activations have signs, the last one minus; a full one has sums of some.
        bits = [(entry if half else entry + 1) >> place & 1 for place in range(spec.group)]
        signs = [("-+" if half else " +")[bit] for bit in bits]
        terms = [
            f"{sign} a{table * spec.group + place}"
            for place, sign in enumerate(signs)
            if sign != " "
        ]
        lines.append(f"assign in_i_a_data[{number * wide} +: {wide}] = {' '.join(terms)};")
    return {"in_i_a_data": "\n".join(lines)}


def _padded(spec: LutCoreSpec) -> str:
    """Write the condition that activations of the last beat differ from 0 that must not."""
    own = spec.k_max - spec.k * (-(-spec.k_max // spec.k) - 1)
    rows = range(0, spec.m * spec.k, spec.k)
    more = [f"a{row + place} != 0" for row in rows for place in range(own, spec.k)]
    return f"({' | '.join(more or ['0'])})"


def longest(design: Design) -> tuple[str, int] | None:
    """Return a stream, and how many beats it may have from one `last` to the next; None if any.

    Engines of several passes are left out.
    """
    spec = design.spec
    if isinstance(spec, ActivationSpec):
        return "i", spec.length
    if isinstance(spec, EngineSpec) and spec.passes == 1:
        return "i_a", -(-spec.k_max // spec.k)
    return None


def proven(folder: Path, name: str, seconds: int) -> bool:
    """Whether ABC proves that no output of a circuit is ever 1."""
    return yosys.never(f"{name}.aig", seconds, cwd=folder, patience=PATIENCE) is True
