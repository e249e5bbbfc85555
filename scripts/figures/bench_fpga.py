"""Measure arrays on FPGAs against the same written by hand, all in one run.

.venv/bin/python scripts/figures/bench_fpga.py [--narrow] [--quick] [--only ecp5 ..] [--seeds N]
    [--docs]

Each of ours stands beside the plain array of scripts/figures/arrays/plain.sv, and beside the one
with registers around its multipliers: of the same rows, columns and widths, behind the same
registers, from the same seeds; arrays that fill a device stand alone. Operations are those of tiles
with K = 256, drain included. A seed that is not routed within an hour counts as not routed. What is
done is kept: a run that was ended goes on where it was.

With --narrow: one tile of int8 activations and weights of 4 bits, 2 bits and ternary, by multiplier
blocks with as many products as fit, by compressors, and by cores of the catalogue, on ECP5 or the
families that are given.
"""

import argparse
import json
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cache, partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
from rich.console import Console

from carrysave import jobs
from carrysave.asic.design_job import design_job
from carrysave.asic.options import Verilog
from carrysave.asic.synthesis import synthesise, synthesise_design
from carrysave.errors import remedy
from carrysave.fpga.place import FpgaError
from carrysave.papers.luts import FPGA_K, FPGA_TILE
from carrysave.papers.rivals import WEIGHTS, rivals
from carrysave.progress import Steps
from hw.catalog import Design
from hw.device import NAMES
from scripts.tables import markdown, show
from scripts.upkeep.pages import write_table

K = 256
SECONDS = 3600.0  # for a seed
PLAIN = Path(__file__).with_name("arrays") / "plain.sv"


@dataclass(frozen=True)
class Row:
    """One of our arrays, and the plain ones that it is measured against.

    Members
    -------
    target, name, parameters : the design.
    rows, columns, a_width, b_width : of the plain arrays.
    part : of the target; the first that fits if None.
    beside : plain arrays are measured, too: not where they take hours to route.
    """

    target: str
    name: str
    parameters: dict[str, Any]
    rows: int = 8
    columns: int = 8
    a_width: int = 8
    b_width: int = 8
    part: str | None = None
    beside: bool = True

    @property
    def design(self) -> Design:
        """The design for the target."""
        return Design(self.name, {"target": self.target, **self.parameters})


_8X8 = {"m": 8, "n": 8}
_12X13 = {"m": 12, "n": 13}
_4X4 = {"m": 4, "n": 4}
_ECP5 = "LFE5U-85F-6CABGA756"
ROWS = (
    Row("ecp5", "systolic_os", _8X8, part=_ECP5),
    Row("ecp5", "systolic_os", _8X8 | {"b_width": 4}, b_width=4, part=_ECP5),
    Row("ecp5", "systolic_os", _8X8 | {"dsps": 24}, part=_ECP5),
    Row("ecp5", "systolic_ws", _8X8, part=_ECP5),
    Row("ecp5", "cube", {"m": 4, "n": 8, "k": 4, "packing": "winograd"}, 8, 16, part=_ECP5),
    Row("ecp5", "systolic_os", _12X13, 12, 13, part=_ECP5, beside=False),
    Row(
        "ecp5",
        "systolic_os",
        {"m": 12, "n": 26, "b_width": 4},
        12,
        26,
        b_width=4,
        part=_ECP5,
        beside=False,
    ),
    Row("xilinx7", "systolic_os", _8X8),
    Row("xilinx7", "systolic_os", _8X8 | {"packing": "pair"}),
    Row("xilinx7", "systolic_ws", _8X8),
    Row("ultrascale", "systolic_os", _8X8),
    Row("nexus", "systolic_os", {"m": 6, "n": 8}, 6, 8),
    Row("gowin", "systolic_os", _4X4, 4, 4),
    Row("ice40", "systolic_os", _4X4, 4, 4, part="iCE40UP5K-SG48"),
)
"""What the table has."""

COLUMNS = {
    "target": "{}",
    "array": "{}",
    "LUTs": "{:,}",
    "FFs": "{:,}",
    "DSP": "{:,}",
    "RAM": "{:g}",
    "MHz": "{:.0f}",
    "MHz but blocks": "{:.0f}",
    "GOPS": "{:.2f}",
    "GOPS/kLUT": "{:.2f}",
    "GOPS/DSP": "{:.3f}",
    "x plain": "{:.2f}",
    "x pipelined": "{:.2f}",
}


NARROW = {
    "4": ("MAC", "shift-add", "LUT K = 2, all planes", "LUT K = 2"),
    "2": ("MAC", "shift-add", "LUT K = 2, all planes", "LUT K = 2"),
    "1.58": ("MAC", "ternary", "ternary LUT, mu = 3", "LUT K = 2, two planes"),
}
"""By bits of information in a weight: kinds of :func:`carrysave.papers.rivals.rivals`."""

