"""What of a language model ran on the block, as a table."""

from collections.abc import Mapping
from typing import Any

from rich.console import Console

from carrysave.report import tables

__all__ = ["show"]


def show(console: Console, facts: Mapping[str, Any]) -> None:
    """Print the facts of a simulation."""
    rows = [
        (
            kind,
            count,
            facts["of_jobs"][kind],
            facts["modelled_cycles"][kind],
            f"{facts['wrong'][kind]} WRONG" if kind in facts["wrong"] else "all",
        )
        for kind, count in facts["jobs"].items()
    ]
    columns = (
        "kind",
        ("jobs", "{:,}"),
        ("of", "{:,}"),
        ("cycles, model", "{:,}"),
        "equal to golden",
    )
    console.print()
    tables.show(console, tables.Section(f"Jobs on {facts['design']}", columns, rows))
    console.print(
        f"{facts['cycles']:,} cycles counted, {sum(facts['modelled_cycles'].values()):,} by the "
        f"cost models; {facts['seconds']:.0f} s",
        highlight=False,
    )
