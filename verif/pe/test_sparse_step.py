"""Proof of N:M sparsity: what a mask chooses, and a step of sparse elements, against golden."""

from typing import Any

import numpy as np
import pytest
from amaranth import C, Cat, Module, Mux, Signal, Value

from golden.formats.sparse import SPARSITY, SparseFormat
from golden.pe.sparse_mac import SparseMacSpec
from hw.catalog import Design
from hw.pe.sparse_select import SparseSelect
from verif.pe.test_pe_step import CELLS, numbers, worth
from verif.support.cases import long
from verif.support.formal import holds

KINDS = SPARSITY.options[1:]


def masks_of(words: list[Value], sparse: SparseFormat, width: int) -> list[Value]:
    """Put the shares of masks together, a mask for each group."""
    starts = range(0, len(words), sparse.count)
    return [Cat(word[width:] for word in words[at : at + sparse.count]) for at in starts]


def at_places(m: Module, mask: Value, sparse: SparseFormat) -> list[list[Signal]]:
    """For each kept code and place, whether golden has it there: by its table of all masks."""
    every = np.arange(1 << sparse.group)
    there = []
    for places in sparse.places(every).T:
        there.append([Signal(name=f"there{place}") for place in range(sparse.group)])
        for place, line in enumerate(there[-1]):
            masks = every[places == place].tolist()
            m.d.comb += line.eq(Cat(mask == one for one in masks).any())
    return there


def chooses(kind: str, groups: int, width: int, *, wrong: int = 0) -> bool:
    """Prove the codes of A that masks choose, for all masks and codes of these widths.

    `wrong` exchanges two bits of what golden's mask is.
    """
    sparse = SparseFormat.parse(kind)
    count = groups * sparse.count

    def claim(m: Module, a: Signal, b: Signal, valid: Signal) -> Value:
        select = SparseSelect(sparse, count)
        beside = select.decode(m, valid, b, width)
        codes, lines = beside[: count * width], beside[count * width :]
        assert len(lines) == select.lines_width
        words = [b.word_select(at, width + sparse.share) for at in range(count)]
        chosen = select.choose(m, a, lines)
        right: Value = codes == Cat(word[:width] for word in words)
        for group, mask in enumerate(masks_of(words, sparse, width)):
            seen = Cat(mask[wrong], *mask[1:wrong], mask[0], *mask[wrong + 1 :]) if wrong else mask
            codes_of_a = a.word_select(group, sparse.group * width)
            for rank, lines_there in enumerate(at_places(m, seen, sparse)):
                zeros = C(0, width)
                due: Value = zeros
                for place, line in enumerate(lines_there):
                    due = due | Mux(line, codes_of_a.word_select(place, width), zeros)
                found = chosen.word_select(group * sparse.count + rank, width)
                right = right & (found == Mux(valid, due, 0))
        return right

    return holds(claim, groups * sparse.group * width, count * (width + sparse.share), 1)


def step_holds(cell: str, spec: SparseMacSpec, *, slip: int = 0, **build: Any) -> bool:
    """Prove sum' = (done ? 0 : sum) + A x (golden's dense B), the operands of a cycle before."""
    sparse = spec.sparse

    def claim(m: Module, a: Signal, b: Signal, valid: Signal, clear: Signal) -> Value:
        m.submodules.pe = pe = CELLS[cell](spec, **build)
        beside = pe.beside(m, valid, b)
        codes = Signal(len(beside) - pe.ahead)
        m.d.sync += codes.eq(beside)
        m.d.comb += [
            pe.i_a.eq(pe.gated(valid, pe.encode(m, a))),
            pe.i_b.eq(Cat(codes, beside[len(codes) :])),
            pe.i_clear.eq(clear),
            pe.en.eq(1),
        ]
        width = spec.accumulator_width
        total, expected, product = Signal(width), Signal(width), Signal(width)
        m.d.comb += total.eq(worth(pe.layout, pe.o))
        late: Value = Signal(width, name="at_once")
        m.d.comb += late.eq(Mux(valid, dense_product(m, a, b, spec), 0))
        for stage in range(1 + pe.pipeline):
            register = Signal(width, name=f"late{stage}")
            m.d.sync += register.eq(late)
            late = register
        m.d.comb += product.eq(late)
        m.d.sync += expected.eq(Mux(pe.o_done, 0, total) + product + C(slip, 2))
        return total == expected

    widths = spec.a_codes * spec.a_width, spec.k * (spec.b_width + sparse.share)
    return holds(claim, *widths, 1, 1, cycles=2 + build.get("pipeline", 0))