NARROW_COLUMNS = {
    "target": "{}",
    "weight": "{}",
    "kind": "{}",
    "MACs/cycle": "{:g}",
    "LUTs": "{:,}",
    "FFs": "{:,}",
    "DSP": "{:,}",
    "MHz": "{:.0f}",
    "LUTs/MAC": "{:.1f}",
    "GOPS": "{:.2f}",
    "smallest": "{}",
}


def narrow_designs(target: str) -> Iterator[tuple[str, str, Design]]:
    """List weight, kind and design; blocks and all others of the same tile."""
    rows, columns = FPGA_TILE
    for weight, kinds in NARROW.items():
        tile = {"m": rows, "n": columns, "k": FPGA_K, "k_max": 4096, "b_width": WEIGHTS[weight]}
        yield weight, "blocks", Design("cube", tile | {"target": target, "packing": "densest"})
        others = rivals("int8", weight, rows, columns, FPGA_K, together=False, adder="operator")
        by_kind = {rival.kind: rival.design for rival in others}
        for kind in kinds:
            yield weight, "compressors" if kind == "MAC" else kind, by_kind[kind]


def measured_narrow(
    targets: list[str], options: dict[str, Any], steps: Steps
) -> Iterator[dict[str, Any]]:
    """Measure each; the smallest is that with the fewest LUTs for a MAC in a cycle."""
    asked = [(target, *each) for target in targets for each in narrow_designs(target)]
    wanted = [
        design_job(design, target, place=options["place"], seeds=options["seeds"])
        for target, _, _, design in asked
    ]
    rows: list[dict[str, Any]] = []
    outcomes = jobs.run(wanted, ordered=True, progress=steps.jobs)
    for (target, weight, kind, design), outcome in zip(asked, outcomes, strict=True):
        facts = outcome.get()
        macs = design.component().operations_per_cycle / 2
        fmax = facts["fmax_mhz"]
        rows.append({
            "target": target,
            "weight": weight,
            "kind": kind,
            "design": design.module,
            "MACs/cycle": macs,
            "LUTs": facts["luts"],
            "FFs": facts["ffs"],
            "DSP": facts["dsps"],
            "MHz": fmax,
            "LUTs/MAC": facts["luts"] / macs,
            "GOPS": None if fmax is None else 2e-3 * macs * fmax,
            "notes": facts["notes"],
        })
    for row in rows:
        rivals_of = [
            other["LUTs/MAC"]
            for other in rows
            if (other["target"], other["weight"]) == (row["target"], row["weight"])
        ]
        yield row | {"smallest": "yes" if row["LUTs/MAC"] == min(rivals_of) else ""}


def cycles_of(design: Design) -> int:
    """Return the cycles that a tile takes after another, its drain included."""
    component, spec = design.component(), design.spec
    gap = getattr(component, "gap", None)
    more = () if gap is None else (gap,)
    tile = np.zeros((spec.m, K), int), np.zeros((K, spec.n), int)
    one, two = (
        design.entry.golden.cycles(spec, [tile] * count, component.latency, *more)
        for count in (1, 2)
    )
    return int(two - one)


def plain_text(row: Row, pipelined: bool) -> str:
    """Return the Verilog of a plain array for a row of the table."""
    m, n, a, b, c = row.rows, row.columns, row.a_width, row.b_width, 32
    return (
        PLAIN.read_text()
        + f"""
module plain(input clk, input first, last, input [{m * a - 1}:0] a, input [{n * b - 1}:0] b,
             output [{n * c - 1}:0] c);
  plain_array #(.M({m}), .N({n}), .A({a}), .B({b}), .C({c}), .PIPELINED({pipelined:d})) array
    (.clk(clk), .first(first), .last(last), .a(a), .b(b), .c(c));
endmodule
"""
    )


def routed(synthesis: Callable[..., Any], options: dict[str, Any]) -> dict[str, Any]:
    """Synthesise; if nextpnr routes no seed, resources are all there is."""
    try:
        return dict(synthesis(**options))
    except FpgaError as error:
        facts = dict(synthesis(**{**options, "place": False}))
        facts["notes"].append(f"not routed from any seed: {error}")
        return facts


def measure(row: Row, kind: str, options: dict[str, Any]) -> dict[str, Any]:
    """Return what one array takes and how fast it is; ``kind`` is ours, plain or pipelined."""
    if kind == "ours":
        design = row.design
        label = design.module
        facts = routed(partial(synthesise_design, design, row.target, part=row.part), options)
        macs, cycles = design.spec.m * design.spec.n, cycles_of(design)
    else:
        label = f"{kind} {row.rows} x {row.columns}, int{row.a_width} x int{row.b_width}"
        with TemporaryDirectory() as folder:
            path = Path(folder) / "plain.sv"
            path.write_text(plain_text(row, kind == "pipelined"))
            array = Verilog([path], "plain")
            facts = routed(partial(synthesise, array, row.target, part=row.part), options)
        macs, cycles = row.rows * row.columns, K  # sums leave while the next tile enters
    fmax = facts["fmax_mhz"]
    logic = facts["fmax_logic_mhz"]
    gops = None if fmax is None else 2e-3 * macs * K / cycles * fmax
    return {
        "target": row.target, "device": facts["device"], "array": label, "kind": kind,
        "LUTs": facts["luts"], "FFs": facts["ffs"], "DSP": facts["dsps"], "RAM": facts["brams"],
        "blocks": facts["blocks"], "MHz": fmax, "MHz but blocks": logic, "seeds": facts["seeds"],
        "cycles": cycles, "GOPS": gops,
        "GOPS/kLUT": 1e3 * gops / facts["luts"] if gops and facts["luts"] else None,
        "GOPS/DSP": gops / facts["dsps"] if gops and facts["dsps"] else None,
        "x plain": None, "x pipelined": None, "notes": facts["notes"],
    }  # fmt: skip


