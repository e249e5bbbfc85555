"""DDR3 of boards: how it is started and levelled, with memories that are read right nowhere."""

import re
from pathlib import Path
from random import Random
from typing import Any

import pytest

from carrysave.boards.board import BOARDS, design_of
from carrysave.boards.external import controller
from carrysave.boards.sdram import SDRAMS
from carrysave.boards.top import clock_of
from carrysave.errors import UsageError
from golden.soc.serial.host_link import HostLinkFormat
from verif.boards.simulated_board import MHZ, alone, board_with, check_unstarted

DELAYS, SLIPS = 8, 4
NOWHERE: dict[int, list[int]] = {}


def middle(windows: dict[int, list[int]], weak: list[int]) -> tuple[int, int] | None:
    """Return the delay and the bit slip in the middle of the longest window, the first of them."""
    best: tuple[int, int, int] | None = None
    for slip in range(SLIPS):
        good = [d in windows.get(slip, ()) and d not in weak for d in range(DELAYS)]
        for first in range(DELAYS):
            for last in range(first, DELAYS):
                whole = all(good[first : last + 1])
                if whole and (best is None or last - first + 1 > best[0]):
                    best = last - first + 1, (first + last) // 2, slip
    return best and best[1:]


def _cases() -> list[dict[str, Any]]:
    """Windows of each length at each place, two in a byte, faults; bytes differ."""
    rng = Random(7)
    spans = [
        list(range(first, first + length)) for length in range(1, 6) for first in range(9 - length)
    ]
    cases: list[dict[str, Any]] = [
        {"windows": [{index % SLIPS: span}, {rng.randrange(SLIPS): rng.choice(spans)}]}
        for index, span in enumerate(spans)
    ]
    cases += [
        {"windows": [{1: [0, 1, 4, 5, 6]}, {0: [7], 2: [2, 3]}]},
        {"windows": [{3: [0, 1, 2, 3, 4, 5, 6, 7]}, {0: [0, 1], 3: [6, 7]}]},
        {"windows": [{0: [0, 1, 2, 3]}, {1: [2, 3, 4]}], "weak": [[0], [3]]},
        {"windows": [{0: [5, 6, 7], 1: [0, 1, 2, 3]}, {2: [6, 7], 3: [0]}]},
        {"windows": [{0: [0, 1]}, NOWHERE]},
        {"windows": [NOWHERE, {0: [3]}]},
        {"windows": [NOWHERE, NOWHERE]},
        {"windows": [{0: [1, 2]}, {0: [1, 2]}], "weak": [[1, 2], []]},
    ]
    return cases


@pytest.mark.parametrize("clock_hz", [48e6, 100e6])
def test_start_takes_the_times_of_the_standard(clock_hz: float) -> None:
    """JESD79-3: 200 us in reset, 500 us to the clock's enable, 512 clocks of the memory to lock."""
    from litedram.modules import MT41K64M16
    from litedram.phy import ECP5DDRPHY
    from litex_boards.platforms.gsd_orangecrab import Platform

    from carrysave.boards.litedram_ddr3 import start

    pads = Platform(device="25F", toolchain="trellis").request("ddram")
    settings = ECP5DDRPHY(pads, sys_clk_freq=clock_hz).settings
    steps = start(settings, MT41K64M16(clock_hz, "1:2"), clock_hz)
    reset, enabled = (next(i for i, s in enumerate(steps) if s.controls & bit) for bit in (4, 1))
    assert sum(step.wait for step in steps[:reset]) / clock_hz >= 200e-6
    assert sum(step.wait for step in steps[reset:enabled]) / clock_hz >= 500e-6
    commands = [step for step in steps if step.command]
    assert [step.bank for step in commands] == [2, 3, 1, 0, 0]
    assert [step.command for step in commands] == [15] * 4 + [3]
    assert commands[3].address >> 8 & 1, "its delay line is not reset"
    assert commands[4].address == 1 << 10, "it is calibrated for a short time"
    assert min(2 * step.wait for step in commands[3:]) >= 512
    assert min(2 * step.wait for step in commands) >= 12
    assert all(step.controls == 7 for step in commands)


@pytest.mark.parametrize("byte", [0, 1])
def test_patterns_differ_where_words_come_early_or_late(byte: int) -> None:
    from carrysave.boards.read_levelling import PATTERNS

    for pattern in PATTERNS:
        words = [pattern >> 16 * word + 8 * byte & 255 for word in range(8)]
        assert all(words[by:] + words[:by] != words for by in range(1, 8))
    assert all(
        {pattern >> 16 * word + 8 * byte + bit & 1 for pattern in PATTERNS for word in range(8)}
        == {0, 1}
        for bit in range(8)
    )


