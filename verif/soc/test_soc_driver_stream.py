"""The driver for streams: on the simulated block, and its bytes beside the golden model's rows."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from carrysave import paths, simulate
from carrysave.driver import Coprocessor, CoprocessorStream
from carrysave.driver.blocking import Blocks, order
from carrysave.driver.stream import gather, scatter
from golden.soc.coprocessor_stream import CoprocessorStreamSpec, coprocessor_stream, rows
from golden.soc.job import Error, Job, error_of, matrices, mode_of
from hw.catalog import Design
from hw.emit import Emission
from verif.cases import case_name, long
from verif.soc import jobs
from verif.soc.device_memory import Pool
from verif.soc.software_device import SoftwareDevice
from verif.soc.test_coprocessor_rtl import CASES, LONG_STREAMS, SMALL, STREAMS

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
    with pytest.raises(ValueError, match="as jobs to an engine with stream"):
        Coprocessor(streams, pool).matmul(ones, ones)
    device = CoprocessorStream(streams, pool, *channels)
    with pytest.raises(ValueError, match="built without accumulate"):
        device.matmul(ones, ones, out=ones.astype(np.int32), accumulate=True)


# Codes of half a byte, a bus of 32 bits, tiles that are no powers of two, sums alone.
MORE: list[dict[str, Any]] = [CASES[1], {}]


@pytest.mark.parametrize("parameters", [*STREAMS, *long(MORE)], ids=case_name)
def test_stream_driver_rtl(parameters: dict[str, Any], tmp_path: Path) -> None:
    """Matrices to bytes to the simulated block to C."""
    design = Design("coprocessor_stream", parameters)
    verilog = paths.write(tmp_path / f"{design.module}.v", Emission(design).verilog)
    result = simulate.run(
        simulate.build([verilog], design.module),
        "verif.soc.tb_driver_stream",
        parameters=simulate.bench_parameters(design),
        seed=1,
        directory=tmp_path / "run",
    )
    assert result.ok, f"{result.failed}; see {result.log}"
    assert result.tests == 5
