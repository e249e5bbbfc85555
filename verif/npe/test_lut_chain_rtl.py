"""Floats through aligner, LUT core and group scale, one simulated block after the other."""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from carrysave.sim.cocotb.streams import pack, unpack
from carrysave.sim.parameters import describe
from carrysave.sim.products import multiply
from carrysave.sim.runner import new_folder, run
from carrysave.sim.verilator import build
from golden.formats.integer import IntFormat
from golden.formats.minifloat import MinifloatFormat
from golden.formats.names import minifloat
from golden.lut.align import align, aligned_format
from golden.lut.lookup import LookupSpec, lookup_matmul
from golden.lut.quantise import QuantiseSpec, quantise
from golden.lut.scale import activation_sums, scale_groups, without_zeros
from golden.lut.weights import GroupedWeights
from hw.catalog import Design
from hw.emit.verilog import Emission
from verif.support.cases import long

M, K, N, GROUP, LANES = 3, 72, 4, 32, 8
"""The last group of K is a shorter one."""

CASES: list[tuple[str, int, dict[str, Any], dict[str, Any]]] = [
    ("e4m3", 10, {"bits": 2, "scale_format": "fp16"}, {"weights": "integer", "group": 2}),
    (
        "fp16",
        13,
        {"bits": 4, "scale_format": "fp16", "scheme": "asymmetric"},
        {"weights": "integer", "group": 3, "table": "half"},
    ),
    (
        "bf16",
        13,
        {"bits": 3, "scale_format": "e8m0", "scheme": "odd"},
        {"weights": "odd", "group": 4, "lookups": 2, "table": "half", "order": "outer"},
    ),
    (
        "e5m2",
        8,
        {"bits": 2, "scale_format": "e8m0", "scheme": "asymmetric"},
        {"weights": "odd", "group": 2, "table": "half", "generator": "external"},
    ),
    (
        "fp16",
        16,
        {"bits": 1, "scale_format": "e8m0", "scheme": "odd"},
        {"weights": "odd", "group": 3, "table": "half", "generator": "in_array"},
    ),
    ("bf16", 11, {"bits": 4, "scale_format": "fp16"}, {"weights": "integer", "order": "outer"}),
]


def relay(
    design: Design,
    taken: Sequence[str],
    beats: Sequence[Sequence[int]],
    given: Sequence[str],
    count: int,
    directory: Path,
) -> list[list[str]]:
    """Send beats through a simulated block; return what came, for each field its bits."""
    folder = new_folder(directory, design.module)
    source = folder / f"{design.module}.v"
    source.write_text(Emission(design).verilog)
    job = {"taken": list(taken), "given": list(given), "beats": list(beats), "count": count}
    (folder / "beats.json").write_text(json.dumps(job))
    result = run(
        build([source], design.module),
        "carrysave.sim.cocotb.job_relay",
        parameters=describe(design),
        directory=folder,
    )
    assert result.ok, result
    answers = json.loads((folder / "answers.json").read_text())
    assert len(answers) == count
    return [list(column) for column in zip(*answers, strict=True)]


