"""The circuit of an element, or of Verilog in its place: gates and registers, as an AIGER file."""

from collections.abc import Mapping
from pathlib import Path

from carrysave.prove.core import NotUnderstoodError
from carrysave.prove.wide import ELEMENTS, WideDesign
from hw.catalog import CATALOG
from hw.emit import tools, yosys
from hw.emit.user_files import read_text
from hw.emit.verilog import Emission
from hw.unknown import nearest

__all__ = ["GATES", "circuit_of", "design_of", "flat", "source_of"]

_LONGEST = 1 << 28  # bytes of Verilog
GATES = (
    "dffunmap\nsetundef -zero -undriven\nsetattr -unset init w:*\naigmap\nopt_clean\n"
    "write_aiger -ascii -symbols design.aag"
)
"""Commands that turn it into ANDs and registers."""
_REASONS = {
    "it takes several cycles for a product": ("laconic", "opt3", "opt4c", "opt4e", "digit_column"),
    "it is an array: its elements are those of mac, opt1 and opt2": (
        *("systolic_os", "systolic_ws", "cube", "adder_tree", "matrix_2d"),
    ),
    "its sums are looked up or gated": (
        *("lut_tables", "lut_core", "lut_unit", "bitserial_core", "shift_add_core"),
        *("ternary_core", "over_weights"),
    ),
}
_UNDERSTOOD = {
    "encoding": (("ent", "booth", "none"), "the multiplier is the synthesis tool's"),
    "upper": (("heap",), "a counter is no sum of bits"),
    "target": (("generic",), "blocks of a device have no gates"),
}
"""Values of parameters that are proven, and why others are not."""


def design_of(name: str, texts: Mapping[str, str]) -> WideDesign:
    """Return the element of a name, with parameters as text.

    Raises
    ------
    NotUnderstoodError
        It is not of a kind that is proven by algebra.
    """
    if name not in CATALOG:
        raise nearest(name, CATALOG, "design")
    if name not in ELEMENTS:
        why = next(
            (why for why, names in _REASONS.items() if name in names),
            "it is no multiply-accumulate of integers between two streams",
        )
        raise NotUnderstoodError(f"{name} is not proven by algebra: {why}")
    design = WideDesign.of(name, texts)
    for key, (values, why) in _UNDERSTOOD.items():
        value = design.parameters.get(key, values[0])
        if value not in values:
            raise NotUnderstoodError(
                f"{name} is proven by algebra with {key} {' or '.join(values)}, not {value}: {why}"
            )
    return design


def circuit_of(design: WideDesign, verilog: Path | None = None) -> str:
    """Return the gates and registers of a design.

    Parameters
    ----------
    verilog : read in place of what is generated; same module, same ports.

    Raises
    ------
    hw.emit.yosys.YosysError
        Yosys does not read it.
    """
    source = Emission(design).verilog if verilog is None else source_of(verilog)
    with tools.workplace() as folder:
        (folder / "design.v").write_text(source)
        yosys.run(f"{flat(design.module)}{GATES}", cwd=folder)
        return (folder / "design.aag").read_text()


def source_of(verilog: Path) -> str:
    """Read Verilog that is in place of ours."""
    return read_text(verilog, _LONGEST)


def flat(module: str, models: str = "") -> str:
    """Return the commands that read a design as one module of gates.

    Parameters
    ----------
    models : commands that read those of its cells.
    """
    return (
        f"read_verilog design.v\n{models}hierarchy -check -top {yosys.word(module)}\n"
        "proc\nflatten\nmemory\nopt_clean\ntechmap\nopt_clean\n"
    )
