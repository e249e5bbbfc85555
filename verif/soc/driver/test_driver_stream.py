"""The driver for streams: on the simulated block, and its bytes beside the golden model's rows."""

from ctypes import byref
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from carrysave.driver import Coprocessor, CoprocessorError, CoprocessorStream, JobError, JobTimeout
from carrysave.driver.blocking import Blocks, order
from carrysave.driver.stream import gather, scatter
from carrysave.driver_modes import modes
from carrysave.sim import runner
from carrysave.sim.cocotb.device_memory import Pool
from carrysave.sim.parameters import describe
from carrysave.sim.verilator import build
from golden.soc.coprocessor_stream import CoprocessorStreamSpec, coprocessor_stream, rows
from golden.soc.job import Error, Job
from golden.soc.job_check import error_of, matrices, mode_of
from hw.catalog import Design
from verif.soc.benches import jobs
from verif.soc.benches.format_products import check_formats
from verif.soc.driver import c_driver
from verif.soc.driver.c_driver_stream import CStream, stream_sources
from verif.soc.driver.driver_checks import check_products, draw, expected
from verif.soc.driver.software_device import SoftwareDevice
from verif.soc.driver.software_stream import Channel, SoftwareStream
from verif.soc.test_coprocessor_rtl import CASES, LONG_STREAMS, SMALL, STREAMS
from verif.support.cases import case_name, long

FORMATS: list[dict[str, Any]] = [
    SMALL | {"engine": "npe(m=2,n=2,formats=int8,int4,posit4e1,e4m3,result=e2m1)"}
]


def stream(memory: np.ndarray, parts: list[Any], beat: int) -> bytes:
    """Read parts of rows from memory, zeros behind each up to a whole beat."""
    found = b""
    for part in parts:
        found += memory[part.address : part.address + part.bytes].tobytes()
        found += bytes(-len(found) % beat)
    return found


def check_job(spec: CoprocessorStreamSpec, memory: np.ndarray, job: Job) -> None:
    """Make the streams of a job of the rows of its matrices, and C of its stream."""
    found, mode = matrices(spec, job), mode_of(spec, job)
    assert mode is not None
    sizes = job.block_m, job.block_n, job.block_k
    blocks = Blocks(*(sizes if all(sizes) else spec.default_blocks(mode)), job.by_columns)
    bits = {name: matrix.bits for name, matrix in found.items()}
    parts = list(order(spec.stores(mode), blocks, bits, job.m, job.n, found["a"].columns))
    given = {name: memory[matrix.places()] for name, matrix in found.items()}
    wanted = list(rows(spec, job))
    for names in (("a", "a_scales"), ("b", "b_scales", "bias", "records")):
        bytes_of = gather((part for part in parts if part.name in names), given, spec.bytes)
        right = [part for part in wanted if part.name in names]
        assert bytes_of == stream(memory, right, spec.bytes)
    after = memory.copy()
    assert coprocessor_stream(spec, after, job) == Error.NONE
    leaves = stream(after, [part for part in wanted if part.name == "c"], spec.bytes)
    taken = np.zeros_like(given["c"])
    of_c = (part for part in parts if part.name == "c")
    scatter(of_c, taken, np.frombuffer(leaves, np.uint8), spec.bytes)
    assert np.array_equal(taken, after[found["c"].places()])


