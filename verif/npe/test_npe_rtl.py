"""The Verilog of the array of lanes against golden, on Verilator."""

from pathlib import Path
from typing import Any

import pytest

from carrysave.sim.runner import verify
from golden.npe.npe import NpeSpec
from hw.catalog import Design
from hw.npe.npe import Npe
from verif.support.cases import brief, case_name

CASES: list[dict[str, Any]] = [
    {},
    {"m": 1, "n": 1, "formats": "int8,posit8e0", "accumulator_width": 40, "result": "posit8e0"},
    {
        "m": 1,
        "n": 5,
        "formats": "int4,e2m1",
        "accumulator_width": 12,
        "result": "int8",
        "encoder_pipeline": 0,
    },
    {"m": 3, "n": 4, "accumulator_width": 70, "pipeline": 2},
    {
        "m": 9,
        "n": 2,
        "formats": "int8,posit4e1,e4m3",
        "accumulator_width": 40,
        "accumulation": "resolved",
        "pipeline": 1,
        "result": "e4m3",
        "saturate": False,
        "rounding": "rtz",
        "encoder_pipeline": 3,
    },
    {
        "m": 3,
        "n": 2,
        "formats": "int8,e2m1,e2m3,e3m2,e4m3",
        "result": "fp32",
        "scale": "e8m0",
        "encoder_pipeline": 2,
    },
    {
        "m": 2,
        "n": 3,
        "formats": "int8,e2m1,posit4e1",
        "accumulator_width": 30,
        "result": "fp32",
        "scale": "e4m3",
        "block": 16,
        "depth": 5,
    },
    {"m": 3, "n": 2, "lane": "sl16", "formats": "int8,e2m1,int16"},
    {"m": 3, "n": 3, "formats": "int8,int4,e2m1", "result": "fp32", "scale": "e5m3", "block": 8},
    {"m": 3, "n": 3, "formats": "int8,int4", "zeros": True, "block": 4},
]
MORE: list[dict[str, Any]] = [
    {
        "m": 2, "n": 3, "formats": "int8,int4", "zeros": True, "block": 16, "result": "fp32",
        "scale": "e5m3", "accumulation": "gated", "encoder_pipeline": 2,
    },
    {"m": 1, "n": 2, "formats": "int4", "zeros": True, "block": 2, "accumulator_width": 10},
    {
        "m": 2, "n": 2, "formats": "int8", "zeros": True, "block": 2, "result": "fp32",
        "scale": "e4m3", "depth": 9, "pipeline": 2,
    },
    {
        "m": 9, "n": 2, "formats": "int8,e2m1,posit4e1,e4m3", "result": "fp32", "saturate": False,
        "scale": "e8m0", "block": 4, "pipeline": 2, "encoder_pipeline": 3,
    },
    {
        "m": 1, "n": 5, "formats": "int4,e4m3", "result": "fp32", "scale": "e8m0", "block": 2,
        "encoder_pipeline": 0,
    },
    {
        "m": 1, "n": 3, "formats": "e2m1", "accumulator_width": 12, "result": "fp32",
        "scale": "e4m3", "block": 4, "depth": 3, "accumulation": "resolved", "encoder_pipeline": 3,
    },
    {
        "m": 2, "n": 9, "lane": "sl16", "formats": "int4,posit8e0,posit16e1",
        "accumulator_width": 128, "pipeline": 3, "result": "posit16e1",
    },
    {
        "m": 9, "n": 1, "lane": "sl16", "formats": "e4m3,int16", "passes": 1,
        "accumulation": "resolved", "result": "int8", "encoder_pipeline": 0,
    },
    {
        "m": 3, "n": 2, "lane": "sl16", "formats": "int8,int4,int16", "result": "fp32",
        "scale": "e8m0", "block": 4,
    },
    {
        "m": 2, "n": 3, "formats": "int8,int4,e4m3", "accumulation": "gated", "result": "fp32",
        "scale": "e8m0", "block": 4,
    },
]  # fmt: skip


@pytest.mark.sample(1)
@pytest.mark.parametrize("parameters", brief(CASES, 1, 2), ids=case_name)
def test_npe_rtl_matches_golden(parameters: dict[str, Any], tmp_path: Path) -> None:
    result = verify(Design("npe", parameters), directory=tmp_path)
    assert result.ok, result


@pytest.mark.prove
@pytest.mark.parametrize("parameters", MORE, ids=case_name)
def test_npe_rtl_with_more_scales(parameters: dict[str, Any], tmp_path: Path) -> None:
    result = verify(Design("npe", parameters), directory=tmp_path)
    assert result.ok, result


def test_npe_rejects_wrong_kind() -> None:
    with pytest.raises(TypeError, match="spec must be a NpeSpec, not 8"):
        Npe(8)  # type: ignore[arg-type]
    with pytest.raises(TypeError, match=r"parameters are accumulation, .*, not encoding"):
        Npe(NpeSpec(), encoding="booth")


def test_npe_rejects_out_of_range() -> None:
    with pytest.raises(ValueError, match=r"pipeline must be 0\.\.4"):
        Npe(NpeSpec(), pipeline=5)
    with pytest.raises(ValueError, match="unknown parameter of npe 'k'"):
        Design("npe", {"k": 2})


def test_npe_latency_is_that_of_its_parts() -> None:
    cases: list[tuple[dict[str, Any], dict[str, Any], int]] = [
        ({}, {}, 11),
        ({"m": 1, "n": 1}, {}, 3),
        ({}, {"accumulation": "resolved"}, 10),
        ({"m": 2, "n": 3}, {"pipeline": 3}, 9),
        ({"result": "e4m3"}, {}, 13),
        ({"result": "fp32"}, {"encoder_pipeline": 0}, 12),
        ({"result": "fp32", "scale": "e8m0"}, {"encoder_pipeline": 0}, 12),
        ({"result": "fp32", "scale": "e8m0"}, {"encoder_pipeline": 3}, 17),
        ({"result": "fp32", "scale": "e8m0", "m": 3}, {"encoder_pipeline": 3}, 16),
        ({"result": "fp32", "scale": "e4m3"}, {"encoder_pipeline": 3}, 16),
    ]
    for spec, build, latency in cases:
        assert Npe(NpeSpec(**spec), **build).latency == latency


def test_npe_with_many_parameters_has_a_name_that_simulators_keep() -> None:
    most = max(CASES, key=len)
    names = {Design("npe", case).module for case in (*CASES, most | {"m": 17})}
    assert len(names) == len(CASES) + 1
    assert max(map(len, names)) <= 120
