"""Formats of a multi-format engine, as tables for the drivers of its pack."""

from collections.abc import Mapping

from carrysave.driver import Mode

__all__ = ["C_NAME", "PYTHON_NAME", "c", "python"]

PYTHON_NAME = "carrysave_modes.py"
C_NAME = "carrysave_modes.h"

Modes = Mapping[tuple[str, str], Mode]


def python(modes: Modes) -> str:
    """Write them as a module beside the driver package ``carrysave_driver``."""
    numbers = {name: mode.a for (name, _), mode in modes.items()}
    lines = [
        '"""Pairs of formats that the co-processor multiplies, by names of A\'s and of B\'s."""',
        "",
        "from carrysave_driver import Mode, Number",
        "",
        '__all__ = ["MODES", "NUMBERS"]',
        "",
        "NUMBERS = {",
        *(f'    "{name}": {number},' for name, number in numbers.items()),
        "}",
        '"""Codes of each format, as they lie in memory."""',
        "",
        "MODES = {",
    ]
    for (a, b), mode in modes.items():
        lines += [
            f'    ("{a}", "{b}"): Mode(',
            f'        a=NUMBERS["{a}"], b=NUMBERS["{b}"], k_max={mode.k_max},',
            f"        a_format={mode.a_format}, b_format={mode.b_format},"
            f" codes={mode.codes}, exponent={mode.exponent},",
            *([f"        block={mode.block}, scales={mode.scales},"] if mode.block else []),
            "    ),",
        ]
    return "\n".join([*lines, "}", ""])


def c(modes: Modes) -> str:
    """Write them as a header beside the C driver."""
    lines = [
        "/* Pairs of formats that the co-processor multiplies, A's and B's, for",
        " * carrysave_job_init_mode: carrysave_modes, by their names in the enum. */",
        "",
        "#ifndef CARRYSAVE_MODES_H",
        "#define CARRYSAVE_MODES_H",
        "",
        '#include "carrysave.h"',
        "",
        "enum {",
        *(f"    CARRYSAVE_{a.upper()}_{b.upper()}," for a, b in modes),
        "    CARRYSAVE_MODES",
        "};",
        "",
        "static const carrysave_mode carrysave_modes[CARRYSAVE_MODES] = {",
        "    /* a, b, a_format, b_format, a_bits, b_bits, codes, k_max, exponent, block */",
    ]
    for (a, b), mode in modes.items():
        values = (mode.a_format, mode.b_format, mode.a.bits, mode.b.bits, mode.codes, mode.k_max)
        unsigned = ", ".join(f"{value}u" for value in values)
        lines.append(f'    {{"{a}", "{b}", {unsigned}, {mode.exponent}, {mode.block}u}},')
    return "\n".join([*lines, "};", "", "#endif", ""])
