"""The co-processor's register map for other tools: C, HTML, IP-XACT, Python, pyuvm."""

import json
import re
import shutil
import zlib
from collections.abc import Mapping
from pathlib import Path

from peakrdl_cheader.c_standards import CStandard
from peakrdl_cheader.exporter import CHeaderExporter
from peakrdl_ipxact.exporter import IPXACTExporter  # type: ignore[import-untyped]
from peakrdl_python.exporter import PythonExporter
from peakrdl_python.systemrdl_node_hashes import NodeHashingMethod
from peakrdl_pyuvm.exporter import PyUVMExporter  # type: ignore[import-untyped]
from systemrdl.node import AddrmapNode

from hw.emit import folders
from hw.soc.registers.rdl import MAP, fields_of, register_map

__all__ = ["export", "write_header"]


def export(
    folder: Path, parameters: Mapping[str, int], *, name: str = MAP, docs: bool = False
) -> list[Path]:
    """Write the register map of one build; the same bytes for the same arguments.

    Parameters
    ----------
    folder : created if missing; files of the same names are replaced.
    parameters : of the build, see :func:`hw.soc.registers.rdl.parameters_of`.
    name : of the module, and of files.
    docs : write HTML too.

    Returns
    -------
    ``<name>.h``, ``<name>.xml`` (IP-XACT), ``<name>`` (Python package), ``<name>_pyuvm.py``,
    and with `docs` ``<name>_html`` (start at ``index.html``).

    Raises
    ------
    TypeError, ValueError
        As :func:`hw.soc.registers.rdl.register_map`.
    """
    top = register_map(parameters, name=name)
    folder.mkdir(parents=True, exist_ok=True)
    # On the same file system, so that moving is renaming.
    with folders.temporary(folder, ".registers-") as made:
        _write(top, made, name, parameters["version"], docs)
        paths = []
        for entry in sorted(made.iterdir()):
            path = folder / entry.name
            if path.is_dir():
                shutil.rmtree(path)
            paths.append(entry.replace(path))
    return paths


def _write(top: AddrmapNode, folder: Path, name: str, version: int, docs: bool) -> None:
    """Run the exporters; types are named as instances, so that parameters do not change names."""
    write_header(top, folder / f"{name}.h")
    numbers = f"{version >> 16}.{version >> 8 & 0xFF}.{version & 0xFF}"
    IPXACTExporter(vendor="carrysave", library="carrysave", version=numbers).export(
        top, str(folder / f"{name}.xml")
    )
    # By default class names contain Python's hash, which differs from run to run.
    PythonExporter().export(  # type: ignore[no-untyped-call]
        top, str(folder), skip_test_case_generation=True, hashing_method=NodeHashingMethod.SHA256
    )
    PyUVMExporter().export(top, str(folder / f"{name}_pyuvm.py"), reuse_class_definitions=False)
    if docs:
        _write_html(top, folder, name)


def _write_html(top: AddrmapNode, folder: Path, name: str) -> None:
    """Write pages, without what differs from run to run or is fetched from the net."""
    # Slow to load, with git's library, and used here only.
    from peakrdl_html.exporter import HTMLExporter  # type: ignore[import-untyped]

    HTMLExporter(generate_source_links=False).export(top, str(folder / f"{name}_html"))
    index = folder / f"{name}_html" / "index.html"
    # Remove the time stamp (a cache buster) and a formula renderer from the web.
    stamp = zlib.crc32((folder / f"{name}.xml").read_bytes())
    text = re.sub(r"(BUILD_TS = |\?ts=)\d+", rf"\g<1>{stamp}", index.read_text())
    index.write_text(re.sub(r"\s*<script async src=\"https:[^>]*></script>", "", text))


def write_header(top: AddrmapNode, path: Path) -> None:
    """Write the C header of a map, with the names of field values."""
    # C99 has no static_assert, with which later standards check the size of the map.
    CHeaderExporter().export(top, str(path), std=CStandard.gnu99, reuse_typedefs=False)
    path.write_text(_with_codes(path.read_text(), top))


def _with_codes(header: str, top: AddrmapNode) -> str:
    """Add the names of field values to the C header, which the exporter leaves out."""
    lines = []
    text = json.dumps  # quotes, as C does
    for field in fields_of(top):
        codes = field.codes
        if not codes:
            continue
        path = (*field.register.get_path_segments(), field.node.inst_name)
        macro = "__".join(path).upper()
        lines += [
            f"// codes - {'.'.join(path)}",
            *(f"#define {macro}__{c.identifier.upper()}_code {c.value:#x}" for c in codes),
            f"#define {macro}_LIST(X) \\",
            *(f"    X({c.value:#x}, {text(c.name)}, {text(c.meaning)}) \\" for c in codes),
            "",
            "",
        ]
    mark = f"// addrmap - {top.inst_name}\n"
    before, at_mark, after = header.partition(mark)
    assert at_mark, "the header has no map"
    return before + "\n".join(lines) + mark + after
