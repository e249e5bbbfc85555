"""Vector jobs of the co-processor in Verilator against golden."""

from pathlib import Path
from typing import Any

import pytest

from hw.catalog import Design
from hw.emit.verilog import verilog_of
from verif.soc.test_coprocessor_rtl import SMALL, brief, run_bench
from verif.support.cases import case_name, long

CASES: list[dict[str, Any]] = [
    SMALL
    | {
        "engine": "systolic_os(m=4,n=4)",
        "vector": "vector_unit(operations=softmax,rms_norm,silu,add,multiply,lanes=4,length=64,"
        "quotient_bits=4)",
    },
    # Codes of one byte or two, as jobs say; exponents of rows.
    SMALL
    | {
        "engine": "systolic_os(m=4,n=4)",
        "code_bytes": 2,
        "transpose": True,
        "gather": True,
        "vector": "vector_unit(operations=softmax,rms_norm,silu,multiply,scale,lanes=4,length=64,"
        "quotient_bits=4,width=16,out_width=12,signed=True)",
    },
    # Maps.
    SMALL
    | {
        "engine": "systolic_os(m=4,n=4)",
        "taps": 3,
        "narrow": True,
        "vector": "vector_unit(operations=scale,lanes=4,length=64)",
    },
]
LONG: list[dict[str, Any]] = [
    # One-pass attention: exponents of blocks in one word and in several, of codes of two bytes too.
    SMALL | {
        "engine": "systolic_os(m=4,n=4)",
        "vector": "vector_unit(operations=softmax,scale,exps,divide,lanes=4,length=128,"
                  "signed=True)",
    },
    SMALL | {
        "engine": "systolic_os(m=4,n=4)", "code_bytes": 2, "transpose": True,
        "vector": "vector_unit(operations=exps,divide,add,lanes=2,length=40,block=2,width=12,"
                  "out_width=13,scale_width=6)",
    },
    SMALL | {
        "engine": "systolic_os(m=4,n=4,target=ecp5)", "vector": "vector_unit(lanes=4,length=64)",
    },
    # Gates, sums and products alone, of bytes and of two, registers of few bits.
    SMALL | {
        "engine": "systolic_os(m=3,n=3)", "requantise": False, "narrow": True,
        "vector": "vector_unit(operations=gelu,silu,add,multiply,lanes=3,length=40,width=12,"
                  "out_width=11,quotient_bits=3)",
    },
    # The unit's codes have one byte, those of products two; or it has one operation.
    SMALL | {
        "engine": "systolic_os(m=3,n=3)", "code_bytes": 2, "narrow": True, "ring": False,
        "transpose": True, "gather": True,
        "vector": "vector_unit(operations=softmax,scale,lanes=2,length=20,scale_width=2)",
    },
    {
        "engine": "systolic_os(m=2,n=3)", "data_width": 32, "sums": 64, "a_bytes": 128,
        "b_bytes": 128, "code_bytes": 2, "per_column": False, "outstanding": 1,
        "transpose": True, "gather": True,
        "vector": "vector_unit(operations=scale,lanes=3,length=20,width=9,out_width=16)",
    },
    # Lanes that are no power of two, wide codes, wide beats.
    {
        "engine": "systolic_os(m=3,n=3)", "data_width": 128, "sums": 64, "a_bytes": 128,
        "b_bytes": 128,
        "vector": "vector_unit(lanes=3,length=100,width=16,out_width=12,signed=True)",
    },
    # One lane, one operation, registers of few bits, all left out that can be.
    {
        "engine": "systolic_os(m=2,n=3)", "data_width": 32, "sums": 64, "a_bytes": 128,
        "b_bytes": 128, "gather": True, "address_width": 20, "dimension_width": 12, "burst": 8,
        "outstanding": 1,
        "bias": False, "requantise": False, "accumulate": False, "blocks": False, "ring": False,
        "counters": False, "narrow": True,
        "vector": "vector_unit(operations=softmax,lanes=1,length=9,width=4)",
    },
    # Blends and sigmoids of bytes, of lanes that are no power of two; of two bytes, of one beat.
    SMALL | {
        "engine": "systolic_os(m=3,n=3)", "requantise": False, "narrow": True, "blend": True,
        "vector": "vector_unit(operations=sigmoid,lanes=3,length=40,width=7,quotient_bits=3)",
    },
    SMALL | {
        "engine": "systolic_os(m=4,n=4)", "code_bytes": 2, "lean": True, "blend": True,
        "gather": True,
        "vector": "vector_unit(operations=add,silu,lanes=4,length=4,width=12,out_width=13)",
    },
    # Few registers: a row's address passes no queue but one.
    CASES[0] | {"lean": True},
]  # fmt: skip


