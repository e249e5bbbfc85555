"""Output of ``carrysave precision``: tables and a page."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from rich.console import Console

from carrysave.precision.picture import decibels
from carrysave.report import tables
from carrysave.report.page import Page, Scatter, Text, package_versions
from carrysave.report.tables import Section

__all__ = ["markdown", "page", "show"]

_LAYERS = (
    ("layer", "{}"),
    ("operator", "{}"),
    ("A", "{}"),
    ("B", "{}"),
    ("noise, dB", "{:.1f}"),
    ("KiB", "{:,.2f}"),
    ("cycles", "{:,.0f}"),
    ("uJ", "{:,.3g}"),
)
_OUTCOMES = (
    ("formats", "{}"),
    ("bits", "{:.2f}", "less"),
    ("KiB", "{:,.2f}", "less"),
    ("cycles", "{:,.0f}", "less"),
    ("uJ", "{:,.3g}", "less"),
    ("noise, dB", "{:.1f}", "less"),
    ("same top-1", "{:.1%}", "more"),
    ("accuracy", "{:.1%}", "more"),
)
_INTERVALS = ("formats", "noise, dB", "same top-1, %", "accuracy, %", "change, %")


def _span(
    interval: Sequence[float] | None,
    unit: Callable[[float], float] = lambda x: 100 * x,
    sign: str = "-",
) -> str | None:
    """Write an interval, from..to; of noise that may be none, the most alone."""
    if interval is None:
        return None
    low, high = (unit(end) for end in interval)
    text = f"{high:{sign}.1f}"
    return f"at most {text}" if low == -np.inf < high else f"{low:{sign}.1f}..{text}"


def _layers(facts: Mapping[str, Any]) -> Section:
    """Tabulate the choice for each layer."""
    rows = [
        (
            row["layer"],
            row["operator"],
            *(_along(row, side) for side in "ab"),
            decibels(row["noise"]),
            row["bytes"] / 1024,
            row["cycles"],
            row["energy_uj"],
        )
        for row in facts["layers"]
    ]
    title = f"{facts['model']} on {facts['design']}, {_limits(facts)}; figures per input"
    return Section(title, _LAYERS, rows, 4)


def _along(row: Mapping[str, Any], side: str) -> str:
    """Name the format of an operand of a layer, or both along K."""
    split = row.get("split")
    return row[side] if split is None else f"{row[side]} + {len(split['columns'])} {split[side]}"


def _outcomes(facts: Mapping[str, Any]) -> Section:
    """Tabulate whole networks, the chosen one first."""
    rows = [
        (
            row["name"],
            row["bits"],
            row["bytes"] / 1024,
            row["cycles"],
            row["energy_uj"],
            decibels(row["noise"]),
            row["same"],
            row["right"],
        )
        for row in _networks(facts)
    ]
    return _filled(Section(f"whole networks, {facts['judged']} inputs", _OUTCOMES, rows))


def _intervals(facts: Mapping[str, Any]) -> Section:
    """Tabulate the intervals of their figures."""
    rows = [
        (
            row["name"],
            _span(row["noise_interval"], decibels),
            _span(row["same_interval"]),
            _span(row["right_interval"]),
            _span(row["change_interval"], sign="+"),
        )
        for row in _networks(facts)
    ]
    return _filled(Section("intervals of 95 %", _INTERVALS, rows))


def _networks(facts: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    """List whole networks, the chosen one first, then with weights that were fitted to it."""
    tuned = [facts["tuned"]] if facts["tuned"] else []
    return [facts["chosen"], *tuned, *facts["pareto"], *facts["uniform"]]


def _filled(table: Section) -> Section:
    """Leave out columns without figures."""
    places = {head: column for column, head in enumerate(table.heads)}
    filled = [head for head, at in places.items() if any(row[at] is not None for row in table.rows)]
    return table.only(filled)


def _sentences(facts: Mapping[str, Any]) -> list[str]:
    """Explain the figures."""
    lines = [
        "noise: of the outputs, relative to them; for a layer, if only it is rounded,"
        f" on {facts['calibration']} calibration inputs",
        "bits: mean per weight; KiB: of weights in memory; cycles: by the co-processor's cost"
        " model",
    ]
    right = facts["chosen"]["right_floats"]
    if right is not None:
        span = _span(facts["chosen"]["right_floats_interval"])
        lines.append(f"accuracy in floats: {right:.1%} ({span} %)")
    lines.append(
        "intervals hold with 95 %: Wilson's for shares, by the standard error for noise"
        + ("" if right is None else "; change: of the accuracy in floats, by matched inputs, in %")
    )
    if facts["tuned"]:
        lines.append(
            "fine-tuned: weights learnt, in the chosen formats, the float network's outputs on the"
            " calibration inputs"
        )
    if facts["energy"]:
        each = ", ".join(
            f"{pj:.2f} pJ ({pair})" for pair, pj in facts["energy"]["pj_per_mac"].items()
        )
        lines.append(f"energy: of the engine alone, {each}, on {facts['energy']['library']}")
    return lines


def show(console: Console, facts: Mapping[str, Any]) -> None:
    """Print the results."""
    for table in (_layers(facts), _outcomes(facts), _intervals(facts)):
        tables.show(console, table)
    tables.say(console, _sentences(facts))


def markdown(facts: Mapping[str, Any]) -> str:
    """Format the results as Markdown."""
    every = _layers(facts), _outcomes(facts), _intervals(facts)
    return tables.document(facts, every, _sentences(facts))


def page(facts: Mapping[str, Any]) -> Page:
    """Return the page of the results."""
    chosen, judged = facts["chosen"], facts["judged"]
    layers = replace(_layers(facts), title="layers, figures per input")
    shares = (("same class as in floats", "same"), ("accuracy", "right"))
    return Page(
        title=f"formats of {facts['model']} on {facts['design']}",
        says=f"{judged:,} inputs; {_limits(facts)}",
        command=facts["command"],
        versions=package_versions("numpy", "onnx", "onnxruntime", "scipy"),
        summary=[
            ("bits per weight", f"{chosen['bits']:.2f}"),
            ("weights", f"{chosen['bytes'] / 1024:,.2f} KiB"),
            ("cycles per input", f"{chosen['cycles']:,.0f}"),
            ("noise", f"{decibels(chosen['noise']):.1f} dB"),
            *(
                (name, f"{chosen[key]:.1%} ({_span(chosen[f'{key}_interval'])} %)")
                for name, key in shares
                if chosen[key] is not None
            ),
        ],
        parts=[
            Scatter(_outcomes(facts), "KiB", "noise, dB", marked=[0], mark="chosen"),
            _intervals(facts),
            Scatter(layers, "KiB", "noise, dB", group="A"),
            Text("What the figures are", _sentences(facts)),
        ],
    )


def _limits(facts: Mapping[str, Any]) -> str:
    """Write the budgets."""
    limits = ", ".join(f"{kind} {limit:,.6g}" for kind, limit in facts["limits"].items())
    return f"at most {limits}" if limits else "two formats along K"
