"""The co-processor around every engine, on buses of 32 to 128 bits, with every error of memory."""

from pathlib import Path

import pytest

from carrysave.sim.parameters import describe
from carrysave.sim.runner import run, sources_of
from carrysave.sim.verilator import build
from hw.catalog import Design, engines

ENGINES = {
    "systolic_os": "m=2,n=3",
    "systolic_ws": "m=2,n=2,k=3",
    "matrix_2d": "m=2,n=2",
    "cube": "m=2,n=2,k=2",
    "adder_tree": "n=2,k=3",
    "digit_column": "m=2,n=2,k=2",
    "lut_core": "m=2,n=2,lookups=2,folded=false,together=true",
    "bitserial_core": "m=2,n=2,k=2",
    "shift_add_core": "m=2,n=2,k=2",
    "ternary_core": "m=2,n=2,k=2",
    "over_weights": "m=2,n=2",
    "npe": "m=2,n=2,formats=int8,e4m3",
}
WIDTHS = (32, 64, 128)
"""Of 256 and 512 bits, bursts in the middle of a row of biases are too rare for the bench."""
CROSS = [(name, width) for name in ENGINES for width in WIDTHS]


def design_of(name: str, width: int) -> Design:
    """Make one whose stores hold about as many beats on each bus: rows of several bursts."""
    sizes = {"sums": max(64, width), "a_bytes": max(1024, 16 * width)}
    sizes |= {"b_bytes": sizes["a_bytes"], "data_width": width}
    return Design("coprocessor", {"engine": f"{name}({ENGINES[name]})"} | sizes)


def test_all_engines_are_there() -> None:
    assert {*ENGINES} == {*engines()}
    assert all(design_of(name, width).spec for name, width in CROSS)


@pytest.mark.prove
@pytest.mark.parametrize(("name", "width"), CROSS)
def test_every_error_of_memory(name: str, width: int, tmp_path: Path) -> None:
    """Each response on the first, a middle and the last beat of bursts of each kind is told.

    The job after it is right. The bench fails if a combination was never seen.
    """
    design = design_of(name, width)
    result = run(
        build(sources_of(design, tmp_path, rules=True), design.module),
        design.entry.bench,
        tests="test_faults|test_hard_resets",
        parameters=describe(design),
        seed=1,
        directory=tmp_path / "run",
        deadline=3600,
    )
    assert result.ok, f"{result.failed}; see {result.log}"
    assert result.tests == 2
