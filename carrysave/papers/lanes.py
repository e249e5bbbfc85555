"""XR-NPE's claims: lanes and arrays for all formats against separate ones for each format."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from carrysave.asic import synthesis
from carrysave.asic.liberty.cells import Library
from carrysave.papers.resources import count
from carrysave.progress import Steps
from carrysave.report.tables import Section, svg
from golden.formats.element import ElementFormat
from golden.formats.names import parse
from golden.formats.quire import QuireSpec
from golden.npe.lane import LaneSpec
from hw.catalog import Design
from hw.npe.lane.gated_sum import exact

__all__ = ["draw", "measure", "remarks", "sections"]

Result = dict[str, Any]

_QUICK = ("int8", "int4", "e2m1", "e4m3")
_WIDTH = 48  # bits of the shared accumulator
_SMALL = {"accumulation": "resolved", "adder": "ripple"}
_GATED = {"accumulation": "gated", "adder": "ripple"}
_FPGA = {"accumulation": "resolved", "adder": "operator"}
_FPGAS = ("xilinx7", "ecp5")


def _fields(formats: tuple[str, ...], k_max: int) -> dict[str, Any]:
    """Return formats and the narrowest accumulator for a number of products of any two."""
    elements = [fmt for fmt in map(parse, formats) if isinstance(fmt, ElementFormat)]
    width = max(
        QuireSpec(a_format=a, b_format=b, k_max=k_max).width for a in elements for b in elements
    )
    return {"formats": ",".join(formats), "accumulator_width": width}


def _k_max(formats: tuple[str, ...]) -> int:
    """Worst-case products that the shared accumulator holds; separate ones must match."""
    spec = LaneSpec(formats=",".join(formats), accumulator_width=_WIDTH)
    return min(spec.k_max_words(*pair) for pair in spec.pairs)


def measure(target: str | Library, quick: bool, steps: Steps) -> Result:
    """Measure all lanes and arrays.

    Returns
    -------
    A dict of plain values: ``library``, ``versions``; ``lanes`` and ``arrays``, an entry for each
    format; the ``shared`` ones; energies of lanes with a ``gated`` sum; ``subsets`` of formats;
    ``speed``; ``fpga`` and ``claims``.
    """
    formats = _QUICK if quick else LaneSpec.FORMATS
    k_max = _k_max(formats)
    alone = {name: _fields((name,), k_max) for name in formats}
    every = {"formats": ",".join(formats), "accumulator_width": _WIDTH}
    few = {names: _fields(names, k_max) for names in (("int8", "int4"), ("int8", "int4", "e2m1"))}
    integers = exact(LaneSpec(formats=",".join(formats)))
    work = _Measurement(target, 2 if quick else 8, steps)
    jobs = 5 * len(formats) + len(integers) + len(few) + 2 + len(_FPGAS) * (len(formats) + 1)
    steps.plan(jobs)
    lanes = {name: (work.lane(alone[name], name), work.lane(every, name)) for name in formats}
    first, shared = lanes[formats[0]]
    gated = []
    for name in formats:
        separate = [lanes[name][0]]
        if name in integers:
            separate.append(work.lane(alone[name], name, _GATED))
        gated.append({
            "format": name,
            "alone_pj": min(one["pj_per_mac"] for one in separate),
            "shared_pj": work.lane(every, name, _GATED)["pj_per_mac"],
        })
    arrays = {name: (work.array(alone[name], name), work.array(every, name)) for name in formats}
    subsets = {"+".join(names): work.lane(fields, "int8") for names, fields in few.items()}
    speed = {
        "sl8": work.fastest(Design("sl8", {**every, "pipeline": 4})),
        "opt1": work.fastest(Design("opt1")),
    }
    measured = {
        "library": first["target"],
        "versions": first["versions"],
        "side": work.side,
        "k_max": k_max,
        "lanes": [_pair(name, *both) for name, both in lanes.items()],
        "shared": _facts(shared),
        "gated": gated,
        "subsets": {name: _facts(result) for name, result in subsets.items()},
        "speed": {name: _facts(result) for name, result in speed.items()},
        "arrays": [_pair(name, *both) for name, both in arrays.items()],
        "shared_array": _facts(arrays[formats[0]][1]),
        "fpga": work.fpgas(alone, every),
    }
    return {**measured, "claims": list(_claims(measured))}


@dataclass(frozen=True)
class _Measurement:
    """Syntheses for a library; arrays have `side` rows and columns."""

    target: str | Library
    side: int
    steps: Steps

    def lane(self, fields: dict[str, Any], name: str, build: dict[str, str] = _SMALL) -> Result:
        """Return the smallest lane, with power for one of its formats."""
        design = Design("sl8", {**fields, **build})
        self.steps.step(f"{design.module}, {name}")
        return synthesis.synthesise_design(
            design, self.target, sweep=True, objective="area", activity=f"normal:{name}"
        )

    def array(self, fields: dict[str, Any], name: str) -> Result:
        """Return an array of lanes, with power for one of its formats."""
        design = Design("npe", {"m": self.side, "n": self.side, **fields})
        self.steps.step(f"{design.module}, {name}")
        return synthesis.synthesise_design(design, self.target, activity=f"normal:{name}")

    def fastest(self, design: Design) -> Result:
        """Return a design of the least period."""
        self.steps.step(f"{design.module}, fastest")
        return synthesis.synthesise_design(
            design, self.target, sweep=True, objective="period", activity="assumed"
        )

    def counts(self, fields: dict[str, Any], fpga: str) -> Result:
        """Return the resources of an array on an FPGA."""
        design = Design("npe", {"m": self.side, "n": self.side, **fields, **_FPGA})
        self.steps.step(f"{design.module}, {fpga}")
        return count(design, fpga)

    def fpgas(self, alone: dict[str, dict[str, Any]], every: dict[str, Any]) -> list[Result]:
        """Return resources of an array for each format, in all, and of the shared one."""
        separate = {fpga: [self.counts(one, fpga) for one in alone.values()] for fpga in _FPGAS}
        return [
            {
                "target": fpga,
                "separate": {
                    key: sum(one[key] for one in separate[fpga]) for key in ("luts", "ffs")
                },
                "shared": self.counts(every, fpga),
            }
            for fpga in _FPGAS
        ]


_FACTS = ("module", "area_um2", "kge", "period_ns", "pj_per_mac", "activity", "recipe")


def _facts(result: Result) -> Result:
    return {key: result[key] for key in _FACTS}


def _pair(name: str, alone: Result, shared: Result) -> Result:
    """Make the entry of a format."""
    spec = LaneSpec(formats=name, accumulator_width=_WIDTH)
    return {
        "format": name,
        "codes_per_word": spec.codes(0, 0),
        "alone": _facts(alone),
        "shared_pj": shared["pj_per_mac"],
    }


def _mean(entries: list[Result]) -> float:
    """Return the mean, over formats, of the shared one's energy relative to the separate one's."""
    ratios = [entry["shared_pj"] / entry["alone"]["pj_per_mac"] for entry in entries]
    return sum(ratios) / len(ratios)


def _claims(result: Result) -> Iterator[Result]:
    """Compare each claim of the paper, and name our baseline."""
    total = sum(entry["alone"]["area_um2"] for entry in result["lanes"])
    arrays = sum(entry["alone"]["area_um2"] for entry in result["arrays"])
    yield _claim(
        "lane, area",
        "-42 %",
        _change(result["shared"]["area_um2"] / total),
        "one lane per format; the paper's: the best MAC known to it",
    )
    yield _claim(
        "lane, sharing factor", "-", f"{total / result['shared']['area_um2']:.2f}x", "the same"
    )
    yield _claim(
        "lane, energy per product",
        "-38 % power",
        _change(_mean(result["lanes"])),
        "the lane of that format alone, mean of the formats",
    )
    codes = {entry["format"]: entry["codes_per_word"] for entry in result["lanes"]}
    gained = [entry["shared_pj"] / entry["alone_pj"] for entry in result["gated"]]
    yield _claim(
        "lane with a gated sum, energy per product",
        "-38 % power",
        _change(sum(gained) / len(gained)),
        "the lane of that format alone, its sum gated too if that is less, mean of the formats",
    )
    cycle = sum(entry["alone_pj"] * codes[entry["format"]] for entry in result["gated"])
    cycles = [entry["shared_pj"] * codes[entry["format"]] / cycle for entry in result["gated"]]
    yield _claim(
        "the same, energy per cycle",
        "-38 % power",
        _change(sum(cycles) / len(cycles)),
        "one lane per format, all at work at the same time",
    )
    yield _claim(
        "array, area",
        "-",
        _change(result["shared_array"]["area_um2"] / arrays),
        "one array per format",
    )
    yield _claim(
        "array, energy per product",
        "-",
        _change(_mean(result["arrays"])),
        "the array of that format alone, mean of the formats",
    )
    yield from _claims_of_use(result)


def _claims_of_use(result: Result) -> Iterator[Result]:
    """Compare claims of FPGAs, of memory, of more formats and of speed."""
    subsets = result["subsets"]
    plain, more = (subsets[name]["area_um2"] for name in ("int8+int4", "int8+int4+e2m1"))
    for fpga in result["fpga"]:
        ratios = {key: fpga["separate"][key] / fpga["shared"][key] for key in ("luts", "ffs")}
        for key, paper in (("luts", "1.40x"), ("ffs", "1.77x")):
            yield _claim(
                f"{fpga['target']}, {key[:-1].upper()}s",
                f"{paper} fewer",
                f"{ratios[key]:.2f}x fewer",
                "one array per format",
            )
    gains = sorted({2 * entry["codes_per_word"] for entry in result["lanes"]})
    yield _claim(
        "operations per operand byte",
        "2.85x",
        " to ".join(f"{g}x" for g in gains),
        "the same array with operands of 16 bits",
    )
    yield _claim("int8 + int4 + e2m1, area", "-", _change(more / plain), "a lane of int8 + int4")
    period = result["speed"]["sl8"]["period_ns"] / result["speed"]["opt1"]["period_ns"]
    yield _claim("lane with 4 registers, period", "-", f"{period:.2f}x", "opt1 of int8")


def _claim(name: str, paper: str, ours: str, baseline: str) -> Result:
    return {"name": name, "paper": paper, "ours": ours, "baseline": baseline}


def _change(ratio: float) -> str:
    return f"{100 * (ratio - 1):+.0f} %"


_LANES = (
    ("format", "{}"),
    ("area alone, um2", "{:,.0f}"),
    ("kGE", "{:.2f}"),
    ("period ns", "{:.3f}"),
    ("products per cycle", "{}"),
    ("pJ/product alone", "{:.2f}"),
    ("shared", "{:.2f}"),
    ("array alone, um2", "{:,.0f}"),
    ("pJ/product alone", "{:.2f}"),
    ("shared", "{:.2f}"),
    ("operations per byte", "{}"),
)
_FPGA_COLUMNS = (
    ("FPGA", "{}"),
    ("LUTs, separate", "{:,.0f}"),
    ("LUTs, shared", "{:,.0f}"),
    ("FFs, separate", "{:,.0f}"),
    ("FFs, shared", "{:,.0f}"),
)


def sections(result: Result, wide: bool) -> list[Section]:
    """Return the claims and, where `wide`, the formats and FPGAs."""
    claims = [
        [claim[key] for key in ("name", "paper", "ours", "baseline")] for claim in result["claims"]
    ]
    parts = [Section("Claims", ("claim", "paper", "ours", "measured against"), claims, 4)]
    if wide:
        parts += [
            Section(
                f"Lanes, least area; arrays of {result['side']} x {result['side']}; sums of"
                f" {result['k_max']:,} products",
                _LANES,
                list(_lines(result)),
            )
        ]
        rows = [
            [
                fpga["target"],
                *(fpga[of][key] for key in ("luts", "ffs") for of in ("separate", "shared")),
            ]
            for fpga in result["fpga"]
        ]
        parts.append(Section("Arrays on FPGAs, not placed", _FPGA_COLUMNS, rows))
    return parts


def _lines(result: Result) -> Iterator[list[Any]]:
    """Return a row for each format, for the sum, and for lanes of several formats."""
    for entry, array in zip(result["lanes"], result["arrays"], strict=True):
        one, other, codes = entry["alone"], array["alone"], entry["codes_per_word"]
        yield [
            entry["format"],
            one["area_um2"],
            one["kge"],
            one["period_ns"],
            codes,
            one["pj_per_mac"],
            entry["shared_pj"],
            other["area_um2"],
            other["pj_per_mac"],
            array["shared_pj"],
            result["side"] * codes,
        ]
    total: dict[str, float] = {
        key: sum(entry["alone"][key] for entry in result["lanes"]) for key in ("area_um2", "kge")
    }
    arrays = sum(entry["alone"]["area_um2"] for entry in result["arrays"])
    rest = [None] * 4
    yield ["sum", total["area_um2"], total["kge"], *rest, arrays, *rest[:3]]
    for name, lane, array in (
        ("all in one", result["shared"], result["shared_array"]["area_um2"]),
        *((name, lane, None) for name, lane in result["subsets"].items()),
    ):
        facts = lane["area_um2"], lane["kge"], lane["period_ns"]
        yield [name, *facts, *rest[:3], array, *rest[:3]]


def remarks(result: Result) -> list[str]:
    """Return comments on the comparison."""
    return [
        "XR-NPE's repository has no RTL, and its abstract names no baseline: ours are carrysave's"
        " lanes of one format each, from the same generator and flow.",
        "Single-format lanes have accumulators only as wide as their format needs, the shared one"
        f" {_WIDTH} bits; lanes include decoders and the stream's registers, arrays decode at their"
        " edge.",
    ]


def draw(result: Result) -> bytes:
    """Draw areas of lanes, stacked, and energies per product."""
    from matplotlib import pyplot

    figure, (areas, energies) = pyplot.subplots(1, 2, figsize=(10, 4), layout="constrained")
    base = 0.0
    for entry in result["lanes"]:
        size = entry["alone"]["kge"]
        areas.bar("separate", size, bottom=base, label=entry["format"])
        areas.text(0, base + size / 2, entry["format"], ha="center", va="center", fontsize=8)
        base += size
    areas.bar("all in one", result["shared"]["kge"], color="tab:blue")
    areas.set_ylabel("lane, kGE")
    names = [entry["format"] for entry in result["lanes"]]
    places = range(len(names))
    for shift, label, values in (
        (-0.2, "alone", [entry["alone"]["pj_per_mac"] for entry in result["lanes"]]),
        (0.2, "all in one", [entry["shared_pj"] for entry in result["lanes"]]),
    ):
        energies.bar([position + shift for position in places], values, width=0.38, label=label)
    energies.set_xticks(list(places), names, rotation=30, fontsize=8)
    energies.set_ylabel("pJ per product")
    energies.legend()
    figure.suptitle(f"xr-npe, {result['library']}", fontsize=10)
    return svg(figure)
