"""Comparisons of synthesised designs: JSON, and a picture."""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from carrysave import cache
from carrysave.errors import installed, remedy
from carrysave.report.figures import FIGURES, NO_RATIO, ratio
from carrysave.report.tables import as_text, svg

__all__ = ["compared", "write_comparison"]

_PANELS = (
    ("area_um2", "area, um2", "{:,.0f}"),
    ("area_ge", "area, GE", "{:,.0f}"),
    ("period_fo4", "minimum period, FO4", "{:.2f}"),
    ("operations_per_fo4_kge", "operations a FO4 and kGE", "{:.4f}"),
    ("period_ns", "minimum period, ns", "{:.3f}"),
    ("gops_per_mm2", "GOPS/mm2", "{:,.1f}"),
    ("pj_per_mac", "pJ per MAC", "{:,.2f}"),
    ("luts", "LUTs", "{:,}"),
    ("ffs", "flip-flops", "{:,}"),
    ("dsps", "DSPs", "{:,}"),
    ("brams", "block RAMs", "{:,}"),
    ("fmax_mhz", "Fmax, MHz", "{:,.0f}"),
)
_OF_FPGAS = ("luts", "ffs", "dsps", "brams", "fmax_mhz")


def compared(
    names: Sequence[str], results: Sequence[dict[str, Any]], command: str
) -> dict[str, Any]:
    """Return a comparison: results, each with its ratios to the first.

    Parameters
    ----------
    names : of the results, as the user has them.
    command : the command line.

    Returns
    -------
    A dict of plain values: ``command``, ``target``, ``notes``, ``answer``, which is None, see
    :func:`carrysave.report.ranking.answered`, and ``designs``, each with its
    ``name``, its ``result``, see :func:`carrysave.asic.synthesis.synthesise`, and ``ratios`` by
    key of the result; None where a figure is not there, or is 0 in the first.
    """
    first = results[0]
    keys = [
        figure.key
        for figure in FIGURES
        if figure.key not in NO_RATIO
        and ratio(first.get(figure.key), first.get(figure.key)) is not None
    ]
    return {
        "command": command,
        "target": first["target"],
        "notes": [],
        "answer": None,
        "designs": [
            {
                "name": name,
                "result": result,
                "ratios": {key: ratio(result.get(key), first[key]) for key in keys},
            }
            for name, result in zip(names, results, strict=True)
        ],
    }


def write_comparison(folder: Path, comparison: dict[str, Any]) -> list[str]:
    """Write a comparison as JSON and a picture; note if there is none."""
    files = []
    if installed("matplotlib"):
        files.append(cache.write(folder / f"compare.{comparison['target']}.svg", draw(comparison)))
    else:
        comparison["notes"].append(f"no picture, which needs {remedy('matplotlib')}")
    path = folder / f"compare.{comparison['target']}.json"
    names = [str(file) for file in (*files, path)]
    cache.write(path, json.dumps({**comparison, "files": names}, indent=2) + "\n")
    return names


def draw(comparison: dict[str, Any]) -> bytes:
    """Draw the figures of a comparison as bars, with their ratios to the first, as SVG."""
    import matplotlib

    matplotlib.use("svg")
    from matplotlib import pyplot

    entries = comparison["designs"]
    results = [entry["result"] for entry in entries]
    fpga = results[0]["luts"] is not None
    panels = [
        panel
        for panel in _PANELS
        if (panel[0] in _OF_FPGAS) == fpga and any(result.get(panel[0]) for result in results)
    ]
    height = 1.2 + 0.5 * len(entries)
    with as_text():
        figure, axes = pyplot.subplots(
            1,
            len(panels),
            figsize=(2 + 2.6 * len(panels), height),
            sharey=True,
            layout="constrained",
            squeeze=False,
        )
        for plot, (key, title, form) in zip(axes[0], panels, strict=True):
            values = [result.get(key) or 0.0 for result in results]
            bars = plot.barh(
                range(len(values)),
                values,
                height=0.6,
                color=["0.7", *["tab:blue"] * (len(values) - 1)],
            )
            labels = [
                "none"
                if result.get(key) is None
                else form.format(result[key])
                + (f"  {ratio:.2f}x" if (ratio := entry["ratios"].get(key)) is not None else "")
                for entry, result in zip(entries, results, strict=True)
            ]
            plot.bar_label(bars, labels=labels, padding=3, fontsize=8)
            plot.margins(x=0.6)
            plot.set_xlabel(title)
            plot.set_xticks([])
            plot.spines[["top", "right", "bottom"]].set_visible(False)
        axes[0][0].set_yticks(range(len(entries)), [entry["name"] for entry in entries], fontsize=9)
        axes[0][0].invert_yaxis()
        figure.suptitle(f"{comparison['target']}; ratios to {entries[0]['name']}", fontsize=10)
        return svg(figure)
