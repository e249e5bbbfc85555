"""Inside of the simulator: drivers and monitors of generated designs, resets."""

from typing import Any

from cocotb.triggers import RisingEdge

from carrysave.sim.cocotb.engine_monitor import EngineMonitor
from carrysave.sim.cocotb.monitors import Monitor
from carrysave.sim.cocotb.npe_monitor import NpeMonitor
from carrysave.sim.cocotb.streams import Sink, Source
from golden.engine import EngineSpec
from golden.npe.npe import NpeSpec
from hw.catalog import Design
from hw.emit.flat_ports import streams_of

__all__ = ["drivers", "monitors", "reset", "watch"]


def watch(
    design: Design, block: Any, *, clk: Any, rst: Any = None, was_reset: bool = False
) -> EngineMonitor | NpeMonitor:
    """Watch an array from its next reset on, and compare each tile with its twin.

    A tile that differs fails the test at once, and so does a stream that breaks its rule.

    Parameters
    ----------
    design : an engine of integers, or an array of lanes (npe).
    block : its instance in the design under test, such as ``dut.engine``.
    clk : the clock that the bench drives.
    rst : reset, active high; the instance's own by default.
    was_reset : the design was reset before: watch from now on.

    Raises
    ------
    TypeError
        It is no such array, or its operands cannot be read off its ports.
    """
    monitor: EngineMonitor | NpeMonitor
    if isinstance(design.spec, EngineSpec):
        monitor = EngineMonitor(block, design.spec, clk=clk, rst=rst, was_reset=was_reset)
    elif isinstance(design.spec, NpeSpec):
        monitor = NpeMonitor(block, design.spec, clk=clk, rst=rst, was_reset=was_reset)
    else:
        raise TypeError(
            f"design must be an engine of integers or an array of lanes, not {design.name};"
            " monitors watches the streams of any design"
        )
    monitor.start()
    return monitor


def monitors(
    design: Design, block: Any, *, clk: Any, rst: Any = None, was_reset: bool = False
) -> dict[str, Monitor]:
    """Watch the streams of a design from its next reset on.

    Parameters
    ----------
    design, block, clk, rst, was_reset : as for :func:`watch`, but of any design with streams.

    Returns
    -------
    A monitor for each stream, by its name, such as ``i_a``.
    """
    result = {
        name: Monitor(block, name, fields, clk=clk, rst=rst, was_reset=was_reset)
        for name, (_, fields) in streams_of(design.component()).items()
    }
    for one in result.values():
        one.start()
    return result


def drivers(design: Design, dut: Any, *, clk: Any = None) -> dict[str, Source | Sink]:
    """Drive the streams of a design, of which the top of the simulation has the ports.

    Parameters
    ----------
    design : with streams.
    dut : module with ports of their names.
    clk : the clock that the bench drives; ``dut.clk`` by default.

    Returns
    -------
    A source for each input stream, and a sink for each output stream, by name.
    """
    return {
        name: (Source if inward else Sink)(dut, name, fields, clk=clk)
        for name, (inward, fields) in streams_of(design.component()).items()
    }


async def reset(clk: Any, rst: Any, *, level: int = 1) -> None:
    """Have reset active for one cycle, from the next clock edge on.

    Parameters
    ----------
    clk, rst : ports of the top.
    level : at which reset is active.
    """
    await RisingEdge(clk)
    rst.value = level
    await RisingEdge(clk)
    rst.value = 1 - level