def measured(rows: tuple[Row, ...], options: dict[str, Any], steps: Steps) -> Iterator[Any]:
    """Measure ours and both plain arrays for each row; plain arrays once if they are the same."""
    seen: set[int] = set()

    @cache
    def plain(
        target: str, part: str | None, sides: tuple[int, int, int, int], kind: str
    ) -> dict[str, Any]:
        m, n, a, b = sides
        return measure(Row(target, "", {}, m, n, a, b, part), kind, options)

    for row in rows:
        steps.step(f"{row.target}: {row.name} {row.parameters}")
        sides = row.rows, row.columns, row.a_width, row.b_width
        ours = measure(row, "ours", options)
        kinds = ("plain", "pipelined") if row.beside else ()
        both = [plain(row.target, row.part, sides, kind) for kind in kinds]
        for other in both:
            if ours["GOPS"] and other["GOPS"]:
                ours[f"x {other['kind']}"] = ours["GOPS"] / other["GOPS"]
        yield ours
        for other in both:
            if id(other) not in seen:
                seen.add(id(other))
                yield other


def notes(table: list[dict[str, Any]]) -> Iterator[tuple[str, list[str]]]:
    """List what is to be said of rows, once, and of which."""
    noted: dict[str, dict[str, None]] = {}
    labels = [
        f"{row['target']} {row['design'] if 'design' in row else row['array']}" for row in table
    ]
    for row, label in zip(table, labels, strict=True):
        for note in row["notes"]:
            noted.setdefault(note, {})[label] = None
    every = set(labels)
    return ((note, ["all"] if set(rows) == every else list(rows)) for note, rows in noted.items())


def main() -> None:
    """Measure, print."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="count resources only")
    parser.add_argument("--narrow", action="store_true", help="weights of four bits and less")
    parser.add_argument("--only", nargs="+", choices=NAMES, help="these families")
    parser.add_argument("--seeds", type=int, default=3, help="runs of place and route")
    parser.add_argument("--json", action="store_true", help="print JSON to stdout")
    parser.add_argument("--docs", action="store_true", help="rewrite the tables of docs/figures")
    arguments = parser.parse_args()
    if arguments.docs and (arguments.only or (arguments.quick and not arguments.narrow)):
        parser.error("--docs writes whole tables: leave --only out, and --quick without --narrow")
    console = Console() if sys.stdout.isatty() else Console(width=180)
    rows = tuple(row for row in ROWS if row.target in (arguments.only or NAMES))
    try:
        with Steps(Console(stderr=True)) as steps, jobs.session(jobs.Options(seconds=SECONDS)):
            options = {
                "place": not arguments.quick,
                "seeds": arguments.seeds,
                "progress": steps.note,
            }
            if arguments.narrow:
                table = list(measured_narrow(arguments.only or ["ecp5"], options, steps))
            else:
                steps.plan(len(rows))
                table = list(measured(rows, options, steps))
    except ModuleNotFoundError as error:
        raise SystemExit(f"bench_fpga needs {remedy(error.name) or error.name}") from None
    if arguments.docs:
        name = "narrow" if arguments.narrow else "fpga"
        text = markdown(table, NARROW_COLUMNS if arguments.narrow else COLUMNS)
        lines = [f"- {', '.join(rows_of)}: {note.rstrip('.')}." for note, rows_of in notes(table)]
        write_table(name, "\n".join([text, "", *lines] if lines else [text]))
    if arguments.json:
        head = {"tile": FPGA_TILE, "k": FPGA_K} if arguments.narrow else {"k": K}
        print(json.dumps({**head, "rows": table}, indent=2))
        return
    if arguments.narrow:
        tile = f"{FPGA_TILE[0]} x {FPGA_TILE[1]}, k = {FPGA_K}"
        show(console, f"int8 activations, narrow weights, {tile}", table, NARROW_COLUMNS)
    else:
        show(console, f"Arrays on FPGAs, K = {K}", table, COLUMNS)
    for note, rows_of in notes(table):
        console.print(f"{', '.join(rows_of)}: {note}", highlight=False)


if __name__ == "__main__":
    main()
