"""Mutants of designs: which ones their benches kill, and which are proven to be no faults."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from carrysave.regress.deciding.equivalence import equivalent
from carrysave.regress.mutants import Mutants
from carrysave.sim.parameters import describe
from carrysave.sim.runner import run
from carrysave.sim.verilator import Build, build
from hw.catalog import Design
from hw.emit.verilog import Emission

__all__ = ["CASES", "LONG", "Score", "score", "stand_in"]

TINY = {"a_width": 3, "b_width": 3, "accumulator_width": 8}
CASES: list[tuple[str, dict[str, Any]]] = [
    ("systolic_os", {"m": 2, "n": 2, "a_width": 3, "b_width": 3, "k_max": 9}),
]
ZEROS = {"zeros": "odd", "zero_width": 3, "activation_width": 4}
LUT = {"m": 2, "n": 2, "lookups": 1, "a_width": 3, "k_max": 9}
PAIR = {"m": 2, "n": 2, "k": 2, "a_width": 3, "k_max": 9}
ROW = {"length": 3, "width": 3, "inverse_scale": 2, "octaves": 4}
# For `make prove`: designs much like those above, and units whose mutants take minutes.
LONG: list[tuple[str, dict[str, Any]]] = [
    ("npe", {"m": 2, "n": 2, "formats": "int4,posit4e1", "accumulator_width": 20}),
    ("digit_column", {"m": 2, "n": 2, "a_width": 3, "b_width": 3, "k_max": 9}),
    ("lut_core", LUT),
    ("lut_core", LUT | {"table": "half"}),
    ("lut_core", LUT | {"order": "outer", "slack": 3, "held": False}),
    ("lut_core", LUT | {"table": "half", "generator": "external"}),
    ("lut_tables", {"lookups": 1, "a_width": 3, "table": "half"}),
    (
        "lut_unit",
        {"m": 2, "n": 2, "group": 2, "lookups": 1, "activations": "int4", "k_max": 6, "planes": 2},
    ),
    ("over_weights", {"m": 2, "n": 2, "group": 2, "k_max": 9, "a_width": 3, "b_width": 3}),
    ("bitserial_core", PAIR),
    ("shift_add_core", PAIR | {"b_width": 3}),
    ("ternary_core", PAIR),
    ("ternary_core", PAIR | {"mode": "pair"}),
    ("ternary_core", PAIR | {"k": 3, "mode": "table", "group": 3}),
    ("aligner", {"format": "e3m2", "width": 4, "block": 2, "lanes": 1}),
    ("lmul", {"format": "e4m3", "mode": "exact"}),
    ("mac", TINY),
    ("opt1", TINY),
    ("opt1", TINY | {"accumulator_width": 10, "upper": "counter"}),
    # Booth: that select lines exclude each other is beyond an induction over all states.
    (
        "systolic_ws",
        {"m": 2, "n": 2, "k": 2, "a_width": 2, "b_width": 2, "k_max": 9, "encoding": "booth"},
    ),
    ("sl8", {"formats": "int4,e2m3", "accumulator_width": 13}),
    ("cube", {"m": 2, "n": 2, "k": 2, "a_width": 2, "b_width": 2, "k_max": 9}),
    (
        "adder_tree",
        {"m": 2, "n": 2, "k": 4, "a_width": 2, "b_width": 2, "k_max": 8, "sparsity": "2:4"},
    ),
    ("opt2", TINY | {"k": 2}),
    ("laconic", TINY | {"k": 2}),
    ("opt3", TINY),
    ("opt4c", TINY | {"k": 2}),
    ("opt4e", TINY | {"k": 2}),
    ("encoder", {"format": "e2m3", "width": 10, "fraction_width": 5}),
    ("group_scale", {"scale": "e8m0", "sum_width": 4}),
    ("group_scale", {"scale": "int8", "sum_width": 4, "depth": 2, **ZEROS}),
    (
        "float_lut",
        {"columns": 1, "group": 2, "a_format": "e3m2ieee", "sum_format": "e3m2ieee"},
    ),
    # Wide enough that every bit of a shift counts, but for the highest.
    ("requantiser", {"n": 1, "width": 20, "multiplier_width": 16, "out_width": 4}),
    # Quotients of many values, and all bits of probabilities, so that each bit of a product counts;
    # and few states, so that all are visited.
    ("shiftmax", ROW | {"length": 2, "width": 4, "inverse_scale": 3, "out_width": 16}),
    ("shift_gelu", ROW | {"length": 2}),
    ("float_mac", {"a_format": "e2m1", "b_format": "e2m1", "sum_format": "e3m2ieee"}),
]


@dataclass
class Score:
    """What became of the mutants of a design.

    Members
    -------
    changes : what each mutant changes.
    killed : those that the bench finds, as numbers from 1 on.
    equal : those that pass it, and are proven equal to the design.
    faults : all others.
    """

    changes: list[str]
    killed: list[int] = field(default_factory=list)
    equal: list[int] = field(default_factory=list)
    faults: list[int] = field(default_factory=list)

    def told(self) -> str:
        """Tell the faults that were not found."""
        return "; ".join(f"{number}: {self.changes[number - 1]}" for number in self.faults)


def score(design: Design, count: int, seed: int, folder: Path) -> Score:
    """Run the bench of a design on mutants of it; prove those equal that it does not find.

    Parameters
    ----------
    count : most mutants.
    seed : of their choice, and of the bench.
    folder : of this run alone.
    """
    mutants = Mutants.of(design, count, seed)
    source = folder / "mutants.v"
    source.write_text(mutants.verilog)
    simulator = build([source], design.module)
    assert passes(design, simulator, folder, 0, seed)
    found = Score(mutants.changes)
    for mutant in range(1, len(mutants.changes) + 1):
        if not passes(design, simulator, folder, mutant, seed):
            found.killed.append(mutant)
        elif equivalent(design, folder, mutant):
            found.equal.append(mutant)
        else:
            found.faults.append(mutant)
    return found


def passes(design: Design, simulator: Build, folder: Path, mutant: int, seed: int) -> bool:
    """Whether the design's bench passes with this mutant selected."""
    parameters = describe(design) | {"constants": {"mutant": mutant}}
    result = run(
        simulator,
        design.entry.bench,
        parameters=parameters,
        seed=seed,
        directory=folder / f"mutant{mutant}",
        stop=True,
    )
    assert mutant or result.ok, result
    return result.ok


