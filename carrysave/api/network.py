"""Quantised networks on a co-processor."""

import contextlib
from collections.abc import Callable, Iterator, Mapping
from os import PathLike, fspath
from pathlib import Path
from typing import TYPE_CHECKING, Any

from carrysave.api.call import public, telling
from carrysave.api.design import Design
from carrysave.api.options import RunOptions
from carrysave.api.result import Result
from carrysave.api.targets import cells_for_energy
from carrysave.boards import attached
from carrysave.boards.board import board_of, design_of
from carrysave.compiler.front.options import ReadOptions
from carrysave.compiler.run import view
from carrysave.compiler.run.alone import Block
from carrysave.compiler.run.pruned import execute
from carrysave.compiler.run.request import RunRequest, write
from carrysave.compiler.target.memory import memory_behind
from carrysave.errors import ArgumentError, UsageError
from carrysave.keywords import by_name
from carrysave.progress import Steps
from carrysave.report.designs import print_line
from golden.soc.coprocessor import CoprocessorSpec
from hw.emit import tools
from hw.emit.naming import naming

if TYPE_CHECKING:
    import numpy as np
    from onnx import ModelProto
    from rich.console import Console

    from carrysave.asic.liberty.cells import Library
    from carrysave.report.page import Page

    Path_ = str | PathLike[str]
    Energy = Callable[[], Library | str | None] | Library | Path_ | None

__all__ = ["NetworkRun", "RunOptions", "run"]

_DEFAULTS = RunOptions()


class NetworkRun(Result):
    """A network that ran on a co-processor.

    Members
    -------
    ok : bool            What was simulated is what the golden model computes, bit for bit.
    outputs : dict       Arrays by name; the first axis is the sample.
    layers : list        Products as dicts: ``layer operator formats shapes macs cycles ...``.
    cycles : int         Of a batch; the cost model's, corrected where a part was simulated.
    macs : int           Of a batch, useful ones.
    utilisation : float  Of what the engine could multiply in these cycles, 0..1.
    energy_uj : float    Of a batch, of the engine, uJ; None if no cells were given.
    compared : list      How each output compares with onnxruntime's, and with labels, as dicts.
    wrong : list of str  Products whose simulation differs.
    notes : list of str  What is left out, and why.
    """

    def __init__(self, facts: dict[str, Any], outputs: "dict[str, np.ndarray]") -> None:
        super().__init__(facts)
        self.outputs = outputs

    @property
    def ok(self) -> bool:
        """Whether all that was simulated is what the golden model computes."""
        return not self["wrong"]

    @property
    def layers(self) -> list[dict[str, Any]]:
        """Products in the order in which they run."""
        return self["layers"]

    @property
    def cycles(self) -> int:
        """Cycles of a batch."""
        return self["cycles"]

    @property
    def macs(self) -> int:
        """Useful multiply-accumulates of a batch."""
        return self["macs"]

    @property
    def utilisation(self) -> float:
        """Share of what the engine could multiply in these cycles."""
        return self["utilisation"]

    @property
    def energy_uj(self) -> float | None:
        """Energy of the engine for a batch, uJ."""
        return self["energy_uj"]

    @property
    def compared(self) -> list[dict[str, Any]]:
        """``name equal most top1_equal accuracy accuracy_onnxruntime`` of each output."""
        return self["outputs"]

    @property
    def wrong(self) -> list[str]:
        """Products whose simulation differs from the golden model."""
        return self["wrong"]

    @property
    def notes(self) -> list[str]:
        """What is left out, and why."""
        return self["notes"]

    def show(self, console: "Console") -> None:
        """Print products, how outputs compare, and the files that it was saved to."""
        view.show(console, self.facts)
        for file in self["files"]:
            print_line(console, f"wrote {file}")

    def page(self) -> "Page":
        """Return the run as a page."""
        return view.page(self.facts)

    def records(self) -> list[dict[str, Any]]:
        """Return a row for each product: its first shape, cycles, bytes, energy, what differs."""
        keys = ("macs", "cycles", "utilisation", "bytes", "energy_uj", "codes", "differ")
        return [
            {
                **{key: row[key] for key in ("layer", "operator", "formats")},
                **dict(zip("mkn", row["shapes"][0], strict=True)),
                "products": len(row["shapes"]),
                **{key: row[key] for key in keys},
            }
            for row in self.layers
        ]

    def pictures(self) -> dict[str, bytes]:
        """Return ``layers``: useful and lost cycles of each product, and bytes moved."""
        return {"layers": view.draw(self.facts)}

    def save(self, folder: str | PathLike[str]) -> list[Path]:
        """Write outputs, JSON, a table as Markdown, and a picture."""
        self.facts["files"] = write(Path(folder), self.facts, self.outputs)
        return [Path(file) for file in self["files"]]


