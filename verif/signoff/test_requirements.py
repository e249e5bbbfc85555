"""Requirements of designs, and what covers each."""

import pytest

from carrysave.signoff.part import Part
from carrysave.signoff.requirements import requirements_of, requirements_part
from hw.catalog import CATALOG, Design
from verif.test_catalog import SMALL

TINY = {"a_width": 2, "b_width": 2, "accumulator_width": 6}


@pytest.mark.parametrize("name", ["mac", "opt1", "systolic_os", "requantiser", "lmul"])
def test_requirements_are_derived(name: str) -> None:
    listed = requirements_of(Design(name, SMALL.get(name, {})))
    kinds = {one.kind for one in listed}
    assert {"value", "latency", "stalls", "stream", "reset", "parameters"} <= kinds
    assert all(one.text and one.source for one in listed)


@pytest.mark.prove
def test_every_design_has_requirements() -> None:
    for name in CATALOG:
        kinds = {one.kind for one in requirements_of(Design(name, SMALL.get(name, {})))}
        assert {"value", "reset", "parameters"} <= kinds, name


def test_a_requirement_that_nothing_covers_is_a_hole() -> None:
    design = Design("opt1", TINY)
    beats = [{"points": ["stream"], "hits": [["i", 3], ["o", 2]]}]
    tests = ["test_matches_golden/source=bursts", "test_latency", "test_throughput", "test_reset"]
    parts = {name: Part(name, "passed") for name in ("unknowns", "timing")}
    assert requirements_part(design, parts, tests, beats).outcome == "passed"
    for less, kind in (
        ((parts, tests[1:], beats), "value"),
        ((parts, [tests[0], *tests[2:]], beats), "latency"),
        ((parts, tests[:3], beats), "reset"),
        ((parts, tests, []), "stream"),
        ((parts, tests, [beats[0] | {"hits": [["i", 3]]}]), "stream"),
        (({"timing": parts["timing"]}, tests, beats), "power-up"),
        (({"unknowns": parts["unknowns"]}, tests, beats), "timing"),
    ):
        part = requirements_part(design, *less)
        holes = [row["kind"] for row in part.facts["rows"] if row["number"] in part.facts["holes"]]
        assert kind in holes
