"""The co-processor in Verilator against its golden model, around every engine."""

import json
from pathlib import Path
from typing import Any

import pytest

from carrysave.sim.parameters import describe
from carrysave.sim.runner import run, sources_of, verify
from carrysave.sim.verilator import build
from hw.catalog import Design
from hw.emit.flat_ports import flat_ports
from hw.soc.coprocessor_stream import CoprocessorStream
from verif.support.cases import case_name, long

FACTORS = {"row_factors": True}
SMALL = {"data_width": 64, "sums": 256, "a_bytes": 512, "b_bytes": 512}
BLOCKS = SMALL | {
    "engine": "npe(m=2,n=2,formats=int8,e2m1,e4m3,scale=e8m0,block=32,result=fp32)",
    "bias": False,
    "requantise": False,
}
CASES: list[dict[str, Any]] = [
    SMALL | FACTORS | {"engine": "systolic_os(m=4,n=4)", "id_width": 3, "watchdog": 1024},
    # Widths that are no powers of two, a bus of 32 bits, sums alone, registers of few bits.
    {
        "engine": "cube(m=3,n=5,k=3,a_width=4,b_width=6,k_max=300)",
        "data_width": 32, "address_width": 32, "sums": 60, "a_bytes": 128, "b_bytes": 256,
        "bias": False, "requantise": False, "burst": 4, "outstanding": 2, "narrow": True,
    },
    # All left out that can be.
    {
        "engine": "systolic_os(m=2,n=3)", "data_width": 32, "sums": 64, "a_bytes": 128,
        "b_bytes": 128, "address_width": 20, "dimension_width": 12, "burst": 8, "outstanding": 1,
        "bias": False, "requantise": False, "accumulate": False, "blocks": False, "ring": False,
        "counters": False, "narrow": True,
    },
]  # fmt: skip
LONG: list[dict[str, Any]] = [
    SMALL
    | {
        "engine": "digit_column(m=2,n=4,k=2,a_signed=False)",
        "data_width": 128,
        "requantiser_encoding": "booth",
        "requantiser_adder": "sklansky",
    },
    {},
    SMALL | {"engine": "systolic_ws(m=3,n=4,k=5)", "sum_copies": 2, "requantisers": 2},
    SMALL | {"engine": "systolic_os(m=4,n=4)", "lean": True},
    SMALL | {"engine": "systolic_os(m=3,n=4,target=ecp5)", "code_bytes": 2, "requantisers": 2},
    CASES[1] | FACTORS,
    SMALL | {"engine": "systolic_os(m=4,n=4)", "code_bytes": 2, "lean": True, "narrow": True},
    SMALL | {"engine": "systolic_ws(m=3,n=4,k=5,target=xilinx7)"},
    SMALL | {"engine": "matrix_2d(m=2,n=3,pe=mac)"},
    SMALL | {"engine": "adder_tree(n=3,k=7)"},
    SMALL | {"engine": "lut_core(m=2,n=4,lookups=2,folded=false,together=true)"},
    SMALL | {"engine": "ternary_core(m=2,n=4,k=6,mode=table,group=3)"},
    SMALL | {"engine": "ternary_core(m=2,n=4,k=10)", "trits": True},
    {
        "engine": "cube(m=2,n=3,k=5,b_width=2)",
        "trits": True,
        "data_width": 32,
        "sums": 60,
        "a_bytes": 128,
        "b_bytes": 64,
        "lean": True,
        "narrow": True,
        "address_width": 24,
    },
    SMALL | {"engine": "over_weights(m=4,n=2)"},
    SMALL | {"engine": "cube(m=2,n=2,k=2)", "ring": False, "narrow": True, "address_width": 40},
    {"engine": "systolic_os(m=16,n=16,a_width=16)", "data_width": 256, "sums": 1024},
    # Unsigned sums that fill their width, and stores of more rows than a matrix can have.
    {
        "engine": "matrix_2d(m=1,n=2,a_width=4,b_width=4,a_signed=false,b_signed=false,k_max=64)",
        "data_width": 32,
        "dimension_width": 8,
        "sums": 64,
    }
    | FACTORS,
]


