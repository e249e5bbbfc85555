"""Measure the co-processor around its engine on ECP5: resources, Fmax by seed.

.venv/bin/python scripts/figures/bench_shell.py [--seeds N] [-p NAME=VALUE ..] [--docs]

The engine is a black box where resources are counted. Where the shell is placed it is a stand-in
of registers, whose ports behave as an engine's, so that no path of an engine counts. With -p, one
shell, and what its modules take, each mapped apart; else those of docs/figures.
"""

import argparse
import json
import re
import statistics
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from rich.console import Console

from carrysave import jobs
from carrysave.fpga.implementation import part_of, resources
from carrysave.progress import Steps
from hw.catalog import Design
from hw.device import family
from hw.emit import tools, yosys
from hw.emit.verilog import Emission
from scripts.tables import markdown, show
from scripts.upkeep.pages import write_table

ENGINE = {"m": 8, "n": 8, "target": "ecp5"}
SHELL: dict[str, Any] = {"data_width": 64, "requantisers": 2}
_SMALL = {"sum_copies": 2, "address_width": 32, "dimension_width": 16, "sums": 2048}
_SUMS = {"bias": False, "requantise": False, "per_column": False}
_LEAST = {"ring": False, "accumulate": False, "blocks": False, "counters": False}
SHELLS: dict[str, dict[str, Any]] = {
    "all there is": {},
    "all, `sum_copies=2`": {"sum_copies": 2},
    "all, small: and `address_width=32`, `dimension_width=16`, `sums=2048`": _SMALL,
    "all but `counters`, small": _SMALL | {"counters": False},
    "sums only": _SUMS,
    "sums only, small": _SUMS | _SMALL,
    "sums only, small; no `ring`, `accumulate`, `blocks`, `counters`": _SUMS | _SMALL | _LEAST,
}
PLACED = ("all but `counters`, small", "as given")
"""Which are placed: each seed takes minutes."""
PART = "LFE5U-85F-6CABGA756"
# Fewer tables than with the multiplexers behind them, and none of the carry rows for constants.
MAPPING = "-nowidelut -cmp2softlogic"
# A wire takes three times as long here as the flow assumes: logic is as deep as it has to be. The
# second of ABC9's scripts takes fewer tables than its default.
LUTS = [
    "scratchpad -copy abc9.script.flow2 abc9.script",
    "techmap -map +/lattice/latches_map.v",
    "abc9 -maxlut 4 -W 900",
    "clean",
]
COLUMNS = {
    "module": "{}",
    "times": "{}",
    "LUT4": "{:,}",
    "CCU2C": "{:,}",
    "LUT RAM": "{:,}",
    "LUTs": "{:,}",
    "FFs": "{:,}",
    "DSPs": "{:,}",
    "BRAMs": "{:,}",
}
TABLE = (
    {"shell, 64-bit bus": "{}"}
    | {name: COLUMNS[name] for name in ("LUTs", "LUT RAM", "FFs", "DSPs", "BRAMs")}
    | {"MHz": "{:.0f}", "seeds": "{}"}
)
KINDS = {"LUT4": "LUT4", "CCU2C": "CCU2C", "LUT RAM": "TRELLIS_DPR16X4"}


def main() -> None:
    """Map, place, print."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seeds", type=int, default=0, help="placer seeds; 0: not placed")
    parser.add_argument("-p", action="append", default=[], help="NAME=VALUE of the co-processor")
    parser.add_argument("--docs", action="store_true", help="rewrite the table of docs/figures")
    arguments = parser.parse_args()
    given = {name: json.loads(value) for name, _, value in (p.partition("=") for p in arguments.p)}
    if given and arguments.docs:
        parser.error("--docs writes the whole table: leave -p out")
    console = Console(width=140)
    rows = []
    with Steps(Console(stderr=True)) as steps, jobs.session():
        for name, parameters in ({"as given": given} if given else SHELLS).items():
            steps.step(f"{name}: {parameters}")
            design, box = shell(parameters)
            verilog = without(Emission(design).verilog, box)
            if given:
                show(
                    console,
                    "Modules, mapped apart; each with those inside",
                    modules(verilog, design.module),
                    COLUMNS,
                )
            row = {"shell, 64-bit bus": name} | modules(verilog, design.module, flat=True)[0]
            speeds: list[float] = []
            if arguments.seeds and name in PLACED:
                text = with_stand_in(verilog, box)
                speeds = place(text, design.module, arguments.seeds, steps.note)
            row["MHz"] = statistics.median_low(speeds) if speeds else None
            row["seeds"] = ", ".join(f"{speed:.0f}" for speed in speeds)
            rows.append(row)
    show(console, "The whole, flattened; Fmax is the median of the seeds", rows, TABLE)
    if arguments.docs:
        write_table("shell", markdown(rows, TABLE))


def shell(parameters: Mapping[str, Any]) -> tuple[Design, str]:
    """Return a co-processor, and the module of its engine."""
    engine = f"systolic_os({','.join(f'{name}={value}' for name, value in ENGINE.items())})"
    design = Design("coprocessor", {"engine": engine, **SHELL, **parameters})
    return design, f"{design.module}__core__datapath__engine"


def without(verilog: str, module: str) -> str:
    """Reduce a module to its ports, as a black box."""
    start = verilog.index(f"module {module}(")
    end = verilog.index("endmodule", start)
    text = verilog[start:end]
    ports = re.findall(r"^\s*(?:input|output) [^;]*;", text, re.MULTILINE)
    head = text[: text.index(";") + 1]
    box = "\n".join(["(* blackbox *)", head, *ports, ""])
    return verilog[:start] + box + verilog[end:]


def modules(verilog: str, top: str, *, flat: bool = False) -> list[dict[str, Any]]:
    """Map a design, and count the cells of its modules with those inside, largest first."""
    flow = family("ecp5").flow
    with tools.workplace() as folder:
        (folder / "design.v").write_text(verilog)
        yosys.run(
            [
                "read_verilog design.v",
                *mapping(top, "" if flat else "-noflatten"),
                "tee -q -o design.stat stat -json",
            ],
            cwd=folder,
        )
        found = json.loads((folder / "design.stat").read_text())["modules"]
    cells = {
        name.removeprefix("\\"): {
            kind.removeprefix("\\"): count for kind, count in part["num_cells_by_type"].items()
        }
        for name, part in found.items()
    }
    times: dict[str, int] = {}

    def visit(name: str, count: int) -> None:
        times[name] = times.get(name, 0) + count
        for kind, each in cells[name].items():
            if kind in cells:
                visit(kind, count * each)

    visit(top, 1)
    rows = []
    for name, count in times.items():
        inside = _inside(cells, name)
        taken = resources(flow, inside)
        rows.append({
            "module": name.replace(top, "").lstrip("_") or "all",
            "times": count,
            **{title: inside.get(kind, 0) for title, kind in KINDS.items()},
            # Without memory: LUT4 and two for each CCU2C.
            "LUTs": inside.get("LUT4", 0) + 2 * inside.get("CCU2C", 0),
            "FFs": taken["ffs"],
            "DSPs": taken["dsps"],
            "BRAMs": taken["brams"],
        })
    return sorted(rows, key=lambda row: -row["LUTs"] * row["times"])


def mapping(top: str, more: str = "") -> list[str]:
    """Return the commands that map a design: the flow's, with other look-up tables."""
    flow = family("ecp5").flow
    synth = f"{flow.synth} {flow.bare} {MAPPING} {more} -top {top}"
    return [f"{synth} -run begin:map_luts", *LUTS, f"{synth} -run map_cells:"]


