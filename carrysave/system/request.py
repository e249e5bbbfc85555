"""What ``carrysave soc`` is asked for."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from carrysave.boards.board import Board
from carrysave.compiler.front.options import ReadOptions
from carrysave.compiler.run.timeline import check_path
from carrysave.errors import ArgumentError, refusal
from carrysave.system import generate
from carrysave.system.boards import SystemBoard

__all__ = ["SystemRequest", "TextRun"]


@dataclass(frozen=True, kw_only=True)
class TextRun:
    """What is asked of a language model.

    Parameters
    ----------
    prompt, tokens : what it answers, and with how many tokens at most; None: nothing.
    cache : tokens that its program takes.
    kv : bits of a key or value; None: the model's own.
    """

    prompt: str | None = None
    tokens: int = 16
    cache: int = 1024
    kv: int | None = None


@dataclass(frozen=True, kw_only=True)
class SystemRequest:
    """What is asked for.

    Parameters
    ----------
    board, chosen : the board, and what a system takes of it.
    parameters : of the co-processor, in place of the default ones.
    clock_mhz : of the system.
    baud : of the serial line; None: 3 Mbaud, or what the firmware keeps up with.
    model, data, labels : files of a network and its inputs, or None.
    count : inputs that are run, from the first on; None: all.
    batch : how many a run of the network takes.
    cpu, bus : LiteX's names of the processor, and of the standard of its bus.
    simulated : the system is simulated; else its bitstream is built.
    serial : the simulated system gets the network over its serial line, as a board does.
    port : serial line of a board that has the system, on which the network is run instead.
    reading : how the model is read.
    timeline : file for when each part of the co-processor is busy.
    text : the model is a language model.
    """

    board: Board
    chosen: SystemBoard
    parameters: Mapping[str, str]
    clock_mhz: float
    baud: int | None
    model: Path | None
    data: Path | None
    labels: Path | None
    count: int | None
    simulated: bool
    batch: int = 1
    serial: bool = False
    port: str | None = None
    cpu: str = "vexriscv"
    bus: str = "wishbone"
    reading: ReadOptions = field(default_factory=ReadOptions)
    timeline: Path | None = None
    text: TextRun | None = None

    def __post_init__(self) -> None:
        """Check what goes together."""
        for argument, name, known in (
            ("cpu", self.cpu, generate.CPUS),
            ("bus", self.bus, generate.BUSES),
        ):
            if name not in known:
                raise refusal(argument, " or ".join(known), name)
        if not 20 <= self.clock_mhz <= 100:
            raise refusal("clock_mhz", "20..100 MHz", f"{self.clock_mhz:g}")
        if self.baud is not None and not 9600 <= self.baud <= self.most:
            raise refusal("baud", f"9600..{int(self.most)}", str(self.baud))
        if self.model is None and self.reading != ReadOptions():
            raise ArgumentError("{batch_axis}, {constants} and {states} need {model}")
        self._check_model()
        if self.simulated and self.port is not None:
            raise ArgumentError("{simulate} is in place of a board at {port}")
        for argument, wanted in (("simulate", self.simulated), ("port", self.port is not None)):
            if wanted and self.model is None:
                raise ArgumentError(f"{{{argument}}} needs {{model}} and {{x}}")
            if wanted and self.text is not None and self.text.prompt is None:
                raise ArgumentError(f"{{{argument}}} of a language model needs {{prompt}}")
        check_path(self.timeline)
        if self.timeline is not None and (not self.simulated or self.serial):
            raise ArgumentError("{timeline} is for {simulate} without {serial}")
        if self.serial and not self.simulated:
            raise ArgumentError("{serial} is for {simulate}: a board has no other way")
        if self.count is not None and self.count < 1:
            raise refusal("count", "1 or more", str(self.count))
        if self.batch < 1:
            raise refusal("batch", "1 or more", str(self.batch))
        if self.batch > 1 and (self.model is None or self.labels is not None):
            raise ArgumentError("{batch} needs {model}, and no {labels}: classes are of one input")

    def _check_model(self) -> None:
        """Check what the model takes."""
        if self.text is None:
            if (self.model is None) != (self.data is None):
                raise ArgumentError("{model} and {x} need each other")
            return
        if (self.data, self.labels, self.count, self.batch) != (None, None, None, 1):
            raise ArgumentError("{x}, {labels}, {count} and {batch} are not of a language model")
        if self.reading != ReadOptions():
            raise ArgumentError("{batch_axis}, {constants}, {states} are not of a language model")
        if self.timeline is not None:
            raise ArgumentError("{timeline} is of a network")
        if self.text.tokens < 1:
            raise refusal("tokens", "1 or more", str(self.text.tokens))

    @property
    def most(self) -> float:
        """Highest baud rate that the firmware keeps up with."""
        return 1e6 * self.clock_mhz / generate.CPUS[self.cpu].divisor

    @property
    def rate(self) -> float:
        """Baud rate of the serial line."""
        return self.most if self.simulated else self.baud or min(3_000_000, int(self.most))