ALL: list[dict[str, Any]] = [
    SMALL | {"engine": "systolic_os(m=3,n=3)", "sums": 64, "a_bytes": 128, "b_bytes": 128}
]


# The two others in one: widths that are no powers of two, and all left out that can be.
SHORT: dict[str, Any] = CASES[2] | {
    "engine": "cube(m=3,n=5,k=3,a_width=4,b_width=6,k_max=300)",
    "sums": 60,
    "b_bytes": 256,
    "burst": 4,
    "sum_copies": 2,
}


def test_coprocessor_ids_are_ports_and_no_more() -> None:
    """Of 0 bits they change nothing, not even the digest; in a stream there are none."""
    plain, wide = (Design("coprocessor", SMALL | {"id_width": width}) for width in (0, 8))
    assert plain.digest == Design("coprocessor", SMALL).digest != wide.digest
    ports, more = (
        {(port.name, len(port.value), port.inward) for port in flat_ports(design.component())}
        for design in (plain, wide)
    )
    names = [("m_axi_arid", False), ("m_axi_rid", True), ("m_axi_awid", False), ("m_axi_bid", True)]
    assert more - ports == {(name, 8, inward) for name, inward in names}
    assert ports < more
    streams = Design("coprocessor_stream", SMALL)
    assert streams.engine is not None
    with pytest.raises(ValueError, match="id_width must be 0 between streams, not 8"):
        CoprocessorStream(streams.spec, engine=streams.engine.component(), id_width=8)


def brief(request: pytest.FixtureRequest, **options: int) -> dict[str, int]:
    """Tell a bench to be shorter in `make test`."""
    return {} if request.node.get_closest_marker("prove") else {"still": 2000} | options


@pytest.mark.prove
@pytest.mark.parametrize("parameters", [SHORT | {"lean": True}, SHORT], ids=case_name)
def test_coprocessor_rtl_in_short(parameters: dict[str, Any], tmp_path: Path) -> None:
    """A sample of the orders, and all else; the first case closes the coverage."""
    bench = "verif.soc.benches.tb_coprocessor"
    run_bench(Design("coprocessor", parameters), bench, tmp_path, close=False)


