"""A search's front as a table."""

from typing import Any

from rich.console import Console
from rich.table import Table

from carrysave.report.designs import print_line

__all__ = ["show"]


def show(console: Console, found: dict[str, Any]) -> None:
    """Print the front, and what was tried."""
    names = found["objectives"]
    table = Table(title=f"Front on {found['target']}", title_justify="left")
    for head in ("#", "design", *names, "verified"):
        table.add_column(head, justify="left" if head in {"design", "verified"} else "right")
    chosen = [row for row in found["points"] if row["front"]]
    for number, row in enumerate(chosen):
        figures = (f"{row[name]:,.4g}" if abs(row[name]) < 1e4 else f"{row[name]:,.0f}"
                   for name in names)  # fmt: skip
        values = ",".join(f"{name}={value}" for name, value in row["values"].items())
        verified = {True: "yes", False: "FAILS", None: "-"}[row["verified"]]
        table.add_row(str(number), f"{row['design']}({values})", *figures, verified)
    console.print(table)
    print_line(
        console,
        f"{found['trials']} of {found['space_points']} designs measured by {found['method']}; "
        f"{found['front']} are beaten by none",
    )
    for row in found["points"]:
        if row["error"]:
            print_line(console, f"{row['module']}: {row['error']}")
    for note in found["notes"]:
        print_line(console, note)
