"""Ports that a bench reads or writes in every cycle: bits, without an object for each value.

cocotb makes an object of every value that is read, and checks for every one that is written in
which phase of the simulation it is. A stream of a bench spends a third of its time on that.
"""

from collections.abc import Callable
from functools import partial
from typing import Any

from cocotb import handle

__all__ = ["bits_of", "flag_of", "writer_of"]

_DEPOSIT: int = handle._GPISetAction.DEPOSIT.value
_BITS = {0: "0", 1: "1"}
_FLAGS = {"0": False, "1": True}
_NARROW = 32
"""Bits that the simulator takes as an integer."""


def bits_of(port: Any) -> Callable[[], str]:
    """Return a function that reads a port: its bits as a string, MSB first."""
    read: Callable[[], str] = port._handle.get_signal_val_binstr
    return read


def flag_of(port: Any) -> Callable[[], bool]:
    """Return a function that reads a port of one bit.

    It raises ValueError if that is neither 0 nor 1, as X of a simulator of four values.
    """
    read = bits_of(port)

    def flag() -> bool:
        bits = read()
        if bits not in _FLAGS:
            raise ValueError(f"{port._name} must be 0 or 1, not {bits}")
        return _FLAGS[bits]

    return flag


def writer_of(port: Any) -> Callable[[int], None]:
    """Return a function that writes an unsigned port, as ``port.value = ...`` does after an edge.

    It raises ValueError for a value that the port cannot have. It is cocotb's own where the
    simulator applies writes at another time than cocotb expects.
    """
    if not handle._trust_inertial or port.is_const:
        return partial(setattr, port, "value")
    simulated, width = port._handle, len(port)
    put = simulated.set_signal_val_binstr
    if width == 1:

        def write(value: int) -> None:
            if value not in _BITS:
                raise ValueError(f"value of a port of 1 bit must be 0 or 1, not {value}")
            put(_DEPOSIT, _BITS[value])

    elif port.is_signed:
        return partial(setattr, port, "value")
    elif width <= _NARROW:
        put = simulated.set_signal_val_int

        def write(value: int) -> None:
            if value >> width:
                raise ValueError(f"value must be 0..2^{width} - 1, not {value}")
            put(_DEPOSIT, value)

    else:

        def write(value: int) -> None:
            if value >> width:
                raise ValueError(f"value must be 0..2^{width} - 1, not {value}")
            put(_DEPOSIT, f"{value:0{width}b}")

    return write
