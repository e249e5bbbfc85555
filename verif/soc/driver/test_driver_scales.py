"""Drivers of engines whose blocks of codes have scales: products, refusals, blocks."""

import ctypes
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from carrysave.driver import Coprocessor, Mode, Number
from carrysave.driver_modes import modes
from carrysave.sim.cocotb.device_memory import Pool
from golden.formats.block import BlockFormat
from golden.formats.names import parse
from golden.npe.npe import NpeSpec
from golden.soc.blocking import plan
from golden.soc.coprocessor import CoprocessorSpec, Error, Job, error_of
from verif.soc.benches.format_products import check_formats
from verif.soc.driver import c_driver
from verif.soc.driver.driver_rig import BASE, RNG
from verif.soc.driver.software_device import SoftwareDevice
from verif.soc.driver.test_driver_c import REFUSALS

SMALL: dict[str, Any] = {
    "data_width": 64,
    "address_width": 48,
    "sums": 64,
    "a_bytes": 512,
    "b_bytes": 512,
    "bias": False,
    "requantise": False,
}
LANES: dict[str, Any] = {"m": 2, "n": 2, "result": "fp32"}
SPECS = {
    "mx": CoprocessorSpec(
        engine=NpeSpec(formats="int8,e2m1,e4m3", scale="e8m0", block=32, **LANES), **SMALL
    ),
    "nvfp4": CoprocessorSpec(
        engine=NpeSpec(formats="e2m1", scale="e4m3", block=16, **LANES), **SMALL
    ),
    "no ring": CoprocessorSpec(
        engine=NpeSpec(formats="e2m1,e4m3", scale="e8m0", block=4, **{**LANES, "n": 6}),
        **{**SMALL, "data_width": 32, "address_width": 40},
        ring=False,
        counters=False,
    ),
}
FINER = CoprocessorSpec(engine=NpeSpec(formats="int8", scale="e5m3", block=32, **LANES), **SMALL)


class Rig:
    """A driver on a co-processor in software."""

    def __init__(self, language: str, library: Any, spec: CoprocessorSpec) -> None:
        self.modes = modes(spec)
        memory = RNG(1).integers(0, 256, 1 << 20, dtype=np.uint8)
        base = BASE % (1 << spec.address_width)
        self.hardware = SoftwareDevice(spec, memory, base)
        self.pool = Pool(memory, RNG(2), base, manual=language == "c")
        arguments = self.hardware, self.pool
        self.device = (
            Coprocessor(*arguments)
            if language == "python"
            else c_driver.CDevice(library, *arguments, modes=self.modes.values())
        )

    @property
    def c(self) -> c_driver.CDevice:
        """The C driver."""
        assert isinstance(self.device, c_driver.CDevice)
        return self.device


def test_spec_refuses_stores_without_room_for_a_block() -> None:
    """Of any of its formats: else there would be jobs that no blocks fit."""
    lanes = NpeSpec(formats="int8,e2m1", scale="e8m0", block=32, **LANES)
    message = "a_bytes and b_bytes must hold a block of 32 codes, and a row of a tile must be"
    for changes in ({"a_bytes": 64, "b_bytes": 64}, {"engine": replace(lanes, n=1)}):
        with pytest.raises(ValueError, match=message):
            CoprocessorSpec(**{**SMALL, "engine": lanes, "a_bytes": 256, **changes})


@pytest.mark.sample(3)
@pytest.mark.parametrize("language", ["python", "c"])
@pytest.mark.parametrize("name", SPECS)
def test_driver_multiplies_scaled_blocks(library: Any, language: str, name: str) -> None:
    """Bit by bit as numpy in float32, whose operands ml_dtypes decodes."""
    rig = Rig(language, library, SPECS[name])
    check_formats(rig.device, rig.modes, RNG(3), 25)
    assert len(rig.pool.live) <= 1, "more than the ring's descriptors"


