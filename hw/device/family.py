"""What an FPGA family has, in one place."""

from dataclasses import dataclass, field

__all__ = ["Family", "Flow", "Part"]


@dataclass(frozen=True)
class Part:
    """One device.

    Members
    -------
    name : as its maker calls it, with package and speed.
    arguments : what tells nextpnr to take it.
    capacity : resources, by the names in :attr:`Flow.counts`.
    """

    name: str
    arguments: tuple[str, ...]
    capacity: dict[str, int]


@dataclass(frozen=True, kw_only=True)
class Flow:
    """The open tools of a family.

    Members
    -------
    synth : the Yosys command, without ``-top``.
    counts : resource -> {cell name pattern: resources per cell}.
    nextpnr : the package of its place and route; None where there is none.
    parts : smallest first.
    """

    synth: str
    counts: dict[str, dict[str, float]]
    nextpnr: str | None = None
    parts: tuple[Part, ...] = field(default=())


@dataclass(frozen=True, kw_only=True)
class Family:
    """An FPGA family.

    Members
    -------
    name : of its module here.
    title : as its maker calls it.
    flow : the tools that map, place and route for it.
    """

    name: str
    title: str
    flow: Flow
