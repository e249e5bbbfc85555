"""Codes that are looked up in tables: both drivers against the golden model."""

import ctypes
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from carrysave.driver import Maps, Number, Requantisation, descriptor
from carrysave.driver.job import Job as DriverJob
from golden.npe.vector import VectorUnitSpec
from golden.soc.coprocessor import CoprocessorSpec, Error, Job, error_of
from golden.tpe.systolic_os import SystolicOsSpec
from verif.soc.driver import c_driver
from verif.soc.driver.driver_rig import RNG, Rig

SPEC = CoprocessorSpec(
    engine=SystolicOsSpec(m=4, n=4), data_width=64, sums=256, a_bytes=512, b_bytes=512, taps=3,
    table=True, address_width=44, vector=VectorUnitSpec(operations="scale", lanes=4, length=64),
)  # fmt: skip
TABLE = RNG(1).permutation(256).astype(np.uint8)
BYTE = Number.of(8, 8, True)
ALL = np.arange(-128, 128).reshape(64, 4)
"""Every code."""
SAME = Requantisation(multiplier=1 << 30, shift=30)


@pytest.mark.parametrize("language", ["python", "c"])
def test_codes_are_looked_up(language: str, library: Any) -> None:
    """Every code, of a product of one scale and of one for each column, and of a job on maps."""
    device = Rig(language, library, SPEC).open()
    right = TABLE.view(np.int8)[ALL & 255]
    how = replace(SAME, table=TABLE.tobytes())
    each = replace(how, multiplier=np.full(4, 1 << 29), shift=np.full(4, 29))
    a, ones = device.place(ALL, BYTE), device.place(np.eye(4, dtype=np.int64), BYTE)
    for scale in (how, each):
        work = device.product(a, ones, requantisation=scale)
        device.run([work])
        assert np.array_equal(work.c.read(), right)
    none = device.place(np.zeros((1, 4), np.int64), BYTE)
    rows = device.vector("map_add", a, b=none, requantisation=how, maps=Maps())
    device.run([rows])
    assert np.array_equal(rows.c.read(), right)


def test_driver_refuses_tables(library: Any) -> None:
    device = Rig("python", library, SPEC).open()
    a, ones = device.place(ALL, BYTE), device.place(np.eye(4, dtype=np.int64), BYTE)
    how = replace(SAME, table=bytes(255))
    with pytest.raises(ValueError, match="table must be of 256 codes, not 255"):
        device.product(a, ones, requantisation=how)
    how = replace(SAME, table=TABLE.tobytes())
    with pytest.raises(ValueError, match="table must be None for scale; only map_add,"):
        device.vector("scale", a, b=device.empty((1, 1), BYTE), requantisation=how)
    without = Rig("python", library, replace(SPEC, table=False)).open()
    with pytest.raises(ValueError, match="built without table; it has"):
        without.product(without.place(ALL, BYTE), without.place(ALL[:4], BYTE), requantisation=how)


def test_what_is_wrong_with_tables(library: Any) -> None:
    """Golden and the C driver say the same, and describe jobs alike."""
    high = 1 << SPEC.address_width
    how: Any = Requantisation(multiplier=1 << 30, shift=30, low=-128, high=127)
    product = DriverJob(
        a=0, b=64, c=128, m=4, n=4, k=4, lda=4, ldb=4, ldc=4, records=256, requantisation=how,
        table=True,
    )  # fmt: skip
    on_maps = replace(product, vector="map_add", k=0, factors=(1, 1))
    for job, records in ((product, 32), (on_maps, 0)):
        end = high - 256 - records
        for error, changes in (
            (Error.NONE, {}),
            (Error.NONE, {"records": end}),
            (Error.WRAPS, {"records": end + 1}),
            (Error.MODE, {"records": None}),
            (Error.MODE, {"vector": "scale"}),
            (Error.MODE, {"requantisation": None}),
        ):
            _agree(library, SPEC, replace(job, **changes), error)
        _agree(library, replace(SPEC, table=False), job, Error.MODE)
    wide = replace(SPEC, code_bytes=2)
    _agree(library, wide, replace(product, c_bytes=2, ldc=8), Error.MODE)
    _agree(library, wide, replace(product, c_bytes=1), Error.NONE)


def _agree(library: Any, spec: CoprocessorSpec, job: DriverJob, error: Error) -> None:
    """Check what golden and the C driver say of a job, and that both drivers write the same."""
    values = {name: getattr(job, name) for name in vars(job)}
    assert error_of(spec, Job(**values)) == error, job
    device, made = Rig("c", library, spec).open(), c_driver.CJob.of(job)
    assert isinstance(device, c_driver.CDevice)
    status = {Error.NONE: 0, Error.MODE: 10, Error.WRAPS: 12}[error]
    if job.records is None:
        # The C driver has an address always.
        assert device.call("check", ctypes.byref(made)) == (0 if job.vector else status)
        return
    assert device.call("check", ctypes.byref(made)) == status, job
    image = (ctypes.c_uint8 * 128)()
    library.carrysave_describe(ctypes.byref(made), image)
    assert bytes(image) == descriptor(job)
