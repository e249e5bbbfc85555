"""Drivers on devices whose B is of codes of a table: what they read, place and refuse."""

from dataclasses import replace

import numpy as np
import pytest

from carrysave.driver import CoprocessorError, Info
from golden.lut.expander import NF4
from verif.soc.driver.driver_rig import RNG, SPECS, Rig


@pytest.mark.parametrize(
    ("fields", "says"),
    [
        ({"features_codebook": 8}, r"features_codebook must be 0\.\.7, not 8"),
        ({"features_codebook": 6}, "b_bits must be 64 with masks_1_4, not 4"),
        ({"features_codebook": 7, "b_bits": 64}, "tile_k must be a multiple of 12 with masks_2_4"),
        ({"features_codebook": 7, "numbers_b_width": 9}, r"numbers_b_width must be 1\.\.8, not 9"),
        ({"features_trits": 1}, r"features_codebook must be 0\.\.0, not 5"),
        ({"b_bits": 8}, "b_bits must be 4 with job16, not 8"),
        ({"features_codebook": 4, "b_bits": 64}, "tile_k must be a multiple of 21 with job8"),
        (
            {"features_codebook": 1, "features_more": 1, "more_features_mirrored": 1},
            "more_features_mirrored must be 0, not 1, with nf4",
        ),
    ],
)
def test_driver_refuses_devices_that_no_build_is(fields: dict[str, int], says: str) -> None:
    rig = Rig("python", None, SPECS["table of 16"])
    known = {**rig.hardware.constants, **fields}
    with pytest.raises(CoprocessorError, match=says):
        Info.read(known.__getitem__)


def test_driver_refuses_numbers_of_no_table() -> None:
    """A job's table is of the matrix itself, or of the mode."""
    rng = RNG(2)
    a = rng.integers(-128, 128, (3, 40))
    device = Rig("python", None, SPECS["table of 16"]).open()
    with pytest.raises(ValueError, match=r"numbers must be of 16 or fewer, not of \d\d"):
        device.matmul(a, rng.integers(-128, 128, (40, 9)))
    mode = device.info.mode
    left = device.place(a, device.info.a)
    words = device.place(np.zeros((40, 9), np.uint8), mode.b_stored)
    with pytest.raises(ValueError, match="table of the mode must be of 16, not of 0"):
        device.product(left, words)
    device = Rig("python", None, SPECS["mirrored"]).open()
    with pytest.raises(ValueError, match=r"numbers must be of 8 or fewer and their complements"):
        device.matmul(a, rng.integers(0, 9, (40, 9)))
    below = replace(device.info.mode, table=(-1, *range(7)))
    with pytest.raises(ValueError, match=r"table must be 0\.\.63, not -1"):
        device.matmul(a, np.ones((40, 9), np.int64), mode=below)
    device = Rig("python", None, SPECS["nf4"]).open()
    b = rng.choice(np.array(NF4), (40, 9))
    assert np.array_equal(device.matmul(a, b), a @ b)
    with pytest.raises(ValueError, match=r"numbers must be of -127, .* not 1"):
        device.matmul(a, np.ones((40, 9), np.int64))
