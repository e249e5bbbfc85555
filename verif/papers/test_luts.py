"""`carrysave reproduce lut-tensor-core`: claims and files, with figures that are made up."""

import json
from pathlib import Path
from typing import Any

import pytest

from carrysave.asic import synthesis
from carrysave.jobs.child import MARK
from carrysave.papers import layer, resources
from carrysave.papers.rivals import ACTIVATIONS, WEIGHTS, ablation, products, rivals
from hw.catalog import Design
from verif.papers.test_ratios import call
from verif.support.schemas import check

AREAS = {"adder_tree": 9000.0, "bitserial_core": 4000.0, "lut_core": 3000.0}


def area(design: Design) -> float:
    """Return an area for the kind, less with larger beats, and more for Booth recoding."""
    how = design.parameters
    size = AREAS.get(design.name, 5000.0)
    size += {"booth": 100, "operator": 3000}.get(how.get("encoding", ""), 0)
    if design.name == "lmul":
        return {"carry": 60.0, "multiply": 80.0}[how["exact"]]
    size -= 200 * (how.get("generator") == "external")
    return size - 500 * (how.get("negation") == "constant") - how.get("lookups", 0)


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch) -> list[tuple[Design, dict[str, Any]]]:
    """Replace synthesis; the designs that it is asked for, and how."""
    found: list[tuple[Design, dict[str, Any]]] = []

    def synthesise_design(design: Design, target: Any, **options: Any) -> dict[str, Any]:
        found.append((design, options))
        late = design.name == "bitserial_core"
        return {
            "module": design.module,
            "parameters": dict(design.parameters),
            "target": "osu018",
            "area_um2": area(design),
            "kge": area(design) / 1e3,
            "pj_per_mac": 1.0,
            "period_ns": 2.0 if design.name == "mac" else 6.0 if late else 2.9,
            "activity": options["activity"],
            "versions": {"tool": "1"},
        }

    monkeypatch.setattr(synthesis, "synthesise_design", synthesise_design)
    monkeypatch.setenv(MARK, "here")  # as within a job: no process that knows another synthesis
    monkeypatch.setattr(
        resources,
        "count",
        lambda design, fpga: {
            "luts": 900 if design.name == "adder_tree" else 700,
            "ffs": 1,
            "dsps": 0,
        },
    )
    layers = [
        {
            "weight": "2",
            "module": "lut_core",
            "exact": True,
            "sqnr_db": 11.0,
            "accuracy": 0.925,
            "in_floats": 0.975,
        }
    ] * len(layer.LAYERS)
    monkeypatch.setattr(layer, "measure", lambda folder, images: layers)
    return found


