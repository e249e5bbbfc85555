"""Tables of ratios: optimised designs and their baselines in one flow."""

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from carrysave.asic import synthesis
from carrysave.asic.liberty.cells import Library
from carrysave.progress import Steps
from carrysave.report.tables import Section, svg
from hw.catalog import Design

__all__ = ["Row", "Rows", "draw", "ent", "hpca25", "measure", "remarks", "sections"]

Result = dict[str, Any]


@dataclass(frozen=True)
class Row:
    """One comparison of a paper, and our designs for it.

    Members
    -------
    name : what is compared, in the paper's words.
    optimised, baseline : candidate designs; the best GOPS/mm2 of each side counts.
    area, energy : the paper's ratio of area and energy efficiency; None where it gives none.
    remark : differences from the paper, as a sentence.
    """

    name: str
    optimised: tuple[Design, ...]
    baseline: tuple[Design, ...]
    area: float | None
    energy: float | None
    remark: str


Rows = Callable[[bool], list[Row]]
"""Makes the rows of a table; small designs if called with True."""


def _pipelined(name: str, depths: Sequence[int], **parameters: Any) -> tuple[Design, ...]:
    """Return a design with each of some numbers of pipeline registers; without any, its own."""
    if not depths:
        return (Design(name, parameters),)
    return tuple(Design(name, {**parameters, "pipeline": depth}) for depth in depths)


_Ratios = tuple[float | None, float | None]


def hpca25(quick: bool) -> list[Row]:
    """Make the rows of the HPCA 2025 bit-weight paper's table."""
    # Small enough for power from simulation, not from assumed activity.
    side, edge, trees, lanes = (4, 2, 1, 4) if quick else (8, 4, 4, 16)
    square = {"m": side, "n": side}
    shapes: list[
        tuple[str, str, dict[str, int], tuple[int, ...], str, _Ratios, str]
    ] = [
        ("systolic array", "systolic_os", square, (0, 1), "opt1", (1.27, 1.04),
         "Output-stationary here; the paper does not say which."),
        ("systolic array, weight-stationary", "systolic_ws", {**square, "k": side}, (0, 1), "opt1",
         (1.27, 1.04), "Partial sums recirculate in the array; the paper has no separate row."),
        ("3D cube", "cube", {"m": edge, "n": edge, "k": edge}, (1, 2), "opt1", (1.28, 1.56),
         "The baseline adds its products on one heap too, and resolves once per cycle."),
        ("multiplier-adder tree", "adder_tree", {"m": 1, "n": trees, "k": 16}, (1, 2), "opt2",
         (1.56, 1.49), "The baseline's tree is in carry-save form too, up to its accumulator."),
        ("multiplier-adder tree, OPT1", "adder_tree", {"m": 1, "n": trees, "k": 16}, (1, 2), "opt1",
         (None, None), "One accumulator instead of OPT2's four, which have more bits."),
        ("2D matrix", "matrix_2d", square, (0, 1), "opt1", (1.44, 1.20),
         "Operands are broadcast along rows and move down columns."),
    ]  # fmt: skip
    rows = []
    for name, design, size, depths, pe, (area, energy), remark in shapes:
        ours, twin = (
            _pipelined(design, () if quick else depths, **size, pe=kind) for kind in (pe, "mac")
        )
        rows.append(Row(name, ours, twin, area, energy, remark))
    rows += [
        Row(
            f"bit-slice against Laconic, {pe}",
            (Design("digit_column", {"m": 1, "n": lanes, "pe": pe, "k": k}),),
            (Design("laconic", {"k": 1}), Design("laconic", {"k": 4 if quick else 16})),
            2.85,
            12.10,
            "Throughput of both is sustained at operands of N(0, 20); this Laconic has non-adjacent"
            " terms only.",
        )
        for pe, k in (("opt4c", 1), ("opt4e", 4))
    ]
    return rows


def ent(quick: bool) -> list[Row]:
    """Make the rows of the EN-T paper's table."""
    # Ratios of area and energy efficiency at 256 GOPS, 1 TOPS and 4 TOPS.
    paper = {16: (1.087, 1.130), 32: (1.122, 1.175), 64: (1.110, 1.155)}
    rows = []
    for name, text in (("systolic_os", "systolic array"), ("matrix_2d", "2D matrix")):
        for size in (4, 8) if quick else paper:
            area, energy = paper.get(size, (None, None))
            coded, plain = (
                Design(name, {"m": size, "n": size, "pe": "mac", "encoding": encoding})
                for encoding in ("ent", "booth")
            )
            rows.append(
                Row(f"{text}, {size} x {size}", (coded,), (plain,), area, energy, _ENT_REMARK)
            )
    return rows


_ENT_REMARK = (
    "The paper passes 9-bit codes on and averages five shapes; ours passes select lines, against"
    " Booth recoding in each element."
)

# Beyond this many multipliers a sweep of recipes takes hours: every design gets one point.
SWEPT_MACS = 1024


def measure(rows: Rows, target: str | Library, quick: bool, steps: Steps) -> dict[str, Any]:
    """Measure all designs of a table.

    Returns
    -------
    A dict of plain values: ``library``, ``versions`` and ``rows``, each with the ``paper``'s and
    ``our`` ratios, both designs' results, and a comment.
    """
    made = rows(quick)
    designs = list(dict.fromkeys(d for row in made for d in (*row.optimised, *row.baseline)))
    results: dict[Design, Result] = {}
    steps.plan(len(designs))
    for design in designs:
        steps.step(design.module)
        results[design] = synthesis.synthesise_design(design, target, sweep=_swept(design))
    first = results[designs[0]]
    return {
        "library": first["target"],
        "versions": first["versions"],
        "rows": [_compare(row, results) for row in made],
    }


