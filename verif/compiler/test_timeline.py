"""When parts of the co-processor are busy: spans, what is lost, the page and the trace."""

import base64
import json
import xml.etree.ElementTree as ET
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from carrysave.compiler.program.parts import PARTS, bound_of, losses, parts_of
from carrysave.compiler.program.program import Program
from carrysave.compiler.program.steps import Start
from carrysave.compiler.run import network, stored
from carrysave.compiler.run.network import by_golden
from carrysave.compiler.run.spans import LANES, by_counters, by_model
from carrysave.compiler.run.timeline import check_path, write_timeline
from carrysave.driver.system import COUNTERS
from carrysave.errors import ArgumentError
from verif.compiler import test_read
from verif.compiler.test_counted import with_counters
from verif.compiler.test_program import inputs
from verif.compiler.test_rings import chain
from verif.support.command import Run
from verif.support.schemas import check

PROGRAM = chain()
STARTS = [step for step in PROGRAM.steps if isinstance(step, Start)]


def test_starts_follow_each_other_by_the_model() -> None:
    spans = by_model(PROGRAM)
    starts = [one for one in spans if one.lane == "start"]
    ends = np.cumsum([step.cycles for step in STARTS]).tolist()
    assert [one.begin + one.cycles for one in starts] == ends
    assert [one.begin for one in starts] == [0, *ends[:-1]]
    assert [one.node for one in starts] == [step.node for step in STARTS]
    for one in spans:
        assert one.lane in LANES
        assert 0 < one.busy <= one.cycles


def test_parts_are_those_of_the_shapes() -> None:
    """Of 16 windows of 54 codes, and 6 columns, on 4 x 4: tiles of 8 columns, beats of 16 bytes."""
    (one, *_) = (parts_of(step, PROGRAM.target) for step in STARTS)
    assert one.busy["array"] == 16 * 8 * 54 / 16
    assert one.padding == 16 * (8 - 6) * 54 / 16
    assert one.busy["writer"] == 16 * 6 / 16
    assert one.busy["loader"] > 54 * 6 / 16
    assert set(one.busy) == set(PARTS)


def test_counters_are_of_each_start() -> None:
    memory = PROGRAM.memory.copy()
    for number, step in enumerate(STARTS, 1):
        counted = dict.fromkeys(COUNTERS, 0)
        counted |= {"cycles": 100 * number, "compute": 40, "read_beats": 20, "write_beats": 5}
        values = np.array(list(counted.values()), "<u8").view(np.uint8)
        memory[step.counters : step.counters + values.size] = values
    spans = by_counters(PROGRAM, memory)
    assert [(one.begin, one.cycles) for one in spans if one.lane == "bus"] == [
        (0, 100),
        (100, 200),
        (300, 300),
    ]
    busy = {one.lane: one.busy for one in spans[-5:]}
    assert busy == {"start": 300, "loader": 20, "array": 40, "writer": 5, "bus": 25}


def test_largest_losses_come_first() -> None:
    parts = [parts_of(step, PROGRAM.target) for step in STARTS]
    says = losses(parts)
    assert len(says) == 3
    cycles = [int(one.split(": ")[1].split(" ")[0].replace(",", "")) for one in says]
    assert cycles == sorted(cycles, reverse=True)
    assert losses([]) == []
    assert bound_of(parts) == "array"
    assert bound_of([]) is None


def test_the_trace_is_chromes(tmp_path: Path) -> None:
    path = write_timeline(tmp_path / "t.json", "t", "c", by_model(PROGRAM))
    trace = json.loads(path.read_text())
    events = [one for one in trace["traceEvents"] if one["ph"] == "X"]
    assert len(events) == len(by_model(PROGRAM))
    assert {"name", "cat", "ts", "dur", "pid", "tid", "args"} <= set(events[0])
    threads = {
        one["tid"]: one["args"]["name"]
        for one in trace["traceEvents"]
        if one["name"] == "thread_name"
    }
    assert [threads[number] for number in range(len(LANES))] == list(LANES)


