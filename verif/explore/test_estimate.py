"""Estimates: right on designs that were left out, in intervals that hold; what is refused."""

import json
import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from carrysave import jobs
from carrysave.errors import UsageError
from carrysave.exploration.estimate import Estimator, Measured, shipped
from carrysave.exploration.likelihood import negative
from carrysave.exploration.surrogate import Surrogate, features, quantile
from hw.catalog import Design
from verif.support.command import Run
from verif.support.schemas import check

SMALL = ("systolic_os", "-p", "m=4", "-p", "n=4", "-p", "k_max=1024")


def made_up() -> list[Measured]:
    """Return designs whose figures are known, with noise of 2 %."""
    rng = np.random.default_rng(1)
    found = []
    for width in range(4, 13):
        for other in range(4, 13):
            for pe, factor in (("mac", 1.0), ("opt1", 1.3)):
                design = Design("systolic_os", {"a_width": width, "b_width": other, "pe": pe})
                area = factor * width * other * math.exp(0.02 * rng.standard_normal())
                period = math.log(width + other) * math.exp(0.02 * rng.standard_normal())
                found.append(Measured(design, {"area_um2": area, "period_ns": period}))
    order = rng.permutation(len(found))
    return [found[place] for place in order]


def test_estimates_of_designs_that_were_left_out() -> None:
    """Errors are as the noise is; the truth is in nine intervals of ten, none of which is wide."""
    every = made_up()
    made = Estimator.fit("osu018", "none", {}, every[:100])
    guesses = made.guess([one.design for one in every[100:]])
    for name in ("area_um2", "period_ns"):
        true = np.array([one.figures[name] for one in every[100:]])
        middle, low, high = (
            np.array([guess[name][part] for guess in guesses])
            for part in ("estimate", "low", "high")
        )
        assert np.median(np.abs(middle / true - 1)) < 0.03
        assert 0.8 <= np.mean((low <= true) & (true <= high)) <= 0.98
        assert np.median(high / low) < 1.12
        assert 0.005 < made.fits[name].error < 0.03


def test_shapes_that_were_left_out() -> None:
    """Their intervals are wider than those of known shapes, and hold."""
    rng = np.random.default_rng(2)
    shapes = [(m, n) for m in (2, 4, 6, 8) for n in (2, 4, 6, 8)]
    every = []
    for m, n in shapes:
        # What no parameter tells: a few per cent of each shape's own.
        own = math.exp(0.05 * rng.standard_normal())
        for width in (4, 6, 8, 10):
            area = own * (m * n * width**2 + 30 * (m + n)) * math.exp(0.01 * rng.standard_normal())
            design = Design("systolic_os", {"m": m, "n": n, "a_width": width})
            every.append(Measured(design, {"area_um2": area}))
    order = rng.permutation(len(shapes))
    new = {shapes[place] for place in order[:4]}
    seen = [one for one in every if (one.design.spec.m, one.design.spec.n) not in new]
    hidden = [one for one in every if (one.design.spec.m, one.design.spec.n) in new]
    made = Estimator.fit("osu018", "none", {}, seen)
    fit = made.fits["area_um2"]
    assert fit.error_of_shapes is not None
    assert fit.error < fit.error_of_shapes < 0.1
    reach = {}
    for kind, designs in (("seen", seen), ("hidden", hidden)):
        found = [one["area_um2"] for one in made.guess([one.design for one in designs])]
        true = [one.figures["area_um2"] for one in designs]
        inside = [one["low"] <= own <= one["high"] for one, own in zip(found, true, strict=True)]
        assert np.mean(inside) > 0.8
        reach[kind] = np.median([one["high"] / one["low"] for one in found])
    assert 1.0 < reach["seen"] < reach["hidden"] < 1.6


def test_model_is_the_same_from_a_file(tmp_path: Path) -> None:
    made = Estimator.fit("osu018", "none", {"yosys": "0.70"}, made_up()[:40])
    path = tmp_path / "a.json"
    path.write_text(made.text())
    again = Estimator.read(path)
    assert again.plain() == made.plain()
    design = Design("systolic_os", {"a_width": 7, "b_width": 9, "pe": "mac"})
    assert again.estimate(design) == made.estimate(design)


def test_left_out_values() -> None:
    """The closed form is what a process without the value says."""
    rows = [features(one.design) for one in made_up()[:25]]
    values = np.log([one.figures["area_um2"] for one in made_up()[:25]])
    whole = Surrogate(rows, values)
    scores = whole.left_out()
    for place in (0, 7, 24):
        rest = [one for one in range(25) if one != place]
        other = Surrogate([rows[one] for one in rest], values[rest], whole.theta, search=False)
        mean, deviation = other.predict([rows[place]])
        # Features and values have other scales without it.
        assert scores[place] == pytest.approx(abs(values[place] - mean[0]) / deviation[0], rel=0.3)


@pytest.mark.parametrize("linear", [False, True])
def test_likelihood(linear: bool) -> None:
    """It is scikit-learn's, gradient too, wherever hyperparameters are."""
    rows = [features(one.design) for one in made_up()[:40]]
    values = np.log([one.figures["area_um2"] for one in made_up()[:40]])
    model = Surrogate(rows, values, search=False, linear=linear)
    process = model._process
    rng = np.random.default_rng(1)
    for _ in range(3):
        theta = process.kernel_.theta + rng.standard_normal(len(process.kernel_.theta))
        due = process.log_marginal_likelihood(theta, eval_gradient=True)
        value, gradient = negative(theta, process.X_train_, process.y_train_, process.alpha)
        assert -value == pytest.approx(due[0], rel=1e-9)
        assert -gradient == pytest.approx(due[1], rel=1e-6, abs=1e-9)
    # No values are of a process whose noise is less than nothing.
    theta[:] = -99.0
    value, gradient = negative(theta, process.X_train_, process.y_train_, -1.0)
    assert value == float("inf")
    assert not gradient.any()


