"""A board's co-processor with SDRAM: at the pins of the chip, whose timing is its data sheet's."""

import re
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from carrysave.boards.board import BOARDS, design_of
from carrysave.boards.external import controller
from carrysave.boards.sdram import SDRAMS
from carrysave.errors import UsageError
from verif.boards.simulated_board import alone, board_with, check_unstarted


@pytest.mark.prove
def test_memory_is_right_and_refreshed(tmp_path: Path) -> None:
    """All bytes, a product, and no command that the data sheet forbids; the rate is near the bus's.

    A word of 2 bytes passes in each cycle, at most.
    """
    found = board_with("ulx3s_85f", tmp_path)
    assert found["ok"]
    assert found["commands"]["refresh"] > 10
    assert 0.5 * 2 < (found["read_bytes"] + found["written_bytes"]) / found["cycles"] < 2


@pytest.mark.prove
def test_memory_in_the_package(tmp_path: Path) -> None:
    """Of 32 bits, at a bus as wide; it has half of the rows, and needs refreshes half as often."""
    chip: dict[str, Any] = {
        "rows": 11,
        "columns": 8,
        "bits": 32,
        "timing": {"refi": 15_625.0, "rfc": 55.0},
    }
    found = board_with("tang_nano_20k", tmp_path, size=512, **chip)
    assert found["ok"]
    assert found["commands"]["refresh"] > 10


@pytest.mark.prove
@pytest.mark.parametrize(
    ("chip", "high", "low"),
    [
        ({"stuck_high": 0x10}, 0x10 * 0x0001_0001_0001_0001, 0),
        ({"stuck_low": 0x8000}, 0, 0x8000 * 0x0001_0001_0001_0001),
        # One byte among the first, in which all bits are written both ways.
        ({"bad": {"1": 0x0400}}, 0x0400_0000, 0x0400_0000),
    ],
)
def test_bad_bits_are_told(chip: dict[str, Any], high: int, low: int, tmp_path: Path) -> None:
    found = board_with("ulx3s_85f", tmp_path, **chip)
    assert not found["ok"]
    assert (found["high"], found["low"]) == (high, low)


@pytest.mark.prove
def test_memory_that_does_not_answer(tmp_path: Path) -> None:
    """Every byte is read as what the bus has, and nothing hangs."""
    found = board_with("ulx3s_85f", tmp_path, silent=True)
    assert found["wrong"] > 4000
    assert found["low"] == 0
    assert {one["read"] for one in found["first"]} == {255}


@pytest.mark.prove
def test_memory_that_never_starts(tmp_path: Path) -> None:
    """Host and registers are there, and nothing is asked of the memory."""
    found = board_with("ulx3s_85f", tmp_path, never=True)
    check_unstarted(found)
    assert not found["commands"]["read"] + found["commands"]["write"]


@pytest.mark.prove
@pytest.mark.parametrize("name", SDRAMS)
def test_every_pin_of_the_memory_has_a_place(name: str) -> None:
    """But those in the FPGA's package, which its tools know by their names."""
    board = BOARDS[name]
    memory = controller(board, design_of(board, {"memory": "external"}).spec, 60e6)
    placed = Counter(re.findall(r'LOCATE COMP "(\w+)', memory.pins))
    widths = {port: width for port, (width, _) in memory.pads.items()}
    assert placed == ({} if SDRAMS[name].packaged else widths)
    driven = {port for port, (_, way) in memory.pads.items() if way == "inout"}
    assert (
        driven
        == {
            "sdr": {"IO_sdram_dq" if SDRAMS[name].packaged else "sdram_dq"},
            "ddr3": {"ddram_dq", "ddram_dqs_p"},
        }[SDRAMS[name].kind]
    )


def test_boards_without_such_memory() -> None:
    for name, why in (("tang_nano_9k", "HyperRAM"), ("icebreaker", "none beside its FPGA")):
        with pytest.raises(UsageError, match=f"memory must be block_ram on {name}: .*{why}"):
            design_of(BOARDS[name], {"memory": "external"})


@pytest.mark.prove
@pytest.mark.parametrize("name", ["ulx3s_85f", "orangecrab_85f"])
def test_port_takes_what_the_memory_is_said_to(name: str, tmp_path: Path) -> None:
    """Latency and rate are those of reads at the controller's port."""
    timing = SDRAMS[name].timing
    seen = alone(name, "verif.boards.tb_sdram_port", tmp_path)
    assert len(seen["alone"]) == len(seen["again"]) == len(seen["gaps"]) == 64
    # Of DDR3, fewer cycles where a refresh has closed the row that was open.
    assert 0 <= timing.answer - np.median(seen["alone"]) <= (SDRAMS[name].kind == "ddr3")
    fitted = name == "ulx3s_85f"  # to whole products, of which rows that are open are a part
    assert fitted or timing.answer_again == np.median(seen["again"])
    assert timing.beat(8) == np.median(seen["gaps"])
