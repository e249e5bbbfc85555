"""What depthwise jobs a build takes, and their cycles."""

from golden.soc.depthwise import groups_of, passes_of, rows_read
from golden.soc.job import Job
from golden.soc.spec import CoprocessorSpec
from golden.soc.window import Window

__all__ = ["cycles", "fits", "lines_read", "most_channels"]

_BETWEEN = 1
"""Cycles from a row of the map to the next one."""
_SPREAD = 4
"""Least cycles of a row of the map: its sums are used with the next one."""


def most_channels(spec: CoprocessorSpec) -> int:
    """Return the most channels of a job: those of a row of the unit, with their scales."""
    assert spec.vector is not None
    return min(spec.vector.length, spec.rows // spec.inside.m * spec.inside.n)


def fits(spec: CoprocessorSpec, window: Window) -> bool:
    """Return whether memories hold sums of a row of windows, weights, pixels of a step of taps.

    And a row of the map is no longer than two of the unit's longest.
    """
    assert spec.vector is not None
    groups, passes = groups_of(window, spec.vector.lanes), passes_of(window, spec.taps)
    most = max(window.across, window.kernel[0] * passes, window.dilations[1])
    return groups * most <= spec.vector.beats and window.row_bytes <= 2 * spec.vector.length


def cycles(spec: CoprocessorSpec, job: Job) -> int:
    """Count the cycles of a job whose operands come without stalls, at a beat of the bus a cycle.

    First come biases, records and weights, then rows of the map, `groups` cycles for each pixel and
    for each column beyond the edges that a window reaches.
    """
    window, unit = job.window, spec.vector
    assert window is not None
    assert unit is not None
    beat, groups = spec.bytes, groups_of(window, unit.lanes)
    took = -(-job.n * spec.sum_bytes // beat) * (job.bias is not None)
    took += -(-job.n * spec.RECORD_BYTES // beat) * (job.records is not None)
    took += window.taps * max(groups, -(-window.channels // beat))
    read = -(-window.row_bytes // beat)
    (_, kw), (_, stride), (_, step) = window.kernel, window.strides, window.dilations
    for across, lines in rows_read(window, job.m, spec.tap_rows):
        for number in range(passes_of(window, spec.taps)):
            first = (min((number + 1) * spec.taps, kw) - 1) * step - window.first[1]
            last = first + (across - 1) * stride
            beyond = max(last - window.width + 1, 0) - min(0, first)
            columns = max(window.width * groups, read) + beyond * groups
            took += lines * max(columns + _BETWEEN, _SPREAD)
    return took


def lines_read(spec: CoprocessorSpec, job: Job) -> int:
    """Count the rows of the map that a job reads, those that it reads again, too."""
    assert job.window is not None
    lines = sum(lines for _, lines in rows_read(job.window, job.m, spec.tap_rows))
    return lines * passes_of(job.window, spec.taps)
