"""Flags of a quantised network that is compiled."""

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

from cyclopts import Parameter

from carrysave.cli.reading import InputSizes
from carrysave.compiler.passes.pipeline import PASSES, stop_at
from carrysave.compiler.program.head_ways import AUTO, WAYS
from carrysave.compiler.program.schedule import Schedule
from carrysave.compiler.target.dataflow import ANY
from carrysave.compiler.target.dataflow import check as check_dataflow
from carrysave.errors import check_choice

__all__ = ["NetworkFlags"]

_NAMES = [one.name for one in PASSES]


@Parameter(name="*")
@dataclass(frozen=True, kw_only=True)
class NetworkFlags(InputSizes):
    """Flags of a quantised network."""

    dump: Annotated[
        Path | None,
        Parameter(help="Folder for the model after each pass, as text and as a picture."),
    ] = None
    timeline: Annotated[
        Path | None,
        Parameter(
            help="File for when each part of the block is busy, by the cost model: .html, a page,"
            " or .json, a trace that Perfetto opens."
        ),
    ] = None
    stop_after: Annotated[
        str | None,
        Parameter(help=f"Print the model after this pass, and stop: {', '.join(_NAMES)}."),
    ] = None
    schedule: Annotated[
        str,
        Parameter(
            help="What is on chip: greedy (rooms of most bytes first), or ilp (fewest bytes on the"
            " bus by an integer program: rooms, blocks and copies)."
        ),
    ] = "greedy"
    schedule_seconds: Annotated[
        float, Parameter(help="Seconds that the solver of --schedule ilp may take.")
    ] = 10.0
    dataflow: Annotated[
        str,
        Parameter(
            help="What of a product stays while its blocks follow each other: rows (of A), columns"
            " (of B), sums (of parts of K); auto (of these what takes fewest cycles, product by"
            " product), any (blocks of fewest cycles by a bound, which is quicker). Unless any, a"
            " table has what each takes."
        ),
    ] = ANY
    attention: Annotated[
        str,
        Parameter(
            help="Attention of codes: one-pass (by blocks of keys: exps, divide, and shares), rows"
            " (a softmax of whole rows), host (a host segment), auto (with shares the first or"
            " second, of fewer cycles; else the third). Of a language model: one-pass, host."
        ),
    ] = AUTO

    def check(self) -> None:
        """Check the choices."""
        self.chosen.check()
        check_dataflow(self.dataflow)
        check_choice("attention", self.attention, WAYS)
        if self.timeline is not None:
            from carrysave.compiler.run.timeline import check_path  # slow to load, and rarely used

            check_path(self.timeline)
        if self.stop_after is not None:
            stop_at(self.stop_after)

    @property
    def chosen(self) -> Schedule:
        """How the program is scheduled."""
        return Schedule(way=self.schedule, seconds=self.schedule_seconds)
