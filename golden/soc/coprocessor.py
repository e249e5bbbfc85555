"""The matmul co-processor: C = requantise(A x B + bias) on matrices in memory, of any size.

With a vector unit, also operations on rows of a matrix.
"""

from dataclasses import replace
from typing import Any

import numpy as np

from golden.formats.integer import IntFormat
from golden.formats.placed_bits import placed_bits
from golden.npe.requantiser import Requantisation, requantiser
from golden.npe.vector import narrowed
from golden.npe.vector_unit import vector_rows
from golden.soc.code_table import looked_up
from golden.soc.depthwise import DEPTHWISE
from golden.soc.depthwise import sums as depthwise_sums
from golden.soc.job import Error, Job
from golden.soc.job_check import error_of, matrices, narrows
from golden.soc.lists import INDEX, TOP_K, index, top_rows
from golden.soc.maps import MAPS, map_requantiser, maps
from golden.soc.memory import Space
from golden.soc.mode import wrap
from golden.soc.product_numbers import product_numbers
from golden.soc.records import of_records
from golden.soc.second_rows import BLEND, blended_rows, scaled_rows
from golden.soc.shares import octaves, row_of
from golden.soc.spec import CoprocessorSpec
from golden.soc.window import Window

__all__ = [
    "CoprocessorSpec",
    "Error",
    "Job",
    "coprocessor",
    "error_of",
    "matrices",
    "requantise",
]


def coprocessor(
    spec: CoprocessorSpec, memory: np.ndarray, job: Job, scratch: np.ndarray | None = None
) -> Error:
    """Run a job on a memory, whose byte 0 has address 0.

    Parameters
    ----------
    spec : the build.
    memory : uint8; C is written into it, unless the job is rejected.
    job : the job.
    scratch : uint8, `spec.scratch` bytes on chip; None: the job has no matrix there.

    Returns
    -------
    The error code, or `Error.NONE`. Nothing is written of a gather with an index beyond its table,
    and of a product whose packed B, or whose list, is none.
    """
    error = error_of(spec, job)
    if error:
        return error
    space = Space(
        memory=memory,
        scratch=np.empty(0, np.uint8) if scratch is None else scratch,
        base=spec.scratch_base,
    )
    if job.vector is not None:
        return _rows(spec, space, job, job.vector)
    made, matrix = product_numbers(spec, space, job), matrices(spec, job)
    if not isinstance(made, tuple):
        return made
    sums, invalid = made
    if job.encode:
        random = None
        if spec.random_width:
            rows, columns = np.arange(job.m)[:, None], np.arange(job.n)
            random = placed_bits(job.seed, rows, columns, spec.random_width)
        sums = spec.inside.encode(sums, invalid, (job.a_format, job.b_format), random)
    elif job.requantisation is not None:
        how = job.requantisation
        if "records" in matrix:
            how = of_records(spec, how, space.load(matrix["records"])[0])
        sums = requantise(spec, sums.astype(np.int64), how)
        if "table" in matrix:
            sums = looked_up(sums, space.load(matrix["table"])[0])
    space.store(matrix["c"], sums)
    return Error.NONE


