"""The command line: a file for each command, loaded when it is called."""

import gc
import os
import re
import sys
from collections.abc import Sequence
from io import TextIOWrapper
from typing import NoReturn

import cyclopts
from cyclopts import App, Group, Parameter

import carrysave
from carrysave.errors import ArgumentError, UsageError, option_of, remedy

__all__ = ["main"]

_GROUPS = {
    "Designs": (
        ("list", "list_designs", "List the designs."),
        ("show", "show_nest", "Print the loop nest of a bit-weight design."),
        ("generate", "generate", "Write a design: Verilog, manifest, constraints, FuseSoC core."),
        ("studio", "studio", "Choose a design and its parameters on a page in the browser."),
    ),
    "Tests and proofs": (
        ("verify", "verify", "Run a design's cocotb regression against its numpy twin."),
        ("regress", "regress", "Run benches of many designs, configurations and seeds."),
        ("soak", "soak", "Run the co-processor beside hostile hosts and memories, for some time."),
        ("prove", "prove", "Prove by algebra that an element multiplies and adds, at any width."),
        ("signoff", "signoff", "Say where a design's proof stands: stages, by rule from evidence."),
        ("contract", "contract", "Print what a design's timing depends on, with proofs."),
        ("vectors", "vectors", "Write test vectors of number formats, for others to check theirs."),
    ),
    "Area, timing, power": (
        ("synth", "synthesise", "Synthesise a design, or your own Verilog: area, timing, power."),
        ("compare", "compare", "Compare designs, and your own Verilog, in one table and picture."),
        ("changes", "changes", "Print what changed between reports of synth, Markdown or JSON."),
        ("estimate", "estimate", "Estimate area, period and power before anything is built."),
        ("explore", "explore", "Search designs and parameters for several objectives."),
        ("results", "results", "Print what all jobs found, as a table, CSV, JSON or Parquet."),
        ("reproduce", "reproduce", "Reproduce a paper's table."),
    ),
    "Networks and language models": (
        ("run", "run_model", "Run a quantised network on the co-processor."),
        ("compile", "compile_model", "Compile a quantised network to a program of jobs."),
        ("precision", "precision", "Choose a number format for each layer of a network."),
        ("train", "train", "Train a small network in few bits, beside floats."),
        ("embed", "embed", "Turn sentences into vectors by a text encoder in int8."),
        ("chat", "chat", "Have a language model answer, in golden's arithmetic."),
        ("pack", "pack", "Pack low-bit weights into the memory image of the LUT cores."),
    ),
    "Boards": (
        ("boards", "list_boards", "List the boards that build knows."),
        ("build", "build", "Build the bitstream of a co-processor for a board."),
        ("soc", "make_system", "Build a system for a board: processor, SDRAM, firmware."),
        ("board", "board", "Test the memory of a board that is attached."),
    ),
    "This installation": (
        ("demo", "demo", "Run the demo: Verilog, regression, digits on the hardware, figures."),
        ("doctor", "doctor", "Say what is installed, and what each command still needs."),
        ("selftest", "selftest", "Prove an installation in a minute."),
        ("completion", "completion", "Print what has a shell complete commands and options."),
        ("man", "man", "Write manual pages."),
    ),
}
"""Commands by what they are for, in the order of first use: file, function, help text."""
_COMMANDS = tuple(command for commands in _GROUPS.values() for command in commands)


def command_line(arguments: Sequence[str]) -> App:
    """Make the command line for some arguments."""
    app = App(
        name="carrysave",
        version=carrysave.__version__,
        help="Matrix-multiply hardware: Verilog, verification, area, timing and power.",
        help_epilogue=(
            "Examples:\n"
            "  carrysave generate systolic_os -p m=16 -p n=16\n"
            "  carrysave verify systolic_os -p m=16 -p n=16\n"
            "  carrysave synth systolic_os -p m=16 -p n=16\n"
        ),
        # Markdown takes longer to load than all the rest; docstrings of commands have it.
        help_format="plaintext",
        group_parameters="Options",
        default_parameter=Parameter(negative=()),
        suppress_keyboard_interrupt=False,
    )
    for place, (group, commands) in enumerate(_GROUPS.items()):
        panel = Group(group, sort_key=place)
        for position, (name, function, text) in enumerate(commands):
            # The called command is loaded anyway, and its docstring says more.
            known = None if name in arguments[:1] else text
            app.command(
                f"{__name__}.{name}:{function}",
                name=name,
                help=known,
                group=panel,
                sort_key=position,
                help_epilogue="",
                help_format="markdown",
            )
    return app


def main() -> None:
    """Run the command line; exit code 0 ok, 1 failed, 2 usage."""
    # Designs and netlists are millions of objects; Python's default garbage collection would take a
    # sixth of the time of `reproduce`.
    gc.set_threshold(200_000)
    # Names may have letters that the system's encoding lacks, such as ASCII's in LANG=C.
    if isinstance(sys.stdout, TextIOWrapper):
        sys.stdout.reconfigure(errors="backslashreplace")
    try:
        code = command_line(sys.argv[1:])(
            sys.argv[1:], exit_on_error=False, print_error=False, result_action="return_value"
        )
    except cyclopts.UnknownOptionError as error:
        _exit(2, f"{error}{_of_designs(error)}")
    except (UsageError, cyclopts.CycloptsError, ValueError, TypeError) as error:
        _exit(2, error.naming(option_of) if isinstance(error, ArgumentError) else error)
    except FileNotFoundError as error:
        # With a file name: one from the user. Without: a tool that is not installed.
        if error.filename:
            _exit(2, f"{error.filename}: {error.strerror}")
        _exit(1, error)
    except ModuleNotFoundError as error:
        known = remedy(error.name)
        if known is None:
            raise
        _exit(1, f"{sys.argv[1]} needs {known}")
    except BrokenPipeError:
        # The reader of the output, such as `head`, has closed the pipe.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        sys.exit(1)
    except MemoryError:
        _exit(1, "out of memory")
    except (RuntimeError, OSError) as error:
        _exit(1, error)
    sys.exit(code)


def _of_designs(error: cyclopts.UnknownOptionError) -> str:
    """Say how parameters of designs are given, if an unknown option may be one."""
    named = re.match(r"--?(\w+)", error.token.keyword or "")
    commands = {"generate", "verify", "synth", "prove", "signoff", "contract", "estimate"}
    commands |= {"run", "build"}
    if named is None or not commands.intersection(sys.argv[1:2]):
        return ""
    return f" A design's parameters are given as -p {named[1]}=VALUE."


def _exit(code: int, what: object) -> NoReturn:
    """Print the reason in one line without what a terminal would obey, and exit."""
    from hw.emit.user_files import shown  # not for --help, which loads nothing of ours

    print("carrysave:", shown(" ".join(str(what).split()), 4000), file=sys.stderr)
    sys.exit(code)