@pytest.mark.prove
def test_each_byte_is_set_to_the_middle_of_its_longest_window(tmp_path: Path) -> None:
    """Where there is none, all accesses are errors, and what is read says which byte it is."""
    cases = [
        *_cases(),
        {"windows": [{0: [1]}, {0: [1]}], "stuck_high": 0x0100},
        {"windows": [{0: [1]}, {0: [1]}], "silent": True},
        {"windows": [{0: [1]}, {0: [1]}], "deaf": True},
        {"windows": [{0: [1]}, {0: [1]}], "late": [{0: [1]}, NOWHERE]},
        {"windows": [{0: [1]}, NOWHERE], "late": [{0: [1]}, {0: [0]}]},
    ]
    seen = alone("orangecrab_85f", "verif.boards.tb_levelling", tmp_path, cases=cases)
    assert len(seen) == len(cases) == 43
    for case, one in zip(cases, seen, strict=True):
        weak = case.get("weak", [[], []])
        places = [middle(*pair) for pair in zip(case["windows"], weak, strict=True)]
        failed = sum((place is None) << byte for byte, place in enumerate(places))
        failed |= 2 * ("stuck_high" in case or "late" in case) | 3 * (
            "silent" in case or "deaf" in case
        )
        if failed:
            assert one["wrote"] == 2, case
            assert one["answers"] == [2, 2], case
            assert one["data"] == [failed * 0x0101_0101_0101_0101] * 2, case
        else:
            assert list(zip(one["delays"], one["slips"], strict=True)) == places, case
            assert one["wrote"] == 0
            assert one["answers"] == [0, 0]
            assert one["right"], case
        assert one["cycles"] < 14_000


@pytest.mark.prove
@pytest.mark.parametrize("name", ["orangecrab_25f", "ecpix5_85f"])
def test_machine_moves_the_delays_of_the_phy(name: str) -> None:
    """By the registers that software writes: in simulation there is no PHY."""
    board = BOARDS[name]
    design = design_of(board, {"memory": "external"})
    text = controller(board, design.spec, 80e6).verilog
    joined = dict(re.findall(r"^assign (\w+) = (\w+);$", text, re.MULTILINE))
    moves = {"rst": "delay_reset", "inc": "delay_next", "bitslip_rst": "slip_reset"}
    for register, move in (moves | {"bitslip": "slip_next"}).items():
        assert joined[f"rdly_dq_{register}_re"] == f"readlevelling_{move}"
    assert joined["burstdet_clr_re"] == "readlevelling_burst_clear"
    assert joined["storage"] == "readlevelling_select"
    assert joined["readlevelling_burst_seen"] == "status"
    assert ("ECLKBRIDGECS" in text) == (name == "orangecrab_25f")


@pytest.mark.prove
@pytest.mark.parametrize("name", ["orangecrab_25f", "ecpix5_85f"])
def test_memory_is_right_and_refreshed(name: str, tmp_path: Path) -> None:
    """All bytes, a product, and no command that the data sheet forbids."""
    from litedram import modules

    found = board_with(name, tmp_path, size=256, windows=[{"1": [2, 3]}, {"0": [4]}])
    assert found["ok"]
    assert found["early"] == HostLinkFormat.UNSTARTED
    assert found["commands"]["refresh"] > 10
    # A larger chip takes longer to be refreshed; besides that both are as fast.
    timings = getattr(modules, SDRAMS[name].memory)(1e6 * MHZ, "1:2").timing_settings
    cycles = found["cycles"] * (1 - timings.tRFC / timings.tREFI)
    assert (found["read_bytes"] + found["written_bytes"]) / cycles > 2.2


@pytest.mark.prove
def test_bad_word_is_told(tmp_path: Path) -> None:
    """One that is not where delays are tried."""
    found = board_with("orangecrab_85f", tmp_path, size=64, bad={"9": 0x0400})
    assert not found["ok"]
    assert (found["high"], found["low"]) == (0x0400_0000, 0x0400_0000)


@pytest.mark.prove
@pytest.mark.parametrize(
    ("chip", "failed"),
    [
        ({"stuck_low": 0x0002}, [0]),
        ({"windows": [{"0": [1]}, {}]}, [1]),
        ({"silent": True}, [0, 1]),
    ],
)
def test_memory_that_is_not_levelled(chip: Any, failed: list[int], tmp_path: Path) -> None:
    """Host and jobs get errors that say so, and nothing hangs."""
    found = board_with("orangecrab_85f", tmp_path, **chip)
    assert found["failed"] == failed
    assert "READ of 0x10 has status 3" in found["read"]
    assert "WRITE of 0x10 has status 3" in found["write"]
    assert "job" in found
    assert f"at bytes {', '.join(map(str, failed))} of its bus" in found["opened"]


@pytest.mark.prove
def test_memory_that_never_starts(tmp_path: Path) -> None:
    """The delay line does not lock: host and registers are there, and nothing else is asked for."""
    found = board_with("orangecrab_85f", tmp_path, unlocked=True)
    check_unstarted(found)
    assert not any(found["commands"].values())


def test_line_that_is_faster_than_the_memory() -> None:
    """Bytes that come while it is refreshed would be lost, each time that they are sent again."""
    board = BOARDS["orangecrab_85f"]
    design = design_of(board, {"memory": "external", "divisor": "14"})
    with pytest.raises(UsageError, match=r"divisor must be 15 or more on orangecrab_85f, .*not 14"):
        controller(board, design.spec, 42e6)


@pytest.mark.parametrize(("name", "mhz"), [("orangecrab_85f", 82.0), ("ecpix5_45f", 100.0)])
def test_clock_is_half_of_what_the_pll_makes(name: str, mhz: float, tmp_path: Path) -> None:
    clock = clock_of(BOARDS[name], mhz, tmp_path, second="ddr3")
    assert 0.85 * mhz < clock.mhz <= mhz
    assert f'FREQUENCY_PIN_CLKOP="{2 * clock.mhz:g}"' in clock.verilog