def _rows(spec: CoprocessorSpec, space: Space, job: Job, operation: str) -> Error:
    """Compute rows by the vector unit, or move them."""
    unit, matrix = spec.vector, matrices(spec, job)
    assert unit is not None
    if operation == "transpose":
        space.store(matrix["c"], space.load(matrix["a"]).T)
        return Error.NONE
    if operation == "gather":
        indices = space.load(matrix["b"])[:, 0]
        if (indices >= job.k).any():
            return Error.INDEX
        space.store(matrix["c"], space.load(matrix["a"], indices))
        return Error.NONE
    if operation == INDEX:
        codes = IntFormat(width=matrix["a"].bits).wrap(space.load(matrix["a"]))
        space.store(matrix["c"], index(codes, job.least))
        return Error.NONE
    if operation == TOP_K:
        codes = IntFormat(width=matrix["a"].bits).wrap(space.load(matrix["a"]))
        space.store(matrix["c"], top_rows(codes, job.k, job.a_format + 1))
        return Error.NONE
    if operation == DEPTHWISE and job.window is not None:
        return _depthwise(spec, space, job, job.window)
    if operation in MAPS:
        operands, to = (space.load(matrix["a"]), space.load(matrix["b"])), job.requantisation
        assert to is not None
        out = map_requantiser(spec.requantiser)
        made = maps(operation, operands, job.zeros, job.factors, out, to)
        if "table" in matrix:
            made = looked_up(made, space.load(matrix["table"])[0])
        space.store(matrix["c"], made)
        return Error.NONE
    taken = IntFormat(width=min(unit.width, matrix["a"].bits))
    rows, how = taken.wrap(space.load(matrix["a"])), job.requantisation
    if operation in ("scale", BLEND) and how is not None:
        second = space.load(matrix["b"])
        if operation == BLEND:
            codes = blended_rows(rows, taken.wrap(second), how)
        else:
            codes = scaled_rows(unit, rows, second[:, 0], how)
        space.store(matrix["c"], codes)
        return Error.NONE
    other = None
    if "b" in matrix:
        other = np.broadcast_to(taken.wrap(space.load(matrix["b"])), rows.shape)
    codes, exponents = vector_rows(unit, operation, rows, how, other)
    if operation == "softmax" and narrows(spec, job):
        codes, exponents = narrowed(unit, codes, exponents)
    if operation == "exps" and spec.shares:
        exponents = octaves(unit, codes, exponents)
    if operation in ("softmax", "exps"):
        codes = row_of(unit, codes, exponents)
    space.store(matrix["c"], codes)
    return Error.NONE


def _depthwise(spec: CoprocessorSpec, space: Space, job: Job, window: Window) -> Error:
    """Multiply windows by weights, channel by channel; requantise as of a product."""
    matrix, inside = matrices(spec, job), spec.inside
    weights = space.load(matrix["b"]).reshape(window.taps, window.channels)
    bias = space.load(matrix["bias"])[0] if "bias" in matrix else np.zeros(job.n, np.int64)
    sums = depthwise_sums(window, space.load(matrix["a"]), weights, bias, job.m)
    how = job.requantisation
    assert how is not None
    if "records" in matrix:
        how = of_records(spec, how, space.load(matrix["records"])[0])
    codes = requantise(spec, wrap(sums, inside.sum_width, inside.signed), how)
    if "table" in matrix:
        codes = looked_up(codes, space.load(matrix["table"])[0])
    space.store(matrix["c"], codes)
    return Error.NONE


def requantise(spec: CoprocessorSpec, sums: np.ndarray, how: Requantisation) -> np.ndarray:
    """Requantise sums, M x N.

    Parameters
    ----------
    spec : the build.
    sums : int64.
    how : multiplier, shift and zero point, one each or one each per column.
    """
    fields = ("multiplier", "shift", "zero_point")
    codes = np.empty(sums.shape, sums.dtype)
    if all(np.size(getattr(how, name)) == 1 for name in fields):
        unit = replace(spec.requantiser, n=1, per_column=False)
        one: dict[str, Any] = {name: np.reshape(getattr(how, name), 1) for name in fields}
        how = replace(how, **one)
        numbers, results = sums.reshape(-1, 1), codes.reshape(-1, 1)
        for at in range(0, len(numbers), _NUMBERS):
            part = slice(at, at + _NUMBERS)
            results[part] = requantiser(unit, numbers[part], how)
        return codes
    columns = sums.shape[1]
    scales = {name: np.broadcast_to(getattr(how, name), columns) for name in fields}
    for start in range(0, columns, _COLUMNS):
        part = slice(start, start + _COLUMNS)
        part_scales: dict[str, Any] = {name: value[part] for name, value in scales.items()}
        unit = replace(spec.requantiser, n=len(part_scales["shift"]), per_column=True)
        scaling = replace(how, **part_scales)
        rows = _NUMBERS // unit.n
        for at in range(0, len(sums), rows):
            codes[at : at + rows, part] = requantiser(unit, sums[at : at + rows, part], scaling)
    return codes


_NUMBERS = 1 << 16
"""Sums at a time, which a processor has near by."""
_COLUMNS = 256
"""Maximum columns of a requantiser of the golden model."""
