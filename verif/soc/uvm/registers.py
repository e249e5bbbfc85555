"""Register model: made from the SystemRDL source of the build, kept right by the monitor."""

import importlib.util
import json
import random
from collections.abc import Mapping
from pathlib import Path
from types import MappingProxyType
from typing import Any

from peakrdl_pyuvm.exporter import PyUVMExporter  # type: ignore[import-untyped]
from pyuvm import (
    uvm_access_e,
    uvm_predict_e,
    uvm_reg,
    uvm_reg_adapter,
    uvm_reg_bus_op,
    uvm_status_e,
    uvm_subscriber,
)

from carrysave.driver.registers import FIELDS
from golden.soc.coprocessor import CoprocessorSpec
from hw.catalog import Design
from hw.soc.registers.argument_widths import argument_widths
from verif.soc.uvm.axi_lite import Access

__all__ = [
    "RegisterAdapter",
    "RegisterPredictor",
    "kept",
    "load",
    "model",
    "narrow_fields",
    "registers_of",
    "reset",
]


def load(key: str, folder: Path) -> type:
    """Make the class of the register model of a design.

    Parameters
    ----------
    key : canonical JSON of the design, see :class:`hw.catalog.Design`.
    folder : where its source is written.
    """
    parameters = json.loads(key)
    design = Design(parameters.pop("design"), parameters)
    top = design.component().registers.map
    path = folder / "register_model.py"
    PyUVMExporter().export(top, str(path), reuse_class_definitions=False)
    spec = importlib.util.spec_from_file_location(path.stem, path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return getattr(module, top.inst_name)


def model(made: type) -> Any:
    """Build a register model, with reset values."""
    block = made("registers")
    block.build()
    block.lock_model()
    reset(block)
    return block


def reset(block: Any) -> None:
    """Give all registers of a model their reset values."""
    for register in block.get_registers():
        # Not its own `reset`, for which a field of that name stands.
        uvm_reg.reset(register)


def registers_of(block: Any) -> dict[int, Any]:
    """List all registers by address."""
    found = {register.get_address(): register for register in block.get_registers()}
    return dict(sorted(found.items()))


def narrow_fields(spec: CoprocessorSpec) -> dict[int, list[tuple[int, int, int]]]:
    """List fields of which a build keeps less, as :attr:`RegisterPredictor.narrow` has them."""
    found: dict[int, list[tuple[int, int, int]]] = {}
    for name, kept in argument_widths(spec).items():
        address, low, width = FIELDS[name]
        if kept < width:
            found.setdefault(address, []).append((low, width, kept))
    return found


def kept(spec: CoprocessorSpec, name: str, value: int) -> int:
    """Return what a build keeps of an argument of 64 bits, which is written as a whole."""
    widths, found = argument_widths(spec), 0
    for low, half in ((0, "lo"), (32, "hi")):
        part = value >> low & 0xFFFF_FFFF
        width = widths.get(f"{name}_{half}", 32)
        if width < 32:
            above = (1 << width) >> 1
            part = part % above | above * (part >= above) if above else 0
        found |= part << low
    return found


class RegisterAdapter(uvm_reg_adapter):
    """Makes accesses of the bus of those of the model.

    Members
    -------
    choice : draws how late channels are; None: never.
    """

    choice: random.Random | None = None

    def reg2bus(self, rw: uvm_reg_bus_op) -> Access:
        """Make an access, some channels of which are late now and then."""
        writes = rw.kind == uvm_access_e.UVM_WRITE
        waits = {}
        if self.choice is not None and self.choice.random() < 0.1:
            channels = ("aw", "w", "b") if writes else ("ar", "r")
            waits = {channel: self.choice.randrange(5) for channel in channels}
        return Access(rw.addr, rw.data if writes else None, **waits)

    def bus2reg(self, bus_item: Access, rw: uvm_reg_bus_op) -> None:
        """Tell how it ended."""
        rw.data = bus_item.data
        rw.status = uvm_status_e.UVM_NOT_OK if bus_item.response else uvm_status_e.UVM_IS_OK


class RegisterPredictor(uvm_subscriber):
    """Keeps the model as the monitor sees accesses.

    Members
    -------
    block : the model; None until there is one.
    locked : arguments of jobs cannot be written now.
    narrow : by address, fields of which a build keeps less: lowest bit, width, bits that are kept.
    """

    block: Any = None
    locked = False
    narrow: Mapping[int, list[tuple[int, int, int]]] = MappingProxyType({})

    def write(self, item: Access) -> None:
        """Take in an access that has ended well."""
        if self.block is None or item.response:
            return
        register = self.block.get_default_map().get_reg_by_offset(item.address & ~3)
        if item.write and self.locked and 0x10 <= item.address < 0xA0:
            return
        if not item.write:
            register.predict(item.data, kind=uvm_predict_e.UVM_PREDICT_READ)
            return
        mask = sum(0xFF << 8 * byte for byte in range(4) if item.strobe >> byte & 1)
        value = item.data & mask
        if all(field.get_access() == "RW" for field in register.get_fields()):
            before = register.get_mirrored_value()
            value |= before & ~mask
            for field in self.narrow.get(item.address & ~3, ()):
                value = _kept(value, before, item, mask, field)
        register.predict(value, kind=uvm_predict_e.UVM_PREDICT_WRITE)


def _kept(value: int, before: int, item: Access, mask: int, field: tuple[int, int, int]) -> int:
    """Drop what a build does not keep of a field: its highest bit is the or of those above too."""
    low, width, kept = field
    if not kept:
        return value & ~(((1 << width) - 1) << low)
    top = low + kept - 1
    above = ((1 << width - kept + 1) - 1) << top
    stays = item.strobe != 0b1111 and before >> top & 1
    return value & ~above | bool(item.data & mask & above or stays) << top
