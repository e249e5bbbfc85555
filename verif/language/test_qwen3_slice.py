"""Two layers of Qwen3-0.6B's sizes on the simulated co-processor, and what figures say of it."""

import runpy
from pathlib import Path

import pytest

import carrysave

SCRIPTS = Path(carrysave.__file__).parents[1] / "scripts"
BENCH = runpy.run_path(str(SCRIPTS / "figures" / "bench_qwen3.py"))
COST = runpy.run_path(str(SCRIPTS / "language" / "cost.py"))
QWEN3, SLICE, SIMULATED = BENCH["QWEN3"], BENCH["slice_program"], BENCH["simulated"]
TABLES = "W4A8, lut_core"


@pytest.mark.prove
def test_cycles_of_a_slice_are_the_models(tmp_path: Path) -> None:
    """Of one in 48 jobs of each node, whole, at real widths; results are golden's."""
    sample = SIMULATED(SLICE(32, opens=False), 48, tmp_path)
    assert sample.wrong == {}
    assert {"blk.1.ffn_down", "blk.0.attn_q"} <= {
        name for name, jobs in sample.jobs.items() if jobs
    }
    assert sample.whole_modelled == pytest.approx(sample.whole_counted, rel=0.05)


@pytest.mark.parametrize("bits", [8, 4])
def test_bytes_bound_the_rate(bits: int) -> None:
    """A token takes all weights, and keys and values of 1,024; 2.6 tokens/s for each GB/s."""
    made = BENCH["row"](TABLES, "OrangeCrab, ECPIX-5, DDR3 of 16 bits", bits)
    values = 2 * QWEN3.layers * QWEN3.shared * QWEN3.head * 1024
    bound = COST["weight_bytes"](QWEN3, BENCH["CORES"][TABLES]) + values * (bits + (bits == 4)) / 8
    assert made["MB a token"] == pytest.approx(bound / 1e6)
    assert made["tokens/s for each GB/s, 128"] > 2.6
    least = 2.6 if bits == 4 else 2.4
    assert least < made["tokens/s for each GB/s, 1,024"] < 1e9 / bound
