"""Output of the LUT tensor core table: sections, comments, and the design space."""

from typing import Any

from carrysave.papers.luts import COLUMNS, FPGA_K, FPGA_TILE, ROWS, SLACK
from carrysave.report.tables import Section, svg

__all__ = ["draw", "remarks", "sections"]

Result = dict[str, Any]

_CORES = (
    ("activations", "{}"),
    ("weights", "{}"),
    ("unit", "{}"),
    ("MxNxK", "{}"),
    ("area um2", "{:,.0f}"),
    ("period ns", "{:.2f}"),
    ("um2 per MAC per cycle", "{:,.1f}", "less"),
    ("pJ/MAC", "{:.3f}", "less"),
    ("", "{}"),
)


_STEPS = (
    ("step", "{}"),
    ("area um2", "{:,.0f}"),
    ("um2 per MAC per cycle", "{:,.0f}"),
    ("smaller, paper", "{:.2f}"),
    ("ours", "{:.2f}"),
)
_COUNTS = (
    ("FPGA", "{}"),
    ("weights", "{}"),
    ("unit", "{}"),
    ("LUTs", "{:,}"),
    ("FFs", "{:,}"),
    ("DSPs", "{:,}"),
    ("LUTs per MAC per cycle", "{:.1f}"),
    ("", "{}"),
)
_PRODUCTS = (
    ("product of E4M3", "{}"),
    ("area um2", "{:,.0f}"),
    ("kGE", "{:.3f}"),
    ("period ns", "{:.2f}"),
)


_LAYERS = (
    ("bits of a weight", "{}"),
    ("engine", "{}"),
    ("bit-exact", "{}"),
    ("against floats, dB", "{:.1f}"),
    ("digits right", "{:.1%}"),
    ("in floats", "{:.1%}"),
)


def sections(result: Result, wide: bool) -> list[Section]:
    """Return the claims, the winners, and, where `wide`, everything."""
    keys = ("name", "paper", "target", "ours", "baseline")
    claims = [[claim[key] for key in keys] for claim in result["claims"]]
    cores = [
        (
            entry["activation"],
            entry["weight"],
            entry["kind"],
            "x".join(map(str, entry["tile"])),
            entry["area_um2"],
            entry["period_ns"],
            entry["um2_per_mac"],
            entry["pj_per_mac"],
            "least" if entry["wins"] else "",
        )
        for entry in result["cores"]
        if wide or entry["wins"]
    ]
    columns = ("kind", "area_um2", "um2_per_mac", "paper", "ours")
    steps = [[entry[key] for key in columns] for entry in result["ablation"]]
    fpga = [
        (
            *(entry[key] for key in ("target", "weight", "kind", "luts", "ffs", "dsps")),
            entry["luts_per_mac"],
            "least" if entry["wins"] else "",
        )
        for entry in result["fpga"]
        if wide or entry["wins"]
    ]
    units = [
        [entry[key] for key in ("kind", "area_um2", "kge", "period_ns")]
        for entry in result["products"]
    ]
    facts = ("weight", "module", "exact", "sqnr_db", "accuracy", "in_floats")
    layers = [
        [("no", "yes")[entry[key]] if key == "exact" else entry[key] for key in facts]
        for entry in result["layers"]
    ]
    heads = ("claim", "paper", "held to", "ours", "against")
    clock = f"Cores, least area at {result['clock_ns']} ns"
    m, n = FPGA_TILE
    fpgas = f"int8, {m} x {n}, beats of {FPGA_K}, not placed"
    return [
        Section("Claims", heads, claims, 5),
        Section("um2 per MAC per cycle, best of each kind", _MATRIX, _matrix(result), 2),
        Section(clock, _CORES, cores, 3),
        Section("Ablation, W2 A8, M2 N64, K = 4", _STEPS, steps),
        Section(fpgas, _COUNTS, fpga, 3),
        Section("Products of FP8, least area", _PRODUCTS, units),
        Section("A layer of 64 x 32, int8, simulated", _LAYERS, layers, 2),
    ]


_KINDS = {
    "MAC": ("MAC",),
    "bit-serial": ("bit-serial",),
    "shift-add, ternary": ("shift-add", "ternary", "ternary pairs"),
    "LUT": ("LUT", "ternary LUT"),
}
_MATRIX: tuple[tuple[str, ...] | str, ...] = (
    "activations",
    "weights",
    *((kind, "{:,.0f}") for kind in _KINDS),
    "least",
)


def _matrix(result: Result) -> list[list[Any]]:
    """List the smallest area of each kind for each job, and mark the smallest kind."""
    jobs = dict.fromkeys((entry["activation"], entry["weight"]) for entry in result["cores"])
    rows = []
    for job in jobs:
        entries = [
            entry for entry in result["cores"] if (entry["activation"], entry["weight"]) == job
        ]
        least = {
            name: min((e["um2_per_mac"] for e in entries if _kind(e["kind"]) == name), default=None)
            for name in _KINDS
        }
        winner = next(_kind(entry["kind"]) for entry in entries if entry["wins"])
        rows.append([*job, *least.values(), winner])
    return rows


