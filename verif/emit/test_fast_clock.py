"""A second clock of a design: its port, its constraints, and where there is no room for it."""

from collections.abc import Callable
from typing import Any

import pytest

import carrysave
from carrysave.compiler.target.target import Target
from carrysave.ip import has_pack
from carrysave.ip.facts import Facts
from golden.soc.spec import CoprocessorSpec
from hw.catalog import Design
from hw.emit.bus_interfaces import interfaces_of
from hw.emit.constraints import sdc
from hw.emit.flat_ports import check_one_clock, fast_clock
from hw.emit.instance import DesignInstance
from hw.emit.verilog import Emission

ENGINE = {"engine": "systolic_os(m=2,n=2)"}
FAST = Design("coprocessor", {**ENGINE, "array_clock": 2})


def test_one_clock_is_as_if_there_were_no_choice() -> None:
    one, plain = (Design("coprocessor", ENGINE | more) for more in ({"array_clock": 1}, {}))
    assert one.digest == plain.digest != FAST.digest
    assert one.module == plain.module
    assert fast_clock(plain.component()) is None
    assert fast_clock(Design("systolic_os").component()) is None
    check_one_clock(plain, "anywhere")


def test_a_second_clock_is_a_port_with_half_of_the_period() -> None:
    emission = Emission(FAST)
    ports = {port["name"]: port["direction"] for port in emission.ports}
    assert list(ports)[:2] == ["aclk", "aclk_fast"]
    assert ports["aclk_fast"] == "input"
    assert fast_clock(Design("coprocessor_uart", FAST.changed).component()) == "clk_fast"
    text = sdc(emission.ports, "aclk", period_ns=10)
    assert "create_clock -name aclk_fast -period [expr {$period / 2}] [get_ports aclk_fast]" in text
    assert text.count("aclk_fast") == 2
    clocks = [one.name for one in interfaces_of(emission.component) if one.kind == "clock"]
    assert clocks == ["aclk", "aclk_fast"]
    assert emission.component.operations_per_cycle == 2 * 8


def test_registers_and_banks_say_so() -> None:
    """The driver's peak is twice the tile's; banks of operands have two clocks, others one."""
    infos = [Target(Design("coprocessor", one)).info for one in (ENGINE, FAST.changed)]
    assert [one.peak for one in infos] == [4, 8]
    assert ["fast_array" in one.features for one in infos] == [False, True]
    assert [one.stores.array_clock for one in infos] == [1, 2]
    component: Any = FAST.component()
    banks = {one.module: one.domains for one in component.shared_modules}
    assert banks["a_bank"] == banks["b_bank"] == ("sync", "fast")
    assert banks["sums_bank"] == ("sync",)


@pytest.mark.parametrize("value", [0, 3])
def test_no_other_ratio(value: int) -> None:
    with pytest.raises(ValueError, match=f"array_clock must be 1..2, not {value}"):
        CoprocessorSpec(array_clock=value)


WHERE: dict[str, Callable[[], object]] = {
    "in a system": lambda: Facts(Emission(FAST)),
    "as an instance of an Amaranth design": lambda: DesignInstance(FAST),
    "in what is synthesised by itself": lambda: carrysave.Design(
        "coprocessor", FAST.changed
    ).synthesise("ecp5"),
}


@pytest.mark.parametrize("where", WHERE)
def test_where_there_is_one_clock(where: str) -> None:
    text = f"array_clock must be 1 {where}, where there is one clock, not 2"
    with pytest.raises(ValueError, match=text):
        WHERE[where]()
    assert not has_pack(FAST)
