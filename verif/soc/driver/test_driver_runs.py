"""Both drivers: starts, errors, timeouts and interrupts, on a co-processor in software."""

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from carrysave.driver import (
    CoprocessorError,
    JobError,
    JobTimeout,
    Matrix,
    Product,
    Requantisation,
)
from verif.soc.driver.driver_checks import check_network, draw, expected
from verif.soc.driver.driver_rig import RNG


def test_driver_network_on_one_start(rig: Any) -> None:
    made = rig()
    check_network(made.open(), made.spec, RNG(4))
    assert made.hardware.starts == [3, 3, 0]


def test_driver_starts_one_by_one_without_a_ring(rig: Any) -> None:
    """With the same results, errors and counters as on one start."""
    made = rig(ring=False)
    device, hardware = made.open(), made.hardware
    check_network(device, made.spec, RNG(4))
    assert hardware.starts == [0] * 7
    a, b = draw(RNG(5), device.info.a, 3, 4), draw(RNG(6), device.info.b, 4, 5)
    first, second = (
        device.product(device.place(a, device.info.a), device.place(b, device.info.b))
        for _ in range(2)
    )
    one = device.run([first])
    three = device.run([first, second, first])
    assert (three.cycles, three.macs) == (3 * one.cycles, 3 * one.macs)
    start = hardware.start

    def third(**changes: Any) -> None:
        hardware.starts.clear()

        def run() -> None:
            if len(hardware.starts) == 2:
                vars(hardware).update(changes)
            start()

        hardware.start = run

    third(fault=(16, 3, 0x1240))
    with pytest.raises(JobError, match=r"job 2: read error \(DECERR at 0x1240\)"):
        device.run([first, second, first, second])
    assert hardware.starts == [0, 0, 0]
    assert np.array_equal(second.c.read(), expected(made.spec, a, b))
    hardware.fault = None
    third(hangs=True)
    hardware.polls = 100
    before = made.now
    with pytest.raises(JobTimeout, match=r"[23] of 4 jobs ended within 0.5 s"):
        device.run([first, second, first, second], timeout=0.5)
    assert 0.5 < made.now - before < 0.6
    hardware.hangs = False
    writes = hardware.writes
    with pytest.raises((JobError, CoprocessorError), match=r"zero dimension|M, N and K"):
        device.run_jobs([replace(first.job, m=0), first.job])
    with pytest.raises((ValueError, CoprocessorError), match=r"one or more|one job or more"):
        device.run_jobs([])
    assert made.language == "python" or hardware.writes == writes


def test_driver_opens_its_own_hardware_only(rig: Any) -> None:
    made = rig()
    made.hardware.constants["magic"] = 0xDEADBEEF
    with pytest.raises(CoprocessorError, match=r"no co-processor|there is no co-processor"):
        made.open()
    other = rig()
    other.hardware.constants["abi"] = 2
    with pytest.raises(CoprocessorError, match=r"ABI must be 1, as this driver's, not 2|version"):
        other.open()
    assert made.hardware.writes == other.hardware.writes == 0


def test_an_unknown_option_is_refused(rig: Any) -> None:
    device = rig().open()
    a, b = draw(RNG(6), device.info.a, 4, 6), draw(RNG(7), device.info.b, 6, 2)
    more: dict[str, Any] = {"acumulate": True}
    with pytest.raises(TypeError, match=r"^options must be of .*, not acumulate$"):
        device.matmul(a, b, **more)
    with pytest.raises(TypeError, match=r"not acumulate$"):
        device.product(device.place(a, device.info.a), device.place(b, device.info.b), **more)


def test_driver_tells_what_failed_and_goes_on(rig: Any) -> None:
    made = rig()
    device = made.open()
    a, b = draw(RNG(6), device.info.a, 4, 6), draw(RNG(7), device.info.b, 6, 2)
    made.hardware.fault = 16, 3, 0x5_0000_1240
    message = r"job 0: read error \(DECERR at 0x500001240\): Memory answered a read with an error"
    with pytest.raises(JobError, match=message) as told:
        device.matmul(a, b)
    error = told.value
    assert (error.code, error.name, error.response) == (16, "read error", "DECERR")
    assert (error.address, error.job) == (0x5_0000_1240, 0)
    product = device.product(device.place(a, device.info.a), device.place(b, device.info.b))
    made.hardware.fault_at = 1
    with pytest.raises(JobError, match="job 1: read error"):
        device.run([product, product])
    assert np.array_equal(product.c.read(), expected(made.spec, a, b))
    for matrix in product.allocated:
        matrix.free()
    made.hardware.fault_at = 0
    made.hardware.fault = 2, 0, 0
    with pytest.raises(JobError, match="job 0: K too large: K is more than K_MAX"):
        device.matmul(a, b)
    made.hardware.fault = 99, 0, 0
    with pytest.raises(JobError, match="unknown error"):
        device.matmul(a, b)
    made.hardware.fault = None
    assert device.counters().cycles == 0, "it was not reset"
    assert np.array_equal(device.matmul(a, b), expected(made.spec, a, b))
    made.hardware.write(0xA0, 1 << 16)
    with pytest.raises(CoprocessorError, match="written by something else"):
        device.matmul(a, b)
    assert np.array_equal(device.matmul(a, b), expected(made.spec, a, b))