def _kind(text: str) -> str:
    """Find the kind of a unit, by its name."""
    for name, prefixes in _KINDS.items():
        begins = tuple(prefix + more for prefix in prefixes for more in (",", " K"))
        if text in prefixes or text.startswith(begins):
            return name
    raise AssertionError(text)


def remarks(result: Result) -> list[str]:
    """Return comments on the comparison."""
    return [
        f"The clock of {result['clock_ns']} ns is {SLACK} times the period of the plain MAC; the"
        " area of a core that misses it is scaled up accordingly.",
        "Areas are of whole engines: tables and their generators, operand and weight-plane"
        " registers, accumulators, and output path. Rows share the weight registers, except those"
        " of MACs on FPGAs. Areas are per product per cycle, including the cycles for each bit"
        " plane and those in which sums leave.",
        "Elements of a column are mapped together, so that they share the decoding of its weights.",
        f"For int8 and weights of one or two bits, cores have {ROWS} rows, {COLUMNS[32]} columns"
        " and beats of about 32, or more rows or columns and beats of 24 to 48 if that is smaller."
        f" All others have {ROWS} rows, {COLUMNS[16]} columns and beats of 16, which"
        " takes tables and their generators for fewer columns.",
        "MACs are: AND arrays whose rows go to the accumulator's compressor; Booth recoding of the"
        " weight, with columns as rows, eight where beats are long; and the tool's multipliers from"
        " an operator. All have one pipeline register. Headline ratios are against the tool's"
        " multipliers, and shown for both; the paper's are of another library, and its LUT cores"
        " have no generator.",
        "The conventional core of the ablation has a full table, entries selected by multiplexers,"
        " and a sign plane that is subtracted in each lane. No activation is -128. Accumulators"
        " are sized for one tile, as the paper's array takes its sums from outside. Steps without a"
        " paper figure are ours.",
        "Energy is for uniform operands, which favour no encoding.",
    ]


def _points(
    plot: Any, entries: list[Result], key: str, weights: list[str], kinds: list[str]
) -> None:
    """Draw a figure of each core over its weights, kinds side by side."""
    from matplotlib import pyplot

    for number, kind in enumerate(kinds):
        shown = [one for one in entries if one["kind"] == kind and one[key]]
        colour = pyplot.get_cmap("tab20")(number % 20)
        beside = 0.5 * (number / max(1, len(kinds) - 1) - 0.5)
        for one in shown:
            plot.plot(
                weights.index(one["weight"]) + beside,
                one[key],
                marker="*" if one["wins"] else "o",
                ms=12 if one["wins"] else 6,
                color=colour,
                linestyle="none",
            )
        if shown:
            plot.plot([], [], "o", color=colour, label=kind)


def draw(result: Result) -> bytes:
    """Draw the design space: area over weights for each kind of activation, and energy."""
    from matplotlib import pyplot
    from matplotlib.ticker import LogLocator

    activations = list(dict.fromkeys(entry["activation"] for entry in result["cores"]))
    weights = list(dict.fromkeys(entry["weight"] for entry in result["cores"]))
    figure, axes = pyplot.subplots(
        2,
        len(activations),
        figsize=(3 + 4 * len(activations), 7),
        sharex=True,
        sharey="row",
        squeeze=False,
        layout="constrained",
    )
    kinds = list(dict.fromkeys(entry["kind"] for entry in result["cores"]))
    for column, activation in enumerate(activations):
        for row, key in enumerate(("um2_per_mac", "pj_per_mac")):
            plot = axes[row][column]
            entries = [one for one in result["cores"] if one["activation"] == activation]
            _points(plot, entries, key, weights, kinds)
            plot.set_yscale("log")
            plot.yaxis.set_major_locator(LogLocator(subs=(1, 1.5, 2, 3, 5, 7), numticks=20))
            plot.yaxis.set_major_formatter("{x:g}")
            plot.yaxis.set_minor_formatter("")
            plot.grid(axis="y", alpha=0.3, which="both")
        axes[0][column].set_title(activation, fontsize=10)
        axes[1][column].set_xticks(range(len(weights)), [f"W{weight}" for weight in weights])
    axes[0][0].set_ylabel("um2 per MAC per cycle")
    axes[1][0].set_ylabel("pJ per MAC")
    handles = {
        label: handle
        for plot in axes[0]
        for handle, label in zip(*plot.get_legend_handles_labels(), strict=True)
    }
    figure.legend(
        handles.values(),
        handles.keys(),
        loc="outside right center",
        fontsize=8,
        title="star: least area",
    )
    figure.suptitle(f"lut-tensor-core, {result['library']}, {result['clock_ns']} ns", fontsize=10)
    return svg(figure)
