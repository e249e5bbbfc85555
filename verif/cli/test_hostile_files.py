"""Files made to harm, by every command that takes such: one line, exit code 2, at once."""

import gzip
import io
import os
import struct
import warnings
import zipfile
import zlib
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from verif.support.command import Run
from verif.support.fuzz import little_memory

GOOD = io.BytesIO()
np.save(GOOD, np.ones((4, 8), np.float32))
LIBERTY = (
    "library (x) {{ {units} cell (A) {{ area : {area}; pin (A) {{ direction : input;"
    " capacitance : {farads}; }} }} }}"
)
UNITS = 'time_unit : "{}"; capacitive_load_unit ({});'


@pytest.fixture(autouse=True)
def bounded(
    tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch
) -> Iterator[None]:
    # Facts of a file that was read by mistake must not be found again.
    monkeypatch.setenv("CARRYSAVE_CACHE", str(tmp_path_factory.mktemp("cache")))
    with little_memory():
        yield


def npy(shape: tuple[int, ...], kind: str = "<f4", data: bytes = b"") -> bytes:
    text = f"{{'descr': '{kind}', 'fortran_order': False, 'shape': {shape}}}\n".encode()
    return b"\x93NUMPY\1\0" + struct.pack("<H", len(text)) + text + data


def npz(*members: tuple[str, bytes]) -> bytes:
    stream = io.BytesIO()
    with warnings.catch_warnings(), zipfile.ZipFile(stream, "w", zipfile.ZIP_DEFLATED) as archive:
        warnings.simplefilter("ignore")  # of a name there twice
        for name, data in members:
            archive.writestr(name, data)
    return stream.getvalue()


def array(values: object, kind: str) -> bytes:
    stream = io.BytesIO()
    np.save(stream, np.array(values, kind))
    return stream.getvalue()


def safetensors(header: str, data: bytes = bytes(32)) -> bytes:
    return struct.pack("<Q", len(header.encode())) + header.encode() + data


def zeros(size: int) -> bytes:
    """So many zeros by gzip, made without holding them."""
    press, block = zlib.compressobj(wbits=31), bytes(1 << 22)
    return b"".join(press.compress(block) for _ in range(size >> 22)) + press.flush()


def tensor(name: str, shape: str = "[2,4]", kind: str = "F32") -> str:
    return f'{{"{name}":{{"dtype":"{kind}","shape":{shape},"data_offsets":[0,32]}}}}'


def library(time: str = "1ns", load: str = "1,pf", area: str = "1", farads: str = "1") -> bytes:
    return LIBERTY.format(units=UNITS.format(time, load), area=area, farads=farads).encode()


CODES = ("codes.npy", array(np.ones((4, 8)), "i1"))
FILES = {
    "shape12.npy": npy((10**12,)), "shape64.npy": npy((1 << 64,)), "wraps.npy": npy((1 << 32,) * 2),
    "zero.npy": npy((0, 1 << 70)), "negative.npy": npy((-2, -2), "<f4", bytes(16)),
    "object.npy": npy((4, 4), "|O", b"cos\nsystem\n(S'touch x'\ntR."), "text.npy": b"text",
    "strings.npy": npy((2, 2), "<U4", bytes(64)), "deep.npy": npy((1,))[:10] + b"-" * 9000,
    "inf.npy": array(np.full((4, 4), np.inf), "f4"), "nan.npy": array([[np.nan]], "f8"),
    "huge.npy": array(np.full((99, 4), 1.7e308), "f8"), "cut.npy": GOOD.getvalue()[:-1],
    "more.npy": GOOD.getvalue() + b"x", "empty.npy": b"", "empty.npz": b"",
    "other.npz": npz(("w.npy", GOOD.getvalue()), ("readme", b"text")),
    "twice.npz": npz(("w.npy", GOOD.getvalue()), ("w.npy", GOOD.getvalue())),
    "names.npz": npz(("\x1b[2J\n.npy", GOOD.getvalue()), ("../a.npy", GOOD.getvalue())),
    "cut.npz": npz(("w.npy", GOOD.getvalue()))[:-9], "pickle.npz": npz(("w.npy", b"\x80\4N.")),
    "many.npz": b"PK\1\2" * 20_000, "bomb.npz": npz(("w.npy", bytes(1 << 25))),
    "inf.npz": npz(CODES, ("scales.npy", array([[np.inf] * 4], "f4"))),
    "zeros.npz": npz(CODES, ("scales.npy", array([[1] * 4], "f4")),
                     ("zeros.npy", array([[1 << 62] * 4], "u8"))),
    "nan.npz": npz(("qweight.npy", array(np.ones((8, 8)), "i4")),
                   ("qzeros.npy", array([[1]], "i4")),
                   ("scales.npy", array([[np.nan] * 8], "f2"))),
    "big.safetensors": safetensors(tensor("a", "[1000000000000]")),
    "wraps.safetensors": safetensors(tensor("a", "[4611686018427387904,8]")),
    "long.safetensors": b"\xff" * 8, "deep.safetensors": safetensors("[" * 100_000),
    "cut.safetensors": safetensors(tensor("a"))[:-1], "empty.safetensors": b"",
    "none.safetensors": safetensors("{}", b""),
    "kind.safetensors": safetensors(tensor("a", kind="I64")),
    **{f"time{n}.lib": library(time=text) for n, text in enumerate(
        ("0ns", "-1ns", "1year", "1e400ns", "nans", "", f"{'9' * 400}ns"))},
    **{f"load{n}.lib": library(load=text) for n, text in enumerate(
        ("0,pf", "-1,pf", "1,zz", "1e400,pf", "nan,pf", "1", ""))},
    **{f"area{n}.lib": library(area=text) for n, text in enumerate(
        ("inf", "nan", "1e400", "-1", "x"))},
    **{f"farads{n}.lib": library(farads=text) for n, text in enumerate(("inf", "nan", "-1"))},
    "deep.lib": b"library (x) {" + b"a(){" * 50_000,
    "bytes.lib": bytes(range(256)) * 9, "cut.lib.gz": gzip.compress(library())[:-9],
    "bomb.lib.gz": zeros(1 << 26), "empty.lib": b"",
    "include.v": b'`include "/dev/zero"', "macro.v": b'`define F "/dev/zero"\n`include `F',
    "latin.toml": b'design = "\xe4"', "deep.toml": b"a = " + b"[" * 5000,
    "number.toml": b"a = " + b"9" * 5000, "escape.toml": b'"\\u001b[2J\\n" = 1',
    "long.toml": b"a." * 50_000 + b"a = 1", "kind.toml": b"design = 1",
    "deep.json": b"[" * 100_000, "list.json": b"[]", "null.json": b"null", "bytes.json": b"\xff",
    "path.json": b'{"image": "/dev/zero", "source": {}}',
}  # fmt: skip
"""By name of the file, what it holds."""

