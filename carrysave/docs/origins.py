"""Where designs are from: papers, by design."""

from carrysave import papers

__all__ = ["ORIGINS"]


def _compared(name: str) -> str:
    """Name the paper of a table that is reproduced, and the command that does it."""
    source = papers.TABLES[name].source
    title = source[: source.rindex('"') + 1]
    return f"{title}; `carrysave reproduce {name}` compares"


_BIT_WEIGHT = (
    "opt1", "opt2", "opt3", "opt4c", "opt4e", "systolic_os", "systolic_ws", "matrix_2d", "cube",
    "adder_tree", "digit_column",
)  # fmt: skip
_LUT = ("lut_tables", "lut_core", "lut_unit", "bitserial_core", "shift_add_core", "float_lut")
_LANES = ("sl8", "sl16", "npe")
ORIGINS: dict[str, str] = {
    **dict.fromkeys(_BIT_WEIGHT, _compared("hpca25")),
    **dict.fromkeys(_LUT, _compared("lut-tensor-core")),
    **dict.fromkeys(_LANES, _compared("xr-npe")),
    "laconic": 'ISCA 2019, "Laconic Deep Learning Inference Acceleration"',
    "lmul": 'arXiv 2410.00907, "Addition Is All You Need for Energy-efficient Language Models"',
    "over_weights": "arXiv 2509.25853, SAIL",
    "shiftmax": "I-ViT, ICCV 2023",
    "shift_gelu": "I-ViT, ICCV 2023",
    "block_scale": "OCP Microscaling Formats (MX), v1.0",
}
"""The paper that a design is after; designs of our own are not here."""
