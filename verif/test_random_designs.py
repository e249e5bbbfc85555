"""Designs drawn at random from the whole catalogue, each through its own bench."""

import datetime
import os
import shlex
from pathlib import Path

import pytest

from carrysave.asic.bench_job import LARGEST
from carrysave.regress.configurations import draw
from carrysave.regress.plan import Run
from carrysave.sim.runner import verify
from hw.catalog import CATALOG
from hw.emit.verilog import verilog_of

SEED = os.environ.get("CARRYSAVE_DESIGNS") or datetime.datetime.now(datetime.UTC).date().isoformat()
"""Draws other designs every day; ``CARRYSAVE_DESIGNS=2026-11-24`` draws those of a day again."""

NAMES = list(CATALOG)


@pytest.mark.prove
@pytest.mark.parametrize("number", range(len(NAMES)))
def test_random_design_passes_its_bench(number: int, tmp_path: Path) -> None:
    """One of every design of the catalogue; what is printed verifies one again, in a checkout."""
    design = draw(NAMES[number], f"{SEED}-{number}")
    again = shlex.join(Run(design, number).words())
    print(f"CARRYSAVE_DESIGNS={SEED}, number {number}:\n{again}")
    size = len(verilog_of(design))
    if size > LARGEST:
        pytest.skip(f"{size} bytes of Verilog")
    result = verify(design, seed=number, directory=tmp_path)
    assert result.ok, f"{again}\n{result.failed}; see {result.log}"