def test_the_page_is_one_file(tmp_path: Path) -> None:
    """With a bar for each span, and names from outside as text."""
    spans = by_model(PROGRAM)
    page = write_timeline(
        tmp_path / "t.html", "<b>t</b>", "c", spans, ["a <i>loss</i>"]
    ).read_text()
    assert "<b>t</b>" not in page
    assert "<i>loss</i>" not in page
    assert "http://" not in page.replace("http://www.w3.org/", "")
    svg = base64.b64decode(page.split("data:image/svg+xml;base64,")[1].split('"')[0])
    drawn = list(ET.fromstring(svg).iter())
    bars = [one for one in drawn if one.tag.endswith("rect")]
    assert len(bars) == len(spans)
    longest = max((one for one in spans if one.lane == "start"), key=lambda one: one.cycles)
    assert longest.node in [one.text for one in drawn if one.tag.endswith("text")]
    assert "counted" not in page
    both = [*spans, *(replace(one, source="counted") for one in spans)]
    page = write_timeline(tmp_path / "t.html", "t", "c", both).read_text()
    assert "lower ones are counted, from the end of one start" in page
    page = write_timeline(tmp_path / "t.html", "t", "c", both, apart=True).read_text()
    assert "lower ones are counted, each start by itself" in page


def test_other_files_are_refused() -> None:
    check_path(None)
    with pytest.raises(ArgumentError, match=r"must end with \.html or \.json"):
        check_path(Path("t.txt"))


def _counting(apart: bool) -> Any:
    """Return what runs batches by golden, and counts: each start by itself, or rings as a whole."""

    @contextmanager
    def hardware(request: Any, program: Program, folder: Path) -> Iterator[Any]:
        starts = [step for step in program.steps if isinstance(step, Start)]

        def ran(given: dict[str, np.ndarray], memory: np.ndarray) -> np.ndarray:
            network.run(program, given, memory, by_golden(program, memory))
            cycles = [100 * number for number in range(1, 1 + len(starts))]
            return with_counters(program, memory, cycles, apart=apart)

        yield ran

    return hardware


@pytest.mark.parametrize("apart", [True, False])
def test_a_run_has_its_timeline(
    apart: bool, run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of a program: by the model, and as it was counted, if starts were each by itself."""
    folder = tmp_path / "program"
    test_read.stored(PROGRAM, folder)
    np.save(tmp_path / "x.npy", inputs(1)["x"])
    line = "run", folder, "--input", tmp_path / "x.npy", "-o", tmp_path
    for name in ("t.json", "t.html"):
        done = run(*line, "--simulate", "none", "--timeline", tmp_path / name, "--json")
        assert done.code == 0, done.err
        facts = check("program_run", done.out)
        assert facts["counted"] is None
        assert facts["files"][1:] == [str(tmp_path / name)]
    assert _sources(tmp_path / "t.json") == {"by the cost model": len(by_model(PROGRAM))}
    assert "program on coprocessor" in (tmp_path / "t.html").read_text()
    monkeypatch.setattr(stored, "_hardware", _counting(apart))
    timeline = "--timeline", tmp_path / "t.json"
    facts = check("program_run", run(*line, "--simulate", "all", *timeline, "--json").out)
    assert (facts["simulated"], facts["different"]) == (1, None)
    whole = sum(100 * number for number in range(1, 1 + len(STARTS)))
    assert facts["counted"]["cycles"] == whole
    assert (facts["counted"]["nodes"] is not None) == apart
    counted = {"counted"} if apart else set()
    assert set(_sources(tmp_path / "t.json")) == {"by the cost model", *counted}
    shown = run(*line, "--simulate", "all").out
    assert "cycles of a batch on the simulated block" in shown
    assert f"{whole:,}" in shown


def _sources(path: Path) -> dict[str, int]:
    """Count the spans of a trace by the process that they are of."""
    events = json.loads(path.read_text())["traceEvents"]
    names = {one["pid"]: one["args"]["name"] for one in events if one["name"] == "process_name"}
    return Counter(names[one["pid"]] for one in events if one["ph"] == "X")


def test_a_timeline_that_cannot_be(run: Run, tmp_path: Path) -> None:
    """It is refused before anything runs."""
    folder = tmp_path / "program"
    test_read.stored(PROGRAM, folder)
    np.save(tmp_path / "x.npy", inputs(1)["x"])
    (tmp_path / "model.onnx").write_bytes(b"")
    for model, name, says in (
        (folder, "t.txt", "--timeline must end with .html or .json"),
        (tmp_path / "model.onnx", "t.html", "--timeline is for the folder of a program"),
    ):
        line = "run", model, "--input", tmp_path / "x.npy", "-o", tmp_path / "build"
        done = run(*line, "--timeline", tmp_path / name)
        assert (done.code, says in done.err) == (2, True), done.err
    assert not (tmp_path / "build").exists()
