"""The Verilog of vector_unit against golden, on Verilator."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from amaranth import Module, Signal

from carrysave.sim.runner import verify
from golden.npe.activation import exp_parts
from golden.npe.exps import mantissas
from golden.npe.vector import VectorUnitSpec
from golden.npe.vector_unit import cycles
from hw.catalog import Design
from hw.npe.activations.row_shares import table_of
from hw.npe.activations.summed_step import SummedStep
from hw.npe.activations.summed_table import SummedTable
from hw.npe.activations.summed_widths import SummedWidths
from hw.npe.vector_unit import VectorUnit
from verif.soc.test_coprocessor_rtl import run_bench
from verif.support.cases import brief, case_name, long

SUMMED = "softmax,layer_norm,rms_norm"
DIRECT = "gelu,silu,add,multiply,scale"
CASES: list[dict[str, Any]] = [
    {},
    {"operations": "softmax", "lanes": 1, "length": 9, "width": 4, "scale_width": 0},
    {
        "operations": f"softmax,layer_norm,{DIRECT}", "lanes": 3, "length": 15, "width": 10,
        "out_width": 12, "scale_width": 8, "quotient_bits": 2,
    },
    {"lanes": 3, "length": 100, "width": 10, "out_width": 12, "signed": True, "scale_width": 8},
    {"operations": "layer_norm,rms_norm", "lanes": 2, "length": 33, "width": 16, "out_width": 16},
    {"operations": "rms_norm", "lanes": 4, "length": 64, "norm_fraction": 0, "out_width": 7},
    {"operations": f"{SUMMED},{DIRECT}", "lanes": 2, "length": 40, "quotient_bits": 5},
    {
        "operations": f"softmax,{DIRECT}", "lanes": 3, "length": 21, "width": 16,
        "out_width": 15, "signed": True, "scale_width": 8, "quotient_bits": 8,
    },
    {"operations": "gelu", "lanes": 4, "length": 4, "width": 10, "out_width": 7},
    {"operations": "multiply", "lanes": 1, "length": 7, "width": 4, "out_width": 16},
    {"operations": "rms_norm,silu,add", "lanes": 2, "length": 9},
    {"operations": "scale", "lanes": 2, "length": 11, "width": 6},
    {"operations": "layer_norm,scale", "lanes": 3, "length": 20, "width": 12, "out_width": 9},
    # Rows of one value.
    {"operations": "gelu,add,multiply", "lanes": 6, "width": 16, "length": 1},
    # One-pass attention: blocks of several beats, and of one; with nothing else, and with all.
    {"operations": "exps,divide", "lanes": 4, "length": 70},
    {
        "operations": f"{SUMMED},{DIRECT},exps,divide", "lanes": 2, "length": 40, "width": 15,
        "scale_width": 8, "out_width": 16, "signed": True, "block": 8, "quotient_bits": 5,
    },
    {
        "operations": "softmax,scale,exps,divide", "lanes": 1, "length": 9, "width": 5,
        "scale_width": 0, "block": 1,
    },
    # Exponents that are at their limit.
    {
        "operations": "exps,divide", "lanes": 2, "length": 40, "width": 16, "scale_width": 8,
        "out_width": 16, "signed": True, "block": 8,
    },
    {"operations": "sigmoid", "lanes": 2, "length": 9, "width": 10, "out_width": 7},
    {
        "operations": f"{SUMMED},{DIRECT},exps,divide,sigmoid", "lanes": 2, "length": 40,
        "width": 15, "scale_width": 8, "out_width": 16, "signed": True, "block": 8,
    },
    # As the unit of a language model on a wide bus, but for shorter rows.
    {
        "operations": "softmax,rms_norm,silu,sigmoid", "lanes": 16, "width": 16, "length": 200,
        "scale_width": 8, "out_width": 15, "signed": True, "norm_fraction": 8, "quotient_bits": 4,
    },
]  # fmt: skip


@pytest.mark.sample(1)
@pytest.mark.parametrize("parameters", brief(CASES, 1, 5, -2, -5), ids=case_name)
def test_vector_unit_rtl_matches_golden(parameters: dict[str, Any], tmp_path: Path) -> None:
    # Other ones have the carry chains of FPGAs, and what is built for them.
    adder = "sklansky" if parameters.get("lanes", 8) % 2 else "operator"
    result = verify(Design("vector_unit", parameters | {"adder": adder}), directory=tmp_path)
    assert result.ok, result


@pytest.mark.parametrize("parameters", [CASES[6], *long(CASES[-4:-1], 0, 1)], ids=case_name)
def test_vector_unit_rtl_takes_rows_after_any_gap(
    parameters: dict[str, Any], tmp_path: Path
) -> None:
    run_bench(Design("vector_unit", parameters), "verif.npe.benches.tb_vector_gaps", tmp_path)


@pytest.mark.prove
def test_vector_unit_rtl_of_a_long_context_matches_golden(tmp_path: Path) -> None:
    """Rows of more than 4,096 scores, as of a cache of so many tokens."""
    parameters = {
        "operations": "softmax,rms_norm",
        "lanes": 8,
        "width": 16,
        "length": 8192,
        "scale_width": 8,
        "out_width": 15,
        "signed": True,
        "norm_fraction": 8,
    }
    result = verify(Design("vector_unit", parameters), directory=tmp_path)
    assert result.ok, result


@pytest.mark.prove
def test_vector_unit_rtl_with_tables_matches_golden(tmp_path: Path) -> None:
    parameters = {"lanes": 3, "exponential": "table", "adder": "operator"}
    result = verify(Design("vector_unit", parameters), directory=tmp_path)
    assert result.ok, result


@pytest.mark.parametrize(
    "parameters",
    [
        {},
        {"operations": "softmax", "width": 5, "scale_width": 0},
        {"width": 6, "out_width": 16, "signed": True, "length": 16, "scale_width": 8},
    ],
    ids=case_name,
)
def test_vector_unit_tables_hold_all_factors(parameters: dict[str, Any]) -> None:
    """Words are exponentials, where anything is left of these; squares; and differences."""
    spec = VectorUnitSpec(**parameters)
    widths = SummedWidths(spec, table=True)
    step = SummedStep(
        move=Signal(),
        norm=Signal(),
        scaling=Signal(),
        squaring=Signal(),
        top=Signal(spec.width),
        mean=Signal(spec.width + 9),
        factor=Signal(spec.reciprocal_width),
        shift=Signal(6),
    )
    table = SummedTable(Module(), spec, widths, step, Signal(widths.factor))
    words, count = np.array(table.words), 1 << spec.width
    assert words.size == (4 * count if widths.norms else count)
    mantissa, whole = exp_parts(1 << spec.scale_width, -np.arange(count))
    left = spec.carry_width - spec.scale_width - 5
    for word, m, octaves in zip(words[:count], mantissa.tolist(), whole.tolist(), strict=True):
        high, low = divmod(int(word), 1 << table.width)
        if word:
            assert low << octaves + 1 == m << left + spec.MEAN_FRACTION + widths.span * high
        else:
            assert m << left + spec.reciprocal_width >> octaves == 0
            assert m << spec.exponential_width - spec.scale_width - 1 >> octaves == 0
    if widths.norms:
        values = np.arange(-count // 2, count // 2)
        assert (words[count : 2 * count] == values[::-1] ** 2).all()
        differences = ~np.r_[0:count, -count:0] << spec.MEAN_FRACTION
        assert (words[2 * count :] == differences % (1 << table.width)).all()


@pytest.mark.parametrize("signed", [False, True])
@pytest.mark.parametrize("scale_width", [0, 3, 4, 8])
def test_vector_unit_has_the_mantissas_of_golden(scale_width: int, signed: bool) -> None:
    spec = VectorUnitSpec(scale_width=scale_width, signed=signed)
    assert table_of(spec) == mantissas(scale_width, spec.share_width)


@pytest.mark.parametrize("parameters", CASES, ids=case_name)
def test_vector_unit_states_its_throughput(parameters: dict[str, Any]) -> None:
    """Many of the longest rows take the cycles that are stated, in golden; short norms no more."""
    spec = VectorUnitSpec(**parameters)
    low, high = spec.in_format.low, spec.in_format.high
    rates, exact = [], True
    for name in spec.built:
        most, sums = spec.most(name), spec.SUMS.get(name, 0)
        # Those of the longest scales: of one value, and of the farthest from each other.
        rows = [np.full(most, low), np.where(np.arange(most) < -(-most // 2), low, high)]
        found = max(cycles(spec, [(name, x)] * 9) - cycles(spec, [(name, x)] * 5) for x in rows) / 4
        beats = -(-most // spec.lanes)
        summed = spec.last_pass(name, beats)[1] + sums * (beats + spec.PASS) + 2
        bound = name == "divide" or (name in spec.NORMS and spec.row_cycles(name) > summed)
        assert 0 <= spec.row_cycles(name) - found <= (spec.width + 2) * bound, name
        rates.append(VectorUnit.COUNTED[name] * most / found)
        exact = exact and not bound
    stated = VectorUnit(spec).operations_per_cycle
    assert stated == pytest.approx(min(rates), rel=1e-12) if exact else stated <= min(rates)


def test_vector_unit_rejects_wrong_kind() -> None:
    with pytest.raises(TypeError, match="spec must be a VectorUnitSpec, not 8"):
        VectorUnit(8)  # type: ignore[arg-type]


def test_vector_unit_rejects_out_of_range() -> None:
    with pytest.raises(ValueError, match=r"lanes must be 1\.\.64 lanes, not 65"):
        Design("vector_unit", {"lanes": 65})
    for parameters in ({"width": 9}, {"operations": "rms_norm"}, {"operations": "softmax,add"}):
        with pytest.raises(ValueError, match="exponential must be 'logic' but of softmax"):
            Design("vector_unit", parameters | {"exponential": "table"}).component()
    with pytest.raises(ValueError, match="adder must be one of sklansky"):
        Design("vector_unit", {"adder": "fast"})
