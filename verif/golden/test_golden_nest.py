"""Loop nests: what is legal computes C, what is not is refused; cycles are those of hardware."""

from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from carrysave.sim.operands import normal, uniform
from golden.arith.recode import booth, ent, naf, nonzero
from golden.check import Choice
from golden.engine import EngineSpec, matmul
from golden.formats.integer import IntFormat
from golden.nest import (
    Loop,
    Nest,
    Step,
    bits,
    constant_time,
    encode_once,
    execute,
    nest_of,
    opt1,
    opt2,
    opt3,
    opt4c,
    opt4e,
    recoded,
)
from golden.nest.shapes import array, element, weight_stationary
from golden.pe import mac
from golden.pe.opt3 import ENCODINGS
from hw.arith.carry_save import Planes
from hw.catalog import CATALOG, Design
from hw.pe.opt2 import Opt2Element

Change = Callable[[Nest], Nest]
Body = tuple[Loop | Step, ...]
INT8 = IntFormat(width=8)
ENCODE, SELECT, MAP, SHIFT = Step.ENCODE, Step.SELECT, Step.MAP, Step.SHIFT
HALF_REDUCE, ACCUMULATE, ADD, SYNC = Step.HALF_REDUCE, Step.ACCUMULATE, Step.ADD, Step.SYNC

CHANGES: dict[str, tuple[Change, ...]] = {
    "mac": (),
    "opt1": (opt1,),
    "opt2": (opt1, opt2),
    "opt2-mac": (opt2,),
    "opt3": (opt1, opt3),
    "opt3-mac": (opt3,),
    "opt3-opt1": (opt3, opt1),
    "opt3-opt2": (opt1, opt2, opt3),
    "opt4c": (opt1, opt3, opt4c),
    "opt4c-opt2": (opt1, opt2, opt3, opt4c),
    "opt4e": (opt1, opt3, opt4c, opt4e),
    "opt4c-constant": (opt1, opt3, opt4c, constant_time),
    "opt4e-constant": (opt1, opt3, opt4c, opt4e, constant_time),
    "ent-mac": (encode_once,),
    "ent-opt2": (encode_once, opt1, opt2),
    "ent-opt4e": (encode_once, opt1, opt3, opt4c, opt4e),
    "recoded-opt3": (opt1, opt3, recoded),
    "recoded-opt4e": (opt1, opt3, opt4c, opt4e, recoded),
}
SHAPES: dict[str, Callable[[int], Nest]] = {
    "os": lambda planes: array(m=2, n=3, planes=planes),
    "cube": lambda planes: array(m=2, n=3, k=4, planes=planes),
    "ragged": lambda planes: array(m=2, n=2, k=6, planes=planes),
    "few": lambda planes: array(m=2, n=2, k=3, planes=planes),
    "tree": lambda planes: array(m=1, n=2, k=8, planes=planes),
    "ws": lambda planes: weight_stationary(m=3, n=2, k=4, planes=planes),
    "element": lambda planes: element(k=4, planes=planes),
}
NOT_FOR = {
    "os": ("opt2-mac",),
    "ragged": tuple(change for change in CHANGES if change not in ("opt4e", "opt4e-constant")),
    "few": tuple(change for change in CHANGES if change not in ("opt2", "opt4e")),
    "ws": tuple(change for change in CHANGES if change not in ("mac", "opt1", "ent-mac")),
    "element": tuple(change for change in CHANGES if "4" in change or "ent" in change),
}
NESTS = [
    (shape, change)
    for shape in SHAPES
    for change in CHANGES
    if change not in NOT_FOR.get(shape, ())
]


def make(shape: str, change: str, planes: int = 4) -> Nest:
    nest = SHAPES[shape](planes)
    for step in CHANGES[change]:
        nest = step(nest)
    return nest


def operands(kind: str, fmt: IntFormat, shape: tuple[int, int], seed: int) -> np.ndarray:
    rng = np.random.default_rng(seed)
    if kind == "one-hot":
        return 1 << rng.integers(0, fmt.width - fmt.signed, shape)
    if kind in ("zero", "low", "high"):
        return np.full(shape, {"zero": 0, "low": fmt.low, "high": fmt.high}[kind])
    return (normal if kind == "normal" else uniform)(rng, fmt, shape)


KINDS = ("normal", "uniform", "zero", "low", "high", "one-hot")


