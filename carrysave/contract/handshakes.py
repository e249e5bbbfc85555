"""The logic of a design from which its handshakes come, and the inputs that reach it."""

import json
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from hw.catalog import Design
from hw.device import models_of
from hw.emit import tools, yosys
from hw.emit.verilog import Emission

__all__ = ["CORE", "Handshakes", "handshakes_of"]

CORE = "handshakes__"
"""Name of the module that :attr:`Handshakes.netlist` holds."""

_SMALL = 64
"""Most rows of a memory that is taken apart into registers; of others every bit counts as one."""


@dataclass(frozen=True)
class Handshakes:
    """The handshakes of a design, and what reaches them.

    Members
    -------
    module : the design's name in Verilog.
    clock, reset : names of these inputs.
    controls : inputs that are handshakes themselves: valid and ready.
    fields : all other inputs but clock and reset, with their widths in bits.
    outputs : outputs whose timing is looked at: valid, ready and last.
    reaching : fields of which a bit reaches an output, through whatever gates and registers.
    netlist : RTLIL of the module :data:`CORE` with the logic of the outputs alone.
    """

    module: str
    clock: str
    reset: str
    controls: tuple[str, ...]
    fields: Mapping[str, int]
    outputs: tuple[str, ...]
    reaching: tuple[str, ...]
    netlist: str

    @property
    def widths(self) -> dict[str, int]:
        """Bits of the inputs of :attr:`netlist` that count: clock, reset, controls, fields."""
        one = dict.fromkeys((self.clock, self.reset, *self.controls), 1)
        return one | {name: self.fields[name] for name in self.reaching}

    @property
    def streams(self) -> dict[str, str]:
        """Streams that come in, of which both handshakes count: ``ready`` by ``valid``."""
        ready = {
            valid: f"{valid.removesuffix('valid')}ready"
            for valid in self.controls
            if valid.endswith("valid")
        }
        return {valid: name for valid, name in ready.items() if name in self.outputs}

    @property
    def known(self) -> tuple[str, ...]:
        """Fields that a contract of atoms takes as known: they end a sum or a burst."""
        return tuple(name for name in self.reaching if name.endswith("last"))

    def channel(self, field: str) -> str | None:
        """Name valid of the stream that a field belongs to, if it does to one."""
        valids = (each for each in self.streams if field.startswith(each.removesuffix("valid")))
        return next(valids, None)


def handshakes_of(design: Design) -> Handshakes:
    """Cut the logic of the handshakes out of a design.

    Raises
    ------
    ValueError
        The design has no handshakes.
    """
    emission = Emission(design)
    clock, reset = (port["name"] for port in emission.ports[:2])
    ports = {
        way: {
            port["name"]: port["width"] for port in emission.ports[2:] if port["direction"] == way
        }
        for way in ("input", "output")
    }
    kinds = {port["name"]: _kind(port["is"]) for port in emission.ports[2:]}
    controls = [name for name in ports["input"] if kinds[name] in {"valid", "ready"}]
    outputs = [name for name in ports["output"] if kinds[name] is not None]
    if not controls or not outputs:
        raise ValueError(f"design must have streams or buses, not only pins as {design.name}")
    module = yosys.word(design.module)
    hidden = " ".join(f"o:{yosys.word(name)}" for name in ports["output"] if name not in outputs)
    with tools.workplace() as folder:
        (folder / "design.v").write_text(emission.verilog)
        models = "".join(path.read_text() for path in models_of(emission.verilog))
        (folder / "models.v").write_text(models)
        yosys.run(
            f"read_verilog models.v\nread_verilog design.v\nhierarchy -top {module}\n"
            "proc\nflatten\n"
            + (f"delete -output {hidden}\n" if hidden else "")
            + "opt_clean -purge\nmemory_collect\nopt_clean -purge\n"
            f"memory_map t:$mem_v2 r:SIZE<={_SMALL} %i\nopt_clean -purge\nopt -full\n"
            f"rename {module} {CORE}\nwrite_rtlil core.il\n"
            # Bit by bit as far as it goes; of other cells every output is of every input.
            "simplemap\nopt -full\nopt_clean -purge\nwrite_json core.json",
            cwd=folder,
        )
        netlist = (folder / "core.il").read_text()
        gates = json.loads((folder / "core.json").read_text())["modules"][CORE]
    reached = _reached(gates, outputs)
    fields = {name: width for name, width in ports["input"].items() if name not in controls}
    reaching = [name for name in fields if not reached.isdisjoint(gates["ports"][name]["bits"])]
    return Handshakes(
        module, clock, reset, tuple(controls), fields, tuple(outputs), tuple(reaching), netlist
    )


def _kind(path: str) -> str | None:
    """Return whether a port, by its path in the component, is valid, ready or last of a channel."""
    match = re.fullmatch(r"\w+\.(?:payload\.)?(?:aw|ar|[wrbt])?(valid|ready|last)", path)
    return match and match[1]


def _reached(gates: Mapping[str, Any], outputs: Iterable[str]) -> set[int | str]:
    """Collect the bits from which outputs come, in whatever cycle."""
    sources: dict[int | str, list[int | str]] = {}
    for cell in gates["cells"].values():
        ways, wires = cell["port_directions"], cell["connections"]
        inward = [bit for port, bits in wires.items() if ways[port] == "input" for bit in bits]
        for port, bits in wires.items():
            if ways[port] == "output":
                sources |= dict.fromkeys(bits, inward)
    reached: set[int | str] = set()
    open_ = [bit for name in outputs for bit in gates["ports"][name]["bits"]]
    while open_:
        bit = open_.pop()
        if bit not in reached:
            reached.add(bit)
            open_ += sources.get(bit, ())
    # Constants are text, and no input has them.
    return {bit for bit in reached if isinstance(bit, int)}
