"""The Python driver, and the C driver behind its interface, on a co-processor in software."""

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from carrysave.driver import (
    Coprocessor,
    CoprocessorError,
    Number,
    Requantisation,
)
from golden.soc.blocking import Blocks
from golden.soc.memory import Matrix
from verif.soc.driver.driver_checks import check_products, draw, expected
from verif.soc.driver.driver_rig import BASE, RNG, SPECS


@pytest.mark.sample(6)
@pytest.mark.parametrize("spec", SPECS)
def test_driver_products(rig: Any, spec: str) -> None:
    made = rig(spec)
    device = made.open()
    assert device.info.engine == 7
    assert device.info.hash == 0x1234567890ABCDEF
    made.hardware.polls = 3
    check_products(device, made.spec, RNG(3), 25)
    assert not made.pool.live, "a product leaves memory behind"


def test_driver_writes_into_what_it_is_given(rig: Any) -> None:
    made = rig()
    device = made.open()
    info, rng = device.info, RNG(5)
    a, b = draw(rng, info.a, 3, 9), draw(rng, info.b, 9, 4)
    into = np.zeros((3, 4), np.int64)
    assert device.matmul(a, b, out=into) is into
    assert np.array_equal(into, expected(made.spec, a, b))
    matrix, weights = device.empty((3, 4), info.sums), device.place(b, info.b)
    assert device.matmul(a, weights, out=matrix) is matrix
    assert np.array_equal(matrix.read(), into)
    assert len(made.pool.live) == 2
    codes = np.ones((3, 4), np.int32)
    device.matmul(a, weights, requantisation=Requantisation(1 << 30, 36, low=0), out=codes)
    assert codes.min() == 0
    # Codes from 0 on can be A of unsigned numbers, and all codes cannot.
    some, every = Number(8, True, 0, 127), Number.of(8, 8, True)
    unsigned = Number.of(8, 8, False)
    assert every.holds(every)
    assert every.holds(some)
    assert unsigned.holds(some)
    assert not unsigned.holds(every)
    assert not every.holds(unsigned)


def test_driver_refuses_in_python(rig: Any) -> None:
    """Nothing is written to registers before all that can be known has been checked."""
    made = rig(per_column=False, accumulate=False)
    device = made.open()
    info = device.info
    a, b = np.ones((3, 5), int), np.ones((5, 4), int)
    how = Requantisation(1, 1)
    square = device.empty((4, 4), info.sums)
    given = device.empty((3, 4), info.sums)
    writes, live = made.hardware.writes, len(made.pool.live)

    def refused(message: str, *arguments: Any, kind: type = ValueError, **more: Any) -> None:
        with pytest.raises(kind, match=message):
            device.matmul(*arguments, **more)
        assert (made.hardware.writes, len(made.pool.live)) == (writes, live)

    refused("a must be -128..127, not 128", a + 127, b)
    refused("b must be -128..127, not -129", a, b - 130)
    refused("a must be of integers, not of float64", a * 1.0, b, kind=TypeError)
    refused("b must have 5 rows, for 5 columns of a, not 3", a, a)
    refused(r"a must be rows x columns, not of shape \(3,\)", a[:, 0], b)
    refused(r"sizes must be 1..16777215, not of shape \(0, 5\)", a[:0], b)
    refused(r"bias must be of shape \(1, 4\), not \(1, 3\)", a, b, [1, 2, 3])
    refused(r"bias must be -2147483648..2147483647, not 2147483648", a, b, [0, 0, 0, 1 << 31])
    refused(r"out must be of shape \(3, 4\), not \(4, 4\)", a, b, out=square)
    refused(r"out must be of shape \(3, 4\), not \(4, 3\)", a, b, out=np.zeros((4, 3)))
    refused("out must hold int32, not int16", a, b, out=np.zeros((3, 4), np.int16), kind=TypeError)
    refused("out must hold Number.bits=8", a, b, requantisation=how, out=given)
    with pytest.raises(ValueError, match=r"K must be 1..65536, not 65537"):
        device.product(device.empty((1, 65537), info.a), device.empty((65537, 1), info.b))
    live = len(made.pool.live)
    refused("multiplier must be 0..2147483647, not -1", a, b, requantisation=Requantisation(-1, 1))
    refused("shift must be 0..63, not 64", a, b, requantisation=Requantisation(1, 64))
    refused("zero_point must be -128..127, not 200", a, b, requantisation=Requantisation(1, 1, 200))
    refused("low must be -128..127, not -129", a, b, requantisation=Requantisation(1, 1, 0, -129))
    refused("high must be 5 or more, not 4", a, b, requantisation=Requantisation(1, 1, 0, 5, 4))
    refused(
        "high must be 9 or more, not 8",
        a,
        b,
        requantisation=Requantisation(1, 1, 9, -9, 8, relu=True),
    )
    refused(
        "built without per_column; it has bias, requantiser, ring",
        a,
        b,
        requantisation=Requantisation(np.ones(4, int), 1),
    )
    refused("built without accumulate", a, b, out=np.zeros((3, 4), int), accumulate=True)
    with pytest.raises(ValueError, match="a must be of Number"):
        device.product(square, square)
    with pytest.raises(ValueError, match="blocks must fit into the stores"):
        device.product(device.place(a, info.a), device.place(b, info.b), blocks=Blocks(99, 1, 8))
    with pytest.raises(ValueError, match="one or more, not none"):
        Coprocessor.run_jobs(device, [])
    assert made.hardware.writes == writes