@pytest.mark.parametrize(
    ("name", "fmt"),
    [("mx", "mx_e4m3"), ("mx", "mx_e2m1"), ("nvfp4", "nvfp4"), ("ue5m3", "ue5m3_int8")],
)
def test_driver_takes_what_the_encoders_of_formats_make(library: Any, name: str, fmt: str) -> None:
    rig = Rig("python", library, SPECS.get(name, FINER))
    blocks = parse(fmt)
    assert isinstance(blocks, BlockFormat)
    x, y = RNG(4).normal(size=(5, 70)), RNG(5).normal(size=(70, 6))
    a, b = blocks.quantise(x), blocks.quantise(y, axis=0)
    mode = rig.modes[blocks.element.name, blocks.element.name]
    c = rig.device.matmul(a.codes, b.codes, a_scales=a.scales, b_scales=b.scales, mode=mode)
    due = blocks.to_float(a) @ blocks.to_float(b, axis=0)
    assert np.allclose(c * (a.tensor_scale * b.tensor_scale), due, rtol=1e-5, atol=1e-5)
    # A scale that is no number makes a row none.
    a.scales[3, 1] = 127 if name == "nvfp4" else 255
    c = rig.device.matmul(a.codes, b.codes, a_scales=a.scales, b_scales=b.scales, mode=mode)
    assert np.isnan(c[3]).all()
    assert np.isfinite(np.delete(c, 3, axis=0)).all()


def test_driver_refuses_other_scales(library: Any) -> None:
    rig = Rig("python", library, SPECS["mx"])
    device, mode = rig.device, rig.modes["e4m3", "e2m1"]
    a, b = np.ones((3, 70), np.uint8), np.ones((70, 4), np.uint8)
    sa, sb = np.full((3, 3), 127), np.full((3, 4), 127)
    writes = rig.hardware.writes

    def refused(message: str, used: Mode | None = mode, **more: Any) -> None:
        with pytest.raises(ValueError, match=message):
            device.matmul(a, b, mode=used, **{"a_scales": sa, "b_scales": sb, **more})
        assert (rig.hardware.writes, len(rig.pool.live)) == (writes, 0)

    refused(r"a_scales must be given, one for each block of 32 codes: \(3, 3\)", a_scales=None)
    refused(r"b_scales must be given, one for each block of 32 codes: \(3, 4\)", b_scales=None)
    refused(
        r"a_scales must be \(3, 3\), one for each block of 32 codes, not \(3, 2\)",
        a_scales=sa[:, :2],
    )
    refused(
        r"b_scales must be \(3, 4\), one for each block of 32 codes, not \(4, 3\)", b_scales=sb.T
    )
    refused(r"b_scales must be 0..255, not 256", b_scales=sb * 0 + 256)
    refused("mode must be given to an engine with formats", used=None)
    refused("mode must have blocks with scales", used=replace(mode, block=0))
    refused("built without accumulate", out=np.zeros((3, 4), np.float32), accumulate=True)
    with pytest.raises(TypeError, match="out must hold float32, not int64"):
        device.matmul(a, b, mode=mode, a_scales=sa, b_scales=sb, out=np.zeros((3, 4), int))
    with pytest.raises(TypeError, match="values must be of float32, not of float64"):
        device.place(np.ones((2, 2)), device.info.sums)
    assert mode.scales is not None
    with pytest.raises(ValueError, match=r"a_scales must be of Number\(bits=8"):
        device.product(
            device.place(a, mode.a),
            device.place(mode.words(b), mode.b),
            mode=mode,
            a_scales=device.place(sa - 127, Number.of(8, 8, True)),
            b_scales=device.place(sb, mode.scales),
        )
    nv = Rig("python", library, SPECS["nvfp4"])
    with pytest.raises(ValueError, match="mode must be given to an engine with scales"):
        nv.device.matmul(a, b)
    with pytest.raises(ValueError, match=r"a_scales must be 0..127, not 128"):
        nv.device.matmul(a, b, mode=nv.modes["e2m1", "e2m1"], a_scales=np.full((3, 5), 128))
    plain = Rig(
        "python",
        library,
        CoprocessorSpec(**{**SMALL, "sums": 4096}, engine=NpeSpec(formats="int8,e2m1", m=2, n=2)),
    )
    for own in (plain.modes["int8", "e2m1"], mode):
        with pytest.raises(ValueError, match="this co-processor is built without scales; it has"):
            plain.device.matmul(a, b % 8, mode=own, a_scales=sa, b_scales=sb)


