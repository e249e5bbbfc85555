"""For benches of your own: a generated block inside of a larger design, under pytest and cocotb.

Fixtures of the pytest plugin, :mod:`carrysave.testing.plugin`, build a simulator of your Verilog
with generated designs in it, and run cocotb tests. Inside of the simulator, with whatever runner:

watch          Watch an engine inside, and compare each tile with its numpy twin.
monitors       Watch the streams of any design inside.
drivers        Drive the streams of a design, if the top of the simulation has them.
Source         Drive a stream of your own; Sink takes one, Monitor watches one.
Sink           Takes a stream, with stalls, and checks that its sender keeps the rule.
Monitor        Watches a stream, and checks the rule.
EngineDriver   Multiplies on an engine whose streams the top has; Ports says their names.
EngineMonitor  What watch returns: the products so far; ``check`` ends a test.
NpeMonitor     The same, of an array of lanes.
Ports          Names of the ports of an engine's streams.
pack           Codes to bits of beats.
unpack         Bits of beats to codes.
schedule       Stalls of a stream: ``flowing sparse bursts rare long``.
generator      A random generator of the run's seed.
reset          Reset for one cycle; monitors begin with it.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from carrysave.sim.cocotb.engine_driver import EngineDriver as EngineDriver
    from carrysave.sim.cocotb.engine_driver import Ports as Ports
    from carrysave.sim.cocotb.engine_monitor import EngineMonitor as EngineMonitor
    from carrysave.sim.cocotb.monitors import Monitor as Monitor
    from carrysave.sim.cocotb.npe_monitor import NpeMonitor as NpeMonitor
    from carrysave.sim.cocotb.streams import Sink as Sink
    from carrysave.sim.cocotb.streams import Source as Source
    from carrysave.sim.cocotb.streams import generator as generator
    from carrysave.sim.cocotb.streams import pack as pack
    from carrysave.sim.cocotb.streams import schedule as schedule
    from carrysave.sim.cocotb.streams import unpack as unpack
    from carrysave.testing.inside import drivers as drivers
    from carrysave.testing.inside import monitors as monitors
    from carrysave.testing.inside import reset as reset
    from carrysave.testing.inside import watch as watch

_STREAMS, _ENGINES = "carrysave.sim.cocotb.streams", "carrysave.sim.cocotb.engine_driver"
_PUBLIC = {
    "watch": "carrysave.testing.inside",
    "monitors": "carrysave.testing.inside",
    "drivers": "carrysave.testing.inside",
    "Source": _STREAMS,
    "Sink": _STREAMS,
    "Monitor": "carrysave.sim.cocotb.monitors",
    "EngineDriver": _ENGINES,
    "EngineMonitor": "carrysave.sim.cocotb.engine_monitor",
    "Ports": _ENGINES,
    "pack": _STREAMS,
    "NpeMonitor": "carrysave.sim.cocotb.npe_monitor",
    "unpack": _STREAMS,
    "schedule": _STREAMS,
    "generator": _STREAMS,
    "reset": "carrysave.testing.inside",
}
"""What is public, and its module: each is loaded when it is first used."""

__all__ = [*_PUBLIC]


def __getattr__(name: str) -> Any:
    """Load what is public when it is first used."""
    if name not in _PUBLIC:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = getattr(import_module(_PUBLIC[name]), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    """List what is public."""
    return sorted({*globals(), *_PUBLIC})
