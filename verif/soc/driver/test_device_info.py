"""Discovery registers: what no build has is refused, as a broken link may give anything."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import pytest

from carrysave.compiler.target.target import Target
from carrysave.driver import CoprocessorError, Info
from golden.npe.npe import NpeSpec
from golden.npe.vector import VectorUnitSpec
from golden.soc.spec import CoprocessorSpec
from golden.tpe.systolic_os import SystolicOsSpec
from hw.catalog import Design
from hw.soc.coprocessor import discovery
from hw.soc.registers.rdl import fields_of, register_map
from verif.soc.driver.c_driver import CDevice
from verif.soc.driver.driver_rig import Rig

VECTOR = VectorUnitSpec(operations="silu", lanes=4, length=64)
NUMBERED = [
    CoprocessorSpec(engine=SystolicOsSpec(m=2, n=2), vector=VECTOR, lists=32767, top_k=63),
    CoprocessorSpec(engine=SystolicOsSpec(m=2, n=2), vector=VECTOR, lists=21, top_k=10),
    CoprocessorSpec(engine=NpeSpec(m=1, n=2, formats="e4m3", result="e2m1"), random_width=16),
    CoprocessorSpec(engine=NpeSpec(m=1, n=2, formats="e4m3", result="e2m1"), random_width=5),
]
ENGINES = ("systolic_os(m=2,n=2)", "npe(m=1,n=2)", "bitserial_core")


@pytest.fixture(scope="module", params=[*ENGINES, "vector_unit"])
def fields(request: pytest.FixtureRequest) -> Mapping[str, int]:
    """Return the registers of a build."""
    held = "engine" if request.param in ENGINES else "vector"
    design = Design("coprocessor", {held: request.param})
    top = register_map(dict(discovery(design.spec, design.component().latency, 0)))
    return {field.name: field.reset for field in fields_of(top)}


@pytest.mark.parametrize(
    ("name", "value"),
    [
        *((name, 0) for name in (
            "magic", "abi", "tile_m", "tile_n", "tile_k", "a_bits", "b_bits", "c_bits", "sum_bytes",
            "data_width", "address_width", "dimension_width", "k_max", "sums", "a_bytes", "b_bytes",
            "outstanding", "numbers_a_width", "numbers_b_width", "numbers_c_width",
            "numbers_sum_width",
        )),
        ("features_rounding", 3),
        *((name, 0xFFFFFFFF) for name in (
            "magic", "abi", "tile_m", "tile_n", "tile_k", "a_bits", "b_bits", "c_bits", "sum_bytes",
            "data_width", "address_width", "dimension_width", "outstanding", "numbers_a_width",
        )),
        ("a_bits", 3), ("b_bits", 12), ("data_width", 96), ("sums", 1), ("a_bytes", 1),
        ("b_bytes", 1),
    ],
)  # fmt: skip
def test_rejects_out_of_range(fields: Mapping[str, int], name: str, value: int) -> None:
    wrong = {**fields, name: value}
    with pytest.raises(CoprocessorError, match=r"(?i)" + name + " must be "):
        Info.read(wrong.__getitem__)


@pytest.mark.parametrize("spec", NUMBERED)
def test_numbers_of_options_are_those_of_the_build(spec: CoprocessorSpec, library: Any) -> None:
    """As C reads them; the features that Python reads are compared with C's as it opens."""
    device = Rig("c", library, spec).open()
    assert isinstance(device, CDevice)
    info = device._device.info
    names = "lists", "top_k", "random_width"
    assert [getattr(info, name) for name in names] == [getattr(spec, name) for name in names]


def test_a_target_knows_what_the_hardware_says() -> None:
    """All registers, number and digest of the build too; only how long memory takes is added."""
    design = Design("coprocessor", {"engine": ENGINES[0], "requantise": True})
    fields = fields_of(design.component().registers.map)
    info = Info.read({field.name: field.reset for field in fields}.__getitem__)
    known = Target(design).info
    assert design.engine is not None
    assert (info.engine, info.hash) == (design.engine.entry.number, int(design.digest, 16))
    stores = replace(known.stores, latency=info.stores.latency, beat=info.stores.beat)
    assert replace(known, stores=stores) == info


@pytest.mark.parametrize("rounding", ["single", "double", "even"])
def test_rounding_is_read(rounding: str) -> None:
    """A driver is told how codes are rounded; of a build without a requantiser, nothing."""
    for requantise in (True, False):
        parameters = {"requantiser_rounding": rounding, "requantise": requantise}
        design = Design("coprocessor", parameters | {"engine": ENGINES[0]})
        top = register_map(dict(discovery(design.spec, 1, 0)))
        info = Info.read({field.name: field.reset for field in fields_of(top)}.__getitem__)
        assert info.rounding == (rounding if requantise else "")


def test_every_field_of_any_value_is_read_or_refused(fields: Mapping[str, int]) -> None:
    """And what is read can be used."""
    Info.read(fields.__getitem__)
    for name, right in fields.items():
        for value in (0, 1, 3, 127, right ^ 1, right << 1, 0x7FFFFFFF, 0xFFFFFFFF):
            wrong = {**fields, name: value}
            try:
                # What a build does not have may be read, too.
                info = Info.read(lambda field, wrong=wrong: wrong.get(field, 0))  # type: ignore[misc]
            except CoprocessorError:
                continue
            assert info.peak > 0
            assert info.stores.a_slices >= 0
            info.mode.stores(info.stores).most_beats(1, 1)
            if info.vector is not None:
                for operation in info.vector.operations:
                    assert info.vector.codes(operation).low <= 0 < info.vector.a[0].bits
