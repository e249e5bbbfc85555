"""The model of cycles, against what the simulated system counted."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from carrysave.compiler.program.cycles import Memory, cycles
from carrysave.compiler.target.target import Target
from carrysave.system.boards import design_of, system_board_of
from golden.soc.blocking import Blocks

MEASURED = json.loads(Path(__file__).with_name("measured.json").read_text())
"""By scripts/figures/bench_system.py."""
BITS = {"a": 8, "b": 8, "c": 8, "bias": 32, "records": 64}
BOARD, CHOSEN = system_board_of("ulx3s_85f")
TARGET = Target(design_of(BOARD, {"engine": "systolic_os(m=4,n=4,target=ecp5)"}))


def modelled(one: dict[str, Any], memory: Memory) -> int:
    m, k, n = one["shape"]
    places = {name: (at, stride) for name, (at, stride) in one["places"].items()}
    blocks = Blocks(*one["blocks"])
    return cycles(TARGET.info.stores, blocks, (m, n, k), BITS, [places], memory)


def test_model_agrees_with_what_was_counted() -> None:
    memory = CHOSEN.timing(TARGET)
    apart = np.array([modelled(one, memory) / one["cycles"] - 1 for one in MEASURED])
    assert len(apart) == 56
    assert np.abs(apart).mean() < 0.036
    assert np.abs(apart).max() < 0.165


@pytest.mark.parametrize("name", ["beat", "write", "turn", "code", "result", "job"])
def test_more_of_anything_takes_longer(name: str) -> None:
    """Every constant is one of the walk's."""
    memory = CHOSEN.timing(TARGET)
    slower = Memory(**{**vars(memory), name: 2 * vars(memory)[name]})
    total, more = (sum(modelled(one, each) for one in MEASURED) for each in (memory, slower))
    assert more > 1.004 * total
