"""``carrysave explore``: fronts of designs that work."""

import itertools
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from carrysave import jobs
from carrysave.asic.options import SynthesisOptions
from carrysave.exploration import run as runs
from carrysave.exploration.front import OBJECTIVES, front
from carrysave.exploration.search import METHODS, Modelled, search
from carrysave.exploration.space import Space
from carrysave.keywords import differing
from hw.catalog import Design
from verif.support.browser import Browser
from verif.support.command import Run
from verif.support.schemas import check

SPACE = """
designs = ["mac"]
[parameters]
a_width = [2, 3, 4, 5]
b_width = [2, 3, 4, 5]
accumulator_width = [16, 32]
[constraints]
all = ["a_width >= b_width"]
"""


def measure(name: str, parameters: dict[str, Any], target: str, options: Any) -> dict[str, Any]:
    """Return figures that are known without a tool: the job's function in these tests."""
    a, b, k_max = (parameters[key] for key in ("a_width", "b_width", "accumulator_width"))
    if (a, b) == (5, 2):
        raise ValueError("this one cannot be built")
    found = {
        "gops_per_mm2": 100.0 * a - b,
        "pj_per_mac": a * a / b + k_max / 100,
        "area_um2": a * b,
        "power_mw": None,
        "versions": {"yosys": "0.70 of a test"},
    }
    if not options.get("place"):
        return found
    if a == 2:
        raise ValueError("this one has no room")
    # With wires the widest is beaten by what comes after it.
    size = 250.0 if a == 5 else 100.0 * a
    return found | {"placed": {"gops_per_mm2": size, "pj_per_mac": a + k_max / 10, "wire_um": 1.0}}


def counted(name: str) -> dict[str, Any]:
    """Return what is known of a design on a device."""
    return {"gops": 1.0, "luts": 100}


def checked(parameters: dict[str, Any]) -> dict[str, Any]:
    """Return whether a bench passes; that of one does not."""
    ok = (parameters["a_width"], parameters["b_width"]) != (5, 5)
    return {"ok": ok, "failed": [] if ok else ["test_product"]}


