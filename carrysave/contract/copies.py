"""Two copies of a design's handshakes in Verilog: what the second run may have, and must not."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from carrysave.contract.atom_logic import VALUES, stage_logic, value_logic, value_width
from carrysave.contract.atoms import Atom, Slice
from carrysave.contract.handshakes import CORE, Handshakes
from carrysave.contract.operands import Beats
from hw.emit import yosys

__all__ = ["MITER", "Second", "in_run"]

MITER = "miter__"
"""Name of the module with both copies; its only output is 1 when handshakes differ."""
_RUNS = ("one", "two")


@dataclass(frozen=True)
class Second:
    """What the second of two runs has that the first one has not.

    Members
    -------
    fields : inputs in which it may differ; all others are those of the first run.
    atoms : alike in both runs for each beat that is offered, and always for inputs of no stream.
    stages : instead of any inputs, both runs have those of a third one, of which some are replaced
        by examples with the same value of the only atom, as in
        :func:`carrysave.contract.atom_logic.stage_logic`; from stage 1 on, inputs are zero where no
        beat is offered, and so are those that the atom does not read. Two runs with the same atom
        are the same at the last stage: if no stage differs from the one before, they do not differ.
    senders_hold : senders keep what they offer until it is taken.
    """

    fields: tuple[str, ...]
    atoms: tuple[Atom | Slice, ...] = ()
    stages: tuple[int, int] | None = None
    senders_hold: bool = True

    @property
    def atom(self) -> Atom | Slice | None:
        """The only atom, if there is one."""
        return self.atoms[0] if self.atoms else None

    @property
    def last(self) -> int:
        """The last stage."""
        return self.atom.stages if self.atom else 1

    def logic(self, core: Handshakes) -> str:
        """Return RTLIL of the atoms that :meth:`verilog` needs."""
        if self.stages is None:
            return value_logic(core, self.atoms) if self.atoms else ""
        return "".join(
            stage_logic(core, self.atom, stage, _stage(run))
            for run, stage in zip(_RUNS, self.stages, strict=True)
        )

    def verilog(self, core: Handshakes) -> str:
        """Return the module :data:`MITER`."""
        widths = core.widths
        free = {} if self.stages else {in_run(name, "two"): widths[name] for name in self.fields}
        ports = {**widths, **free}
        lines = [f"module {MITER}(differ__, {', '.join(ports)});", "output differ__;"]
        lines += [f"input [{width - 1}:0] {yosys.word(name)};" for name, width in ports.items()]
        missing = []
        for run, stage in zip(_RUNS, self.stages or (), strict=False):
            lines += self._replaced(core, run, stage)
            missing.append(f"missing_{run}__ || ")
        last = len(core.outputs) - 1
        for run in _RUNS:
            lines.append(f"wire [{last}:0] {run}__;")
            replaced = self.fields if run == "two" or self.stages else ()
            pins = [
                f".{name}({in_run(name, run) if name in replaced else name})" for name in widths
            ]
            pins += [f".{name}({run}__[{number}])" for number, name in enumerate(core.outputs)]
            lines.append(f"{CORE} copy_{run}__ ({', '.join(pins)});")
        broken = []
        for valid, ready in core.streams.items() if self.senders_hold else ():
            lines += _rule(core, valid, core.outputs.index(ready), free)
            broken.append(f"broken_{valid}__")
        if self.atoms and not self.stages:
            lines += self._alike(core)
            broken.append("unlike__")
        return "\n".join([
            *lines,
            f"wire broken__ = {' || '.join(broken) or 0};",
            "reg before__ = 0;",
            f"always @(posedge {core.clock}) before__ <= before__ || broken__;",
            f"assign differ__ = {''.join(missing)}!before__ && !broken__ && one__ != two__;",
            "endmodule\n",
        ])

    def examples(
        self, core: Handshakes, cycles: Sequence[Mapping[str, int]]
    ) -> list[dict[str, int]]:
        """Return the last stage's :attr:`fields`, from the inputs that they replace."""
        names = self.atom.fields if self.atom else ()
        beats = Beats({name: [each[name] for each in cycles] for name in names})
        values = self.atom.of(beats) if self.atom else []
        result = []
        for cycle, inputs in enumerate(cycles):
            fields = dict.fromkeys(self.fields, 0)
            if self.atom is not None:
                assert self.atom.states is not None
                for name, value in self.atom.states[values[cycle]].items():
                    valid = core.channel(name)
                    if valid is None or inputs[valid]:
                        fields[name] = value
            result.append(fields)
        return result

    def _alike(self, core: Handshakes) -> list[str]:
        """Compare the atoms of both runs."""
        names = sorted({name for atom in self.atoms for name in atom.fields})
        widths = [value_width(atom) for atom in self.atoms]
        lines = []
        for run in _RUNS:
            lines.append(f"wire [{sum(widths) - 1}:0] values_{run}__;")
            pins = [f".{name}({name if run == 'one' else in_run(name, run)})" for name in names]
            lines.append(f"{VALUES} atoms_{run} ({', '.join([*pins, f'.o(values_{run}__)'])});")
        unlike, low = [], 0
        for atom, width in zip(self.atoms, widths, strict=True):
            part = f"[{low + width - 1}:{low}]"
            valid = core.channel(next(iter(atom.fields)))
            offered = f"{valid} && " if valid else ""
            unlike.append(f"({offered}values_one__{part} != values_two__{part})")
            low += width
        return [*lines, f"wire unlike__ = {' || '.join(unlike)};"]

    def _replaced(self, core: Handshakes, run: str, stage: int) -> list[str]:
        """Make the inputs of a run at a stage."""
        read = sorted(self.atom.fields) if self.atom else []
        lines, pins = [f"wire missing_{run}__;"], [f".missing(missing_{run}__)"]
        for name in self.fields:
            width, valid, given = core.widths[name], core.channel(name), f"given_{name}_{run}__"
            offered = f"{{{width}{{{valid}}}}} & " if valid and stage else ""
            lines.append(f"wire [{width - 1}:0] {in_run(name, run)}, {given};")
            lines.append(f"assign {in_run(name, run)} = {offered}{given};")
            if name in read:
                pins += [f".{name}({name})", f".to_{name}({given})"]
            else:
                lines.append(f"assign {given} = {0 if stage else name};")
        return [*lines, f"{_stage(run)} replace_{run}__ ({', '.join(pins)});"]


def _rule(core: Handshakes, valid: str, ready: int, free: Mapping[str, int]) -> list[str]:
    """Check that a sender keeps what it offers until it is taken; `ready` is an output's place.

    Until handshakes differ, the second copy is ready when the first one is.
    """
    fields = [name for name in core.reaching if core.channel(name) == valid]
    second = [in_run(name, "two") for name in fields]
    parts = [valid, *fields, *(name for name in second if name in free)]
    bits = sum({**core.widths, **free}[part] for part in parts)
    payload = f"{{{', '.join(parts)}}}"
    active = f"!{core.reset}" if core.reset.endswith("n") else core.reset
    waits, held = f"waits_{valid}__", f"held_{valid}__"
    return [
        f"reg [{bits - 1}:0] {held};\nreg {waits} = 0;",
        f"always @(posedge {core.clock}) {held} <= {payload};",
        f"always @(posedge {core.clock}) {waits} <= {valid} && !one__[{ready}] && !({active});",
        f"wire broken_{valid}__ = {waits} && {payload} != {held};",
    ]


def in_run(name: str, run: str) -> str:
    """Name an input of a run that is not the miter's."""
    return f"{name}_{run}__"


def _stage(run: str) -> str:
    return f"stage_{run}__"
