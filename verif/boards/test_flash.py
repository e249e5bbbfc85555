"""Memory of boards that comes from flash: through the pins, and what `build` writes for it."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from carrysave.boards.board import BOARDS, design_of
from carrysave.boards.build import build
from carrysave.boards.flash import FLASHES, check_bitstream, flash_of, image_of, programs
from carrysave.boards.top import Clock, top
from carrysave.errors import UsageError
from golden.soc.serial.flash_image import FlashStatus, load_flash
from golden.soc.serial.host_link import HostLinkFormat
from verif.boards.simulated_board import SMALL, flashed

RAM = {name: value for name, value in SMALL.items() if name != "memory"} | {"memory_bytes": "1024"}


@pytest.mark.prove
@pytest.mark.parametrize("memory", ["block_ram", "external"])
def test_product_of_what_flash_has(memory: str, tmp_path: Path) -> None:
    """Nothing is sent; and what a job has written is as in flash, once it is filled anew."""
    parameters = RAM if memory == "block_ram" else SMALL
    address = FLASHES["ulx3s_85f"].address
    found = flashed("ulx3s_85f", parameters, tmp_path, {})
    assert (found["early"], found["flash"]) == (HostLinkFormat.UNSTARTED, "loaded")
    assert (found["right"], found["filled"]) == (True, True)
    assert (found["reads"], found["again"]) == ([address], 2)


@pytest.mark.prove
@pytest.mark.parametrize(
    ("flash", "says"),
    [
        ({"absent": 0}, "there is no image in flash"),
        ({"absent": 1}, "there is no image in flash"),
        ({"flips": [2]}, "there is no image in flash"),
        ({"flips": [21]}, "there is no image in flash"),
        ({"other": 1 << 40}, "the image in flash is of another design"),
        ({"flips": [200]}, "the image in flash is damaged"),
    ],
)
def test_flash_with_faults(flash: dict[str, Any], says: str, tmp_path: Path) -> None:
    """Each by its name; the host may write all of the memory."""
    found = flashed("ulx3s_85f", RAM, tmp_path, flash)
    assert found["flash"] == says
    assert not found["filled"]


@pytest.mark.prove
def test_ddr3_is_filled_once_it_has_started(tmp_path: Path) -> None:
    found = flashed("orangecrab_25f", SMALL, tmp_path, {})
    assert (found["flash"], found["right"], found["filled"]) == ("loaded", True, True)


@pytest.mark.parametrize("name", FLASHES)
def test_image_is_behind_the_bitstream(name: str) -> None:
    """A configuration of the whole FPGA, not compressed, ends before it; and erases are whole."""
    flash = FLASHES[name]
    bits = {"12F": 711_400, "25F": 711_400, "45F": 1_281_513, "85F": 2_431_604}
    size = next(size for part, size in bits.items() if part in BOARDS[name].facts["part"])
    assert flash.bitstream + size <= flash.address < flash.bytes
    assert flash.address % (1 << 16) == 0
    board = BOARDS[name]
    design = design_of(board, {"flash": str(flash.address)})
    check_bitstream(board, design, size)
    with pytest.raises(UsageError, match=f"flash must be 0x[0-9a-f]+ or more on {name}, .*not 0x"):
        check_bitstream(board, design, flash.address - flash.bitstream + 1)
    assert {*board.facts["flash"]} == {"flash_cs_n", "flash_mosi", "flash_miso"}


def test_image_is_what_the_design_takes() -> None:
    board = BOARDS["ulx3s_25f"]
    design = design_of(board, {"flash": "0x100000"})
    memory, data = np.zeros(32768, np.uint8), bytes(range(200))
    image = image_of(board, design, data)
    status, _ = load_flash(image, int(design.digest, 16), memory)
    assert (status, memory[:200].tobytes()) == (FlashStatus.LOADED, data)
    command = programs(board, design, Path("x/flash.bin"))
    assert command == "openFPGALoader -b ulx3s -f -o 0x100000 x/flash.bin"
    small = BOARDS["colorlight_i5"]
    design = design_of(small, {"flash": "0x1f0000"})
    says = "needs 65,537 bytes of flash, and colorlight_i5 has 65,536 from 0x1f0000 on"
    image_of(small, design, bytes((1 << 16) - 24))
    with pytest.raises(UsageError, match=says):
        image_of(small, design, bytes((1 << 16) - 23))


def test_boards_whose_flash_is_not_read() -> None:
    for name, why in (("ecpix5_85f", "the other way round"), ("icebreaker", "no design reads")):
        with pytest.raises(UsageError, match=f"flash must be left out on {name}: .*{why}"):
            flash_of(name)
    board = BOARDS["arty_a7_35t"]
    with pytest.raises(UsageError, match="flash must be left out on arty_a7_35t"):
        build(board, {"flash": "4096"}, Path(), lambda text: None)


def test_clock_of_flash_leaves_by_the_configuration() -> None:
    text = top(BOARDS["ulx3s_25f"], "block", Clock(25.0), flash=True)
    assert "USRMCLK configuration (.USRMCLKI(flash_clk), .USRMCLKTS(reset));" in text
    for port in ("output flash_cs_n", "output flash_mosi", "input flash_miso"):
        assert port in text
    assert "flash" not in top(BOARDS["ulx3s_25f"], "block", Clock(25.0))
