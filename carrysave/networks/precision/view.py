"""Output of ``carrysave precision``: tables and a picture."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np
from rich.console import Console

from carrysave.report import tables
from carrysave.report.page import Page, Scatter, Text, package_versions
from carrysave.report.tables import Section
from hw.emit.user_files import shown

__all__ = ["draw", "markdown", "page", "show"]

_LAYERS = (
    ("layer", "{}"), ("operator", "{}"), ("A", "{}"), ("B", "{}"), ("noise, dB", "{:.1f}"),
    ("KiB", "{:,.2f}"), ("cycles", "{:,.0f}"), ("uJ", "{:,.3g}"),
)  # fmt: skip
_OUTCOMES = (
    ("formats", "{}"), ("bits", "{:.2f}", "less"), ("KiB", "{:,.2f}", "less"),
    ("cycles", "{:,.0f}", "less"), ("uJ", "{:,.3g}", "less"), ("noise, dB", "{:.1f}", "less"),
    ("same top-1", "{:.1%}", "more"), ("accuracy", "{:.1%}", "more"),
)  # fmt: skip


def _decibels(noise: float) -> float:
    return 10 * float(np.log10(noise)) if noise else -np.inf


def _layers(found: Mapping[str, Any]) -> Section:
    """Tabulate the choice for each layer."""
    rows = [
        (
            row["layer"], row["operator"], row["a"], row["b"], _decibels(row["noise"]),
            row["bytes"] / 1024, row["cycles"], row["energy_uj"],
        )
        for row in found["layers"]
    ]  # fmt: skip
    title = f"{found['model']} on {found['design']}, at most {_limits(found)}; figures per input"
    return Section(title, _LAYERS, rows, 4)


def _outcomes(found: Mapping[str, Any]) -> Section:
    """Tabulate whole networks, the chosen one first."""
    rows = [
        (
            row["name"], row["bits"], row["bytes"] / 1024, row["cycles"], row["energy_uj"],
            _decibels(row["noise"]), row["same"], row["right"],
        )
        for row in (found["chosen"], *found["pareto"], *found["uniform"])
    ]  # fmt: skip
    return Section(f"whole networks, {found['judged']} inputs", _OUTCOMES, rows)


def _sentences(found: Mapping[str, Any]) -> list[str]:
    """Explain the figures."""
    lines = [
        "noise: of the outputs, relative to them; for a layer, if only it is rounded,"
        f" on {found['calibration']} calibration inputs",
        "bits: mean per weight; KiB: of weights in memory; cycles: by the co-processor's cost"
        " model",
    ]
    right = found["chosen"]["right_floats"]
    if right is not None:
        lines.append(f"accuracy in floats: {right:.1%}")
    if found["energy"]:
        each = ", ".join(
            f"{pj:.2f} pJ ({pair})" for pair, pj in found["energy"]["pj_per_mac"].items()
        )
        lines.append(f"energy: of the engine alone, {each}, on {found['energy']['library']}")
    return lines


def show(console: Console, found: Mapping[str, Any]) -> None:
    """Print the results."""
    for table in (_layers(found), _outcomes(found)):
        tables.show(console, table)
    for line in _sentences(found):
        console.print(line, highlight=False, markup=False, soft_wrap=True)


def markdown(found: Mapping[str, Any]) -> str:
    """Format the results as Markdown."""
    lines = tables.heading(found)
    for table in (_layers(found), _outcomes(found)):
        lines += [f"## {table.title}", "", *tables.markdown(table), ""]
    lines += [*(f"- {line}" for line in _sentences(found)), ""]
    return "\n".join(lines)


def page(found: Mapping[str, Any]) -> Page:
    """Return the page of the results."""
    chosen, judged = found["chosen"], found["judged"]
    layers = replace(_layers(found), title="layers, figures per input")
    shares = (("same class as in floats", chosen["same"]), ("accuracy", chosen["right"]))
    return Page(
        title=f"formats of {found['model']} on {found['design']}",
        says=f"{judged:,} inputs; at most {_limits(found)}",
        command=found["command"],
        versions=package_versions("numpy", "onnx", "onnxruntime", "scipy"),
        summary=[
            ("bits per weight", f"{chosen['bits']:.2f}"),
            ("weights", f"{chosen['bytes'] / 1024:,.2f} KiB"),
            ("cycles per input", f"{chosen['cycles']:,.0f}"),
            ("noise", f"{_decibels(chosen['noise']):.1f} dB"),
            *((name, f"{share:.1%}") for name, share in shares if share is not None),
        ],
        parts=[
            Scatter(_outcomes(found), "KiB", "noise, dB", marked=[0], mark="chosen"),
            Scatter(layers, "KiB", "noise, dB", group="A"),
            Text("What the figures are", _sentences(found)),
        ],
    )


def _limits(found: Mapping[str, Any]) -> str:
    """Write the budgets."""
    return ", ".join(f"{kind} {limit:,.6g}" for kind, limit in found["limits"].items())


@tables.as_text()
def draw(found: Mapping[str, Any]) -> bytes:
    """Draw noise and accuracy over each cost, as SVG."""
    import matplotlib

    matplotlib.use("svg")
    from matplotlib import pyplot

    axes_of = [("bits", "bits per weight"), ("cycles", "cycles per input")]
    if found["energy"]:
        axes_of.append(("energy_uj", "uJ per input"))
    answers = "right" if found["chosen"]["right"] is not None else "same"
    upper = found["chosen"][answers] is not None
    figure, grid = pyplot.subplots(
        1 + upper, len(axes_of), squeeze=False, sharex="col", sharey="row",
        figsize=(3.4 * len(axes_of), 3.0 * (1 + upper)),
    )  # fmt: skip
    rows = [("noise", "noise of the outputs, dB")]
    if upper:
        rows.append((answers, "accuracy" if answers == "right" else "same class as in floats"))
    groups = (
        ("uniform", found["uniform"], "tab:grey", "o"),
        ("mixed", found["pareto"], "tab:blue", "o"),
        ("chosen", [found["chosen"]], "tab:red", "*"),
    )
    for (member, label), line in zip(rows, grid, strict=True):
        for (cost, _), axes in zip(axes_of, line, strict=True):
            for name, outcomes, colour, mark in groups:
                x = [one[cost] for one in outcomes]
                y = [_decibels(one[member]) if member == "noise" else one[member]
                     for one in outcomes]  # fmt: skip
                axes.scatter(x, y, color=colour, marker=mark, label=name, zorder=2,
                             s=70 if mark == "*" else 20)  # fmt: skip
                if name == "uniform":
                    for one, at in zip(outcomes, zip(x, y, strict=True), strict=True):
                        axes.annotate(one["name"].removeprefix("all "), at, fontsize=6,
                                      xytext=(3, 2), textcoords="offset points")  # fmt: skip
            axes.tick_params(labelsize=7)
            axes.grid(alpha=0.3)
        line[0].set_ylabel(label, fontsize=8)
    for (_, text), axes in zip(axes_of, grid[-1], strict=True):
        axes.set_xlabel(text, fontsize=8)
    grid[0][0].legend(fontsize=7)
    figure.suptitle(f"{shown(found['model'])} on {found['design']}", fontsize=9)
    figure.tight_layout()
    return tables.svg(figure)
