"""Operands for measured activity: which designs take which."""

from typing import Any

import numpy as np
import pytest

from carrysave.asic.power import activity
from carrysave.asic.power.stimulus import CYCLES, KINDS, WARM_UP, Stimulus, measurable
from carrysave.sim.operands import normal, uniform
from golden.formats.element import ElementFormat
from golden.formats.names import parse
from hw.catalog import CATALOG, Design

SMALL_LANE: dict[str, Any] = {"formats": "int8,int4,e4m3", "accumulator_width": 40}


@pytest.mark.parametrize(
    ("design", "parameters", "text", "error"),
    [
        ("mac", {}, "normal@0", r"beats must be 1\.\.2048 behind the @ of activity, not '0'"),
        ("mac", {}, "normal@", r"beats must be 1\.\.2048 behind the @ of activity, not ''"),
        ("mac", {}, "much", "must be one of none, assumed, normal, uniform, digits, not 'much'"),
        ("mac", {}, "normal:int8", "activity must be without a format for mac, not 'normal:int8'"),
        ("encoder", {}, "normal", "activity must be none or assumed for encoder, not 'normal'"),
        ("sl8", SMALL_LANE, "normal:", "format must be one of int8, int4, e4m3, not ''"),
        ("sl8", SMALL_LANE, "normal:e2m1", "format must be one of int8, int4, e4m3, not 'e2m1'"),
        ("sl8", SMALL_LANE, "normal:int8,int8,int8", "activity must be of one format or two"),
    ],
)
def test_stimulus_rejects(design: str, parameters: dict[str, Any], text: str, error: str) -> None:
    with pytest.raises(ValueError, match=error):
        Stimulus.parse(Design(design, parameters), text)


def test_weights_of_sparse_designs_are_pruned() -> None:
    design = Design("adder_tree", {"k": 8, "sparsity": "2:4"})
    sparse = design.spec.sparse
    for _, b in Stimulus.parse(design, "normal").sums():
        assert np.array_equal(sparse.read(b), b)
        places = sparse.places(sparse.pack(b)[0])
        assert len(np.unique(places, axis=0)) > 1


def test_stimulus_chooses_formats() -> None:
    lane = Design("sl8", SMALL_LANE)
    assert Stimulus.parse(lane, "normal").pair == (0, 0)
    assert Stimulus.parse(lane, "uniform:e4m3").pair == (2, 2)
    mixed = Stimulus.parse(lane, "normal:int8,int4")
    assert mixed.pair == (0, 1)
    assert mixed.describe() == f"{KINDS['normal']}, int8 x int4"


@pytest.mark.parametrize("name", CATALOG)
def test_stimulus_is_long_enough(name: str) -> None:
    design = Design(name)
    if not measurable(design):
        with pytest.raises(ValueError, match=f"activity must be none or assumed for {name}"):
            Stimulus.parse(design, "normal")
        return
    sums = Stimulus.parse(design, "normal").sums()
    assert sum(a.shape[1] for a, _ in sums[WARM_UP:-1]) >= CYCLES
    assert all(a.shape[1] == b.shape[0] for a, b in sums)


@pytest.mark.parametrize("name", ["int8", "uint5", "e2m1", "e4m3", "fp16", "posit8e0", "posit16e1"])
def test_codes_are_drawn_as_they_say(name: str) -> None:
    fmt = parse(name)
    assert isinstance(fmt, ElementFormat)
    rng = np.random.default_rng(3)
    for draw in (uniform, normal):
        codes = draw(rng, fmt, (40, 50))
        assert codes.shape == (40, 50)
        assert np.isfinite(fmt.to_float(codes)).all()
    drawn = fmt.to_float(normal(rng, fmt, 20_000))
    greatest = float(fmt.bounds[1]) * 2.0**fmt.lsb
    due = 1.0 if name.startswith("posit") else greatest * 20 / 128
    if name == "uint5":
        due = greatest * 20 / 255
    assert drawn.std() == pytest.approx(due, rel=0.1)


@pytest.mark.sample(1)
@pytest.mark.parametrize(
    ("name", "parameters"),
    [("sl8", SMALL_LANE), ("npe", {"m": 2, "n": 1, **SMALL_LANE})],
)
def test_lanes_are_recorded(name: str, parameters: dict[str, Any]) -> None:
    """The job checks the sums; here: in which cycles they count, and that formats differ."""
    traces = [activity.record(Design(name, parameters), f"normal:{f}") for f in ("int8", "int4")]
    size = parameters.get("m", 1) * parameters.get("n", 1)
    rates = [trace.products / (trace.end - trace.first) for trace in traces]
    assert rates == [pytest.approx(size, rel=0.02), pytest.approx(2 * size, rel=0.02)]


def test_stimulus_has_as_many_beats_as_are_asked_for() -> None:
    """Sums of 256 products: two before and one after those that count."""
    chosen = Stimulus.parse(Design("adder_tree", {"k": 16}), "uniform@40")
    assert [a.shape[1] for a, _ in chosen.sums()] == [256] * 6


def test_codes_that_never_come_are_not_drawn() -> None:
    """An activation of a LUT core may be said never to be the least, as of absmax quantisation."""
    lowest = [
        min(a.min() for a, _ in Stimulus.parse(Design("lut_core", how), "uniform").sums())
        for how in ({"a_width": 4}, {"a_width": 4, "symmetric": True})
    ]
    assert lowest == [-8, -7]
