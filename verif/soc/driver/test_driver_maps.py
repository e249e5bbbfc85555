"""The driver's jobs on maps, on a co-processor in software."""

import ctypes
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from carrysave.driver import Maps, Number, Requantisation
from carrysave.driver.operations import MAPS
from carrysave.driver.registers import OPERATIONS
from golden.npe import requantiser as golden
from golden.npe.vector import VectorUnitSpec
from golden.soc.maps import map_requantiser
from verif.soc.driver import c_driver
from verif.soc.driver.driver_checks import draw
from verif.soc.driver.driver_rig import RNG, Rig
from verif.soc.driver.test_driver_vector import (
    SIZED,
    UNITS,
    Rigs,
    golden_of,
    reject,
    rig_of,
    spec_of,
)

__all__ = ["rig_of"]


@pytest.mark.parametrize("unit", [*SIZED.values(), UNITS["8 bits"]])
def test_driver_vector_maps(unit: VectorUnitSpec, rig_of: Rigs) -> None:
    """Sums and products of bytes with zero points, of one row for all and of as many."""
    made = rig_of(unit)
    device, byte, rng = made.open(), Number.of(8, 8, True), RNG(16)
    for operation in MAPS:
        for rows in (1, 5):
            values, others = draw(rng, byte, 5, 9), draw(rng, byte, rows, 9)
            maps = Maps(zeros=(-128, 3), factors=(-(1 << 22), (1 << 22) - 1))
            shift = 38 if operation == "map_multiply" else 54
            how = Requantisation(multiplier=(1 << 31) - 1, shift=shift, zero_point=-7)
            work = device.vector(
                operation,
                device.place(values, byte),
                b=device.place(others, byte),
                requantisation=how,
                maps=maps,
            )
            device.run([work])
            a, b = values + 128, np.broadcast_to(others - 3, values.shape)
            scaled = a * maps.factors[0], b * maps.factors[1]
            sums = {
                "map_multiply": a * b,
                "map_add": scaled[0] + scaled[1],
                "map_max": np.maximum(*scaled),
            }[operation]
            right = golden.requantiser(
                replace(map_requantiser(made.spec.requantiser), n=9),
                sums,
                golden_of(how, UNITS["8 bits"]),
            )
            assert np.array_equal(work.c.read(), right)
            assert len(np.unique(right)) > 10


def test_driver_vector_maps_rejects_what_hardware_would(rig_of: Rigs) -> None:
    device = rig_of(SIZED["16 bits"]).open()
    byte = Number.of(8, 8, True)
    a, how = device.empty((3, 8), byte), Requantisation(multiplier=1, shift=0)
    wide = device.empty((3, 8), Number.of(16, 16, True))
    good: dict[str, Any] = {"b": a, "requantisation": how, "maps": Maps()}
    for changes, says in (
        ({"maps": None}, "maps must be given for map_add, .* only, not for map_add"),
        ({"maps": Maps(factors=(1, 1 << 22))}, "factors must be of 23 bits .*, not 4194304"),
        ({"maps": Maps(zeros=(128, 0))}, "zeros must be of 8 bits with a sign, not 128"),
        ({"b": wide}, "b must be of .*, not of"),
        ({"b": None}, "b must be given for .*map_max only, not for map_add"),
        ({"narrow": True}, "narrow must be false for maps"),
        ({"requantisation": replace(how, relu=True)}, "requantisation must be without relu"),
        ({"requantisation": None}, "requantisation must be given"),
    ):
        reject(device, says, "map_add", a, **(good | changes))
    reject(device, "a must be of .*, not of", "map_multiply", wide, **good)
    reject(device, "maps must be given .* not for gelu", "gelu", a, maps=Maps(), requantisation=how)


def test_c_driver_refuses_wrong_maps(library: Any) -> None:
    made = Rig("c", library, spec_of(SIZED["16 bits"]))
    device, job = made.open(), c_driver.CJob()
    assert isinstance(device, c_driver.CDevice)
    device.call("job_init_vector", ctypes.byref(job), OPERATIONS["map_add"], 3, 8, 1)
    for name, values in (("factors", (-(1 << 22), (1 << 22) - 1)), ("zeros", (-128, 127))):
        for place, value in enumerate(values):
            for beyond, status in ((0, 0), (-1 if value < 0 else 1, 10)):
                getattr(job, name)[place] = value + beyond
                assert device.call("check", ctypes.byref(job)) == status
            getattr(job, name)[place] = 0
