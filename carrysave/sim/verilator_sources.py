"""What a simulator is built of by Verilator, and the commands that do it."""

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

__all__ = ["ARGUMENTS", "INSIDE", "Sources", "control"]

ARGUMENTS = [
    "-cc",
    "--exe",
    "--prefix",
    "Vtop",
    "--vpi",
    "--timescale",
    "1ns/1ps",
    # Verilator's warnings stop a build; test_catalog lints what is generated.
    "-Wno-fatal",
    # Registers without a reset value start random, as flip-flops do.
    "--x-initial",
    "unique",
    # It makes every element of an array a little different.
    "-fno-dfg",
    # Verilator makes several files of each module, and most of their time goes into its headers.
    "--output-groups",
    "2",
]
INSIDE = ["--public-depth", "1"]
"""Lets a bench reach all signals of the top module, as cocotb's runner does with those of all: they
have to be kept then, and a softmax of one element is compiled in five times the time."""
_TOP = """\
`verilator_config
no_inline -module "{top}__*"
public_flat_rd -module "{top}__*" -var "i_*"
public_flat_rd -module "{top}__*" -var "en"
"""
"""Compiles a module that is placed many times once: a 16 x 16 array in a seventh of the time, and
runs it 1.7 times as fast. The public inputs keep Verilator from looking through them."""


@dataclass(frozen=True, kw_only=True)
class Sources:
    """What a simulator is built of.

    Parameters
    ----------
    top : name of the top module.
    texts : of the sources.
    waves : it can record waves; it is slower.
    coverage : it counts lines, branches and toggles of bits; it is slower.
    included : texts for the others to include, by name.
    inner : generated modules somewhere below the top, each with ports that the bench reads.
    inside : the bench reads more of the top module than its ports.
    names : the sources, by the names that Verilator has for them.
    """

    top: str
    texts: Sequence[bytes]
    waves: bool = False
    coverage: bool = False
    included: Mapping[str, bytes] = field(default_factory=dict)
    inner: Mapping[str, Sequence[str]] = field(default_factory=dict)
    inside: bool = False
    names: Mapping[str, Path] = field(default_factory=dict)

    def write(self, folder: Path) -> None:
        """Write all of it, under names that every tool takes."""
        for name, text in self.included.items():
            (folder / name).write_bytes(text)
        (folder / "control.vlt").write_text(control(self.top, self.inner))
        for number, text in enumerate(self.texts):
            (folder / f"source{number}.v").write_bytes(text)

    @property
    def commands(self) -> tuple[list[str], list[str]]:
        """What makes a simulator: Verilog to C++, and C++ to a program."""
        translate = [
            "./verilator/bin/verilator_bin",
            *ARGUMENTS,
            *(INSIDE if self.inside else []),
            *(["--trace", "--trace-underscore"] if self.waves else []),
            *(["--coverage-line", "--coverage-toggle"] if self.coverage else []),
            *("-Mdir", ".", "--top-module", self.top, "-o", self.top),
            *("-LDFLAGS", "-Lcocotb/libs -lcocotbvpi_verilator"),
            "cocotb/share/lib/verilator/verilator.cpp",
            "control.vlt",
            *(f"source{number}.v" for number in range(len(self.texts))),
        ]
        processes = min(4, os.cpu_count() or 1)
        compile_ = ["make", f"-j{processes}", "-f", "Vtop.mk", f"VM_TRACE={self.waves:d}"]
        return translate, compile_


def control(top: str, inner: Mapping[str, Sequence[str]]) -> str:
    """Return the configuration of a build.

    Parameters
    ----------
    top : name of the top module.
    inner : generated modules below it, each with ports that the bench reads.
    """
    lines = [_TOP.format(top=top), f'public_flat_rw -module "{top}" -port "*"\n']
    for module, ports in inner.items():
        if module != top:
            lines.append(_TOP.format(top=module).partition("\n")[2])
        lines += [f'public_flat_rd -module "{module}" -var "{port}"\n' for port in ports]
    return "".join(lines)
