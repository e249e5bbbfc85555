"""The model of cycles, against what the simulated system counted."""

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from carrysave.compiler.program.cycles import cycles
from carrysave.compiler.target.target import Target
from carrysave.system.boards import design_of, system_board_of
from golden.soc.blocking import Blocks
from golden.soc.memory_timing import LitedramTiming

MEASURED = json.loads(Path(__file__).with_name("measured.json").read_text())
"""By scripts/figures/bench_system.py."""
BITS = {"a": 8, "b": 8, "c": 8, "bias": 32, "records": 64}
BOARD, CHOSEN = system_board_of("ulx3s_85f")
DESIGN = design_of(BOARD, {"engine": "systolic_os(m=4,n=4,target=ecp5)"})
TARGET = Target(DESIGN, timing=CHOSEN.sdram.timing)


def modelled(one: dict[str, Any], memory: LitedramTiming, beat: int = 2) -> int:
    m, k, n = one["shape"]
    places = {name: (at, stride) for name, (at, stride) in one["places"].items()}
    blocks = Blocks(*one["blocks"])
    stores = replace(TARGET.info.stores, beat=beat)
    return cycles(stores, blocks, (m, n, k), BITS, [places], memory)


def test_model_agrees_with_what_was_counted() -> None:
    memory = LitedramTiming()
    apart = np.array([modelled(one, memory) / one["cycles"] - 1 for one in MEASURED])
    assert len(apart) == 56
    assert np.abs(apart).mean() < 0.036
    assert np.abs(apart).max() < 0.165


@pytest.mark.parametrize("name", ["write", "turn", "code", "result", "job"])
def test_more_of_anything_takes_longer(name: str) -> None:
    """Every constant is one of the walk's."""
    memory = LitedramTiming()
    slower = LitedramTiming(**{**vars(memory), name: 2 * vars(memory)[name]})
    total, more = (sum(modelled(one, each) for one in MEASURED) for each in (memory, slower))
    assert more > 1.004 * total


def test_a_beat_of_more_cycles_takes_longer() -> None:
    known = TARGET.info.stores.beat
    assert known == 2
    total, more = (
        sum(modelled(one, LitedramTiming(), beat) for one in MEASURED)
        for beat in (known, 2 * known)
    )
    assert more > 1.1 * total
