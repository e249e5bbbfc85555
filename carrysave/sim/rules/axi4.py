"""Rules of AXI4, of its read channels and of its write channels."""

from typing import Any, ClassVar

from amaranth import Cat, Const, Module, Mux, Signal, Value
from amaranth.lib import data

from carrysave.sim.rules.rules import AXI, Rule, Rules, handshake

__all__ = ["Axi4ReadRules", "Axi4WriteRules"]

_INCR, _WRAP, _RESERVED = 1, 2, 3


def _address(channel: str) -> tuple[Rule, ...]:
    """Return the rules of an address channel."""
    structure = f"{AXI} A3.4.1"
    rules = {
        "size": (structure, "A beat is no wider than the bus."),
        "type": (structure, "The burst is FIXED, INCR or WRAP."),
        "page": (structure, "An INCR burst stays within 4 KiB."),
        "wrap": (structure, "A WRAP burst has 2, 4, 8 or 16 beats, and begins at a whole beat."),
        "short": (structure, "A FIXED burst has 16 beats at most."),
        "memory": (f"{AXI} A4.4", "CACHE allocates nowhere unless transactions are modifiable."),
        "burst": ("the port's MAX_BURST_LENGTH", "A burst has no more beats than declared."),
        "many": ("the port's NUM_OUTSTANDING", "No more bursts are under way than declared."),
    }
    return tuple(
        Rule(f"{channel}_{name}", "manager", section, says)
        for name, (section, says) in rules.items()
    )


class _Queue:
    """Numbers of bursts, of which one is taken out at a time; wide enough to see one too many."""

    def __init__(self, m: Module, name: str, shape: Any, depth: int):
        self.entries = [Signal(shape, name=f"{name}{number}") for number in range(depth)]
        self.level = Signal(range(2 * depth + 2), name=f"{name}_level")
        self.add, self.drop = Signal(name=f"{name}_add"), Signal(name=f"{name}_drop")
        self.new: Any = Signal(shape, name=f"{name}_new")
        self.head: Any = self.entries[0]
        last = self.level - self.drop
        m.d.sync += self.level.eq(self.level + self.add - self.drop)
        for number, entry in enumerate(self.entries):
            after = self.entries[min(number + 1, depth - 1)]
            with m.If(self.add & (last == number)):
                m.d.sync += Value.cast(entry).eq(self.new)
            with m.Elif(self.drop):
                m.d.sync += Value.cast(entry).eq(after)


class _Axi4Rules(Rules):
    """Rules of one direction.

    Parameters
    ----------
    burst, outstanding : what the port declares: beats of a burst, and bursts under way.
    """

    def __init__(self, members: Any, *, burst: int, outstanding: int, armed: bool = False):
        self.burst, self.outstanding = burst, outstanding
        super().__init__(members, armed=armed)

    def bursts(self, m: Module, channel: str, lanes: int) -> None:
        """Claim the rules of an address channel."""
        valid, address, length, size, burst, cache = (
            self.port(f"{channel}{name}")
            for name in ("valid", "addr", "len", "size", "burst", "cache")
        )
        widest = (lanes - 1).bit_length()
        # Of the first beat, where it begins, and the bytes from there to the end of the last.
        begin, bytes_, inside = Signal(12), Signal(16), Signal(12)
        m.d.comb += [
            inside.eq((1 << size) - 1),
            begin.eq(address[:12] & ~inside),
            bytes_.eq((length + 1) << size),
        ]
        wraps = Cat(length == beats - 1 for beats in (2, 4, 8, 16)).any()
        claims = {
            "size": size <= widest,
            "type": burst != _RESERVED,
            "page": (burst != _INCR) | (begin + bytes_ <= 4096),
            "wrap": (burst != _WRAP) | (wraps & ((address[:12] & inside) == 0)),
            "short": (burst != 0) | (length < 16),
            "memory": cache[1] | (cache[2:] == 0),
            "burst": length < self.burst,
        }
        for name, holds in claims.items():
            self.claim(f"{channel}_{name}", ~valid | holds)


