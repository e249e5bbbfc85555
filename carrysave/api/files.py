"""The files of a design."""

import json
from collections.abc import Mapping
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any

from carrysave.api.call import telling
from carrysave.api.result import Result
from carrysave.errors import ArgumentError, check_positive, refusal
from carrysave.fpga.fitting import fitting
from carrysave.ip import has_pack
from carrysave.progress import Steps
from carrysave.report import design_page, designs
from hw.catalog import Design
from hw.emit.files import generate as write_files

if TYPE_CHECKING:
    from rich.console import Console

    from carrysave.report.page import Page

__all__ = ["Files", "generate"]


class Files(Result):
    """The files of a design that were written; as a mapping, ``files`` and the manifest.

    Members
    -------
    files : list of Path    The Verilog first.
    module : str            Name of the Verilog module.
    latency : int           Cycles, as the design's documentation counts them.
    operations_per_cycle    Two per multiply-accumulate.
    """

    def __init__(self, facts: dict[str, Any], blocks: str | None = None) -> None:
        super().__init__(facts)
        self._blocks = blocks

    @property
    def files(self) -> list[Path]:
        """The files, the Verilog first."""
        return [Path(file) for file in self["files"]]

    @property
    def verilog(self) -> Path:
        """The Verilog."""
        return next(path for path in self.files if path.suffix == ".v")

    @property
    def module(self) -> str:
        """Name of the Verilog module."""
        return str(self["module"])

    @property
    def latency(self) -> int:
        """Cycles, as the design's documentation counts them."""
        return int(self["latency_cycles"])

    @property
    def operations_per_cycle(self) -> float:
        """Operations in a cycle at full rate; two per multiply-accumulate."""
        return float(self["throughput"]["operations_per_cycle"])

    def show(self, console: "Console") -> None:
        """Print the files, by folder."""
        designs.print_files(console, self.files, self.facts, self._blocks)

    def page(self) -> "Page":
        """Return files and ports as a page."""
        return design_page.of_files(self.facts, self.command)

    def records(self) -> list[dict[str, Any]]:
        """Return a row for each file: ``file``, ``bytes``."""
        return [{"file": str(path), "bytes": path.stat().st_size} for path in self.files]


def generate(
    design: Design,
    folder: str | PathLike[str],
    timing: Mapping[str, float | None],
    *,
    docs: bool,
    progress: Steps | bool,
) -> Files:
    """Write the files of a design, see :meth:`carrysave.api.design.Design.generate`."""
    given: dict[str, Any] = {name: value for name, value in timing.items() if value is not None}
    check_positive("period_ns", given["period_ns"], " ns")
    if not 0 <= given.get("outside", 0) < 1:
        raise refusal("outside", "0 or more, and less than 1", f"{given['outside']:g}")
    if docs and not has_pack(design):
        raise ArgumentError("{docs} is for a co-processor, not for {name}", name=design.name)
    with telling(progress) as steps:
        steps.step(f"generate {design.module}")
        if has_pack(design):
            # Imported here because it is slow to load.
            from carrysave.ip import package

            files = package.generate(design, Path(folder), docs=docs, progress=steps.note, **given)
        else:
            files = write_files(design, Path(folder), **given)
    manifest = json.loads(next(path for path in files if path.suffix == ".json").read_text())
    return Files({"files": [str(path) for path in files], **manifest}, fitting(design))
