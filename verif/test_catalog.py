"""What is emitted for every entry of the catalogue: same bytes, accepted by all tools, small."""

import atexit
import functools
import json
import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pyslang
import pytest

from carrysave.signoff.lint import STYLE
from carrysave.sim.verilator import verilator
from hw.catalog import CATALOG, STAGES, USER_DESIGN, Design
from hw.emit import yosys
from hw.emit.files import generate
from hw.emit.verilog import Emission
from verif.support.cases import case_name, long
from verif.support.schemas import check

# Less than the defaults, which `make prove` takes: Amaranth takes 12 s for a co-processor, and
# Verilator, which copies every lane into its place, minutes for 128.
ENGINE = {"engine": "systolic_os(m=2,n=2)", "data_width": 32}
SMALL: dict[str, dict[str, Any]] = {
    "systolic_os": {"m": 2, "n": 3},
    "systolic_ws": {"k": 2, "m": 3, "n": 2},
    "cube": {"m": 1, "n": 2, "k": 3},
    "adder_tree": {"m": 1, "n": 2, "k": 3},
    "matrix_2d": {"m": 2, "n": 3},
    "over_weights": {"m": 2, "n": 2},
    "lut_core": {"n": 2},
    "lut_unit": {"n": 2},
    "bitserial_core": {"n": 2},
    "shift_add_core": {"n": 2},
    "ternary_core": {"n": 2},
    "npe": {"m": 1, "n": 2},
    "requantiser": {"n": 2, "width": 20},
    "float_lut": {"columns": 2, "group": 2},
    "aligned_dot": {"group": 2},
    "vector_unit": {"lanes": 2, "length": 32},
    "coprocessor": ENGINE | {"sums": 64},
    "coprocessor_stream": ENGINE,
    "coprocessor_uart": ENGINE | {"sums": 64, "memory_bytes": 4096},
}
CASES: list[Any] = (
    [(name, SMALL.get(name, {})) for name in CATALOG]
    + [pytest.param((name, {}), marks=pytest.mark.prove) for name in SMALL]
    + [
        ("mac", {"a_width": 2, "b_width": 2, "accumulator_width": 4, "encoding": "operator"}),
        ("opt1", {"a_width": 5, "b_width": 3, "a_signed": False, "pipeline": 1}),
        ("systolic_os", {"m": 1, "n": 1}),
        ("systolic_os", {"m": 9, "n": 2, "pe": "mac", "a_signed": False}),
    ]
)

# Takes designs, one a line, and tells the names of the files that it made of each.
CHILD = """
import json, sys
from pathlib import Path
from hw.catalog import Design
from hw.emit.files import generate
for line in sys.stdin:
    name, parameters, folder = json.loads(line)
    paths = generate(Design(name, parameters), Path(folder))
    print(json.dumps([path.name for path in paths]), flush=True)
"""

# Least operations a cycle of designs that take more than a cycle for a product or a value.
SLOW = {
    "opt3": 0.5,
    "opt4c": 0.5,
    "opt4e": 0.5,
    "shiftmax": 1,
    "shift_gelu": 0.25,
    "vector_unit": 0.5,
}


# Of the module, so that all tests of a design follow each other and share its files.
@pytest.fixture(params=CASES, ids=lambda case: f"{case[0]}-{case_name(case[1])}", scope="module")
def design(request: pytest.FixtureRequest) -> Design:
    return Design(*request.param)


