"""What is generated of a device's blocks: models for simulation, accepted by every tool."""

import subprocess
from pathlib import Path

import pytest

from hw.catalog import Design
from hw.emit import yosys
from hw.emit.files import generate

CORE = {"m": 2, "n": 2, "k_max": 20, "target": "ecp5"}


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    made = generate(Design("systolic_os", CORE), tmp_path_factory.mktemp("files"))
    module = Design("systolic_os", CORE).module
    return {path.name.removeprefix(module): path for path in made}


def test_models_come_with_the_verilog(files: dict[str, Path]) -> None:
    text = files["_models.v"].read_text()
    for block in ("MULT18X18D", "LUT4", "CCU2C", "PDPW16KD"):
        assert text.count(f"module {block} ") == 1
    assert "_models.v" not in files[".f"].read_text()
    core = files[".core"].read_text()
    assert f"models:\n    files: [{files['_models.v'].name}]" in core
    assert "filesets: [rtl, models]" in core


def test_designs_without_blocks_have_no_models(tmp_path: Path) -> None:
    made = generate(Design("systolic_os", CORE | {"target": "generic"}), tmp_path)
    assert not [path for path in made if path.name.endswith("_models.v")]


def test_icarus_accepts_verilog_and_models(files: dict[str, Path]) -> None:
    both = [str(files[".v"]), str(files["_models.v"])]
    top = Design("systolic_os", CORE).module
    lint = subprocess.run(
        ["iverilog", "-g2005", "-Wall", "-Wno-timescale", "-tnull", "-s", top, *both],
        capture_output=True,
        text=True,
        check=False,
    )
    assert (lint.returncode, lint.stderr) == (0, "")


def test_yosys_maps_it_as_it_is_read(files: dict[str, Path]) -> None:
    """As a user would: read the Verilog, and map it; no instance is read twice."""
    log = yosys.run(
        f"read_verilog {files['.v'].name}\nsynth_ecp5 -top {Design('systolic_os', CORE).module}\n"
        "check -assert",
        cwd=files[".v"].parent,
    )
    assert "Reprocessing" not in log
