"""Steps whose fields grow with a parameter, found from those of three of its values."""

from collections.abc import Callable
from dataclasses import replace

from carrysave.compiler.program.floats import SectionStep
from carrysave.compiler.program.groups import JobGroup
from carrysave.compiler.program.image import Image
from carrysave.compiler.program.steps import Start, Varies
from carrysave.compiler.program.words import JOB_FIELDS, group_words
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
    groups, varies = [], []
    three = zip(most.groups, least.groups, next_.groups, strict=True)
    for number, (greatest, group, following) in enumerate(three):
        first, second = _with_blocks(group, greatest), _with_blocks(following, greatest)
        groups.append(first)
        words = zip(JOB_FIELDS, *(map(group_words, (first, second, greatest))), strict=True)
        for field, one, other, last in words:
            if one + steps * (other - one) != last:
                raise ValueError(f"{most.node}: {field} must grow by as much with each {name!r}")
            if one != other:
                varies.append(Varies(parameter=name, field=field, factor=other - one, job=number))
    return replace(most, groups=tuple(groups), varies=tuple(varies))


def _with_blocks(group: JobGroup, other: JobGroup) -> JobGroup:
    """Return jobs with the blocks of other ones."""
    job, of = group.job, other.job
    return replace(
        group,
        job=replace(
            job,
            block_m=of.block_m,
            block_n=of.block_n,
            block_k=of.block_k,
            by_columns=of.by_columns,
        ),
    )