@pytest.fixture(scope="module")
def files(design: Design, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """Generate a design's files; by ending."""
    folder = tmp_path_factory.mktemp("generated")
    return {path.suffix: path for path in generate(design, folder)}


@pytest.mark.sample(3)
@pytest.mark.parametrize("seed", ["1", *long(["2"])])
def test_same_design_same_bytes(
    design: Design, files: dict[str, Path], seed: str, tmp_path: Path
) -> None:
    told = child(seed)
    assert told.stdin is not None
    assert told.stdout is not None
    told.stdin.write(json.dumps([design.name, dict(design.parameters), str(tmp_path)]) + "\n")
    told.stdin.flush()
    names = json.loads(told.stdout.readline())
    assert sorted(names) == sorted(file.name for file in files.values())
    for file in files.values():
        assert (tmp_path / file.name).read_bytes() == file.read_bytes()


@functools.cache
def child(seed: str) -> subprocess.Popen[str]:
    """Start a process with another order of sets, which generates design after design."""
    process = subprocess.Popen(
        [sys.executable, "-W", "ignore", "-c", CHILD],
        env=os.environ | {"PYTHONHASHSEED": seed, "PYTHONPATH": os.pathsep.join(sys.path)},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    atexit.register(process.communicate)  # which closes its input, with which it ends
    return process


@pytest.mark.sample(6)
def test_accepted_by_verilator(design: Design, files: dict[str, Path]) -> None:
    quiet = [f"-Wno-{warning}" for warning in STYLE]
    lint = verilator(
        "--lint-only", "-Wall", *quiet, "--top-module", design.module, str(files[".v"])
    )
    assert lint.code == 0, lint.output


@pytest.mark.sample(6)
def test_accepted_by_icarus(design: Design, files: dict[str, Path]) -> None:
    options = ["-g2005", "-Wall", "-Wno-timescale", "-tnull", "-s", design.module]
    lint = subprocess.run(
        ["iverilog", *options, str(files[".v"])], capture_output=True, text=True, check=False
    )
    assert (lint.returncode, lint.stderr) == (0, "")


@pytest.mark.sample(6)
def test_accepted_by_yosys(design: Design, files: dict[str, Path]) -> None:
    log = yosys.run(
        f"read_verilog {files['.v'].name}\nhierarchy -check -top {design.module}\n"
        "proc\ncheck -assert\n",
        cwd=files[".v"].parent,
    )
    assert "Warning" not in log


@pytest.mark.sample(14)
def test_accepted_by_slang(files: dict[str, Path]) -> None:
    tree = pyslang.syntax.SyntaxTree.fromFile(str(files[".v"]))
    compilation = pyslang.ast.Compilation()
    compilation.addSyntaxTree(tree)
    errors = [item for item in compilation.getAllDiagnostics() if item.isError()]
    report = pyslang.DiagnosticEngine.reportAll(tree.sourceManager, errors)
    assert not errors, report


@pytest.mark.sample(14)
def test_manifest_is_complete(design: Design, files: dict[str, Path]) -> None:
    assert set(files) == {".v", ".json", ".sdc", ".f", ".core"}
    manifest = check("design", files[".json"])
    assert manifest["design"] == design.name
    assert manifest["module"] == design.module
    assert manifest["parameters"] == design.parameters
    assert {"amaranth", "pyosys", "carrysave"} <= set(manifest["versions"])
    assert manifest["latency_cycles"] == design.component().latency == design.latency
    operations = manifest["throughput"]["operations_per_cycle"]
    assert operations == design.component().operations_per_cycle
    assert operations >= SLOW.get(design.name, 2)
    stated = {(port["name"], port["direction"], port["width"]) for port in manifest["ports"]}
    assert stated == ports(files[".v"].read_text(), design.module)
    inside = {name for name, *_ in stated} - {manifest["clock"], manifest["reset"]}
    assert set(manifest["names"].values()) == inside


@pytest.mark.prove
def test_array_size_adds_no_modules() -> None:
    small, large = (Emission(Design("systolic_os", {"m": m, "n": m})).verilog for m in (8, 40))
    names = [
        {name.removeprefix(f"systolic_os{varied}") for name in modules(text)}
        for text, varied in ((small, ""), (large, "_m40_n40"))
    ]
    assert names[0] == names[1]
    assert len(modules(large)) == len(names[1])
    assert len(large) < 1_000_000


def modules(text: str) -> list[str]:
    return re.findall(r"^module (\S+?)\(", text, re.MULTILINE)


def ports(text: str, module: str) -> set[tuple[str, str, int]]:
    """Ports of a module as its Verilog declares them."""
    body = text[text.index(f"module {module}(") :].partition("endmodule")[0]
    found = re.findall(r"^\s*(input|output) (?:reg |wire )?(?:\[(\d+):0\] )?(\w+);", body, re.M)
    return {(name, direction, int(high or 0) + 1) for direction, high, name in found}


def test_numbers_of_designs_stay() -> None:
    """Register ENGINE of hardware that is built already holds them; a new design has a new one."""
    numbers = {name: number for names in STAGES.values() for name, number in names.items()}
    assert len(set(numbers.values())) == len(numbers)
    assert max(numbers.values()) < USER_DESIGN
    built = {
        "systolic_os": 8,
        "systolic_ws": 9,
        "cube": 10,
        "adder_tree": 11,
        "matrix_2d": 12,
        "digit_column": 13,
        "lut_core": 15,
        "bitserial_core": 17,
        "shift_add_core": 18,
        "ternary_core": 19,
        "over_weights": 20,
        "npe": 23,
    }
    assert {name: numbers[name] for name in built} == built
    design = Design("coprocessor", {"engine": "npe(m=2,n=2)"})
    assert design.component().registers.parameters["engine"] == numbers["npe"]
