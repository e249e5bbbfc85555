"""What a user brings to be synthesised, as tools see it: by names of ours, and as it was read."""

import errno
import functools
import json
import os
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from types import MappingProxyType
from typing import Any

from hw.emit import constructs, user_files, yosys
from hw.emit.constructs import CONSTRUCTS, Finding
from hw.emit.naming import renamed
from hw.emit.spans import spans
from hw.emit.user_files import FileError

__all__ = ["Renamed", "SourceError", "Sources"]

Modules = dict[str, dict[str, Any]]  # as in Yosys's JSON

_READERS = {".il": ["read_rtlil"], ".sv": ["read_verilog", "-sv"]}
_NAMED = re.compile(rb'(`include|\$readmem[bh]\s*\()(\s*)"([^"\n]+)"')
"""Where Verilog names a file."""
_UNNAMED = re.compile(r'`include\b(?!\s*")')
"""Where it includes what only Yosys would find: by a macro, or beyond a comment."""


class SourceError(yosys.YosysError, ValueError):
    """Yosys refuses sources; the text is its own ERROR line."""


@dataclass(frozen=True)
class Sources:
    """Files, and those that they include.

    Members
    -------
    files : by our name, what each holds, other files by our names; those that are included last.
    origins : by our name, where each comes from.
    commands : of Yosys, that read them.
    parameters : of the top module, by name: numbers or texts of Verilog.
    """

    files: dict[str, bytes]
    origins: dict[str, Path]
    commands: list[list[str]]
    parameters: Mapping[str, str] = field(default_factory=dict)

    @classmethod
    def read(
        cls, paths: Iterable[Path], parameters: Mapping[str, str] = MappingProxyType({})
    ) -> "Sources":
        """Read files once: what a result is kept for is what the tools saw.

        Parameters
        ----------
        parameters : of the top module, in place of its own values.

        Raises
        ------
        FileNotFoundError
            If one does not exist.
        FileError
            If one is no regular file or too large, or includes a file without saying its name.
        ValueError
            If a parameter's name or value is none of Verilog.
        """
        for parameter, value in parameters.items():
            if not re.fullmatch(_WORD, parameter, re.ASCII) or not re.fullmatch(_VALUE, value):
                raise ValueError(
                    f"parameters of the top must be NAME=NUMBER, such as WIDTH=8 or MODE=4'b0011, "
                    f"not {parameter}={value}"
                )
        paths = [Path(path) for path in paths]
        names: dict[Path, str] = {}
        files: dict[str, bytes] = {}
        waiting = list(paths)

        def name_of(path: Path, suffix: str) -> str:
            if path not in names:
                names[path] = f"source{len(names)}{suffix}"
                waiting.append(path)
            return names[path]

        def renamed(path: Path, include: "re.Match[bytes]") -> bytes:
            other = path.parent / include[3].decode(errors="surrogateescape")
            if not os.path.lexists(other):
                return include[0]
            return b'%s%s"%s"' % (include[1], include[2], name_of(other, ".inc").encode())

        commands = []
        for path in paths:
            suffix = path.suffix if path.suffix in _READERS else ".v"
            commands.append([*_READERS.get(suffix, ["read_verilog"]), name_of(path, suffix)])
        for path in waiting:  # grows
            if names[path] not in files:
                try:
                    text = user_files.read(path, text=True)
                except FileNotFoundError:
                    raise FileNotFoundError(
                        errno.ENOENT, "source file not found", str(path)
                    ) from None
                if not names[path].endswith(".il"):
                    _check_includes(path, text)
                    text = _NAMED.sub(functools.partial(renamed, path), text)
                files[names[path]] = text
        origins = {name: path for path, name in names.items()}
        return cls(files, origins, commands, dict(parameters))

    @property
    def contents(self) -> list[bytes]:
        """What the tools will see, for the key of a cache."""
        given = [f"{name}={value}".encode() for name, value in self.parameters.items()]
        return [part for name, text in self.files.items() for part in (name.encode(), text)] + given

    def design(self, top: str, folder: Path, *lower: str, check: bool = True) -> "Renamed":
        """Leave the design in ``design.il`` of a folder, with names that all tools take.

        Parameters
        ----------
        top : name of the top module, in the words of the sources.
        lower : commands of Yosys after ``proc``.
        check : refuse modules that the sources do not have, such as blocks of an FPGA.

        Raises
        ------
        SourceError
            If Yosys refuses the sources, or has no module ``top`` in them; or if they have what it
            would change in silence, see :data:`hw.emit.constructs.CONSTRUCTS`.
        """
        # Yosys takes a name from its backslash on as it is, and tells it with that.
        word = top if re.fullmatch(_WORD, top, re.ASCII) else f"\\{top}"
        log = self.run(
            [
                *(
                    ["chparam", "-set", name, value, word]
                    for name, value in self.parameters.items()
                ),
                ["hierarchy", *(["-check"] if check else []), "-top", word],
                "proc",
                *lower,
                *(["check"] if check else []),
                "write_rtlil design.il",
                "write_json design.json",
            ],
            folder,
        )
        path = folder / "design.json"
        # Yosys writes a byte beyond ASCII as a signed number.
        written = _BYTE.sub(
            lambda match: bytes.fromhex(match[1].decode()) if match[1] else match[0],
            path.read_bytes(),
        )
        design = json.loads(written.decode(errors="surrogateescape"))
        findings = self._judged(log, design["modules"])
        modules, names = _renamed(design["modules"])
        if names:
            text = json.dumps({**design, "modules": modules}, ensure_ascii=False)
            path.write_bytes(text.encode(errors="surrogateescape"))
            yosys.run("read_json design.json\nwrite_rtlil design.il", cwd=folder)
        internal = next(
            name for name, module in modules.items() if int(module["attributes"].get("top", "0"), 2)
        )
        return Renamed(internal, modules[internal]["ports"], names, findings)

    def _judged(self, log: str, modules: Modules) -> tuple[Finding, ...]:
        """Return what is to be said of the sources, and refuse what they may not have."""
        texts = (
            finding
            for name, text in self.files.items()
            if not name.endswith(".il")
            for finding in constructs.in_text(name, text.decode("latin-1"))
        )
        findings = {*constructs.in_log(log), *constructs.in_design(modules), *texts}
        named = sorted(replace(one, where=self._users(one.where)) for one in findings)
        for one in named:
            if CONSTRUCTS[one.construct].fate == "refused":
                raise SourceError(f"ERROR: {one}")
        return tuple(one for one in named if CONSTRUCTS[one.construct].fate == "said")

    def _users(self, text: str) -> str:
        """Return a text with the names that the user gave the files."""
        return renamed(text, self.origins)

    def run(self, script: Sequence[str | Sequence[str]], folder: Path) -> str:
        """Read them with Yosys in a folder, and run a script.

        Raises
        ------
        SourceError
            In the words of Yosys, with the names that the user gave the files.
        """
        for name, text in self.files.items():
            (folder / name).write_bytes(text)
        try:
            return yosys.run([*self.commands, *script], cwd=folder)
        except yosys.YosysError as error:
            said = self._users(str(error))
            if "syntax error" in said:
                said += _LIMIT
            # What Yosys says in no line of its own, such as that memory ran out, is no one's text.
            raise (SourceError if "ERROR:" in said else yosys.YosysError)(said) from None


