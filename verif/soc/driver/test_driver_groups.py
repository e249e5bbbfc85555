"""Drivers of products whose groups of K are scaled: values, blocks, refusals, overlaps."""

import ctypes
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from carrysave.driver import Coprocessor, CoprocessorError, Info, Job, Requantisation
from carrysave.driver.blocking import Blocks
from carrysave.driver.descriptor import descriptor, descriptors
from carrysave.driver.group_scales import POWER, SCALE, group_blocks
from golden.formats.names import minifloat
from golden.lut.scale import group_sums, scale_groups
from golden.lut.weights import GroupedWeights
from golden.soc.coprocessor import CoprocessorSpec, Error, error_of
from golden.soc.job import Job as MemoryJob
from golden.tpe.cube import CubeSpec
from golden.tpe.systolic_os import SystolicOsSpec
from verif.soc.driver import c_driver
from verif.soc.driver.driver_rig import RNG, SMALL, Rig
from verif.soc.driver.test_driver_c import REFUSALS

SPECS = {
    "fp16": CoprocessorSpec(
        engine=SystolicOsSpec(m=1, n=8, b_width=4), group_scales="fp16", **SMALL
    ),
    "bf16": CoprocessorSpec(
        engine=CubeSpec(m=3, n=5, k=4), group_scales="bf16", **{**SMALL, "data_width": 32}
    ),
}


@pytest.fixture(params=["python", "c"])
def language(request: pytest.FixtureRequest) -> str:
    return str(request.param)