def c_job(rig: Rig, mode: Mode, m: int, n: int, k: int) -> c_driver.CJob:
    made = c_driver.CJob()
    given = c_driver.CMode.of(mode)
    rig.c.call("job_init_mode", ctypes.byref(made), ctypes.byref(given), m, n, k, False)
    return made


@pytest.mark.parametrize("name", SPECS)
def test_c_driver_plans_scaled_blocks_as_the_golden_planner(library: Any, name: str) -> None:
    spec, rig, rng = SPECS[name], Rig("c", library, SPECS[name]), RNG(6)
    for mode in rig.modes.values():
        for _ in range(12):
            m, n, k = (int(2 ** rng.uniform(0, 8)) for _ in range(3))
            job = c_job(rig, mode, m, n, k)
            rig.c.call("plan", ctypes.byref(job))
            kind = spec.inside.modes[mode.a_format, mode.b_format]
            words = -(-k // mode.codes)
            blocks = plan(spec.stores(kind), m, n, words, 32)
            assert blocks == plan(mode.stores(rig.device.info.stores), m, n, words, 32)
            assert (job.block_m, job.block_n, job.block_k, job.by_columns) == (
                1,
                1,
                blocks.k,
                blocks.by_columns,
            )
            assert 0 <= job.ldsa - -(-k // mode.block) < spec.bytes
            assert 0 <= job.ldsb - n < spec.bytes
            assert job.ldsa % spec.bytes == job.ldsb % spec.bytes == 0
            assert rig.c.call("check", ctypes.byref(job)) == 0


@pytest.mark.parametrize("name", SPECS)
def test_c_driver_refuses_scales_as_the_golden_model(library: Any, name: str) -> None:
    """At the very limits of rows, addresses and blocks."""
    spec, rig, rng, seen = SPECS[name], Rig("c", library, SPECS[name]), RNG(7), set()
    high = 1 << spec.address_width
    for _ in range(400):
        mode = list(rig.modes.values())[rng.integers(len(rig.modes))]
        m, n, k = (int(rng.integers(1, 70)) for _ in range(3))
        blocks, words = -(-k // mode.block), -(-k // mode.codes)
        job = Job(
            a=0,
            b=0,
            c=0,
            m=m,
            n=n,
            k=k,
            lda=-(-words * mode.codes * mode.a.bits // 8),
            ldb=-(-n * mode.codes * mode.b.bits // 8),
            ldc=4 * n,
            a_format=mode.a_format,
            b_format=mode.b_format,
            ldsa=blocks,
            ldsb=n,
        )
        edge = int(rng.integers(-1, 2))
        options: list[dict[str, Any]] = [
            {"a_scales": high - m * blocks + edge},
            {"b_scales": high - n * blocks + edge},
            {"ldsa": blocks + edge},
            {"ldsb": n + edge},
            {"block_m": 1, "block_n": 1, "block_k": mode.block // mode.codes + edge},
            {"block_m": 1, "block_n": 1 + edge % 2, "block_k": mode.block // mode.codes},
        ]
        job = replace(job, **options[int(rng.integers(len(options)))])
        error = error_of(spec, job)
        seen.add(error)
        made = c_driver.CJob.of(job, c_driver.CMode.of(mode))  # type: ignore[arg-type]
        assert rig.c.call("check", ctypes.byref(made)) == REFUSALS[error], (job, error)
    assert seen == {Error.NONE, Error.LEADING_DIMENSION, Error.WRAPS, Error.BLOCKS}


def test_c_driver_wants_scales_of_the_build(library: Any) -> None:
    rig = Rig("c", library, SPECS["mx"])
    mode = rig.modes["int8", "int8"]
    for other in (replace(mode, block=0), replace(mode, codes=0)):
        job = c_job(rig, mode, 1, 1, 1)
        job.mode = c_driver.CMode.of(other)
        assert rig.c.call("check", ctypes.byref(job)) == REFUSALS[Error.MODE]
    plain = Rig("c", library, CoprocessorSpec())
    job = c_job(plain, replace(plain.device.info.mode, block=32), 1, 1, 1)
    assert plain.c.call("check", ctypes.byref(job)) == REFUSALS[Error.MODE]
