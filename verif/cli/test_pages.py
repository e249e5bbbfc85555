"""`--html`: pages of commands, of failures too, and what is refused."""

import json
import re
import sys
from pathlib import Path

import pytest

from hw.catalog import Design
from hw.emit.verilog import verilog_of
from verif.support.browser import Browser
from verif.support.command import Run

SMALL = ("mac", "-p", "a_width=2", "-p", "b_width=2", "-p", "accumulator_width=6")


def test_synth_writes_a_page(run: Run, tmp_path: Path) -> None:
    outcome = run("synth", *SMALL, "--activity", "none", "--html", "there/a.html", "--json")
    assert outcome.code == 0, outcome.err
    found = json.loads(outcome.out)
    assert found["files"][-1] == "there/a.html"
    text = (tmp_path / "there" / "a.html").read_text()
    assert f"{found['area_um2']:,.0f} um2" in text
    assert found["critical_path"][-1]["point"] in text


def test_failure_has_a_page_with_its_waves(
    run: Run, monkeypatch: pytest.MonkeyPatch, browser: Browser, tmp_path: Path
) -> None:
    def wrong(design: Design) -> str:
        text, count = re.subn(r"\.i_b\(i_b\)", ".i_b(~i_b)", verilog_of(design))
        assert count == 1
        return text

    monkeypatch.setattr("carrysave.sim.runner.verilog_of", wrong)
    line = ("verify", *SMALL, "--seed", 3, "--html", "a.html")
    found = json.loads(run(*line, "--json").out)
    assert found["ok"] is False
    assert found["html"] == "a.html"
    assert found["waves"] is None  # of this run; another one has them
    text = browser.check(tmp_path / "a.html", charts=0)
    least = found["shortest"]
    assert least["test"] in found["failures"]
    assert f"Waves before {least['test']} failed" in text
    assert least["command"] in text
    names = browser.ask(
        "[...document.querySelectorAll('.waves .name')].map((n) => n.firstChild.data)"
    )
    assert names[:3] == ["clk", "rst", "i_valid"]
    assert "seed 3" in text
    assert "carrysave verify mac -p a_width=2" in text
    assert browser.ask("document.querySelectorAll('td.bad').length") == len(found["failures"])


@pytest.mark.parametrize(
    "line",
    [
        ("synth", "mac"),
        ("compare", "mac", "opt1"),
        ("reproduce", "ent"),
        ("verify", "mac"),
        ("explore",),
        ("regress",),
        ("run", "m.onnx", "--input", "x.npy"),
        ("precision", "m.onnx", "--calibration", "x.npy", "--budget", "bytes=60%"),
        ("train", "digits"),
    ],
    ids=lambda line: line[0],
)
def test_page_that_cannot_be_is_refused_first(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, line: tuple[str, ...]
) -> None:
    (tmp_path / "file").write_text("")
    for html, says in (
        (tmp_path, f"--html must be a file, not the folder '{tmp_path}'"),
        ("file/a.html", "--html must be in a folder, not in the file 'file'"),
    ):
        outcome = run(*line, "--html", html)
        assert (outcome.code, outcome.out, outcome.err) == (2, "", f"carrysave: {says}\n")
    assert [path.name for path in tmp_path.iterdir()] == ["file"]
    if line[0] not in ("verify", "regress", "train"):  # their pages have no chart
        monkeypatch.setitem(sys.modules, "vl_convert", None)
        outcome = run(*line, "--html", "a.html")
        needs = f"carrysave: {line[0]} needs vl-convert-python; pip install 'carrysave[report]'\n"
        assert (outcome.code, outcome.out, outcome.err) == (1, "", needs)
        assert [path.name for path in tmp_path.iterdir()] == ["file"]