@pytest.mark.parametrize("parameters", [*CASES[:1], *long([*CASES, *LONG])], ids=case_name)
def test_coprocessor_rtl_matches_golden(
    parameters: dict[str, Any], tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    """A sample of the orders in the short run; `make prove` closes the coverage."""
    options = brief(request, overlaps=2, close=False)
    design = Design("coprocessor", parameters)
    result = verify(design, seed=1, bench_parameters=options, directory=tmp_path)
    assert result.ok, f"{result.failed}; see {result.log}"
    if "close" in options:
        return
    found = json.loads((result.directory / "coverage.json").read_text())
    assert [each["title"] for each in found] == ["Orders, pairs", "Bursts"]
    assert all(not cross["holes"] for each in found for cross in each["crosses"])
    assert "0 holes" in (result.directory / "coverage.md").read_text()


@pytest.mark.parametrize("parameters", long(ALL), ids=case_name)
def test_coprocessor_rtl_all_combinations(parameters: dict[str, Any], tmp_path: Path) -> None:
    run_bench(Design("coprocessor", parameters), "verif.soc.benches.tb_coprocessor_long", tmp_path)


# What cocotbext-axi needs: IDs. The longer list has every bus width, and one burst at a time.
OTHERS: list[dict[str, Any]] = [
    SMALL
    | {
        "engine": "systolic_os(m=3,n=2)",
        "data_width": width,
        "id_width": 1,
        "burst": burst,
        "outstanding": bursts,
        "a_bytes": 2048,
        "b_bytes": 2048,
    }
    for width, burst, bursts in ((32, 3, 1), (128, 64, 16), (256, 1, 3), (512, 256, 64))
]


@pytest.mark.prove
@pytest.mark.parametrize("parameters", [*CASES[:1], *long(OTHERS)], ids=case_name)
def test_coprocessor_rtl_matches_golden_at_cocotbext_axi(
    parameters: dict[str, Any], tmp_path: Path
) -> None:
    """Memory and host are those of another project."""
    bench = "verif.soc.benches.tb_coprocessor_cocotbext"
    jobs = 4 if parameters in CASES else 25
    run_bench(Design("coprocessor", parameters), bench, tmp_path, jobs=jobs)


def run_bench(design: Design, bench: str, folder: Path, **options: Any) -> None:
    """Run another bench than the catalogue's."""
    result = run(
        build(sources_of(design, folder, rules=True), design.module),
        bench,
        parameters=describe(design) | options,
        seed=1,
        directory=folder,
        deadline=3600,
    )
    assert result.ok, f"{result.failed}; see {result.log}"


# Words of two codes, half bytes of C, codes that are no numbers; sums added up, and by columns.
FORMATS: list[dict[str, Any]] = [
    SMALL
    | FACTORS
    | {"engine": "npe(m=2,n=2,formats=int8,int4,posit4e1,e4m3,result=e2m1)", "sums": 64},
]
LONG_FORMATS: list[dict[str, Any]] = [
    SMALL | {"engine": "systolic_os(m=4,n=4)"},
    SMALL | FACTORS | {"engine": "npe(m=2,n=3,formats=int8,int4,accumulator_width=32)"},
    SMALL | FACTORS | {"engine": "npe(m=2,n=3,formats=int8,int4,accumulator_width=32,w4a8=true)"},
    BLOCKS,
    SMALL
    | {
        "engine": "npe(m=3,n=2,lane=sl16,formats=int4,e4m3,int16,posit16e1,"
        "accumulator_width=128,result=posit16e1)"
    },
]


@pytest.mark.prove
@pytest.mark.parametrize("parameters", [*FORMATS, *long([*FORMATS, *LONG_FORMATS])], ids=case_name)
def test_coprocessor_rtl_formats(
    parameters: dict[str, Any], tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    bench = "verif.soc.benches.tb_coprocessor_formats"
    options = brief(request, transactions=2)
    run_bench(Design("coprocessor", parameters), bench, tmp_path, **options)


# A beat has the biases of two tiles.
STREAMS: list[dict[str, Any]] = [
    SMALL
    | {"engine": "systolic_os(m=4,n=2)", "data_width": 128, "sum_copies": 2, "requantisers": 1},
]
LONG_STREAMS: list[dict[str, Any]] = [
    SMALL | {"engine": "ternary_core(m=2,n=3,k=5)", "trits": True},
    SMALL | {"engine": "npe(m=2,n=3,formats=int8,posit4e1,e4m3,result=e4m3)"},
    BLOCKS,
]


@pytest.mark.prove
@pytest.mark.parametrize("parameters", [*STREAMS, *LONG_STREAMS], ids=case_name)
def test_coprocessor_stream_rtl_matches_golden_at_cocotbext_axi(
    parameters: dict[str, Any], tmp_path: Path
) -> None:
    bench = "verif.soc.benches.tb_coprocessor_stream_cocotbext"
    jobs = 3 if parameters in STREAMS else 25
    run_bench(Design("coprocessor_stream", parameters), bench, tmp_path, jobs=jobs)


@pytest.mark.prove
@pytest.mark.parametrize("parameters", [*STREAMS, *LONG_STREAMS], ids=case_name)
def test_coprocessor_stream_rtl_matches_golden(parameters: dict[str, Any], tmp_path: Path) -> None:
    result = verify(Design("coprocessor_stream", parameters), seed=1, directory=tmp_path)
    assert result.ok, f"{result.failed}; see {result.log}"
