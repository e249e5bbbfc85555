"""Two layers of Qwen3-0.6B's sizes on the simulated co-processor, and what figures say of it."""

from pathlib import Path

import pytest

from scripts.figures.bench_qwen3 import row
from scripts.figures.qwen3_slice import QWEN3, simulated, slice_program
from scripts.language.cost import weight_bytes
from scripts.language.engines import CORES

TABLES = "W4A8, lut_core"


@pytest.mark.prove
def test_cycles_of_a_slice_are_the_models(tmp_path: Path) -> None:
    """Of one in 48 jobs of each node, whole, at real widths; results are golden's."""
    own = simulated(slice_program(32, opens=False), 48, tmp_path)
    assert own.wrong == {}
    assert {"blk.1.ffn_down", "blk.0.attn_q"} <= {name for name, jobs in own.jobs.items() if jobs}
    assert own.whole_modelled == pytest.approx(own.whole_counted, rel=0.05)


@pytest.mark.parametrize("bits", [8, 4])
def test_bytes_bound_the_rate(bits: int) -> None:
    """A token takes all weights, and keys and values of 1,024; 2.6 tokens/s for each GB/s."""
    made = row(TABLES, "OrangeCrab, ECPIX-5, DDR3 of 16 bits", bits)
    values = 2 * QWEN3.layers * QWEN3.shared * QWEN3.head * 1024
    bound = weight_bytes(QWEN3, CORES[TABLES]) + values * (bits + (bits == 4)) / 8
    assert made["MB a token"] == pytest.approx(bound / 1e6)
    assert made["tokens/s for each GB/s, 128"] > 2.6
    least = 2.6 if bits == 4 else 2.4
    assert least < made["tokens/s for each GB/s, 1,024"] < 1e9 / bound