class Axi4ReadRules(_Axi4Rules):
    """Rules of the read channels, of a manager that uses one ID at a time.

    With several IDs under way, data may legally come in another order, and break `r_id`.
    """

    RULES: ClassVar[tuple[Rule, ...]] = (
        *handshake("ar", "manager"),
        *_address("ar"),
        *handshake("r", "subordinate"),
        Rule(
            "r_asked", "subordinate", f"{AXI} A3.3.1", "Data come after their address, not with it."
        ),
        Rule(
            "r_last",
            "subordinate",
            f"{AXI} A3.2.2",
            "RLAST is at the last beat that LEN asks for, and at no other.",
        ),
        Rule("r_okay", "subordinate", f"{AXI} A3.4.4", "EXOKAY answers exclusive reads alone."),
        Rule(
            "r_id",
            "subordinate",
            f"{AXI} A5.3",
            "Data have the ID of the oldest burst; all bursts under way have one ID.",
        ),
    )

    def watch(self, m: Module) -> None:
        """Claim every rule."""
        for channel in ("ar", "r"):
            self.shake(m, channel)
        self.bursts(m, "ar", len(self.port("rdata")) // 8)
        ids = "arid" in self.signature.members
        asked, data_ = self.taken("ar"), self.taken("r")
        last, beat = self.port("rlast"), Signal(8, name="r_beat")
        shape = data.StructLayout({"length": 8, "id": len(self.port("arid")) if ids else 0})
        self.waiting = waiting = _Queue(m, "asked", shape, self.outstanding)
        self.beat = beat
        none, now = waiting.level == 0, waiting.head
        m.d.comb += [
            waiting.add.eq(asked),
            waiting.drop.eq(data_ & last & ~none),
            waiting.new.length.eq(self.port("arlen")),
        ]
        if ids:
            m.d.comb += waiting.new.id.eq(self.port("arid"))
        with m.If(data_):
            m.d.sync += beat.eq(Mux(last, 0, beat + 1))
        valid = self.port("rvalid")
        self.claim("ar_many", waiting.level + self.port("arvalid") <= self.outstanding)
        # An address that is taken in this very cycle is too late for data in it.
        self.claim("r_asked", ~valid | ~none)
        self.claim("r_last", ~valid | none | (last == (beat == now.length)))
        self.claim("r_okay", ~valid | (self.port("rresp") != 1))
        same = self.port("rid") == now.id if ids else Const(1)
        self.claim("r_id", ~valid | none | same)


class Axi4WriteRules(_Axi4Rules):
    """Rules of the write channels, of a manager that uses one ID at a time.

    Data may come before their address. With several IDs under way, responses may legally come in
    another order, and break `b_id`.

    Strobes are checked where the address is known, and the burst does not wrap.
    """

    RULES: ClassVar[tuple[Rule, ...]] = (
        *handshake("aw", "manager"),
        *_address("aw"),
        *handshake("w", "manager"),
        Rule("w_last", "manager", f"{AXI} A3.2.2", "WLAST is at the last beat that LEN announces,"
             " and at no other."),
        Rule("w_lanes", "manager", f"{AXI} A3.4.3", "Strobes are of bytes that the beat has."),
        Rule("w_many", "manager", "the port's NUM_OUTSTANDING", "No more bursts of data are under"
             " way than declared."),
        *handshake("b", "subordinate"),
        Rule("b_after", "subordinate", f"{AXI} A3.3.1", "A response comes after its address and its"
             " last beat, not with them; one for each burst."),
        Rule("b_okay", "subordinate", f"{AXI} A3.4.4", "EXOKAY answers exclusive writes alone."),
        Rule("b_id", "subordinate", f"{AXI} A5.3", "A response has the ID of the oldest burst;"
             " all bursts under way have one ID."),
    )  # fmt: skip

    def watch(self, m: Module) -> None:
        """Claim every rule."""
        for channel in ("aw", "w", "b"):
            self.shake(m, channel)
        lanes = len(self.port("wstrb"))
        self.bursts(m, "aw", lanes)
        low = (lanes - 1).bit_length()
        valid, last = self.port("wvalid"), self.port("wlast")
        asked, ends = self.taken("aw"), self.taken("w") & last
        answered = self.taken("b")
        self._owed(m, asked, ends, answered)

        # Either addresses are ahead, or bursts of data, of which the beats less one are known.
        shape = data.StructLayout({"length": 8, "size": 3, "type": 2, "address": low})
        self.ahead = ahead = _Queue(m, "ahead", shape, self.outstanding)
        self.early = early = _Queue(m, "early", 8, self.outstanding)
        self.beat = beat = Signal(8, name="w_beat")
        known, full = ahead.level != 0, early.level != 0
        fresh = asked & ~known & ~full
        now: Any = Signal(shape, name="w_burst")
        m.d.comb += [
            ahead.new.length.eq(self.port("awlen")),
            ahead.new.size.eq(self.port("awsize")),
            ahead.new.type.eq(self.port("awburst")),
            ahead.new.address.eq(self.port("awaddr")[:low]),
            early.new.eq(beat),
            ahead.add.eq(asked & ~full & (known | ~ends)),
            ahead.drop.eq(ends & known),
            early.add.eq(ends & ~known & ~fresh),
            early.drop.eq(asked & full),
            now.eq(Mux(known, ahead.head, ahead.new)),
        ]
        with m.If(self.taken("w")):
            m.d.sync += beat.eq(Mux(last, 0, beat + 1))
        right = last == (beat == now.length)
        self.claim(
            "w_last",
            (~(valid & (known | fresh)) | right)
            & (~fresh | (beat <= now.length))
            & (~early.drop | (early.head == self.port("awlen"))),
        )
        self.claim("w_lanes", ~(valid & (known | fresh)) | self._lanes(m, now, beat, lanes))

    def _owed(self, m: Module, asked: Value, ends: Value, answered: Value) -> None:
        """Claim what is owed: responses, and their IDs."""
        ids = "awid" in self.signature.members
        waiting = _Queue(m, "owed_aw", len(self.port("awid")) if ids else 0, self.outstanding)
        data_ = Signal(range(2 * self.outstanding + 2), name="owed_w")
        self.addresses, self.data = waiting.level, data_
        none = waiting.level == 0
        m.d.comb += [waiting.add.eq(asked), waiting.drop.eq(answered & ~none)]
        m.d.sync += data_.eq(data_ + ends - answered)
        if ids:
            m.d.comb += waiting.new.eq(self.port("awid"))
        valid = self.port("bvalid")
        self.claim("aw_many", waiting.level + self.port("awvalid") <= self.outstanding)
        whole = self.port("wvalid") & self.port("wlast")
        self.claim("w_many", data_ + whole <= self.outstanding)
        # What is taken in this very cycle is too late for a response in it.
        self.claim("b_after", ~valid | (~none & (data_ != 0)))
        self.claim("b_okay", ~valid | (self.port("bresp") != 1))
        same = self.port("bid") == waiting.head if ids else Const(1)
        self.claim("b_id", ~valid | none | same)

    def _lanes(self, m: Module, now: Any, beat: Value, lanes: int) -> Value:
        """Require strobes to be of the bytes of a beat."""
        low = (lanes - 1).bit_length()
        address, first = Signal(low), Signal(low)
        end = Signal(low + 8)
        start = now.address & ~((1 << now.size) - 1)
        m.d.comb += [
            address.eq(Mux(now.type == _INCR, start + (beat << now.size), start)),
            first.eq(Mux((now.type == _INCR) & (beat != 0), address, now.address)),
            end.eq(address + (1 << now.size)),
        ]
        allowed = Cat((lane >= first) & (lane < end) for lane in range(lanes))
        return (now.type == _WRAP) | ((self.port("wstrb") & ~allowed) == 0)
