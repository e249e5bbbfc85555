"""Picture of noise and accuracy of formats over what they cost."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from carrysave.report import tables
from hw.emit.user_files import shown

__all__ = ["decibels", "draw"]

_OpenBar = tuple[Any, float, float, dict[str, Any]]
"""An interval without a lower end: axes, place, upper end, how it is drawn."""


def decibels(noise: float) -> float:
    """Return noise in dB; none is minus infinity."""
    return 10 * float(np.log10(noise)) if noise else -np.inf


def _ends(span: Sequence[float] | None, member: str) -> list[float]:
    """Return the ends of an interval as they are drawn; none if there is no interval."""
    return [decibels(end) if member == "noise" else end for end in span or ()]


@tables.as_text()
def draw(facts: Mapping[str, Any]) -> bytes:
    """Draw noise and accuracy over each cost, as SVG."""
    import matplotlib

    matplotlib.use("svg")
    from matplotlib import pyplot

    axes_of = [("bits", "bits per weight"), ("cycles", "cycles per input")]
    if facts["energy"]:
        axes_of.append(("energy_uj", "uJ per input"))
    answers = "right" if facts["chosen"]["right"] is not None else "same"
    upper = facts["chosen"][answers] is not None
    figure, grid = pyplot.subplots(
        1 + upper,
        len(axes_of),
        squeeze=False,
        sharex="col",
        sharey="row",
        figsize=(3.4 * len(axes_of), 3.0 * (1 + upper)),
    )
    rows = [("noise", "noise of the outputs, dB")]
    if upper:
        rows.append((answers, "accuracy" if answers == "right" else "same class as in floats"))
    groups = (
        ("uniform", facts["uniform"], "tab:grey", "o"),
        ("mixed", facts["pareto"], "tab:blue", "o"),
        ("chosen", [facts["chosen"]], "tab:red", "*"),
        *([("fine-tuned", [facts["tuned"]], "tab:orange", "*")] if facts["tuned"] else []),
    )
    for (member, label), line in zip(rows, grid, strict=True):
        open_below: list[_OpenBar] = []
        for (cost, _), axes in zip(axes_of, line, strict=True):
            for group in groups:
                open_below += _draw_group(axes, cost, member, group)
            axes.tick_params(labelsize=7)
            axes.grid(alpha=0.3)
        # Of noise that may be none: from the bottom of the picture.
        bottom = line[0].get_ylim()[0]
        for axes, at, high, bar in open_below:
            axes.vlines(at, bottom, high, **bar)
        if open_below:
            line[0].set_ylim(bottom)
        line[0].set_ylabel(label, fontsize=8)
    for (_, text), axes in zip(axes_of, grid[-1], strict=True):
        axes.set_xlabel(text, fontsize=8)
    grid[0][0].legend(fontsize=7)
    figure.suptitle(f"{shown(facts['model'])} on {facts['design']}", fontsize=9)
    figure.tight_layout()
    return tables.svg(figure)


def _draw_group(
    axes: Any, cost: str, member: str, group: tuple[str, Sequence[Mapping[str, Any]], str, str]
) -> list[_OpenBar]:
    """Draw outcomes of a group, with intervals; return those intervals that have no lower end."""
    name, outcomes, colour, mark = group
    x = [one[cost] for one in outcomes]
    y = [decibels(one[member]) if member == "noise" else one[member] for one in outcomes]
    size = 70 if mark == "*" else 20
    axes.scatter(x, y, color=colour, marker=mark, label=name, zorder=2, s=size)
    bar = {"color": colour, "alpha": 0.6, "linewidth": 1}
    open_below: list[_OpenBar] = []
    for one, at in zip(outcomes, x, strict=True):
        span = _ends(one[f"{member}_interval"], member)
        if span and np.isfinite(span).all():
            axes.vlines(at, *span, **bar)
        elif span and np.isfinite(span[1]):
            open_below.append((axes, at, span[1], bar))
    if name == "uniform":
        for one, point in zip(outcomes, zip(x, y, strict=True), strict=True):
            text = one["name"].removeprefix("all ")
            axes.annotate(text, point, fontsize=6, xytext=(3, 2), textcoords="offset points")
    return open_below
