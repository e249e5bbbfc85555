"""Drivers as a pack has them: tables of formats, and the first lines to type, which run."""

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

import numpy as np
import pytest

from carrysave.driver import Mode, Number
from carrysave.driver_modes import modes
from carrysave.ip import drivers
from carrysave.ip.facts import Facts
from carrysave.ip.templates import fill
from carrysave.sim.cocotb.device_memory import Pool
from golden.soc.coprocessor import CoprocessorSpec
from golden.soc.coprocessor_stream import CoprocessorStreamSpec
from hw.catalog import Design
from verif.soc.driver import c_driver
from verif.soc.driver.software_device import SoftwareDevice
from verif.soc.driver.software_stream import Channel, SoftwareStream

ALONE = """
import sys
sys.path.insert(0, sys.argv[1])
from carrysave_modes import MODES
assert not {"carrysave", "golden", "hw", "amaranth"} & {n.partition(".")[0] for n in sys.modules}
print(MODES)
"""


def made(name: str, folder: Path, **parameters: str) -> tuple[CoprocessorSpec, dict[str, str]]:
    """Write the drivers of a pack; returns also its first lines to type, by language."""
    chosen = {"engine": "npe", "m": "2", "n": "2", "data_width": "64", **parameters}
    # Of the block, drivers need its design alone, not its Verilog.
    block = Facts(SimpleNamespace(design=Design.parse(name, chosen)))  # type: ignore[arg-type]
    names = drivers.write(block, folder)
    assert set(names) == {str(p.relative_to(folder)) for p in folder.rglob("*") if p.is_file()}
    for path in ("drivers/python/carrysave_modes.py", "drivers/c/carrysave_modes.h"):
        assert (path in names) == bool(modes(block.spec))
    text = fill("README_drivers.md", **drivers.facts(block))
    lines = {
        kind: text.partition(f"```{mark}\n")[2].partition("```")[0]
        for kind, mark in (("python", "python"), ("c", "c"))
    }
    rest = text.partition("```python\n")[2].partition("```")[2]
    lines["more"] = rest.partition("```python\n")[2].partition("```")[0]
    return block.spec, lines


def alone(folder: Path) -> dict[tuple[str, str], Mode]:
    """Read the module in a process that knows no generators."""
    command = [sys.executable, "-IB", "-c", ALONE, str(folder / "drivers" / "python")]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    found = eval(done.stdout, {"Mode": Mode, "Number": Number})
    assert isinstance(found, dict)
    return found


@pytest.fixture
def board(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """Where a pack's lines are typed; what they import is forgotten."""
    before = set(sys.modules)
    monkeypatch.setattr(sys, "path", [*sys.path])
    monkeypatch.setattr(sys, "dont_write_bytecode", True)
    monkeypatch.chdir(tmp_path)
    sys.path_importer_cache.pop("drivers/python", None)  # by its path from another folder
    yield tmp_path
    for name in set(sys.modules) - before:
        if name.startswith("carrysave_"):
            del sys.modules[name]


def compile_lines(lines: str, folder: Path) -> None:
    """Compile the first lines of C beside the drivers of a pack."""
    c_driver.write_driver(folder)
    head, _, body = lines.partition("\n\n")
    (folder / "main.c").write_text(f"{head}\nint main(void) {{\n{body}return 0; }}\n")
    command = [
        "cc",
        "-std=c99",
        "-Wall",
        "-Wextra",
        "-Wpedantic",
        "-Wconversion",
        "-Werror",
        "-Idrivers/c",
        "-I.",
        "main.c",
        *map(str, Path("drivers/c").glob("*.c")),
        "-o",
        "main",
    ]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


def fake_pynq(spec: CoprocessorSpec, monkeypatch: pytest.MonkeyPatch) -> None:
    """Let lines for PYNQ find the block in software."""
    memory = np.zeros(1 << 22, np.uint8)
    pynq: Any = ModuleType("pynq")
    pynq.allocate = Pool(memory, np.random.default_rng(1))
    if isinstance(spec, CoprocessorStreamSpec):
        device: SoftwareDevice = SoftwareStream(spec)
        a, b, c = (Channel(device, memory, side) for side in "abc")  # type: ignore[arg-type]
        dmas = SimpleNamespace(sendchannel=a, recvchannel=c), SimpleNamespace(sendchannel=b)
        pynq.Overlay = lambda name: SimpleNamespace(dma_a=dmas[0], dma_b=dmas[1])
    else:
        device = SoftwareDevice(spec, memory)
    pynq.MMIO = lambda address, size: device
    monkeypatch.setitem(sys.modules, "pynq", pynq)


SCALED = {"result": "fp32", "bias": "false", "requantise": "false"}


@pytest.mark.sample(1)
@pytest.mark.parametrize("name", ["coprocessor", "coprocessor_stream"])
@pytest.mark.parametrize(
    ("parameters", "value"),
    [
        # 2^-9 is the value of E4M3's code 1, 1/2 of E2M1's; it is the last of the formats.
        ({"formats": "int8,int4,e4m3", "requantise": "false"}, 2.0**-18),
        ({"formats": "int4", "lane": "sl16", "requantise": "false"}, 1.0),
        ({"formats": "int8,e2m1", "scale": "e8m0"} | SCALED, 0.25),
        ({"formats": "e2m1", "scale": "e4m3", "block": "16"} | SCALED, 0.25),
    ],
)
def test_pack_has_modes(
    board: Path,
    monkeypatch: pytest.MonkeyPatch,
    name: str,
    parameters: dict[str, str],
    value: float,
) -> None:
    """The same as the generators know; the README's lines run on the block in software."""
    spec, lines = made(name, board, **parameters)
    assert alone(board) == modes(spec)
    assert len(modes(spec)) == len(parameters["formats"].split(",")) ** 2
    fake_pynq(spec, monkeypatch)
    values: dict[str, Any] = {}
    exec(lines["python"], values)
    assert np.array_equal(values["c"], np.full((100, 300), 200 * value))
    exec(lines["more"], values | {"c": None})
    compile_lines(lines["c"], board)


@pytest.mark.parametrize("name", ["coprocessor", "coprocessor_stream"])
def test_pack_of_integers_has_lines_that_run(
    board: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    spec, lines = made(name, board, engine="systolic_os")
    fake_pynq(spec, monkeypatch)
    values: dict[str, Any] = {}
    exec(lines["python"], values)
    assert np.array_equal(values["c"], np.full((100, 300), 200))
    compile_lines(lines["c"], board)
