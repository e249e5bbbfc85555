"""The rule of stages: what each takes, and what keeps it away."""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from carrysave.signoff.part import FAILED, IMPOSSIBLE, NOT_RUN, PASSED, Part
from carrysave.signoff.stage import PARTS, RULES, SHARE, STAGES, check_stage, lacking, reached

KINDS = {kind: {"hit": 95, "total": 100} for kind in ("line", "branch", "toggle")}
MUTANTS = {"asked": 100, "made": 100, "places": 100, "killed": 98, "alive": 0, "undecided": 0}


def all_passed() -> dict[str, Part]:
    """Return the evidence of a design that has all."""
    parts = {name: Part(name, PASSED) for name in PARTS}
    parts["coverage"] = Part("coverage", PASSED, "", {"kinds": KINDS, "open": 0})
    parts["mutants"] = Part("mutants", PASSED, "", MUTANTS)
    return parts


def changed(name: str, outcome: str | None = None, **facts: Any) -> dict[str, Part]:
    parts = all_passed()
    part = replace(parts[name], facts=dict(parts[name].facts) | facts)
    parts[name] = replace(part, outcome=outcome or part.outcome)
    return parts


def test_all_evidence_reaches_all() -> None:
    assert reached(all_passed()) == ("D3", "V3")
    assert not any(lacking(stage, all_passed()) for stage in STAGES)


def test_nothing_reaches_nothing() -> None:
    assert reached({}) == ("D0", "V0")
    assert lacking("D1", {}) == [
        "D1: Verilog is generated (generate not run)",
        "D1: lint of all tools that are here is clean (lint not run)",
    ]


def test_every_part_counts() -> None:
    """No part may fail, or not be run, without a stage being lost."""
    assert {demand.part for demands in RULES.values() for demand in demands} == {*PARTS}
    for name in PARTS:
        for outcome in (FAILED, NOT_RUN):
            parts = all_passed() | {name: Part(name, outcome)}
            assert reached(parts) != ("D3", "V3"), (name, outcome)


@pytest.mark.parametrize(
    ("parts", "stages"),
    [
        (lambda: changed("lint", FAILED), ("D0", "V0")),
        (lambda: changed("unknowns", FAILED), ("D1", "V1")),
        (lambda: changed("unknowns", IMPOSSIBLE), ("D1", "V1")),
        (lambda: changed("crossings", FAILED), ("D1", "V1")),
        (lambda: changed("gates", FAILED), ("D2", "V2")),
        (lambda: changed("timing", FAILED), ("D2", "V2")),
        (lambda: changed("timing", IMPOSSIBLE), ("D3", "V3")),
        (lambda: changed("bench", FAILED), ("D3", "V0")),
        (lambda: changed("mutants", killed=0), ("D3", "V0")),
        (lambda: changed("mutants", alive=1), ("D3", "V1")),
        (lambda: changed("mutants", undecided=1), ("D3", "V1")),
        (lambda: changed("mutants", asked=99, made=99, places=99), ("D3", "V1")),
        (lambda: changed("mutants", made=40, places=40), ("D3", "V3")),
        (lambda: changed("mutants", made=0, places=0), ("D3", "V1")),
        (lambda: changed("coverage", open=1), ("D3", "V2")),
        (
            lambda: changed("coverage", kinds=KINDS | {"branch": {"hit": 89, "total": 100}}),
            ("D3", "V1"),
        ),
        (lambda: changed("requirements", FAILED), ("D3", "V2")),
        (lambda: changed("proof", FAILED), ("D3", "V2")),
        (lambda: changed("proof", IMPOSSIBLE), ("D3", "V3")),
    ],
)
def test_what_keeps_a_stage_away(
    parts: Callable[[], dict[str, Part]], stages: tuple[str, str]
) -> None:
    assert reached(parts()) == stages


def test_the_share_is_of_each_kind() -> None:
    enough = KINDS | {"toggle": {"hit": round(100 * SHARE), "total": 100}}
    assert not lacking("V2", changed("coverage", kinds=enough))
    assert lacking("V2", changed("coverage", kinds={}))


def test_what_lacks_is_named_with_its_reason() -> None:
    parts = all_passed() | {"gates": Part("gates", IMPOSSIBLE, "sta is not here")}
    [text] = lacking("D3", parts)
    assert text.endswith("(gates not possible: sta is not here)")


def test_the_rule_is_in_the_guide() -> None:
    guide = Path(__file__).parents[2] / "docs" / "guides" / "signoff.md"
    rows = [line.strip("| ").split(" | ") for line in guide.read_text().splitlines()]
    written = [row for row in rows if row[0] in STAGES]
    assert written == [
        [stage, demand.part, demand.text] for stage, demands in RULES.items() for demand in demands
    ]


def test_no_stage() -> None:
    check_stage("V2")
    with pytest.raises(ValueError, match=r"stage must be .*V3.*'V4'"):
        check_stage("V4")
