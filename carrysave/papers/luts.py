"""LUT tensor cores and alternatives at equal throughput: the smallest for given weights."""

from collections.abc import Iterator
from itertools import zip_longest
from typing import Any

from carrysave import jobs
from carrysave.asic import synthesis
from carrysave.asic.design_job import design_job
from carrysave.asic.liberty.cells import Library
from carrysave.asic.options import SynthesisOptions
from carrysave.papers import layer
from carrysave.papers.resources import count_plain
from carrysave.papers.rivals import ACTIVATIONS, TOOL, WEIGHTS, Rival, ablation, products, rivals
from carrysave.progress import Steps
from hw.catalog import Design
from hw.emit import tools, yosys

__all__ = ["COLUMNS", "FPGA_K", "FPGA_TILE", "ROWS", "SLACK", "measure"]

Result = dict[str, Any]

_FPGAS = ("xilinx7", "ecp5")
_FPGA_WEIGHTS = ("1", "1.58", "2", "4")
FPGA_TILE = 2, 8
"""Rows and columns of cores on FPGAs."""
FPGA_K = 8
"""Products per beat on FPGAs."""
ROWS = 4
COLUMNS = {32: 32, 16: 16}
"""Columns of cores by products per beat: 32 for int8 and one or two bits, else 16."""
_MAPS = ("amap", "wide")
"""The mappings with the smallest area at a relaxed clock, the smaller first."""
SLACK = 1.5  # of the clock, against the period of the plain MAC at its fastest
_PAPER = (1.0, 1.317, 1.351, 1.440)
"""Area of the paper's ablation, relative to that of each step."""


def measure(target: str | Library, quick: bool, steps: Steps) -> Result:
    """Measure all designs: at one clock, each with the least area that meets it.

    Returns
    -------
    A dict of plain values: ``library``, ``versions``, ``clock_ns``; ``cores``, an
    entry for each design, activations and weights; ``ablation``; ``fpga``; ``products``;
    ``layers``, see :func:`carrysave.papers.layer.measure`; and ``claims``.
    """
    grid, fpgas = _grid(quick), _fpga_grid(quick)
    steps_of = ablation(64)
    steps.plan(1 + len(layer.LAYERS))
    steps.step("mac, for the clock")
    first = synthesis.synthesise_design(Design("mac"), target, activity="none")
    clock = round(SLACK * first["period_ns"], 1)

    def core(rival: Rival, activity: str) -> jobs.Job:
        options = SynthesisOptions(
            period_ns=clock, activity=activity, maps=_MAPS, hierarchy="coarse"
        )
        return design_job(rival.design, target, options)

    wanted = [
        *(core(rival, "uniform@256") for _, _, rival in grid),
        *(core(rival, "none") for rival in steps_of),
        *(_counts(rival, fpga) for fpga, _, rival in fpgas),
        *(_product(rival, target) for rival in products()),
    ]
    # One that fails does not stop the others, which the next call then has.
    outcomes = list(jobs.run(wanted, ordered=True, progress=steps.jobs))
    measured = (outcome.get() for outcome in outcomes)
    cores = [_facts(rival, next(measured), clock) for _, _, rival in grid]
    ablated = [_facts(rival, next(measured), clock) for rival in steps_of]
    counted = [_per_mac(rival, next(measured)) for _, _, rival in fpgas]
    table = {
        "library": first["target"],
        "versions": first["versions"],
        "clock_ns": clock,
        "cores": [
            {"activation": activation, "weight": weight, **facts}
            for (activation, weight, _), facts in zip(grid, cores, strict=True)
        ],
        "ablation": list(_ablation(ablated)),
        "fpga": [
            {"target": fpga, "weight": weight, **facts}
            for (fpga, weight, _), facts in zip(fpgas, counted, strict=True)
        ],
        "products": [_multiplier(*one) for one in zip(products(), measured, strict=True)],
        "layers": [],
    }
    with tools.workplace() as folder:
        for result in layer.measure(folder, 40 if quick else None):
            steps.step(f"{result['module']}, a layer")
            table["layers"].append(result)
    _mark(table["cores"], "um2_per_mac")
    _mark(table["fpga"], "luts_per_mac")
    return {**table, "claims": list(_claims(table))}


def _multiplier(rival: Rival, result: dict[str, Any]) -> Result:
    """Return what is said of a multiplier."""
    figures = ("module", "area_um2", "kge", "period_ns")
    return {"kind": rival.kind, **{key: result[key] for key in figures}}


Cases = list[tuple[str, str, Rival]]


def _grid(quick: bool) -> Cases:
    """Return activations and weights with each design for them."""
    return [
        (activation, weight, rival)
        for activation in (["int8"] if quick else ACTIVATIONS)
        for weight in (["1", "2"] if quick else WEIGHTS)
        for rival in _rivals(activation, weight)
    ]


def _fpga_grid(quick: bool) -> Cases:
    """Return FPGAs and weights with each design for them."""
    return [
        (fpga, weight, rival)
        for fpga in _FPGAS[-1 if quick else 0 :]
        for weight in _FPGA_WEIGHTS[: 1 if quick else None]
        for rival in rivals("int8", weight, *FPGA_TILE, FPGA_K, together=False, adder="operator")
    ]


def _rivals(activation: str, weight: str) -> list[Rival]:
    """List the designs of a job; headline ones with the beats that make all of them smallest."""
    k = 32 if activation == "int8" and weight in ("1", "2") else 16
    return rivals(activation, weight, ROWS, COLUMNS[k], k)


