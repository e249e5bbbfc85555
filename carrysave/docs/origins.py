"""Where designs are from: papers, by design, and the tables in which they are compared."""

from collections.abc import Iterator

from carrysave import papers
from hw.catalog import CATALOG

__all__ = ["AFTER", "COMPARED", "origins_of"]

_BIT_WEIGHT, _LUT = "the bit-weight paper (HPCA 2025)", "LUT Tensor Core (ISCA 2025)"
AFTER: dict[str, str] = {
    "opt1": f"OPT1 of {_BIT_WEIGHT}",
    "opt2": f"OPT2 of {_BIT_WEIGHT}",
    "opt3": f"OPT3 of {_BIT_WEIGHT}",
    "opt4c": f"OPT4C of {_BIT_WEIGHT}",
    "opt4e": f"OPT4E of {_BIT_WEIGHT}",
    "digit_column": f"the columns of {_BIT_WEIGHT}",
    "laconic": 'ISCA 2019, "Laconic Deep Learning Inference Acceleration"',
    "lmul": 'arXiv 2410.00907, "Addition Is All You Need for Energy-efficient Language Models";'
    " the conditional carry of exact products also after arXiv 2406.18441",
    "lut_tables": _LUT,
    "lut_core": _LUT,
    "lut_unit": f"the instruction LMMA of {_LUT}",
    "ternary_core": "ternary sums in tables of 2 to 7 activations, as in arXiv 2604.25183"
    " (ISPASS 2026) among others",
    "over_weights": "SAIL, arXiv 2509.25853",
    "requantiser": "gemmlowp and HAWQ-V3, by the rounding that is chosen",
    "shiftmax": "I-ViT, ICCV 2023",
    "shift_gelu": "I-ViT, ICCV 2023",
    "block_scale": "OCP Microscaling Formats (MX) v1.0, and NVFP4",
    "aligned_dot": 'what was found of GPUs: Fasi, Higham, Mikaitis, Pranesh, "Numerical behavior of'
    ' NVIDIA tensor cores", 2021',
}
"""The paper or standard that a design is after; others are classic, or of our own."""

_SHAPES = ("systolic_os", "systolic_ws", "cube", "adder_tree", "matrix_2d")
_RIVALS = ("adder_tree", "bitserial_core", "shift_add_core", "ternary_core", "lmul")
COMPARED: dict[str, tuple[str, ...]] = {
    "hpca25": (*_SHAPES, "digit_column", "laconic"),
    "ent": ("systolic_os", "matrix_2d"),
    "xr-npe": ("sl8", "npe", "opt1"),
    "lut-tensor-core": ("lut_core", *_RIVALS),
    "fp8-int8": ("sl8", "float_mac", "opt1"),
}
"""By table of ``carrysave reproduce``: the designs that it measures by their names."""


def origins_of(name: str) -> Iterator[str]:
    """Yield sentences about where a design is from."""
    if name in AFTER:
        yield f"After {AFTER[name]}."
    if "ent" in getattr(CATALOG[name].parameters.get("encoding"), "options", ()):
        yield "With `encoding=ent`, digits are those of EN-T (ICCD 2024)."
    if "sparsity" in CATALOG[name].parameters:
        yield (
            "With `sparsity`, groups of N codes and a mask are those of GPUs' sparse tensor cores"
            " (arXiv 2104.08378, 2206.02874)."
        )
    for table, designs in COMPARED.items():
        if name in designs:
            source = papers.TABLES[table].source
            yield f"`carrysave reproduce {table}` compares it: {source}."
