"""Weights that are five to a byte: taken out of it, refused, read in fewer beats."""

from typing import Any

import numpy as np
import pytest
from amaranth import Module, Signal
from amaranth.sim import Simulator

from golden.lut.ternary import read_code
from golden.lut.trits import unpack_trits as golden_weights
from golden.soc.blocking import Stores, order, plan
from hw.catalog import Design
from hw.soc.path.trits import unpack_trits
from verif.soc.driver.driver_rig import RNG, SPECS, Rig

SMALL: dict[str, Any] = {"sums": 256, "a_bytes": 512, "b_bytes": 512}


def test_every_byte_has_the_weights_of_the_golden_model() -> None:
    m, byte = Module(), Signal(8)
    codes = unpack_trits(m, byte, "codes")
    found: list[int] = []

    async def read(context: Any) -> None:
        for value in range(256):
            context.set(byte, value)
            found.append(context.get(codes))

    simulator = Simulator(m)
    simulator.add_testbench(read)
    simulator.run()
    pairs = np.array(found)[:, None] >> 2 * np.arange(5) & 3
    assert not (pairs == 2).any()
    assert np.array_equal(read_code(pairs), golden_weights(np.arange(256)[None]).T)


@pytest.mark.parametrize(
    ("engine", "says"),
    [
        ("ternary_core(m=2,n=4,k=16)", "a multiple of 5 along K, not 16 of int2"),
        ("ternary_core(m=2,n=4,k=10,mode=pair,keys=true)", "must take codes as they are"),
        ("cube(m=2,n=2,k=5)", "signed, of 2 bits, .* not 5 of int8"),
        ("cube(m=2,n=2,k=5,b_width=2,b_signed=false)", "signed, of 2 bits, .* not 5 of uint2"),
        ("npe(m=2,n=2)", "trits must be false with an engine of several formats, not true"),
    ],
)
def test_coprocessor_refuses_engines_of_other_weights(engine: str, says: str) -> None:
    with pytest.raises(ValueError, match=says):
        Design("coprocessor", SMALL | {"engine": engine, "trits": True})


def test_coprocessor_without_trits_is_as_it_was() -> None:
    """Of the default build, not even the digest tells of them."""
    assert "trits" not in Design("coprocessor").key


def test_driver_multiplies_by_weights_of_bytes() -> None:
    """Products are numpy's; other weights, and matrices of other rows, are refused."""
    made = Rig("python", None, SPECS["trits"])
    device, rng = made.open(), RNG(1)
    a, w = rng.integers(-128, 128, (3, 37)), rng.integers(-1, 2, (37, 11))
    assert np.array_equal(device.matmul(a, w), a @ w)
    assert "trits" in device.info.features
    with pytest.raises(ValueError, match=r"b must be -1\.\.1, not 2"):
        device.matmul(a, 2 * np.abs(w))
    left = device.place(a, device.info.a)
    right = device.place(w, device.info.mode.b)
    with pytest.raises(ValueError, match="b must have 8 rows, for 37 columns of a, not 37"):
        device.product(left, right)


def test_weights_of_bytes_are_a_fifth_less_to_read() -> None:
    """Codes of 2 bits take 1.25 times as many bytes, block by block."""
    some: dict[str, int] = {
        "tile_m": 4,
        "tile_n": 8,
        "tile_k": 40,
        "a_bits": 8,
        "data_width": 64,
        "outstanding": 64,
        "sums": 4096,
        "a_bytes": 4096,
        "b_bytes": 4096,
    }
    m, n, k = 1, 2560, 2560
    found = []
    for stores in (Stores(**some, b_bits=2), Stores(**some, b_bits=8, b_deep=5)):
        bits = {"a": 8, "b": stores.b_bits, "c": 32}
        parts = order(stores, plan(stores, m, n, k, 32), bits, m, n, k)
        found.append(sum(part.bytes for part in parts if part.name == "b"))
    assert found == [n * k // 4, n * k // 5]
