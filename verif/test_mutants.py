"""The benches find faults: mutants of the generated Verilog fail, unless they are no faults.

Yosys puts a sample of mutants into one netlist, selected by the input ``mutant`` (0: none). A
mutant that passes its bench must be proven equal to the design.
"""

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from carrysave.simulate import Build, bench_parameters, build, run
from hw import yosys
from hw.catalog import Design
from hw.emit import Emission
from verif.cases import case_name, long

MUTANTS = 16
SEED = 1

TINY = {"a_width": 3, "b_width": 3, "accumulator_width": 8}
CASES: list[tuple[str, dict[str, Any]]] = [
    ("systolic_os", {"m": 2, "n": 2, "a_width": 3, "b_width": 3, "depth": 9}),
    ("digit_column", {"m": 2, "n": 2, "a_width": 3, "b_width": 3, "depth": 9}),
    # Booth: that select lines exclude each other is beyond an induction over all states.
    (
        "systolic_ws",
        {"m": 2, "n": 2, "k": 2, "a_width": 2, "b_width": 2, "depth": 9, "encoding": "booth"},
    ),
    ("npe", {"m": 2, "n": 2, "formats": "int4,posit4e1", "accumulator_width": 20}),
    ("sl8", {"formats": "int4,e2m3", "accumulator_width": 13}),
]
ROW = {"length": 3, "width": 3, "inverse_scale": 2, "octaves": 4}
# For `make prove`: designs much like those above, and units whose mutants take minutes.
LONG: list[tuple[str, dict[str, Any]]] = [
    ("mac", TINY),
    ("opt1", TINY),
    ("cube", {"m": 2, "n": 2, "k": 2, "a_width": 2, "b_width": 2, "depth": 9}),
    ("opt2", TINY | {"k": 2}),
    ("laconic", TINY | {"k": 2}),
    ("opt3", TINY),
    ("opt4c", TINY | {"k": 2}),
    ("opt4e", TINY | {"k": 2}),
    ("encoder", {"format": "e2m3", "width": 10, "fraction_width": 5}),
    # Wide enough that every bit of a shift counts, but for the highest.
    ("requantiser", {"n": 1, "width": 20, "multiplier_width": 16, "out_width": 4}),
    ("shiftmax", ROW),
    ("shift_gelu", ROW),
    ("float_mac", {"a_format": "e2m1", "b_format": "e2m1", "sum_format": "e3m2ieee"}),
]


@pytest.mark.parametrize(
    ("name", "parameters"),
    [*CASES, *long(LONG)],
    ids=[f"{name}-{case_name(how)}" for name, how in (*CASES, *LONG)],
)
def test_mutants_are_killed(name: str, parameters: dict[str, Any], tmp_path: Path) -> None:
    design = Design(name, parameters)
    (tmp_path / "design.v").write_text(Emission(design).verilog)
    yosys.run(
        f"read_verilog design.v\nhierarchy -top {design.module}\nproc\nflatten\nmemory\nopt_clean\n"
        "write_rtlil design.il\n"
        f"mutate -list {MUTANTS} -seed {SEED} -none -ctrl mutant 8 0 -o mutate.ys\n"
        "script mutate.ys\nopt_clean\nwrite_rtlil mutants.il\nwrite_verilog mutants.v",
        cwd=tmp_path,
    )
    simulator = build([tmp_path / "mutants.v"], design.module)
    assert passes(design, simulator, tmp_path, 0)
    count = (tmp_path / "mutate.ys").read_text().count("mutate ") - 1
    assert count > MUTANTS // 2
    with ThreadPoolExecutor(2) as pool:
        outcomes = pool.map(
            lambda mutant: passes(design, simulator, tmp_path, mutant), range(1, count + 1)
        )
    survivors = [mutant for mutant, passed in enumerate(outcomes, start=1) if passed]
    faults = [mutant for mutant in survivors if not equivalent(design, tmp_path, mutant)]
    lines = (tmp_path / "mutate.ys").read_text().splitlines()
    assert not faults, "survived: " + "; ".join(lines[mutant] for mutant in faults)


def passes(design: Design, simulator: Build, folder: Path, mutant: int) -> bool:
    """Whether the design's bench passes with this mutant selected."""
    parameters = bench_parameters(design) | {"constants": {"mutant": mutant}}
    result = run(
        simulator,
        design.entry.bench,
        parameters=parameters,
        seed=SEED,
        directory=folder / f"mutant{mutant}",
        stop=True,
    )
    assert mutant or result.ok, result
    return result.ok


def equivalent(design: Design, folder: Path, mutant: int) -> bool:
    """Whether Yosys proves the mutant equal to the design, by induction over all states."""
    module = design.module
    try:
        yosys.run(
            f"read_rtlil mutants.il\nrename {module} gate\n"
            f"cd gate\ndelete -port mutant\nconnect -set mutant 8'd{mutant}\ncd ..\n"
            f"read_rtlil design.il\nrename {module} gold\nopt -full\nwreduce\nopt -full\n"
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
