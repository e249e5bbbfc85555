"""Vector jobs by what they take."""

__all__ = [
    "DEPTHWISE",
    "HIGH",
    "INDEX",
    "MAPS",
    "OTHERS",
    "PAIRS",
    "PLACE_BYTES",
    "REQUANTISED",
    "SECOND",
    "SHARES",
    "TOP_K",
]


PAIRS = ("add", "multiply")
"""Operations of the vector unit on two rows."""
SECOND = (*PAIRS, "scale")
"""Operations of the vector unit that take a second matrix: a scale one of exponents."""
MAPS = ("map_add", "map_multiply", "map_max")
"""Operations on two maps, bytes with zero points."""
SHARES = ("exps", "divide")
"""Shares of blocks, and rows by their last value: by one number, of which the second requantises.
They are jobs of programs; :meth:`VectorControl.vector` does not make them."""
INDEX, PLACE_BYTES = "index", 4
"""Lists of places, of so many bytes each: by the number of a gather. A job of programs, too."""
TOP_K = "top_k"
"""The greatest codes of rows: their places, their count, and codes behind it. Also of programs."""
HIGH = {INDEX: "gather", TOP_K: "transpose", "sigmoid": "silu", "blend": "multiply"}
"""Operations whose number is that of another one, but for its fifth bit; all are jobs of programs.
A sigmoid is requantised as a SiLU. A blend weighs rows of A and of B by the factors behind those;
its shift is how many of their bits are behind the binary point."""
OTHERS = {**dict.fromkeys(SHARES, "exps"), **HIGH}
"""Operations that have the number of another one."""
DEPTHWISE = "depthwise"
"""Windows of a map, channel by channel: a job that has a window."""
REQUANTISED = ("gelu", "silu", "sigmoid", *SECOND, *MAPS, "divide", "blend")
"""Vector jobs that say how codes are made."""
