"""Memory on chip in the co-processor: in Verilator against golden, and what is refused."""

from pathlib import Path
from typing import Any

import pytest

from hw.catalog import Design
from verif.soc.test_coprocessor_rtl import SMALL, brief, run_bench
from verif.soc.test_coprocessor_vector_rtl import SHORT
from verif.support.cases import case_name, long

CASES: list[dict[str, Any]] = [
    # Codes of one byte or two, as jobs say; the least there is.
    SMALL
    | {
        "engine": "systolic_os(m=4,n=4)",
        "scratch": 4096,
        "code_bytes": 2,
        "transpose": True,
        "vector": "vector_unit(operations=softmax,add,scale,lanes=4,length=64,"
        "quotient_bits=4,width=16,out_width=16,signed=True)",
    },
]
LONG: list[dict[str, Any]] = [
    # Banks that are all over a device, one burst at a time, half of all addresses.
    {
        "engine": "systolic_os(m=2,n=3)",
        "data_width": 32,
        "sums": 64,
        "a_bytes": 256,
        "b_bytes": 256,
        "address_width": 18,
        "outstanding": 1,
        "burst": 8,
        "scratch": 32768,
        "id_width": 2,
    },
    # Wide beats, no queues, few registers.
    SMALL
    | {
        "engine": "cube(m=2,n=2,k=2)",
        "data_width": 256,
        "scratch": 8192,
        "lean": True,
        "narrow": True,
        "address_width": 40,
        "outstanding": 3,
    },
]


@pytest.mark.parametrize(
    ("name", "parameters", "says"),
    [
        (
            "coprocessor",
            {"scratch": 2048},
            r"scratch must be 0, .* 4096\.\.1048576 bytes, not 2048",
        ),
        ("coprocessor", {"scratch": 12288}, "scratch must be 0, or a power of two .*, not 12288"),
        ("coprocessor", {"scratch": 1 << 21}, r"scratch must be 0\.\.1048576 bytes, not 2097152"),
        ("coprocessor", {"scratch": 65536, "address_width": 16}, r"4096\.\.32768 bytes, not 65536"),
        ("coprocessor_uart", {"scratch": 4096}, "scratch must be 0 where all memory is on chip"),
        ("coprocessor_stream", {"scratch": 4096}, "scratch must be 0 between streams, not 4096"),
    ],
)
def test_scratch_is_refused(name: str, parameters: dict[str, Any], says: str) -> None:
    with pytest.raises(ValueError, match=says):
        Design(name, parameters)


def test_coprocessor_without_scratch_is_as_it_was() -> None:
    """Of a default build not even the digest tells of it."""
    assert "scratch" not in Design("coprocessor").key
    assert Design("coprocessor").digest == Design("coprocessor", {"scratch": 0}).digest


@pytest.mark.prove
@pytest.mark.parametrize("parameters", [SHORT, *long([*CASES, *LONG])], ids=case_name)
def test_coprocessor_scratch_rtl_matches_golden(
    parameters: dict[str, Any], tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    run_bench(
        Design("coprocessor", parameters),
        "verif.soc.benches.tb_coprocessor_scratch",
        tmp_path,
        **brief(request, transactions=1),
    )
