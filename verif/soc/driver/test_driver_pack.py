"""The Python driver as it is copied to a board, and what it runs on there."""

import ast
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from carrysave.driver import registers
from carrysave.driver.linux import DmaMemory, MappedRegisters, UioInterrupt
from carrysave.ip import driver_sources as driver
from golden.soc.blocking import Stores, plan
from hw.soc.registers.rdl import EVERY, fields_of, parameters_of, register_map

PROGRAM = """
import sys
sys.path.insert(0, sys.argv[1])
import board_driver as driver
foreign = {"carrysave", "golden", "hw", "amaranth", "systemrdl"} & {
    name.partition(".")[0] for name in sys.modules
}
assert not foreign, foreign
from board_driver import blocking, linux, registers
import numpy as np

class Device:
    def __init__(self):
        self.log = []
    def read(self, offset):
        reset = {low: int(sys.argv[2], 0) for name, (at, low, _) in registers.FIELDS.items()
                 if name == "magic" and at == offset}
        return reset.get(0, 0)

try:
    driver.Coprocessor(Device(), None)
except driver.CoprocessorError as error:
    print(error)
stores = blocking.Stores(tile_m=4, tile_n=4, tile_k=1, a_bits=8, b_bits=8, data_width=64,
                         outstanding=16, sums=256, a_bytes=512, b_bytes=512)
print(blocking.plan(stores, 10, 20, 30, 4))
job = driver.Job(a=1, b=2, c=3, m=4, n=5, k=6, lda=7, ldb=8, ldc=9)
print(driver.descriptor(job).hex())
"""


@pytest.fixture(scope="module")
def package(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("board") / "board_driver"
    paths = driver.python(folder)
    assert sorted(folder.iterdir()) == sorted(paths)
    return folder


def test_driver_package_needs_numpy_alone(package: Path) -> None:
    command = [sys.executable, "-I", "-c", PROGRAM, str(package.parent), hex(registers.MAGIC)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    error, blocks, image = done.stdout.splitlines()
    assert error == "ABI must be 1, as this driver's, not 0"
    stores = Stores(
        tile_m=4,
        tile_n=4,
        tile_k=1,
        a_bits=8,
        b_bits=8,
        data_width=64,
        outstanding=16,
        sums=256,
        a_bytes=512,
        b_bytes=512,
    )
    assert blocks == repr(plan(stores, 10, 20, 30, 4))
    words = np.frombuffer(bytes.fromhex(image), "<u4")
    assert words[[0, 2, 4, 14, 15, 16, 17, 18, 19]].tolist() == list(range(1, 10))


def test_driver_package_is_of_python_3_10_and_its_library(package: Path) -> None:
    for path in package.glob("*.py"):
        tree = ast.parse(path.read_text(), feature_version=(3, 10))
        for node in ast.walk(tree):
            names: list[str] = []
            if isinstance(node, ast.Import):
                names = [alias.name for alias in node.names]
            elif isinstance(node, ast.ImportFrom) and not node.level:
                names = [node.module or ""]
            for name in names:
                top = name.partition(".")[0]
                assert top == "numpy" or top in sys.stdlib_module_names, f"{path.name}: {name}"


def test_driver_package_has_the_registers_of_the_source(package: Path) -> None:
    values: dict[str, Any] = {}
    exec((package / "registers.py").read_text(), values)
    assert all(values[name] == getattr(registers, name) for name in registers.__all__)
    assert set(values["__all__"]) == set(registers.__all__)
    fields = {
        field.name: (field.register.absolute_address, field.node.low, field.node.width)
        for field in fields_of(register_map(dict.fromkeys(parameters_of(), 0) | dict(EVERY)))
    }
    assert values["FIELDS"] == fields
    # By hand: what a host relies on.
    assert values["FIELDS"]["job_mode_order"] == (0x68, 13, 1)
    assert values["FIELDS"]["ctrl_reset"] == (0, 31, 1)
    assert values["ERRORS"][2][0] == "K too large"
    assert values["RESPONSES"] == {0: "OKAY", 1: "EXOKAY", 2: "SLVERR", 3: "DECERR"}
    assert (values["JOB"], values["JOB_BYTES"], values["ABI"]) == (0x10, 128, 1)
    assert values["MAGIC"].to_bytes(4, "big") == b"CSV1"


def test_driver_maps_registers(tmp_path: Path) -> None:
    device = tmp_path / "mem"
    device.write_bytes(bytes(3 * 4096))
    mapped = MappedRegisters(device, 0x1010, 0x200)
    mapped.write(0x1FC, 0xFEDCBA98)
    assert mapped.read(0x1FC) == 0xFEDCBA98
    assert device.read_bytes()[0x120C:0x1210] == bytes.fromhex("98badcfe")
    with pytest.raises(IndexError):
        mapped.read(0x200)


def test_driver_hands_out_dma_memory(tmp_path: Path) -> None:
    told = tmp_path / "class" / "udmabuf0"
    told.mkdir(parents=True)
    (told / "phys_addr").write_text("0x1f900000\n")
    (told / "size").write_text(f"{5 * 4096}\n")
    device = tmp_path / "udmabuf0"
    device.write_bytes(b"\xff" * 5 * 4096)
    memory = DmaMemory(devices=tmp_path, classes=tmp_path / "class")
    first = memory(shape=(3, 5), dtype=np.int32)
    second = memory((5000,))
    third = memory((4096,))
    assert [part.device_address for part in (first, second, third)] == [
        0x1F900000,
        0x1F901000,
        0x1F903000,
    ]
    assert not first.any()
    first[1, 2] = 0x01020304
    first.flush()
    first.invalidate()
    assert device.read_bytes()[28:32] == bytes.fromhex("04030201")
    assert device.read_bytes()[60:64] == b"\xff" * 4
    with pytest.raises(MemoryError, match="no 4097 bytes of 20480 in a row are free"):
        memory((4097,))
    second.freebuffer()
    second.freebuffer()
    assert memory((8192,)).device_address == 0x1F901000, "collected: nobody holds it"
    again = memory((4097,))
    assert again.device_address == 0x1F901000
    second.freebuffer()
    assert memory((4096,)).device_address == 0x1F904000


def test_driver_waits_for_a_device(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A pipe instead of a device: what enables the interrupt also raises it."""
    pipe = tmp_path / "uio0"
    os.mkfifo(pipe)
    interrupt = UioInterrupt(pipe)
    assert interrupt(5.0)
    assert interrupt(5.0)
    monkeypatch.setattr(os, "write", lambda handle, data: len(data))
    assert not interrupt(0.01)


def test_registers_are_those_of_the_map() -> None:
    for name, value in driver.constants()._asdict().items():
        assert getattr(registers, name) == value, "run scripts/upkeep/driver_registers.py"
