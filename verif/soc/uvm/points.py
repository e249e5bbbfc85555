"""What coverage looks at: points of an order and of a burst, and which of their bins exclude."""

from collections.abc import Iterable
from functools import cache
from itertools import combinations

from golden.soc.coprocessor import CoprocessorSpec, Job, matrices
from verif.soc.uvm.coverage import Coverage, Point, Rule, Space, Values
from verif.soc.uvm.modes import modes_of
from verif.soc.uvm.orders import DESCRIPTOR, MEMORY, Order, moved
from verif.soc.uvm.place import PLACINGS, placing_of
from verif.soc.uvm.refusals import REFUSALS, RING_REFUSALS
from verif.soc.uvm.shapes import Shapes

__all__ = [
    "FAULTS",
    "REGIONS",
    "SPEEDS",
    "burst_coverage",
    "classified",
    "errors_of",
    "order_coverage",
    "shapes_of",
]

FAULTS = {
    f"{way}_{name}": (way, response)
    for way in ("read", "write", "ring")
    for name, response in (("slverr", 2), ("decerr", 3))
}
"""Errors of memory: what is on its way, and the response."""
REGIONS = ("low", "border", "top")
"""Where memory lies: from 0 on, around an address whose upper half changes, up to the last byte."""
SPEEDS = {
    "immediate": (0, "flowing"),
    "short": (7, "flowing"),
    "long": (60, "flowing"),
    "sparse": (3, "sparse"),
    "bursts": (20, "bursts"),
    "rare": (20, "rare"),
    "pauses": (20, "long"),
}
"""Latency of memory, and schedule of its stalls."""
_IN_RING = (*RING_REFUSALS, "ring_slverr", "ring_decerr")


def errors_of(spec: CoprocessorSpec) -> tuple[str, ...]:
    """Name what can go wrong, in a build that has what it is about."""
    errors = ("none", *REFUSALS, *RING_REFUSALS, *FAULTS)
    absent = set() if spec.follows_ring else set(_IN_RING)
    if not spec.blocks:
        absent.add("blocks")
    if spec.inside.modes[0, 0].k_max >= (1 << spec.dimension_width) - 1:
        absent.add("long_k")
    return tuple(name for name in errors if name not in absent)


def _before(spec: CoprocessorSpec) -> tuple[str, ...]:
    """Name what can have come before an order."""
    ring = ("ring",) if spec.follows_ring else ()
    return ("done", "refused", "read", "write", *ring, "soft_reset", "hard_reset")


@cache
def shapes_of(spec: CoprocessorSpec) -> Shapes:
    """Make the classes of sizes of a build, once."""
    return Shapes(spec)


def _shape(m: str, n: str, k: str) -> str:
    """Class of a whole job."""
    for name, side in (("m", m), ("n", n), ("k", k)):
        if side == "one":
            return f"{name} = 1"
    for name in ("smaller", "equal", "multiple"):
        if m == n == name:
            return name
    return "blocks" if "blocks" in (m, n) else "ragged"


def _depth(k: str) -> str:
    """Class of K: a beat, some, some blocks."""
    return k if k == "blocks" else "beats" if k in ("beats", "ragged") else "beat"


def order_space(spec: CoprocessorSpec) -> Space:
    """Points of an order."""
    shapes = shapes_of(spec)
    sides = dict(zip("mnk", shapes.bins, strict=True))
    found = {_shape(*classes) for classes in _product(*shapes.bins)}
    depths = {_depth(k) for k in shapes.bins[2]}
    points = [
        Point("error", errors_of(spec)),
        Point("before", _before(spec)),
        *(Point(name, bins) for name, bins in sides.items()),
        Point("mode", modes_of(spec)),
        Point("placing", PLACINGS),
        Point("region", REGIONS),
        Point("speed", tuple(SPEEDS)),
        Point("start", ("registers", "ring") if spec.follows_ring else ("registers",)),
        Point("order", ("rows", "columns") if spec.blocks else ("rows",)),
        Point("blocks", ("own", "given") if spec.blocks else ("own",)),
        Point("shape", tuple(sorted(found)), ("m", "n", "k"), _shape),
        Point("depth", tuple(sorted(depths)), ("k",), _depth),
        Point(
            "memory",
            ("immediate", "short", "long", "stalls"),
            ("speed",),
            lambda speed: speed if speed in ("immediate", "short", "long") else "stalls",
        ),
    ]
    rules = [
        Rule(
            ("error", "start"),
            lambda error, start: error in _IN_RING and start != "ring",
            "errors of a ring, where there is none",
        ),
        Rule(
            ("error", "blocks"),
            lambda error, blocks: error == "blocks" and blocks == "own",
            "blocks that are refused, but not given",
        ),
        Rule(
            ("m", "n", "k", "blocks"),
            lambda m, n, k, blocks: not shapes.fitting(blocks, m, n, k),
            "sizes for which the stores have no such blocks",
        ),
    ]
    return Space(points, rules)


