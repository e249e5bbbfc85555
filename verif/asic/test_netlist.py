"""Every design's bench on its netlist: synthesised for osu018, cells modelled from the Liberty."""

from pathlib import Path
from typing import Any

import pytest

from carrysave import cache
from carrysave.asic import synthesis
from carrysave.asic.liberty import cells
from carrysave.sim import runner
from hw.catalog import CATALOG, Design
from verif.support.cases import long

SMALL: dict[str, Any] = {
    "m": 2,
    "n": 2,
    "k": 2,
    "k_max": 20,
    "a_width": 4,
    "b_width": 4,
    "accumulator_width": 12,
    "formats": "int4,e2m1",
}

ROW: dict[str, Any] = {"length": 3, "width": 3, "inverse_scale": 2, "octaves": 4}
ENGINE: dict[str, Any] = {
    "engine": "systolic_os(m=2,n=2,a_width=4,b_width=4,k_max=300)",
    "data_width": 32,
    "sums": 16,
    "a_bytes": 64,
    "b_bytes": 64,
}
OF_DESIGNS: dict[str, dict[str, Any]] = {
    "requantiser": {"n": 1, "width": 6, "multiplier_width": 4, "out_width": 3},
    "shiftmax": ROW,
    "shift_gelu": ROW,
    "vector_unit": {"lanes": 2, "width": 4, "length": 6, "scale_width": 2, "out_width": 7},
    "encoder": {"format": "e2m3", "width": 10, "fraction_width": 5},
    "coprocessor": ENGINE | {
        "outstanding": 2, "narrow": True, "address_width": 20, "dimension_width": 10,
    },
    "coprocessor_stream": ENGINE,
    "coprocessor_uart": ENGINE | {"memory_bytes": 1024, "divisor": 4},
    "lut_tables": {"lookups": 1, "a_width": 4, "table": "half"},
    "lut_unit": {
        "m": 2, "n": 2, "group": 2, "lookups": 1, "activations": "int4", "k_max": 6, "planes": 2,
    },
    "lut_core": {"m": 2, "n": 2, "lookups": 1, "k_max": 20, "a_width": 4},
    "ternary_core": {"m": 2, "n": 2, "k": 2, "k_max": 20, "a_width": 4, "mode": "pair"},
    "over_weights": {
        "m": 2, "n": 2, "group": 2, "k_max": 20, "a_width": 3, "b_width": 3, "reuse": 2,
    },
    "aligner": {"format": "e3m2", "width": 4, "block": 2, "lanes": 1},
    "group_scale": {"scale": "e8m0", "sum_width": 4},
    "lmul": {"format": "e2m3", "mode": "exact"},
    "float_mac": {"a_format": "e2m1", "b_format": "e2m1", "sum_format": "e3m2ieee"},
    "float_lut": {"columns": 1, "group": 2, "a_format": "e3m2ieee", "sum_format": "e3m2ieee"},
    "block_scale": {"sum_width": 6, "fraction_width": 2, "depth": 4},
    "aligned_dot": {
        "a_format": "e2m1", "b_format": "e2m1", "group": 2, "fraction_width": 6,
        "sum_mantissa_bits": 3,
    },
}  # fmt: skip


# Of its damaged frames, a part: each takes many cycles of a bit.
OPTIONS: dict[str, dict[str, Any]] = {"coprocessor_uart": {"transactions": 60, "wrong": 1}}

LONG = (
    *("mac", "opt2", "opt3", "opt4e", "systolic_ws", "cube", "adder_tree", "matrix_2d", "sl16"),
    *("npe", "block_scale", "shiftmax", "shift_gelu", "aligned_dot", "float_mac"),
    *("digit_column", "laconic", "sl8", "lut_core", "over_weights", "aligner", "group_scale"),
    "lut_unit",
    "opt1",  # that bench on this netlist is test_cli_verify_netlist
    "float_lut",
    *(
        "coprocessor",
        "coprocessor_stream",
        "coprocessor_uart",
        "bitserial_core",
        "shift_add_core",
        "ternary_core",
        "vector_unit",
    ),
)


@pytest.mark.sample(1)
@pytest.mark.parametrize("name", [*(name for name in CATALOG if name not in LONG), *long(LONG)])
def test_netlist_passes_the_bench(name: str, tmp_path: Path) -> None:
    parameters = {key: SMALL[key] for key in CATALOG[name].parameters if key in SMALL}
    design = Design(name, OF_DESIGNS.get(name, parameters))
    library = cells.osu018()
    netlist = Path(synthesis.synthesise_design(design, library)["netlist"])
    models = cache.write(tmp_path / "cells.v", cells.cell_models(library))
    result = runner.verify(
        design,
        netlist=[netlist, models],
        bench_parameters=OPTIONS.get(name),
        directory=tmp_path,
        deadline=3600,
    )
    assert result.ok, result
    least = {"coprocessor": 15, "coprocessor_stream": 8, "coprocessor_uart": 7}
    assert result.tests >= least.get(name, 21)
