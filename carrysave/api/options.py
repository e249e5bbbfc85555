"""Options of a verification, and of a run of a network."""

from collections.abc import Mapping
from dataclasses import dataclass
from os import PathLike
from typing import Any

from carrysave.keywords import Options

__all__ = ["RunOptions", "VerifyOptions"]


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
    transactions : with `test`: let it send this many at most.
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


@dataclass(frozen=True, kw_only=True, repr=False)
class RunOptions(Options):
    """How a network is run on a co-processor.

    Parameters
    ----------
    labels : classes of the inputs, integers, or an .npy file.
    board : use the co-processor of `build` for this board, through its serial pins.
    port, baud : the board's serial port, such as ``/dev/ttyUSB0``: run there, not simulated.
    simulate : products to run on the block: ``all``, ``sample`` (some rows) or ``none``.
    requantise : where: ``hardware``, or ``host``, as onnxruntime does.
    host_fallback : onnxruntime runs nodes that are not supported.
    compare : with onnxruntime, which takes the whole model into memory; without it, constants in
        files beside the model are read product by product.
    batch : inputs at once; None: the model's, or 8; with states it is 1.
    batch_axis : name of the size that is the number of samples, in all inputs and outputs; None:
        that of the first axis of the first input. Where no axis has it, the first is the sample.
    constants : inputs that are a part of the model, arrays or .npy files by name.
    memory : behind the co-processor, as the flag of `compile` has it, such as ``block_ram`` or
        ``latency=20,bytes=4``; None: ``axi``, or that of the board.
    states : outputs that are inputs of the next sample, as ``{"stateN": "state"}``. The first state
        is in `x`, or zeros; of the outputs, the last state remains.
    prune : leave so many of each so many constant weights along K, such as ``2:4``, those of
        greatest magnitude, and compare with the dense model.
    energy : cells for the engine's energy, which is synthesised for them: ``osu018``, a Liberty
        file, a library, or a function that loads one; None or ``none``: no energy.
    attention : how attention of codes is computed: ``one-pass`` over scores, by blocks of keys;
        ``rows``, a softmax of whole rows; ``host``, all but its scores in floats; ``auto``: on a
        co-processor with ``shares`` one of the first two, of fewer cycles, else the last.
    """

    labels: Any = None
    board: str | None = None
    port: str | None = None
    baud: int | None = None
    simulate: str = "sample"
    requantise: str = "hardware"
    host_fallback: bool = False
    compare: bool = True
    batch: int | None = None
    batch_axis: str | None = None
    constants: Mapping[str, Any] | None = None
    memory: str | None = None
    states: Mapping[str, str] | None = None
    prune: str = "none"
    energy: Any = None
    attention: str = "auto"