@pytest.fixture
def told(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let figures come from :func:`measure`, and benches be :func:`checked`."""

    def job(design: Design, target: Any, options: SynthesisOptions, *, facts: Any) -> jobs.Job:
        return jobs.Job(
            function=measure,
            arguments={
                "name": design.name,
                "parameters": dict(design.parameters),
                "target": "t",
                "options": differing(options),
            },
            facts=facts,
        )

    def bench(design: Design) -> jobs.Job:
        return jobs.Job(function=checked, arguments={"parameters": dict(design.parameters)})

    monkeypatch.setattr(runs, "design_job", job)
    monkeypatch.setattr(runs, "bench_job", bench)


def options(tmp_path: Path, *more: str) -> list[Any]:
    (tmp_path / "space.toml").write_text(SPACE)
    return ["explore", "--space", tmp_path / "space.toml", "-o", tmp_path / "out", "--store",
            tmp_path / "store.sqlite", "--objective", "gops_per_mm2", "--objective", "pj_per_mac",
            *more]  # fmt: skip


@pytest.mark.usefixtures("told")
def test_front_is_of_designs_that_work(run: Run, tmp_path: Path) -> None:
    """A design that cannot be built, and one whose bench fails, are not in it; others take over."""
    found = run(*options(tmp_path, "--method", "grid", "--trials", "100", "--json"))
    assert found.code == 1  # a bench failed
    facts = check("explore", found.out)
    assert facts["space_points"] == facts["trials"] == 20
    assert facts["failed"] == 2
    rows = facts["points"]
    wrong = [row for row in rows if row["verified"] is False]
    assert [(row["parameters"]["a_width"], row["parameters"]["b_width"]) for row in wrong] == [
        (5, 5)
    ] * 2
    assert not any(row["front"] for row in wrong)
    names = "a_width", "b_width", "accumulator_width"
    chosen = {tuple(row["parameters"][name] for name in names) for row in rows if row["front"]}
    # By hand: the widest a is the densest, the widest b takes the least energy.
    able = [
        (a, b, k_max)
        for a, b, k_max in itertools.product((2, 3, 4, 5), (2, 3, 4, 5), (16, 32))
        if a >= b and (a, b) not in {(5, 2), (5, 5)}
    ]
    figures = {one: (b - 100.0 * a, a * a / b + k / 100) for one in able for a, b, k in (one,)}
    best = {
        one
        for one in able
        if not any(
            all(x <= y for x, y in zip(figures[other], figures[one], strict=True))
            and figures[other] != figures[one]
            for other in able
        )
    }
    assert chosen == best
    assert all(row["verified"] for row in rows if row["front"])
    # What beats each of the others is told by its number in the front.
    places = [tuple(row["parameters"][name] for name in names) for row in rows]
    for row, place in zip(rows, places, strict=True):
        beating = [
            number
            for number, other in enumerate(places[: len(best)])
            if place in able
            and figures[other] != figures[place]
            and all(x <= y for x, y in zip(figures[other], figures[place], strict=True))
        ]
        assert row["beaten_by"] == beating
        assert bool(beating) == (place in able and place not in best)
    report = tmp_path / "out" / "explore" / "explore.json"
    assert json.loads(report.read_text())["points"] == rows
    picture = (report.parent / "explore.svg").read_text()
    assert "gops_per_mm2" in picture
    assert "front" in picture
    first = next(row for row in rows if row["front"])
    made = run("generate", "--from", report, "--json", "-o", tmp_path / "rtl")
    assert made.code == 0, made.err
    assert json.loads(made.out)["module"] == first["module"]
    made = run("generate", "--from", report, "--point", "99")
    assert (made.code, "--point must be 0.." in made.err) == (2, True)
    for text in ("", "[]", '{"points": [{}]}'):
        report.write_text(text)
        made = run("generate", "--from", report)
        assert (made.code, "not what `carrysave explore` writes" in made.err) == (2, True)


@pytest.mark.prove
@pytest.mark.usefixtures("told")
def test_the_front_is_placed(run: Run, tmp_path: Path, browser: Browser) -> None:
    """Figures with wires beside those without, and which of the front none beats there."""
    pytest.importorskip("coloquinte")
    line = options(tmp_path, "--method", "grid", "--place", "--verify", "none")
    plain = check(
        "explore", run(*options(tmp_path, "--method", "grid", "--json", "--verify", "none")).out
    )
    assert {row["placed"] for row in plain["points"]} == {None}
    found = run(*line, "--html", "a/page.html", "--json")
    assert found.code == 0, found.err
    rows = check("explore", found.out)["points"]
    assert [row["front"] for row in rows] == [row["front"] for row in plain["points"]]
    assert all((row["placed"] is not None) == row["front"] for row in rows)
    placed = {row["parameters"]["a_width"]: row["placed"] for row in rows if row["front"]}
    assert {2, 4, 5} <= set(placed)
    assert (placed[2]["error"], placed[2]["pj_per_mac"]) == (
        "ValueError: this one has no room",
        None,
    )
    assert (placed[4]["front"], placed[4]["gops_per_mm2"]) == (True, 400.0)
    assert (placed[5]["front"], placed[5]["error"]) == (False, None)
    text = browser.check(tmp_path / "a" / "page.html", charts=1)
    assert "gops_per_mm2, placed" in text
    shown = run(*line).out
    for part in ("The same, placed", "of these with wires, too", "this one has no room"):
        assert part in " ".join(shown.split())
    refused = run(*line, "--target", "ecp5", "--seeds", "1")
    assert (refused.code, "--place is for cell libraries" in refused.err) == (2, True)


@pytest.mark.usefixtures("told")
def test_page(run: Run, tmp_path: Path, browser: Browser) -> None:
    """The chart and its table have what works; what does not is apart, with the reason."""
    found = run(*options(tmp_path, "--method", "grid", "--html", "a/page.html", "--json"))
    facts = check("explore", found.out)
    assert facts["files"][-1] == "a/page.html"
    text = browser.check(tmp_path / "a" / "page.html", charts=1)
    for part in (
        "Search of designs on osu018",
        "0.70 of a test",
        "optuna",
        "--method grid",
        "20 of 20 designs measured by grid",
        "best pj_per_mac",
    ):
        assert part in text
    columns = "[...document.querySelectorAll('#part0-table thead th')].map((h) => h.innerText)"
    axes = ["a_width", "b_width", "accumulator_width"]
    assert browser.ask(columns) == [
        "module",
        "design",
        *axes,
        *facts["objectives"],
        "beaten by",
        "verified",
    ]
    cells = (
        "[...document.querySelectorAll('#part{}-table tbody tr')].map((r) => r.cells[0].innerText)"
    )
    rows = facts["points"]
    wrong = [row["module"] for row in rows if row["error"]]
    assert len(wrong) == 4
    assert browser.ask(cells.format(2)) == wrong
    assert browser.ask(cells.format(0)) == [
        row["module"] for row in rows if row["module"] not in wrong
    ]
    assert "this one cannot be built" in text
    assert "bench fails: test_product" in text
    # Rings for the front, whose points are a line too; the picture.
    shapes = "document.querySelectorAll('.plot g.mark-symbol.role-mark path').length"
    assert browser.ask(shapes) == len(rows) - len(wrong) + facts["front"]
    assert browser.ask("document.images.length") == 1


def test_designs_for_a_device(run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Points are built of its blocks, with the parameters that they have in the space."""
    asked: list[Design] = []

    def job(design: Design, target: Any, options: SynthesisOptions, *, facts: Any) -> jobs.Job:
        asked.append(design)
        return jobs.Job(function=counted, arguments={"name": design.name}, facts=facts)

    monkeypatch.setattr(runs, "design_job", job)
    (tmp_path / "space.toml").write_text(
        'designs = ["systolic_os"]\n[parameters]\nm = [2, 4]\nn = [2]\na_signed = [true, false]\n'
    )
    found = run("explore", "--space", tmp_path / "space.toml", "-o", tmp_path / "out", "--store",
                tmp_path / "store.sqlite", "--target", "ecp5", "--verify", "none", "--method",
                "grid", "--json")  # fmt: skip
    assert found.code == 0, found.err
    sides = [(m, 2, signed) for m in (2, 4) for signed in (True, False)]
    assert [(one.spec.m, one.spec.n, one.spec.a_signed) for one in asked] == sides
    assert {one.parameters["target"] for one in asked} == {"ecp5"}
    rows = check("explore", found.out)["points"]
    assert all(row["parameters"]["target"] == "ecp5" for row in rows)


@pytest.mark.usefixtures("told")
def test_search_goes_on(run: Run, tmp_path: Path) -> None:
    """What was measured before is not measured again, whatever the method."""
    found = run(*options(tmp_path, "--trials", "6", "--verify", "none", "--json"))
    first = check("explore", found.out)
    assert first["trials"] == 6
    again = check(
        "explore", run(*options(tmp_path, "--trials", "6", "--verify", "none", "--json")).out
    )
    assert [row["key"] for row in again["points"]] == [row["key"] for row in first["points"]]
    listed = run("results", "--store", tmp_path / "store.sqlite", "--json")
    assert len(json.loads(listed.out)) == sum(row["error"] is None for row in first["points"])


@pytest.mark.parametrize("method", METHODS)
def test_every_point_is_proposed_once(method: str) -> None:
    """In batches, to the end, with results that come between them."""
    points = Space.of_table({
        "designs": ["mac", "opt1"],
        "parameters": {"a_width": [2, 4, 6], "b_width": [2, 4, 6], "encoding": ["booth", "ent"]},
        "constraints": {"all": ["a_width >= b_width"]},
    }).points()
    ways = search(method, points, 3, 2, 30, skip=False)
    seen: list[int] = []
    while numbers := ways.ask(5):
        seen += numbers
        for number in numbers:
            values = points[number].values
            ways.tell(
                number,
                [float(values["a_width"]), -float(values["b_width"])] if number % 5 else None,
            )
    assert sorted(seen) == list(range(len(points)))
    if method == "grid":
        assert seen == sorted(seen)
    other = search(method, points, 3, 2, 30, skip=False)
    assert other.ask(5) == seen[:5]


@pytest.mark.prove
@pytest.mark.parametrize("method", ["model", "tpe", "nsga2"])
def test_samplers_find_more_than_chance(method: str) -> None:
    """Of 225 points with two objectives the front's share after 60, over three seeds."""
    points = Space.of_table({
        "designs": ["mac"],
        "parameters": {"a_width": list(range(2, 17)), "b_width": list(range(2, 17))},
    }).points()

    def values(number: int) -> list[float]:
        a, b = (float(points[number].values[name]) for name in ("a_width", "b_width"))
        return [(a - 17) ** 2 + abs(b - 6), (b - 6) ** 2 + abs(a - 13)]

    every = np.array([values(number) for number in range(len(points))])
    best = every[front(every.tolist())]

    def share(method: str, seed: int) -> float:
        ways = search(method, points, seed, 2, 60, skip=False)
        seen: list[int] = []
        while len(seen) < 60 and (numbers := ways.ask(6)):
            for number in numbers:
                ways.tell(number, values(number))
                seen.append(number)
        assert len(seen) >= 60
        found = {tuple(every[number]) for number in seen[:60]}
        return float(np.mean([tuple(row) in found for row in best]))

    ours, chance = (np.mean([share(one, seed) for seed in range(3)]) for one in (method, "random"))
    assert ours > 1.5 * chance


def test_search_ends_when_nothing_has_a_chance() -> None:
    """It has found the front by then, and says how many points it left; it can be told not to."""
    points = Space.of_table({
        "designs": ["mac"],
        "parameters": {"a_width": list(range(2, 12)), "b_width": list(range(2, 12))},
    }).points()
    widths = [(int(one.values["a_width"]), int(one.values["b_width"])) for one in points]
    every = [[1.0 + b + (a - 5) ** 2, 1.0 + b + (a - 7) ** 2] for a, b in widths]
    best = {number for number, one in enumerate(front(every)) if one}

    ways = search("model", points, 1, 2, len(points))
    seen: list[int] = []
    while numbers := ways.ask(5):
        for number in numbers:
            ways.tell(number, every[number])
            seen.append(number)
    assert len(seen) < len(points) / 2
    assert ways.hopeless == len(points) - len(seen)
    assert best <= set(seen)

    other = search("model", points, 1, 2, len(points), skip=False)
    for number in seen:
        other.tell(number, every[number])
    assert isinstance(other, Modelled)
    while other.first:  # at random
        other.ask(5)
    assert len(other.ask(5)) == 5
    assert other.hopeless == 0


def test_front() -> None:
    """Against the definition, with equal points, on random small numbers."""
    rng = np.random.default_rng(1)
    for _ in range(50):
        values = rng.integers(0, 4, (int(rng.integers(1, 12)), 3)).tolist()
        wanted = [
            not any(
                all(x <= y for x, y in zip(other, one, strict=True)) and other != one
                for other in values
            )
            for one in values
        ]
        assert front(values) == wanted


@pytest.mark.parametrize(
    ("more", "says"),
    [
        (["--objective", "speed"], "unknown objective 'speed'"),
        (["--objective", "gops_per_mm2"], "--objective must name each figure once"),
        (["--method", "genetic"], "--method must be one of model, tpe, nsga2, random, grid"),
        (["--verify", "some"], "--verify must be one of front, all, none"),
        (["--trials", "0"], "--trials must be 1 or more, not 0"),
        (["--macs", "4"], "--macs is in place of a --space"),
        (["--seed", "-1"], "--seed must be 0 or more, not -1"),
    ],
)
def test_what_is_refused(run: Run, tmp_path: Path, more: list[str], says: str) -> None:
    found = run(*options(tmp_path, *more))
    assert (found.code, found.out) == (2, "")
    assert says in found.err
    assert not (tmp_path / "out").exists()


@pytest.mark.usefixtures("told")
def test_figure_that_the_target_has_not(run: Run, tmp_path: Path) -> None:
    found = run(*options(tmp_path, "--objective", "power_mw"))
    assert found.code == 2
    assert "--objective must be a figure of the target; it has none of power_mw" in found.err
    assert OBJECTIVES.keys() >= {"luts", "gops", "area_um2"}


@pytest.mark.prove
def test_objectives_of_the_generic_library(run: Run, tmp_path: Path) -> None:
    """It has no area, period or power: its own are the default, and others refused at once."""
    line = [
        one
        for one in options(tmp_path, "--target", "generic", "--verify", "none")
        if one not in ("--objective", "gops_per_mm2", "pj_per_mac")
    ]
    (tmp_path / "space.toml").write_text(SPACE.replace("[2, 3, 4, 5]", "[2]"))
    facts = check("explore", run(*line, "--json").out)
    assert facts["objectives"] == ["operations_per_fo4_kge", "kge"]
    assert all(row["kge"] > 0 and row["operations_per_fo4_kge"] > 0 for row in facts["points"])
    found = run(*line, "--objective", "pj_per_mac")
    assert (found.code, found.out) == (2, "")
    assert "--objective must be one of operations_per_fo4_kge, kge, latency on generic" in found.err


@pytest.mark.usefixtures("told")
def test_constraint_that_says_nothing_of_the_target(run: Run, tmp_path: Path) -> None:
    """Cells have no LUTs: a space for both kinds of targets is searched, and says what it left."""
    line = options(tmp_path, "--method", "grid", "--verify", "none", "--json")
    space = tmp_path / "space.toml"
    space.write_text(SPACE.replace('"a_width >= b_width"', '"a_width == 3", "luts <= 20000"'))
    facts = check("explore", run(*line).out)
    assert facts["trials"] == sum(row["allowed"] for row in facts["points"]) == 8
    assert facts["notes"] == ["constraint 'luts <= 20000' is left out: osu018 has no luts"]
    space.write_text(SPACE.replace('"a_width >= b_width"', '"a_width == 3", "lots <= 20000"'))
    found = run(*line)
    assert (found.code, found.out) == (2, "")
    assert "none of 8 that were measured fulfils 'lots <= 20000'" in found.err


@pytest.mark.usefixtures("told")
def test_space_without_a_result(run: Run, tmp_path: Path) -> None:
    """Constraints of figures that nothing fulfils are refused; with all designs failed it fails."""
    line = options(tmp_path)
    space = tmp_path / "space.toml"
    space.write_text(SPACE.replace('"a_width >= b_width"', '"a_width == 3", "area_um2 <= 5"'))
    found = run(*line)
    assert (found.code, found.out) == (2, "")
    assert "none of 8 that were measured fulfils 'area_um2 <= 5'" in found.err
    assert not (tmp_path / "out").exists()
    space.write_text(SPACE.replace('"a_width >= b_width"', '"a_width == 5", "b_width == 2"'))
    found = run(*line)
    assert (found.code, "this one cannot be built" in found.out) == (1, True)
