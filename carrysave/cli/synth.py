"""``carrysave synth``."""

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

from cyclopts import Parameter
from cyclopts.types import ExistingFile

from carrysave.api import synthesis as api
from carrysave.api.design import Design
from carrysave.api.synthesis import Verilog
from carrysave.cli.defaults import defaults
from carrysave.cli.flags import Clock, Liberty, Operations, SynthesisFlags, Target, check_libraries
from carrysave.cli.libraries import target_of
from carrysave.cli.options import (
    ALL_CORES,
    BY_DEFAULT,
    TABLES,
    Choice,
    Name,
    Running,
    View,
    check_page,
    errors,
    output_folder,
    settings,
)
from carrysave.errors import UsageError, check_positive
from carrysave.progress import Steps

__all__ = ["synthesise"]

_FLAGS = defaults(SynthesisFlags)


@Parameter(name="*")
@dataclass(frozen=True, kw_only=True)
class VerilogFlags:
    """Flags of somebody's Verilog."""

    verilog: Annotated[
        list[ExistingFile] | None,
        Parameter(consume_multiple=True, help="Synthesise these files instead."),
    ] = None
    top: Annotated[str | None, Parameter(help="Top module of --verilog.")] = None
    top_parameter: Annotated[
        list[str] | None,
        Parameter(
            name=["--top-parameter", "-P"],
            negative=(),
            consume_multiple=False,
            help="NAME=NUMBER, a parameter of the top module of --verilog; may be given again.",
        ),
    ] = None
    clock: Clock = None
    operations: Operations = None

    def check_unused(self) -> None:
        """Refuse flags without files."""
        if self.top_parameter or (self.top, self.clock, self.operations) != (None, None, None):
            raise UsageError("--top, -P, --clock and --operations need --verilog")

    def of_files(self, files: list[Path]) -> Verilog:
        """Return what is synthesised."""
        if self.top is None:
            raise UsageError("--verilog needs --top, and no design, parameters or --config")
        check_positive("operations", self.operations)
        parameters = settings(self.top_parameter, "-P")
        return Verilog(files, self.top, self.clock or "clk", self.operations, parameters)


_NO_FILES = VerilogFlags()


def synthesise(
    design: Name = None,
    /,
    *,
    choice: Choice = BY_DEFAULT,
    target: Target = None,
    liberty: Liberty = None,
    options: SynthesisFlags = _FLAGS,
    verilog: VerilogFlags = _NO_FILES,
    running: Running = ALL_CORES,
    view: View = TABLES,
) -> int:
    """Synthesise a design, or your own Verilog, and report area, timing and power.

    Cell libraries: Yosys, ABC and OpenSTA; with --place Coloquinte, buffers and sizes by the wires,
    and all figures with them, too; with --route a router, a check of what it did, DEF and SPEF.
    FPGAs: Yosys, and nextpnr for ecp5, ice40, gowin and nexus; a design of the catalogue is then
    built for the target, unless `-p target=...` says otherwise. Results are cached by content.
    Where a search's best recipe is stored in the project, it is used, and the report says so.

    **Examples:**

    - `carrysave synth opt1 --sweep --html opt1.html`
    - `carrysave synth opt1 --search-recipes 200`
    - `carrysave synth systolic_os --liberty sky130_fd_sc_hd__tt_025C_1v80.lib --place`
    - `carrysave synth opt1 --liberty my.lib --lef tech.lef --lef cells.lef --route`
    - `carrysave synth systolic_os --liberty my.lib.gz --period 2.5`
    - `carrysave synth opt1 --liberty my.lib.gz --period 2.5 --objective energy --sweep`
    - `carrysave synth opt1 --liberty typical.lib --liberty slow.lib`
    - `carrysave synth systolic_os -p pe=mac -p encoding=operator -p adder=operator --target ecp5`
    - `carrysave synth --verilog a.sv --top a --target ice40 --part iCE40UP5K-SG48 --seeds 5`
    - `carrysave synth --verilog a.v b.v --top a --clock clk_i --operations 2`
    """
    check_libraries(target, liberty)
    what: Design | Verilog
    if verilog.verilog:
        if design is not None or choice.given:
            raise UsageError("--verilog needs --top, and no design, parameters or --config")
        what, folder = verilog.of_files(verilog.verilog), output_folder(choice.output)
    else:
        verilog.check_unused()
        what, folder = choice.choose(design)
    where = target_of(target, liberty, choice.config)
    check_page(view.html)
    with Steps(errors) as steps, running.session():
        result = api.synthesise(what, where, options, progress=steps)
    view.present(result, folder / "synth")
    return 0
