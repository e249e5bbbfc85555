"""Options of a verification."""

from dataclasses import dataclass
from os import PathLike
from typing import Any

from carrysave.keywords import Options

__all__ = ["VerifyOptions"]


@dataclass(frozen=True, kw_only=True, repr=False)
class VerifyOptions(Options):
    """How a design is verified.

    Parameters
    ----------
    seed : of the stimulus, 0..2^31 - 1; drawn if None.
    waves : record waves (VCD).
    netlist : run on the netlist synthesised for this library: ``osu018``, ``generic``, a Liberty
        file, or a library.
    verilog : run on this file in place of ours: same module, same ports.
    simulator : ``verilator``, or ``icarus``: slow, knows x.
    test : run this test alone, by its name in the results.
    transactions : with `test`: let it send so many at most.
    show_failure : run the first test that fails once more alone, for a picture of its waves.
    """

    seed: int | None = None
    waves: bool = False
    netlist: Any = None
    verilog: str | PathLike[str] | None = None
    simulator: str = "verilator"
    test: str | None = None
    transactions: int | None = None
    show_failure: bool = False
