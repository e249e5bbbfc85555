"""``carrysave selftest`` finds what is broken, and passes where nothing is."""

from pathlib import Path

import pytest

from carrysave.asic import sta
from carrysave.sim import verilator_build, verilator_install
from carrysave.vectors import package
from verif.support.command import Run
from verif.support.schemas import check


def test_selftest_finds_what_is_broken(
    run: Run, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """Without programs, and with a table that is not the published one."""
    known = {name: sha for name, sha in package.published().items() if name.startswith("e2m1/")}
    monkeypatch.setattr(package, "FORMATS", ("e2m1",))
    monkeypatch.setattr(package, "published", lambda: known | {"e2m1/dot.csv": "0" * 64})
    monkeypatch.setenv("PATH", str(tmp_path))
    for remembered in (sta.version, verilator_install.compiler, verilator_build.versions):
        remembered.cache_clear()
    outcome = run("selftest", "--json")
    rows = {row["check"]: row for row in check("selftest", outcome.out)["checks"]}
    assert outcome.code == 1
    assert [name for name, row in rows.items() if row["ok"]] == ["generate", "map to LUTs"]
    assert [name for name, row in rows.items() if row["skipped"]] == ["verify the netlist of gates"]
    assert "sudo apt-get install make`" in rows["verify"]["found"]
    assert rows["formats"]["found"] == ("RuntimeError: other digests than published: e2m1/dot.csv")
    assert "sudo apt-get install opensta`" in rows["verify the netlist of gates"]["found"]
    assert not list(tmp_path.iterdir())
    for remembered in (sta.version, verilator_install.compiler, verilator_build.versions):
        remembered.cache_clear()


@pytest.mark.prove
def test_selftest_passes(run: Run, tmp_path: Path) -> None:
    outcome = run("selftest")
    assert outcome.code == 0, outcome.out
    assert outcome.out.count("ok  ") == 5
    assert "31 of 31 tests passed on gates of the generic library" in outcome.out
    assert not list(tmp_path.iterdir())
