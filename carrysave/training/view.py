"""Output of ``carrysave train``: a table, and a page with curves."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from rich.console import Console

from carrysave.report import tables
from carrysave.report.page import Page, Picture, Text, package_versions
from carrysave.report.tables import Section

__all__ = ["curves", "markdown", "page", "show"]

_COLUMNS = (
    ("format", "{}"),
    ("rounding", "{}"),
    ("accuracy", "{:.2%}", "more"),
    ("loss", "{:.4f}", "less"),
    ("test loss", "{:.4f}", "less"),
    ("cycles", "{:,}", "less"),
    ("bytes", "{:,}", "less"),
)
_MEAN = 10
"""Steps of which curves have the mean: batches differ more than formats."""
_COLOURS = ("tab:grey", "black", "tab:blue", "tab:orange", "tab:green", "tab:red")


def _table(facts: Mapping[str, Any]) -> Section:
    rows = [
        (
            row["format"],
            row["rounding"],
            row["accuracy"],
            row["loss"],
            row["test_loss"],
            row["cycles"],
            row["bytes"],
        )
        for row in facts["rows"]
    ]
    return Section(f"{facts['model']}: {_length(facts)}", _COLUMNS, rows, 2)


def _length(facts: Mapping[str, Any]) -> str:
    seeds = f"{facts['seeds']} seeds" if facts["seeds"] > 1 else "1 seed"
    return f"{facts['steps']:,} steps of {facts['batch']}, {seeds}"


def _sentences(facts: Mapping[str, Any]) -> list[str]:
    lines = [
        f"accuracy: of {facts['test_images']:,} images that are not among the {facts['images']:,}"
        " that it learns from; the mean over seeds; products in the format",
        "loss: the cross entropy of the last steps; rounding: of gradients and of updates;"
        " activations and weights are rounded to nearest",
        "all products but those of float32 and bf16 are jobs, computed by golden, bit by bit;"
        " cycles and bytes are those of a step's jobs, by the cost model",
    ]
    for one in facts["simulated"]:
        equal = f"WRONG: {', '.join(one['wrong'])}" if one["wrong"] else "equal to golden"
        lines.append(
            f"{one['format']}: {one['jobs']} jobs of a step, simulated in {one['cycles']:,} cycles,"
            f" {one['modelled_cycles']:,} by the model: {equal}"
        )
    return lines


def show(console: Console, facts: Mapping[str, Any]) -> None:
    """Print the results."""
    tables.show(console, _table(facts))
    tables.say(console, _sentences(facts))


def markdown(facts: Mapping[str, Any]) -> str:
    """Format the results as Markdown."""
    return tables.document(facts, [_table(facts)], _sentences(facts))


def page(facts: Mapping[str, Any]) -> Page:
    """Return the page of the results."""
    rows = facts["rows"]
    return Page(
        title=f"training of {facts['model']}",
        says=_length(facts),
        command=facts["command"],
        versions=package_versions("numpy", "scikit-learn", "matplotlib"),
        summary=[(f"{_name(row)}", f"{row['accuracy']:.2%}") for row in rows],
        parts=[
            Picture(
                "Loss of each step",
                curves(facts),
                f"loss of {len(rows)} trainings, which falls from {rows[0]['curve'][0]:.2f}",
                width=640,
            ),
            _table(facts),
            Text("What the figures are", _sentences(facts)),
        ],
    )


def _name(row: Mapping[str, Any]) -> str:
    return row["format"] if row["rounding"] is None else f"{row['format']}, {row['rounding']}"


def _smooth(curve: Sequence[float]) -> list[float]:
    """Return the mean of each step's loss and of those before it."""
    sums = np.cumsum([0.0, *curve])
    ends = np.arange(1, len(curve) + 1)
    starts = np.maximum(ends - _MEAN, 0)
    means: list[float] = ((sums[ends] - sums[starts]) / (ends - starts)).tolist()
    return means


@tables.as_text()
def curves(facts: Mapping[str, Any]) -> bytes:
    """Draw losses, the mean over seeds and some steps, as SVG; one colour for each format."""
    import matplotlib

    matplotlib.use("svg")
    from matplotlib import pyplot

    figure, axes = pyplot.subplots(figsize=(8, 4.5))
    formats = list(dict.fromkeys(row["format"] for row in facts["rows"]))
    for row in facts["rows"]:
        colour = _COLOURS[formats.index(row["format"]) % len(_COLOURS)]
        line = "--" if row["rounding"] == "nearest" else "-"
        losses = _smooth(row["curve"])
        places = range(1, len(losses) + 1)
        axes.plot(places, losses, line, color=colour, label=_name(row), linewidth=1)
    axes.set_yscale("log")
    axes.yaxis.set_major_formatter("{x:g}")
    axes.yaxis.set_minor_formatter("{x:g}")
    axes.set_xlabel("step", fontsize=8)
    axes.set_ylabel(f"cross entropy, mean of {_MEAN} steps", fontsize=8)
    axes.tick_params(labelsize=7, which="both")
    axes.grid(alpha=0.3)
    axes.legend(fontsize=7)
    figure.tight_layout()
    return tables.svg(figure)
