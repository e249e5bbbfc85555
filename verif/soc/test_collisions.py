"""Memories that promise that no word is read while it is written: wrong words do not show."""

import re
from pathlib import Path
from typing import Any

import pytest

from carrysave.boards.board import BOARDS
from carrysave.sim.runner import verify
from hw.catalog import Design
from hw.device import models_of
from hw.emit.verilog import verilog_of
from hw.lib.shared_module import NO_COLLISION

_READ = re.compile(
    rf'\(\* {NO_COLLISION} = "1" \*\)\n'
    r"  reg \[[^\n]+\] (?P<memory>\S+) \[[^\n]+\];\n"
    r"(?:  initial begin\n(?:    [^\n]+\n)+  end\n)?"
    r"  always @[^\n]+\n"
    r"    if \((?P<write>[^\n]+)\)\n"
    r"      (?P=memory)\[(?P<to>[^\]]+)\] <= [^\n]+\n"
    r"  end\n"
    r"(?P<rest>  reg [^\n]+\n  always @[^\n]+\n(?:    if \([^\n]+\) begin\n)? +\S+ <= )"
    r"(?P=memory)\[(?P<place>[^\]]+)\];"
)

SMALL = {"data_width": 64, "address_width": 32, "burst": 16}
CASES: list[tuple[str, dict[str, Any]]] = [
    ("coprocessor_uart", {**BOARDS["icebreaker"].parameters, "divisor": 4}),
    ("coprocessor_uart", {**BOARDS["tang_nano_20k"].parameters, "divisor": 4}),
    ("coprocessor", SMALL | {"engine": "systolic_os(m=4,n=4)", "lean": True}),
    ("coprocessor", SMALL | {"engine": "systolic_os(m=4,n=4)"}),
    ("vector_unit", {"lanes": 4, "length": 64}),
]


def collide(verilog: str) -> str:
    """Make each memory that promises no collision give the complement of a word on one."""

    def read(found: re.Match[str]) -> str:
        memory, write, to, place = found.group("memory", "write", "to", "place")
        word = f"{memory}[{place}]"
        start = found[0].removesuffix(f"{word};")
        return f"{start}(({write} ) && ({to} ) == ({place} )) ? ~{word} : {word};"

    changed, count = _READ.subn(read, verilog)
    assert count == verilog.count(NO_COLLISION) > 0
    return changed


@pytest.mark.prove
@pytest.mark.parametrize(("name", "parameters"), CASES)
def test_no_word_is_used_that_was_written_as_it_was_read(
    name: str, parameters: dict[str, Any], tmp_path: Path
) -> None:
    design = Design(name, parameters)
    path, verilog = tmp_path / "collide.v", verilog_of(design)
    path.write_text(collide(verilog))
    result = verify(design, netlist=[path, *models_of(verilog)], seed=1, directory=tmp_path)
    assert result.ok, f"{result.failed}; see {result.log}"
