"""What is generated of a device's blocks: models for simulation, accepted by every tool."""

import re
import subprocess
from pathlib import Path

import pytest

from hw.catalog import Design
from hw.device import NAMES
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
    said, listed = files[".f"].read_text().splitlines()
    assert said == f"// Simulation needs {files['_models.v'].name}, too; it is not for synthesis."
    assert listed == files[".v"].name
    core = files[".core"].read_text()
    assert f"models:\n    files: [{files['_models.v'].name}]" in core
    assert "filesets: [rtl, models]" in core


def test_designs_without_blocks_have_no_models(tmp_path: Path) -> None:
    made = generate(Design("systolic_os", CORE | {"target": "generic"}), tmp_path)
    assert not [path for path in made if path.name.endswith("_models.v")]


def test_icarus_accepts_verilog_and_models(files: dict[str, Path]) -> None:
    """Also of two designs in one folder, which have blocks in common."""
    other = Design("systolic_os", CORE | {"m": 1})
    beside = [path for path in generate(other, files[".v"].parent) if path.suffix == ".v"]
    assert len(beside) == 2
    own = [files[".v"], files["_models.v"]]
    top = Design("systolic_os", CORE).module
    for tops, sources in (((top,), own), ((top, other.module), [*own, *beside])):
        words = [word for name in tops for word in ("-s", name)]
        lint = subprocess.run(
            ["iverilog", "-g2005", "-Wall", "-Wno-timescale", "-tnull", *words, *sources],
            capture_output=True,
            text=True,
            check=False,
        )
        assert (lint.returncode, lint.stderr) == (0, "")


def test_yosys_maps_it_as_it_is_read(files: dict[str, Path]) -> None:
    """As a user would: read all Verilog, and map it; no instance is read twice, blocks stay."""
    log = yosys.run(
        f"read_verilog {files['_models.v'].name} {files['.v'].name}\n"
        f"synth_ecp5 -top {Design('systolic_os', CORE).module}\ncheck -assert",
        cwd=files[".v"].parent,
    )
    assert "Reprocessing" not in log
    assert re.findall(r"(\d+) +MULT18X18D$", log, re.MULTILINE)[-1] == "4"
    assert re.findall(r"(\d+) +PDPW16KD$", log, re.MULTILINE)[-1] == "2"


@pytest.mark.sample(3)
@pytest.mark.parametrize("target", NAMES)
def test_synthesis_reads_no_model(target: str, tmp_path: Path) -> None:
    """A user who adds all files to his project gets the device's blocks, not our stand-ins."""
    design = Design("systolic_os", {"m": 1, "n": 2, "k_max": 20, "target": target})
    generate(design, tmp_path)
    models = tmp_path / f"{design.module}_models.v"
    assert models.exists() == (target != "gowin")
    if not models.exists():
        return
    names = set(re.findall(r"^module (\w+)", models.read_text(), re.MULTILINE))
    for how, read in (("", set[str]()), ("-nosynthesis", names)):
        # Yosys heeds comments, too, which leave out what stands between them.
        text = re.sub("// synthesis translate_o.*", "", models.read_text()) if how else None
        if text is not None:
            models.write_text(text)
        log = yosys.run(f"read_verilog {how} {models.name}\nls", cwd=tmp_path)
        assert names & set(re.findall(r"^  (\w+)$", log, re.MULTILINE)) == read
