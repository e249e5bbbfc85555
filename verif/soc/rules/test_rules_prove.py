"""Every manager and subordinate keeps the rules of its bus, proven from reset on, for ever.

Mutants of them do not: each breaks the rule that it should, which is found. Not every rule has one;
traces of test_rules.py break each.
"""

from collections.abc import Collection
from dataclasses import replace
from importlib.util import module_from_spec, spec_from_loader
from pathlib import Path
from types import ModuleType

import pytest

from carrysave.sim.rules.axi4 import Axi4ReadRules, Axi4WriteRules
from carrysave.sim.rules.others import AxiLiteRules, AxiStreamRules
from carrysave.sim.rules.rules import Rules
from golden.soc.bus import BusSpec
from golden.soc.spec import CoprocessorStreamSpec
from golden.tpe.systolic_os import SystolicOsSpec
from hw.soc.bus import address_channel, axi_lite, burst, read_master, write_master
from hw.soc.path import stream_ports
from verif.soc.bus.invariant import say_their_levels
from verif.soc.rules.watching import keeps, widths
from verif.support.cases import long

SMALL = BusSpec(data_width=32, address_width=16, burst=2, outstanding=2)
SPECS = [
    SMALL,
    *long([
        BusSpec(data_width=64, address_width=20, burst=1, outstanding=1),
        BusSpec(data_width=128, address_width=16, burst=1, outstanding=2),
        BusSpec(data_width=32, address_width=16, burst=4, outstanding=1),
    ]),
]
LARGE = [
    BusSpec(),
    BusSpec(data_width=512, address_width=16, burst=64, outstanding=1),
    BusSpec(data_width=64, address_width=33, burst=1, outstanding=1),
    BusSpec(data_width=512, address_width=40, burst=256, outstanding=3),
    BusSpec(data_width=128, address_width=64, burst=7, outstanding=16),
]
COUNTS = ("ar_many", "aw_many", "w_lanes")
"""Each is proven by itself."""
LISTS = ("w_last", "w_many")
"""In large sizes, these are test_masters_prove.py's, by induction: they count beats of bursts."""
STREAM = CoprocessorStreamSpec(
    engine=SystolicOsSpec(m=2, n=2, k_max=300), data_width=32, sums=16, a_bytes=64, b_bytes=64
)


def master_keeps(
    module: ModuleType, spec: BusSpec, *names: str, given: Collection[str] | None = None
) -> bool:
    """Decide whether a bus master keeps the rules."""
    reads = module.__name__.endswith("read_master")
    dut = module.ReadMaster(spec) if reads else module.WriteMaster(spec)
    rules = Axi4ReadRules if reads else Axi4WriteRules
    watch = rules(
        widths(dut.axi.signature), burst=spec.burst, outstanding=spec.outstanding, armed=True
    )
    queues = [dut.requests.rows, dut.requests.pending, *([] if reads else [dut.lengths, dut.soon])]
    lemmas = say_their_levels(*queues)
    return keeps(dut, dut.axi, watch, "manager", *names, given=given, lemmas=lemmas)


def lite_keeps(module: ModuleType, *names: str, address_width: int = 4) -> bool:
    """Decide whether the registers' end of AXI4-Lite keeps the rules."""
    dut = module.AxiLiteSlave(address_width)
    rules = AxiLiteRules(widths(dut.s_axi.signature), armed=True)
    return keeps(dut, dut.s_axi, rules, "subordinate", *names)


def stream_keeps(module: ModuleType, *names: str, spec: CoprocessorStreamSpec = STREAM) -> bool:
    """Decide whether the stream of C keeps the rules."""
    dut = module.StreamWriter(spec)
    rules = AxiStreamRules(widths(dut.c.signature), armed=True)
    return keeps(dut, dut.c, rules, "manager", *names)


@pytest.mark.parametrize("spec", SPECS, ids=lambda spec: f"{spec.data_width}x{spec.burst}")
def test_read_master_keeps_the_rules(spec: BusSpec) -> None:
    assert master_keeps(read_master, spec)


@pytest.mark.parametrize("spec", SPECS, ids=lambda spec: f"{spec.data_width}x{spec.burst}")
def test_write_master_keeps_the_rules(spec: BusSpec) -> None:
    assert master_keeps(write_master, spec)


@pytest.mark.prove
@pytest.mark.parametrize("spec", LARGE, ids=lambda spec: f"{spec.data_width}x{spec.burst}")
@pytest.mark.parametrize(
    ("module", "rules", "given"),
    [(read_master, Axi4ReadRules, "r_asked"), (write_master, Axi4WriteRules, "b_after")],
    ids=["read", "write"],
)
def test_large_master_keeps_the_rules(
    module: ModuleType, rules: type[Rules], given: str, spec: BusSpec
) -> None:
    """All rules but `LISTS`, though the other side keeps none but one: answers are asked for."""
    own = {rule.name for rule in rules.RULES if rule.by == "manager"} - {*LISTS}
    for names in (own - {*COUNTS}, *({name} for name in own.intersection(COUNTS))):
        assert master_keeps(module, spec, *names, given=[given]), names


