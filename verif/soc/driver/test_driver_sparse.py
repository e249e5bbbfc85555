"""Drivers of devices that take B as bitmaps: what they pack, place and refuse."""

import numpy as np
import pytest
from scipy import sparse

from carrysave.driver import CoprocessorError, Info, JobError
from carrysave.driver.blocking import Blocks
from verif.soc.driver.driver_rig import RNG, SPECS, Rig


@pytest.mark.parametrize("share", [0, 0.5, 0.9, 1])
def test_packed_products_are_those_of_scipy(share: float) -> None:
    """Of blocks that are raw, bitmaps and zeros; what is read is an image of fewer bytes."""
    rng = RNG(3)
    rig = Rig("python", None, SPECS["sparse"])
    device = rig.open()
    for m, k, n in ((3, 70, 41), (9, 16, 8), (1, 1, 1), (20, 33, 100)):
        a = rng.integers(-128, 128, (m, k))
        b = sparse.random(k, n, 1 - share, "csr", rng=rng)
        b.data[:] = rng.choice([*range(-128, 0), *range(1, 128)], b.nnz)
        dense = b.toarray().astype(np.int64)
        with device.pack(dense, m) as packed:
            assert np.array_equal(device.matmul(a, packed), a @ b.astype(np.int64))
            job = device.product(device.place(a, device.info.a), packed).job
            assert job.packed
            assert job.ldb == packed.end - packed.address
            if share == 0.5 and n > 40:
                assert job.ldb < 0.85 * dense.size
            if share == 1:
                assert job.ldb % 4 == 0
                assert not any(packed.read_bytes()[0][job.ldb :])


def test_packed_matrices_that_do_not_fit_are_refused() -> None:
    rng = RNG(4)
    device = Rig("python", None, SPECS["sparse"]).open()
    assert "sparse" in device.info.features
    b = rng.integers(-128, 128, (40, 24))
    packed, a = device.pack(b, 8), device.place(rng.integers(-128, 128, (8, 40)), device.info.a)
    with pytest.raises(ValueError, match="blocks must be as b was packed"):
        device.product(a, packed, blocks=Blocks(1, 1, 4))
    with pytest.raises(ValueError, match="a packed matrix must be read by a job"):
        packed.read()
    with pytest.raises(ValueError, match="b must have 41 rows"):
        device.product(device.place(np.zeros((8, 41), np.int64), device.info.a), packed)
    with pytest.raises(ValueError, match="b must be"):
        device.pack(b + 1000, 8)
    plain = Rig("python", None, SPECS["nf4"]).open()
    with pytest.raises(ValueError, match="built without sparse"):
        plain.pack(b, 8)


def test_images_that_are_none_end_a_job() -> None:
    """By a code of their own, and its text."""
    rng = RNG(5)
    device = Rig("python", None, SPECS["sparse"]).open()
    a = rng.integers(-128, 128, (8, 40))
    with device.pack(rng.integers(-128, 128, (40, 24)), 8) as packed:
        image = packed.read_bytes().copy()
        image[0, :4] = 255
        packed.write_bytes(image)
        with pytest.raises(JobError, match="bad offset of a packed block: The table") as error:
            device.matmul(a, packed)
        assert error.value.code == 23


def test_more_features_are_those_of_the_build() -> None:
    """They are read where FEATURES says so alone."""
    rig = Rig("python", None, SPECS["sparse"])
    known = dict(rig.hardware.constants)
    assert "sparse" in Info.read(known.__getitem__).features
    known["features_more"] = 0
    del known["more_features_sparse"]
    assert "sparse" not in Info.read(known.__getitem__).features
    assert issubclass(JobError, RuntimeError)
    assert issubclass(CoprocessorError, RuntimeError)
