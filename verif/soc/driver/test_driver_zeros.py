"""The driver of engines whose blocks of B have zero points, beside scales and alone."""

import ctypes
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from carrysave.weights.grouped_operands import grouped_operands
from golden.formats.names import minifloat
from golden.formats.ue5m3 import Ue5m3Format
from golden.lut.checkpoint import from_awq, to_awq
from golden.lut.quantise import QuantiseSpec, quantise
from golden.npe.npe import NpeSpec
from golden.soc.blocking import Blocks, cost, plan
from golden.soc.coprocessor import CoprocessorSpec, Error, Job, error_of
from verif.soc.benches.format_products import check_formats
from verif.soc.driver.driver_rig import RNG
from verif.soc.driver.test_driver_scales import Rig, c_job

SMALL: dict[str, Any] = {"data_width": 64, "sums": 256, "a_bytes": 512, "b_bytes": 512}
LANES: dict[str, Any] = {"m": 2, "n": 2, "formats": "int8,int4", "zeros": True}
SPECS = {
    "alone": CoprocessorSpec(engine=NpeSpec(block=8, accumulator_width=32, **LANES), **SMALL),
    "one format": CoprocessorSpec(
        engine=NpeSpec(block=16, accumulator_width=32, **LANES | {"formats": "int8"}), **SMALL
    ),
    "scaled": CoprocessorSpec(
        engine=NpeSpec(scale="e8m0", result="fp32", block=16, **LANES),
        bias=False,
        requantise=False,
        **SMALL,
    ),
}


@pytest.mark.parametrize("language", ["python", "c"])
@pytest.mark.parametrize("name", SPECS)
def test_driver_multiplies_with_zero_points(library: Any, language: str, name: str) -> None:
    """Bit by bit as numpy, in products one by one and in lists."""
    rig = Rig(language, library, SPECS[name])
    check_formats(rig.device, rig.modes, RNG(3), 20)
    assert len(rig.pool.live) <= 1


