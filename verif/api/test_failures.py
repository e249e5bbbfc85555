"""What a run of a bench says when it fails: reasons, once each, and the shortest stimulus."""

import json
import shlex
from pathlib import Path
from xml.etree import ElementTree

import pytest

from carrysave.api.failures import alike
from carrysave.sim import runner
from carrysave.sim.results import cases
from hw.catalog import Design
from hw.emit.verilog import verilog_of
from verif.support.command import Run

PARAMETERS = ("-p", "a_width=3", "-p", "b_width=3", "-p", "accumulator_width=10")
DESIGN = Design("mac", {"a_width": 3, "b_width": 3, "accumulator_width": 10})


def written(folder: Path, failures: dict[str, str]) -> runner.Result:
    """Return a result whose tests failed for some reasons."""
    suite = ElementTree.Element("testsuite")
    for name, why in failures.items():
        case = ElementTree.SubElement(suite, "testcase", name=name, time="1")
        ElementTree.SubElement(case, "failure", message=why, type="AssertionError")
    xml = folder / "results.xml"
    ElementTree.ElementTree(suite).write(xml)
    count, names = len(failures), tuple(failures)
    return runner.Result(count, count, names, 1.0, 1, folder, xml, folder / "log", None)


@pytest.fixture
def wrong(tmp_path: Path) -> Path:
    """Write Verilog in which one gate is another."""
    verilog = verilog_of(DESIGN)
    assert " ^ " in verilog
    file = tmp_path / "wrong.v"
    file.write_text(verilog.replace(" ^ ", " | ", 1))
    return file


def test_a_failure_is_a_reason_and_one_short_command(run: Run, wrong: Path) -> None:
    outcome = run("verify", "mac", *PARAMETERS, "--verilog", wrong, "--seed", "3")
    assert outcome.code == 1
    lines = outcome.out.splitlines()
    (place,) = (number for number, line in enumerate(lines) if line.startswith("  least:  "))
    words = shlex.split(lines[place].removeprefix("  least:  "))
    assert words[:3] == ["carrysave", "verify", "mac"]
    assert int(words[words.index("--transactions") + 1]) <= 8
    again = run(*words[1:], "--json")
    assert again.code == 1
    found = json.loads(again.out)
    assert found["shortest"] is None  # it is it
    (case,) = (one for one in cases(Path(found["junit"])) if one.outcome == "failed")
    assert lines[place + 1].strip() == case.why


def test_what_passes_has_no_shortest_failure(run: Run) -> None:
    outcome = run("verify", "mac", *PARAMETERS, "--test", "test_operand_pairs", "--json")
    assert (outcome.code, json.loads(outcome.out)["shortest"]) == (0, None)


def test_reasons_that_differ_by_numbers_are_one(tmp_path: Path) -> None:
    result = written(
        tmp_path,
        {
            "a": "5 of 9 sums differ",
            "b": "17 of 19 sums differ",
            "c": "no beat in 100 cycles",
            "d": "1 of 2 sums differ",
            "e": "2 of 2 sums differ",
            "f": "3 of 3 sums differ",
        },
    )
    assert alike(result) == [
        "a: 5 of 9 sums differ",
        "  and 4 more for the like reason: b, d, e, ...",
        "c: no beat in 100 cycles",
    ]