def _macs(design: Design) -> float:
    """Return the products per cycle, in successive tiles of maximum depth."""
    spec = design.spec
    beats = -(-spec.k_max // spec.k) * spec.planes * spec.passes
    return spec.m * spec.n * spec.k_max / (beats + spec.idle)


def _facts(rival: Rival, result: Result, clock: float) -> Result:
    """Return the figures of a core; `um2_per_mac` is its area per product per cycle."""
    design = rival.design
    macs = _macs(design)
    area, late = result["area_um2"], max(1.0, result["period_ns"] / clock)
    return {
        "kind": rival.kind,
        "module": result["module"],
        "parameters": result["parameters"],
        "area_um2": area,
        "period_ns": result["period_ns"],
        "tile": [design.spec.m, design.spec.n, design.spec.k],
        "macs_per_cycle": macs,
        "um2_per_mac": area * late / macs,
        "pj_per_mac": result["pj_per_mac"],
        "activity": result["activity"],
    }


def _ablation(steps: list[Result]) -> Iterator[Result]:
    """Compare the areas per product per cycle of the steps with that of the first."""
    for entry, paper in zip_longest(steps, _PAPER):
        ratio = steps[0]["um2_per_mac"] / entry["um2_per_mac"]
        yield {
            **{key: entry[key] for key in ("kind", "module", "area_um2", "um2_per_mac")},
            "paper": paper,
            "ours": ratio,
        }


def _counts(rival: Rival, fpga: str) -> jobs.Job:
    """Return the job that counts the resources of a design on an FPGA."""
    design = rival.design
    parameters = dict(design.parameters)
    return jobs.Job(
        function=count_plain,
        arguments={"name": design.name, "parameters": parameters, "target": fpga},
        tools=(yosys.version,),
        label=f"{design.module}, {fpga}",
        facts={
            "kind": "resources",
            "design": design.name,
            "parameters": parameters,
            "target": fpga,
        },
    )


def _per_mac(rival: Rival, counts: dict[str, float]) -> Result:
    """Return the resources of a design, and its LUTs per product per cycle."""
    return {
        "kind": rival.kind,
        "module": rival.design.module,
        **counts,
        "luts_per_mac": counts["luts"] / _macs(rival.design),
    }


def _product(rival: Rival, target: str | Library) -> jobs.Job:
    """Return the job that measures a multiplier with the least area."""
    return design_job(rival.design, target, sweep=True, objective="area", activity="none")


def _mark(entries: list[Result], cost: str) -> None:
    """Mark the best of each group with the same job, DSP multipliers excluded."""
    best: dict[Any, Result] = {}
    for entry in entries:
        entry["wins"] = False
        job = tuple(entry.get(key) for key in ("target", "activation", "weight"))
        if not entry.get("dsps") and (job not in best or entry[cost] < best[job][cost]):
            best[job] = entry
    for entry in best.values():
        entry["wins"] = True


def _least(result: Result, weight: str, kind: str) -> float | None:
    """Return the smallest area per product per cycle, for int8 and units of a kind."""
    costs = [
        entry["um2_per_mac"]
        for entry in result["cores"]
        if (entry["activation"], entry["weight"]) == ("int8", weight)
        and entry["kind"].startswith(kind)
    ]
    return min(costs, default=None)


def _claims(result: Result) -> Iterator[Result]:
    """Compare our results with the paper's claims."""
    for weight, text, paper in (("1", "3x", "4x to 6x"), ("2", "1.6x", "-"), ("4", "-", "-")):
        lut, tool, mac, serial = (
            _least(result, weight, kind) for kind in ("LUT", TOOL, "MAC", "bit-serial")
        )
        if lut is None or tool is None or mac is None or serial is None:
            continue
        claim = {"name": f"LUT at W{weight} A8, area", "paper": "-", "target": "-"}
        bits = max(2, int(weight))
        yield {
            **claim,
            "paper": paper,
            "target": text,
            "ours": f"{tool / lut:.2f}x smaller",
            "baseline": f"the parallel MAC of {bits} bits, multipliers by the tool",
        }
        yield {
            **claim,
            "target": text,
            "ours": f"{mac / lut:.2f}x smaller",
            "baseline": f"the best parallel MAC of {bits} bits",
        }
        yield {
            **claim,
            "target": "-20 %",
            "ours": f"{100 * (lut / serial - 1):+.1f} %",
            "baseline": "the bit-serial core",
        }
    step = {"paper": "-", "target": "-", "baseline": "the conventional LUT core"}
    *_, last = (entry for entry in result["ablation"] if entry["paper"])
    yield {
        **step,
        "name": f"ablation, W2 A8, the paper's steps: {last['kind']}",
        "paper": f"{last['paper']:.2f}x",
        "target": "1.44x",
        "ours": f"{last['ours']:.2f}x smaller",
    }
    for entry in result["ablation"]:
        if not entry["paper"]:
            yield {
                **step,
                "name": f"ablation, then {entry['kind']}",
                "ours": f"{entry['ours']:.2f}x smaller",
            }
    _, carry, multiplied = result["products"]
    change = 100 * (carry["area_um2"] / multiplied["area_um2"] - 1)
    yield {
        "name": "exact E4M3 product by a carry, area",
        "paper": "-",
        "target": "smaller",
        "ours": f"{change:+.0f} %",
        "baseline": "multiplied, normalised and rounded",
    }