@dataclass(frozen=True)
class Renamed:
    """What a design is called now.

    Members
    -------
    top : the top module.
    ports : its ports, as in Yosys's JSON.
    names : what its source calls modules, ports and instances that it calls otherwise, by ours.
    findings : what is to be said of the sources.
    """

    top: str
    ports: dict[str, dict[str, Any]]
    names: dict[str, str]
    findings: tuple[Finding, ...] = ()

    def port(self, name: str) -> str:
        """Return our name of a port, or the name if there is no such port."""
        return next((p for p in self.ports if self.names.get(p, p) == name), name)


def _check_includes(path: Path, text: bytes) -> None:
    """Refuse includes that would be opened unseen, be they devices or other people's files."""
    source = text.decode("latin-1")  # bytes, one each
    skipped = spans(source, lines=True)
    start = end = 0
    for include in _UNNAMED.finditer(source):
        position = include.start()
        while end <= position and (span := next(skipped, None)):
            _, start, end = span
        if not start <= position < end:
            line = source.count("\n", 0, position) + 1
            raise FileError(path, "`include must have a name in quotes beside it", f"line {line}")


_LIMIT = (
    "; what Yosys's readers of Verilog-2005 and SystemVerilog do not know, sv2v may turn into what "
    "they do, or slang may read"
)
_BYTE = re.compile(rb"\\\\|\\uFFFFFF([89A-F][0-9A-F])")
_WORD = r"[A-Za-z_]\w*"
_VALUE = r"-?\d{1,18}|\d{1,4}'s?[bdh][0-9a-fA-F_]{1,256}"
"""Of a parameter: a number of Verilog without x and z."""
_PLACE = r"\$\S+|[\w.$\[\]:/\\-]+"
"""Instances may have names of generated blocks, as ``gen[0].pe``; those from ``$`` on are Yosys's
own, which it numbers in what it writes."""


def _renamed(modules: Modules) -> tuple[Modules, dict[str, str]]:
    r"""Return modules with names that no script takes apart, and what these names stand for.

    ``$paramod\pe\W=...`` becomes ``pe_W_8``.
    """
    parts = ("ports", "cells", "netnames")
    taken = {
        name for module in modules.values() for part in parts for name in module.get(part, {})
    } | set(modules)
    ours: dict[str, str] = {}

    def plain(name: str, legal: str) -> str:
        if re.fullmatch(legal, name, re.ASCII):
            return name
        if name not in ours:
            text = re.sub(r"\W+", "_", name.removeprefix("$paramod"), flags=re.ASCII).strip("_")
            text = re.sub(r"s?32_([01]{32})(?=_|$)", lambda bits: str(int(bits[1], 2)), text)
            text = text if re.match("[A-Za-z]", text) else f"n{text}"
            while text in taken:
                text += "_"
            taken.add(text)
            ours[name] = text
        return ours[name]

    def of_ports(nets: dict[str, Any]) -> dict[str, Any]:
        return {plain(port, _WORD): what for port, what in nets.items()}

    result = {}
    for name, module in modules.items():
        ports = module.get("ports", {})
        cells = {}
        for label, cell in module.get("cells", {}).items():
            kind = cell["type"]
            if kind in modules:
                cell |= {f: of_ports(cell.get(f, {})) for f in ("connections", "port_directions")}
                cell["type"] = plain(kind, _WORD)
            cells[plain(label, _PLACE)] = cell
        # The net of a port has the port's name.
        nets = {
            plain(net, _WORD if net in ports else _PLACE): what
            for net, what in module.get("netnames", {}).items()
        }
        result[plain(name, _WORD)] = {
            **module,
            "ports": of_ports(ports),
            "cells": cells,
            "netnames": nets,
        }
    # Yosys keeps the backslash of a name where it would read it as another's without.
    return result, {plain: name.removeprefix("\\") for name, plain in ours.items()}