def _swept(design: Design) -> bool:
    return math.prod(getattr(design.spec, side, 1) for side in "mnk") <= SWEPT_MACS


def _compare(row: Row, results: dict[Design, Result]) -> dict[str, Any]:
    """Compare the best of either side."""
    ours, twin = (
        max((results[design] for design in side), key=lambda result: result["gops_per_mm2"])
        for side in (row.optimised, row.baseline)
    )
    area = ours["gops_per_mm2"] / twin["gops_per_mm2"]
    powers = [result["pj_per_mac"] for result in (ours, twin)]
    energy = powers[1] / powers[0] if all(powers) else None
    parts = {
        key: ours[key] / twin[key]
        for key in ("area_um2", "period_ns", "gops")
        if ours[key] and twin[key]
    }
    return {
        "name": row.name,
        "paper": {"area_efficiency": row.area, "energy_efficiency": row.energy},
        "ours": {"area_efficiency": area, "energy_efficiency": energy},
        "optimised": _facts(ours),
        "baseline": _facts(twin),
        "why": f"{_split(parts)} {row.remark}",
    }


def _split(parts: dict[str, float]) -> str:
    """Break a ratio down into speed and area."""
    return (
        f"{parts['gops']:.2f} of the baseline's speed (period {parts['period_ns']:.2f}) in"
        f" {parts['area_um2']:.2f} of its area."
    )


_FACTS = (
    "module",
    "parameters",
    "area_um2",
    "period_ns",
    "power_mw",
    "pj_per_mac",
    "gops",
    "gops_per_mm2",
    "gops_per_w",
    "recipe",
    "activity",
    "annotated",
)


def _facts(result: Result) -> Result:
    return {key: result[key] for key in _FACTS}


_RATIOS = (
    ("comparison", "{}"),
    ("GOPS/mm2", "{:,.1f}"),
    ("twin", "{:,.1f}"),
    ("area eff., paper", "{:.2f}"),
    ("ours", "{:.2f}"),
    ("energy eff., paper", "{:.2f}"),
    ("ours", "{:.2f}"),
)
_COLUMNS = (
    ("comparison", "{}"),
    ("design", "{}"),
    ("area um2", "{:,.0f}", "less"),
    ("period ns", "{:.3f}", "less"),
    ("power mW", "{:,.2f}"),
    ("GOPS", "{:,.2f}"),
    ("GOPS/mm2", "{:,.1f}"),
    ("pJ/MAC", "{:,.2f}"),
    ("area eff., paper", "{:.2f}"),
    ("ours", "{:.2f}"),
    ("energy eff., paper", "{:.2f}"),
    ("ours", "{:.2f}"),
)


def _ratios(table: dict[str, Any]) -> Iterator[list[Any]]:
    """Return one row per comparison: both densities and the ratios."""
    for row in table["rows"]:
        densities = [row[side]["gops_per_mm2"] for side in ("optimised", "baseline")]
        kinds = ("area_efficiency", "energy_efficiency")
        ratios = [row[side][kind] for kind in kinds for side in ("paper", "ours")]
        yield [row["name"], *densities, *ratios]


def _cells(table: dict[str, Any]) -> Iterator[list[Any]]:
    """Return the table's rows, two for each comparison."""
    for row in table["rows"]:
        for side in ("optimised", "baseline"):
            facts = row[side]
            values: list[Any] = [
                row["name"],
                facts["module"],
                facts["area_um2"],
                facts["period_ns"],
                facts["power_mw"],
                facts["gops"],
                facts["gops_per_mm2"],
                facts["pj_per_mac"],
            ]
            for kind in ("area_efficiency", "energy_efficiency"):
                has_figures = side == "optimised"
                values += [row["paper"][kind], row["ours"][kind]] if has_figures else ["", ""]
            yield values


def sections(table: dict[str, Any], wide: bool) -> list[Section]:
    """Return the table, two lines per comparison; unless `wide`, only the ratios."""
    columns = _COLUMNS if wide else _RATIOS
    rows = list(_cells(table) if wide else _ratios(table))
    return [Section("designs" if wide else "ratios to the twin", columns, rows, 1 + wide)]


def remarks(table: dict[str, Any]) -> list[str]:
    """Return a comment on each comparison."""
    return [f"{row['name']}: {row['why']}" for row in table["rows"]]


def draw(table: dict[str, Any]) -> bytes:
    """Draw the paper's ratios and ours as bars, as SVG."""
    from matplotlib import pyplot

    rows = table["rows"]
    height = 1.6 + 0.55 * len(rows)
    figure, axes = pyplot.subplots(1, 2, figsize=(10, height), sharey=True, layout="constrained")
    kinds = {"area_efficiency": "GOPS/mm2", "energy_efficiency": "energy per MAC, inverse"}
    for plot, (kind, text) in zip(axes, kinds.items(), strict=True):
        for shift, (side, colour) in enumerate((("paper", "0.7"), ("ours", "tab:blue"))):
            values = [row[side][kind] or 0.0 for row in rows]
            places = [number + 0.2 - 0.4 * (1 - shift) for number in range(len(rows))]
            bars = plot.barh(places, values, height=0.38, color=colour, label=side)
            labels = [f"{value:.2f}" if value else "none" for value in values]
            plot.bar_label(bars, labels=labels, padding=3, fontsize=8)
        plot.axvline(1, color="black", lw=0.8)
        plot.margins(x=0.15)
        plot.set_xlabel(f"ratio to the baseline: {text}")
    axes[0].set_yticks(range(len(rows)), [row["name"] for row in rows], fontsize=9)
    axes[0].invert_yaxis()
    axes[1].legend(loc="lower right", fontsize=8)
    figure.suptitle(f"{table['table']}, {table['library']}", fontsize=10)
    return svg(figure)
