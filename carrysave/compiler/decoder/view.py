"""What of a language model ran on the block, as a table; and how well it foresees a text."""

from collections.abc import Mapping
from typing import Any

from rich.console import Console

from carrysave.compiler.decoder.summary import lines
from carrysave.report import tables

__all__ = ["show", "show_perplexity"]


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


def show_perplexity(console: Console, facts: Mapping[str, Any]) -> None:
    """Print the perplexity of a text."""
    low, high = facts["interval"]
    said = [
        f"perplexity {facts['perplexity']:.4f} ({low:.4f} to {high:.4f} at 95 %), "
        f"{facts['bits']:.4f} bits a token, {facts['bits_of_byte']:.4f} a byte of the text",
        f"{facts['tokens']:,} tokens in {facts['windows']:,} windows of {facts['window']:,}; "
        f"{facts['rate']:,} tokens a second",
        *lines(facts["model"]),
    ]
    for line in said:
        console.print(line, highlight=False, soft_wrap=True)
