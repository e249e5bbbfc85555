"""Bench of the drivers on the simulated co-processor whose blocks of codes have scales."""

from collections.abc import Iterator
from typing import Any

import cocotb
import numpy as np
import pytest

from carrysave.driver import Coprocessor, JobError
from carrysave.driver_modes import modes
from carrysave.sim.cocotb.axi_memory import Memory
from carrysave.sim.cocotb.streams import generator, schedule
from verif.soc.benches.format_products import check_formats, draw_pair, place, reference
from verif.soc.benches.tb_coprocessor_formats import SPEC
from verif.soc.benches.tb_driver import LANGUAGES, drive

MODES = modes(SPEC)


@cocotb.test
@cocotb.parametrize(language=LANGUAGES, kind=("flowing", "rare"))
async def test_products(dut: Any, language: str, kind: str) -> None:
    """One by one, and all on one start."""

    def check(device: Coprocessor, memory: Memory) -> None:
        check_formats(device, MODES, generator(30), 6)

    def stall(place: int) -> Iterator[bool] | None:
        return schedule(kind, generator(31, place))

    await drive(dut, language, check, stall=stall)


@cocotb.test
@cocotb.parametrize(language=LANGUAGES)
async def test_errors(dut: Any, language: str) -> None:
    """Memory fails where scales are: it is told, and the next run is right."""

    def check(device: Coprocessor, memory: Memory) -> None:
        pair = draw_pair(generator(32), MODES, next(iter(MODES)), 3, 5, 70)
        product = place(device, pair)
        for name in ("a_scales", "b_scales"):
            memory.faults["r"] = {product.matrices[name].address: 2}
            with pytest.raises(JobError, match="job 0: read error"):
                device.run([product])
            memory.faults["r"] = {}
            device.run([product])
            assert np.array_equal(product.c.read(), reference(pair))

    await drive(dut, language, check)
