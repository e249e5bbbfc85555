"""Resources of designs on FPGAs."""

from carrysave import paths, synth
from hw.catalog import Design
from hw.emit import verilog_of

__all__ = ["count"]


def count(design: Design, target: str) -> dict[str, float]:
    """Count the ``luts``, ``ffs`` and ``dsps`` of a design that is mapped and not placed."""
    path = paths.cache() / "verilog" / f"{design.module}.v"
    paths.write(path, verilog_of(design))
    result = synth.synthesise([path], top=design.module, target=target, place=False)
    return {key: result[key] for key in ("luts", "ffs", "dsps")}