def test_blocks_have_many_tiles_where_sums_are_integers() -> None:
    """Side bytes alone hold no state in the engine: B is read once for rows of several tiles."""
    spec, scaled = SPECS["alone"], SPECS["scaled"]
    m, n, k = 32, 32, 64
    for one, alone in ((spec, 0), (scaled, 1)):
        stores = one.stores()
        assert stores.alone == alone
        blocks = plan(stores, m, n, k, 32)
        assert ((blocks.m, blocks.n) == (1, 1)) == bool(alone)
        for sizes, fits in (((1, 1, 16), True), ((2, 2, 16), not alone), ((1, 1, 12), False)):
            assert stores.fits(*sizes) == fits
            job = Job(
                a=0,
                b=4096,
                c=8192,
                m=m,
                n=n,
                k=k,
                lda=k,
                ldb=n,
                ldc=4 * n,
                ldsa=8,
                ldsb=2 * n,
                block_m=sizes[0],
                block_n=sizes[1],
                block_k=sizes[2],
            )
            assert error_of(one, job) == (Error.NONE if fits else Error.BLOCKS)
    stores = spec.stores()
    few = [
        cost(one, plan(one, m, n, k, 32), m, n, k, 32) for one in (stores, replace(stores, alone=1))
    ]
    assert few[0].read_beats < 0.6 * few[1].read_beats
    assert few[0].cycles < few[1].cycles
    rig, rng = Rig("python", None, spec), RNG(4)
    a, b = rng.integers(-128, 128, (m, k)), rng.integers(-128, 128, (k, n))
    zeros = rng.integers(-128, 128, (k // 8, n))
    due = a @ (b - np.repeat(zeros, 8, axis=0))
    mode = rig.modes["int8", "int8"]
    device = rig.device
    placed = device.place(a, mode.a), device.place(mode.words(b), mode.b_stored)
    assert mode.b_sides is not None
    sides = device.place(zeros, mode.b_sides)
    for sizes in ((16, 4, 8), (1, 16, 16), (4, 4, 16)):
        made = device.product(*placed, b_scales=sides, mode=mode, blocks=Blocks(*sizes))
        device.run([made])
        assert np.array_equal(made.c.read(), due)
    # What is there is added to, as in other engines without scales.
    out = due.astype(np.int32)
    rig.device.matmul(a, b, b_scales=zeros, mode=mode, out=out, accumulate=True)
    assert np.array_equal(out, 2 * due)


@pytest.mark.parametrize("name", SPECS)
def test_c_driver_plans_as_the_golden_planner(library: Any, name: str) -> None:
    rig, rng = Rig("c", library, SPECS[name]), RNG(6)
    for mode in rig.modes.values():
        for _ in range(8):
            m, n, k = (int(2 ** rng.uniform(0, 7)) for _ in range(3))
            job = c_job(rig, mode, m, n, k)
            rig.c.call("plan", ctypes.byref(job))
            words = -(-k // mode.codes)
            blocks = plan(mode.stores(rig.device.info.stores), m, n, words, 32)
            made = Blocks(job.block_m, job.block_n, job.block_k, bool(job.by_columns))
            assert made == blocks, (m, n, k, mode)
            assert rig.c.call("check", ctypes.byref(job)) == 0


def test_driver_takes_weights_of_awq() -> None:
    """As they are, with activations in int8; scales round to E5M3."""
    made = quantise(
        QuantiseSpec(bits=4, group=16, scheme="asymmetric", scale_format="fp16"),
        RNG(5).normal(size=(64, 8)),
    )
    weights = from_awq(to_awq(made), "fp16")
    assert weights.zeros is not None
    spec = replace(
        SPECS["scaled"],
        engine=NpeSpec(scale="e5m3", result="fp32", block=16, **LANES),
    )
    rig, fmt = Rig("python", None, spec), Ue5m3Format(block=16)
    mode = rig.modes["int8", "int4"]
    a = fmt.quantise(RNG(6).normal(size=(3, 64)))
    b, sides = grouped_operands(weights, mode)
    c = rig.device.matmul(a.codes, b, a_scales=a.scales, b_scales=sides, mode=mode)
    scales = fmt.scale_format.encode(minifloat("fp16").to_float(weights.scales))
    rounded = np.repeat(fmt.scale_format.to_float(scales), 16, axis=0)
    due = fmt.to_float(a) @ (weights.integers * rounded)
    assert np.allclose(c, due, rtol=1e-5, atol=1e-5)
    # Without scales, sums of groups are exact; the host has one product for each.
    alone = Rig("python", None, replace(SPECS["alone"], engine=NpeSpec(block=16, **LANES)))
    left, mode = RNG(7).integers(-128, 128, (3, 64)), alone.modes["int8", "int4"]
    b, sides = grouped_operands(weights, mode)
    assert np.array_equal(
        alone.device.matmul(left, b, b_scales=sides, mode=mode), left @ weights.integers
    )
    other = weights.replaced(group=32, scales=weights.scales[:2], zeros=weights.zeros[:2])
    with pytest.raises(ValueError, match="group must be the mode's block, 16, not 32"):
        grouped_operands(other, mode)
    with pytest.raises(ValueError, match="weights must have zero points, and the mode blocks"):
        grouped_operands(weights, replace(mode, zeros=False))


def test_driver_refuses_other_zero_points() -> None:
    rig = Rig("python", None, SPECS["alone"])
    device, mode = rig.device, rig.modes["int8", "int4"]
    a, b, zeros = np.ones((3, 20), int), np.ones((20, 4), int), np.zeros((3, 4), int)

    def refused(message: str, **more: Any) -> None:
        given: dict[str, Any] = {"mode": mode, "b_scales": zeros} | more
        with pytest.raises(ValueError, match=message):
            device.matmul(a, b, **given)

    refused(r"b_scales must be given, one for each block of 8 codes: \(3, 4\)", b_scales=None)
    what = r"b_scales must be \(3, 4\), one for each block of 8 codes, not \(4, 3\)"
    refused(what, b_scales=zeros.T)
    refused(r"b_scales must be -8\.\.7, not 8", b_scales=zeros + 8)
    refused("a_scales must be None without scales", a_scales=zeros)
    refused("mode must be given to an engine with formats", mode=None)
    with pytest.raises(ValueError, match="mode must have scales and zero points, not one"):
        mode.records(zeros, zeros)
    one = Rig("python", None, SPECS["one format"])
    with pytest.raises(ValueError, match="mode must be given to an engine with scales"):
        one.device.matmul(a, b)
    both = Rig("python", None, SPECS["scaled"]).modes["int8", "int4"]
    with pytest.raises(ValueError, match=r"zeros must be -8\.\.7, not 9"):
        both.records(zeros, zeros + 9)
    made = both.records(zeros + 127, zeros - 8)
    assert made.dtype == np.dtype(np.uint16)
    assert int(made[0, 0]) == 127 | 0xF8 << 8


def test_spec_leaves_sums_with_scales_alone() -> None:
    assert SPECS["alone"].accumulates
    assert SPECS["alone"].requantise
    assert not SPECS["scaled"].accumulates
    with pytest.raises(ValueError, match="bias and requantise must be false where blocks have"):
        replace(SPECS["scaled"], bias=True)
