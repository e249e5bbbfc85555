"""Builds whose weights are codes of a table: what they cannot be."""

from typing import Any

import pytest

from hw.catalog import Design

SMALL: dict[str, Any] = {"data_width": 64, "sums": 64, "a_bytes": 256, "b_bytes": 256}


@pytest.mark.parametrize(
    ("parameters", "says"),
    [
        ({"engine": "npe(m=2,n=2)"}, "codebook must be none with an engine of several formats"),
        ({"engine": "cube(m=2,n=2,k=2,b_width=4)"}, r"integers of 5\.\.8 bits, not nf4 with int4"),
        ({"engine": "cube(m=2,n=2,k=2,b_width=7)"}, r"numbers of int7, not nf4 of -127\.\.127"),
        ({"engine": "cube(m=2,n=2,k=2,b_signed=false)"}, r"numbers of uint8, not nf4 of -127"),
        (
            {"codebook": "job8", "engine": "cube(m=2,n=2,k=20)"},
            "a multiple of 21 along K, not job8",
        ),
        (
            {"engine": "adder_tree(k=8,sparsity=2:4)", "codebook": "none"},
            "k must be a multiple of 12 where B has masks of codes of 8 bits, .* not 8",
        ),
        (
            {"engine": "adder_tree(k=16,sparsity=4:8)", "codebook": "none"},
            "sparsity must be none or 1:4, 2:4 in a co-processor, not 4:8",
        ),
        (
            {"engine": "cube(k=12,sparsity=2:4)", "codebook": "nf4"},
            "codebook must be none with an engine whose B has masks, not nf4",
        ),
        (
            {"engine": "ternary_core(k=40,sparsity=1:4)", "codebook": "none", "trits": True},
            "trits must be false with an engine whose B has masks, not true",
        ),
        (
            {"codebook": "job16", "windows": True},
            "none or constant between streams, and where jobs",
        ),
        (
            {"codebook": "mirror16", "engine": "cube(m=2,n=2,k=2,b_signed=false)"},
            "codebook must be none or not mirrored with uint8, not mirror16",
        ),
        ({"codebook": "job4", "row_factors": True}, "windows or factors of rows, not job4"),
        (
            {"engine": "ternary_core(m=2,n=4,k=10)", "trits": True},
            "codebook must be none with trits, not nf4",
        ),
    ],
)
def test_builds_that_are_refused(parameters: dict[str, Any], says: str) -> None:
    with pytest.raises(ValueError, match=says):
        Design("coprocessor", SMALL | {"codebook": "nf4"} | parameters)


def test_streams_have_constant_tables_alone() -> None:
    engine = {"engine": "cube(m=2,n=2,k=2)"}
    assert Design("coprocessor_stream", SMALL | engine | {"codebook": "nf4"}).spec
    with pytest.raises(ValueError, match="none or constant between streams"):
        Design("coprocessor_stream", SMALL | engine | {"codebook": "job16"})