def test_driver_gives_up_in_time(rig: Any) -> None:
    made = rig()
    device = made.open()
    a, b = draw(RNG(8), device.info.a, 4, 6), draw(RNG(9), device.info.b, 6, 2)
    made.hardware.hangs = True
    before = made.now
    with pytest.raises(JobTimeout, match=r"0 of 1 jobs ended within 0.5 s|1 of 1 jobs ended"):
        device.matmul(a, b, timeout=0.5)
    assert 0.5 < made.now - before < 0.6
    assert not made.pool.live
    made.hardware.hangs = False
    assert np.array_equal(device.matmul(a, b), expected(made.spec, a, b))
    # Until it can be reset, nobody else may have the memory that it writes to.
    made.hardware.hangs = "reset"
    made.hardware.fault = 17, 2, 0
    with pytest.raises(CoprocessorError, match="cannot be reset"):
        device.matmul(a, b)
    assert device.lost
    assert len(made.pool.live) == 3
    with pytest.raises(CoprocessorError, match="busy"):
        device.matmul(a, b)
    made.hardware.hangs, made.hardware.fault = False, None
    device.reset()
    assert np.array_equal(device.matmul(a, b), expected(made.spec, a, b))


def test_driver_stops_the_hardware_when_it_is_interrupted(rig: Any) -> None:
    made = rig()

    def press(seconds: float) -> None:
        raise KeyboardInterrupt

    device = made.open(interrupt=press)
    made.hardware.hangs = True
    with pytest.raises(KeyboardInterrupt):
        device.matmul(np.ones((1, 1), int), np.ones((1, 1), int))
    assert made.hardware.read(0) == 1 << 2
    assert not made.pool.live


def test_driver_waits_for_the_interrupt(rig: Any) -> None:
    made = rig()
    levels = []

    def wait(seconds: float) -> bool:
        assert 0 < seconds <= 3
        levels.append(made.hardware.interrupt)
        return True

    device = made.open(interrupt=wait)
    made.hardware.polls = 1
    a, b = draw(RNG(10), device.info.a, 2, 2), draw(RNG(11), device.info.b, 2, 2)
    for _ in range(3):
        assert not made.hardware.interrupt
        assert np.array_equal(device.matmul(a, b), expected(made.spec, a, b))
    assert levels == [True] * 3
    made.hardware.fault = 16, 2, 0
    with pytest.raises(JobError):
        device.matmul(a, b)
    made.hardware.fault = None
    device.matmul(a, b)
    assert levels == [True] * 5, "interrupts are not enabled again after a reset"


def test_driver_marks_jobs_that_may_overlap(rig: Any) -> None:
    """Those that differ only in addresses, if none of four reads what another one writes."""
    made = rig()
    device = made.open()
    info, how = device.info, Requantisation(multiplier=1 << 20, shift=20)
    ones = [device.place(draw(RNG(n), info.a, 5, 5), info.a) for n in range(6)]
    b = device.place(draw(RNG(9), info.b, 5, 5), info.b)

    def marks(products: list[Product]) -> list[int]:
        device.run(products)
        return [fields.alike for fields in made.hardware.done]

    def product(a: Matrix, **more: Any) -> Product:
        return device.product(a, b, requantisation=how, **more)

    apart = [product(a) for a in ones]
    assert marks(apart) == [5, 0, 0, 0, 0, 0]
    assert marks(apart[:1]) == [0]
    assert marks([*apart[:2], device.product(ones[2], b), *apart[3:]]) == [1, 0, 0, 2, 0, 0]
    # One reads what another one has written, or writes what it has read, so many before it.
    for before in (1, 2, 3, 4, 5):
        whole = [5, 0, 0, 0, 0, 0]
        broken = [4, 0, 0, 0, 0, 0]
        right = whole if before > 3 else broken
        assert marks([*apart[:5], product(apart[5 - before].c)]) == right
        assert marks([*apart[:5], product(ones[5], out=ones[5 - before])]) == right
    # All write into the same C, one by one.
    assert marks([product(a, out=apart[0].c) for a in ones]) == whole
    # A job that adds to C reads it.
    c = device.product(ones[0], b).c
    adding = [device.product(a, b, out=c, accumulate=True) for a in ones]
    assert marks(adding) == [0] * 6
