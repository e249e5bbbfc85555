"""Simulation flow: what goes wrong in a simulation is a failure; products of any shape."""

from functools import partial
from pathlib import Path
from xml.etree import ElementTree

import numpy as np
import pytest

from carrysave.sim.products import multiply
from carrysave.sim.results import cases
from carrysave.sim.runner import run, verify
from carrysave.sim.verilator import Build, build
from hw.catalog import Design

BENCH = """
import os, signal, time
import cocotb
from cocotb.triggers import Timer

@cocotb.test
async def test_passes(dut):
    await Timer(1, "ns")

@cocotb.test
async def test_fails(dut):
    await Timer(1, "ns")
    assert False

@cocotb.test
async def test_crashes(dut):
    os.kill(os.getpid(), signal.SIGSEGV)

@cocotb.test
async def test_hangs(dut):
    time.sleep(1000)

@cocotb.test
async def test_exits(dut):
    os._exit(0)
"""


PLAIN = "verif.sim.benches.tb_plain"


@pytest.fixture
def wire(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Build:
    (tmp_path / "tb_wire.py").write_text(BENCH)
    monkeypatch.syspath_prepend(tmp_path)
    (tmp_path / "wire_.v").write_text("module wire_(input i, output o); assign o = i; endmodule\n")
    return build([tmp_path / "wire_.v"], "wire_")


def test_run_reports_what_passed(wire: Build, tmp_path: Path) -> None:
    result = run(wire, "tb_wire", tests="passes", seed=7, directory=tmp_path / "run")
    assert result.ok
    assert (result.tests, result.failures, result.seed) == (1, 0, 7)
    assert result.xml.exists()
    assert result.log.exists()


@pytest.mark.parametrize(
    ("tests", "reason"),
    [
        ("passes|fails", "test_fails"),
        ("passes|crashes", "ended with exit code"),
        ("hangs", "did not end"),
        ("exits", "no test of tb_wire ran"),
        ("no_such_test", ""),
    ],
)
def test_run_never_takes_trouble_for_success(
    wire: Build, tmp_path: Path, tests: str, reason: str
) -> None:
    deadline = 4 if tests == "hangs" else 60
    result = run(wire, "tb_wire", tests=tests, directory=tmp_path / "run", deadline=deadline)
    assert not result.ok
    assert any(reason in text for text in result.failed)
    root = ElementTree.parse(result.xml).getroot()
    assert root.find(".//failure") is not None or root.find(".//error") is not None


def test_benches_of_ours_do_without_pytest(wire: Build, tmp_path: Path) -> None:
    found = run(wire, PLAIN, parameters={"wanted": 1}, directory=tmp_path / "run")
    assert found.failed == ()
    assert found.tests == 3
    assert [case.outcome for case in cases(found.xml)].count("skipped") == 1


@pytest.mark.parametrize("stop", [False, True])
def test_what_fails_tells_values(wire: Build, tmp_path: Path, stop: bool) -> None:
    """By a second run, with pytest; not where only the outcome counts."""
    run_ = partial(run, wire, PLAIN, parameters={"wanted": 7}, directory=tmp_path / "run")
    found = run_(tests=None if stop else "values|skips", stop=stop)
    (failed,) = (case for case in cases(found.xml) if case.outcome == "failed")
    assert found.failed == (failed.name,) == ("test_values",)
    assert failed.why.endswith("AssertionError" if stop else "assert 1 == 7")
    assert ("assert 1 == 7" in found.log.read_text()) is not stop
    assert [path.name for path in found.directory.iterdir() if path.is_dir()] == []


def test_run_without_bench_fails(wire: Build, tmp_path: Path) -> None:
    assert not run(wire, "tb_that_is_not_there", directory=tmp_path / "run").ok


def test_build_names_the_error(tmp_path: Path) -> None:
    (tmp_path / "bad.v").write_text("module bad(input i); assign o == i; endmodule\n")
    with pytest.raises(RuntimeError, match=r"cannot build bad: .*syntax error"):
        build([tmp_path / "bad.v"], "bad")


def test_verify_records_waves_when_asked(tmp_path: Path) -> None:
    design = Design("mac", {"a_width": 2, "b_width": 2, "accumulator_width": 4})
    result = verify(design, tests="latency", waves=True, directory=tmp_path)
    assert result.ok
    assert result.waves is not None
    assert "o_sum" in result.waves.read_text()


def test_multiply_takes_any_shape(tmp_path: Path) -> None:
    rng = np.random.default_rng(1)
    design = Design("systolic_os", {"m": 2, "n": 3, "k_max": 5, "a_width": 4})
    shapes = [(1, 1, 1), (2, 5, 3), (5, 12, 7), (4, 0, 2), (3, 4, 1), (1, 20, 10)]
    pairs = [(rng.integers(-8, 8, (m, k)), rng.integers(-128, 128, (k, n))) for m, k, n in shapes]
    seen: list[tuple[int, int]] = []
    products = multiply(design, pairs, tmp_path, progress=lambda *now: seen.append(now))
    assert len(products) == len(pairs)
    for product, (a, b) in zip(products, pairs, strict=True):
        assert np.array_equal(product, a @ b)
    assert seen[-1][0] == seen[-1][1] > 0


def test_multiply_refuses_codes_out_of_range(tmp_path: Path) -> None:
    design = Design("systolic_os", {"m": 2, "n": 3, "k_max": 5, "a_width": 4})
    with pytest.raises(ValueError, match=r"a must be -8\.\.7 \(int4\), not 8"):
        multiply(design, [(np.array([[8]]), np.array([[1]]))], tmp_path)
