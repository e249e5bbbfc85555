"""The collector of functional coverage: what is legal, what is left, and what is drawn next."""

import json
import random
from itertools import combinations
from pathlib import Path

import pytest

from verif.soc.uvm import report
from verif.soc.uvm.coverage import Coverage, Point, Rule, Space

SPACE = Space(
    [
        Point("colour", ("red", "green", "blue")),
        Point("size", ("small", "large")),
        Point("shape", ("round", "square", "flat")),
        Point(
            "heavy",
            ("yes", "no"),
            ("size", "shape"),
            lambda size, shape: (
                None if shape == "flat" else "yes" if (size, shape) == ("large", "square") else "no"
            ),
        ),
    ],
    [
        Rule(("colour", "size"), lambda c, s: c == "red" and s == "large", "no large red"),
        Rule(("size", "shape"), lambda s, f: s == "small" and f == "flat", "no small flat"),
    ],
)


def pairs() -> Coverage:
    return Coverage("Things", SPACE, combinations(SPACE.base, 2))


def test_coverage_knows_what_is_legal() -> None:
    coverage = pairs()
    by_name = {cross.name: cross for cross in coverage.crosses}
    assert by_name["colour x size"].legal == 5
    assert dict(by_name["colour x size"].excluded) == {"no large red": 1}
    # A red thing is small, and what is small is not flat.
    assert ("red", "flat") not in by_name["colour x shape"].holes
    assert by_name["colour x shape"].legal == 8
    assert dict(by_name["colour x shape"].excluded) == {"excluded by several rules": 1}
    coarse = Coverage("Coarse", SPACE, [("colour", "heavy")]).crosses[0]
    assert set(coarse.holes) == {
        ("red", "no"),
        ("green", "yes"),
        ("green", "no"),
        ("blue", "yes"),
        ("blue", "no"),
    }


@pytest.mark.parametrize("seed", range(20))
def test_coverage_is_reached_by_few_draws(seed: int) -> None:
    coverage, rng = pairs(), random.Random(seed)
    assert coverage.left == 5 + 8 + 5
    draws = 0
    while coverage.left:
        values = coverage.draw(rng, {})
        assert values is not None
        assert coverage.sample(values) > 0
        draws += 1
    # As many as the largest cross has, and few more.
    assert 8 <= draws <= 10
    assert coverage.draw(rng, {}) is None
    assert coverage.samples == draws


def test_coverage_draws_within_what_is_given() -> None:
    coverage, rng = pairs(), random.Random(1)
    seen = set()
    while (values := coverage.draw(rng, {"colour": "red"})) is not None:
        assert (values["colour"], values["size"]) == ("red", "small")
        coverage.sample(values)
        seen.add(values["shape"])
    assert seen == {"round", "square"}
    assert coverage.any(rng, {"colour": "red", "size": "large"}) is None
    everything = coverage.any(rng, {"heavy": "yes"})
    assert everything is not None
    assert (everything["size"], everything["shape"]) == ("large", "square")


def test_coverage_refuses_what_its_rules_exclude() -> None:
    coverage = pairs()
    with pytest.raises(AssertionError, match="no large red"):
        coverage.sample({"colour": "red", "size": "large", "shape": "round"})


def test_coverage_is_reported(tmp_path: Path) -> None:
    coverage = pairs()
    coverage.sample({"colour": "blue", "size": "large", "shape": "flat"})
    report.write(tmp_path, [coverage])
    found = json.loads((tmp_path / "coverage.json").read_text())[0]
    assert found["samples"] == 1
    assert found["crosses"][0]["hits"] == [["blue", "large", 1]]
    assert ["blue", "small"] in found["crosses"][0]["holes"]
    text = (tmp_path / "coverage.md").read_text()
    assert "1 samples, 15 holes" in text
    assert "| colour x size | 1 | 5 | 1 |" in text
    assert "- no large red" in text
    assert "- blue, small" in text
    page = (tmp_path / "coverage.html").read_text()
    assert page.count("class=hole") == 15
    assert page.count("style='background") == 3
    assert "title='colour blue, size large: 1'" in page
