"""Texts of packs from templates: no name is missing, and each engine's README has its own lines."""

from pathlib import Path

import pytest
from jinja2 import UndefinedError

from carrysave.ip import drivers, readme, templates
from carrysave.ip.facts import Facts
from hw.catalog import Design
from hw.emit.verilog import Emission

ENGINES = {
    "systolic_os(m=2,n=2)": "int32 in 4\nbytes, or codes of 8 bits",
    "npe(m=2,n=2,formats=int8,e4m3,result=e4m3)": "last places in 8\nbytes, or rounded to e4m3",
    "npe(m=2,n=2,formats=e2m1,result=fp32,scale=e4m3,block=16)": "of memory.\nEvery 16 codes",
}
SCALED = {"requantise": "false", "bias": "false"}


@pytest.mark.parametrize("name", ["coprocessor", "coprocessor_stream"])
@pytest.mark.parametrize("engine", ENGINES)
def test_readme_says_what_the_engine_has(
    name: str, engine: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Emission, "_convert", lambda self: "")
    more = SCALED if "scale=" in engine else {}
    block = Facts(Emission(Design.parse(name, {"engine": engine, **more})))
    text = readme.write(block)
    assert ENGINES[engine] in text
    assert "{{" not in text
    assert "\n\n\n" not in text
    drivers.write(block, tmp_path)
    tables = {path.relative_to(tmp_path) for path in tmp_path.glob("drivers/*/carrysave_modes.*")}
    assert len(tables) == (2 if engine.startswith("npe") else 0)
    assert all(f"| `{path}` |" in text for path in tables)
    assert ("carrysave_modes" in text) == bool(tables)
    assert ("a_scales" in text) == ("scale=" in engine)


def test_missing_fact_is_an_error() -> None:
    with pytest.raises(UndefinedError, match="'modes' is undefined"):
        templates.fill("carrysave_modes.h")
