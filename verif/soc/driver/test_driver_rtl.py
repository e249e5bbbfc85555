"""Both drivers, in Verilator, on the co-processors that its own bench verifies."""

from pathlib import Path
from typing import Any

import pytest

from carrysave.sim import runner
from carrysave.sim.parameters import describe
from carrysave.sim.verilator import build
from hw.catalog import Design
from verif.soc.driver import c_driver
from verif.soc.test_coprocessor_rtl import CASES, SMALL
from verif.support.cases import case_name, long

MORE: list[dict[str, Any]] = [
    # Sums of 64 bits, without a requantiser, which takes many minutes to compile; codes of 2 and of
    # 4 bits; the defaults.
    SMALL | {"engine": "systolic_os(m=2,n=3,a_width=16,b_width=16)", "requantise": False},
    SMALL | {"engine": "systolic_os(m=2,n=5,a_width=2,a_signed=False,b_width=4)"},
    {},
]


SUMS = {"bias": False, "requantise": False}
MX: dict[str, Any] = (
    SMALL | SUMS | {"engine": "npe(m=2,n=2,formats=e2m1,e4m3,scale=e8m0,block=32,result=fp32)"}
)
NVFP4: dict[str, Any] = (
    SMALL
    | SUMS
    | {"engine": "npe(m=2,n=3,formats=e2m1,scale=e4m3,block=16,result=fp32)", "ring": False}
)


@pytest.mark.parametrize("parameters", [CASES[0], *long([*CASES[1:], *MORE])], ids=case_name)
def test_driver_rtl(parameters: dict[str, Any], tmp_path: Path) -> None:
    assert run(parameters, "verif.soc.benches.tb_driver", tmp_path) == 10


@pytest.mark.prove
@pytest.mark.parametrize("parameters", [MX, *long([NVFP4])], ids=case_name)
def test_driver_rtl_with_scales(parameters: dict[str, Any], tmp_path: Path) -> None:
    assert run(parameters, "verif.soc.benches.tb_driver_scales", tmp_path) == 6


def run(parameters: dict[str, Any], bench: str, tmp_path: Path) -> int:
    """Run a bench on a co-processor with the C driver; returns how many tests passed."""
    design = Design("coprocessor", parameters)
    folder = tmp_path / "driver"
    folder.mkdir()
    library = c_driver.compile_driver(folder)
    result = runner.run(
        build(runner.sources_of(design, tmp_path, rules=True), design.module),
        bench,
        parameters={**describe(design), "library": str(library)},
        seed=1,
        directory=tmp_path / "run",
    )
    assert result.ok, f"{result.failed}; see {result.log}"
    return result.tests
