"""Systems with DDR3: the memory starts by a machine, and the processor behind it."""

import re

import pytest

from carrysave.boards.board import BOARDS
from carrysave.errors import UsageError
from carrysave.system import generate
from carrysave.system.boards import design_of, system_board_of
from carrysave.system.litex_soc import TOP
from hw.emit import yosys

_VEXRISCV = r"Warning: Wire (VexRiscv|DataCache|InstructionCache)\..* is used but has no driver"


@pytest.fixture(scope="module", params=["orangecrab_25f", "ecpix5_45f"])
def written(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> generate.Written:
    """Write a system for a board."""
    board, chosen = system_board_of(request.param)
    system = generate.System(
        board=board,
        chosen=chosen,
        design=design_of(board, {}),
        clock_hz=1e6 * chosen.clock_mhz,
        baud=1e6,
    )
    return generate.write(system, tmp_path_factory.mktemp(board.name), lambda step: None)


@pytest.mark.prove
def test_system_is_a_whole_design(written: generate.Written) -> None:
    """All modules and pins of FPGA blocks are there, and each net has one driver."""
    folder = written.sources[0].parent
    log = yosys.run(
        [
            "read_verilog -lib +/ecp5/cells_sim.v +/ecp5/cells_bb.v",
            *(["read_verilog", str(path)] for path in written.sources),
            f"hierarchy -check -top {TOP}",
            "proc",
            "check -noinit",
            "stat",
        ],
        cwd=folder,
    )
    # VexRiscv has outputs of its caches that are not there.
    others = r"multiple conflicting drivers|is assigned in a block|no driver"
    problems = [line for line in log.splitlines() if re.search(others, line)]
    assert [line for line in problems if not re.match(_VEXRISCV, line)] == []
    counts = {name: int(count) for count, name in re.findall(r"^\s+(\d+)\s+(\w+)$", log, re.M)}
    wanted = {"TRELLIS_IO": 18, "DQSBUFM": 2, "ODDRX2DQA": 18, "CLKDIVF": 1, "EHXPLLL": 1}
    assert {name: counts[name] for name in wanted} == wanted
    ports = (folder / f"{TOP}.v").read_text().split(");", 1)[0]
    assert re.search(r"inout +wire +\[15:0\] ddram_dq,", ports)
    assert re.search(r"inout +wire +\[1:0\] ddram_dqs_p,", ports)


@pytest.mark.prove
def test_processor_is_in_reset_until_the_memory_is_levelled(written: generate.Written) -> None:
    """And for ever, if a byte of it does not answer: a host then waits in vain, and says so."""
    text = written.sources[0].read_text()
    (reset,) = re.findall(r"^assign sys_rst = (.*);$", text, re.MULTILINE)
    assert re.search(r"phy_rst \| \(~\(\w*done & \(\w*failed == ", reset), reset
    assert "assign sys_clk = phy_clk;" in text
    # The last one that drives the memory's pins is the controller, once they are ready.
    drivers = [
        match.end()
        for name in (r"\w*readlevelling_dfi", r"\w*_dfi_dfi")
        for match in re.finditer(rf"attached_dfi_p0_address <= {name}_p0_address;", text)
    ]
    assert len(drivers) == 2
    assert drivers == sorted(drivers)
    assert "SDRAM_STEPS" not in (written.sources[0].parent / "firmware" / "system.h").read_text()


@pytest.mark.prove
def test_every_pin_has_a_place(written: generate.Written) -> None:
    """The clock, the serial line and all of the memory's."""
    placed = set(re.findall(r'LOCATE COMP "([\w\[\]]+)" SITE "\w+";', written.pins))
    assert {"serial_tx", "serial_rx", "ddram_clk_p"} <= placed
    for name, count in (("dq", 16), ("dqs_p", 2), ("dm", 2), ("ba", 3)):
        assert {f"ddram_{name}[{number}]" for number in range(count)} <= placed


def test_boards_with_a_system() -> None:
    """All with DDR3; Tang Nano 20K has none, and it is said why."""
    says = r"tang_nano_20k: the system's PLL and its constraints of pins are those of ECP5"
    with pytest.raises(UsageError, match=says):
        system_board_of("tang_nano_20k")
    for name in ("orangecrab_25f", "orangecrab_85f", "ecpix5_45f", "ecpix5_85f"):
        board, chosen = system_board_of(name)
        assert board is BOARDS[name]
        assert chosen.sdram.ddr3 is not None
