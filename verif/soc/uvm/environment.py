"""The environment: agents, register model, predictor, scoreboard and coverage, put together."""

import contextlib
import dataclasses
import functools
import inspect
import random
from collections.abc import Callable, Coroutine
from pathlib import Path
from typing import Any

import cocotb
from cocotb.triggers import RisingEdge
from pyuvm import uvm_analysis_port, uvm_env, uvm_root, uvm_test

from carrysave.sim.cocotb.clocks import start_clocks
from carrysave.sim.cocotb.streams import limited
from carrysave.sim.parameters import bench_parameters, bench_spec
from golden.soc.coprocessor import CoprocessorSpec
from verif.soc.uvm import report
from verif.soc.uvm.axi_lite import Access, AxiLiteAgent
from verif.soc.uvm.coverage import Coverage
from verif.soc.uvm.covered import Collector
from verif.soc.uvm.draw import Drawer
from verif.soc.uvm.memory import MemoryAgent
from verif.soc.uvm.orders import Order
from verif.soc.uvm.points import burst_coverage, order_coverage
from verif.soc.uvm.predictor import Given, Predictor
from verif.soc.uvm.registers import (
    RegisterAdapter,
    RegisterPredictor,
    load,
    model,
    narrow_fields,
    registers_of,
    reset,
)
from verif.soc.uvm.scoreboard import Outcome, Scoreboard
from verif.soc.uvm.sequences import FinishOrder, OneAccess, SoftReset, StartOrder

__all__ = ["Environment", "coverages", "within"]

Bench = Coroutine[Any, Any, None]


class _Enough(Exception):
    """As many orders have run as the caller wants."""


@functools.cache
def coverages(full: bool = False) -> tuple[Coverage, Coverage]:
    """Coverage of orders and of bursts, of all tests of this run."""
    spec = bench_spec()
    return order_coverage(spec, full=full), burst_coverage(spec)


@functools.cache
def _register_model() -> type:
    return load(bench_parameters()["key"], Path.cwd())


