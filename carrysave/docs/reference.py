"""Generated pages that are of no design: commands, formats, registers, files, modules."""

import inspect
import json
import re
from collections.abc import Iterator, Mapping
from types import ModuleType
from typing import Any

import carrysave
from carrysave import testing
from carrysave.cli import command_line
from carrysave.docs.markdown import autodoc, table
from carrysave.drawings.sources import ROOT
from carrysave.driver import coprocessor, stream, uart
from carrysave.ip.readme_tables import access
from carrysave.jobs import job, options
from carrysave.jobs.rows import COLUMNS
from carrysave.sim.rules.axi4 import Axi4ReadRules, Axi4WriteRules
from carrysave.sim.rules.others import AxiLiteRules, AxiStreamRules
from carrysave.testing import bench
from carrysave.vectors import package, tables
from golden import engine, gemm
from golden.formats import element, integer, minifloat, mx, names, nvfp4, posit, quire
from golden.formats.block import BlockFormat
from golden.formats.element import ElementFormat
from golden.formats.integer import IntFormat
from golden.formats.minifloat import SHORT_NAMES, MinifloatFormat
from golden.formats.mx import MxFormat
from golden.formats.names import parse
from golden.formats.nvfp4 import NvFormat
from golden.formats.posit import PositFormat
from golden.formats.ue5m3 import Ue5m3Format
from golden.lut.layout import LayoutSpec
from golden.nest import nest
from golden.soc import blocking
from hw import catalog
from hw.arith import adder, bit_heap, carry_save, product, schedule
from hw.emit import files as emit_files
from hw.emit import instance, verilog
from hw.emit.user_files import LIMIT_VARIABLE, TENSORS, TEXTS
from hw.soc.registers.rdl import fields_of, parameters_of, register_map

__all__ = ["BLOCKS", "NAMED", "commands", "files", "formats", "modules", "registers", "rules"]

_INTEGERS = ("int2", "int3", "int4", "int8", "int16", "uint4", "uint8")
NAMED = (*_INTEGERS, *SHORT_NAMES, "posit4e1", "posit8e0", "posit16e1")
BLOCKS = ("mx_e4m3", "mx_e5m2", "mx_e2m3", "mx_e3m2", "mx_e2m1", "mx_int8f6", "nvfp4", "ue5m3_int8")
_KINDS = (IntFormat, MinifloatFormat, PositFormat, MxFormat, NvFormat, Ue5m3Format)


def commands() -> str:
    """Write the reference of the command line, from its own help."""
    text = command_line([]).generate_docs(output_format="markdown")
    _, _, text = text.partition("\n## carrysave ")
    # Words in angle brackets would be taken for HTML.
    text = re.sub(r"<(?=[A-Za-z])", "&lt;", text)
    return f"# Commands\n\nOf `carrysave`; from `--help`.\n\n## carrysave {text.rstrip()}\n"


def formats() -> str:
    """Write the number formats that have names."""
    rows = [_format(parse(name)) for name in NAMED]
    blocks = [
        (f"`{one.name}`", f"`{one.element.name}`", one.block, f"`{one.scale_format.name}`")
        for one in map(parse, BLOCKS)
        if isinstance(one, BlockFormat)
    ]
    return (
        "\n\n".join([
            "# Number formats",
            "By name, as a parameter or in Python (`golden.formats.names.parse`). Other names"
            " follow the same pattern: `int5`, `uint8f4` (4 bits of fraction), `e4m3fnuz`,"
            " `posit6e1`.",
            "## Elements",
            table(("format", "bits", "least number > 0", "numbers", "not numbers"), rows),
            "## Blocks",
            "Elements that share a scale.",
            table(("format", "elements", "in a block", "scale"), blocks),
            *(
                autodoc("class", f"{one.__module__}.{one.__qualname__}", "noindex")
                for one in _KINDS
            ),
        ])
        + "\n"
    )


def _format(one: ElementFormat | BlockFormat) -> tuple[object, ...]:
    """Return the row of an element format; small ones are counted, code by code."""
    assert isinstance(one, ElementFormat)
    least, greatest = 2.0**one.lsb, one.bounds[1] * 2.0**one.lsb
    special = [
        word
        for word, key in (("infinity", "infinity_code"), ("NaN", "nan_code"))
        if getattr(one, key, None) is not None
    ]
    low = one.bounds[0] * 2.0**one.lsb
    return (
        f"`{one.name}`",
        one.width,
        f"{least:.6g}",
        f"{low:.6g} .. {greatest:.6g}",
        ", ".join(special) or "none",
    )


def rules() -> str:
    """Write the rules of buses, from what watches their ports."""
    kinds = (
        ("AXI4, reads", Axi4ReadRules),
        ("AXI4, writes", Axi4WriteRules),
        ("AXI4-Lite", AxiLiteRules),
        ("AXI4-Stream", AxiStreamRules),
    )
    parts = [
        "# Rules of buses",
        "`carrysave verify` and `carrysave regress` watch every bus at a design's ports with these"
        " rules, of `carrysave/sim/rules`. A broken one ends the test, with a message."
        " Who sends on a stream is its manager.",
    ]
    for name, kind in kinds:
        rows = [(f"`{one.name}`", one.by, one.section, one.says) for one in kind.RULES]
        parts += [f"## {name}", table(("rule", "kept by", "from", "says"), rows)]
    return "\n\n".join(parts) + "\n"