@pytest.mark.parametrize("address_width", [4, 32])
def test_register_file_keeps_the_rules(address_width: int) -> None:
    assert lite_keeps(axi_lite, address_width=address_width)


@pytest.mark.sample(1)
@pytest.mark.parametrize("data_width", [32, 128, 512])
def test_stream_keeps_the_rules(data_width: int) -> None:
    spec = replace(STREAM, data_width=data_width, sums=64, a_bytes=1024, b_bytes=1024)
    assert stream_keeps(stream_ports, spec=spec)


MUTANTS = [
    # Read: the module, what is changed to what, the rule that this breaks.
    (read_master, "requests.o.valid)", "requests.o.valid & self.o.ready)", "ar_stays"),
    (read_master, "burst.address)", "burst.address + (axi.rvalid << 6))", "ar_same"),
    (read_master, "requests.o.valid)", "requests.o.valid | requests.o_idle)", "ar_reset"),
    (read_master, "exact_log2(self.spec.bytes)", "3", "ar_size"),
    (read_master, "arburst.eq(0b01)", "arburst.eq(0b11)", "ar_type"),
    (read_master, "arcache.eq(0b0011)", "arcache.eq(0b1100)", "ar_memory"),
    # Of the channel that both masters have.
    (address_channel, "with m.Elif(self.o.ready)", "with m.Else()", "ar_stays"),
    (address_channel, "    spec.outstanding,", "    spec.outstanding + 1,", "ar_many"),
    (burst, "room.eq(Mux(limited, most, ~offset))", "room.eq(most)", "ar_page"),
    (burst, "short & ~crosses", "short", "ar_page"),
    (burst, "// spec.bytes) - 1", "// spec.bytes)", "ar_burst"),
    # Write.
    (write_master, "begun & (~axi.wvalid | axi.wready)", "begun", "w_same"),
    (write_master, "with m.Elif(axi.wready)", "with m.Else()", "w_stays"),
    (write_master, "axi.wlast.eq(ends)", "axi.wlast.eq(0)", "w_last"),
    (write_master, "ends.eq(left == 1)", "ends.eq(left == 2)", "w_last"),
    (write_master, "burst.address)", "burst.address | 1)", "w_lanes"),
    (write_master, "lengths.i.valid.eq(self.length_valid)", "lengths.i.valid.eq(1)", "w_many"),
    # The registers' end of AXI4-Lite.
    (axi_lite, "with m.If(axi.bready)", "with m.If(1)", "b_stays"),
    (axi_lite, " & ~axi.bvalid & ~self", " & ~self", "b_same"),
    (axi_lite, "aw_full & w_full & ~axi.bvalid", "aw_full & ~axi.bvalid", "b_after"),
    (axi_lite, "_OKAY, _SLVERR = 0, 2", "_OKAY, _SLVERR = 0, 1", "b_okay"),
    (axi_lite, "~axi.rvalid & ~asked", "~asked", "r_same"),
    (axi_lite, "with m.If(asked)", "with m.If(~asked)", "r_asked"),
    # The stream of C.
    (stream_ports, "move.eq(~self.c.tvalid | self.c.tready)", "move.eq(1)", "t_stays"),
    (stream_ports, "with m.If(move):", "with m.If(move | self.i_stop):", "t_stays"),
]


def changed(module: ModuleType, old: str, new: str) -> ModuleType:
    """Load a module anew, with a change of its text."""
    assert module.__file__ is not None
    text = Path(module.__file__).read_text()
    assert old in text
    spec = spec_from_loader(module.__name__, None)
    assert spec is not None
    found = module_from_spec(spec)
    exec(compile(text.replace(old, new), module.__file__, "exec"), found.__dict__)
    return found


@pytest.mark.sample(2)
@pytest.mark.parametrize(
    ("module", "old", "new", "rule"),
    [*MUTANTS[::3], *long(MUTANTS[1::3]), *long(MUTANTS[2::3])],
    ids=lambda one: one if isinstance(one, str) else "",
)
def test_mutants_break_rules(
    module: ModuleType, old: str, new: str, rule: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    mutant = changed(module, old, new)
    if module is axi_lite:
        assert not lite_keeps(mutant, rule)
    elif module is stream_ports:
        assert not stream_keeps(mutant, rule)
    elif module is burst:
        monkeypatch.setattr(address_channel, "Splitter", mutant.Splitter)
        assert not master_keeps(read_master, SMALL, rule)
    elif module is address_channel:
        monkeypatch.setattr(read_master, "AddressChannel", mutant.AddressChannel)
        assert not master_keeps(read_master, SMALL, rule)
    else:
        assert not master_keeps(mutant, SMALL, rule)