_TWO_BEATS = CASES[1] | {"data_width": 32, "scratch": 4096, "taps": 3, "table": True}
_UNIT = "vector_unit(operations={},lanes=4,length=64,quotient_bits=4,width=16,out_width=16,\
signed=True)"
LONG.append(
    _TWO_BEATS | {"vector": _UNIT.format("softmax,rms_norm,silu,add,multiply,scale")},
)
SHORT = _TWO_BEATS | {"vector": _UNIT.format("softmax,multiply,scale,sigmoid"), "blend": True}
"""What `make test` simulates, with the bench of memory on chip, too; words of the vector unit have
two beats of the bus, or of its codes of one byte."""


@pytest.mark.parametrize(
    ("parameters", "says"),
    [
        ({"code_bytes": 2, "requantise": False}, "code_bytes must be 1 .*, not 2"),
        ({"code_bytes": 3}, r"code_bytes must be 1\.\.2 bytes, not 3"),
        ({"transpose": True}, "transpose must be false without a vector unit .*, not True"),
        (
            {"transpose": True, "vector": "vector_unit(out_width=12)"},
            "transpose must be false .* byte",
        ),
        ({"gather": True}, "gather must be false without a vector unit .*, not True"),
        ({"blend": True}, "blend must be false without a vector unit .* requantises, not True"),
        ({"blend": True, "vector": "vector_unit()"}, "blend must be false .* requantises"),
        ({"taps": 3}, "taps must be 0 without a vector unit, .*, not 3"),
        ({"taps": 2}, r"taps must be 0, or 3\.\.7, not 2"),
        ({"taps": 9}, r"taps must be 0\.\.7, not 9"),
        ({"table": True, "per_column": False}, "table must be false .* per column, not True"),
        ({"table": True, "requantise": False}, "table must be false .* per column, not True"),
    ],
)
def test_coprocessor_refuses_sizes_and_transposition(parameters: dict[str, Any], says: str) -> None:
    with pytest.raises(ValueError, match=says):
        Design("coprocessor", parameters)


def test_coprocessor_without_sizes_is_as_it_was() -> None:
    """Of the default builds, not even the digest tells of them."""
    plain = Design("coprocessor")
    assert "sizes" not in plain.key
    for name in ("code_bytes", "transpose", "gather", "blend", "taps", "table"):
        assert name not in plain.key


def test_coprocessor_with_taps_has_a_requantiser_for_each_lane() -> None:
    parameters = CASES[2] | {"requantisers": 2}
    with pytest.raises(ValueError, match=r"requantisers must be 4 with taps, .* not 2"):
        Design("coprocessor", parameters).component()


@pytest.mark.prove
def test_lean_coprocessor_with_a_vector_unit_has_no_combinational_cycle() -> None:
    """Without queues, the address of a row would wait for its words, and they for it."""
    assert "vector_rows" in verilog_of(Design("coprocessor", CASES[0] | {"lean": True}))


@pytest.mark.parametrize("parameters", [SHORT, *long([*CASES, *LONG])], ids=case_name)
def test_coprocessor_vector_rtl_matches_golden(
    parameters: dict[str, Any], tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    """Of jobs at random there are a few, and more in `make prove`."""
    options = brief(request, transactions=1)
    bench = "verif.soc.benches.tb_coprocessor_vector"
    run_bench(Design("coprocessor", parameters), bench, tmp_path, **options)
