"""Arrays of DSP48E1 with Yosys's model of the block in place of ours: it is not by us."""

import re
from pathlib import Path
from typing import Any

import pyosys
import pytest

from carrysave.sim.runner import verify
from hw.catalog import Design
from hw.emit.verilog import verilog_of


def model_of_yosys() -> str:
    """Return its DSP48E1, which takes no inverted OPMODE, with that."""
    path = Path(str(pyosys.__file__)).parent / "share/xilinx/cells_sim.v"
    found = re.search(r"^module DSP48E1 .*?^endmodule$", path.read_text(), re.M | re.S)
    assert found is not None
    # Timing; and checks, also of registers before the first clock.
    text = re.sub(r"`ifn?def YOSYS.*?`endif", "", found[0], flags=re.S)
    plain = "OPMODEr <= OPMODE;"
    assert plain in text
    return text.replace(plain, "OPMODEr <= OPMODE ^ IS_OPMODE_INVERTED;") + "\n"


@pytest.mark.prove
@pytest.mark.parametrize(
    ("name", "parameters"),
    [
        ("systolic_os", {"m": 2, "n": 2, "k_max": 20}),
        ("systolic_os", {"m": 3, "n": 3, "k_max": 90, "packing": "pair"}),
        ("adder_tree", {"n": 2, "k": 3, "k_max": 30}),
    ],
)
def test_arrays_work_on_the_model_of_yosys(
    name: str, parameters: dict[str, Any], tmp_path: Path
) -> None:
    design = Design(name, {**parameters, "target": "xilinx7"})
    (tmp_path / "design.v").write_text(verilog_of(design))
    (tmp_path / "block.v").write_text(model_of_yosys())
    files = [tmp_path / "design.v", tmp_path / "block.v"]
    result = verify(design, netlist=files, directory=tmp_path)
    assert result.ok, result
