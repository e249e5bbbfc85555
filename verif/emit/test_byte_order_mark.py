"""Texts that begin with a byte order mark, as some editors write them, are read as without it.

All that a user gives on the command line is walked: what is text comes from the one reader.
"""

import codecs
import gzip
import json
import re
from collections.abc import Callable, Iterator
from dataclasses import is_dataclass
from importlib import import_module
from inspect import signature
from pathlib import Path
from typing import get_args, get_type_hints

import pytest

from carrysave import cli
from carrysave.asic.liberty.cells import Library
from carrysave.asic.placement.lef import read_lef
from carrysave.cli.options import read_settings
from carrysave.compiler.encoder.command import lines_of as sentences
from carrysave.compiler.front.sentences import read_tokens
from carrysave.errors import UsageError
from carrysave.exploration.estimate import Estimator
from carrysave.exploration.front import point_of
from carrysave.exploration.space import Space
from carrysave.ip.generator import main as generator
from carrysave.report.changes import _report
from carrysave.signoff.holes import read_arguments
from carrysave.weights import image
from hw.emit.sources import Sources
from hw.emit.user_files import read, read_text
from verif.asic.placement.test_lef import CELLS, TECHNOLOGY
from verif.asic.test_fuzz_liberty import SMALL

MODULE = b"module top(input a, output y); assign y = a; endmodule\n"
ROOT = Path(__file__).parents[2]
TOKENS = json.dumps({
    "version": "1.0",
    "added_tokens": [],
    "model": {"type": "WordLevel", "vocab": {"a": 0, "u": 1}, "unk_token": "u"},
}).encode()
FRONT = {"points": [{"front": True, "design": "mac", "parameters": {"a_width": 8}}]}
KINDS: dict[str, tuple[bytes, Callable[[Path], object]]] = {
    "cells.lib": (SMALL, Library.load),
    "cells.lib.gz": (SMALL, Library.load),
    # Its first word is what the mark would spoil.
    "cells.lef": (
        (TECHNOLOGY[TECHNOLOGY.index("LAYER m1") :] + CELLS).encode(),
        lambda path: read_lef([path]),
    ),
    "top.v": (MODULE, lambda path: Sources.read([path]).files),
    "top.sv": (MODULE, lambda path: Sources.read([path]).files),
    "settings.toml": (b'design = "mac"\n', read_settings),
    "space.toml": (b'designs = ["systolic_os"]\n', Space.read),
    "front.json": (json.dumps(FRONT).encode(), lambda path: point_of(path, 0)),
    "arguments.toml": (
        b'[[argument]]\ndesign = "mac"\nkind = "line"\nat = "a"\nreason = "b"\n',
        read_arguments,
    ),
    "sentences.txt": ("gr\u00fc\u00df dich\n".encode(), sentences),
    "prompt.txt": ("gr\u00fc\u00df dich\n".encode(), read_text),
    "report.json": (b'{"target": 1}', lambda path: said(_report, path)),
    "manifest.json": (
        b'{"image": "none.bin"}',
        lambda path: said(image.unpack, path, path.parent, None, ".npz"),
    ),
    "estimate.json": (b'{"format": -1}', lambda path: said(Estimator.read, path)),
    "tokenizer.json": (TOKENS, lambda path: repr(read_tokens(path.parent, ["a"], 4))),
    "request.yml": (b"parameters: {period: -1}\n", lambda path: said(generator, path, path.parent)),
}  # what each reader returns is compared
TEXTS = {
    "config": ("carrysave/cli/options.py", "settings.toml"),
    "from_": ("carrysave/exploration/front.py", "front.json"),
    "space": ("carrysave/exploration/space.py", "space.toml"),
    "model of estimate": ("carrysave/exploration/estimate.py", "estimate.json"),
    "before": ("carrysave/report/changes.py", "report.json"),
    "after": ("carrysave/report/changes.py", "report.json"),
    "liberty": ("carrysave/asic/liberty/cells.py", "cells.lib"),
    "lef": ("carrysave/asic/lef_text.py", "cells.lef"),
    "verilog": ("hw/emit/sources.py", "top.v"),
    "verilog of prove": ("carrysave/prove/circuit.py", "top.v"),
    "verilog of verify": ("carrysave/sim/verilator.py", "top.v"),  # its test has both simulators
    "file of pack": ("carrysave/weights/image.py", "manifest.json"),
    "text": ("carrysave/compiler/encoder/command.py", "sentences.txt"),
    "calibration of compile": ("carrysave/compiler/encoder/command.py", "sentences.txt"),
    "calibration of estimate": ("carrysave/compiler/encoder/command.py", "sentences.txt"),
    "calibration of build": ("carrysave/compiler/encoder/command.py", "sentences.txt"),
    "arguments of signoff": ("carrysave/signoff/holes.py", "arguments.toml"),
    "calibration of chat": ("carrysave/compiler/decoder/skip.py", "prompt.txt"),
    "calibration of embed": ("carrysave/compiler/encoder/command.py", "sentences.txt"),
    "model of embed": ("carrysave/compiler/front/sentences.py", "tokenizer.json"),
    "perplexity of chat": ("carrysave/compiler/decoder/perplexity.py", "sentences.txt"),
}
"""Options with a path to a text: who reads it, and what of `KINDS` it is."""
OTHERS = {
    "certificate of prove",
    "output",
    "html",
    "folder",
    "store",
    "timeline",
    "input_",
    "labels",
    "dump of compile",
    "calibration of precision",
    "model of run",
    "model of build",
    "model of compile",
    "model of chat",
    "model of precision",
    "model of soc",
    "gds",
    "resume of chat",
    "save of chat",
}
"""What is written, or is no text."""


