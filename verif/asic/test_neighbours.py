"""Recipes of other designs: which are the nearest, and that a search begins with them."""

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from carrysave.asic import recipe_search, recipes
from carrysave.asic.liberty import cells
from carrysave.asic.mapping import Recipe
from carrysave.asic.recipes import StoredRecipe, distance, nearest
from hw.catalog import Design

LIBRARY = cells.osu018()
SEQUENCE = "tree+rewrite,dch,map0.7,fan16+adders@0.85+sizes@density"


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("CARRYSAVE_CACHE", str(tmp_path))
    return tmp_path / "recipes"


def kept(design: Design, **changes: Any) -> StoredRecipe:
    one = StoredRecipe(
        design=json.loads(design.key),
        library=LIBRARY.name,
        library_sha256=LIBRARY.sha,
        objective="density",
        hierarchy="flat",
        recipe=SEQUENCE,
        delay_target_ns=0.001,
        area_um2=1000.0,
        period_ns=2.0,
        points=9,
        versions={},
    )
    return replace(one, **changes)


def test_how_far_designs_are() -> None:
    small, wide, other = (
        json.loads(Design(*each).key)
        for each in (("mac", {"a_width": 3}), ("mac", {"a_width": 7}), ("opt1", {"a_width": 3}))
    )
    assert distance(small, small) == 0
    assert distance(small, wide) == distance(wide, small) == 1  # 8 is as much again as 4
    booth = json.loads(Design("mac", {"a_width": 3, "encoding": "booth"}).key)
    assert distance(small, booth) == 1
    alone = len(small.keys() ^ other.keys())
    assert alone > 0
    assert distance(small, other) == 3 + alone / 4


def test_the_nearest_come_first(cache: Path) -> None:
    designs = [Design("mac", {"a_width": width}) for width in (4, 5, 8, 12)]
    for number, design in enumerate(designs):
        recipes.store(kept(design, recipe=SEQUENCE.replace("0.7", f"0.{number + 5}")))
    asked = Design("mac", {"a_width": 6})
    found = nearest(asked, LIBRARY, "density", 3)
    assert [one.design["a_width"] for _, one in found] == [5, 8, 4]
    assert [far for far, _ in found] == sorted(far for far, _ in found)
    assert found[0][1].source == recipes.USER
    assert nearest(asked, LIBRARY, "density", 0) == []
    assert nearest(asked, LIBRARY, "period", 3) == []
    # Of another library: further, by as much as a design of another name.
    recipes.store(kept(Design("mac", {"a_width": 6}), library_sha256="0" * 64))
    far, one = nearest(asked, LIBRARY, "density", 9)[-1]
    assert (far, one.design["a_width"]) == (3, 6)
    # Without a number, those of the same design and library alone.
    recipes.store(kept(Design("opt1")))
    assert [far < 3 for far, _ in nearest(asked, LIBRARY, "density", 9)].count(False) == 2
    assert [one.design["a_width"] for _, one in nearest(asked, LIBRARY, "density")] == [5, 8, 4]
    # What the sweep tries is left out, and what was damaged.
    recipes.store(kept(asked, recipe="tree+amap+sizes@density"))
    for file in cache.iterdir():
        if '"a_width": 5' in file.read_text():
            file.write_text(file.read_text().replace('"points": 9', '"points": 8'))
    again = [one.design["a_width"] for _, one in nearest(asked, LIBRARY, "density", 3)]
    assert again == [8, 4, 12]


class Asked:
    """A search that has two points, and counts what is run."""

    FASTEST = 0.001
    has_adders = True
    period_ns = None

    def __init__(self) -> None:
        self.points = [self.point("tree+dch2", 9.0), self.point("tree+amap+sizes@density", 8.0)]
        self.asked: list[list[tuple[str, float]]] = []

    @staticmethod
    def point(recipe: str, size: float) -> dict[str, Any]:
        facts = {"recipe": recipe, "delay_target_ns": 0.001, "period_ns": 2.0, "variant": 0}
        return facts | {"area_um2": size}

    def best(self) -> dict[str, Any]:
        return min(self.points, key=self.cost)

    def cost(self, point: dict[str, Any]) -> tuple[float, ...]:
        return (point["area_um2"],)

    def logic(self, point: dict[str, Any]) -> float:
        return point["period_ns"] - 0.5

    def fronts(self, _: int) -> list[str]:
        return ["tree"]

    def run(self, wanted: list[tuple[int, Recipe, float]], required: bool) -> list[dict[str, Any]]:
        assert not required
        self.asked.append([(str(recipe), target) for _, recipe, target in wanted])
        size = (6.0, 6.5, 4.0)[len(self.asked) - 1]
        points = [self.point(str(recipe), size) for _, recipe, _ in wanted]
        self.points += points
        return points

    def adders(self) -> None:
        pass

    resize = adders


def test_a_search_begins_with_neighbours(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(recipe_search, "area", lambda point: point["area_um2"])
    near = [
        (1.5, kept(Design("mac"))),
        (2.0, kept(Design("opt1"), recipe="booth+ifraig,nf,amap,fan12")),
        (2.5, kept(Design("opt2"), recipe="tree+gone,amap,fan16")),  # no words of the search
    ]
    search: Any = Asked()
    said = recipe_search.search_recipes(search, 20, near=near)
    first, *rest = search.asked
    assert first[:4] == [
        ("tree+rewrite,dch,map0.7,fan16+adders@0.85", 0.001),
        ("tree+rewrite,dch,map0.7,fan16+adders@0.85", 1.5),
        ("tree+ifraig,nf,amap,fan12", 0.001),
        ("tree+ifraig,nf,amap,fan12", 1.5),
    ]
    every = [one for batch in search.asked for one in batch]
    assert [len(batch) for batch in search.asked] == [8, 8, 4]
    assert len(set(every)) == len(every) == said["trials"]
    assert len(rest) == 2
    names = [one["design"]["design"] for one in said["neighbours"]]
    assert names == ["mac", "opt1", "opt2"]
    assert [one["distance"] for one in said["neighbours"]] == [1.5, 2.0, 2.5]
    assert said["steps"] == [[0, 9.0], [8, 6.0], [20, 4.0]]
    other: Any = Asked()
    assert recipe_search.search_recipes(other, 20)["neighbours"] == []
    assert other.asked[0][:2] != first[:2]
    again: Any = Asked()
    recipe_search.search_recipes(again, 20, seed=1)
    assert again.asked != other.asked