def registers() -> str:
    """Write the co-processor's register map, from its RDL; resets of a build's own are of zeros."""
    top = register_map(dict.fromkeys(parameters_of(), 0))
    rows = []
    for field in fields_of(top):
        node = field.node
        name = ".".join(field.register.get_path_segments()[1:])
        bits = str(node.low) if node.width == 1 else f"{node.high}:{node.low}"
        meaning = node.get_property("desc") or field.register.get_property("desc") or ""
        rows.append((
            f"`{field.register.absolute_address:#05x}`",
            f"`{name if node.inst_name == 'value' else f'{name}.{node.inst_name}'}`",
            bits,
            access(field),
            meaning,
        ))
    codes = [
        (code.value, code.name, code.meaning)
        for field in fields_of(top)
        if field.name == "error_code"
        for code in field.codes
    ]
    return (
        "\n\n".join([
            "# Registers of the co-processor",
            "From `hw/soc/registers/coprocessor.rdl`. `carrysave generate coprocessor` writes the"
            " same map of a build as C header, IP-XACT, Python and pyuvm models.",
            table(("address", "field", "bits", "access", "meaning"), rows),
            "## Error codes",
            table(("code", "name", "meaning"), codes),
        ])
        + "\n"
    )


def files() -> str:
    """Write what is in the files and outputs that have a schema; tests check them by it."""
    parts = [
        "# Files",
        "JSON that commands write or print, from the schemas that tests check it by.",
    ]
    for path in sorted((ROOT / "verif" / "schemas").glob("*.json")):
        schema = json.loads(path.read_text())
        parts += [f"## {path.stem}", schema.get("title", "")]
        rows = list(_fields(schema, schema))
        if rows:
            parts.append(table(("field", "type", ""), rows))
    parts += _others()
    return "\n\n".join(part for part in parts if part) + "\n"


def _others() -> Iterator[str]:
    """Yield what is in files that are no JSON."""
    yield "## Files of a design"
    yield autodoc("function", f"{emit_files.generate.__module__}.generate", "noindex")
    yield "## Weights in memory"
    yield "The order of codes in the image that `pack` writes; its manifest is of *weights* above."
    yield autodoc("class", f"{LayoutSpec.__module__}.{LayoutSpec.__qualname__}", "noindex")
    yield "## Test vectors"
    yield (
        "CSV files of `vectors`, one for each format and table, with `SHA256SUMS`. Formats of the"
        f" package: {', '.join(f'`{name}`' for name in package.FORMATS)}."
    )
    yield table(("table", "what it has"), tables.MEANINGS.items())
    yield "## Store of results"
    yield (
        "`results.sqlite`, table `results`: these columns, and one for each parameter, `p_NAME`,"
        " and each figure that a job found."
    )
    yield table(("column", "type"), ((f"`{name}`", kind) for name, kind in COLUMNS.items()))
    yield "## What is read"
    yield (
        f"Files from outside are read up to {TENSORS >> 30} GiB if they hold weights or arrays,"
        f" else up to {TEXTS >> 20} MiB; `{LIMIT_VARIABLE}` raises both. Others are refused, with"
        " the reason, in one line."
    )


def _fields(
    schema: Mapping[str, Any], root: Mapping[str, Any], path: str = "", depth: int = 0
) -> Iterator[tuple[str, str, str]]:
    """Yield the fields of an object, and of those in it: path, type, whether it may be absent."""
    while "$ref" in schema:
        schema = root["definitions"][schema["$ref"].rpartition("/")[2]]
    if schema.get("type") == "array" and isinstance(schema.get("items"), dict):
        yield from _fields(schema["items"], root, f"{path}[]", depth)
        return
    for key, one in schema.get("properties", {}).items():
        while "$ref" in one:
            one = root["definitions"][one["$ref"].rpartition("/")[2]]
        kind = one.get("type", "any of" if "enum" in one else "")
        words = ", ".join(map(str, kind if isinstance(kind, list) else [kind]))
        if "enum" in one:
            words = ", ".join(map(str, one["enum"]))
        name = f"{path}.{key}" if path else key
        yield f"`{name}`", words, "" if key in schema.get("required", ()) else "optional"
        if depth < 2:
            yield from _fields(one, root, name, depth + 1)


_MODULES: dict[str, tuple[ModuleType, ...]] = {
    "Benches of your own": (testing, bench),
    "Designs": (catalog,),
    "Verilog": (emit_files, verilog, instance),
    "Formats": (names, element, integer, minifloat, posit, mx, nvfp4, quire),
    "Golden models": (engine, gemm, nest, blocking),
    "The heap of bits": (bit_heap, product, schedule, adder, carry_save),
    "Driver": (coprocessor, stream, uart),
    "Jobs": (job, options),
}


def modules() -> str:
    """Write the page of the Python modules that are meant for others, from their docstrings."""
    parts = [
        "# Python",
        "In your own code the modules are below `carrysave`: `from carrysave.hw.catalog import"
        " Design`. In a checkout they have the names below.",
        "## carrysave",
    ]
    for name in carrysave.__all__:
        if not name.startswith("__"):
            kind = "class" if inspect.isclass(getattr(carrysave, name)) else "function"
            options = ("members", "inherited-members") if kind == "class" else ()
            parts.append(autodoc(kind, f"carrysave.{name}", *options))
    for title, members in _MODULES.items():
        parts += [f"## {title}", *(autodoc("module", one.__name__, "members") for one in members)]
    return "\n\n".join(parts) + "\n"