def test_claims_and_files(
    asked: list[tuple[Design, dict[str, Any]]],
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert call(monkeypatch, "lut-tensor-core", "--quick", "-o", str(tmp_path), "--json") == 0
    found = json.loads(capsys.readouterr().out)
    assert {Path(file).name for file in found["files"]} == {
        f"lut-tensor-core.quick.osu018.{end}" for end in ("json", "md", "svg")
    }
    assert found["clock_ns"] == 3.0
    cores = [options for design, options in asked if design.name == "bitserial_core"]
    assert all(options["period_ns"] == 3.0 for options in cores)
    ours = [claim["ours"] for claim in found["claims"]]
    # 9000 um2, or 12000, against 2982; the bit-serial core, 4000, takes two clocks. With beats of
    # 40, 48, 36 and 40, sums of 4096 products take 103, 86, 114 and 103; in three, sums leave.
    mac, tool, lut, serial = (
        size / (4 * columns * 4096 / (beats + 3))
        for size, columns, beats in (
            (9000, 64, 103),
            (12000, 32, 86),
            (3000 - 18, 64, 114),
            (2 * 4000, 64, 103),
        )
    )
    assert ours[0] == f"{tool / lut:.2f}x smaller"
    assert ours[1] == f"{mac / lut:.2f}x smaller"
    # What is held to stands beside both MACs.
    targets = [claim["target"] for claim in found["claims"]]
    assert targets[:6] == ["3x", "3x", "-20 %", "1.6x", "1.6x", "-20 %"]
    assert ours[2] == f"{100 * (lut / serial - 1):+.1f} %"
    # With two planes, cores that take them one by one count twice; 171 beats are of 24 products.
    entries = {(entry["weight"], entry["kind"]): entry for entry in found["cores"]}
    assert entries["2", "MAC"]["macs_per_cycle"] == 2 * 128 * 4096 / 106
    assert entries["2", "LUT K = 2"]["macs_per_cycle"] == 128 * 4096 / 259
    assert entries["2", "LUT K = 2, all planes"]["macs_per_cycle"] == 192 * 4096 / 176
    assert {max(entry["tile"][:2]) for entry in found["cores"]} == {8, 32, 64}
    assert all(options["maps"] == ["amap", "wide"] for options in cores)
    assert all(options["hierarchy"] == "coarse" for options in cores)
    assert [entry["wins"] for entry in found["cores"]].count(True) == 2
    steps = [entry["area_um2"] for entry in found["ablation"]]
    assert steps == [2999, 2999, 2499, 2299, 2299, 2296, 2792]
    # Tiles of one beat of two planes, a cycle between, and 4 products; or 16.
    assert ours[-5:-2] == [f"{2999 / size:.2f}x smaller" for size in (2299, 2299, 2296 / 4)]
    assert ours[-2] == f"{4 * 2999 / 2792:.2f}x smaller"
    assert ours[-1] == "-25 %"
    check("reproduce", tmp_path / "reproduce" / "lut-tensor-core.quick.osu018.json")
    text = (tmp_path / "reproduce" / "lut-tensor-core.quick.osu018.md").read_text()
    assert "| 2 | lut_core | yes | 11.0 | 92.5% | 97.5% |" in text
    assert "| LUT K = 2, all planes | 6x32x24 |" in text
    assert "| int8 | 2 | 1 | 4 | 1 | 1 | LUT |" in text
    assert "| exact, multiplied | 80 | 0.080 | 2.90 |" in text
    assert "| ecp5 | 1 | MAC | 900 | 1 | 0 | 7.0 |  |" in text


def test_command_prints_the_winners(
    asked: list[tuple[Design, dict[str, Any]]],
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert call(monkeypatch, "lut-tensor-core", "-o", str(tmp_path)) == 0
    out = capsys.readouterr().out
    assert "ternary LUT" not in out
    assert out.count("least") >= len(ACTIVATIONS) * len(WEIGHTS)


@pytest.mark.parametrize("weight", WEIGHTS)
@pytest.mark.parametrize("activation", ACTIVATIONS)
def test_rivals_do_the_same_work(activation: str, weight: str) -> None:
    """All multiply the same numbers, and sum up as many products."""
    found = rivals(activation, weight, 4, 8)
    assert len({rival.kind for rival in found}) == len({rival.design for rival in found})
    assert {rival.kind.partition(" ")[0] for rival in found} >= {"MAC", "LUT"}
    assert any(rival.kind == "MAC, Booth" for rival in found)
    bits, symmetric = ACTIVATIONS[activation]
    for rival in found:
        spec = rival.design.spec
        assert spec.k_max == 4096
        widths = (spec.b_width, spec.a_width)
        if rival.kind != "MAC, Booth":
            widths = widths[::-1]
            assert (spec.m, spec.n) == (4, 8)
        least = 2 if rival.kind.startswith("MAC") else 1
        assert widths == (bits, max(least, WEIGHTS[weight]))
        assert getattr(spec, "symmetric", symmetric) == symmetric


def test_the_other_parts_exist() -> None:
    assert next(rival.kind for rival in ablation(4)) == "conventional"
    assert len({rival.design for rival in (*ablation(4), *products())}) == 10


@pytest.mark.prove
def test_a_real_layer_is_exact_on_hardware(tmp_path: Path) -> None:
    found = {entry["weight"]: entry for entry in layer.measure(tmp_path, 12)}
    assert set(found) == set(layer.LAYERS)
    assert all(entry["exact"] for entry in found.values())
    assert found["4"]["sqnr_db"] > 20 > found["2"]["sqnr_db"] > 8 > found["1"]["sqnr_db"] > 3
