"""The table of docs/status.md: of each design on each target, which steps were run, and where."""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from carrysave.boards.board import BOARDS
from carrysave.docs.evidence import kinds_of
from carrysave.docs.figures import Figures, design_of, tables_in
from carrysave.docs.markdown import table
from hw.catalog import CATALOG, STAGES
from hw.device import NAMES
from verif.sim.test_unknowns import ENGINES

__all__ = ["NOT_RUN", "PLAIN", "SHOWN", "STEPS", "TARGETS", "cells_of", "has", "markdown"]

FIGURES = Path(__file__).resolve().parents[2] / "docs" / "figures"
STEPS = ("generate", "verify", "synth", "proof", "board", "network")
NOT_RUN = "not run"
PLAIN = "plain Verilog"
LIBRARIES = ("osu018", "sky130")
TARGETS = (PLAIN, *LIBRARIES, *NAMES)

_LIBRARY_OF = {
    ("cells", "osu018"): "osu018",
    ("cells", "sky130"): "sky130",
    ("cells", "Not placed"): "sky130",
    ("cells", "Where energy goes"): "sky130",
    ("routed", "sky130"): "sky130",
}
"""Library of the tables whose rows are designs, by page and section."""

_MEASURED = ("routed", "placed", "timed", "mapped")
"""Tiers of synthesis, the furthest first."""

_CLAIMS = ("papers", "Published claims, reproduced")
_PROGRAMS = ("networks", "Programs on the simulated block")
_MEMORY = ("boards", "A network in the board's memory")
SHOWN: dict[tuple[str, str, str], tuple[str, str, str]] = {
    ("encoder", "sky130", "synth"): ("mapped", "cells", "Rounding by random bits"),
    ("block_scale", "sky130", "synth"): ("mapped", "cells", "Scales of blocks"),
    ("bitserial_core", "xilinx7", "synth"): ("mapped", "fpga", "Products of signs"),
    ("ternary_core", "sky130", "synth"): ("mapped", "ternary", "By one flow"),
    ("ternary_core", "ecp5", "synth"): ("timed", "language", "LUTs of a ternary product"),
    ("ternary_core", "xilinx7", "synth"): ("mapped", "language", "LUTs of a ternary product"),
    ("vector_unit", "ultrascale", "synth"): ("mapped", "networks", "Attention in one pass"),
    ("coprocessor", "ecp5", "synth"): ("timed", "coprocessor", "Logic around the engine"),
    **{
        (name, target, "synth"): ("mapped", *_CLAIMS)
        for name in ("lut_core", "shift_add_core")
        for target in ("sky130", "ecp5", "xilinx7")
    },
    ("bitserial_core", "sky130", "synth"): ("mapped", *_CLAIMS),
    ("lmul", "sky130", "synth"): ("mapped", *_CLAIMS),
    ("sl8", "sky130", "synth"): ("mapped", *_CLAIMS),
    ("float_mac", "sky130", "synth"): ("mapped", *_CLAIMS),
    ("npe", "xilinx7", "synth"): ("mapped", *_CLAIMS),
    ("coprocessor", PLAIN, "network"): ("simulated", *_PROGRAMS),
    ("systolic_os", PLAIN, "network"): ("simulated", *_PROGRAMS),
    ("vector_unit", PLAIN, "network"): ("simulated", *_PROGRAMS),
    ("adder_tree", PLAIN, "network"): ("simulated", "coprocessor", "Codes of a table"),
    ("coprocessor_uart", "ecp5", "network"): ("simulated", *_MEMORY),
    ("systolic_os", "ecp5", "network"): ("simulated", *_MEMORY),
}
"""Sections of figures that say in words or commands what they are of: tier, page and heading of
what was run, by design, target and step."""

_BENCHES = {("coprocessor", "ecp5")}
"""Designs with blocks of a target inside, of which verif/soc/test_coprocessor_rtl.py has cases."""


class Cell(NamedTuple):
    """What was run, and the page of docs and the heading that have it."""

    word: str
    page: str
    section: str

    def __str__(self) -> str:
        anchor = re.sub(r"[^\w\- ]", "", self.section.lower()).replace(" ", "-")
        return f"[{self.word}]({self.page}#{anchor})"


def has(target: str, step: str) -> bool:
    """Return whether a target has a step: a cell library gets plain Verilog, on no board."""
    if target == PLAIN:
        return step not in {"synth", "board"}
    return target in NAMES or step in {"verify", "synth"}


