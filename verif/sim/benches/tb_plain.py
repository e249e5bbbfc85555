"""Bench that tells what of pytest a simulation has loaded."""

import sys
from typing import Any

import cocotb
import pytest
from cocotb.triggers import Timer

from carrysave.sim.parameters import bench_parameters


@cocotb.test
async def test_is_plain(dut: Any) -> None:
    await Timer(1, "ns")
    assert "_pytest.config" not in sys.modules


@cocotb.test
async def test_skips(dut: Any) -> None:
    await Timer(1, "ns")
    pytest.skip("as cocotb knows it")


@cocotb.test
async def test_values(dut: Any) -> None:
    await Timer(1, "ns")
    dut.i.value = 1
    await Timer(1, "ns")
    assert int(dut.o.value) == bench_parameters()["wanted"]


@cocotb.test
async def test_whole(dut: Any) -> None:
    """What a bench takes of pytest is there."""
    await Timer(1, "ns")
    with pytest.raises(ValueError, match="wanted"):
        raise ValueError("wanted")
    assert pytest.approx(1.0) == 1.0
    assert "_pytest.config" in sys.modules
