"""Bipolar codes: their product against signs, popcounts and floats; the core's Verilog; a proof."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from amaranth import Module, Signal, Value, signed

from carrysave.asic.synthesis import check_device
from carrysave.sim.runner import verify
from carrysave.sim.tiling import tile_beats
from golden.formats.bipolar import bipolar_codes, odd
from golden.formats.integer import IntFormat
from golden.soc.mode import inside
from golden.tpe.bitserial_core import BitserialCoreSpec, bitserial_core
from hw.arith.adder import resolve
from hw.catalog import Design
from hw.device import models_of
from hw.emit.verilog import Emission
from hw.pe.lut_lane import BitLane
from verif.support.cases import brief, case_name
from verif.support.formal import holds

BINARY: dict[str, Any] = {"a_width": 1, "b_width": 1, "bipolar": True}
CASES: list[dict[str, Any]] = [
    {"m": 2, "n": 2, "k": 4, "k_max": 50, **BINARY},
    {"m": 1, "n": 2, "k": 5, "k_max": 33, "a_width": 3, "b_width": 2, "bipolar": True},
    {"m": 3, "n": 1, "k": 8, "pipeline": 1, "together": True, **BINARY},
    {"m": 9, "n": 2, "k": 3, "b_width": 4, "bipolar": True, "slack": 64, "k_max": 40},
    {"m": 1, "n": 1, "k": 1, "k_max": 1, **BINARY},
    {"m": 1, "n": 2, "k": 40, "k_max": 90, "counters": "lut6", **BINARY},
    {"m": 2, "n": 1, "k": 7, "a_width": 3, "b_width": 2, "bipolar": True, "counters": "lut6"},
    {"m": 2, "n": 2, "k": 128, **BINARY},
    {"m": 2, "n": 3, "k": 5, "a_width": 1, "b_width": 1, "k_max": 33},
    {"m": 2, "n": 3, "k": 5, "a_width": 1, "a_signed": False, "k_max": 33},
]


@pytest.mark.parametrize("parameters", brief(CASES, 0), ids=case_name)
def test_bipolar_rtl_matches_golden(parameters: dict[str, Any], tmp_path: Path) -> None:
    result = verify(Design("bitserial_core", parameters), directory=tmp_path)
    assert result.ok, result


def test_tables_of_six_inputs_are_for_bipolar_codes_on_xilinx() -> None:
    design = Design("bitserial_core", {**BINARY, "counters": "lut6"})
    assert design.device == "xilinx7"
    assert [path.name for path in models_of(Emission(design).verilog)] == ["LUT6.v"]
    with pytest.raises(ValueError, match="target must be one of generic, ecp5 on ecp5, not 'xil"):
        check_device(design, "ecp5")
    with pytest.raises(ValueError, match="counters must be adders without bipolar, not lut6"):
        Design("bitserial_core", {"counters": "lut6"}).component()


@pytest.mark.prove
def test_bipolar_coprocessor_rtl_matches_golden(tmp_path: Path) -> None:
    engine = "bitserial_core(m=2,n=4,k=8,a_width=1,b_width=1,bipolar=true)"
    result = verify(Design("coprocessor", {"engine": engine}), directory=tmp_path)
    assert result.ok, result


def test_binary_product_is_that_of_signs_of_floats() -> None:
    """As BipolarQuant of QONNX has it, at scale 1: 1 of what is not negative, else -1."""
    rng = np.random.default_rng(1)
    for k in (1, 7, 64, 1001):
        x, w = rng.standard_normal((5, k)), rng.standard_normal((k, 6))
        x[0, 0] = 0.0
        signs = [np.where(values >= 0, 1.0, -1.0) for values in (x, w)]
        a, b = (bipolar_codes("x", values, 1) for values in signs)
        found = bitserial_core(BitserialCoreSpec(**BINARY), a, b)
        assert np.array_equal(found, signs[0] @ signs[1])
        # Packed bits, as kernels for processors count them; those that pad bytes are equal.
        packed = np.packbits(a > 0, axis=1)[:, None] ^ np.packbits(b.T > 0, axis=1)[None]
        assert np.array_equal(found, k - 2 * np.unpackbits(packed, axis=2).sum(axis=2, dtype=int))


@pytest.mark.parametrize(("a_width", "b_width"), [(1, 1), (1, 4), (3, 2), (8, 1), (16, 8)])
def test_bipolar_product_is_that_of_planes_of_signs(a_width: int, b_width: int) -> None:
    spec = BitserialCoreSpec(a_width=a_width, b_width=b_width, bipolar=True)
    rng = np.random.default_rng(2)
    a, b = rng.integers(0, 1 << a_width, (4, 37)), rng.integers(0, 1 << b_width, (37, 3))
    a[0], b[:, 0] = 0, (1 << b_width) - 1
    due = np.zeros((4, 3), dtype=int)
    for i in range(a_width):
        for j in range(b_width):
            differ = (a >> i & 1)[:, :, None] ^ (b >> j & 1)[None]
            due += (37 - 2 * differ.sum(axis=1)) << i + j
    assert np.array_equal(bitserial_core(spec, a, b), due)
    assert np.array_equal(inside(spec).multiply(a, b, (0, 0))[0], due)
    # The extremes of the greatest K fit.
    most = spec.k_max * odd(np.array(spec.a_format.high), a_width) * ((1 << b_width) - 1)
    assert spec.c_format.low <= -most < most <= spec.c_format.high


def test_bipolar_codes_are_those_of_odd_numbers() -> None:
    for width in (1, 2, 5):
        codes = np.arange(1 << width)
        assert np.array_equal(bipolar_codes("A", odd(codes, width), (1 << width) - 1), codes)
    with pytest.raises(ValueError, match="A must be -1 or 1 where the engine is bipolar, not 0"):
        bipolar_codes("A", np.array([1, 0]), 1)
    with pytest.raises(ValueError, match=r"A must be odd, -3\.\.3, where the engine is .* not 5"):
        bipolar_codes("A", np.array([1, 5]), 3)


def test_binary_matrices_have_a_bit_a_code_in_memory() -> None:
    (mode,) = inside(BitserialCoreSpec(**BINARY)).modes.values()
    assert (mode.a_bits, mode.b_bits) == (1, 1)


def test_pads_of_bipolar_beats_are_told_from_codes() -> None:
    spec = BitserialCoreSpec(m=1, n=1, k=4, **BINARY)
    a, b = tile_beats(spec, np.zeros((1, 5), int), np.ones((5, 1), int))
    assert a.tolist() == [[0, 0, 0, 0], [0, -1, -1, -1]]
    assert spec.a_patterns(a).tolist() == [[0] * 4] * 2
    assert b.tolist() == [[1, 1, 1, 1], [1, 0, 0, 0]]


@pytest.mark.parametrize("width", [1, 3])
def test_bipolar_lane_adds_one_more_than_products_of_signs(width: int) -> None:
    """For all codes: twice the bits that agree are the product, and 2^width - 1 for each code."""
    count, total_width = 5, 8
    fmt = IntFormat(width=width, signed=False)
    lane = BitLane(fmt, count, bipolar=True, width=total_width, planes=1, pipeline=0)

    def claim(m: Module, a: Signal, b: Signal) -> Value:
        heap = lane._terms(m, a, b)
        found = resolve(m, heap.compress(m, [2] * total_width))
        due: Value = Signal(signed(total_width))
        for at in range(count):
            number = 2 * a.word_select(at, width) - fmt.high
            due = due + (2 * b[at] - 1) * number + fmt.high
        return found == due[:total_width]

    assert holds(claim, count * width, count)


@pytest.mark.parametrize(
    ("name", "value", "legal"),
    [("a_width", 0, r"1\.\.16 bits"), ("b_width", 0, r"1\.\.8 planes"), ("k", 257, r"1\.\.256")],
)
def test_bipolar_core_refuses(name: str, value: int, legal: str) -> None:
    with pytest.raises(ValueError, match=f"{name} must be {legal}"):
        Design("bitserial_core", BINARY | {name: value})
