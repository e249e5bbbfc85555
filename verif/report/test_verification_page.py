"""Pages of benches that passed, failed, and crashed, of results as cocotb writes them."""

from pathlib import Path
from typing import Any

from carrysave.report.page import Picture, Text, render
from carrysave.report.tables import Section
from carrysave.report.verification_page import first_failure, make
from carrysave.sim.results import Case, cases

PASSED = """<testcase name="test_a/kind=1" time="0.25"><properties>
<property name="sim_time_unit" value="ns"/><property name="sim_time_start" value="100.001"/>
<property name="sim_time_stop" value="340.001"/></properties></testcase>"""
SKIPPED = '<testcase name="test_b" time="0"><skipped/></testcase>'
FAILED = PASSED.replace("test_a/kind=1", "test_c").replace(
    "</properties>", '</properties><failure message="1 differs&#10;assert 1">Traceback</failure>'
)
CRASHED = '<testcase name="simulation"><error message="it did not end"/></testcase>'
VCD = """$timescale 1ns $end
$scope module top $end
$var wire 1 ! clk $end
$upscope $end
$enddefinitions $end
#0
1!
#335
0!
"""


def results(folder: Path, *texts: str) -> dict[str, Any]:
    (folder / "a.xml").write_text(
        f"<testsuites><testsuite>{''.join(texts)}</testsuite></testsuites>"
    )
    return {
        "design": "mac",
        "of": "verilog",
        "ok": len(texts) == 1,
        "seconds": 1.25,
        "seed": 7,
        "junit": str(folder / "a.xml"),
        "log": "a.log",
        "shortest": None,
    }


def test_cases_are_read(tmp_path: Path) -> None:
    results(tmp_path, PASSED, SKIPPED, FAILED, CRASHED)
    assert cases(tmp_path / "a.xml") == [
        Case("test_a/kind=1", "passed", 0.25, 100.001, 340.001, ""),
        Case("test_b", "skipped", 0.0, None, None, ""),
        Case("test_c", "failed", 0.25, 100.001, 340.001, "1 differs"),
        Case("simulation", "failed", 0.0, None, None, "it did not end"),
    ]
    # What ended the simulation is no test that could run alone.
    assert first_failure(tmp_path / "a.xml") == "test_c"
    results(tmp_path, CRASHED)
    assert first_failure(tmp_path / "a.xml") is None
    assert first_failure(tmp_path / "b.xml") is None


def test_page_of_a_pass(tmp_path: Path) -> None:
    found = make(results(tmp_path, PASSED), command="c", seen=(tmp_path / "a.xml", None))
    assert found.title == "mac: passed"
    assert dict(found.summary) == {"passed": "1", "failed": "0", "skipped": "0", "time": "1.2 s"}
    assert not [part for part in found.parts if isinstance(part, Picture)]
    assert '<td class="name good">passed</td>' in render(found)


def test_page_of_a_failure_begins_with_it(tmp_path: Path) -> None:
    facts = results(tmp_path, PASSED, SKIPPED, FAILED, CRASHED)
    (tmp_path / "a.vcd").write_text(VCD)
    found = make(facts, command="c", seen=(tmp_path / "a.xml", tmp_path / "a.vcd"))
    assert found.title == "mac: FAILED"
    picture, table = found.parts[:2]
    assert isinstance(picture, Picture)
    assert picture.title == "waves before test_c failed"
    assert b">340 ns</text>" in picture.svg
    assert isinstance(table, Section)
    assert [line[0] for line in table.lines] == ["test_c", "simulation", "test_a/kind=1", "test_b"]
    facts["shortest"] = {"command": "carrysave verify mac --test test_c"}
    files = make(facts, command="c", seen=(tmp_path / "a.xml", None)).parts[-1]
    assert isinstance(files, Text)
    assert files.lines[0].endswith(": carrysave verify mac --test test_c")
    assert table.lines[0] == ["test_c", "failed", "0.250 s", "240 ns", "1 differs"]
