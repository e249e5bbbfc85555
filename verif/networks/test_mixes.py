"""Mixes of formats: by hand, at equal bytes, and products that are rounded outside of graphs."""

import itertools
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from carrysave.compiler.lowered.encoded import encode
from carrysave.compiler.target.target import Target
from carrysave.precision.options import Options
from golden.formats.names import parse
from hw.catalog import Design
from scripts.language.rounded_products import Rounded
from verif.support.command import Run
from verif.support.networks import Task
from verif.support.schemas import check

MIX = ("e2m1", "posit4e1", "posit8e0", "posit16e1")
WIDE = ("-p", "m=2", "-p", "n=2", "-p", "lane=sl16", "-p", "accumulator_width=127", "-p",
        "requantise=false", "-p", f"formats=int8,e4m3,int4,{','.join(MIX)}")  # fmt: skip


@dataclass
class Made:
    noise: float
    bytes: float


def test_mix_by_hand() -> None:
    """Three layers of 100, 10 and 50 weights, in 4, 8 and 16 bits."""
    four, eight, wide = ("e2m1", "e2m1"), ("posit8e0", "posit8e0"), ("posit16e1", "posit16e1")
    noises = [(0.30, 0.02, 0.0), (0.50, 0.20, 0.01), (0.04, 0.03, 0.0)]
    table = [
        dict(zip((four, eight, wide), map(Made, own, (size / 2, size, 2 * size)), strict=True))
        for own, size in zip(noises, (100, 10, 50), strict=True)
    ]
    options = Options(table)
    pairs = [four, eight, wide]
    assert options.cost(options.alike(eight), "bytes") == 160
    assert options.most(pairs, "bytes") == 320
    # As many bytes as in 8 bits: the small layer gets 16, as the last one gives up 25 for it.
    assert options.mix(pairs, {"bytes": 160}) == [eight, wide, four]
    assert options.cost([eight, wide, four], "bytes") == 145
    assert options.mix(pairs, {"bytes": 170}) == [eight, wide, eight]
    assert options.mix(pairs, {"bytes": 136}) == [eight, eight, four]
    assert options.mix(pairs, {"bytes": 80}) == [four, four, four]
    with pytest.raises(ValueError, match="bytes must be 80 or more, not 79"):
        options.mix(pairs, {"bytes": 79})
    limits = [limit for limit, _ in options.front(pairs, "bytes")]
    assert limits[0] == 80
    assert limits == sorted(limits)
    lacking = Options([table[0], {eight: table[1][eight]}])
    assert not lacking.has(four)
    assert lacking.has(eight)
    assert lacking.cost([four, four], "bytes") == np.inf


@pytest.fixture
def files(task: Task, tmp_path: Path) -> list[Any]:
    arrays = {"cal": task.calibration[:40], "x": task.inputs[:50], "y": task.labels[:50]}
    for name, array in arrays.items():
        np.save(tmp_path / f"{name}.npy", array)
    return [
        task.model,
        "--calibration",
        tmp_path / "cal.npy",
        "--input",
        tmp_path / "x.npy",
        "--labels",
        tmp_path / "y.npy",
    ]


@pytest.mark.prove
def test_mix_of_equal_bytes(run: Run, files: list[Any], tmp_path: Path) -> None:
    """The least noise of all mixes with as many bytes as int8; posit(16,1) too, by golden."""
    out = tmp_path / "out"
    found = run("precision", *files, *WIDE, "--formats", ",".join(MIX), "--against", "e4m3",
                "--budget", "bytes=int8", "--json", "-o", out)  # fmt: skip
    assert found.code == 0, found.err
    facts = check("precision", found.out)
    uniform = {one["name"]: one for one in facts["uniform"]}
    assert list(uniform) == [f"all {name}" for name in (*MIX, "e4m3", "int8")]
    size = uniform["all int8"]["bytes"]
    assert facts["limits"] == {"bytes": size}
    assert uniform["all e4m3"]["bytes"] == size == 2368
    assert facts["chosen"]["bytes"] <= size
    own = [f"{name} x {name}" for name in MIX]
    assert set(facts["chosen"]["formats"]) <= set(own)
    tables = [row["sensitivity"] for row in facts["layers"]]
    best = min(
        (sum(table[pick]["noise"] for table, pick in zip(tables, picks, strict=True)), picks)
        for picks in itertools.product(own, repeat=2)
        if sum(table[pick]["bytes"] for table, pick in zip(tables, picks, strict=True)) <= size
    )
    assert facts["chosen"]["formats"] == list(best[1])
    wide = uniform["all posit16e1"]
    assert wide["noise"] < 1e-5 < uniform["all posit8e0"]["noise"] < uniform["all e2m1"]["noise"]

    model = out / "precision" / "digits" / "digits.onnx"
    ran = run("run", model, "--input", tmp_path / "x.npy", "--labels", tmp_path / "y.npy",
              "-p", "engine=npe", *WIDE, "--energy", "none", "--simulate", "none", "--json",
              "-o", out)  # fmt: skip
    assert ran.code == 0, ran.err
    assert check("run", ran.out)["outputs"][0]["accuracy"] == facts["chosen"]["right"]
    refused = run("run", model, "--input", tmp_path / "x.npy", "-p", "engine=npe", *WIDE,
                  "--simulate", "all", "-o", out)  # fmt: skip
    assert refused.code == 2
    assert "sums must be of 64 bits at most to run on the block, not 128" in refused.err


