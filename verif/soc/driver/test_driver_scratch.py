"""Matrices on chip: by the drivers, on a co-processor in software."""

from typing import Any

import numpy as np
import pytest

from carrysave.compiler.lowered.golden import codes
from carrysave.driver import CoprocessorError, Number
from verif.soc.driver.driver_checks import draw, requantisation
from verif.soc.driver.driver_rig import RNG, SCRATCH, SPECS, Rig


@pytest.fixture(params=["python", "c"])
def rig(request: pytest.FixtureRequest, library: Any) -> Rig:
    return Rig(request.param, library, SCRATCH)


def test_products_meet_on_chip(rig: Rig) -> None:
    """What one makes there, the next takes; the host sees memory alone, and caches are its own."""
    device, rng = rig.open(), RNG(3)
    info = device.info
    assert (info.scratch, info.memory_end) == (8192, (1 << 44) - 8192)
    assert "scratch" in info.features
    a, b, c = (draw(rng, info.a, *shape) for shape in ((9, 20), (20, 30), (30, 7)))
    how = requantisation(rng, SCRATCH, 30)
    middle = device.empty((9, 30), info.codes, on_chip=True)
    before = rig.memory.copy()
    first = device.product(
        device.place(a, info.a), device.place(b, info.b), requantisation=how, out=middle
    )
    second = device.product(middle, device.place(c, info.b))
    device.run([first, second])
    assert np.array_equal(second.c.read(), codes(SCRATCH, a @ b, how) @ c)
    assert middle.address >= info.memory_end
    assert not np.array_equal(rig.hardware.scratch, np.zeros(8192))
    assert len(before) == len(rig.memory)
    for use in (middle.read, lambda: middle.write(np.zeros((9, 30), np.int64))):
        with pytest.raises(ValueError, match="by a job"):
            use()


def test_room_on_chip_is_given_back(rig: Rig) -> None:
    device = rig.open()
    byte = Number.of(8, 8, True)
    whole = device.empty((64, 128), byte, on_chip=True)
    with pytest.raises(MemoryError, match="no 8 bytes of 8192 in a row are free"):
        device.empty((1, 1), byte, on_chip=True)
    # Parts are anywhere in it, and keep to it.
    part = whole.within((3, 40), Number.of(16, 16, True), 100, 200)
    assert (part.address, part.distance) == (whole.address + 100, 200)
    assert part.last().address == part.address + 78
    for start, distance in ((8192 - 479, 200), (-1, 200), (0, 79)):
        with pytest.raises(ValueError, match=r"a matrix of 3 rows of 80 bytes, by steps of"):
            whole.within((3, 40), Number.of(16, 16, True), start, distance)
    whole.free()
    device.empty((1, 8192), byte, on_chip=True).free()
    with pytest.raises(MemoryError, match="no 8200 bytes of 8192"):
        device.empty((1, 8193), byte, on_chip=True)


def test_parts_of_memory(rig: Rig) -> None:
    """Bytes of a part are those of the whole."""
    device = rig.open()
    values = RNG(4).integers(-128, 128, (6, 24))
    byte = Number.of(8, 8, True)
    whole = device.place(values, byte)
    part = whole.within((5, 4), byte, 24 + 3, 24)
    assert np.array_equal(part.read(), values[1:, 3:7])
    part.write(-np.ones((5, 4), np.int64))
    values[1:, 3:7] = -1
    assert np.array_equal(whole.read(), values)


def test_memory_ends_where_the_chip_begins(library: Any) -> None:
    made = Rig("python", library, SCRATCH)
    made.pool.base = (1 << 44) - 8192 - 100
    device = made.open()
    with pytest.raises(ValueError, match="memory must end below 0xfffffffe000, not at"):
        device.empty((200, 200), device.info.a)


def test_builds_without_it_say_so(library: Any) -> None:
    device = Rig("python", library, SPECS["int8"]).open()
    with pytest.raises(ValueError, match="built without scratch"):
        device.empty((4, 4), device.info.a, on_chip=True)
    made = Rig("python", library, SPECS["int8"])
    made.hardware.constants["features_scratch"] = 11
    with pytest.raises(CoprocessorError, match=r"features_scratch must be 0, or 12\.\.63, not 11"):
        made.open()
