"""Spaces: what is legal, and what is refused."""

from pathlib import Path
from typing import Any

import pytest

from carrysave.errors import UsageError
from carrysave.exploration.constraint import CONSTRAINTS, STEPS, Constraint
from carrysave.exploration.space import Point, Space
from hw.catalog import Design

TABLE: dict[str, Any] = {
    "designs": ["systolic_os", "cube"],
    "parameters": {
        "m": [2, 4, 8],
        "n": [2, 4, 8],
        "k": [1, 2],
        "pe": ["mac", "opt1"],
        "k_max": {"min": 256, "max": 4096, "factor": 4},
    },
    "constraints": {"all": ["m * n == 16", "luts <= 300"]},
}


def test_points_are_those_that_constraints_allow() -> None:
    """Against a plain enumeration; parameters that a design lacks are not its axes."""
    points = Space.of_table(TABLE).points()
    wanted = {
        Design(name, {"m": m, "n": 16 // m, "pe": pe, "k_max": k_max, **more}).key
        for name, every in (("systolic_os", ({},)), ("cube", ({"k": 1}, {"k": 2})))
        for m in (2, 4, 8)
        for pe in ("mac", "opt1")
        for k_max in (256, 1024, 4096)
        for more in every
    }
    assert {point.name for point in points} == wanted
    assert len(points) == 3 * 2 * 3 * 3


def test_constraints_of_figures_are_for_results() -> None:
    space = Space.of_table(TABLE)
    point = space.points()[0]
    assert space.allows(point, {"luts": 300})
    assert not space.allows(point, {"luts": 301})
    assert not space.allows(point, {"luts": None})
    assert not space.allows(point, {})


def test_constraints_of_figures_that_a_target_never_has() -> None:
    """They are left out; a figure that one result lacks is fulfilled by the others alone."""
    texts = ["luts <= 300", "gops_per_dsp >= 2", "area_um2 <= 5", "fmax_mhz >= 1", "lots == 1"]
    space = Space.of_table({"designs": ["opt1"], "constraints": {"all": texts}})
    cells, left = space.on(cells=True)
    assert left == {"luts <= 300": ["luts"], "gops_per_dsp >= 2": ["gops_per_dsp"]}
    assert [one.text for one in cells.constraints] == texts[2:]
    device, left = space.on(cells=False)
    assert left == {"area_um2 <= 5": ["area_um2"]}
    point = device.points()[0]
    good = {"luts": 1, "gops_per_dsp": 2.5, "fmax_mhz": 9, "lots": 1}
    assert device.allows(point, good)
    for name in good:
        assert not device.allows(point, good | {name: None}), name


@pytest.mark.prove
def test_points_of_large_spaces_are_not_built(monkeypatch: pytest.MonkeyPatch) -> None:
    """Unless a constraint is of their MACs: 15,364 of 46,092 combinations in about a second."""
    monkeypatch.setattr(Design, "component", None)
    space = Space.of_table({
        "designs": ["systolic_os", "matrix_2d"],
        "parameters": {"m": [2, 4, 8], "pe": ["mac", "opt1"], "k_max": {"min": 256, "max": 4096}},
        "constraints": {"all": ["m * n == 64", "luts <= 20000"]},
    })
    points = space.points()
    assert len(points) == 2 * 2 * 3841
    assert {point.design.spec.m for point in points} == {8}


@pytest.mark.prove
@pytest.mark.parametrize("macs", [2, pytest.param(4, marks=pytest.mark.prove)])
def test_macs_of_the_default_space(macs: int) -> None:
    """Every shape of every array has as many multiply-accumulates as were asked for."""
    points = Space.of_macs(macs).points()
    names = {point.design.name for point in points}
    assert names == {"systolic_os", "systolic_ws", "matrix_2d", "cube", "adder_tree"}
    # Of each shape of each array, and each element in it.
    shapes = {
        (point.design.name, *(point.values.get(key) for key in ("m", "n", "k", "pe"))): point.design
        for point in points
    }
    for design in shapes.values():
        assert design.component().operations_per_cycle == 2 * macs
    assert {point.values.get("encoding") for point in points} >= {"booth", "ent"}
    assert {point.values.get("pe") for point in points} >= {"mac", "opt1", "opt2"}
    assert not any("pe" in point.values for point in Space.of_macs(macs, blocks=True).points())


@pytest.mark.sample(3)
@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("m * n == 12", True),
        ("m + n < 7", False),
        ("m < n and not m == 2", True),
        ("pe in ('mac', 'opt1')", True),
        ("m / 0 > 1", False),
        ("n % m", True),
        ("-m > 0", False),
    ],
)
def test_constraints(text: str, value: bool) -> None:
    assert Constraint.parse(text).holds({"m": 3, "n": 4, "pe": "mac"}) is value