@pytest.mark.parametrize(
    ("options", "says"),
    [
        (("--budget", "bytes=int4"), "--budget must be one of bytes=NUMBER, cycles=NUMBER"),
        (("--budget", "bytes=e9m9"), "NUMBER%, or a format of the engine, not 'bytes=e9m9'"),
        (("--budget", "bytes=int8", "--against", "e5m2"), "--against must be of int8, e2m1, e4m3"),
        (("--budget", "bytes=e2m1", "--formats", "int8"), "bytes must be 2368 or more, not 1184"),
    ],
)
def test_refused(
    run: Run, files: list[Any], tmp_path: Path, options: tuple[str, ...], says: str
) -> None:
    found = run(
        "precision", *files, "-p", "formats=int8,e4m3,e2m1", *options, "-o", tmp_path / "out"
    )
    assert found.code == 2
    assert says in found.err
    assert found.out == ""
    assert not (tmp_path / "out").exists()


@pytest.mark.sample(3)
@pytest.mark.parametrize("name", ["int8", "e4m3", "int4", *MIX])
def test_rounded_product_is_goldens(name: str) -> None:
    """The engine's exact sums of the same codes, scaled and rounded to float32."""
    rng = np.random.default_rng(3)
    weights = rng.normal(0, 0.1, (70, 9)).astype(np.float32)
    rows = (rng.normal(0, 1, (20, 70)) * 10.0 ** rng.uniform(-3, 3, (20, 1))).astype(np.float32)
    rows[4] = 0
    fmt: Any = parse(name)
    rounded = Rounded({"a": weights}, {"a": rows}, {name: fmt})
    found = rounded.product("a", (name, name), rows)
    assert found.dtype == np.float32
    assert rounded.bytes("a", name) == weights.size * fmt.width / 8
    assert rounded.count == weights.size

    values, powers = rounded.activations("a", name, rows)
    assert (np.abs(np.ldexp(rows, -powers)).max(axis=1)[np.arange(20) != 4] >= 0.5).all()
    step = rounded._step("a", name)
    a = encode(fmt, np.ldexp(rows, -powers), step)
    columns = rounded.rounded("a", name)
    codes, steps = rounded._codes["a", name]
    engine = f"npe(lane=sl16,formats={name},accumulator_width=127)"
    target = Target(
        Design.parse("coprocessor", {"engine": engine, "requantise": "false"}), golden=True
    )
    mode = target.modes[name, name]
    sums, _ = target.spec.inside.multiply(a, codes.astype(np.int64), (mode.a_format, mode.b_format))
    exact = np.ldexp(sums.astype(np.float64) * 2.0**mode.exponent * step * steps, powers)
    size = np.abs(values.astype(np.float64)) @ np.abs(columns.astype(np.float64))
    assert (np.abs(found - exact) <= 1e-5 * np.ldexp(size, powers)).all()
    assert (found[4] == 0).all()
    # And near the product in floats: as near as the format is.
    apart = ((found - rows @ weights) ** 2).sum() / ((rows @ weights) ** 2).sum()
    assert apart < {4: 0.15, 8: 0.005, 16: 1e-6}[fmt.width]
