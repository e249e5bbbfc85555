"""Search of recipes: what it tries, what it gains, and that the best is used afterwards."""

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from carrysave.asic import abc_scripts, recipe_search, recipes, search
from carrysave.asic.abc_scripts import MAPS, abc_script
from carrysave.asic.liberty import cells
from carrysave.asic.mapping import Recipe
from hw.catalog import Design
from verif.support.command import Run
from verif.support.schemas import check

LINE = ("synth", "mac", "-p", "a_width=3", "-p", "b_width=3", "-p", "accumulator_width=8",
        "--target", "osu018", "--activity", "none", "--hierarchy", "flat", "--json")  # fmt: skip


@pytest.fixture(autouse=True)
def short(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CARRYSAVE_CACHE", str(tmp_path / "cache"))
    monkeypatch.setattr(search, "MAPS", {"dch": MAPS["dch"]})
    monkeypatch.setattr(search, "RELAXED", ())
    monkeypatch.setattr(search, "RESIZED", 1)


@pytest.mark.prove
def test_the_best_is_kept_and_used(run: Run, tmp_path: Path) -> None:
    sets = ("-p", "encoding=booth", "-p", "adder=sklansky")
    plain = json.loads(run(*LINE, *sets, "--sweep").out)
    assert plain["recipe_search"] is None
    more = check("synthesis", run(*LINE, *sets, "--search-recipes", "12").out)
    told = more["recipe_search"]
    assert (told["trials"], told["failed"]) == (12, 0)
    assert told["before"]["recipe"] == plain["recipe"]
    tried = {point["recipe"] for point in more["sweep"]}
    known = {point["recipe"] for point in plain["sweep"]}
    assert len([recipe for recipe in tried if "," in recipe and "sizes" not in recipe]) >= 11
    assert known <= tried

    def worth(found: dict[str, Any]) -> float:
        return found["area_um2"] * found["period_ns"]

    assert worth(more) < worth(plain)
    assert told["gain"] == pytest.approx(1 - worth(more) / worth(plain))
    assert any(f"{100 * told['gain']:.1f} % better" in note for note in more["notes"])
    again = json.loads(run(*LINE, *sets).out)
    (point,) = again["sweep"]
    assert point["recipe"] == more["recipe"]
    assert worth(again) == worth(more)
    assert "recipe kept in your cache" in again["notes"][0]
    # A comparison takes the project's only.
    own = Design("mac", again["parameters"])
    ask = own, cells.osu018(), "density", None
    found = recipes.stored(*ask, (recipes.PROJECT, recipes.USER))
    assert found is not None
    assert (found.recipe, recipes.stored(*ask)) == (more["recipe"], None)
    # A worse one does not take its place, and one that was damaged is not used.
    (file,) = (tmp_path / "cache" / "recipes").iterdir()
    text = file.read_text()
    kept = recipes.StoredRecipe(**json.loads(text)["kept"])
    recipes.store(replace(kept, area_um2=kept.area_um2 + 1))
    assert file.read_text() == text
    file.write_text(text.replace(f'"points": {kept.points}', f'"points": {kept.points + 1}'))
    assert not any("kept" in note for note in json.loads(run(*LINE, *sets).out)["notes"])


@pytest.mark.sample(1)
@pytest.mark.parametrize("recipe", ["tree+dch,amap,fan8+adders@1", "tree+dch+sizes@density"])
def test_a_recipe_alone(run: Run, recipe: str) -> None:
    """What a report names can be run again; another recipe gives another netlist."""
    first, other = (
        check("synthesis", run(*LINE, "--recipe", one).out) for one in (recipe, "tree+dch")
    )
    for found, wanted in ((first, recipe), (other, "tree+dch")):
        (point,) = found["sweep"]
        assert found["recipe"] == point["recipe"] == wanted
        assert (point["area_um2"], point["period_ns"]) == (found["area_um2"], found["period_ns"])
    assert first["area_um2"] != other["area_um2"]


def test_words_of_the_fixed_list_are_its_scripts() -> None:
    """But for a strash of what is one already."""
    for name, words in recipe_search._KNOWN.items():
        assert abc_script(words).replace("strash; ", "") == MAPS[name].replace("strash; ", "")
    assert Recipe.parse("tree+dch,amap,fan8+adders@1").map == "dch,amap,fan8"


@pytest.mark.parametrize("text", ["", "dch3", "amap,fan16,fan16", "dch,map0.8,fan16", "map0.9"])
def test_what_is_no_mapping(text: str) -> None:
    with pytest.raises(ValueError, match=r"a mapping must be one of dch2, .*, not "):
        abc_script(text)


@pytest.mark.prove
def test_a_recipe_that_fails_is_left_out(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(abc_scripts, "PASSES", dict.fromkeys(abc_scripts.PASSES, "no_such_pass"))
    found = check("synthesis", run(*LINE, "--search-recipes", "4").out)
    told = found["recipe_search"]
    assert told["trials"] == 4
    assert told["failed"] >= 3
    assert told["after"]["area_um2"] > 0


@pytest.mark.parametrize(
    ("words", "says"),
    [
        ("--search-recipes 0", "--search-recipes must be 1 to 10000, not 0"),
        ("--search-recipes 5 --neighbours 101", "--neighbours must be 0 to 100, not 101"),
        ("--sweep --neighbours 3", "--neighbours and --recipe-seed need --search-recipes"),
        ("--search-recipes 5 --objective energy --period 3", "not for energy"),
        ("--search-recipes 5 --target ecp5", "are for cell libraries, not for ecp5"),
        ("--recipe dch2", "--recipe must be one of tree, tree42, booth, + and a mapping, then"),
        (
            "--recipe tree+dch2+adders@2",
            "(0 to 1) and +sizes@GOAL (density, period or ns) if wanted",
        ),
        ("--recipe tree+dch2+sizes@-1", "if wanted, not 'tree+dch2+sizes@-1'"),
        ("--recipe tree+dch2+sizes@area", "if wanted, not 'tree+dch2+sizes@area'"),
        ("--recipe tree+dch2+more@1", "if wanted, not 'tree+dch2+more@1'"),
        ("--recipe tree+dch9", "a mapping must be one of dch2, "),
        ("--recipe tree+dch2 --sweep", "--recipe excludes --sweep, --search-recipes, --period and"),
        (
            "--recipe tree+dch2 --period 5",
            "--recipe excludes --sweep, --search-recipes, --period and",
        ),
        ("--recipe tree+dch2 --target ecp5", "--recipe is for cell libraries, not for ecp5"),
    ],
)
def test_what_is_refused(run: Run, tmp_path: Path, words: str, says: str) -> None:
    found = run("synth", "mac", *words.split())
    assert (found.code, found.out) == (2, "")
    assert says in found.err
    assert not (tmp_path / "build").exists()
