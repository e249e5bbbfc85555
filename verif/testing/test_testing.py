"""The pytest plugin and its helpers, as users have them: the example, and what goes wrong."""

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import carrysave
from carrysave import testing
from carrysave.testing.bench import Bench
from hw.catalog import Design

ROOT = Path(carrysave.__file__).parents[1]
EXAMPLES = ROOT / "examples"
WRONG = """
import cocotb
from cocotb.clock import Clock

import carrysave
from carrysave import testing

ENGINE = carrysave.Design("systolic_os", m=4, n=4, k_max=64)


def test_fails(carrysave_bench):
    carrysave_bench("classifier", ["classifier.v"], ENGINE)


def test_no_file(carrysave_bench):
    carrysave_bench("classifier", ["absent.v"], ENGINE)


def test_no_block(carrysave_bench):
    carrysave_bench("classifier", ["classifier.v"])


def test_files(carrysave_generate):
    files = carrysave_generate("mac", a_width=2)
    assert "module mac_a_width2" in files.verilog.read_text()


@cocotb.test
async def nothing_is_multiplied(dut):
    Clock(dut.clk, 10, unit="ns").start()
    engine = testing.watch(ENGINE, dut.engine, clk=dut.clk)
    await testing.reset(dut.clk, dut.rst)
    engine.check()
"""


def test_helpers_inside_of_the_simulator(tmp_path: Path) -> None:
    bench = Bench(Path(__file__), tmp_path, seed=1, waves=False)
    found = bench(
        "pair",
        ["benches/widths.svh", "benches/pair.sv"],
        Design("systolic_os", {"m": 2, "n": 2, "k_max": 16}),
        bench="verif.testing.benches.tb_pair",
    )
    assert found.tests == 5


def test_lanes_are_watched(tmp_path: Path) -> None:
    """On an array that is the top itself."""
    design = Design("npe", {"m": 2, "n": 2, "formats": "int8,e4m3"})
    bench = Bench(Path(__file__), tmp_path, seed=1, waves=False)
    found = bench(design.module, [], design, bench="verif.testing.benches.tb_lanes")
    assert found.tests == 2


@pytest.mark.prove
@pytest.mark.parametrize("scale", ["e8m0", "e4m3"])
def test_lanes_with_scales_are_watched(scale: str, tmp_path: Path) -> None:
    parameters = {
        "m": 2,
        "n": 3,
        "formats": "int4,e2m1",
        "result": "fp32",
        "block": 4,
        "scale": scale,
    }
    design = Design("npe", parameters)
    bench = Bench(Path(__file__), tmp_path, seed=None, waves=False)
    bench(
        design.module,
        [],
        design,
        bench="verif.testing.benches.tb_lanes",
        test="tiles_of_all_formats",
    )


def test_an_example_of_a_user(tmp_path: Path) -> None:
    """It passes; a bench that is wrong fails with the reason, the seed and the log."""
    shutil.copytree(EXAMPLES / "classifier", tmp_path / "own")
    (tmp_path / "own" / "test_wrong.py").write_text(WRONG)
    program = [
        sys.executable,
        "-m",
        "pytest",
        "-p",
        "carrysave.testing.plugin",
        "-q",
        "--carrysave-seed",
        "7",
        "--basetemp",
        str(tmp_path / "runs"),
    ]
    done = subprocess.run(
        program, cwd=tmp_path / "own", capture_output=True, text=True, check=False
    )
    assert done.returncode == 1, done.stdout + done.stderr
    assert "3 failed, 2 passed in" in done.stdout
    assert "warnings" not in done.stdout
    for text in (
        "classifier: 1 of 1 tests failed:",
        "nothing_is_multiplied: 0 tiles were multiplied, and some are due",
        "again with --carrysave-seed 7; what the simulator said: ",
        "sources must be files, not ",
        "cannot build classifier: %Error",
    ):
        assert text in done.stdout, done.stdout


def test_an_example_is_short() -> None:
    """A bench of a larger design takes about 20 lines."""
    text = (EXAMPLES / "classifier" / "test_classifier.py").read_text()
    _, _, body = text.partition("async def")
    assert len(body.splitlines()) <= 22


def test_what_is_public_is_there() -> None:
    assert testing.__doc__ is not None
    for name in testing.__all__:
        assert name in dir(testing)
        assert getattr(testing, name).__doc__
        assert f"\n{name} " in testing.__doc__
    with pytest.raises(AttributeError, match="no attribute 'wach'"):
        testing.wach  # noqa: B018


def test_the_plugin_is_light() -> None:
    """It is loaded by every run of pytest where carrysave is installed."""
    program = (
        "import sys, pytest; before = set(sys.modules); import carrysave.testing.plugin; "
        "print(*{name.partition('.')[0] for name in set(sys.modules) - before})"
    )
    done = subprocess.run(
        [sys.executable, "-c", program], check=True, capture_output=True, text=True
    )
    assert set(done.stdout.split()) <= {"carrysave"}