@pytest.mark.parametrize("parameters", [*STREAMS, *LONG_STREAMS, *FORMATS], ids=case_name)
def test_streams_are_rows_in_order(
    parameters: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of any engine: formats, blocks with scales, records."""
    rng = np.random.default_rng(1)
    monkeypatch.setattr(jobs, "generator", lambda *more: np.random.default_rng(more))
    spec = Design("coprocessor_stream", parameters).spec
    assert isinstance(spec, CoprocessorStreamSpec)
    count = 0
    while count < 40:
        job = jobs.any_job(spec, rng, 0.06)
        memory = rng.integers(0, 256, jobs.SIZE, dtype=np.uint8)
        jobs.fill_records(memory, job)
        if not error_of(spec, job):
            check_job(spec, memory, job)
            count += 1


SUMS = {"bias": False, "requantise": False}
MODES: dict[str, dict[str, Any]] = {
    "formats": SMALL | {"engine": "npe(m=2,n=3,formats=int8,e2m1,posit4e1,e4m3)"} | SUMS,
    "mx": LONG_STREAMS[1],
    "nvfp4": SMALL
    | SUMS
    | {
        "engine": "npe(m=3,n=2,formats=e2m1,scale=e4m3,block=16,result=fp32)",
        "data_width": 32,
    },
}


class Rig:
    """A driver on a co-processor between streams, in software."""

    def __init__(self, language: str, library: Any, parameters: dict[str, Any]) -> None:
        spec = Design("coprocessor_stream", parameters).spec
        assert isinstance(spec, CoprocessorStreamSpec)
        self.spec = spec
        self.modes = modes(spec)
        self.hardware = SoftwareStream(spec)
        memory = np.zeros(1 << 16, np.uint8)
        self.pool = Pool(memory, np.random.default_rng(1))
        self.channels = {side: Channel(self.hardware, memory, side) for side in "abc"}
        more: dict[str, Any] = {**self.channels, "clock": self.clock, "timeout": 3.0}
        self.now = 0.0
        self.device: CoprocessorStream
        if language == "c":
            known = self.modes.values()
            self.device = CStream(library, self.hardware, self.pool, modes=known, **more)
        else:
            self.device = CoprocessorStream(self.hardware, self.pool, **more)

    def clock(self) -> float:
        self.now += 0.001
        return self.now


@pytest.fixture(params=["python", "c"])
def rig(request: pytest.FixtureRequest, library: Any) -> Any:
    return partial(Rig, request.param, library)


@pytest.mark.parametrize("parameters", [*STREAMS, LONG_STREAMS[0], CASES[1]], ids=case_name)
def test_stream_driver_multiplies(rig: Any, parameters: dict[str, Any]) -> None:
    made = rig(parameters)
    check_products(made.device, made.spec, np.random.default_rng(2), 20)
    assert not made.pool.live


@pytest.mark.parametrize("name", MODES)
def test_stream_driver_multiplies_in_each_mode(rig: Any, name: str) -> None:
    """Words of codes, and scales, where the engine takes them."""
    made = rig(MODES[name])
    check_formats(made.device, made.modes, np.random.default_rng(3), 3 * len(made.modes))
    assert not made.pool.live
    feature = "scales" if name == "nvfp4" else "formats"
    ones = np.ones((2, 2), np.int8)
    with pytest.raises(ValueError, match=f"mode must be given to an engine with {feature}"):
        made.device.matmul(ones, ones)


@pytest.mark.parametrize("block", [(1, 1, 2), (2, 1, 5), (1, 3, 4), (2, 2, 16)])
@pytest.mark.parametrize("by_columns", [False, True])
def test_stream_driver_sends_any_blocks(
    rig: Any, block: tuple[int, int, int], by_columns: bool
) -> None:
    """Also those that no planner would choose; operands that stay are sent once."""
    made, rng = rig(STREAMS[0]), np.random.default_rng(4)
    info = made.device.info
    a, b = draw(rng, info.a, 9, 14), draw(rng, info.b, 14, 13)
    left, right = made.device.place(a, info.a), made.device.place(b, info.b)
    product = made.device.product(left, right, blocks=Blocks(*block, by_columns))
    made.device.run([product])
    assert np.array_equal(product.c.read(), expected(made.spec, a, b))


def test_stream_driver_tells_what_failed_and_goes_on(rig: Any) -> None:
    made, rng = rig(STREAMS[0]), np.random.default_rng(5)
    device, hardware, info = made.device, made.hardware, made.device.info
    a, b = draw(rng, info.a, 4, 6), draw(rng, info.b, 6, 2)
    product = device.product(device.place(a, info.a), device.place(b, info.b))
    start = hardware.start

    def second() -> None:
        hardware.fault = (16, 0, 0) if len(hardware.starts) == 1 else None
        start()

    hardware.start = second
    with pytest.raises(JobError, match="job 1: read error"):
        device.run([product, product, product])
    assert hardware.starts == [0, 0]
    hardware.start, hardware.fault = start, None
    assert not any(hardware.sent.values()), "channels were not restarted"
    device.run([product])
    assert np.array_equal(product.c.read(), expected(made.spec, a, b))
    hardware.hangs = True
    before = made.now
    with pytest.raises(JobTimeout, match=r"[01] of 1 jobs ended within 0.5 s"):
        device.run([product], timeout=0.5)
    assert 0.5 < made.now - before < 0.6
    hardware.hangs = False
    assert not made.pool.live
    assert not hardware.came
    assert np.array_equal(device.matmul(a, b), expected(made.spec, a, b))
    writes = hardware.writes
    with pytest.raises((ValueError, JobError, CoprocessorError), match="one or more, not none"):
        device.run([])
    assert hardware.writes == writes


def test_c_stream_driver_starts_what_it_can_stream_alone(library: Any) -> None:
    """Not without blocks, not while something runs, not what is no co-processor between streams."""
    made = Rig("c", library, STREAMS[0])
    device = made.device
    assert isinstance(device, CStream)
    job = c_driver.CJob(m=3, n=4, k=5, lda=5, ldb=4, ldc=16)

    def status() -> int:
        return device.call("stream_run", byref(job), None, None, 0, None, None)

    assert [device.stream_bytes_of(job, side) for side in range(3)] == [0, 0, 0]
    assert status() == 13
    job.m = 0
    assert status() == 8
    job.m, job.block_m, job.block_n, job.block_k = 3, 1, 1, 8
    made.hardware.hangs = True
    made.hardware.write(0, 1)
    assert status() == 3
    job.lda = 4
    assert status() == 11
    memory = np.zeros(1 << 10, np.uint8)
    plain = SoftwareDevice(Design("coprocessor", CASES[0]).spec, memory)
    other = c_driver.CDevice(library, plain, Pool(memory, np.random.default_rng(1)))
    job.lda = 5
    assert other.call("stream_run", byref(job), None, None, 0, None, None) == 10


def test_stream_driver_refuses_what_has_no_streams() -> None:
    """And the driver for memory, what has some."""

    class Idle:
        def start(self) -> None: ...

        def stop(self) -> None: ...

        def transfer(self, array: Any) -> None: ...

        def wait(self) -> None: ...

    channels = Idle(), Idle(), Idle()
    memory = np.zeros(1 << 12, np.uint8)
    pool = Pool(memory, np.random.default_rng(1))
    plain = SoftwareDevice(Design("coprocessor", CASES[0]).spec, memory)
    with pytest.raises(ValueError, match="built without stream; it has"):
        CoprocessorStream(plain, pool, *channels)
    streams = SoftwareDevice(Design("coprocessor_stream", STREAMS[0]).spec, memory)
    ones = np.ones((2, 2), np.int8)
    with pytest.raises(ValueError, match="made by CoprocessorStream between streams"):
        Coprocessor(streams, pool).matmul(ones, ones)
    device = CoprocessorStream(streams, pool, *channels)
    with pytest.raises(ValueError, match="built without accumulate"):
        device.matmul(ones, ones, out=ones.astype(np.int32), accumulate=True)


# Codes of half a byte, a bus of 32 bits, tiles that are no powers of two, sums alone; formats.
MORE: list[dict[str, Any]] = [CASES[1], {}, *MODES.values()]


@pytest.mark.parametrize("parameters", long([*STREAMS, *MORE]), ids=case_name)
def test_stream_driver_rtl(parameters: dict[str, Any], tmp_path: Path) -> None:
    """Matrices to bytes to the simulated block to C."""
    folder = tmp_path / "driver"
    folder.mkdir()
    library = c_driver.compile_driver(folder, stream_sources(folder))
    design = Design("coprocessor_stream", parameters)
    result = runner.run(
        build(runner.sources_of(design, tmp_path, rules=True), design.module),
        "verif.soc.benches.tb_driver_stream",
        parameters={**describe(design), "library": str(library)},
        seed=1,
        directory=tmp_path / "run",
    )
    assert result.ok, f"{result.failed}; see {result.log}"
    assert result.tests == 10
