"""The matmul co-processor: registers, memory access and tiling around any engine."""

from collections.abc import Mapping
from dataclasses import replace
from importlib.metadata import version
from typing import Any, ClassVar

from amaranth import Module, Signal
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out, connect, flipped

from golden.check import Flag, Integer, Parameter, complete
from golden.soc.spec import CoprocessorSpec
from hw.lib.shared_module import SharedModule
from hw.npe.requantiser import Requantiser
from hw.soc.bus.axi import Axi4Lite
from hw.soc.core import Core
from hw.soc.path.requantiser_build import RequantiserBuild
from hw.soc.registers.argument_widths import argument_widths
from hw.soc.registers.coprocessor import CountersLayout, Registers
from hw.soc.registers.counters import Counters
from hw.soc.registers.discovery import codebook_number, more_features, of_vector
from hw.soc.registers.rdl import codes_of
from hw.soc.schedule.job_queue import JobQueue

__all__ = ["Coprocessor"]


class Coprocessor(wiring.Component):
    """Multiplies matrices in memory, of any size, on one start: C = requantise(A x B + bias).

    Computes :func:`golden.soc.coprocessor.coprocessor`. Stores are multi-buffered: load, multiply
    and write-back of successive blocks overlap.

    Parameters
    ----------
    spec : CoprocessorSpec
        What: engine, bus, stores.
    engine : wiring.Component
        How: the engine of that spec.
    vector : VectorUnit
        How: the vector unit of that spec, or None.
    requantiser_encoding, requantiser_adder, requantisers, sum_copies, lean
        How: see :class:`hw.soc.path.requantiser_build.RequantiserBuild`; with ``lean`` a job stays
        in its registers while it runs, too, if they are ``narrow`` and there is no ``ring``.
    id_width : int
        How: bits of the IDs of ``m_axi``; 0 for none. All bursts have ID 0, so the bus answers them
        in order (IHI 0022, "Transaction identifiers"), and IDs that come back are not looked at.
    number, digest : int
        Values of discovery registers: the engine's kind, and a hash of all parameters.

    Members
    -------
    s_axi : In(Axi4Lite)
        Registers, see ``coprocessor.rdl``.
    m_axi : Out(Axi4)
        Memory; with a :class:`golden.soc.spec.CoprocessorStreamSpec`, ``s_axis_a``, ``s_axis_b``
        and ``m_axis_c`` instead, see :func:`hw.soc.core.memory_ports`.
    interrupt : Out(1)
        Level-triggered.

    Examples
    --------
    >>> from hw.catalog import Design
    >>> block = Design("coprocessor", {"engine": "systolic_os(m=4,n=4)"}).component()
    >>> sorted(block.signature.members)
    ['interrupt', 'm_axi', 's_axi']
    >>> block.latency, block.operations_per_cycle
    (7, 32)
    """

    SPEC = CoprocessorSpec
    SUMMARY = "matmul co-processor on AXI, any engine inside: matrices in memory, of any size"
    BENCH = "tb_coprocessor"
    EVIDENCE: ClassVar[tuple[str, ...]] = (
        "cocotb against numpy: random jobs, every byte of memory; stalls, bus errors,"
        " resets, illegal jobs, exact error codes",
        "formal proof of the AXI handshakes, bursts and register slave",
    )
    ENGINE = "systolic_os"
    """The default engine."""
    VECTOR: ClassVar[str | None] = "none"
    """The default vector unit."""

    BUILD: ClassVar[dict[str, Parameter]] = {
        # The tool's own multipliers map to DSP blocks.
        "requantiser_encoding": replace(Requantiser.BUILD["encoding"], default="operator"),
        "requantiser_adder": replace(Requantiser.BUILD["adder"], default="operator"),
        "requantisers": Integer("columns of C converted per cycle; 0: all of a tile", 0, 0, 4096),
        "sum_copies": Integer("copies of sums: 2 take more block RAM, and less logic", 1, 1, 2),
        "lean": Flag("fewer registers, more cycles: short queues, and no copy of a job", False),
        "id_width": Integer("IDs of m_axi, all 0; of 0 bits: no such ports", 0, 0, 8, "bits"),
    }
    CLOCK: ClassVar[str] = "aclk"
    RESET: ClassVar[str] = "aresetn"
    INTERRUPT: ClassVar[str] = "interrupt"

    s_axi: wiring.PureInterface
    m_axi: Any  # not with streams
    interrupt: Signal

    def __init__(
        self,
        spec: CoprocessorSpec,
        *,
        engine: Any,
        vector: Any = None,
        number: int = 0,
        digest: int = 0,
        **build: Any,
    ):
        if not isinstance(spec, CoprocessorSpec):
            raise TypeError(f"spec must be a CoprocessorSpec, not {spec!r}")
        self.spec = spec
        build = complete(Coprocessor.BUILD, build)
        id_width = build.pop("id_width")
        if spec.STREAM and id_width:
            raise ValueError(f"id_width must be 0 between streams, not {id_width}")
        whole = RequantiserBuild.of_tile(spec, build)
        self.core = Core(spec, engine, whole, id_width=id_width, vector=vector)
        self.registers = Registers(
            discovery(spec, number, digest), argument_widths(spec), whole=self.core.in_registers
        )
        super().__init__({
            "s_axi": In(Axi4Lite(self.registers.file.address_width)),
            **self.core.memory_ports,
            "interrupt": Out(1),
        })

    @property
    def shared_modules(self) -> tuple[SharedModule, ...]:
        """Those of engine, stores and requantiser."""
        return self.core.shared_modules

    @property
    def latency(self) -> int:
        """Cycles from the last operands of a tile to its first row: the engine's."""
        return self.core.datapath.engine.latency

    @property
    def operations_per_cycle(self) -> float:
        """The engine's: a multiplication and an addition per product, in a cycle of the bus."""
        return self.spec.array_clock * self.core.datapath.engine.operations_per_cycle

    def elaborate(self, platform):
        m = Module()
        m.submodules.registers = registers = self.registers
        m.submodules.core = core = self.core
        connect(m, flipped(self.s_axi), registers.s_axi)
        for name, member in self.core.memory_ports.items():
            ends = getattr(core, name), flipped(getattr(self, name))
            connect(m, *(ends if member.flow == Out else reversed(ends)))
        m.submodules.jobs = jobs = JobQueue(self.spec)
        # A cycle late: a start, and what is reported, would wait for the whole core.
        idle, done, on = (Signal(name=name) for name in ("idle", "done", "on"))
        m.d.sync += [idle.eq(core.o_idle), done.eq(core.o_done), on.eq(core.o_on)]
        if core.in_registers:
            job = [core.i_job.eq(registers.o_job)]
        else:
            job = [registers.i_part.eq(core.o_part), core.i_part.eq(registers.o_part)]
        m.d.comb += [
            self.interrupt.eq(registers.o_interrupt),
            jobs.i_start.eq(registers.o_start & registers.i_ready),
            jobs.i_stop.eq(registers.o_reset),
            jobs.i_ring.eq(registers.o_ring),
            jobs.i_count.eq(registers.o_count),
            jobs.i_idle.eq(idle),
            jobs.i_done.eq(done),
            jobs.i_error.eq(core.o_error),
            core.i_fetch.eq(jobs.o_fetch),
            core.i_address.eq(jobs.o_address),
            core.i_start.eq(jobs.o_run),
            core.i_fetched.eq(jobs.o_fetched),
            core.i_more.eq(jobs.o_more),
            jobs.i_next.eq(core.o_next),
            jobs.i_on.eq(on),
            *job,
            core.i_stop.eq(registers.o_reset),
            registers.i_ready.eq(jobs.o_idle),
            registers.i_idle.eq(jobs.o_idle),
            registers.i_done.eq(jobs.o_done),
            registers.i_error.eq(jobs.o_error),
            registers.i_error.valid.eq(jobs.o_error.valid & jobs.o_done),
            registers.i_ring_done.eq(jobs.o_count),
            registers.i_invalid.eq(core.o_events.invalid),
            registers.i_reset_done.eq(registers.o_reset & core.o_idle & idle),
        ]
        if self.spec.counters:
            self._count(m)
        if self.spec.amax:
            m.d.comb += registers.i_amax.eq(core.o_events.greatest)
        return m

    def _count(self, m: Module) -> None:
        """Build the event counters of a start."""
        registers, core = self.registers, self.core
        started = registers.o_start & registers.i_ready
        busy = Signal()
        m.d.sync += busy.eq((busy | started) & ~registers.i_done & ~registers.o_reset)
        bits = core.datapath.event_bits
        widths = {str(name): bits.get(str(name), 1) for name, _ in CountersLayout()}
        m.submodules.counters = counters = Counters(widths)
        # All is counted a cycle late: events come from stalls of the whole datapath.
        counts, counted = Signal(), [name for name in widths if name != "cycles"]
        late = {name: Signal(widths[name], name=f"{name}_late") for name in counted}
        m.d.sync += [*(late[name].eq(core.o_events[name]) for name in counted), counts.eq(busy)]
        m.d.comb += [
            counters.i_clear.eq(started | registers.o_reset),
            counters.i_restart.eq(registers.o_restart),
            counters.en.eq(counts),
            counters.i_read.eq(registers.o_read),
            counters.i_word.eq(registers.o_word),
            registers.i_word.eq(counters.o),
            counters.i.cycles.eq(1),
            *(counters.i[name].eq(event) for name, event in late.items()),
        ]


