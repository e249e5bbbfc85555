"""How families' tools map a design: one flow, of which programs that measure have no other."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

from carrysave.fpga.implementation import mapping
from hw.device import NAMES, family
from hw.emit import tools, yosys

ROOT = Path(__file__).resolve().parents[2]
WORDS = re.compile(
    r"\bsynth_(?:ecp5|lattice|ice40|gowin|xilinx|nexus)\b|\babc9?\b(?<!collections\.abc)"
    r"|\b(?:scratchpad|techmap|read_verilog|write_json|yowasp\w*)\b|--placer|yosys\.run\("
    r"|from_seeds|place\.nextpnr"
)
"""What a program has that maps, places or routes by itself."""
OF_ANOTHER = {"synth_ecp5": "synth_lattice"}
"""Commands that run another one, which has their steps."""
OF_LUTS = [name for name in NAMES if family(name).flow.luts]


def test_programs_that_measure_have_no_flow() -> None:
    """Figures are made as users make them: by the commands."""
    wrong = [
        f"{path.relative_to(ROOT)}: {found[0]}"
        for path in sorted((ROOT / "scripts" / "figures").glob("*.py"))
        if (found := WORDS.search(path.read_text()))
    ]
    assert not wrong
    assert WORDS.search('["abc9 -maxlut 4"]')
    assert not WORDS.search("from collections.abc import Callable")


@pytest.mark.parametrize("name", OF_LUTS)
def test_own_luts_take_the_place_of_a_step(name: str) -> None:
    """All of the command's steps are run but one, the checks of which stay."""
    flow = family(name).flow
    before, *own, behind = flow.mapping("-top t")
    assert own == list(flow.luts)
    assert before == f"{flow.synth} -top t -run begin:map_luts"
    assert behind == f"{flow.synth} -top t -run {flow.behind_luts}:"
    command = flow.synth.split()[0]
    steps = re.findall(r"^    (\w+):", help_of(OF_ANOTHER.get(command, command)), re.M)
    assert steps[steps.index("map_luts") + 1] == flow.behind_luts


def help_of(command: str) -> str:
    """Return what Yosys says of a command."""
    code = f"from pyosys import libyosys as y; y.run_pass('help {command}', y.Design())"
    return subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    ).stdout


@pytest.mark.parametrize("name", OF_LUTS)
def test_latches_are_refused(name: str) -> None:
    """As by the command itself, the step of which is left out."""
    flow = family(name).flow
    text = "module t(input e, d, output reg q); always @* if (e) q = d; endmodule"
    with tools.workplace() as folder:
        (folder / "t.v").write_text(text)
        script = [
            "read_verilog t.v",
            "proc",
            *mapping(flow, flow.parts[0], (), flow.bare, "-top t"),
        ]
        with pytest.raises(yosys.YosysError, match=r"problems in .check"):
            yosys.run(script, cwd=folder)
