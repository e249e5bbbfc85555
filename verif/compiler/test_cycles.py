"""The model of cycles behind SDRAM, against what the simulated system counted."""

import json
from dataclasses import replace
from functools import lru_cache
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


@lru_cache
def all_modelled(sdram: LitedramTiming, width: int = MEMORY.bytes) -> np.ndarray:
    return np.array([modelled(one, sdram, width) for one in MEASURED])


def test_model_agrees_with_what_was_counted() -> None:
    apart = all_modelled(LitedramTiming()) / [one["cycles"] for one in MEASURED] - 1
    assert len(apart) == 56
    assert np.abs(apart).mean() < 0.015
    assert np.abs(apart).max() < 0.06


@pytest.mark.parametrize("name", ["read", "write", "turn", "bank", "row", "refresh"])
def test_more_of_anything_takes_longer(name: str) -> None:
    """Every constant is one of the bus's."""
    timing = LitedramTiming()
    slower = LitedramTiming(**{**vars(timing), name: 2 * vars(timing)[name]})
    assert all_modelled(slower).sum() > 1.004 * all_modelled(timing).sum()


def test_beats_of_an_open_row_come_earlier() -> None:
    """The first beat of a new row is as late as ever."""
    none = LitedramTiming(**{**vars(LitedramTiming()), "opening": 0.0})
    assert all_modelled(none).sum() > 1.005 * all_modelled(LitedramTiming()).sum()


def test_a_beat_of_more_cycles_takes_longer() -> None:
    assert MEMORY.beat(Target(DESIGN).spec.bytes) == 2
    slower = all_modelled(LitedramTiming(), MEMORY.bytes // 2)
    assert slower.sum() > 1.1 * all_modelled(LitedramTiming()).sum()
