"""The pack's program for Vivado, run in plain Tcl on a model of Vivado's block designs."""

import re
from pathlib import Path
from typing import Any

import pytest

from carrysave.ip.block_design import NAME, write
from carrysave.ip.facts import Facts
from carrysave.ip.ip_xact import component
from carrysave.ip.registers import export
from hw.catalog import Design
from hw.emit.verilog import Emission
from hw.soc.registers.rdl import MAP
from verif.ip.vivado import Vivado, block_of, calls_of

SMALL = {"engine": "systolic_os(m=2,n=2)", "data_width": "64", "sums": "16", "requantise": "false"}
PARTS = {
    "xc7z020clg400-1": "processing_system7",
    "xczu7ev-ffvc1156-2-e": "zynq_ultra_ps_e",
    "xck26-sfvc784-2LV-c": "zynq_ultra_ps_e",
}


@pytest.fixture(scope="module", params=["coprocessor", "coprocessor_stream"])
def pack(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Any:
    """Write what program and model need of a pack; its folder, and the name of its module."""
    block = Facts(Emission(Design.parse(request.param, SMALL)), 8.0)
    folder = tmp_path_factory.mktemp("pack")
    (folder / NAME).write_text(write(block))
    export(folder / "registers", block.discovery)
    xml = folder / f"{block.module}.xml"
    xml.write_text(component(block, folder / "registers" / f"{MAP}.xml", {}))
    return folder, block.module


def drawn(pack: Any, *arguments: str, program: str | None = None, part: str = "") -> Vivado:
    """Run the program, or a changed one, and draw what it says."""
    folder, module = pack
    path = folder / NAME
    if program is not None:
        path = folder / "changed.tcl"
        path.write_text(program)
    calls, error = calls_of(path, *arguments, part=part)
    assert not error
    vivado = Vivado({module: block_of(folder / f"{module}.xml")}, part)
    vivado.draw(calls)
    return vivado


@pytest.mark.sample(1)
@pytest.mark.parametrize("part", PARTS)
def test_block_design_is_whole(pack: Any, part: str) -> None:
    """The model checks each connection; here, what of it is the block's, by hand."""
    folder, module = pack
    vivado = drawn(pack, "-part", part)
    assert vivado.part == part
    assert vivado.vlnvs["ps"] == f"xilinx.com:ip:{PARTS[part]}"
    assert vivado.files == [str(folder / f"{module}.v"), "make_wrapper"]
    assert vivado.properties["top"] == "system_wrapper"
    assert "validate_bd_design" in vivado.did
    assert "launch_runs" not in vivado.did
    mhz = [value for name, value in vivado.cells["ps"].values.items() if name.endswith("FREQMHZ")]
    assert mhz == ["125"]
    ends = {end: link for link in vivado.links for end in link}
    own = {
        name: link
        for end, link in ends.items()
        for cell, _, name in [end.partition("/")]
        if cell == "matmul"
    }
    names = {"s_axis_a", "s_axis_b", "m_axis_c"} if "stream" in module else {"m_axi"}
    assert set(own) == {"s_axi"} | names
    segments = {segment for _, segment in vivado.assigned}
    assert "matmul/s_axi/reg0" in segments
    if "stream" in module:
        assert own["s_axis_a"] == ("dma_a/M_AXIS_MM2S", "matmul/s_axis_a")
        assert own["m_axis_c"] == ("matmul/m_axis_c", "dma_a/S_AXIS_S2MM")
        assert vivado.cells["dma_a"].values["c_m_axi_s2mm_data_width"] == "64"
    assert vivado.driver["matmul/aclk"] == vivado.driver["memory/aclk"]
    assert vivado.driver["matmul/aresetn"] == "reset/peripheral_aresetn"
    assert "matmul/interrupt" in vivado.driver.values()


@pytest.mark.sample(1)
def test_block_design_takes_a_board(pack: Any) -> None:
    board = "xilinx.com:zcu104:part0:1.1"
    vivado = drawn(pack, "-board", board, "-synthesise", "1", part="xczu7ev-ffvc1156-2-e")
    assert vivado.properties["board_part"] == board
    assert vivado.properties["automation"].split() == ["apply_board_preset", "1"]
    assert vivado.properties["synth_checkpoint_mode"] == "Hierarchical"
    last = ["launch_runs", "wait_on_run", "open_run", "report_utilization", "report_timing_summary"]
    assert vivado.did[-5:] == last
    zynq = drawn(pack, "-board", "digilentinc.com:zybo:part0:1.0", part="xc7z010clg400-1")
    assert "FIXED_IO, DDR" in zynq.properties["automation"]
    _, error = calls_of(
        pack[0] / NAME, "-board", board, "-synthesise", "1", part="xczu3eg", PROGRESS="40%"
    )
    assert error == "synthesis failed: see vivado"


@pytest.mark.sample(4)
@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        ((), "either -part or -board must be given"),
        (("-part", "xc7z020", "-board", "b"), "either -part or -board must be given"),
        (("-part",), "options must have a value each, not: -part"),
        (("-parts", "x"), "options are -part, -board, -folder, -synthesise, not -parts"),
        (
            ("-part", "xc7a35tcpg236-1"),
            "part must be a Zynq-7000 or a Zynq UltraScale+, not xc7a35tcpg236-1",
        ),
    ],
)
def test_block_design_refuses(pack: Any, arguments: tuple[str, ...], says: str) -> None:
    """Before there is a project."""
    calls, error = calls_of(pack[0] / NAME, *arguments)
    assert error == says
    assert not calls


@pytest.mark.parametrize(
    ("old", "new"),
    [
        (r"\nbus control/M00_AXI.*", ""),
        (r"(\nbus matmul/.*)", r"\1\1"),
        (r"\nreach (matmul|dma_a)/.*", ""),
        (r"matmul/interrupt", "matmul/interrup"),
        (r"matmul/aresetn", "matmul/aclk"),
        (r"\nwire matmul/interrupt.*", ""),
        (r"NUM_SI \d CONFIG.NUM_MI 1\b", "NUM_SI 4 CONFIG.NUM_MI 1"),
        (r"PCW_USE_S_AXI_HP0 1", "PCW_USE_S_AXI_HP0 0"),
        (r"PCW_USE_S_AXI_HP0", "PCW_USE_S_AXI_HPO"),
        (r"proc_sys_reset reset", "proc_sys_rst reset"),
        (r"S_AXI_HP0/HP0_DDR_LOWOCM", "S_AXI_HP0/DDR"),
        (r"-type module", "-kind module"),
    ],
)
def test_block_design_model_sees_mistakes(pack: Any, old: str, new: str) -> None:
    """Each of these changes is refused by the model, so that it would be seen above."""
    program = (pack[0] / NAME).read_text()
    changed, count = re.subn(old, new, program, count=1)
    assert count == 1
    with pytest.raises((AssertionError, KeyError, ValueError)):
        drawn(pack, "-part", "xc7z020clg400-1", program=changed)


def test_block_design_knows_vivados_commands_alone(pack: Any, tmp_path: Path) -> None:
    """A command that is not Vivado's is an error, though OpenSTA has it."""
    program = tmp_path / "wrong.tcl"
    program.write_text("get_cells x\n")
    assert calls_of(program) == ([], 'invalid command name "get_cells"')