def _product(*bins: tuple[str, ...]) -> Iterable[tuple[str, ...]]:
    m, n, k = bins
    return ((x, y, z) for x in m for y in n for z in k)


FULL = ("shape", "mode", "placing", "memory", "error")


def order_coverage(spec: CoprocessorSpec, *, full: bool = False) -> Coverage:
    """Every pair of points; in full, shape x mode x placing x memory x error instead."""
    space = order_space(spec)
    if full:
        return Coverage("Orders, all combinations", space, [FULL, ("depth", *FULL[1:3], "error")])
    return Coverage("Orders, pairs", space, combinations(space.base, 2))


def classified(spec: CoprocessorSpec, order: Order, before: str) -> Values | None:
    """Tell the bins of an order that was run; None if it is in none.

    Such are matrices that are placed in no named way, and a ring where there is none.
    """
    if order.ring is not None and not spec.follows_ring:
        return None
    job = order.good
    shapes = shapes_of(spec)
    given = (job.block_m, job.block_n, job.block_k)
    found = matrices(spec, moved(job, -order.base))
    placing = placing_of(spec, [found[name] for name in "abc"])
    if placing is None:
        return None
    region = "low" if order.base == 0 else "border"
    if order.base + MEMORY == 1 << spec.address_width:
        region = "top"
    return {
        "error": order.error,
        "before": before,
        **dict(zip("mnk", shapes.classes((job.m, job.n, job.k), given), strict=True)),
        "mode": order.mode,
        "placing": placing,
        "region": region,
        "speed": order.speed,
        "start": "registers" if order.ring is None else "ring",
        "order": "columns" if job.by_columns else "rows",
        "blocks": "given" if all(given) else "own",
    }


def _most_beats(spec: CoprocessorSpec) -> dict[str, int]:
    """Count the most beats that a burst of each kind may have."""
    shapes = shapes_of(spec)
    job = Job(
        a=0,
        b=0,
        c=0,
        m=shapes.longest(0),
        n=shapes.longest(1),
        k=shapes.longest(2),
        lda=0,
        ldb=0,
        ldc=0,
        bias=0,
        row_factors=0 if spec.row_factors else None,
        records=0 if spec.requantises_columns else None,
    )
    lengths = {name: matrix.row_bytes for name, matrix in matrices(spec, job).items()}
    lengths["ring"] = DESCRIPTOR
    # Rows begin at any byte, descriptors at whole beats.
    return {
        name: min(spec.burst, -(-(length + (name != "ring") * (spec.bytes - 1)) // spec.bytes))
        for name, length in lengths.items()
    }


def burst_coverage(spec: CoprocessorSpec) -> Coverage:
    """Bursts: of what, how they were answered, and on which beat an error came."""
    more = [
        ("bias", spec.bias),
        ("row_factors", spec.row_factors),
        ("records", spec.requantises_columns),
        ("ring", spec.follows_ring),
    ]
    kinds = ("a", "b", *(name for name, there in more if there), "c")
    points = [
        Point("of", kinds),
        Point("response", ("okay", "slverr", "decerr")),
        Point("beats", ("one", "two", "more")),
        Point("beat", ("none", "only", "first", "middle", "last")),
        Point("burst", ("only", "first", "middle", "last")),
        Point("end", ("inside of 4 KiB", "at 4 KiB")),
    ]
    most = _most_beats(spec)
    rules = [
        Rule(("response", "beat"), lambda response, beat: (response == "okay") != (beat == "none"),
             "a beat with an error in a burst without one"),
        Rule(("beats", "beat"),
             lambda beats, beat: beat in {"one": ("first", "middle", "last"),
                                          "two": ("only", "middle"), "more": ("only",)}[beats],
             "a beat that such a burst does not have"),
        Rule(("of", "burst"),
             lambda *bins: bins == ("ring", "only") and most["ring"] * spec.bytes < DESCRIPTOR,
             "descriptors of several bursts each"),
        Rule(("of", "beats"), lambda of, beats: {"one": 1, "two": 2, "more": 3}[beats] > most[of],
             "more beats than a row in a block, or a burst, has"),
    ]  # fmt: skip
    crosses = [
        ("of", "response", "beat"),
        ("of", "response", "end"),
        ("of", "response", "burst"),
        ("of", "response", "beats"),
        ("of", "beats", "end"),
    ]
    return Coverage("Bursts", Space(points, rules), crosses)
