"""Lint of a design's Verilog by each tool that is here."""

import re
from collections.abc import Callable, Mapping
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from carrysave.signoff.part import FAILED, IMPOSSIBLE, PASSED, Part
from carrysave.sim.emission import verilog_of
from carrysave.sim.verilator import verilator
from hw.catalog import Design
from hw.device import models_of
from hw.emit import tools, yosys

__all__ = ["STYLE", "lint", "lint_part"]

STYLE = (
    *("DECLFILENAME", "PINCONNECTEMPTY", "PROCASSINIT", "SYMRSVDWORD", "TIMESCALEMOD"),
    *("UNUSEDPARAM", "UNUSEDSIGNAL", "WIDTHEXPAND", "WIDTHTRUNC"),
)
"""Warnings of Verilator's that do not concern correctness: names, `interrupt` among them, no
timescale, registers that have both an initial value and a reset, ports and bits that nobody reads
at the edge of an array, and constants and ! of another width than their context's, which Yosys
writes and Verilog defines."""


def _verilator(design: Design, files: list[Path]) -> str:
    quiet = [f"-Wno-{warning}" for warning in STYLE]
    done = verilator(
        "--lint-only", "-Wall", *quiet, "--top-module", design.module, *map(str, files)
    )
    return "" if done.code == 0 else done.output


def _icarus(design: Design, files: list[Path]) -> str:
    options = ["-g2005", "-Wall", "-Wno-timescale", "-tnull", "-s", design.module]
    done = tools.run(["iverilog", *options, *(one.name for one in files)], cwd=files[0].parent)
    return done.output if done.code or done.output.strip() else ""


def _yosys(design: Design, files: list[Path]) -> str:
    try:
        log = yosys.run(
            "".join(f"read_verilog {one.name}\n" for one in files)
            + f"hierarchy -check -top {yosys.word(design.module)}\nproc\ncheck -assert\n",
            cwd=files[0].parent,
        )
    except yosys.YosysError as error:
        return str(error)
    return "\n".join(re.findall(r".*Warning.*", log))


def _slang(design: Design, files: list[Path]) -> str:
    import pyslang  # not everywhere

    compilation = pyslang.ast.Compilation()
    trees = [pyslang.syntax.SyntaxTree.fromFile(str(one)) for one in files]
    for tree in trees:
        compilation.addSyntaxTree(tree)
    errors = [one for one in compilation.getAllDiagnostics() if one.isError()]
    if not errors:
        return ""
    return str(pyslang.DiagnosticEngine.reportAll(trees[0].sourceManager, errors))


_TOOLS: dict[str, Callable[[Design, list[Path]], str]] = {
    "Verilator": _verilator,
    "Icarus": _icarus,
    "Yosys": _yosys,
    "slang": _slang,
}


def lint(name: str, parameters: dict[str, Any]) -> dict[str, dict[str, str]]:
    """Lint a design's Verilog: a job's function.

    Returns
    -------
    Of each tool ``outcome`` and ``why``; one that is not here is not possible.
    """
    design = Design(name, parameters)
    result = {}
    with tools.workplace() as folder:
        text = verilog_of(design)
        files = [folder / "design.v"]
        files[0].write_text(text)
        for model in models_of(text):
            files.append(folder / f"model{len(files)}.v")
            files[-1].write_text(model.read_text())
        for tool, run in _TOOLS.items():
            if tool == "slang" and find_spec("pyslang") is None:
                result[tool] = {"outcome": IMPOSSIBLE, "why": "pyslang is not here"}
                continue
            try:
                said = run(design, files).strip()
            except tools.MissingToolError as error:
                result[tool] = {"outcome": IMPOSSIBLE, "why": str(error)}
                continue
            why = said.splitlines()[0] if said else ""
            result[tool] = {"outcome": FAILED if said else PASSED, "why": why}
    return result


def lint_part(outcome_of: Mapping[str, Mapping[str, str]]) -> Part:
    """Sum up: clean if all tools that are here are content, and one of them is here."""
    outcomes = [one["outcome"] for one in outcome_of.values()]
    said = [f"{tool} {one['outcome']}" for tool, one in outcome_of.items()]
    said += [f"{tool}: {one['why']}" for tool, one in outcome_of.items() if one["why"]]
    bad = FAILED in outcomes or PASSED not in outcomes
    return Part("lint", FAILED if bad else PASSED, "; ".join(said), {"tools": dict(outcome_of)})
