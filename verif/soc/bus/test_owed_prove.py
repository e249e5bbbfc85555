"""What memory owes to a master: never more than it has been asked for, proven by induction."""

import pytest
from amaranth import Module, Value

from hw.soc.bus.read_master import ReadMaster
from hw.soc.bus.write_master import WriteMaster
from verif.soc.bus.invariant import always
from verif.soc.bus.test_masters_prove import SPECS, all_of, read_claim, write_claim


@pytest.mark.prove
def test_reads_are_owed_until_they_come() -> None:
    """Whether they are late or not, the rules are kept."""
    dut = ReadMaster(SPECS[0])

    def claim(m: Module) -> tuple[Value, Value]:
        rules, legal = read_claim(m, dut)
        asked = dut.requests.pending.o_level != 0
        return all_of(rules, dut.o_owed == (asked & ~dut.axi.rvalid)), legal

    assert always(dut, claim, cycles=4)


@pytest.mark.prove
@pytest.mark.parametrize("wrong", [False, True])
def test_writes_are_owed_when_all_data_is_there(wrong: bool) -> None:
    """Of a burst whose data is still to come memory owes nothing: it may wait for that."""
    dut = WriteMaster(SPECS[0])
    axi = dut.axi

    def claim(m: Module) -> tuple[Value, Value]:
        rules, legal = write_claim(m, dut)
        asked = dut.requests.pending.o_level != 0
        waits = axi.wvalid & ~axi.wready
        owed = asked & ~axi.bvalid & (waits | (~axi.wvalid & ~dut.begun))
        return all_of(rules, dut.o_owed == (waits if wrong else owed)), legal

    assert always(dut, claim, cycles=4) != wrong
