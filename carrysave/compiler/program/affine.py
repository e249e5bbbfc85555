"""Steps whose fields grow with a parameter, found from those of three of its values."""

from collections.abc import Callable
from dataclasses import replace

from carrysave.compiler.program.floats import SectionStep
from carrysave.compiler.program.image import Image
from carrysave.compiler.program.steps import Start, Varies
from carrysave.compiler.program.words import JOB_FIELDS, job_words
from carrysave.driver.job import Job
from carrysave.driver.system import Parameter

__all__ = ["affine"]


def affine(image: Image, parameter: Parameter, add: Callable[[int], None]) -> list[SectionStep]:
    """Return steps that vary by a parameter; their cycles are those of its greatest value.

    Parameters
    ----------
    image : of the program; its steps are left as they were.
    parameter : its name and range.
    add : adds the jobs of a value to the image, on buffers that are the same for all.

    Raises
    ------
    ValueError
        Jobs that are not the same but for fields that grow by as much with each value.
    """
    before, image.steps = image.steps, []
    add(parameter.high)
    most, image.steps = image.steps, []
    end = image.end
    several = []
    for value in (parameter.low, min(parameter.low + 1, parameter.high)):
        add(value)
        several.append(image.steps)
        # Their counters are those of the greatest value.
        image.steps, image.end = [], end
    image.steps = before
    steps = parameter.high - parameter.low
    return [
        _varying(greatest, least, following, parameter.name, steps)
        for greatest, least, following in zip(most, *several, strict=True)
    ]


def _varying(
    most: SectionStep, least: SectionStep, next_: SectionStep, name: str, steps: int
) -> Start:
    """Return a start of the least value, and how its words go on to those of the greatest."""
    if not (isinstance(most, Start) and isinstance(least, Start) and isinstance(next_, Start)):
        raise ValueError(f"{most.node}: only jobs may vary by {name!r}")
    jobs, varies = [], []
    three = zip(most.jobs, least.jobs, next_.jobs, strict=True)
    for number, (greatest, job, following) in enumerate(three):
        first, second = _with_blocks(job, greatest), _with_blocks(following, greatest)
        jobs.append(first)
        words = zip(JOB_FIELDS, *(map(job_words, (first, second, greatest))), strict=True)
        for field, one, other, last in words:
            if one + steps * (other - one) != last:
                raise ValueError(f"{most.node}: {field} must grow by as much with each {name!r}")
            if one != other:
                varies.append(Varies(parameter=name, field=field, factor=other - one, job=number))
    return replace(most, jobs=tuple(jobs), varies=tuple(varies))


def _with_blocks(job: Job, other: Job) -> Job:
    """Return a job with the blocks of another one."""
    return replace(
        job,
        block_m=other.block_m,
        block_n=other.block_n,
        block_k=other.block_k,
        by_columns=other.by_columns,
    )