@public
@by_name(RunOptions)
def run(
    model: "Path_ | ModelProto",
    x: "np.ndarray | Mapping[str, np.ndarray] | Path_",
    design: Design | None = None,
    options: RunOptions = _DEFAULTS,
    *,
    folder: str | PathLike[str] = "build",
    progress: Steps | bool = False,
) -> NetworkRun:
    """Run a quantised network on a co-processor; compare it with onnxruntime if that is there.

    Quantised products go to the co-processor, everything else to the host. The golden model
    computes the results; a part also runs on the simulated block, or on a board, and must match.

    Parameters
    ----------
    model : a quantised ONNX model: a file, or what ``onnx.load`` returns.
    x : inputs, of the model's type: an array; arrays by name; or a file, .npy or .npz. The first
        axis is the sample, or that of ``batch_axis``.
    design : a co-processor; None: ``Design("coprocessor")``, or that of the board.
    options : see :class:`RunOptions`; its fields may be given by name: ``simulate="none"``.
    folder : each simulation gets a folder of its own in ``folder/runs``; reports of `build` are in
        ``folder/boards``.
    progress : say on stderr what is done.

    Raises
    ------
    ArgumentError
        Arguments out of range, or inputs that are no fit.
    FileError
        The model cannot run; names node or tensor.
    """
    design, block = _target(design, options, Path(folder) / "boards")
    with telling(progress) as steps, _file(model) as path:
        request = RunRequest(
            model=path,
            data=_given(x),
            labels=_given(options.labels),
            design=design,
            timing=memory_behind(options.memory, options.board, design.spec),
            simulate=options.simulate,
            requantise=options.requantise,
            batch=options.batch,
            reading=ReadOptions(
                options.batch_axis, options.constants or {}, options.states or {}, options.prune
            ),
            library=_library(options.energy),
            block=block,
            fallback=options.host_fallback,
            compare=options.compare,
            attention=options.attention,
        )
        return NetworkRun(*execute(request, Path(folder) / "runs", steps))


def _target(
    design: Design | None, options: RunOptions, boards: Path
) -> tuple[Design, Block | None]:
    """Return the co-processor, and what runs products on a board's; None: a simulation."""
    block = None
    board, port, baud = options.board, options.port, options.baud
    if board is None and (port is not None or baud is not None):
        raise ArgumentError("{port} and {baud} need {board}")
    if board is not None and port is not None:
        if design is not None:
            raise ArgumentError("{port} takes no design: it is the one that was built")
        built, rate, _ = attached.built(board_of(board), boards)
        block = attached.block(board_of(board), built, port, baud or rate, boards)
        design = Design.of(built)
    elif design is None and board is not None:
        design = Design.of(design_of(board_of(board), {}, baud=baud or 0))
    elif design is None:
        design = Design("coprocessor")
    if not isinstance(design.spec, CoprocessorSpec):
        raise UsageError(f"design must be a co-processor, not {design.name}")
    return design, block


@contextlib.contextmanager
def _file(model: "Path_ | ModelProto") -> Iterator[Path]:
    """Return the file of a model; one that is in memory is written for that time."""
    if isinstance(model, str | PathLike):
        yield Path(model)
        return
    with tools.workplace() as folder:
        path = folder / "model.onnx"
        path.write_bytes(model.SerializeToString())
        with naming({str(path): "model"}):
            yield path


def _given(data: Any) -> Any:
    """Return a path as a `Path`, and anything else as it is."""
    return Path(data) if isinstance(data, str | PathLike) else data


def _library(energy: "Energy") -> "Callable[[], Library | str | None]":
    """Return what loads a library of cells, once the model has been read."""
    if callable(energy):
        return energy
    if energy is None or isinstance(energy, str | PathLike):
        name = None if energy is None else fspath(energy)
        return lambda: cells_for_energy(name)
    return lambda: energy