def test_quantile() -> None:
    assert quantile(np.arange(1.0, 10.0), 0.9) == 9
    assert quantile(np.arange(1.0, 20.0), 0.9) == 18
    assert quantile(np.array([3.0, 1.0]), 0.5) == 3


def test_command(run: Run) -> None:
    found = run("estimate", *SMALL, "--json")
    assert found.code == 0, found.err
    facts = check("estimate", found.out)
    path = shipped("osu018")
    assert path is not None
    known = Estimator.read(path)
    assert facts["measured"] == len(known.measured) == 486
    wanted = Design("systolic_os", {"m": 4, "n": 4, "k_max": 1024})
    (true,) = (one.figures for one in known.measured if one.design.key == wanted.key)
    for name, one in facts["figures"].items():
        assert one["low"] < one["estimate"] < one["high"]
        assert one["estimate"] == pytest.approx(true[name], rel=0.05)
    assert facts["notes"] == []
    other = run("estimate", "systolic_os", "-p", "m=3", "-p", "n=6", "-p", "k_max=1024", "--json")
    assert "no design of this shape" in check("estimate", other.out)["notes"][0]
    table = run("estimate", *SMALL).out
    assert f"{facts['figures']['period_ns']['estimate']:.5g}" in table
    assert "power at: 0.2 transitions per cycle" in table


@pytest.mark.parametrize(
    ("line", "says"),
    [
        (["mac"], "design must be one of systolic_os, matrix_2d, cube, adder_tree, digit_column, "),
        ([*SMALL[:-1], "k_max=64"], "k_max of systolic_os must be 1024, as it was measured for"),
        (
            [*SMALL, "-p", "pe=mac", "-p", "encoding=none"],
            "encoding of systolic_os must be booth or ent, as it was measured for osu018, not none",
        ),
        ([*SMALL, "-p", "pipeline=4"], "pipeline of systolic_os must be 0..2, as"),
        (
            [*SMALL[:1], "-p", "m=2", "-p", "n=2", "-p", "k_max=1024"],
            "lanes (m x n x k) of systolic_os must be 16..64",
        ),
        ([*SMALL, "--target", "ecp5"], "--target must be one of osu018, of which carrysave has a"),
        ([*SMALL, "--target", "tsmc"], "--target must be one of osu018, generic, "),
        (["--fit", "mac"], "--fit takes no design"),
        (["mac", "--store", "s"], "--store is for --fit"),
        (["--fit", "--store", "none.sqlite"], "there is no such file"),
        ([*SMALL, "--model", "own.json"], "own.json: not what `carrysave estimate --fit` writes"),
    ],
)
def test_what_is_refused(run: Run, tmp_path: Path, line: list[str], says: str) -> None:
    (tmp_path / "own.json").write_text(
        '{"format": 2, "figures": {}, "parameters": [], "rows": [[1]]}'
    )
    found = run("estimate", *line)
    assert (found.code, found.out) == (2, "")
    assert says in found.err
    assert [path.name for path in tmp_path.iterdir()] == ["own.json"]


def told(name: str, parameters: dict[str, Any]) -> dict[str, Any]:
    """Return figures of a design: the job's function."""
    return {
        "area_um2": 10.0 * parameters["a_width"] * parameters["b_width"],
        "luts": None,
        "period_ns": 1.0 + parameters["a_width"],
        "target": "osu018",
        "activity": "normal",
    }


def test_fit_of_a_store(run: Run, tmp_path: Path) -> None:
    """A model of what was measured estimates what was not; too few designs are refused."""
    designs = [
        Design("mac", {"a_width": a, "b_width": b})
        for a in range(2, 9)
        for b in range(2, 9)
        if (a, b) != (5, 5)
    ]
    wanted = [
        jobs.Job(
            function=told,
            arguments={"name": "mac", "parameters": dict(design.parameters)},
            facts={"design": "mac", "parameters": dict(design.parameters)},
            content=["told"],
        )
        for design in designs
    ]
    store = tmp_path / "store.sqlite"
    with jobs.session(jobs.Options(jobs=1, store=store)):
        assert all(outcome.failure is None for outcome in jobs.run(wanted))
    line = ("estimate", "--fit", "--store", store, "-o", tmp_path / "out", "--json")
    found = run(*line)
    assert found.code == 0, found.err
    facts = json.loads(found.out)
    assert facts["measured"] == len(designs)
    assert facts["errors"].keys() == {"area_um2", "period_ns"}
    model = facts["files"][0]
    found = run("estimate", "mac", "-p", "a_width=5", "-p", "b_width=5", "--model", model, "--json")
    figures = check("estimate", found.out)["figures"]
    assert figures["area_um2"]["estimate"] == pytest.approx(250, rel=0.02)
    assert figures["period_ns"]["estimate"] == pytest.approx(6, rel=0.02)
    found = run("estimate", "mac", "--model", model, "--target", "ecp5")
    assert "--model must be of --target ecp5, not of osu018" in found.err
    found = run(*line, "--target", "ecp5")
    assert found.code == 2
    assert "--fit needs 20 designs or more that were measured for ecp5, not 0" in found.err


def test_few_designs_are_refused() -> None:
    with pytest.raises(UsageError, match="fit needs 20 designs or more"):
        Estimator.fit("osu018", "none", {}, made_up()[:19])
