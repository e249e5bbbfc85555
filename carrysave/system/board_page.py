"""The page of a network, or of a language model, on a board."""

from collections.abc import Mapping
from typing import Any

from carrysave.report.page import Page, Text
from carrysave.report.tables import Section

__all__ = ["a_second", "page"]


def a_second(rate: float) -> str:
    """Write a rate, of slow ones three digits."""
    return f"{rate:,.1f}" if rate >= 10 else f"{rate:.3g}"


def page(taken: Mapping[str, Any], nodes: Mapping[str, Any], built: Mapping[str, Any]) -> Page:
    """Return the page.

    Parameters
    ----------
    taken : of :func:`carrysave.system.board_network.rates`, and ``model``.
    nodes : of :func:`carrysave.compiler.program.facts.facts`.
    built : of :func:`carrysave.boards.build.build`.
    """
    columns = ("node", "operator", "runs on", ("cycles", "{:,}"), ("of peak", "{:.1%}"),
               ("bus bytes", "{:,}"), ("moved bytes", "{:,}"))  # fmt: skip
    unit = taken["unit"]
    rows = [
        (one["node"], one["operator"],
         "host" if one["runs_on"] == "processor" else one["runs_on"], one["cycles"],
         one["utilisation"], one["bus_bytes"], one["moved_bytes"])
        for one in nodes["nodes"]
    ]  # fmt: skip
    jobs, line = taken["job_seconds"], taken["line_seconds"]
    both, alone = (a_second(taken[f"{key}inputs_per_second"]) for key in ("", "block_"))
    return Page(
        title=f"{taken['model']} on {built['board']}",
        command=nodes["command"],
        versions=built["versions"],
        says="Jobs by the planner's cost model; the line by its bytes, without pauses of a bridge.",
        summary=(
            (f"{unit}s a second", both),
            ("bound", taken["bound"]),
            ("cycles a batch", f"{taken['cycles']:,}"),
            ("GOPS, peak", f"{taken['gops_peak']:.3g}"),
            ("GOPS while jobs run", f"{taken['gops_jobs']:.3g}"),
            ("GOPS with the line", f"{taken['gops_sustained']:.3g}"),
            ("memory", f"{taken['bytes']:,} of {taken['memory_bytes']:,} bytes"),
        ),
        parts=(
            Section(
                title=f"FPGA: {built['part']}",
                columns=("part", ("used", "{:,}"), ("there", "{:,}"), ("share", "{:.0%}")),
                rows=[
                    (part, built[part], limit, built[part] / limit)
                    for part, limit in built["capacity"].items()
                    if limit
                ],
                names=1,
            ),
            Text(
                "Where time goes",
                (
                    f"Jobs: {1e3 * jobs:.3f} ms for {taken['batch']} {unit}s, {taken['cycles']:,}"
                    f" cycles at {built['clock_mhz']:g} MHz.",
                    f"Serial line: {1e3 * line:.3f} ms, {taken['sent_bytes']:,} bytes to the board"
                    f" and {taken['received_bytes']:,} back at {built['baud']:,} baud.",
                    f"Both take turns, so that the {taken['bound']} is the bound: without the line"
                    f" it would be {alone} {unit}s a second, bound"
                    f" by the {taken['block_bound']}.",
                ),
            ),
            Section(title="Nodes", columns=columns, rows=rows, names=3),
        ),
    )