@pytest.mark.sample(28)
@pytest.mark.parametrize(("shape", "change"), NESTS)
def test_nest_matches_matmul(shape: str, change: str) -> None:
    """All kinds of operands, sizes that are and are not whole tiles, all recoders."""
    nest = make(shape, change)
    for seed, kind in enumerate(KINDS):
        m, n = (1, 1) if shape == "element" else ((4, 6), (3, 2), (1, 7))[seed % 3]
        k = (8, 13, 1)[seed // 2]
        a, b = operands(kind, INT8, (m, k), seed), operands(kind, INT8, (k, n), seed + 9)
        c, cycles = execute(nest, a, b, (booth, ent, naf)[seed % 3], INT8)
        assert c.tolist() == matmul(EngineSpec(), a, b).tolist(), kind
        assert cycles > 0


@pytest.mark.parametrize(
    "fmt",
    [IntFormat(width=w, signed=s) for w in (2, 5, 16) for s in (1, 0) for s in (bool(s),)],
    ids=lambda fmt: fmt.name,
)
@pytest.mark.parametrize("change", ["mac", "opt2", "opt4e", "bits-opt2", "bits-opt4e"])
def test_nest_of_other_widths(change: str, fmt: IntFormat) -> None:
    a, b = operands("uniform", fmt, (3, 9), 1), operands("uniform", fmt, (9, 4), 2)
    a[0], b[:, 0] = fmt.low, fmt.low
    radix_2 = change.startswith("bits-")
    planes = fmt.width if radix_2 else naf(a, fmt).shape[-1]
    nest = array(m=2, n=3, k=4, planes=planes, radix=2 if radix_2 else 4)
    for step in CHANGES[change.removeprefix("bits-")]:
        nest = step(nest)
    c, _ = execute(nest, a, b, bits if radix_2 else naf, fmt)
    assert c.tolist() == (a @ b).tolist()


def test_bits_make_every_value() -> None:
    for signed in (True, False):
        fmt = IntFormat(width=6, signed=signed)
        codes = np.arange(fmt.low, fmt.high + 1)
        assert (bits(codes, fmt) @ (1 << np.arange(6))).tolist() == codes.tolist()


def slots(body: Body, path: tuple[int, ...] = ()) -> Iterator[tuple[int, ...]]:
    """All places at which a step can stand."""
    for at in range(len(body) + 1):
        yield (*path, at)
        node = body[at] if at < len(body) else None
        if isinstance(node, Loop):
            yield from slots(node.body, (*path, at))


def edit(body: Body, path: tuple[int, ...], change: Callable[[Body], Body]) -> Body:
    """Change a body from a place on."""
    at, *rest = path
    if not rest:
        return body[:at] + change(body[at:])
    node = body[at]
    assert isinstance(node, Loop)
    return (*body[:at], node.around(*edit(node.body, tuple(rest), change)), *body[at + 1 :])


def look(body: Body, path: tuple[int, ...]) -> Loop | Step | None:
    found: list[Body] = []
    edit(body, path, lambda rest: (found.append(rest), rest)[1])  # type: ignore[func-returns-value]
    return found[0][0] if found[0] else None


def mutants(body: Body) -> Iterator[Body]:
    """Every step left out, and moved to every other place; every loop changed."""
    for path in slots(body):
        node = look(body, path)
        if isinstance(node, Step):
            less = edit(body, path, lambda rest: rest[1:])
            yield less
            for place in slots(less):
                moved = edit(less, place, lambda rest, node=node: (node, *rest))  # type: ignore[misc]
                if moved != body:
                    yield moved
        elif isinstance(node, Loop):
            yield edit(body, path, lambda rest: (*rest[0].body, *rest[1:]))  # type: ignore[union-attr]
            inner = next((one for one in node.body if isinstance(one, Loop)), None)
            others: list[dict[str, Any]] = [
                {flag: not getattr(node, flag)} for flag in ("parallel", "nonzero", "chain")
            ]
            if node.size is not None and inner is not None and inner.size is not None:
                others.append({"index": inner.index, "size": inner.size})
            for other in others:
                try:
                    changed = replace(node, **other)
                except ValueError:
                    continue
                yield edit(body, path, lambda rest, one=changed: (one, *rest[1:]))  # type: ignore[misc]


def sizes(nest: Nest) -> tuple[list[str], int]:
    """Loops that take any size, and digits: without these there are operands that do not fit."""
    loops = [node for _, node in nest.walk() if isinstance(node, Loop)]
    return sorted(loop.index for loop in loops if loop.size is None), loops[0].covers("bw")


@pytest.mark.sample(10)
@pytest.mark.parametrize(("shape", "change"), [one for one in NESTS if "constant" not in one[1]])
def test_every_nest_that_is_not_refused_is_right(shape: str, change: str) -> None:
    """Any single step left out or moved, any loop changed: refused, or the same C."""
    fmt = IntFormat(width=4)
    size = (1, 1) if shape == "element" else (3, 4)
    a, b = operands("uniform", fmt, (size[0], 9), 1), operands("uniform", fmt, (9, size[1]), 2)
    legal = refused = 0
    nest = make(shape, change, planes=2)
    for body in mutants(nest.body):
        try:
            mutant = replace(nest, body=body)
        except ValueError:
            refused += 1
            continue
        if sizes(mutant) != sizes(nest):
            continue
        c, _ = execute(mutant, a, b, booth, fmt)
        assert c.tolist() == (a @ b).tolist(), body
        legal += 1
    assert refused > legal > 0


def in_tile(*body: Loop | Step) -> Body:
    return (Loop("k", None, body), ADD)


DIGITS = Loop("bw", 4, (MAP, SHIFT), parallel=True)
SPARSE = Loop("bw", 4, (MAP, SHIFT, ACCUMULATE), nonzero=True)
KEPT = Loop("k", None, (ENCODE, Loop("bw", 4, (MAP, ACCUMULATE), parallel=True)))
SHIFTS = Loop("bw", 4, (SHIFT,), parallel=True)


@pytest.mark.parametrize(
    ("body", "says"),
    [
        ((), "map must be in the nest"),
        (in_tile(ENCODE, DIGITS, HALF_REDUCE), "accumulate must be inside 'for k in K'"),
        (in_tile(ENCODE, DIGITS, ACCUMULATE), "half-reduce must come between 'parallel for bw"),
        (in_tile(DIGITS, HALF_REDUCE, ACCUMULATE), "encode must come before map"),
        (in_tile(ENCODE, Loop("bw", 4, (MAP,), parallel=True), HALF_REDUCE, SHIFT, ACCUMULATE),
         "shift must come before half-reduce sums several bit weights"),
        (in_tile(ENCODE, Loop("bw", 4, (MAP, ACCUMULATE)), SHIFT, ACCUMULATE),
         "shift must be inside 'for bw in 4'"),
        (in_tile(ENCODE, DIGITS, HALF_REDUCE, ACCUMULATE)[:1], "add must be the last step"),
        ((*in_tile(ENCODE, DIGITS, HALF_REDUCE, ACCUMULATE), HALF_REDUCE),
         "add must be the last step"),
        ((Loop("k", 2, in_tile(ENCODE, DIGITS, HALF_REDUCE, ACCUMULATE)),),
         "'for k in K' must be the outermost loop over k"),
        (in_tile(ENCODE, ENCODE, DIGITS, HALF_REDUCE, ACCUMULATE),
         "encode must be in the nest once"),
        (in_tile(ENCODE, DIGITS, HALF_REDUCE, ENCODE, ACCUMULATE), "encode must come before map"),
        (in_tile(ENCODE, Loop("bw", 4, (MAP, MAP, SHIFT, ACCUMULATE))),
         "map must be in the nest once"),
        (in_tile(ENCODE, Loop("bw", 4, (MAP, SHIFT, SHIFT, ACCUMULATE))),
         "shift must be in the nest once"),
        (in_tile(ENCODE, SPARSE), "select must come before 'for bw in 4, non-zero'"),
        (in_tile(ENCODE, Loop("bw", 4, (SELECT, MAP, SHIFT, ACCUMULATE))), "outside the bw loop"),
        ((Loop("m", None, (Loop("k", None, (Loop("m", 2, (ENCODE, SELECT, SPARSE), parallel=True),
          )),)), ADD), "sync must come before the next iteration of 'for k in K'"),
        ((Loop("m", None, (Loop("m", 2, (Loop("k", None, (ENCODE, SELECT, Loop("bw", 4,
          (Loop("k", 4, (MAP, SHIFT), parallel=True), HALF_REDUCE, ACCUMULATE), nonzero=True),
          SYNC)), ADD),
          parallel=True),)),), "sync must come before the next iteration of 'for m in M / 2'"),
        ((Loop("m", None, in_tile(ENCODE, DIGITS, HALF_REDUCE, ACCUMULATE)[:1]), ADD),
         "add must be inside loops over the same m and n as map"),
        (in_tile(ENCODE, Loop("k", 4, parallel=True), DIGITS, HALF_REDUCE, ACCUMULATE),
         "'parallel for k in 4' must be a loop around map"),
        (in_tile(ENCODE, SELECT, Loop("bw", 4, (Loop("k", 4, (MAP,), parallel=True), HALF_REDUCE,
          SHIFT, ACCUMULATE), nonzero=True), SYNC), "where a value has one bit weight"),
        ((KEPT, HALF_REDUCE, ADD), "shift must come before half-reduce sums several bit weights"),
        ((KEPT, SHIFT, HALF_REDUCE, ADD), "where a value has one bit weight"),
        ((KEPT, SHIFTS, ADD), "half-reduce must come between 'parallel for bw in 4' and add"),
        ((KEPT, SHIFTS, HALF_REDUCE), "add must be the last step of the sum"),
        ((KEPT, SHIFTS.around(SHIFT, ADD)), "add must be the last step of the sum"),
        ((KEPT, SHIFTS.around(SHIFT, SHIFT), HALF_REDUCE, ADD), "shift must be in the nest once"),
        ((KEPT, SHIFTS, SHIFTS, HALF_REDUCE, ADD), "must come before map, or of sums"),
        ((KEPT, SHIFTS, HALF_REDUCE, SHIFTS, ADD), "must come before map, or of sums"),
        ((KEPT, SHIFTS, HALF_REDUCE, SHIFT, ADD), "shift must be in the nest once"),
        ((KEPT, replace(SHIFTS, size=2), HALF_REDUCE, ADD),
         "'parallel for bw in 2' must come before map, or of sums that are kept"),
        ((KEPT, replace(SHIFTS, parallel=False), HALF_REDUCE, ADD),
         "'for bw in 4' must come before map, or of sums that are kept"),
        ((KEPT, replace(SHIFTS, index="k"), HALF_REDUCE, ADD),
         "'parallel for k in 4' must come before map, or of sums that are kept"),
        (in_tile(ENCODE, DIGITS, HALF_REDUCE, ACCUMULATE, SHIFTS),
         "'parallel for bw in 4' must come before map, or of sums that are kept"),
        ((*in_tile(ENCODE, Loop("bw", 4, (MAP, SHIFT, ACCUMULATE), parallel=True))[:1], SHIFTS,
          HALF_REDUCE, ADD), "shift must be in the nest once"),
        (in_tile(ENCODE, Loop("k", 2, (Loop("k", 4, (DIGITS, HALF_REDUCE), parallel=True),
          HALF_REDUCE, ACCUMULATE), short=4)), r"short must be 0\.\.3 iterations, not 4"),
    ],
)  # fmt: skip
def test_nest_refuses_what_is_not_c(body: Body, says: str) -> None:
    with pytest.raises(ValueError, match=says):
        Nest(body)


def unchecked(body: Body) -> Nest:
    nest = object.__new__(Nest)
    for name, value in (("body", body), ("radix", 4), ("coded", "a")):
        object.__setattr__(nest, name, value)
    return nest


@pytest.mark.parametrize(
    "body",
    [
        in_tile(ENCODE, Loop("bw", 4, (MAP,), parallel=True), HALF_REDUCE, ACCUMULATE),
        in_tile(ENCODE, Loop("bw", 4, (MAP, ACCUMULATE)), SHIFT, ACCUMULATE),
        (*in_tile(ENCODE, DIGITS, HALF_REDUCE), ACCUMULATE, ADD),
        (Loop("k", None, (ENCODE, Loop("bw", 4, (MAP, SHIFT))), False), ACCUMULATE, ADD),
        (KEPT, HALF_REDUCE, ADD),
        (KEPT, SHIFTS.around(SHIFT, SHIFT), HALF_REDUCE, ADD),
        (KEPT, SHIFTS, HALF_REDUCE, SHIFTS, HALF_REDUCE, ADD),
    ],
)
def test_execution_of_an_illegal_nest_shows_why(body: Body) -> None:
    """Without the check, what is refused gives something else than C."""
    a, b = operands("uniform", INT8, (1, 6), 3), operands("uniform", INT8, (6, 1), 4)
    with pytest.raises(ValueError, match="must"):
        Nest(body)
    c, _ = execute(unchecked(body), a, b, booth, INT8)
    assert c.tolist() != (a @ b).tolist()


PAIRS = Loop("bw", 2, (Loop("bw", 2, (MAP, ACCUMULATE), parallel=True),), parallel=True)


@pytest.mark.parametrize(
    "body",
    [
        (Loop("k", None, (Loop("k", 4, (ENCODE, DIGITS, HALF_REDUCE, ADD), parallel=True),
         HALF_REDUCE, ACCUMULATE, ADD)),),
        (Loop("k", None, (ENCODE, SELECT, Loop("bw", 4, (Loop("k", 4, (MAP, ACCUMULATE),
         nonzero=True),), parallel=True), SYNC)), SHIFTS, HALF_REDUCE, ADD),
        (Loop("k", None, (Loop("k", 4, KEPT.body), SHIFTS, HALF_REDUCE, ACCUMULATE)), ADD),
        (Loop("k", None, (Loop("k", 4, (ENCODE, DIGITS, HALF_REDUCE, ACCUMULATE), parallel=True),)),
         HALF_REDUCE, ADD),
        (Loop("k", None, (Loop("k", 3, (ENCODE, PAIRS), parallel=True),)), Loop("k", 3, (
         PAIRS.around(Loop("bw", 2, (SHIFT,), parallel=True)), HALF_REDUCE), parallel=True),
         HALF_REDUCE, ADD),
        (Loop("k", None, (Loop("k", 3, (Loop("k", 2, (ENCODE, DIGITS), parallel=True),
         HALF_REDUCE, ACCUMULATE), parallel=True, short=1),)), HALF_REDUCE, ADD),
        (Loop("k", None, (Loop("k", 2, (Loop("k", 2, (Loop("k", 3, (ENCODE, DIGITS), parallel=True),
         HALF_REDUCE, ACCUMULATE), short=2),), short=1),)), ADD),
    ],
    ids=["products-are-numbers", "sparse-planes", "planes-taken-often", "lanes",
         "lanes-of-planes", "ragged-lanes", "ragged-twice"],
)  # fmt: skip
def test_sums_side_by_side_are_summed_where_they_leave(body: Body) -> None:
    for k in (1, 6, 29):
        a, b = operands("uniform", INT8, (1, k), 1), operands("uniform", INT8, (k, 1), 2)
        assert execute(Nest(body), a, b, booth, INT8)[0].tolist() == (a @ b).tolist()


def test_opt2_shifts_where_sums_leave() -> None:
    """Each weight has an accumulator for all of K, as the hardware's planes are."""
    nest = opt2(opt1(element(k=4, planes=4)))
    planes = Loop("bw", 4, (Loop("k", 4, (MAP,), parallel=True), HALF_REDUCE, ACCUMULATE), True)
    assert nest == Nest((Loop("k", None, (ENCODE, planes)), SHIFTS, HALF_REDUCE, ADD))
    layout = Opt2Element(mac.MacSpec(k=4)).layout
    assert isinstance(layout, Planes)
    assert [weight for weight, _ in layout.parts] == [0, 2, 4, 6]


def test_sums_are_carry_save_until_they_are_added() -> None:
    """Without its add, OPT1's nest leaves carries, which are no part of the sum yet."""
    nest = unchecked(opt1(element(k=1, planes=4)).body[:1])
    a = np.full((1, 40), 127)
    with pytest.raises(AssertionError):
        execute(nest, a, a.T, booth, INT8)


@pytest.mark.parametrize(
    ("change", "nest", "says"),
    [
        (opt1, opt1(SHAPES["os"](4)), "opt1 needs an add inside the k loop to move out"),
        (opt2, SHAPES["os"](4), "opt2 needs parallel loops over k and, inside, over bw"),
        (opt2, make("cube", "opt2"), "opt2 needs parallel loops"),
        (opt2, make("cube", "opt3"), "opt2 needs parallel loops"),
        (opt2, make("ws", "opt1"), "opt2 needs parallel loops"),
        (opt2, make("os", "opt2"), "opt2 needs parallel loops"),
        (
            opt2,
            Nest((
                Loop(
                    "k",
                    None,
                    (
                        ENCODE,
                        Loop("bw", 2, (replace(DIGITS, size=2),), True),
                        HALF_REDUCE,
                        ACCUMULATE,
                    ),
                ),
                ADD,
            )),
            "opt2 needs parallel loops",
        ),
        (opt3, make("cube", "opt3"), "opt3 needs a parallel loop over bw to put in time"),
        (opt3, make("ws", "opt1"), "must not be in a chain"),
        (opt4c, make("cube", "opt1"), "opt4c needs select to share"),
        (opt4c, make("cube", "opt4c"), "opt4c needs select in a parallel loop over n"),
        (opt4c, make("element", "opt3"), "opt4c needs select in a parallel loop over n"),
        (opt4e, make("cube", "opt3"), r"opt4e needs select outside of the loop over n \(opt4c\)"),
        (opt4e, make("cube", "opt4c-constant"), "opt4e needs select outside of the loop over n"),
        (opt4e, make("cube", "opt4e"), "opt4e needs the digits of a beat one after the other"),
        (opt4e, make("cube", "opt4c-opt2"), "opt4e needs a shift for each digit"),
        (constant_time, make("cube", "opt1"), "constant_time needs a loop over digits"),
        (constant_time, make("cube", "opt4c-constant"), "constant_time needs a loop over digits"),
        (encode_once, array(m=2, n=2, planes=8, radix=2), "encode_once needs an encode to move"),
        (encode_once, make("cube", "opt4c"), "encode_once needs encode in a loop over n"),
        (encode_once, make("element", "mac"), "encode_once needs encode in a loop over n"),
    ],
)
def test_changes_refuse_a_nest_without_a_place_for_them(
    change: Change, nest: Nest, says: str
) -> None:
    with pytest.raises(ValueError, match=says):
        change(nest)


@pytest.mark.parametrize("change", [opt2, opt3])
def test_products_that_are_numbers_are_no_case_for_compression(change: Change) -> None:
    """An array multiplier in each place, with an adder of its own, and a tree behind them."""
    products = Loop("k", 4, (ENCODE, DIGITS, HALF_REDUCE, ADD), parallel=True)
    nest = Nest((Loop("k", None, (products, HALF_REDUCE, ACCUMULATE, ADD)),))
    with pytest.raises(ValueError, match=r"needs products in carry-save form"):
        change(nest)
    assert opt1(nest) == Nest((
        Loop(
            "k",
            None,
            (replace(products, body=(ENCODE, DIGITS, HALF_REDUCE)), HALF_REDUCE, ACCUMULATE),
        ),
        ADD,
    ))


@pytest.mark.parametrize(
    ("shape", "change", "units"),
    [
        ("os", "mac", {ENCODE: 6, MAP: 24, HALF_REDUCE: 6, ACCUMULATE: 6, ADD: 6}),
        ("os", "opt1", {ENCODE: 6, MAP: 24, HALF_REDUCE: 6, ACCUMULATE: 6, ADD: 3}),
        ("cube", "mac", {ENCODE: 24, MAP: 96, SHIFT: 96, ADD: 6}),
        ("cube", "opt1", {ENCODE: 24, MAP: 96, SHIFT: 96, ADD: 3}),
        ("cube", "opt2", {ENCODE: 24, MAP: 96, ACCUMULATE: 24, SHIFT: 12, ADD: 3}),
        ("cube", "opt2-mac", {ENCODE: 24, MAP: 96, ACCUMULATE: 6, SHIFT: 24, ADD: 6}),
        ("os", "opt2", {ENCODE: 6, MAP: 24, ACCUMULATE: 24, SHIFT: 12, ADD: 3}),
        ("cube", "opt3", {ENCODE: 24, SELECT: 24, MAP: 6, ACCUMULATE: 6}),
        ("cube", "opt4c", {ENCODE: 8, SELECT: 8, MAP: 6, ACCUMULATE: 6}),
        ("ragged", "opt4e", {ENCODE: 12, SELECT: 12, MAP: 16, ACCUMULATE: 4}),
        ("few", "opt4e", {ENCODE: 6, SELECT: 6, MAP: 12, ACCUMULATE: 4}),
        ("os", "opt4e", {ENCODE: 2, SELECT: 2, MAP: 6, ACCUMULATE: 6}),
        ("cube", "opt4e", {ENCODE: 8, SELECT: 8, MAP: 24, ACCUMULATE: 6}),
        ("ws", "mac", {ENCODE: 8, MAP: 32, ACCUMULATE: 8, ADD: 8}),
        ("ws", "opt1", {ENCODE: 8, MAP: 32, ACCUMULATE: 8, ADD: 2}),
        ("os", "ent-mac", {ENCODE: 2, MAP: 24}),
        ("ws", "ent-mac", {ENCODE: 8, MAP: 32}),
    ],
)
def test_changes_do_what_they_are_for(shape: str, change: str, units: dict[Step, int]) -> None:
    """Pieces of hardware for each step: adders, shifters and encoders that are saved."""
    nest = make(shape, change)
    found = {node: nest.units(path, node) for path, node in nest.walk() if isinstance(node, Step)}
    assert {step: found[step] for step in units} == units


@pytest.mark.sample(5)
@pytest.mark.parametrize(("kind", "seed"), [(kind, seed) for seed, kind in enumerate(KINDS)])
@pytest.mark.parametrize("planes_first", [False, True])
def test_digits_take_the_cycles_of_the_slowest_row(
    kind: str, seed: int, planes_first: bool
) -> None:
    """Counted apart: a beat takes the most digits of any row or lane, and one if there is none."""
    a, b = operands(kind, INT8, (4, 29), seed), operands(kind, INT8, (29, 5), seed)
    beats = np.pad(nonzero(ent(a, INT8)), ((0, 0), (0, 3))).reshape(2, 2, 4, 8)
    expected = np.maximum(beats.sum(axis=3).max(axis=1), 1).sum() * 2  # two tiles of columns
    lanes = np.maximum(beats.reshape(2, 2, 4, 2, 4).sum(axis=3).max(axis=(1, 3)), 1).sum() * 2
    nest = array(m=2, n=3, k=8, planes=4)
    nest = opt3(opt2(opt1(nest)) if planes_first else opt1(nest))
    assert execute(nest, a, b, ent, INT8)[1] == expected
    assert execute(opt4c(nest), a, b, ent, INT8)[1] == expected
    assert execute(constant_time(opt4c(nest)), a, b, ent, INT8)[1] == 2 * 2 * 4 * 8 * 4
    if not planes_first:
        assert execute(opt4e(opt4c(nest)), a, b, ent, INT8)[1] == lanes
        assert execute(constant_time(opt4e(opt4c(nest))), a, b, ent, INT8)[1] == 2 * 2 * 4 * 8


def serial(m: int, sync: int, group: int) -> Nest:
    """Make the nest of m digit-serial rows, which wait for each other after `sync` codes of k.

    The empty planes of a group of codes are not skipped.
    """
    planes = Loop("bw", 4, (Loop("k", group, (MAP, SHIFT, ACCUMULATE), nonzero=True),))
    groups = Loop("k", sync // group, (ENCODE, SELECT, planes))
    beat = Loop("k", None, (Loop("m", m, (groups,), parallel=True), SYNC))
    return Nest((Loop("m", None, (Loop("n", None, (beat, Loop("m", m, (ADD,)))),)),))


@pytest.mark.sample(2)
@pytest.mark.parametrize(
    ("sigma", "groups_of_4", "groups_of_16"),
    [(10, 2.08, 1.82), (20, 2.34, 2.15), (30, 2.47, 2.34), (40, 2.56, 2.49)],
)
def test_cycles_per_operand_are_the_known_ones(
    sigma: int, groups_of_4: float, groups_of_16: float
) -> None:
    """EN-T digits of normal operands; known to two digits after the point, drawn anew here."""
    codes = np.rint(np.random.default_rng(0).normal(0, sigma, 4100)).astype(np.int64)
    a = codes[(codes >= INT8.low) & (codes <= INT8.high)][None, :4000]
    for group, known in ((4, groups_of_4), (16, groups_of_16)):
        cycles = execute(serial(1, group, group), a, np.ones_like(a.T), ent, INT8)[1]
        assert cycles / a.size == pytest.approx(known, abs=0.03)


@pytest.mark.parametrize(("k", "known"), [(16, 0.84), (32, 0.88), (128, 0.935)])
def test_utilisation_of_rows_that_wait_is_the_known_one(k: int, known: float) -> None:
    """32 rows, operands N(0, 20); they wait for the slowest after all of K."""
    a = normal(np.random.default_rng(1), INT8, (32 * 16, k))
    nest = opt4c(opt3(opt1(array(m=32, n=1, k=k, planes=4))))
    cycles = execute(nest, a, np.ones((k, 1), np.int64), ent, INT8)[1]
    assert nonzero(ent(a, INT8)).sum() / 32 / cycles == pytest.approx(known, abs=0.01)


def test_rows_that_wait_less_often_are_faster() -> None:
    a, b = operands("normal", INT8, (8, 64), 1), operands("normal", INT8, (64, 1), 2)
    cycles = []
    for sync in (4, 16, 64):
        c, count = execute(serial(8, sync, 4), a, b, ent, INT8)
        assert c.tolist() == (a @ b).tolist()
        cycles.append(count)
    assert cycles == sorted(set(cycles), reverse=True)


def elements_of(name: str) -> tuple[str, ...]:
    kind = CATALOG[name].parameters["pe"]
    assert isinstance(kind, Choice)
    return kind.options


ENGINES = [
    ("systolic_os", {"m": 3, "n": 2}),
    ("matrix_2d", {"m": 2, "n": 4}),
    ("cube", {"m": 2, "n": 3, "k": 4}),
    ("adder_tree", {"m": 1, "n": 2, "k": 16}),
    ("systolic_ws", {"m": 5, "n": 2, "k": 4}),
]


@pytest.mark.parametrize(
    ("name", "sizes", "pe"),
    [(*engine, pe) for engine in ENGINES for pe in elements_of(engine[0])],
)
def test_cycles_are_those_of_the_engines(name: str, sizes: dict[str, int], pe: str) -> None:
    """Longer tiles take as many more cycles in the nest as in hardware; the rest is its latency."""
    design = Design(name, {**sizes, "pe": pe})
    spec, model = design.spec, design.entry.golden
    nest = nest_of(name, design.parameters)
    latencies = set()
    for k in (1, 7, 16, 50):
        a, b = operands("uniform", INT8, (spec.m, k), k), operands("uniform", INT8, (k, spec.n), 1)
        c, cycles = execute(nest, a, b, booth, INT8)
        assert c.tolist() == getattr(model, name)(spec, a, b).tolist()
        latencies.add(model.cycles(spec, [(a, b)], 10) - cycles)
    assert len(latencies) == 1


@pytest.mark.parametrize("constant", [False, True])
@pytest.mark.parametrize(
    ("pe", "k"),
    [("opt3", 1), ("opt3", 8), ("opt4c", 16), *(("opt4e", k) for k in (1, 2, 5, 6, 8, 11))],
)
def test_cycles_are_those_of_digit_columns(pe: str, k: int, constant: bool) -> None:
    """Whatever the operands, all but a constant is in the nest."""
    sizes = {"m": 3, "n": 2, "k": k, "pe": pe, "constant_time": constant, "encoding": "ent"}
    design = Design("digit_column", sizes)
    nest = nest_of("digit_column", design.parameters)
    latencies = set()
    for seed, kind in enumerate(KINDS):
        shape = (3, 11 * (seed % 3) + 1)
        a, b = operands(kind, INT8, shape, seed), operands("uniform", INT8, (shape[1], 2), seed)
        c, cycles = execute(nest, a, b, ent, INT8)
        assert c.tolist() == (a @ b).tolist()
        latencies.add(design.entry.golden.cycles(design.spec, [(a, b)], 10) - cycles)
    assert len(latencies) == 1


@pytest.mark.sample(7)
@pytest.mark.parametrize("k", [1, 4, 6])
@pytest.mark.parametrize("name", ["mac", "opt1", "opt2", "opt3", "opt4c", "opt4e"])
def test_cycles_are_those_of_the_elements(name: str, k: int) -> None:
    """All but the time in which a sum settles, once for each."""
    kinds = CATALOG[name].parameters
    serial = "constant_time" in kinds
    for seed, encoding in enumerate(ENCODINGS if serial else ("booth", "ent")):
        constant = {"constant_time": seed == 1} if serial else {}
        design = Design(name, {"k": k, "encoding": encoding, **constant})
        spec, model = design.spec, design.entry.golden
        nest, settle = nest_of(name, design.parameters), set()
        for kind in KINDS:
            a, b = operands(kind, INT8, (5, k), seed), operands("uniform", INT8, (5, k), 9)
            last = np.arange(5) == 4
            c, cycles = execute(nest, a.reshape(1, -1), b.reshape(-1, 1), ENCODINGS[encoding], INT8)
            assert c.reshape(-1).tolist() == getattr(model, name)(spec, a, b, last).tolist()
            settle.add(int(model.cycles(spec, a, b, last).sum()) - cycles)
        assert settle == {spec.drain if serial else 0}


def test_nest_of_follows_parameters() -> None:
    sizes = {
        "m": 2,
        "n": 3,
        "k": 4,
        "a_width": 8,
        "a_signed": False,
        "b_width": 4,
        "b_signed": True,
    }
    columns = {**sizes, "pe": "opt4c", "encoding": "ent", "constant_time": True}
    assert nest_of("digit_column", columns) == constant_time(
        opt4c(opt3(opt1(encode_once(array(m=2, n=3, k=4, planes=5)))))
    )
    bit_array = {**sizes, "pe": "mac", "encoding": "none"}
    assert nest_of("cube", bit_array) == array(m=2, n=3, k=4, planes=8, radix=2)
    stationary = {**sizes, "pe": "opt1", "encoding": "booth"}
    assert nest_of("systolic_ws", stationary) == opt1(weight_stationary(m=2, n=3, k=4, planes=2))
    lanes = {"n": 3, "k": 4, "a_width": 6, "a_signed": True}
    assert nest_of("opt4c", lanes) == opt4c(opt3(opt1(array(m=1, n=3, k=4, planes=3))))
    with pytest.raises(ValueError, match="laconic has no loop nest; these have: mac, opt1"):
        nest_of("laconic", sizes)
    with pytest.raises(ValueError, match="encoding must be other than operator"):
        nest_of("cube", {**sizes, "encoding": "operator", "pe": "mac"})


@pytest.mark.parametrize("change", ["mac", "opt2", "opt4e"])
def test_nothing_is_the_sum_of_nothing(change: str) -> None:
    a, b = np.zeros((3, 0), np.int64), np.zeros((0, 4), np.int64)
    c, cycles = execute(make("cube", change), a, b, booth, INT8)
    assert c.tolist() == [[0] * 4] * 3
    assert cycles == 0


def test_execute_refuses() -> None:
    nest, a = element(k=1, planes=4), np.ones((1, 3), np.int64)
    with pytest.raises(ValueError, match="a and b must be M x K and K x N"):
        execute(nest, a, a, booth, INT8)
    with pytest.raises(ValueError, match=r"M must be 0\.\.1, not 2"):
        execute(nest, np.ones((2, 3), np.int64), a.T, booth, INT8)
    with pytest.raises(ValueError, match="recode must make 4 digits, not 8"):
        execute(nest, a, a.T, bits, INT8)
    with pytest.raises(TypeError, match="b must be integers, not float64"):
        execute(nest, a, 0.5 * a.T, booth, INT8)
    with pytest.raises(ValueError, match=r"codes must be -128\.\.127"):
        execute(nest, 200 * a, a.T, booth, INT8)


@pytest.mark.parametrize(
    ("arguments", "error", "says"),
    [
        (("x", 2), ValueError, "index must be one of m, n, k, bw, not 'x'"),
        (("k", 0), ValueError, "size must be 1..16777216, not 0"),
        (("k", 2.0), TypeError, "size must be"),
        (("bw", None), ValueError, "size of for bw in BW must be a number, not None"),
        (("k", 2, (), True, False, True), ValueError, "nonzero must be of a k or bw loop in time"),
        (("m", 2, (), False, False, True), ValueError, "nonzero must be of a k or bw loop in time"),
        (("bw", 2, (), True, True), ValueError, "chain must be of a parallel k loop"),
        (("k", 2, (), 1), TypeError, "parallel must be true or false, not 1"),
        (("k", 2, (), False, False, False, -1), ValueError, r"short must be 0\.\."),
        (("k", None, (), False, False, False, 1), ValueError, "short must be of a k loop with"),
        (("bw", 2, (), False, False, False, 1), ValueError, "short must be of a k loop with"),
    ],
)
def test_loop_refuses(arguments: tuple[Any, ...], error: type[Exception], says: str) -> None:
    with pytest.raises(error, match=says):
        Loop(*arguments)


@pytest.mark.parametrize(
    ("arguments", "error", "says"),
    [
        ({"radix": 3}, ValueError, "radix must be 2 or 4, not 3"),
        ({"coded": "c"}, ValueError, "coded must be one of a, b, not 'c'"),
        ({"body": ("map",)}, TypeError, "body must be of loops and steps, not 'map'"),
    ],
)
def test_nest_refuses(arguments: dict[str, Any], error: type[Exception], says: str) -> None:
    with pytest.raises(error, match=says):
        Nest(**{"body": (), **arguments})
