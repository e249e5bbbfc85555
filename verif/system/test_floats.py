"""``carrysave soc``: programs with steps on floats, by firmware with arithmetic in software."""

import json
from pathlib import Path

import numpy as np
import onnx
import pytest

from verif.support.command import Run
from verif.support.schemas import check
from verif.system.networks import SHAPE, convolutions


def asked(folder: Path) -> tuple[object, ...]:
    """Save a network with a Softmax between two products; return the command line of its system."""
    onnx.save(convolutions(between="Softmax"), folder / "m.onnx")
    rng = np.random.default_rng(3)
    np.save(folder / "x.npy", rng.integers(0, 256, SHAPE).astype(np.uint8))
    system = ("soc", "--board", "ulx3s_85f", "-p", "engine=systolic_os(m=4,n=4,target=ecp5)")
    return (
        *system,
        "--model",
        folder / "m.onnx",
        "--input",
        folder / "x.npy",
        "-o",
        folder / "out",
    )


@pytest.mark.prove
def test_a_system_computes_them(run: Run, tmp_path: Path) -> None:
    """All of memory is as golden leaves it."""
    done = run(*asked(tmp_path), "--simulate", "--json")
    assert done.code == 0, done.err
    found = check("soc", done.out)
    assert found["floats"]
    assert 0x4000 < found["firmware_bytes"] <= 0x10000
    assert found["simulation"]["difference"] is None
    assert found["simulation"]["wrong"] == []
    assert found["simulation"]["bytes"] > 0


def test_a_board_without_them_refuses(run: Run, tmp_path: Path) -> None:
    """What is on the board is in its report."""
    line = asked(tmp_path)
    report = tmp_path / "out" / "soc" / "ulx3s_85f" / "soc.json"
    report.parent.mkdir(parents=True)
    facts = {
        "parameters": {"engine": "systolic_os(m=4,n=4,target=ecp5)", "data_width": 32},
        "clock_mhz": 60.0,
        "baud": 1000000,
        "cpu": "VexRiscv",
        "bus": "Wishbone",
        "floats": False,
    }
    report.write_text(json.dumps(facts))
    done = run(*line, "--port", "/dev/null")
    assert (done.code, "the system on ulx3s_85f has no floats" in done.err) == (2, True), done.err
