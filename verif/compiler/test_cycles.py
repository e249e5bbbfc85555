"""The model of cycles behind SDRAM, against what the simulated system counted."""

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from carrysave.compiler.program.ring_cost import cycles_of
from carrysave.compiler.target.target import Target
from carrysave.driver import Requantisation
from carrysave.driver.job import Job
from carrysave.system.boards import design_of, system_board_of
from golden.soc.memory_timing import LitedramTiming

MEASURED = json.loads(Path(__file__).with_name("measured.json").read_text())
"""By scripts/figures/bench_system.py."""
BOARD, CHOSEN = system_board_of("ulx3s_85f")
DESIGN = design_of(BOARD, {"engine": "systolic_os(m=4,n=4,target=ecp5)"})
MEMORY = CHOSEN.sdram.timing


def modelled(one: dict[str, Any], sdram: LitedramTiming, width: int = MEMORY.bytes) -> int:
    job = Job(**one["job"], requantisation=Requantisation(multiplier=1, shift=1))
    memory = replace(MEMORY, sdram=sdram, bytes=width)
    return cycles_of(job, Target(DESIGN, timing=memory))


def test_model_agrees_with_what_was_counted() -> None:
    apart = np.array([modelled(one, LitedramTiming()) / one["cycles"] - 1 for one in MEASURED])
    assert len(apart) == 56
    assert np.abs(apart).mean() < 0.021
    assert np.abs(apart).max() < 0.07


@pytest.mark.parametrize("name", ["read", "write", "turn", "bank", "row", "refresh"])
def test_more_of_anything_takes_longer(name: str) -> None:
    """Every constant is one of the bus's."""
    timing = LitedramTiming()
    slower = LitedramTiming(**{**vars(timing), name: 2 * vars(timing)[name]})
    total, more = (sum(modelled(one, each) for one in MEASURED) for each in (timing, slower))
    assert more > 1.004 * total


def test_beats_of_an_open_row_come_earlier() -> None:
    """The first beat of a new row is as late as ever."""
    none = LitedramTiming(**{**vars(LitedramTiming()), "opening": 0.0})
    total, more = (
        sum(modelled(one, each) for one in MEASURED) for each in (LitedramTiming(), none)
    )
    assert more > 1.005 * total


def test_a_beat_of_more_cycles_takes_longer() -> None:
    assert MEMORY.beat(Target(DESIGN).spec.bytes) == 2
    total, more = (
        sum(modelled(one, LitedramTiming(), width) for one in MEASURED)
        for width in (MEMORY.bytes, MEMORY.bytes // 2)
    )
    assert more > 1.1 * total
