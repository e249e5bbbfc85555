"""The matmul co-processor: C = requantise(A x B + bias) on matrices in memory, of any size."""

from dataclasses import replace

import numpy as np

from golden.npe.requantiser import Requantisation, requantiser
from golden.soc.job import Error, Job, error_of, matrices
from golden.soc.memory import Matrix
from golden.soc.mode import wrap
from golden.soc.spec import CoprocessorSpec

__all__ = ["CoprocessorSpec", "Error", "Job", "coprocessor", "error_of", "matrices"]


def coprocessor(spec: CoprocessorSpec, memory: np.ndarray, job: Job) -> Error:
    """Run a job on a memory, whose byte 0 has address 0.

    Parameters
    ----------
    spec : what was built.
    memory : uint8; C is written into it, unless the job is refused.
    job : what to do.

    Returns
    -------
    Why it was refused, or `Error.NONE`.
    """
    error = error_of(spec, job)
    if error:
        return error
    found, inside = matrices(spec, job), spec.inside
    pair = job.a_format, job.b_format
    a, b = (found[side].load(memory) for side in "ab")
    scales = tuple(found[side].load(memory) for side in ("a_scales", "b_scales") if side in found)
    sums, invalid = inside.sums(a, b, job.k, pair, scales)
    for name, added in (("bias", "bias" in found), ("c", job.accumulate)):
        if added:
            sums = wrap(
                sums.astype(object) + found[name].load(memory), inside.sum_width, inside.signed
            )
    if job.encode:
        sums = inside.encode(sums, invalid, pair)
    elif job.requantisation is not None:
        sums = _requantise(
            spec, sums.astype(np.int64), job.requantisation, found.get("records"), memory
        )
    found["c"].store(memory, sums)
    return Error.NONE


def _requantise(
    spec: CoprocessorSpec,
    sums: np.ndarray,
    how: Requantisation,
    records: Matrix | None,
    memory: np.ndarray,
) -> np.ndarray:
    """Make codes of sums, by one requantisation or by that of each column."""
    unit = replace(spec.requantiser, n=1, per_column=False)
    if records is None:
        return requantiser(unit, sums.reshape(-1, 1), how).reshape(sums.shape)
    columns = records.load(memory)[0]
    scales = (
        fmt.wrap((columns >> low & 0xFFFFFFFF).astype(np.int64))[:, None]
        for fmt, low in (
            (unit.multiplier_format, 0), (unit.shift_format, 32), (unit.out_format, 48)
        )
    )  # fmt: skip
    codes = [
        requantiser(unit, part[:, None], replace(how, multiplier=m, shift=s, zero_point=z))
        for part, m, s, z in zip(sums.T, *scales, strict=True)
    ]
    return np.concatenate(codes, axis=1)