def has_path(annotation: object) -> bool:
    return annotation is Path or any(map(has_path, get_args(annotation)))


def options(command: Callable[..., object]) -> Iterator[tuple[str, object]]:
    """Yield names and types of a command's options, those of its dataclasses among them."""
    for name, parameter in signature(command, eval_str=True).parameters.items():
        kinds = (parameter.annotation, *get_args(parameter.annotation))
        record = next((one for one in kinds if is_dataclass(one)), None)
        if record is None:
            yield name, parameter.annotation
        else:
            yield from get_type_hints(record, include_extras=True).items()


def test_all_that_users_give() -> None:
    """Each option with a path is known here, and each text among them has its reader."""
    seen = set()
    for room, function, _ in cli._COMMANDS:
        command = getattr(import_module(f"carrysave.cli.{room}"), function)
        for name, annotation in options(command):
            if has_path(annotation):
                whole = f"{name} of {room}"
                assert {whole, name} & (TEXTS.keys() | OTHERS), f"{whole}: is it a text?"
                seen |= {whole, name}
    assert TEXTS.keys() <= seen
    for module, kind in TEXTS.values():
        assert kind in KINDS
        assert re.search(r"\bread_text\(|\btext=True", (ROOT / module).read_text()), module


def said(read_it: Callable[..., object], *arguments: object) -> str:
    """Return why a file is refused that is whole as a text, and nothing else."""
    with pytest.raises((UsageError, ValueError)) as error:
        read_it(*arguments)
    return str(error.value)


@pytest.mark.parametrize("name", KINDS)
def test_a_mark_changes_nothing(tmp_path: Path, name: str):
    data, read_it = KINDS[name]
    pack = gzip.compress if name.endswith(".gz") else bytes
    path = tmp_path / name
    path.write_bytes(pack(data))
    plain = read_it(path)
    path.write_bytes(pack(codecs.BOM_UTF8 + data))
    assert read_it(path) == plain


def test_bytes_that_are_no_text_stay(tmp_path: Path):
    (tmp_path / "tensor").write_bytes(codecs.BOM_UTF8 + b"x")
    assert read(tmp_path / "tensor") == codecs.BOM_UTF8 + b"x"