OPTIONS = {"inf.npz": ("--bits", "4"), "zeros.npz": ("--bits", "4", "--scheme", "asymmetric")}
SAYS = {
    "shape12.npy": "shape (1000000000000,) must be 4,000,000,000,000 bytes, not 0",
    "wraps.npy": "must be 73,786,976,294,838,206,464 bytes",
    "negative.npy": "shape (-2, -2)",
    "object.npy": "must be numbers, not object",
    "more.npy": "must be 128 bytes, not 129",
    "twice.npz": "member 'w.npy': must be there once, not twice",
    "other.npz": "member 'readme': must be an array",
    "huge.npy": "weights must be finite",
    "inf.npz": "scales must be finite",
    "zeros.npz": "zeros must be integers, -16000..16000",
    "many.npz": "at most 10000 members",
    "time0.lib": "time_unit must be 1e-06..1e+06, not '0'",
    "load2.lib": "capacitive_load_unit must be like 1nf, not '1,zz'",
    "deep.lib": "at most 32 deep",
    "area0.lib": "A at line 1 cannot be used: area must be 0..1e+30, not 'inf'",
    "farads2.lib": "capacitance of pin A must be",
    "macro.v": "line 2: `include must have a name in quotes",
    "latin.toml": "line 1: must be UTF-8",
    "deep.toml": "recursion",
    "nan.npz": "scales must be finite",
    "path.json": "'/dev/zero', which is not beside it",
}
"""What the first check that a file meets says of it."""

COMMANDS = {
    "npy": ("pack",),
    "npz": ("pack",),
    "safetensors": ("pack",),
    "json": ("pack", "--unpack"),
    "lib": ("synth", "mac", "--liberty"),
    "gz": ("synth", "mac", "--liberty"),
    "v": ("synth", "--top", "t", "--verilog"),
    "toml": ("generate", "--config"),
}


def refused(run: Run, name: str) -> str:
    """Return the one line that a command says of a file."""
    before = sorted(Path().rglob("*"))
    code, out, err = run(*COMMANDS[name.rpartition(".")[2]], name, *OPTIONS.get(name, ()))
    said = [line for line in err.splitlines() if not line.startswith("...")]  # but of progress
    assert (code, out, len(said)) == (2, "", 1), err
    assert said[0].startswith("carrysave: ")
    assert said[0].isprintable()
    assert sorted(Path().rglob("*")) == before
    return said[0]


@pytest.mark.sample(30)
@pytest.mark.parametrize("name", FILES)
def test_files_made_to_harm(run: Run, monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    if name.startswith("bomb"):
        monkeypatch.setenv("CARRYSAVE_MAX_SIZE", "1M")
    Path(name).write_bytes(FILES[name])
    assert SAYS.get(name, "carrysave: ") in refused(run, name)


@pytest.mark.sample(3)
@pytest.mark.parametrize("suffix", COMMANDS)
def test_what_is_no_file(run: Run, suffix: str) -> None:
    os.mkfifo(f"pipe.{suffix}")
    Path(f"zero.{suffix}").symlink_to("/dev/zero")
    Path(f"folder.{suffix}").mkdir()
    Path(f"loop.{suffix}").symlink_to(f"loop.{suffix}")
    with Path(f"endless.{suffix}").open("wb") as file:
        file.truncate(1 << 42)
    for name in ("pipe", "zero", "folder", "loop", "endless", "none"):
        line = refused(run, f"{name}.{suffix}")
        assert f"{name}.{suffix}" in line
    assert "CARRYSAVE_MAX_SIZE=" in refused(run, f"endless.{suffix}")
