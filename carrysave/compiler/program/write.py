"""A program as files: memory, manifest, what the host does, text, a C header."""

import hashlib
import json
from dataclasses import asdict
from pathlib import Path
from typing import Any

from carrysave import cache
from carrysave.compiler.program.decode import unsaid
from carrysave.compiler.program.host_model import host_model, lacking
from carrysave.compiler.program.manifest import layout
from carrysave.compiler.program.names import HOST, MANIFEST, MEMORY
from carrysave.compiler.program.program import Program, Section
from carrysave.compiler.program.steps import HostStep
from carrysave.compiler.program.text import text
from carrysave.compiler.target.facts import facts_of
from hw.emit.user_files import shown

__all__ = ["FORMAT", "write"]

FORMAT = 11
"""Of the manifest and of the words in memory: a reader refuses any other."""
_BUFFER = ("name", "address", "rows", "columns", "bits", "stride")


def write(program: Program, folder: Path, facts: dict[str, Any]) -> list[Path]:
    """Write a program into a folder; return the files.

    Parameters
    ----------
    facts : of :func:`carrysave.compiler.program.facts.facts`, and what users of the program add.
    """
    memory, host = program.memory.tobytes(), host_model(program)
    manifest = (
        facts
        | _manifest(program, host is not None)
        | {"digest": hashlib.sha256(memory).hexdigest()}
    )
    made: dict[str, str | bytes] = {
        MEMORY: memory,
        MANIFEST: _lines(manifest),
        "program.txt": text(program),
        "program.h": _header(program, manifest),
    }
    if host is not None:
        made[HOST] = host.SerializeToString(deterministic=True)
    return [cache.write(folder / name, data) for name, data in made.items()]


def _lines(manifest: dict[str, Any]) -> str:
    """Return JSON with a line for each node, tensor and so on, some with a million addresses."""
    parts = []
    for key, value in manifest.items():
        many = isinstance(value, list) and any(isinstance(one, dict) for one in value)
        text_ = ",\n    ".join(map(json.dumps, value)) if many else json.dumps(value)
        parts.append(f"  {json.dumps(key)}: " + (f"[\n    {text_}\n  ]" if many else text_))
    return "{\n" + ",\n".join(parts) + "\n}\n"


def _manifest(program: Program, host: bool) -> dict[str, Any]:
    """Return what a reader must know of a program besides its memory."""
    names = dict.fromkeys(
        name for name in (
            *program.inputs, *program.outputs, *(one.tensor for one in program.layers),
            *(name for part in program.parts if isinstance(part, HostStep)
              for name in (*part.reads, *part.writes)),
        ) if name in program.tensors
    )  # fmt: skip
    edges = [
        name
        for part in program.parts
        if isinstance(part, HostStep) and not part.reasons
        for name in part.reads
    ]
    here = [*program.outputs, *edges, *program.results]
    known = {*program.tensors, *program.results, *program.buffers}
    outputs = [name for name in dict.fromkeys(here) if name in known]
    return {
        "format": FORMAT,
        "generator": program.target.design.name,
        "target": {
            name: str(value).lower() if isinstance(value, bool) else str(value)
            for name, value in program.target.design.parameters.items()
        },
        "facts": facts_of(program.target.info),
        "sections": [section.start for section in program.sections],
        "parts": [_part(part) for part in program.parts],
        "filled": [[address, len(data)] for address, data in program.image.parts.items()],
        "ring": program.ring,
        "scores": [program.scores, program.classes],
        "inputs": [layout(program, name) for name in program.inputs],
        "outputs": [layout(program, name) for name in outputs],
        "tensors": [layout(program, name) for name in names],
        "results": list(program.outputs),
        "takes": {name: [str(kind), list(shape)] for name, (kind, shape) in program.takes.items()},
        "buffers": [
            {name: getattr(one, name) for name in _BUFFER} for one in program.buffers.values()
        ],
        "layers": [
            {
                "node": one.node,
                "operator": one.operator,
                "shapes": one.shapes,
                "counters": one.counters,
                "y": one.tensor,
            }
            for one in program.layers
        ],
        "parameters": [asdict(one) for one in program.parameters],
        "samples": None if program.samples is None else asdict(program.samples),
        "states": [asdict(one) for one in program.states],
        "host": {"file": HOST if host else None, "lacking": lacking(program)},
    }


def _part(part: Section | HostStep) -> dict[str, Any]:
    if isinstance(part, HostStep):
        return {
            "nodes": [list(node.output) for node in part.nodes],
            "reads": part.reads,
            "writes": part.writes,
            "reasons": part.reasons,
        }
    return {"section": part.start, "steps": [unsaid(step) for step in part.steps]}


def _header(program: Program, manifest: dict[str, Any]) -> str:
    """Write C names of what a program that runs it has to know."""
    lines = [
        "/* A program of carrysave_program.h: memory.bin is its memory before it runs. */",
        "#ifndef PROGRAM_H",
        "#define PROGRAM_H",
        "",
        f"#define PROGRAM_FORMAT {FORMAT}u",
        f"#define PROGRAM_BYTES {program.image.end}u",
    ]
    lines += [
        f"#define PROGRAM_SECTION_{number} {start}u"
        for number, start in enumerate(manifest["sections"])
    ]
    for number, parameter in enumerate(program.parameters):
        lines += [
            f"/* parameter {shown(parameter.name, 100).replace('*/', '* /')}:"
            f" {parameter.low}..{parameter.high} */",
            f"#define PROGRAM_PARAMETER_{number}_ADDRESS {parameter.address}u",
        ]
    for side in ("input", "output"):
        for number, one in enumerate(manifest[f"{side}s"]):
            head = f"PROGRAM_{side.upper()}_{number}"
            lines += [
                f"/* {shown(one['name'], 100).replace('*/', '* /')}: {one['type']}"
                f" {' x '.join(map(str, one['shape']))};"
                f" a byte is a code less {one['offset']} */",
                f"#define {head}_ADDRESS {one['address']}u",
            ]
            if one["strides"] is not None:
                lines += [
                    f"#define {head}_STRIDE_{axis} {stride}u"
                    for axis, stride in enumerate(one["strides"])
                ]
    return "\n".join([*lines, "", "#endif", ""])
