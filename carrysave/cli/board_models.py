"""Models that `carrysave build` writes for a board: networks, and language models."""

from dataclasses import dataclass, replace
from pathlib import Path
from typing import Annotated

from cyclopts import Parameter

from carrysave.boards.board import Board
from carrysave.boards.flash import flash_of
from carrysave.cli.reading import BY_THE_MODEL, Reading
from carrysave.cli.text_models import (
    BY_DEFAULT,
    TextFlags,
    check_decoder,
    check_no_text,
    is_text,
)
from carrysave.compiler.front.options import ReadOptions
from carrysave.compiler.program.program import Program
from carrysave.errors import UsageError
from carrysave.system.board_network import board_program
from carrysave.system.board_text import text_on_board
from carrysave.system.text import text_parameters
from hw.catalog import Design

__all__ = ["NO_NETWORK", "Compiler", "Network", "check_text"]


@Parameter(name="*")
@dataclass(frozen=True, kw_only=True)
class Network:
    """A network that runs on a board."""

    model: Annotated[
        Path | None,
        Parameter(
            help="A quantised ONNX model that it runs, a folder of `carrysave compile`, or a"
            " language model."
        ),
    ] = None
    input_: Annotated[
        Path | None,
        Parameter(name="--input", help="Inputs of the model, as `compile` takes them."),
    ] = None
    batch: Annotated[int, Parameter(help="Samples of a run, if the model leaves it open.")] = 1
    flash: Annotated[
        bool, Parameter(help="The board fills its memory from its SPI flash at its start.")
    ] = False


NO_NETWORK = Network()


@dataclass(frozen=True)
class Compiler:
    """Compiles the model of a build, of either kind."""

    network: Network
    reading: ReadOptions
    text: TextFlags

    @property
    def is_text(self) -> bool:
        """Whether it is a language model."""
        return self.network.model is not None and is_text(self.network.model)

    def parameters(self, board: Board) -> dict[str, str]:
        """Return what the co-processor of a board must have for it."""
        made: dict[str, str] = {}
        if self.is_text:
            made = text_parameters()
        if self.network.flash:
            made["flash"] = str(flash_of(board.name).address)
        return made

    def program(self, model: Path, board: Board, design: Design) -> Program:
        """Return its program."""
        if self.is_text:
            kv, cache = self.text.kv, self.text.cache_
            return text_on_board(model, board, design, cache=cache, bits=kv)
        network = self.network
        return board_program(model, network.input_, network.batch, self.reading, board, design)


def check_text(network: Network, text: TextFlags, reading: Reading) -> None:
    """Refuse flags that are of another kind of model."""
    model = network.model
    if model is None or not is_text(model):
        check_no_text(text, model or Path("a build without --model"))
        return
    check_decoder(model)
    if replace(text, cache_=BY_DEFAULT.cache_, kv=None) != BY_DEFAULT:
        raise UsageError(f"--skip, --calibration and --tokens must be left out of {model.name}")
    if replace(network, model=None, flash=False) != NO_NETWORK or reading != BY_THE_MODEL:
        raise UsageError(
            "--input, --batch, --batch-axis, --constant and --state must be left out of"
            f" {model.name}"
        )
