"""Areas of hierarchies: every instance counts, however many there are below however many."""

from collections import Counter

import pytest

from carrysave.asic import hierarchy
from carrysave.asic.liberty import cells

Modules = dict[str, dict[str, int]]
GATE, LATCH = "NAND2X1", "DFFPOSX1"


def flat(modules: Modules, name: str) -> Counter[str]:
    """Count what is below a module, one instance after the other, and the module itself."""
    found = Counter({name: 1})
    for kind, count in modules[name].items():
        for _ in range(count):
            found += flat(modules, kind) if kind in modules else Counter({kind: 1})
    return found


@pytest.mark.parametrize(
    "modules",
    [
        {"top": {GATE: 3, LATCH: 5}},
        {"top": {"row": 20, GATE: 1}, "row": {"pe": 18, LATCH: 2}, "pe": {GATE: 4, LATCH: 7}},
        # One that is below two others, of which one is below the other.
        {"top": {"a": 17, "c": 2}, "a": {"b": 1, "c": 3}, "b": {"c": 19}, "c": {GATE: 1}},
    ],
    ids=["flat", "many below many", "by two ways"],
)
def test_areas_are_of_all_instances(modules: Modules) -> None:
    library = cells.generic()
    gate, latch = (
        next(cell for cell in library.cells.values() if cell.sequential == sequential and cell.area)
        for sequential in (False, True)
    )
    named = {GATE: gate.name, LATCH: latch.name}
    modules = {
        name: {named.get(kind, kind): count for kind, count in inside.items()}
        for name, inside in modules.items()
    }
    counts = flat(modules, "top")
    rows = hierarchy.rows(modules, "top", library)
    assert {row["module"]: row["instances"] for row in rows} == {
        name: counts[name] for name in modules
    }
    assert sum(row["instances"] * row["cells"] for row in rows) == sum(
        count for kind, count in counts.items() if kind not in modules
    )
    for key, area in (
        ("area_sequential_um2", counts[latch.name] * latch.area),
        ("area_um2", counts[latch.name] * latch.area + counts[gate.name] * gate.area),
    ):
        assert sum(row["instances"] * row[key] for row in rows) == pytest.approx(area)
