"""Not a test but a job: run the layers of network.npz by the driver, on one start.

Writes sums of the last layer to sums.npy, and what it took to counters.json.
"""

import dataclasses
import json
from pathlib import Path
from typing import Any

import cocotb
import numpy as np
from cocotb.task import bridge

from carrysave.driver import Coprocessor, Product, Requantisation
from verif.soc.device_memory import Pool
from verif.soc.tb_coprocessor_formats import start
from verif.soc.tb_driver import Registers, clock
from verif.streams import generator

SIZE = 1 << 22
LATENCY = 50


@cocotb.test
async def network(dut: Any) -> None:
    """Place everything in memory, and start once."""
    host, memory = await start(dut, size=SIZE, latency=LATENCY)
    pool = Pool(memory.data, generator(1))
    given = np.load("network.npz")
    layers = int(given["layers"])

    def run() -> None:
        device = Coprocessor(Registers(host), pool, clock=clock, timeout=10.0)
        info = device.info
        x = device.place(given["x"], info.a, "x")
        products: list[Product] = []
        for number in range(layers):
            how = None
            if number < layers - 1:
                multiplier, shift, zero_point, low, high = map(int, given[f"how{number}"])
                how = Requantisation(multiplier, shift, zero_point, low, high)
            products.append(device.product(
                products[-1].c if products else x,
                device.place(given[f"weights{number}"], info.b, "weights"),
                device.place(given[f"bias{number}"][None], info.sums, "bias"),
                requantisation=how,
            ))  # fmt: skip
        counters = device.run(products)
        np.save("sums.npy", products[-1].c.read())
        found = dataclasses.asdict(counters) | {"utilisation": counters.utilisation}
        Path("counters.json").write_text(json.dumps(found))

    await bridge(run)()
