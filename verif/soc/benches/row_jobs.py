"""Jobs on rows for the benches of the co-processor: how they are drawn, and what is wrong."""

from dataclasses import replace
from typing import Any

import numpy as np

from golden.npe.requantiser import Requantisation
from golden.npe.vector import SCALED
from golden.soc.code_table import CODES
from golden.soc.job import Error, Job
from golden.soc.maps import MAPS, factor_width, map_requantiser
from golden.soc.memory import Matrix
from golden.soc.second_rows import BLEND
from golden.soc.spec import CoprocessorSpec
from verif.support.vectors import scaling

__all__ = [
    "PARTS",
    "bytes_of",
    "fill_one",
    "factors_of",
    "part_scaling",
    "place",
    "plain",
    "wrong_gathers",
    "wrong_parts",
]


PARTS = (*MAPS, BLEND)
"""Operations with requantisations of their own, that the vector unit does not have."""


def bytes_of(spec: CoprocessorSpec, rng: np.random.Generator, operation: str) -> int:
    """Draw the bytes of a code of C, 0 for what the unit makes."""
    if not spec.sizes:
        return 0
    if operation in MAPS:
        return int(rng.integers(2))
    legal = list(range(spec.vector_out_bytes + 1))
    if operation == "transpose" and spec.vector_out_bytes > 1:
        return 1
    if spec.vector_out_bytes > 1 and operation not in (*SCALED, "softmax", "exps"):
        legal.remove(1)
    return int(rng.choice(legal))


def fill_one(memory: np.ndarray, rng: np.random.Generator, matrix: Matrix, width: int) -> None:
    """Write rows of one operand; those at one place are the last."""
    if matrix.columns == 1 and matrix.bits == 8 and rng.integers(2):
        # As the exponents of rows: some are too large for any bit to be left.
        matrix.store(memory, rng.choice([0, 1, 5, 20, 63, 64, 255], (matrix.rows, 1)))
        return
    high = (1 << min(matrix.bits, width) - 1) - 1
    spread = 2.0 ** rng.uniform(0, high.bit_length(), (matrix.rows, 1))
    values = rng.normal(0, spread, (matrix.rows, matrix.columns)) + rng.choice([0, 0, -high, high])
    matrix.store(memory, np.clip(np.rint(values), -high - 1, high).astype(np.int64))


def factors_of(spec: CoprocessorSpec, rng: np.random.Generator) -> dict[str, Any]:
    """Draw zero points and factors of maps: any, few bits, extremes."""
    width = factor_width(spec.requantiser)
    most = 1 << width - 1
    drawn = rng.integers(-most, most, 2) >> rng.integers(width, size=2)
    factors = np.where(rng.integers(4, size=2) > 0, drawn, rng.choice([-most, most - 1, 0, 1], 2))
    zeros = np.where(rng.integers(4, size=2) > 0, rng.integers(-128, 128, 2), [-128, 127])
    found: dict[str, Any] = {"zeros": tuple(zeros.tolist()), "factors": tuple(factors.tolist())}
    if spec.table and rng.integers(2):
        found |= {"table": True, "records": 0}
    return found


def place(name: str, address: int, distance: int) -> dict[str, Any]:
    """Say where a matrix is; a table has no rows."""
    return {"records": address} if name == "table" else {name: address, f"ld{name}": distance}


def plain(job: Job) -> Job:
    """Return a job without a table."""
    return replace(job, table=False, records=None)


def part_scaling(spec: CoprocessorSpec, rng: np.random.Generator, operation: str) -> Requantisation:
    """Draw how codes of a blend, or of maps of any spread, are made."""
    if operation == BLEND:
        any_, near = rng.integers(-(1 << 15), 1 << 15, 2), rng.integers(-9, 9, 2)
        ends = np.array([-(1 << 15), (1 << 15) - 1])
        low, high = np.sort((any_, near, ends)[int(rng.integers(3))]).tolist()
        shift, none = rng.integers(16, size=1), np.zeros(1, np.int64)
        return Requantisation(multiplier=none, shift=shift, zero_point=none, low=low, high=high)
    bits = 17 if operation == "map_multiply" else spec.inside.sum_width
    return scaling(rng, map_requantiser(spec.requantiser), 1 << int(rng.integers(bits // 2, bits)))


def wrong_parts(
    spec: CoprocessorSpec, n: int, job: dict[str, Any], longer: dict[str, Any]
) -> list[tuple[Error, dict[str, Any]]]:
    """List what is wrong with changes of a blend, or of a job on maps, of rows of n codes.

    `longer` rows are one.
    """
    how, high, codes = job["requantisation"], 1 << spec.address_width, n * (job["a_format"] + 1)
    if job["vector"] == BLEND:
        return [
            (Error.MODE, {"requantisation": None}),
            (Error.MODE, {"requantisation": replace(how, relu=True, low=-(1 << 15))}),
            (Error.MODE, {"requantisation": replace(how, shift=np.array([16]))}),
            *([(Error.MODE, {"table": True, "records": 0})] if spec.table else []),
            (Error.LONG_ROW, longer),
            (Error.LEADING_DIMENSION, {"ldb": 2 * codes - 1}),
            (Error.WRAPS, {"b": high - 2 * codes + 1}),
        ]
    return [
        (Error.MODE, {"requantisation": None}),
        (Error.MODE, {"requantisation": replace(how, relu=True)}),
        (Error.MODE, {"a_format": 1}),
        *([(Error.MODE, {"c_bytes": 2})] if spec.sizes else []),
        *([] if spec.table else [(Error.MODE, {"table": True, "records": 0})]),
        *([(Error.WRAPS, {"table": True, "records": high - CODES + 1})] if spec.table else []),
        (Error.LONG_ROW, longer),
        (Error.LEADING_DIMENSION, {"ldb": n - 1}),
        (Error.WRAPS, {"b": high - n + 1}),
    ]


def wrong_gathers(
    spec: CoprocessorSpec, table: dict[str, Any]
) -> list[tuple[Error, dict[str, Any]]]:
    """List what is wrong with changes of a gather, whose indices are one after the other."""
    assert spec.vector is not None
    high, n = 1 << spec.address_width, table["n"]
    return [
        (Error.DIMENSION, {"k": 0}),
        (Error.DIMENSION, {"k": 1 << spec.dimension_width}),
        (Error.MODE, {"a_format": 1 - table["a_format"]}),
        (Error.LONG_ROW, {"n": spec.vector.length + 1}),
        (Error.LEADING_DIMENSION, {"ldb": 3}),
        (Error.LEADING_DIMENSION, {"lda": n - 1}),
        (Error.WRAPS, {"b": high - 4 * (table["m"] - 1) - 3}),
        (Error.WRAPS, {"ldb": 0, "b": high - 3}),
        (Error.WRAPS, {"k": 3, "a": high - 2 * table["lda"] - n + 1}),
    ]
