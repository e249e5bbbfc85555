"""Texts that begin with a byte order mark, as some editors write them, are read as without it."""

import codecs
import gzip
import json
from collections.abc import Callable
from pathlib import Path

import pytest

from carrysave.asic.liberty.cells import Library
from carrysave.asic.placement.lef import read_lef
from carrysave.cli.options import read_settings
from carrysave.exploration.front import point_of
from carrysave.exploration.space import Space
from hw.emit.sources import Sources
from hw.emit.user_files import read, read_text
from verif.asic.placement.test_lef import CELLS, TECHNOLOGY
from verif.asic.test_fuzz_liberty import SMALL

MODULE = b"module top(input a, output y); assign y = a; endmodule\n"
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
    "prompt.txt": ("gr\u00fc\u00df dich\n".encode(), read_text),
}  # what each reader returns is compared


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