def cells_of(design: str, target: str) -> dict[str, Cell]:
    """Return the steps that were run of a design on a target.

    Parameters
    ----------
    design : of the catalogue.
    target : of :data:`TARGETS`.
    """
    steps = {step: cell for step, cell in _steps(design, target) if cell}
    if "board" in steps:  # a bitstream is built of generated Verilog
        steps = {"generate": steps["board"], "synth": steps["board"]} | steps
    return steps


def _steps(design: str, target: str) -> Iterator[tuple[str, Cell | None]]:
    """Yield the cells of steps; None of one that was not run."""
    blocks = target in NAMES and design in ENGINES
    inside = (design, target) in _BENCHES
    if target == PLAIN or blocks or inside:
        yield "generate", Cell("yes", "", "Generate")
        yield "verify", Cell("icarus" if blocks else "yes", "", "Verify")
    if target == PLAIN and "formal proof" in kinds_of(CATALOG[design].evidence):
        yield "proof", Cell("yes", "", "Proofs")
    if target == "osu018":
        yield "verify", Cell("netlist", "", "Netlists")
        yield "synth", Cell("mapped", "", "Netlists")
    for step in STEPS:
        if (design, target, step) in SHOWN:
            tier, page, section = SHOWN[design, target, step]
            yield step, Cell(tier, f"figures/{page}.md", section)
    yield "synth", _synthesis(design, target)
    yield "board", _board(design, target)


def _synthesis(design: str, target: str) -> Cell | None:
    """Return the table of figures that was taken furthest on a target, if there is one."""
    tables = [one for one in tables_in(FIGURES) if any(_is(one, design, target))]
    for tier in _MEASURED:
        for one in tables:
            if re.search(rf"\b{tier}\b", one.tier) and _reached(one, design, target, tier):
                return Cell(tier, f"figures/{one.page}.md", one.section)
    return None


def _is(one: Figures, design: str, target: str) -> Iterator[bool]:
    """Yield, for each row of a table, whether it is of a design on a target."""
    library = _LIBRARY_OF.get((one.page, one.section))
    for row in one.rows:
        if library:
            yield library == target and design_of(row[0]) == design
        elif one.heads[:2] == ("target", "array"):
            yield row[0] == target and design_of(row[1]) == design


def _reached(one: Figures, design: str, target: str, tier: str) -> bool:
    """Return whether a row has a figure of a tier; of a table whose columns do not say, its own."""
    columns = [number for number, head in enumerate(one.heads) if tier in head]
    if tier == "timed":
        columns = [number for number, head in enumerate(one.heads) if head.startswith("MHz")]
    rows = [row for row, here in zip(one.rows, _is(one, design, target), strict=True) if here]
    return not columns or any(row[number] not in {"-", ""} for row in rows for number in columns)


def _board(design: str, target: str) -> Cell | None:
    """Return the table of builds, if a board of a family has one with a design in it."""
    section = "Default builds"
    rows = {
        row[0]
        for one in tables_in(FIGURES)
        if (one.page, one.section) == ("boards", section)
        for row in one.rows
    }
    for name in rows & set(BOARDS):
        engine = re.match(r"\w+", BOARDS[name].parameters["engine"])
        inside = {"coprocessor_uart", engine and engine[0]}
        if BOARDS[name].family == target and design in inside:
            return Cell("timed", "figures/boards.md", section)
    return None


def _row(target: str, cells: dict[str, Cell]) -> Iterator[object]:
    """Yield the cells of a row; a dash for a step that the target does not have."""
    for step in STEPS:
        yield cells.get(step, NOT_RUN if has(target, step) else "-")


def markdown() -> str:
    """Return the tables of docs/status.md: one for each stage, and what proofs there are."""
    parts = []
    for stage, names in STAGES.items():
        rows = [
            (f"`{name}`", target, *_row(target, cells))
            for name in names
            for target in TARGETS
            if (cells := cells_of(name, target))
        ]
        parts += [f"## Designs of {stage}", table(("design", "target", *STEPS), rows)]
    proofs = [
        (f"`{name}`", *[line for line in entry.evidence if line.startswith("formal proof")])
        for name, entry in CATALOG.items()
        if "formal proof" in kinds_of(entry.evidence)
    ]
    parts += ["## Proofs", table(("design", "what is proven"), proofs)]
    return "\n" + "\n\n".join(parts) + "\n"
