"""What of a language model ran on the block, as a table."""

from collections.abc import Mapping
from typing import Any

from rich.console import Console

from carrysave.report import tables

__all__ = ["show"]


def show(console: Console, found: Mapping[str, Any]) -> None:
    """Print the facts of a simulation."""
    rows = [
        (
            kind,
            count,
            found["of_jobs"][kind],
            found["modelled_cycles"][kind],
            f"{found['wrong'][kind]} WRONG" if kind in found["wrong"] else "all",
        )
        for kind, count in found["jobs"].items()
    ]
    columns = (
        "kind",
        ("jobs", "{:,}"),
        ("of", "{:,}"),
        ("cycles, model", "{:,}"),
        "equal to golden",
    )
    console.print()
    tables.show(console, tables.Section(f"Jobs on {found['design']}", columns, rows))
    console.print(
        f"{found['cycles']:,} cycles counted, {sum(found['modelled_cycles'].values()):,} by the "
        f"cost models; {found['seconds']:.0f} s",
        highlight=False,
    )