def dense_product(m: Module, a: Value, b: Value, spec: SparseMacSpec) -> Value:
    """Multiply all codes of A by the numbers that golden says words of B stand for."""
    sparse, width = spec.sparse, spec.b_width
    words = [b.word_select(at, width + sparse.share) for at in range(spec.k)]
    codes_of_a = numbers(a, spec.a_width, spec.a_signed)
    total: Value = C(0, 1)
    for group, mask in enumerate(masks_of(words, sparse, width)):
        there = at_places(m, mask, sparse)
        for place in range(sparse.group):
            bits: Value = C(0, width)
            for rank in range(sparse.count):
                code = words[group * sparse.count + rank][:width]
                bits = bits | Mux(there[rank][place], code, 0)
            number = numbers(bits[:width], width, spec.b_signed)[0]
            total = total + codes_of_a[group * sparse.group + place] * number
    return total


@pytest.mark.parametrize("kind", KINDS)
def test_masks_choose_as_golden_says(kind: str) -> None:
    """All masks, all codes of 8 bits."""
    assert chooses(kind, 1, 8)


@pytest.mark.sample(2)
@pytest.mark.parametrize("kind", KINDS)
def test_groups_do_not_mix(kind: str) -> None:
    assert chooses(kind, 2, 1)


@pytest.mark.parametrize("kind", KINDS[:2])
def test_proof_of_choice_can_fail(kind: str) -> None:
    assert not chooses(kind, 1, 1, wrong=1)


@pytest.mark.sample(4)
@pytest.mark.parametrize(
    ("cell", "kind", "encoding", "pipeline"),
    long(
        [
            ("opt1", "2:4", "ent", 0),
            ("opt1", "2:4", "booth", 1),
            ("opt1", "2:4", "operator", 0),
            ("mac", "2:4", "none", 2),
            ("mac", "1:4", "ent", 1),
            ("opt1", "1:4", "none", 0),
            ("opt2", "1:4", "ent", 1),
            ("opt2", "2:4", "ent", 0),
            ("opt1", "4:8", "ent", 0),
        ],
        6,
        7,
        8,
    ),
)
def test_sparse_step(cell: str, kind: str, encoding: str, pipeline: int) -> None:
    count = SparseFormat.parse(kind).count
    spec = SparseMacSpec(k=count, a_width=2, b_width=2, accumulator_width=6, sparsity=kind)
    assert step_holds(cell, spec, encoding=encoding, pipeline=pipeline)


@pytest.mark.prove
@pytest.mark.parametrize(("kind", "k", "width"), [("1:4", 2, 4), ("2:4", 2, 4), ("2:4", 4, 2)])
@pytest.mark.parametrize("a_signed", [True, False])
def test_sparse_step_of_wider_operands(kind: str, k: int, width: int, a_signed: bool) -> None:
    spec = SparseMacSpec(
        k=k, a_width=width, b_width=width, accumulator_width=10, sparsity=kind, a_signed=a_signed
    )
    assert step_holds("opt1", spec)


def test_proof_of_sparse_step_can_fail() -> None:
    spec = SparseMacSpec(k=2, a_width=2, b_width=2, accumulator_width=6, sparsity="2:4")
    assert not step_holds("opt1", spec, slip=1)


@pytest.mark.parametrize("name", ["adder_tree", "cube", "matrix_2d"])
def test_blocks_of_a_device_do_not_choose(name: str) -> None:
    with pytest.raises(ValueError, match="sparsity must be none with target=ecp5, not '2:4'"):
        Design(name, {"sparsity": "2:4", "target": "ecp5"}).component()


def test_tables_take_no_masks() -> None:
    with pytest.raises(ValueError, match="sparsity must be none where mode is pair, not '2:4'"):
        Design("ternary_core", {"sparsity": "2:4", "mode": "pair"})
