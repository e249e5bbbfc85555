"""Recipes kept in the project: whole, used where they fit, and what a search finds."""

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from carrysave.asic import recipes, synthesis
from carrysave.asic.abc_scripts import MAPS
from carrysave.asic.elaborate import HIERARCHIES
from carrysave.asic.liberty import cells
from carrysave.asic.mapping import FRONTS, Recipe
from carrysave.cli import demo
from hw.catalog import Design
from verif.support.command import Run

KEPT = recipes.load()

LIBRARIES = {
    cells.osu018().name: cells.osu018().sha,
    "sky130_fd_sc_hd__tt_025C_1v80": (
        "70a45bf9b5ea8f6a701dc34744b5c767b38e1af31b1d1f97309a97ec64603ecf"
    ),
}
HERE = [kept for kept in KEPT if kept.library == cells.osu018().name]
"""Those of the library that is always there."""


@pytest.fixture(autouse=True)
def nothing_of_the_user(monkeypatch: pytest.MonkeyPatch) -> None:
    """Take away what was searched on this machine."""
    monkeypatch.setattr(recipes, "_read", lambda path: None)


def designs(every: list[recipes.StoredRecipe] = KEPT) -> list[Design]:
    found = []
    for kept in every:
        fields = dict(kept.design)
        found.append(Design(fields.pop("design"), fields))
    return found


def test_recipes_are_whole() -> None:
    assert recipes.dump(KEPT) == Path(recipes.__file__).with_name("recipes.json").read_text()
    assert len({
        (kept.library, design.key) for kept, design in zip(KEPT, designs(), strict=True)
    }) == len(KEPT)
    for kept, design in zip(KEPT, designs(), strict=True):
        # A new parameter is one of them: the search is to be run again.
        assert kept.design == json.loads(design.key)
        assert LIBRARIES[kept.library] == kept.library_sha256
        assert kept.objective == "density"
        assert kept.hierarchy in HIERARCHIES
        recipe = Recipe.parse(kept.recipe)
        assert recipe.front in FRONTS
        assert recipe.map in MAPS
        assert str(recipe) == kept.recipe
        assert kept.delay_target_ns > 0
        assert kept.area_um2 > 0 < kept.period_ns
        assert kept.points > len(MAPS)
        assert set(kept.versions) == {"yosys", "abc", "opensta"}


def test_a_recipe_is_for_one_design_library_and_aim() -> None:
    for design, kept in zip(designs(), KEPT, strict=True):
        library = replace(cells.osu018(), sha=kept.library_sha256)
        assert recipes.stored(design, library, "density", None) == kept
        assert recipes.stored(design, library, "density", kept.hierarchy) == kept
        assert recipes.stored(design, library, "period", None) is None
        for hierarchy in set(HIERARCHIES) - {kept.hierarchy}:
            assert recipes.stored(design, library, "density", hierarchy) is None
    assert recipes.stored(Design("mac", {"a_width": 7}), library, "density", None) is None
    other = replace(library, sha="another")
    assert recipes.stored(Design("mac"), other, "density", None) is None


def test_the_demo_has_recipes_for_both_arrays() -> None:
    for design in (demo.DESIGN, demo.BASELINE):
        assert recipes.stored(design, cells.osu018(), "density", None)


def test_synth_uses_a_kept_recipe_and_measures(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    (kept,) = (kept for kept in HERE if kept.design["design"] == "mac")
    line = ("synth", "mac", "--activity", "none", "--json")

    def found(*more: str) -> dict[str, Any]:
        return json.loads(run(*line, *more).out)

    same = found()
    (point,) = same["sweep"]
    assert (point["recipe"], point["delay_target_ns"]) == (kept.recipe, kept.delay_target_ns)
    assert (same["area_um2"], same["period_ns"]) == (kept.area_um2, kept.period_ns)
    said = f"recipe kept in the project, best of {kept.points} points; a sweep searches again"
    assert same["notes"] == [said]
    assert not any("kept" in note for note in found("--period", "9")["notes"])
    assert not any("kept" in note for note in found("--objective", "area")["notes"])

    wrong = replace(kept, area_um2=123456.0, versions={**kept.versions, "yosys": "0.1"})
    monkeypatch.setattr(recipes, "load", lambda: [wrong])
    other = found()
    assert other["area_um2"] == kept.area_um2
    assert other["notes"][0].startswith(f"{said}; the search found 123,456 um2 and")
    assert "with yosys 0.1, " in other["notes"][0]


@pytest.mark.prove
@pytest.mark.parametrize("kept", HERE, ids=[kept.design["design"] for kept in HERE])
def test_a_search_finds_what_is_kept(
    kept: recipes.StoredRecipe, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CARRYSAVE_CACHE", str(tmp_path))
    library, (design,) = cells.osu018(), designs([kept])
    array = design.entry.stage == "tpe"
    result = synthesis.synthesise_design(
        design, library, sweep=True, brief=array, hierarchy=kept.hierarchy, activity="none"
    )
    found = recipes.of_search(design, library, result, "density")
    assert replace(found, versions=kept.versions) == kept
