"""Output of ``carrysave compile``: a table and a few sentences."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from rich.console import Console
from rich.table import Table

from carrysave.compiler.program.dataflows import dataflow_lines
from carrysave.compiler.program.head_ways import sentences
from carrysave.compiler.target.dataflow import DATAFLOWS
from carrysave.compiler.target.memory import memory_line
from carrysave.report import tables
from hw.emit.user_files import shown

__all__ = ["show"]


def show(console: Console, facts: Mapping[str, Any]) -> None:
    """Print the results."""
    table = Table(title=f"{facts['model']} on {facts['design']}", title_justify="left")
    for head in ("node", "operator", "runs on"):
        table.add_column(head, no_wrap=head == "runs on")
    columns = {
        "jobs": "jobs", "cycles": "cycles", "bound": "bound", "of peak": "utilisation",
        "bus bytes": "bus_bytes", "moved bytes": "moved_bytes", "floats": "numbers",
    }  # fmt: skip
    # What no node has is left out: nine columns are more than a terminal of 80 has room for.
    columns = {
        head: key for head, key in columns.items() if any(one[key] for one in facts["nodes"])
    }
    for head in columns:
        table.add_column(head, justify="right")
    for one in facts["nodes"]:
        cells = [
            one[key] or "" if key == "bound"
            else f"{one[key]:.1%}" if key == "utilisation" and one[key] is not None
            else f"{one[key]:,}" if one[key] else ""
            for key in columns.values()
        ]  # fmt: skip
        table.add_row(shown(one["node"], 40), shown(one["operator"], 30), one["runs_on"], *cells)
    console.print(table)
    if facts["dataflow"] is not None:
        console.print(_dataflows(facts["dataflow"]["layers"]))
    bus, moved, floats = (
        sum(one[name] for one in facts["nodes"]) for name in ("bus_bytes", "moved_bytes", "numbers")
    )
    lines = [
        f"{facts['jobs']:,} jobs, {facts['cycles']:,} cycles and {bus:,} bytes on the bus by the"
        " cost model;"
        f" {moved:,} bytes moved and {floats:,} floats computed by the processor;"
        f" {facts['bytes']:,} bytes of memory, {facts['filled_bytes']:,} of them weights, tables"
        " and steps",
        f"host segments: {facts['host_segments']}",
        memory_line(facts["memory"]),
        *_schedule(facts["schedule"]),
        *dataflow_lines(facts["dataflow"]),
        *sentences(facts.get("attention", ())),
    ]
    lines += [f"loss: {one}" for one in facts["losses"]]
    lines += [reason for one in facts["nodes"] for reason in one["reasons"]]
    tables.say(console, lines)


def _dataflows(layers: Sequence[Mapping[str, Any]]) -> Table:
    """Return the cycles of products with each dataflow."""
    table = Table(title="cycles of products by dataflow", title_justify="left")
    for head in ("node", "chosen"):
        table.add_column(head)
    for head in ("cycles", *DATAFLOWS):
        table.add_column(head, justify="right")
    for one in layers:
        cells = ("-" if one[name] is None else f"{one[name]:,}" for name in ("cycles", *DATAFLOWS))
        table.add_row(shown(one["node"], 40), ", ".join(one["chosen"]), *cells)
    return table


def _schedule(facts: Mapping[str, Any]) -> Iterator[str]:
    """Say what is moved and what has to be."""
    if facts["excess_bytes"] is not None:
        least, more = facts["compulsory_bytes"], facts["excess_bytes"]
        times = f", {facts['bytes'] / least:.2f} times these" if least else ""
        yield (
            f"schedule: {facts['way']}; {least:,} bytes on the bus are compulsory,"
            f" {more:,} are not{times}"
        )
    if facts["way"] == "ilp":
        bound, least = facts["bound_bytes"], facts["bytes"]
        taken = "" if facts["taken"] else "; nothing better was found, it is the greedy one's"
        gap = f", {least - bound:,} above the solver's bound" if least > bound else ", optimal"
        yield (
            f"ilp: {least:,} bytes, of {facts['greedy_bytes']:,} by the greedy schedule{gap}, in"
            f" {facts['seconds']:.2f} s of the solver{taken}"
        )
