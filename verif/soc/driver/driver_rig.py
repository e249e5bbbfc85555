"""Drivers on co-processors in software, and the builds that they are tested on."""

from typing import Any

import numpy as np

from carrysave.driver import Coprocessor
from carrysave.sim.cocotb.device_memory import Pool
from golden.soc.coprocessor import CoprocessorSpec
from golden.tpe.adder_tree import AdderTreeSpec
from golden.tpe.bitserial_core import BitserialCoreSpec
from golden.tpe.cube import CubeSpec
from golden.tpe.systolic_os import SystolicOsSpec
from golden.tpe.ternary_core import TernaryCoreSpec
from verif.soc.driver import c_driver
from verif.soc.driver.software_device import SoftwareDevice

__all__ = ["BASE", "RNG", "SCRATCH", "SPECS", "Rig"]

BASE = 0x12_3456_7000
SMALL: dict[str, Any] = {"data_width": 64, "sums": 256, "a_bytes": 512, "b_bytes": 512}
SPECS = {
    "int8": CoprocessorSpec(engine=SystolicOsSpec(m=4, n=4), **SMALL),
    "int4 x uint6": CoprocessorSpec(
        engine=CubeSpec(m=3, n=5, k=3, a_width=4, b_width=6, b_signed=False, k_max=30),
        data_width=32, address_width=40, sums=60, a_bytes=128, b_bytes=256, bias=False,
        requantise=False, outstanding=2,
    ),
    "uint2 x int4": CoprocessorSpec(
        engine=SystolicOsSpec(m=2, n=5, a_width=2, a_signed=False, b_width=4, k_max=20),
        row_factors=True, **SMALL
    ),
    "unsigned": CoprocessorSpec(
        engine=SystolicOsSpec(m=2, n=3, a_width=7, a_signed=False, b_width=3, b_signed=False),
        requantise=False, **SMALL,
    ),
    "int16, sums of 64 bits": CoprocessorSpec(
        engine=SystolicOsSpec(m=2, n=3, a_width=16, b_width=16), **SMALL
    ),
    "bipolar": CoprocessorSpec(
        engine=BitserialCoreSpec(m=2, n=4, k=8, a_width=1, b_width=1, bipolar=True), **SMALL
    ),
    "trits": CoprocessorSpec(engine=TernaryCoreSpec(m=2, n=4, k=10), trits=True, **SMALL),
    "nf4": CoprocessorSpec(engine=SystolicOsSpec(m=4, n=4), codebook="nf4", **SMALL),
    "table of 8": CoprocessorSpec(
        engine=CubeSpec(m=2, n=3, k=21, b_width=6), codebook="job8", sums=256, data_width=64,
        a_bytes=1024, b_bytes=1024,
    ),
    "masks, 2 of 4": CoprocessorSpec(engine=AdderTreeSpec(m=2, n=4, k=12, sparsity="2:4"), **SMALL),
    "table of 16": CoprocessorSpec(engine=CubeSpec(m=2, n=4, k=2), codebook="job16", **SMALL),
    "mirrored": CoprocessorSpec(
        engine=CubeSpec(m=2, n=4, k=2, b_width=7), codebook="mirror16", **SMALL
    ),
    "sparse": CoprocessorSpec(engine=SystolicOsSpec(m=4, n=4), sparse=True, **SMALL),
    "lean": CoprocessorSpec(
        engine=SystolicOsSpec(m=2, n=2, k_max=1000), bias=False, requantise=False,
        accumulate=False, blocks=False, ring=False, counters=False, narrow=True,
        address_width=40, dimension_width=12, **SMALL,
    ),
}  # fmt: skip
SCRATCH = CoprocessorSpec(engine=SystolicOsSpec(m=4, n=4), address_width=44, scratch=8192, **SMALL)
"""With memory on chip."""
RNG = np.random.default_rng


class Rig:
    """A driver on a co-processor in software."""

    def __init__(self, language: str, library: Any, spec: CoprocessorSpec, **features: bool):
        self.spec = spec
        self.memory = RNG(1).integers(0, 256, 1 << 20, dtype=np.uint8)
        self.hardware = SoftwareDevice(spec, self.memory, BASE, **features)
        self.pool = Pool(self.memory, RNG(2), BASE, manual=language == "c")
        self.now = 0.0
        self.language = language
        self.library = library

    def open(self, **more: Any) -> Coprocessor:
        more = {"clock": self.clock, "timeout": 3.0, **more}
        if self.language == "c":
            return c_driver.CDevice(self.library, self.hardware, self.pool, **more)
        return Coprocessor(self.hardware, self.pool, **more)

    def clock(self) -> float:
        self.now += 0.001
        return self.now
