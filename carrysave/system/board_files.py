"""Programs in Python and C that run a network on a board, behind its serial line."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from carrysave.compiler.program.manifest import layout
from carrysave.compiler.program.program import Program
from hw.emit.user_files import shown

__all__ = ["FOLDER", "SOURCE", "header", "python"]

SOURCE = Path(__file__).parent / "board" / "board_program.c"
FOLDER = "network"
"""In that of a build, with the program."""


def python(built: Mapping[str, Any]) -> str:
    """Write the program in Python, which needs carrysave and pyserial.

    Parameters
    ----------
    built : of :func:`carrysave.boards.build.build`.
    """
    return f'''"""Runs the network on {built["board"]}: python run.py PORT INPUTS.npy OUTPUTS.npz"""

import sys
from pathlib import Path

import numpy as np
from serial import Serial

from carrysave.compiler.program.read import read
from carrysave.compiler.run.attached import Attached
from carrysave.compiler.run.stored import batches

port, inputs, outputs = sys.argv[1:]
program = read(Path(__file__).parent / "{FOLDER}")
made: dict[str, list[np.ndarray]] = {{}}
with Serial(port, {built["baud"]}, timeout=0.2) as line:
    # Sends weights and program, once, if the board's flash does not have them.
    network = Attached(program, line)
    for batch in batches(program, np.load(inputs), "INPUTS"):
        # Sends inputs, starts jobs, and reads what they make.
        for name, values in network.run(batch).items():
            made.setdefault(name, []).append(values)
np.savez(outputs, **{{name: np.concatenate(parts) for name, parts in made.items()}})
'''


def header(program: Program, built: Mapping[str, Any]) -> str:
    """Write what board_program.c has to know of the tensors."""
    first = next(part for part in program.sections).start
    outputs = [name for name in program.outputs if name in {*program.tensors, *program.results}]
    # What the host makes of codes behind the last section is of these.
    outputs += [
        name for part in program.parts for name in getattr(part, "reads", ()) if name not in outputs
    ]
    sides = {"inputs": list(program.inputs), "outputs": outputs}
    lines = [
        "/* What board_program.c has to know of a network. */",
        "#ifndef BOARD_PROGRAM_H",
        "#define BOARD_PROGRAM_H",
        "",
        "#include <stdint.h>",
        "",
        f"#define PROGRAM_BYTES {program.image.end}u",
        f"#define PROGRAM_SECTION_0 {first}u",
        f"#define BOARD_BAUD {built['baud']}u",
        f'#define BOARD_NAME "{built["board"]}"',
        f"#define BOARD_HASH 0x{program.target.design.digest}u",
        "",
        "typedef struct {",
        "    uint32_t count, bytes, address, axes;",
        "    int32_t offset;",
        "    const uint32_t *shape, *strides, *addresses;",
        "} board_tensor;",
        "",
    ]
    for side, names in sides.items():
        entries = []
        for number, name in enumerate(names):
            one = layout(program, name)
            arrays = {key: one[key] for key in ("shape", "strides", "addresses")}
            at = f"{side}_{number}"
            lines += [
                f"static const uint32_t {at}_{key}[] = {{{', '.join(map(str, values))}}};"
                for key, values in arrays.items()
                if values
            ]
            size = np.dtype(one["type"]).itemsize
            pointers = ", ".join(f"{at}_{key}" if arrays[key] else "0" for key in arrays)
            lines.append(f"/* {shown(name, 100).replace('*/', '* /')}: {one['type']} */")
            entries.append(
                f"    {{{int(np.prod(one['shape']))}u, {size}u, {one['address']}u,"
                f" {len(one['shape'])}u, {one['offset']}, {pointers}}},"
            )
        lines += [
            f"#define BOARD_{side.upper()} {len(names)}u",
            f"static const board_tensor board_{side}[] = {{",
            *entries,
            "};",
            "",
        ]
    return "\n".join([*lines, "#endif", ""])