def stand_in(
    design: Design, fault: str, folder: Path, *, outputs: Mapping[str, str] | None = None
) -> None:
    """Write a module whose only mutant gives a result where it is at fault; it counts beats.

    Parameters
    ----------
    fault : Verilog of inputs, and of ``beats`` of the first stream since its last one.
    outputs : Verilog of other outputs, which are 0 else, and of ``wrong``, that of a fault.
    """
    ports = Emission(design).ports
    heads = [f"{one['direction']} [{one['width'] - 1}:0] {one['name']}" for one in ports]
    names = {one["name"]: one["direction"] for one in ports}
    stream = next(name.removesuffix("_valid") for name in names if name.endswith("_valid"))
    values = {name: "0" for name, direction in names.items() if direction == "output"}
    result = next(name for name in values if name.endswith("_valid"))
    values |= {f"{stream}_ready": "1", result: "wrong", **(outputs or {})}
    last = f"{stream}_valid & {stream}_last" if f"{stream}_last" in names else "0"
    lines = [
        f"module {design.module}({', '.join(heads)}, input [7:0] mutant);\nreg [7:0] beats = 0;",
        f"wire wrong = mutant == 1 && ({fault});",
        *(f"assign {name} = {value};" for name, value in values.items()),
        f"always @(posedge clk) if (rst | {last}) beats <= 0;",
        f"else if ({stream}_valid) beats <= beats + 1;",
    ]
    (folder / "mutants.v").write_text("\n".join([*lines, "endmodule\n"]))
