"""Tables of what became of a result once it was placed, and routed."""

from collections.abc import Iterator
from typing import Any

from carrysave.report.tables import Section

__all__ = ["placed_table", "routed_notes", "wires_of"]

_PLACED = (
    ("area of cells", "area_um2", "{:,.0f} um2"),
    ("minimum period", "period_ns", "{:.3f} ns"),
    ("energy per MAC", "pj_per_mac", "{:,.2f} pJ"),
    ("power", "power_mw", "{:,.2f} mW"),
    ("speed", "gops", "{:,.2f} GOPS"),
    ("area efficiency", "gops_per_mm2", "{:,.1f} GOPS/mm2"),
    ("  of the die", "gops_per_mm2_die", "{:,.1f} GOPS/mm2"),
    ("utilisation", "utilisation", "{:.1%}"),
    ("area of the die", "die_um2", "{:,.0f} um2"),
    ("wire", "wire_um", "{:,.0f} um"),
    ("buffers by wires", "buffers", "{:,}"),
    ("buffers of the clock tree", "clock_buffers", "{:,}"),
    ("buffers for hold at ports", "hold_buffers", "{:,}"),
)


def placed_table(result: dict[str, Any]) -> Section:
    """Tabulate what became of a result with its wires, and routed, beside what it was before."""
    placed, routed = result["placed"], result.get("routed")
    rows = []
    for label, key, form in _PLACED:
        before, after, last = result.get(key), placed.get(key), (routed or {}).get(key)
        if after is not None:
            ratio = after / before if before else ""
            row = [label, form.format(before) if before else "", form.format(after), ratio]
            rows.append([*row, form.format(last), last / after] if last else [*row, "", ""])
    most = placed["congestion"]
    spread = f"{most['mean']:.2f} um, up to {most['most']:.2f}"
    rows.append(["wire by um2 of die", "", spread, "", "", ""])
    clocks = [dict(_clock((one or {}).get("clock") or {})) for one in (placed, routed)]
    rows += [
        [label, "", text, "", clocks[1].get(label, ""), ""] for label, text in clocks[0].items()
    ]
    columns: list[Any] = [
        "",
        "mapped",
        "placed",
        ("ratio", "{:.3f}"),
        "routed",
        ("to placed", "{:.3f}"),
    ]
    title = f"mapped and placed: {result['module']}"
    if routed is None:
        return Section(title, columns[:4], [tuple(row[:4]) for row in rows])
    lost = len(routed["unrouted"])
    more = [
        ("vias", f"{routed['vias']:,}"),
        ("nets routed", f"{routed['nets'] - lost:,} of {routed['nets']:,}"),
    ]
    more += [(f"violations: {rule}", f"{n:,}") for rule, n in routed["violations"].items()]
    rows += [[label, "", "", "", text, ""] for label, text in more]
    title = f"mapped, placed and routed: {result['module']}"
    if not routed["complete"]:
        title += " (PARTIAL)"
    return Section(title, columns, [tuple(row) for row in rows])


def _clock(clock: dict[str, Any]) -> Iterator[tuple[str, str]]:
    """Yield rows of skew and hold, of what there is of them."""
    if clock.get("skew_ns") is not None:
        yield "skew of the clock", f"{clock['skew_ns']:.3f} ns"
    for label, end in (("between registers", ""), ("from inputs", "_inputs")):
        if clock.get(f"hold_slack{end}_ns") is not None:
            slack, bad = clock[f"hold_slack{end}_ns"], clock[f"hold_violations{end}"]
            yield f"hold {label}", f"{slack:.3f} ns, {bad} violations"


def wires_of(result: dict[str, Any]) -> str:
    """Say what wires a result was placed with."""
    wires, conditions = result["placed"]["technology"], result["placed"]["conditions"]
    return (
        f"wires: {wires['capacitance']:g} fF/um, {wires['resistance']:g} ohm/um"
        f" ({wires['source']}); {conditions}"
    )


def routed_notes(result: dict[str, Any]) -> list[str]:
    """Say how a result was routed, and what of it is missing."""
    routed = result.get("routed")
    return [f"routed: {routed['conditions']}", *routed["notes"]] if routed else []