def test_driver_refuses_what_the_build_lacks(rig: Any) -> None:
    made = rig("int4 x uint6", ring=False, accumulate=False)
    device = made.open()
    a, b = np.ones((2, 2), int), np.ones((2, 2), int)
    with pytest.raises(ValueError, match="built without bias; it has none"):
        device.matmul(a, b, [1, 2])
    with pytest.raises(ValueError, match="built without requantiser"):
        device.matmul(a, b, requantisation=Requantisation(1, 1))
    with pytest.raises(ValueError, match=r"a must be -8..7, not 8"):
        device.matmul(a + 7, b)
    with pytest.raises(ValueError, match=r"b must be 0..63, not -1"):
        device.matmul(a, b - 2)
    high = made.hardware.constants
    high["address_width"] = 32
    with pytest.raises(ValueError, match=r"memory must end below 2.32, not at 0x12"):
        made.open().matmul(a, b)


def test_driver_leaves_blocks_to_a_build_that_fixes_them(rig: Any) -> None:
    made = rig("lean")
    device = made.open()
    a, b = (device.place(np.ones((2, 2), int), device.info.a) for _ in range(2))
    product = device.product(a, b)
    assert not any(getattr(product.job, f"block_{side}") for side in "mnk")
    with pytest.raises(ValueError, match="blocks must be the hardware's own choice, not Blocks"):
        device.product(a, b, blocks=Blocks(1, 1, 8))
    with pytest.raises(ValueError, match=r"sizes must be 1..4095, not of shape \(1, 4096\)"):
        device.empty((1, 4096), device.info.sums)
    for change in ({"block_m": 1}, {"by_columns": True}):
        with pytest.raises(CoprocessorError, match=r"unsupported mode|built without"):
            device.run_jobs([replace(product.job, **change)])


def test_driver_describes_what_the_model_cannot_do(rig: Any) -> None:
    """Requantisation of each column, accumulation and formats, as the descriptor has them."""
    made = rig(per_column=True, accumulate=True)
    device = made.open()
    info = device.info
    a, b = draw(RNG(12), info.a, 2, 3), draw(RNG(13), info.b, 3, 4)
    how = Requantisation(
        np.array([5, 1 << 30, 7, (1 << 31) - 1]), 40, np.array([-128, 3, 127, 0]), high=100
    )
    product = device.product(device.place(a, info.a), device.place(b, info.b), requantisation=how)
    device.run([product])
    (fields,) = made.hardware.done
    assert fields.mode.per_column
    assert fields.mode.requantise
    assert (fields.low, fields.high, fields.multiplier) == (0x10000 - 128, 100, 0)
    records = made.memory[fields.requant - BASE :][:32].tobytes()
    assert records == bytes.fromhex(
        "05000000 28 00 80ff  00000040 28 00 0300  07000000 28 00 7f00  ffffff7f 28 00 0000"
    )
    c = device.place(draw(RNG(14), info.sums, 2, 4), info.sums)
    before = c.read()
    mode = replace(info.mode, a_format=3, b_format=9)
    device.matmul(a, b, out=c, accumulate=True, mode=mode)
    (fields,) = made.hardware.done
    assert (fields.mode.accumulate, fields.mode.a_format, fields.mode.b_format) == (1, 3, 9)
    assert not np.array_equal(c.read(), before)
    with pytest.raises(ValueError, match="accumulate must be with sums in out"):
        device.matmul(a, b, accumulate=True)
    with pytest.raises(ValueError, match="accumulate must be with sums in out"):
        device.matmul(a, b, out=c, accumulate=True, requantisation=how)
    with pytest.raises(ValueError, match=r"shift must be one or 4 in a row, not \(3,\)"):
        device.matmul(a, b, requantisation=Requantisation(1, np.ones(3, int)))


@pytest.mark.parametrize("signed", [False, True])
@pytest.mark.parametrize(("bits", "width"), [(2, 2), (4, 3), (4, 4), (8, 8), (16, 11), (64, 40)])
def test_driver_packs_as_the_golden_memory(bits: int, width: int, signed: bool) -> None:
    number = Number.of(bits, width, signed)
    assert number.high - number.low == (1 << width) - 1
    for columns in (1, 2, 3, 5, 8, 9):
        values = draw(RNG([bits, columns]), number, 7, columns)
        data = number.pack(values)
        assert data.shape == (7, number.row_bytes(columns))
        matrix = Matrix(address=0, rows=7, columns=columns, distance=data.shape[1], bits=bits)
        assert np.array_equal(matrix.load(data.ravel()), values.astype(object) & (1 << bits) - 1)
        found = number.unpack(data, columns)
        assert found.dtype == number.dtype
        assert np.array_equal(found, values)
