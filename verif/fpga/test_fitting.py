"""Devices that have the blocks of a design: counts, and the table of the guide."""

import re

import pytest

from carrysave.drawings.sources import ROOT
from carrysave.fpga.fitting import devices_of, fitting
from hw.catalog import Design
from hw.device import NAMES
from verif.support.command import Run


def array(m: int, n: int, target: str) -> Design:
    return Design("systolic_os", {"m": m, "n": n, "target": target})


@pytest.mark.parametrize("target", NAMES)
def test_devices_are_in_order(target: str) -> None:
    sizes = list(devices_of(target).values())
    assert sizes == sorted(sizes)
    assert bool(sizes) == (target not in ("gowin", "nexus"))  # they count places


@pytest.mark.parametrize(
    ("size", "target", "says"),
    [
        ((12, 13), "ecp5", "156 multiplier blocks of Lattice ECP5: LFE5U-85F has 156"),
        ((13, 13), "ecp5", "169 .* than any, LFE5UM5G-85F has 156; -p dsps=N leaves the others"),
        ((12, 13), "xilinx7", "XC7S100 has 160, XC7Z015 has 160, XC7A75T has 180, XC7K70T has 240"),
        ((12, 13), "ultrascale", "84 multiplier blocks of .*: XCZU2 has 240, XCKU3P has 1,368"),
        ((2, 2), "gowin", "4 multiplier blocks of Gowin.*[^:]$"),
    ],
)
def test_the_least_device_of_each_line(size: tuple[int, int], target: str, says: str) -> None:
    text = fitting(array(*size, target))
    assert text is not None
    assert re.search(says, text), text


def test_designs_without_blocks_have_none() -> None:
    assert fitting(Design("systolic_os", {})) is None
    assert fitting(Design("requantiser", {})) is None


def test_blocks_of_an_engine_are_those_of_its_co_processor(run: Run) -> None:
    words = ("coprocessor", "-p", "engine=systolic_os(m=2,n=3,target=artix7)")
    lines = run("generate", *words).out.splitlines()
    assert lines[-1].startswith("6 multiplier blocks of Xilinx 7 series: XC7S6 has 10, ")


def test_the_table_of_the_guide_is_what_designs_take() -> None:
    text = (ROOT / "docs" / "guides" / "fpga.md").read_text()
    rows = re.findall(r"^\| (\d+) x (\d+) \| (.*) \|$", text, re.MULTILINE)
    assert len(rows) >= 5
    targets = ("ecp5", "xilinx7", "ultrascale", "ice40")
    for m, n, rest in rows:
        for target, cell in zip(targets, rest.split(" | "), strict=True):
            expected = cell_of(array(int(m), int(n), target), target)
            assert cell == expected, (m, n, target)


def cell_of(design: Design, target: str) -> str:
    """Return a cell of the table: blocks, and the least device."""
    taken = design.component().blocks.dsps
    enough = [name for name, count in devices_of(target).items() if count >= taken]
    return f"{taken}: {enough[0]}" if enough else f"{taken}: none"