def aligned(
    name: str, width: int, codes: np.ndarray, directory: Path
) -> tuple[np.ndarray, np.ndarray]:
    """Let the aligner make integers and scales, M x K and M x groups, of floats."""
    design = Design("aligner", {"format": name, "width": width, "block": GROUP, "lanes": LANES})
    values = pack(codes.reshape(-1, LANES), minifloat(name).width)
    last = np.tile(np.arange(K // LANES) == K // LANES - 1, M)
    beats = list(zip(values, map(int, last), strict=True))
    data, scales, ends, _ = relay(
        design, ["data", "last"], beats, ["data", "scale", "end", "last"], len(beats), directory
    )
    found = [int(scale, 2) for scale, end in zip(scales, ends, strict=True) if end == "1"]
    return unpack(data, IntFormat(width=width)).reshape(M, K), np.reshape(found, (M, -1))


def looked_up(
    design: Design, a: np.ndarray, codes: np.ndarray, directory: Path
) -> tuple[np.ndarray, np.ndarray]:
    """Let the LUT core make sums, groups x M x N, and those of activations, groups x M.

    These are a column of weights 1, which on the odd grid is the code above the middle.
    """
    one = 1 << design.spec.b_width - 1 if design.spec.weights == "odd" else 1
    whole = np.pad(codes, ((0, 0), (0, 1)), constant_values=one)
    starts = range(0, K, GROUP)
    pairs = [(a[:, x : x + GROUP], whole[x : x + GROUP]) for x in starts]
    sums = np.stack(multiply(design, pairs, directory))
    return sums[:, :, :-1], sums[:, :, -1]


def scaled(
    design: Design,
    weights: GroupedWeights,
    sums: np.ndarray,
    ones: np.ndarray,
    scales: np.ndarray,
    directory: Path,
) -> np.ndarray:
    """Let the unit scale sums, groups x M x N, and add them up; return codes of fp32, M x N."""
    spec = design.spec
    groups = sums.shape[0]
    zeros = np.zeros((groups, N), dtype=np.int64)
    if spec.zeros == "integer":
        assert weights.zeros is not None
        zeros = weights.zeros
    elif spec.zeros == "odd":
        zeros = weights.odd_zeros
    beats = [
        [
            int(sums[group, row, column]) & (1 << spec.sum_width) - 1,
            int(zeros[group, column]) & (1 << spec.zero_width) - 1,
            int(ones[group, row]) & (1 << spec.activation_width) - 1,
            int(weights.scales[group, column]),
            int(scales[row, group]),
            0,
            int(group == groups - 1),
        ]
        for row in range(M)
        for column in range(N)
        for group in range(groups)
    ]
    names = ["sum", "zero", "activations", "scale", "power", "invalid", "last"]
    if spec.zeros == "none":
        names = [name for name in names if name not in ("zero", "activations")]
        beats = [beat[:1] + beat[3:] for beat in beats]
    (codes,) = relay(design, names, beats, ["sum"], M * N, directory)
    return np.array([int(code, 2) for code in codes]).reshape(M, N)


def draw(fmt: MinifloatFormat, seed: int) -> np.ndarray:
    """Draw activations of many exponents; the last row has a block with what is no number."""
    rng = np.random.default_rng(seed)
    codes = fmt.encode(rng.normal(size=(M, K)) * 2.0 ** rng.integers(-5, 4, (M, K)))
    special = np.array([np.nan, np.inf])
    found = fmt.encode(special, saturate=False)
    codes[-1, GROUP + 3] = found[~np.isfinite(fmt.to_float(found))][0]
    codes[0, 5] = 0
    return codes


@pytest.mark.parametrize(
    ("name", "width", "how", "core"),
    long(CASES),
    ids=[f"{name}-{how['scale_format']}-{core['weights']}" for name, _, how, core in CASES],
)
def test_chain_matches_golden(
    name: str, width: int, how: dict[str, Any], core: dict[str, Any], tmp_path: Path
) -> None:
    """Bit for bit; and next to what doubles make of the aligned activations."""
    fmt = minifloat(name)
    a = draw(fmt, width)
    values = np.random.default_rng(7).normal(size=(K, N)) + 0.2
    weights = quantise(QuantiseSpec(**{"group": GROUP, **how}), values)
    on_grid = core["weights"] == "odd"
    zeros = ("odd" if on_grid else "integer") if weights.zeros is not None else "none"
    engine = Design(
        "lut_core",
        {
            "m": 2,
            "n": 3,
            "lookups": 4,
            "b_width": weights.bits,
            "b_signed": False,
            "a_width": width,
            "symmetric": True,
            "k_max": GROUP,
            **core,
        },
    )
    scaler = Design(
        "group_scale",
        {
            "scale": weights.scale_format,
            "sum_width": 24,
            "fraction_width": width - 2,
            "zeros": zeros,
            "zero_width": 6,
            "activation_width": width + 6,
            "aligned": True,
        },
    )

    integers, scales = aligned(name, width, a, tmp_path)
    sums, ones = looked_up(engine, integers, weights.codes, tmp_path)
    found = scaled(scaler, weights, sums, ones, scales, tmp_path)

    blocks = align(fmt, a, width=width, block=GROUP)
    lookups = LookupSpec(
        group=core.get("group", 2),
        a_width=width,
        planes=weights.bits,
        order=core.get("order", "inner"),
    )
    starts = range(0, K, GROUP)
    parts = [(blocks.codes[:, x : x + GROUP], weights.codes[x : x + GROUP]) for x in starts]
    grid = np.stack([lookup_matmul(lookups, *part) for part in parts])
    own = activation_sums(blocks.codes, GROUP)
    wanted = grid if weights.levels == "odd" else without_zeros(grid, weights.odd_zeros, own)
    powers = blocks.scales.T - aligned_format(width, GROUP).scale_bias - (width - 2)
    nan = (blocks.scales == aligned_format(width, GROUP).scale_nan_code).any(axis=1)
    due = scale_groups(weights, wanted, exponents=powers, invalid=nan)
    fp32 = minifloat("fp32")
    assert np.array_equal(found, fp32.encode(due.astype(np.float64), saturate=False))
    assert np.isnan(due[-1]).all()
    assert np.isfinite(due[:-1]).all()

    spread = (
        np.repeat(blocks.scales, GROUP, axis=1)[:, :K] - aligned_format(width, GROUP).scale_bias
    )
    doubles = np.ldexp(blocks.codes[:-1].astype(float), spread[:-1] - (width - 2))
    exact, size = doubles @ weights.values(), np.abs(doubles) @ np.abs(weights.values())
    assert np.abs(due[:-1] - exact).max() <= 2.0**-21 * size.max()