class Environment(uvm_env):
    """All of it, and what tests do with it.

    Members
    -------
    drawer, choice : what is random.
    collector.before : what came last.
    """

    def build_phase(self) -> None:
        """Make the parts."""
        self.dut: Any = cocotb.top
        self.spec: CoprocessorSpec = bench_spec()
        seed = bench_parameters()["seed"]
        self.choice = random.Random(f"{seed} {self.get_parent().title}")
        self.drawer = Drawer(self.spec, self.choice.getrandbits(32))
        self.host = AxiLiteAgent("host", self)
        self.memory = MemoryAgent("memory", self)
        self.registers = RegisterPredictor("registers", self)
        self.predictor = Predictor("predictor", self)
        self.scoreboard = Scoreboard("scoreboard", self)
        self.collector = Collector("collector", self)
        for part in (self.memory, self.predictor, self.scoreboard, self.collector):
            part.spec = self.spec
        orders, self.collector.bursts = coverages()
        self.collector.orders = [orders]
        self.given = uvm_analysis_port("given", self)
        self.outcomes = uvm_analysis_port("outcomes", self)
        self.number = 0

    def connect_phase(self) -> None:
        """Connect them."""
        board = self.scoreboard
        self.given.connect(self.predictor.analysis_export)
        self.predictor.expected.connect(board.from_predictor.analysis_export)
        self.memory.monitor.bursts.connect(board.from_memory.analysis_export)
        self.outcomes.connect(board.from_host.analysis_export)
        board.checked.connect(self.collector.analysis_export)
        self.host.monitor.accesses.connect(self.registers.analysis_export)
        self.registers.block = block = model(_register_model())
        self.adapter = RegisterAdapter("adapter")
        self.adapter.choice = self.choice
        block.get_default_map().set_sequencer(self.host.sequencer, self.adapter)
        self.by_address = registers_of(block)
        self.registers.narrow = narrow_fields(self.spec)

    async def start(self) -> None:
        """Start the clock, and reset."""
        for name, value in bench_parameters().get("constants", {}).items():
            getattr(self.dut, name).value = value
        start_clocks(self.dut.aclk)
        await self.hard_reset()

    async def hard_reset(self, cycles: int = 2) -> None:
        """Reset by the pin, in the middle of whatever goes on."""
        self.dut.aresetn.value = 0
        self.memory.stop()
        self._stopped()
        await RisingEdge(self.dut.aclk)
        self.memory.restart()
        for _ in range(cycles):
            await RisingEdge(self.dut.aclk)
            for name in ("arvalid", "awvalid", "wvalid"):
                assert getattr(self.dut, f"m_axi_{name}").value == 0, f"{name} during reset"
        self.dut.aresetn.value = 1
        reset(self.registers.block)
        self.registers.locked = False
        self.collector.before = "hard_reset"
        await RisingEdge(self.dut.aclk)

    async def soft_reset(self) -> None:
        """Reset by register; memory is as the twin has it, but for what was under way."""
        await SoftReset(self).start(self.host.sequencer)
        self._stopped()
        self.collector.before = "soft_reset"

    def _stopped(self) -> None:
        """Check memory after an order that may have been stopped somewhere."""
        expected = self.scoreboard.forget()
        if expected is not None:
            stopped = dataclasses.replace(expected, memory=self.before, partly=expected.memory)
            self.scoreboard.memory(stopped, self.memory.data)

    def begin(self, order: Order) -> None:
        """Tell that an order begins."""
        self.before = self.memory.data.copy()
        self.given.write(Given(order, self.before))
        self.beats = self.memory.counts()

    async def launch(self, order: Order) -> None:
        """Prepare memory, and start an order; the test ends if there were enough of them."""
        self.number += 1
        if limited(self.number) < self.number:
            raise _Enough
        self.memory.set(order, self.number)
        order.store(self.memory.data)
        await StartOrder(self, order).start(self.host.sequencer)

    async def finish(self) -> Outcome:
        """Wait until the order has ended, and compare everything."""
        sequence = FinishOrder(
            self, polls=self.choice.random() < 0.1, counts=self.choice.random() < 0.3
        )
        await sequence.start(self.host.sequencer)
        assert sequence.outcome is not None
        self.outcomes.write(sequence.outcome)
        return sequence.outcome

    async def run(self, order: Order) -> Outcome:
        """Run an order from start to end."""
        await self.launch(order)
        return await self.finish()

    async def access(self, item: Access) -> Access:
        """Carry out one access of a register, beside the model."""
        await OneAccess(item).start(self.host.sequencer)
        return item

    def draw(self, **values: str) -> Order:
        """Draw an order of these bins, whatever fills holes."""
        found = self.collector.orders[0].any(
            self.choice, {"error": "none", "before": self.collector.before} | values
        )
        assert found is not None, f"no order has these bins: {values}"
        return self.drawer.order(found)


class _Test(uvm_test):
    """Runs a body in the environment."""

    bench: functools.partial[Bench]
    title = ""

    def build_phase(self) -> None:
        """Make the environment."""
        self.env = Environment("env", self)

    async def run_phase(self) -> None:
        """Start, and run the body."""
        self.raise_objection()
        await self.env.start()
        with contextlib.suppress(_Enough):
            await self.bench(self.env)
        assert self.env.scoreboard.expected is None, "an order did not end"
        self.drop_objection()

    def report_phase(self) -> None:
        """Write what is covered so far, beside the results of the run."""
        report.write(Path.cwd(), [*self.env.collector.orders, self.env.collector.bursts])


def within(body: Callable[..., Bench]) -> Callable[..., Bench]:
    """Make ``async def test(dut)`` of ``async def test(env)``, run in the environment."""
    parameters = list(inspect.signature(body).parameters.values())

    async def test(dut: Any, **more: Any) -> None:
        class Test(_Test):
            title = f"{body.__name__} {more}"
            bench = functools.partial(body, **more)

        await uvm_root().run_test(Test)

    test.__name__ = test.__qualname__ = body.__name__
    test.__module__, test.__doc__ = body.__module__, body.__doc__
    own = inspect.Parameter("dut", inspect.Parameter.POSITIONAL_OR_KEYWORD)
    test.__signature__ = inspect.Signature([own, *parameters[1:]])  # type: ignore[attr-defined]
    return test
