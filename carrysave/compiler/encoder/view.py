"""Output of ``carrysave embed``: figures, a table."""

from collections.abc import Mapping
from typing import Any

from rich.console import Console

from carrysave.compiler.encoder.evaluate import Taken
from carrysave.compiler.program.cost import Spent
from carrysave.report import tables
from carrysave.report.tables import Section

__all__ = ["figures", "markdown", "show", "show_program"]

_COLUMNS = (
    ("jobs of", "{}"),
    ("count", "{:,}"),
    ("MACs", "{:,}"),
    ("cycles", "{:,}", "less"),
    ("share", "{:.1%}", "", 1.0),
)


def figures(counted: Taken) -> dict[str, Any]:
    """Return what a program takes as plain values.

    Returns
    -------
    ``batch_tokens``, ``kinds`` (rows of the table), ``cycles``, ``macs``, ``cycles_per_token``,
    and of a layer, the mean of all: ``layer_cycles``, ``layer_roofline`` (the least that its
    products take), ``layer_products`` (what they take), ``layer_rest`` and ``layer_moved`` (bytes
    on the bus).
    """
    whole, count = counted.total, len(counted.layers)
    layer, products = (
        sum(counts.values(), Spent()) for counts in (counted.layers, counted.products)
    )
    return {
        "batch_tokens": counted.tokens,
        "kinds": [
            {
                "kind": kind,
                "jobs": one.jobs,
                "macs": one.macs,
                "cycles": one.cycles,
                "share": one.cycles / whole.cycles,
            }
            for kind, one in sorted(counted.kinds.items(), key=lambda item: -item[1].cycles)
        ],
        "cycles": whole.cycles,
        "macs": whole.macs,
        "cycles_per_token": whole.cycles / counted.tokens,
        "layer_cycles": layer.cycles / count,
        "layer_roofline": products.least / count,
        "layer_products": products.cycles / count,
        "layer_rest": (layer.cycles - products.cycles) / count,
        "layer_moved": layer.moved / count,
    }


def _table(facts: Mapping[str, Any]) -> Section:
    rows = [tuple(row.values()) for row in facts["kinds"]]
    rows.append(("all", sum(row[1] for row in rows), facts["macs"], facts["cycles"], 1.0))
    title = f"{facts['design']}, {facts['batch_tokens']:,} tokens"
    return Section(title, _COLUMNS, rows, 1, 1)


def _sentences(facts: Mapping[str, Any]) -> list[str]:
    ranks = facts["rank_correlation"]
    lines = [
        f"{facts['sentences']:,} sentences, {facts['tokens']:,} tokens; steps chosen by"
        f" {facts['calibration']:,} sentences",
        f"cosine with the vectors in floats: {facts['cosine_mean']:.4f} in the mean,"
        f" {facts['cosine_least']:.4f} at least",
    ]
    if facts["cut"]:
        lines.append(f"{facts['cut']:,} sentences are too long, and cut")
    if ranks is not None:
        lines.append(f"rank correlation of the cosines of all pairs: {ranks:.4f}")
    over = facts["layer_cycles"] / facts["layer_roofline"] - 1
    lines += [
        f"a layer takes {facts['layer_cycles']:,.0f} cycles, one job after the other,"
        f" {over:.1%} more than its products take at least",
        f"it moves {facts['layer_moved']:,.0f} bytes over the bus",
        f"{facts['cycles_per_token']:,.0f} cycles a token; computed by golden, cycles by models",
    ]
    if facts["simulated"]:
        equal = f"WRONG: {', '.join(facts['wrong'])}" if facts["wrong"] else "equal to golden"
        lines.append(
            f"{facts['simulated']:,} jobs of the first sentence, simulated in"
            f" {facts['simulated_cycles']:,} cycles: {equal}"
        )
    if facts["whole_modelled"]:
        lines.append(
            f"of these, whole jobs in {facts['whole_cycles']:,} cycles,"
            f" {facts['whole_modelled']:,} by the models"
        )
    return lines


def show(console: Console, facts: Mapping[str, Any]) -> None:
    """Print the results."""
    tables.show(console, _table(facts))
    tables.say(console, _sentences(facts))


def show_program(console: Console, facts: Mapping[str, Any]) -> None:
    """Print what a program of an encoder has made."""
    lines = [
        f"{facts['design']}: {facts['sentences']:,} sentences, {facts['tokens']:,} tokens;"
        f" {facts['cycles']:,} cycles of the longest by the cost model"
    ]
    if facts["cut"]:
        lines.append(f"{facts['cut']:,} sentences are too long, and cut")
    tables.say(console, lines)


def markdown(facts: Mapping[str, Any]) -> str:
    """Format the results as Markdown."""
    return tables.document(facts, [_table(facts)], _sentences(facts))