_AS_BUILT = "a_bits b_bits a_bytes b_bytes sums sum_bytes data_width address_width outstanding"
"""Discovery registers that have values of the build by these names."""


def discovery(spec: CoprocessorSpec, number: int, digest: int) -> Mapping[str, int]:
    """Return the values of a build's discovery registers."""
    parts = [int(part) for part in version("carrysave").split(".")[:3]]
    inside = spec.inside
    features = {
        0: spec.requantise,
        1: spec.requantises_columns,
        2: spec.bias,
        3: spec.accumulates,
        4: spec.follows_ring,
        5: spec.inside.block != 0,
        6: spec.STREAM,
        7: len(spec.inside.modes) > 1,
        8: not spec.blocks,
        9: not spec.counters,
        10: spec.narrow,
        11: spec.vector is not None,
        12: spec.sizes,
        13: spec.trits,
        14: codes_of("features_rounding")[spec.rounding or "single"],
        16: max(spec.scratch.bit_length() - 1, 0),
        21: spec.windows,
        22: spec.taps,
        25: spec.table,
        26: spec.row_factors,
        27: codebook_number(spec),
        30: spec.array_clock > 1,
        31: more_features(spec) > 0,
    }
    return {
        "version": sum(part << shift for part, shift in zip(parts, (16, 8, 0), strict=True)),
        "engine": number,
        **{f"tile_{side}": getattr(inside, side) for side in "mnk"},
        "c_bits": spec.code_bits,
        **{name: getattr(spec, name) for name in _AS_BUILT.split()},
        "k_max": min(
            (1 << spec.dimension_width) - 1, *(mode.k_max for mode in inside.modes.values())
        ),
        "features": sum(has << bit for bit, has in features.items()),
        "more_features": more_features(spec),
        "hash": digest,
        "numbers": sum(
            (width | signed << 7) << 8 * byte for byte, (width, signed) in enumerate(spec.numbers)
        ),
        "dimension_width": spec.dimension_width,
        **dict.fromkeys(("vector", "vector_format", "vector_length"), 0),
        **({} if spec.vector is None else of_vector(spec, spec.vector)),
    }
