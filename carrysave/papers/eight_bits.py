"""FP8 against INT8: multiply-accumulate lanes of one format each, in one flow."""

from collections.abc import Iterator
from typing import Any

from carrysave.asic import synthesis
from carrysave.asic.liberty.cells import Library
from carrysave.progress import Steps
from carrysave.report.tables import Section, svg
from golden.formats.element import ElementFormat
from golden.formats.names import parse
from golden.formats.quire import QuireSpec
from hw.catalog import Design

__all__ = ["draw", "lanes", "measure", "remarks", "sections"]

Result = dict[str, Any]

PUBLISHED = (1.5, 2.8)
"""What FP formats take of INT8's: "somewhere between 50-180% less efficient"."""

_K_MAX, _WIDTH = 1 << 16, 32
"""Products that an exact sum must hold, and bits of such a sum of int8."""

_FLOATS = (("e3m4", "fp16"), ("e4m3", "fp16"), ("e5m2", "fp16"), ("e4m3", "fp32"), ("e5m2", "fp32"))
_DEPTHS = (0, 2)  # pipeline registers; the denser lane counts

Lane = tuple[str, str, tuple[Design, ...]]
"""Format of operands, that of the sum, and candidates."""


def _exact(name: str) -> Lane:
    """Return the lane of a format whose sum is exact, and no wider than it must be."""
    fmt = parse(name)
    assert isinstance(fmt, ElementFormat)
    width = QuireSpec(a_format=fmt, b_format=fmt, k_max=_K_MAX).width
    fields = {"formats": name, "accumulator_width": width}
    return name, f"exact, {width} bits", _candidates("sl8", fields)


def _rounded(name: str, total: str) -> Lane:
    """Return the lane of a format whose sum is a float, rounded in each cycle."""
    fields = {"a_format": name, "b_format": name, "sum_format": total}
    return name, total, _candidates("float_mac", fields)


def _candidates(name: str, fields: dict[str, Any]) -> tuple[Design, ...]:
    return tuple(Design(name, {**fields, "pipeline": depth}) for depth in _DEPTHS)


def lanes() -> list[Lane]:
    """Return the lanes, INT8's first: each takes a pair of codes in a cycle."""
    name, total, designs = _exact("int8")
    elements = _candidates("opt1", {"accumulator_width": _WIDTH})  # denser than a lane of formats
    return [
        (name, total, (*designs, *elements)),
        _exact("e4m3"),
        *(_rounded(*pair) for pair in _FLOATS),
    ]


def measure(target: str | Library, quick: bool, steps: Steps) -> Result:
    """Measure the densest netlist of each lane; by one mapping of each design, if `quick`.

    Returns
    -------
    A dict of plain values: ``library``, ``versions``, the ``published`` ratios, and
    ``eight_bits``, each
    with ``operands``, ``sum``, the result; ``area_ratio``, its area by that of the first; and
    ``ratio``, its area for as many operations a second.
    """
    made = lanes()
    steps.plan(sum(len(designs) for _, _, designs in made))
    results = []
    for _, _, designs in made:
        tried = []
        for design in designs:
            steps.step(design.module)
            tried.append(
                synthesis.synthesise_design(design, target, sweep=not quick, activity="assumed")
            )
        results.append(max(tried, key=lambda result: result["gops_per_mm2"]))
    first = results[0]
    return {
        "library": first["target"],
        "versions": first["versions"],
        "published": list(PUBLISHED),
        "eight_bits": [
            {
                "operands": name,
                "sum": total,
                "area_ratio": result["area_um2"] / first["area_um2"],
                "ratio": first["gops_per_mm2"] / result["gops_per_mm2"],
                **{key: result[key] for key in _FACTS},
            }
            for (name, total, _), result in zip(made, results, strict=True)
        ],
    }


_FACTS = ("module", "area_um2", "period_ns", "gops_per_mm2", "recipe")
_COLUMNS = (
    ("operands", "{}"),
    ("sum", "{}"),
    ("design", "{}"),
    ("area um2", "{:,.0f}", "less"),
    ("period ns", "{:.3f}", "less"),
    ("GOPS/mm2", "{:,.1f}"),
    ("to INT8, paper", "{}"),
    ("area", "{:.2f}"),
    ("at equal GOPS", "{:.2f}"),
)
_NARROW = (0, 1, 3, 4, 6, 7, 8)


def _cells(measured: Result) -> Iterator[list[Any]]:
    """Return a row for each lane; the paper's range stands beside those of FP8."""
    least, most = measured["published"]
    named = ("operands", "sum", "module", "area_um2", "period_ns")
    for row in measured["eight_bits"]:
        facts = [row[key] for key in named]
        paper = "1" if row["operands"] == "int8" else f"{least} to {most}"
        yield [*facts, row["gops_per_mm2"], paper, row["area_ratio"], row["ratio"]]


def sections(measured: Result, wide: bool) -> list[Section]:
    """Return the table; unless `wide`, without modules and densities."""
    shown = range(len(_COLUMNS)) if wide else _NARROW
    rows = [[row[place] for place in shown] for row in _cells(measured)]
    return [Section("lanes", [_COLUMNS[place] for place in shown], rows, 2)]


def remarks(measured: Result) -> list[str]:
    """Say what the ratios are of, and which formats are in the paper's range."""
    least, most = measured["published"]
    inside = {
        ratio: ", ".join(
            f"{row['operands']} ({row['sum']})"
            for row in measured["eight_bits"][1:]
            if least <= row[ratio] <= most
        )
        for ratio in ("area_ratio", "ratio")
    }
    return [
        "Lanes without memory and bus, which take a pair of codes in a cycle, the densest of 0 and"
        " 2 pipeline registers; of int8 opt1's, too. The abstract, which has the range, says not of"
        " which formats and accumulators it is.",
        f"Exact sums hold {_K_MAX:,} products. Sums in fp16 and fp32 are rounded in each cycle,"
        " with subnormals, infinities and NaN, so that a whole addition is in the loop: that is why"
        " they are worse at equal GOPS than by area.",
        f"In the paper's range by area: {inside['area_ratio'] or 'none'}; at equal GOPS:"
        f" {inside['ratio'] or 'none'}.",
    ]


def draw(measured: Result) -> bytes:
    """Draw ratios to INT8, and the paper's range, as SVG."""
    from matplotlib import pyplot

    rows = measured["eight_bits"]
    figure, axes = pyplot.subplots(figsize=(8, 1.6 + 0.5 * len(rows)), layout="constrained")
    axes.axvspan(*measured["published"], color="0.9", label="paper's range of FP8")
    for shift, (key, text) in enumerate((("area_ratio", "area"), ("ratio", "at equal GOPS"))):
        places = [number - 0.2 + 0.4 * shift for number in range(len(rows))]
        bars = axes.barh(places, [row[key] for row in rows], height=0.38, label=text)
        axes.bar_label(bars, fmt="%.2f", padding=3, fontsize=8)
    axes.set_yticks(range(len(rows)), [f"{row['operands']}, {row['sum']}" for row in rows])
    axes.invert_yaxis()
    axes.margins(x=0.15)
    axes.set_xlabel(f"ratio to int8, {measured['library']}")
    axes.legend(loc="lower right", fontsize=8)
    return svg(figure)