@pytest.mark.parametrize(
    "text",
    [
        "__import__('os')",
        "m.real",
        "m ** 9 ** 9 ** 9",
        "[m for m in 'ab']",
        "lambda: 1",
        "m = 1",
        "",
        "(" * 500,
        7,
        "f'{m}'",
        "m[0]",
    ],
)
def test_constraints_do_nothing_else(text: object) -> None:
    with pytest.raises(UsageError, match="constraint must be"):
        Constraint.parse(text)


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("m * n == " + "9" * 1000, "constraint must have at most 1,000 characters, not 1,009"),
        ("(" * 90 + "m" + ")" * 90 + " + m" * 300, "at most 1,000 characters"),
        (" * ".join(["9" * 90] * 10) + " > m", ""),
        ("pe * 999999999 * 999999999 == ''", "arithmetic must be of numbers, not of 'mac'"),
        ("'%999999999d' % m == ''", "arithmetic must be of numbers, not of '%999999999d'"),
        ("[m] * 999999999 == []", r"arithmetic must be of numbers, not of \[3\]"),
        ("pe + pe == ''", "arithmetic must be of numbers"),
    ],
)
def test_constraints_are_bounded(text: str, says: str) -> None:
    values = {"m": 3, "n": 4, "pe": "mac"}
    if not says:
        assert Constraint.parse(text).holds(values) in {True, False}
        return
    with pytest.raises(UsageError, match=says):
        Constraint.parse(text).holds(values)


def test_numbers_in_between_are_bounded() -> None:
    values = dict.fromkeys("mn", 2**4000)
    with pytest.raises(UsageError, match="numbers must have at most 4,096 bits"):
        Constraint.parse("m * n * m == 0").holds(values)


def test_constraints_are_counted() -> None:
    table = {"designs": ["mac"], "constraints": {"all": ["a_width > 1"] * (CONSTRAINTS + 1)}}
    with pytest.raises(UsageError, match=f"constraints must be at most {CONSTRAINTS}, not 101"):
        Space.of_table(table)
    sides = list(range(1, 65))
    table = {
        "designs": ["systolic_os"],
        "parameters": {"m": sides, "n": sides, "k_max": sides[-40:]},
        "constraints": {"all": ["m" + " + n" * 240 + " > 0"]},
    }
    with pytest.raises(UsageError, match=f"constraints must take {STEPS:,} steps at most, not"):
        Space.of_table(table).points()


@pytest.mark.parametrize(
    ("change", "says"),
    [
        ({"designs": []}, "designs must be one or more, not none"),
        ({"designs": ["systolic"]}, "unknown design 'systolic'; did you mean systolic_"),
        ({"designs": "cube"}, "designs must be a list, not 'cube'"),
        ({"parameter": {}}, "unknown key of a space 'parameter'; did you mean parameters"),
        (
            {"parameters": {"mm": [1]}},
            "unknown parameter of systolic_os, cube 'mm'; did you mean m",
        ),
        ({"parameters": {"m": []}}, "m must have one value or more, not none"),
        ({"parameters": {"m": {"min": 4, "max": 3}}}, "m must have one value or more, not none"),
        ({"parameters": {"m": {"min": 4}}}, "m must be a list, or min, max and step or factor"),
        ({"parameters": {"m": [1.5]}}, "values of m must be integers, texts or truth values: 1.5"),
        (
            {"parameters": {"m": {"min": 1, "max": 4, "factor": 1}}},
            "factor of m must be an integer",
        ),
        ({"parameters": {"m": {"min": 1, "max": 4, "step": 0}}}, "step of m must be 1 or more"),
        ({"parameters": {"m": [0, 4]}}, r"m must be 1\.\.64 rows, not 0"),
        ({"parameters": {"pe": ["mac", "opt9"]}}, "pe must be one of .*, not 'opt9'"),
        (
            {"designs": ["coprocessor_uart"], "parameters": {"memory_bytes": [3000]}},
            "allow; the last design says: memory_bytes must be a power of two, not 3000",
        ),
        (
            {"constraints": {"all": ["m == 3"]}},
            "space must have a point that its constraints allow",
        ),
        ({"constraints": {"all": ["pe < 3"]}}, "constraint 'pe < 3': '<' not supported"),
        (
            {"parameters": {"k_max": {"min": 1, "max": 100_000}, "m": [1, 2, 3]}},
            "space must have 200,000 combinations at most, not 300,000",
        ),
    ],
)
def test_what_is_refused(change: dict[str, Any], says: str) -> None:
    with pytest.raises(UsageError, match=says):
        Space.of_table(TABLE | change).points()


def test_points_can_be_built() -> None:
    """A combination that only the component refuses is no point."""
    table = {"designs": ["coprocessor"], "parameters": {"requantisers": [2, 3]}}
    points = Space.of_table(table).points()
    assert [point.values["requantisers"] for point in points] == [2]
    with pytest.raises(ValueError, match="requantisers must be one of"):
        Design("coprocessor", {"requantisers": 3}).component()


def test_file(tmp_path: Path) -> None:
    path = tmp_path / "space.toml"
    path.write_text('designs = ["mac"]\n[parameters]\na_width = [4, 8]\n[constraints]\nmacs = 1\n')
    points = Space.read(path).points()
    assert points == [Point(Design("mac", {"a_width": width}), {}) for width in (4, 8)]
    assert [point.values for point in points] == [{"a_width": 4}, {"a_width": 8}]
    path.write_text("designs = [")
    with pytest.raises(UsageError, match=r"space\.toml: "):
        Space.read(path)