def drawn(spec: CoprocessorSpec, seed: int, m: int, n: int, k: int, group: int) -> dict[str, Any]:
    """Draw operands, powers and codes of scales."""
    rng, fmt, groups = RNG(seed), minifloat(spec.group_scales), -(-k // group)
    half = 1 << spec.b_bits - 1
    return {
        "a": rng.integers(-128, 128, (m, k)),
        "b": rng.integers(-half, half, (k, n)),
        "a_scales": rng.integers(-20, 20, (groups, m)),
        "b_scales": fmt.encode(rng.normal(0, 0.01, (groups, n))),
    }


def right(spec: CoprocessorSpec, of: dict[str, Any], group: int) -> np.ndarray:
    """Return what decoders compute."""
    half = 1 << 7
    weights = GroupedWeights(
        codes=of["b"] + half,
        bits=8,
        levels="uniform",
        group=group,
        scale_format=spec.group_scales,
        scales=of["b_scales"],
        zeros=np.full(of["b_scales"].shape, half),
    )
    sums = group_sums(of["a"], of["b"], group)
    return scale_groups(weights, sums, exponents=of["a_scales"])


@pytest.mark.parametrize("name", SPECS)
def test_groups_are_scaled_as_by_decoders(library: Any, language: str, name: str) -> None:
    """Of any sizes, the last group a part; bit by bit. Other products are as without."""
    spec = SPECS[name]
    device, rng = Rig(language, library, spec).open(), RNG(3)
    for seed in range(12):
        m, n, k = (int(rng.geometric(share)) for share in (0.2, 0.05, 0.02))
        group = spec.inside.k << int(rng.integers(0, 5))
        of = drawn(spec, seed, m, n, k, group)
        c = device.matmul(**of, group=group)
        assert c.dtype == np.float32
        assert np.array_equal(c.view(np.uint32), right(spec, of, group).view(np.uint32))
    sums = device.matmul(of["a"], of["b"])
    assert np.array_equal(sums, of["a"] @ of["b"])


def test_scales_can_be_floats(library: Any) -> None:
    spec = SPECS["fp16"]
    of = drawn(spec, 5, 2, 9, 40, 16)
    device = Rig("python", library, spec).open()
    floats = of | {"b_scales": of["b_scales"].astype(np.uint16).view(np.float16)}
    assert np.array_equal(device.matmul(**floats, group=16), device.matmul(**of, group=16))
    of["a_scales"][0, 1] = -128
    c = device.matmul(**of, group=16)
    assert np.isnan(c[1]).all()
    assert np.isfinite(c[0]).all()


def test_planners_choose_the_same_blocks(library: Any) -> None:
    """C's strides are whole beats; groups that do not fit, or are none, are refused."""
    for spec in SPECS.values():
        device, rng = Rig("c", library, spec).open(), RNG(7)
        assert isinstance(device, c_driver.CDevice)
        for _ in range(25):
            m, n, k = (int(2 ** rng.uniform(0, 8)) for _ in range(3))
            group = spec.inside.k << int(rng.integers(0, 5))
            job = c_driver.CJob()
            device.call("job_init", ctypes.byref(job), m, n, k, False)
            assert device.call("job_groups", ctypes.byref(job), group) == 0
            blocks = group_blocks(device.info.stores, None, (m, n, k), group, 32)
            assert (job.block_m, job.block_n, job.block_k, job.by_columns) == (
                blocks.m,
                blocks.n,
                blocks.k,
                blocks.by_columns,
            )
            assert 0 <= job.ldsa - m < spec.bytes
            assert 0 <= job.ldsb - 2 * n < spec.bytes
            assert job.ldsa % spec.bytes == job.ldsb % spec.bytes == 0
        for group in (0, 3 * spec.inside.k, spec.inside.k << 12):
            assert device.call("job_groups", ctypes.byref(job), group) == 13, group
        job.accumulate = True
        assert device.call("job_groups", ctypes.byref(job), spec.inside.k) == 10
    plain = Rig("c", library, replace(SPECS["fp16"], group_scales="none")).open()
    assert isinstance(plain, c_driver.CDevice)
    job = c_driver.CJob()
    plain.call("job_init", ctypes.byref(job), 2, 8, 64, False)
    assert plain.call("job_groups", ctypes.byref(job), 32) == 10


def grouped_job(n: int = 8, **given: Any) -> Job:
    """Return a job of two groups."""
    at = {"a": 1024, "b": 2048, "c": 4096, "a_scales": 5120, "b_scales": 6144}
    strides = {"lda": 64, "ldb": 8, "ldc": 64, "ldsa": 8, "ldsb": 64}
    blocks = {"block_m": 1, "block_n": 1, "block_k": 32}
    return Job(**({"m": 1, "n": n, "k": 64} | at | strides | blocks | given))


def test_c_driver_refuses_as_the_golden_model(library: Any) -> None:
    spec = SPECS["fp16"]
    device = Rig("c", library, spec).open()
    assert isinstance(device, c_driver.CDevice)
    high = 1 << spec.address_width
    changes: list[dict[str, Any]] = [
        {},
        {"block_k": 24},
        {"block_m": 0},
        {"block_m": 0, "block_n": 0, "block_k": 0},
        {"block_k": 1 << 12},
        {"accumulate": True},
        {"bias": 0},
        {"ldsa": 0},
        {"ldsb": 15},
        {"ldsb": 16},
        {"a_scales": high - 8},
        {"a_scales": high - 9},
        {"b_scales": high - 80},
        {"b_scales": high - 79},
        {"ldsa": 0, "ldsb": 0, "bias": 0},
    ]
    seen = set()
    for change in changes:
        job = grouped_job(**change)
        error = error_of(spec, MemoryJob(**vars(replace(job, requantisation=None))))
        seen.add(error)
        made = c_driver.CJob.of(job)
        assert device.call("check", ctypes.byref(made)) == REFUSALS[error], (change, error)
    assert seen == {Error.NONE, Error.MODE, Error.BLOCKS, Error.LEADING_DIMENSION, Error.WRAPS}
    how = Requantisation(multiplier=1, shift=0, low=-128, high=127)
    made = c_driver.CJob.of(grouped_job(requantisation=how))
    assert device.call("check", ctypes.byref(made)) == 10


@pytest.mark.parametrize(
    ("at", "overlaps"),
    [
        ({}, 1),
        ({"a_scales": 5120 + 8}, 0),
        ({"a_scales": 5120 + 7}, 1),
        ({"b_scales": 5120 - 79}, 0),
        ({"b_scales": 5120 - 80}, 1),
    ],
)
def test_jobs_overlap_unless_one_writes_scales(
    library: Any, at: dict[str, int], overlaps: int
) -> None:
    """C of a product ends where another one's powers, or scales, of its last group do."""
    spec = SPECS["fp16"]
    device = Rig("c", library, spec).open()
    assert isinstance(device, c_driver.CDevice)
    writer = grouped_job(c=5120 + 16, a_scales=0, b_scales=512)
    reader = grouped_job(**{"a_scales": 0, "b_scales": 512} | at)
    if "b_scales" in at:
        writer = replace(writer, c=5120)
    jobs = [replace(writer, n=8), reader]
    made = (c_driver.CJob * 2)(*map(device.c_job, jobs))
    place = ctypes.create_string_buffer(b"".join(map(descriptor, jobs)), 256)
    device.call("mark_alike", made, 2, place)
    python = descriptors(jobs, spec.sum_bytes)
    assert int.from_bytes(place.raw[124:128], "little") == overlaps
    assert int.from_bytes(python[124:128], "little") <= overlaps


def test_driver_refuses_what_no_job_has(library: Any) -> None:
    spec = SPECS["bf16"]
    rig = Rig("python", library, spec)
    device = rig.open()
    of, writes = drawn(spec, 9, 3, 9, 40, 16), rig.hardware.writes

    def refused(message: str, device: Coprocessor = device, group: int = 16, **more: Any) -> None:
        with pytest.raises(ValueError, match=message):
            device.matmul(**of | more, group=group)

    refused(r"group must be 4 codes along K times a power of two, not 12", group=12)
    refused(r"group must be 4 codes along K times a power of two, not 2", group=2)
    refused(r"a_scales must be given, a row for each group of 16 codes: \(3, 3\)", a_scales=None)
    refused(r"b_scales must be \(3, 9\), a row .* not \(2, 9\)", b_scales=of["b_scales"][:2])
    refused(r"a_scales must be -128\.\.127, not 128", a_scales=of["a_scales"] * 0 + 128)
    refused("bias must not be given where groups are scaled", bias=np.zeros(9, int))
    how = Requantisation(multiplier=1, shift=0)
    refused("requantisation must not be given where groups are scaled", requantisation=how)
    out = np.zeros((3, 9), np.int32)
    refused("accumulate must not be given where", accumulate=True, out=out)
    with pytest.raises(ValueError, match="blocks must have the 4 beats of a group, not 8"):
        group_blocks(device.info.stores, Blocks(1, 1, 8), (3, 9, 40), 16, 32)
    with pytest.raises(ValueError, match="blocks must fit into the stores"):
        group_blocks(device.info.stores, Blocks(99, 1, 4), (3, 9, 40), 16, 32)
    with pytest.raises(ValueError, match="group must be of beats that the stores hold, not of 64"):
        group_blocks(device.info.stores, None, (3, 9, 40), 256, 32)
    with pytest.raises(ValueError, match="group must be of beats that the stores hold, not of 0"):
        group_blocks(device.info.stores, None, (3, 9, 40), 2, 32)
    half = device.place(of["b_scales"], SCALE).first(8)
    refused(r"b_scales must be \(3, 9\)", b_scales=half)
    wide = device.place(of["a_scales"], replace(POWER, bits=16))
    refused(r"a_scales must be of Number\(bits=8", a_scales=wide)
    plain = Rig("python", library, replace(spec, group_scales="none"))
    refused("built without group_scales", plain.open())
    assert rig.hardware.writes == writes
    known = {**rig.hardware.constants, "more_features_group_scales": 3}
    with pytest.raises(CoprocessorError, match=r"more_features_group_scales must be 0\.\.2, not 3"):
        Info.read(known.__getitem__)