def _inside(cells: Mapping[str, Mapping[str, int]], name: str) -> dict[str, int]:
    """Count the cells of a module and of those inside."""
    total: dict[str, int] = {}
    for kind, count in cells[name].items():
        parts = _inside(cells, kind) if kind in cells else {kind: 1}
        for part, each in parts.items():
            total[part] = total.get(part, 0) + count * each
    return total


def with_stand_in(verilog: str, box: str) -> str:
    """Replace the black box of an engine by registers between its ports."""
    head = verilog.index("(* blackbox *)")
    start = verilog.index(f"module {box}(", head)
    end = verilog.index("endmodule", start)
    text = verilog[start:end]
    widths = {
        name: int(high or 0) + 1
        for high, name in re.findall(
            r"put (?:\[(\d+):0\] )?(i_a__payload|i_b__payload"
            r"|o_c__payload)",
            text,
        )
    }
    a, b, c = (widths[f"{port}__payload"] for port in ("i_a", "i_b", "o_c"))
    inputs = [name for name in ("i_a", "i_b") if f"output {name}__ready" in text]
    ready = {"i_a": "i_b__valid", "i_b": "i_a__valid"}
    body = f"""  reg go, valid; reg [3:0] count; reg [{a + b - 1}:0] held; reg [{c - 1}:0] row;
  wire move = ~valid | o_c__ready;
  wire take = move & go & i_a__valid & i_b__valid;
{"".join(f"  assign {name}__ready = move & go & {ready[name]};" for name in inputs)}
  assign o_c__payload = row;
  assign o_c__valid = valid;
  always @(posedge clk) begin
    go <= ~rst & ~count[2];
    count <= rst ? 0 : count + take;
    if (take) held <= {{i_a__payload, i_b__payload}};
    if (move) row <= {{row, held}};
    if (rst) valid <= 0; else if (move) valid <= count[3] & held[3];
  end
"""
    return verilog[:head] + text + body + verilog[end:]


def place(verilog: str, top: str, seeds: int, progress: Callable[[str], None]) -> list[float]:
    """Place and route with several seeds; return the clock frequencies reached, in MHz."""
    from carrysave.fpga.place import from_seeds
    from carrysave.fpga.wrapper import wrapper

    with tools.workplace() as folder:
        (folder / "design.v").write_text(verilog)
        yosys.run(
            ["read_verilog design.v", f"hierarchy -top {top}", "proc", "write_json ports.json"],
            cwd=folder,
        )
        ports = json.loads((folder / "ports.json").read_text())["modules"][top]["ports"]
        (folder / "wrapper.v").write_text(wrapper(top, "aclk", ports))
        yosys.run(
            [
                "read_verilog design.v",
                "read_verilog wrapper.v",
                *mapping("carrysave_wrapper"),
                "write_json wrapper.json",
            ],
            cwd=folder,
        )
        key = "bench_shell", yosys.version(), *mapping(""), verilog
        part = part_of("ecp5", PART)
        wanted = range(1, seeds + 1)
        more = family("ecp5").board_arguments
        found = from_seeds("ecp5", part, Path(folder), wanted, {}, key, progress, more)
    return [each["fmax_mhz"] for each in found if each["fmax_mhz"] is not None]


if __name__ == "__main__":
    main()
