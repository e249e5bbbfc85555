"""The greatest magnitude of a product's numbers, as the Python driver reads it."""

from dataclasses import replace

import numpy as np
import pytest

from verif.soc.driver.driver_rig import SPECS, Rig

SPEC = replace(SPECS["int8"], amax=True)


def test_amax_is_that_of_the_last_product() -> None:
    device, rng = Rig("python", None, SPEC).open(), np.random.default_rng(1)
    assert "amax" in device.info.features
    for _ in range(3):
        a, b = rng.integers(-128, 128, (7, 20)), rng.integers(-128, 128, (20, 9))
        sums = device.matmul(a, b)
        assert device.amax() == abs(sums).max() == abs(a @ b).max()


def test_devices_without_it_refuse() -> None:
    device = Rig("python", None, SPECS["sparse"]).open()
    with pytest.raises(ValueError, match="built without amax"):
        device.amax()
