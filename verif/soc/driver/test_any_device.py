"""The C driver on devices of any registers: what no device is is refused, as Python's refuses it.

All of it under the compiler's address and undefined-behaviour sanitisers, which end the program.
"""

import subprocess
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from carrysave.driver import CoprocessorError, Info
from hw.catalog import Design
from hw.soc.coprocessor import discovery
from hw.soc.registers.rdl import MapField, fields_of, register_map
from verif.soc.driver import c_driver
from verif.support.cases import long

_CONFIG = """
#include <stdint.h>
uint32_t any_read(uint32_t offset);
#define CARRYSAVE_READ(device, offset) any_read(offset)
#define CARRYSAVE_WRITE(device, offset, value) ((void)(offset), (void)(value))
#define CARRYSAVE_RESET_POLLS 9u
"""
OK, NO_DEVICE, OTHER_ABI, LOST, BAD_DEVICE = 0, 1, 2, 6, 18
BUILDS: dict[str, dict[str, Any]] = {
    "integers": {"engine": "systolic_os(m=2,n=2)"},
    "lanes": {"engine": "npe(m=1,n=2)"},
    "vector": {"vector": "vector_unit", "scratch": 8192},
    "trits": {"engine": "ternary_core(m=1,n=2,k=5)", "trits": True},
    "table": {"engine": "cube(m=1,n=2,k=2)", "codebook": "job16"},
    "mirrored": {"engine": "cube(m=1,n=2,k=2)", "codebook": "mirror16"},
    "masks": {"engine": "cube(m=1,n=2,k=12,sparsity=2:4)"},
}
STRICTER = {
    "a_bytes",
    "b_bytes",
    "sums",
    "dimension_width",
    "numbers_c_width",
    "a_bits",
    "b_bits",
    "tile_m",
    "tile_n",
    "tile_k",
    "features_scratch",
    "features_trits",
    "features_codebook",
}
"""What C refuses and Python may take: its numbers have 32 bits, and it plans with them."""

Device = Mapping[str, int]


@pytest.fixture(scope="module")
def program(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("any")
    c_driver.write_driver(folder)
    (folder / "config.h").write_text(_CONFIG)
    command = [
        "cc",
        "-std=c99",
        "-O1",
        "-g",
        "-Wall",
        "-Wextra",
        "-Werror",
        "-fsanitize=address,undefined",
        "-fno-sanitize-recover=all",
        '-DCARRYSAVE_CONFIG="config.h"',
        f"-I{folder}",
        *map(str, c_driver.sources(folder)),
        str(Path(__file__).with_name("any_device.c")),
        "-o",
        str(folder / "any"),
    ]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return folder / "any"


class Registers:
    """Registers of a build: what fields are in them, and which values they have."""

    def __init__(self, parameters: Mapping[str, Any]):
        design = Design("coprocessor", dict(parameters))
        top = register_map(dict(discovery(design.spec, design.component().latency, 0)))
        self.fields: dict[str, MapField] = {field.name: field for field in fields_of(top)}
        self.right = {name: field.reset for name, field in self.fields.items()}

    def words(self, values: Device) -> dict[int, int]:
        """Return registers by their addresses; a field has the bits that it has."""
        found: dict[int, int] = {}
        for name, field in self.fields.items():
            address = field.register.absolute_address
            part = values[name] & (1 << field.node.width) - 1
            found[address] = found.get(address, 0) | part << field.node.low
        return found

    def line(self, values: Device) -> str:
        """Return a line of the program's input: what differs from the build."""
        right = self.words(self.right)
        words = {
            a: w for a, w in self.words(values).items() if values is self.right or w != right[a]
        }
        return " ".join(map(str, [len(words), *(x for pair in words.items() for x in pair)]))

    def python(self, values: Device) -> bool:
        """Return whether the Python driver opens it."""
        own = {name: values[name] & (1 << f.node.width) - 1 for name, f in self.fields.items()}
        try:
            Info.read(lambda name: own.get(name, 0))
        except CoprocessorError:
            return False
        return True


def run(program: Path, registers: Registers, devices: Sequence[Device]) -> list[int]:
    lines = [registers.line(registers.right), *map(registers.line, devices)]
    done = subprocess.run(
        [program], input="\n".join(lines), capture_output=True, text=True, check=False, timeout=300
    )
    found = [int(line) for line in done.stdout.split()]
    assert done.returncode == 0, (done.stderr[:2000], devices[len(found) - 1] if found else None)
    assert found[0] == OK
    return found[1:]


def constants(registers: Registers) -> list[str]:
    """Return the fields that say what a device is."""
    return [name for name, field in registers.fields.items() if field.kind == "constant"]


def changed(registers: Registers) -> Iterator[tuple[str, Device]]:
    """Yield devices of which one field has another value."""
    for name in constants(registers):
        right = registers.right[name]
        for value in (0, 1, 3, 31, 32, 64, 65, 127, right ^ 1, right << 1, 0x7FFFFFFF, 0xFFFFFFFF):
            yield name, {**registers.right, name: value}


@pytest.mark.sample(1)
@pytest.mark.parametrize("build", BUILDS)
def test_what_python_refuses_c_refuses(program: Path, build: str) -> None:
    registers = Registers(BUILDS[build])
    names, devices = zip(*changed(registers), strict=True)
    refused: set[str] = set()
    for name, device, status in zip(
        names, devices, run(program, registers, list(devices)), strict=True
    ):
        right = registers.words(device) == registers.words(registers.right)
        if registers.python(device):
            assert status in {OK, LOST} or name in STRICTER, (name, device[name], status)
        else:
            expected = {"magic": NO_DEVICE, "abi": OTHER_ABI}.get(name, BAD_DEVICE)
            assert status == expected, (name, device[name], status)
            refused.add(name)
        assert status == OK or not right
    assert refused >= {"magic", "abi", "tile_m", "tile_n", "tile_k", "a_bits", "b_bits", "c_bits",
                       "sum_bytes", "data_width", "address_width", "dimension_width", "k_max",
                       "sums", "a_bytes", "b_bytes", "outstanding", "numbers_a_width",
                       "numbers_b_width", "numbers_c_width"}  # fmt: skip


@pytest.mark.sample(1)
@pytest.mark.parametrize("count", [2000, *long([40_000])])
@pytest.mark.parametrize("build", BUILDS)
def test_nothing_undefined_whatever_registers_say(program: Path, build: str, count: int) -> None:
    registers, rng = Registers(BUILDS[build]), np.random.default_rng(53)
    names: list[str] = [name for name in constants(registers) if name not in {"magic", "abi"}]
    devices: list[Device] = []
    for _ in range(count):
        device = dict(registers.right)
        for place in rng.choice(len(names), int(rng.integers(1, 5)), replace=False):
            name = names[place]
            near = max(0, device[name] + int(rng.integers(-3, 4)))
            drawn = near, int(rng.integers(1 << 32)), 1 << int(rng.integers(32))
            device[name] = drawn[int(rng.integers(3))]
        devices.append(device)
    found = run(program, registers, devices)
    assert found.count(OK) > count // 50
    assert found.count(BAD_DEVICE) > count // 4
