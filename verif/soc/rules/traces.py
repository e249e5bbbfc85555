"""Short traces of buses, from the first edge after reset on, and the rules that each breaks."""

from typing import NamedTuple

__all__ = ["TRACES", "Cycle", "Trace"]

Cycle = dict[str, int]
"""Signals of the bus that are not 0."""


class Trace(NamedTuple):
    """What happens, and the names of the rules that it breaks."""

    name: str
    cycles: list[Cycle]
    breaks: str = ""


IDLE: Cycle = {}


def _taken(channel: str, **values: int) -> Cycle:
    """Take what a channel offers."""
    return {f"{channel}{name}": value for name, value in {"valid": 1, "ready": 1, **values}.items()}


def ar(addr: int = 0, len: int = 0, size: int = 2, burst: int = 1, **more: int) -> Cycle:
    """Take the address of a read; INCR of whole words unless said otherwise."""
    return _taken("ar", addr=addr, len=len, size=size, burst=burst, **more)


def aw(addr: int = 0, len: int = 0, size: int = 2, burst: int = 1, **more: int) -> Cycle:
    """Take the address of a write."""
    return _taken("aw", addr=addr, len=len, size=size, burst=burst, **more)


def r(last: int = 1, **more: int) -> Cycle:
    """Take a beat of read data."""
    return _taken("r", last=last, **more)


def w(last: int = 1, strb: int = 0b1111, **more: int) -> Cycle:
    """Take a beat of data to write."""
    return _taken("w", last=last, strb=strb, **more)


def b(**more: int) -> Cycle:
    """Take a response."""
    return _taken("b", **more)


def beats(count: int) -> list[Cycle]:
    """Take all data of a read."""
    return [*[r(0)] * (count - 1), r()]


def words(count: int) -> list[Cycle]:
    """Take all data of a write."""
    return [*[w(0)] * (count - 1), w()]


def lanes(*strobes: int) -> list[Cycle]:
    """Take all data of a write, with these strobes."""
    last = len(strobes) - 1
    return [w(int(beat == last), strb) for beat, strb in enumerate(strobes)]


def _waits(channel: str, cycle: Cycle) -> Cycle:
    return cycle | {f"{channel}ready": 0}


def _shakes(
    channel: str, taken: Cycle, changed: str, *before: Cycle, also: str = ""
) -> list[Trace]:
    """Keep and break the rules of a handshake.

    Parameters
    ----------
    taken : a cycle in which the channel's payload is taken.
    changed : the signal that does not stay the same.
    before : cycles after which the payload is due.
    also : the rule that is broken without these.
    """
    begin, offer = [IDLE, *before], _waits(channel, taken)
    other = offer | {changed: offer.get(changed, 0) ^ 2}
    return [
        Trace(f"{channel} waits", [*begin, offer, offer, taken, IDLE]),
        Trace(f"{channel} at the first edge", [offer], f"{channel}_reset {also}"),
        Trace(f"{channel} withdrawn", [*begin, offer, IDLE], f"{channel}_stays"),
        Trace(f"{channel} changed", [*begin, offer, other], f"{channel}_same"),
    ]


def _addresses(channel: str) -> list[Trace]:
    """Break the rules of an address channel."""
    a = {"ar": ar, "aw": aw}[channel]
    bad = {
        "size": [a(size=3)],
        "type": [a(burst=3)],
        "page": [a(0xFFC, 1), a(0xFFD, 1), a(0xFFF, 1, size=0), a(0xF84, 31)],
        "wrap": [a(len=2, burst=2), a(burst=2), a(len=31, burst=2), a(2, 1, burst=2)],
        "short": [a(len=16, burst=0)],
        "memory": [a(cache=0b0100), a(cache=0b1001)],
        "burst": [a(len=32)],
    }
    return [
        Trace(f"{channel}_{rule} {number}", [IDLE, cycle], f"{channel}_{rule}")
        for rule, cycles in bad.items()
        for number, cycle in enumerate(cycles)
    ] + [Trace(f"{channel}_many", [IDLE, a(), a(), a()], f"{channel}_many")]


READS = [
    *_shakes("ar", ar(), "araddr"),
    *_shakes("r", r(), "rdata", ar(), also="r_asked"),
    *_addresses("ar"),
    Trace("to the end of the page", [IDLE, ar(0xFF8, 1), *beats(2), ar(0xFFD), r()]),
    Trace("as long as declared", [IDLE, ar(0xF80, 31), *beats(32)]),
    Trace(
        "WRAP",
        [
            IDLE,
            *(
                cycle
                for count in (2, 4, 8, 16)
                for cycle in (ar(0xFFC, count - 1, burst=2), *beats(count))
            ),
        ],
    ),
    Trace("FIXED", [IDLE, ar(0xFFC, 15, burst=0), *beats(16)]),
    Trace("narrow", [IDLE, ar(0xFFC, 3, size=0), *beats(4), ar(0xFFE, size=1), r()]),
    Trace("memory", [IDLE, ar(cache=0b1111), r(), ar(cache=0b0001), r()]),
    Trace("errors", [IDLE, ar(len=1), r(0, resp=2), r(resp=3)]),
    Trace("IDs", [IDLE, ar(len=1, id=1), ar(id=2), r(0, id=1), r(id=1), r(id=2)]),
    Trace("one at a time", [IDLE, ar(id=1), ar(id=2) | r(id=1), ar(id=3) | r(id=2), r(id=3)]),
    Trace("as many as declared", [IDLE, ar(), ar(len=1), r(), ar(), *beats(2), r()]),
    Trace("data alone", [IDLE, r()], "r_asked"),
    Trace("data with their address", [IDLE, ar() | r()], "r_asked"),
    Trace("data before the address is taken", [IDLE, _waits("ar", ar()), ar() | r()], "r_asked"),
    Trace("data twice", [IDLE, ar(), r(), r()], "r_asked"),
    Trace("data of nothing", [IDLE, ar(id=1), r(id=1), r(0, id=3)], "r_asked"),
    Trace("RLAST too late", [IDLE, ar(), r(0)], "r_last"),
    Trace("RLAST too early", [IDLE, ar(len=1), r()], "r_last"),
    Trace("RLAST of the burst before", [IDLE, ar(), ar(len=1), r(), r()], "r_last"),
    Trace("RLAST of the burst after", [IDLE, ar(len=1), ar(), r()], "r_last"),
    Trace("EXOKAY", [IDLE, ar(), r(resp=1)], "r_okay"),
    Trace("another ID", [IDLE, ar(id=1), r(id=3)], "r_id"),
    Trace("ID of the burst after", [IDLE, ar(id=1), ar(id=2), r(id=2)], "r_id"),
    Trace("ID of the burst before", [IDLE, ar(id=1), ar(id=2) | r(id=1), r(id=1)], "r_id"),
]

WRITES = [
    *_shakes("aw", aw(), "awaddr"),
    *_shakes("w", w(), "wdata"),
    *_shakes("b", b(), "bresp", aw(), w(), also="b_after"),
    *_addresses("aw"),
    Trace("to the end of the page", [IDLE, aw(0xFF8, 1), *words(2), b(), aw(0xFFC) | w(), b()]),
    Trace("as long as declared", [IDLE, aw(0xF80, 31), *words(32), b()]),
    Trace("errors", [IDLE, aw(), aw(), w(), w(), b(resp=2), b(resp=3)]),
    Trace("memory", [IDLE, aw(cache=0b1111), w(), b(), aw(cache=0b0001), w(), b()]),
    Trace("IDs", [IDLE, aw(id=1), aw(id=2) | w(), w(), b(id=1), aw(id=3) | w() | b(id=2), b(id=3)]),
    # Data before their address, and with it.
    Trace("data first", [IDLE, *words(2), w(), aw(len=1), aw(), b(), b()]),
    Trace("address between beats", [IDLE, w(0), aw(len=2), w(0), w(), b()]),
    Trace("address at the last beat", [IDLE, w(0), aw(len=1) | w(), aw() | w(), b(), b()]),
    Trace("address at a later beat", [IDLE, w(), w(0), aw() | w(0), aw(len=2) | w(), b(), b()]),
    Trace("data first, then address", [IDLE, w(), aw(), *words(2), aw(len=1), b(), b()]),
    Trace(
        "address at the last beat of the burst before",
        [
            IDLE,
            aw(),
            aw(len=1) | w(),
            w(0) | b(),
            w(),
            aw() | w(),
            b(),
            b(),
        ],
    ),
    Trace("one at a time", [IDLE, aw() | w(), aw() | w() | b(), w() | b(), aw(), b()]),
    # Strobes.
    Trace("INCR, from within a word", [IDLE, aw(1, 1), *lanes(0b1110, 0b1111), b()]),
    Trace("INCR, bytes", [IDLE, aw(1, 3, size=0), *lanes(2, 4, 8, 1), b()]),
    Trace("INCR, from within a half", [IDLE, aw(3, 2, size=1), *lanes(8, 3, 12), b()]),
    Trace("FIXED, bytes", [IDLE, aw(1, 2, size=0, burst=0), *lanes(2, 2, 2), b()]),
    Trace("FIXED, from within a word", [IDLE, aw(2, 15, burst=0), *lanes(*[12] * 16), b()]),
    Trace("WRAP, bytes", [IDLE, aw(1, 1, size=0, burst=2), *lanes(2, 1), b()]),
    Trace("no strobes", [IDLE, aw(3, 1, size=0), *lanes(0, 0), b()]),
    Trace("a lane before the address", [IDLE, aw(1), w()], "w_lanes"),
    Trace("it, with the address", [IDLE, aw(1) | w()], "w_lanes"),
    Trace("a lane after a byte", [IDLE, aw(size=0), w(strb=2)], "w_lanes"),
    Trace("INCR that stands", [IDLE, aw(0, 1, size=0), *lanes(1, 1)], "w_lanes"),
    Trace("FIXED that moves", [IDLE, aw(1, 1, size=0, burst=0), *lanes(2, 4)], "w_lanes"),
    Trace("FIXED that grows", [IDLE, aw(2, 1, burst=0), *lanes(12, 15)], "w_lanes"),
    Trace("lanes of the burst after", [IDLE, aw(1), aw(0), w()], "w_lanes"),
    Trace("WLAST too early", [IDLE, aw(len=1), w()], "w_last"),
    Trace("WLAST too late", [IDLE, aw(), w(0)], "w_last"),
    Trace("WLAST of the burst before", [IDLE, aw(), aw(len=1), w(), w()], "w_last"),
    Trace("too few beats before the address", [IDLE, w(), aw(len=1)], "w_last"),
    Trace("too many beats before the address", [IDLE, w(0), w(), aw()], "w_last"),
    Trace("beats go on after them all", [IDLE, w(0), w(0), aw()], "w_last"),
    Trace("too few beats, with the address", [IDLE, w(0), aw(len=2) | w()], "w_last"),
    Trace("too much data", [IDLE, w(), w(), w()], "w_many"),
    Trace("too much data, addresses known", [IDLE, aw(), aw(), w(), w(), w()], "w_many"),
    Trace("response alone", [IDLE, b()], "b_after"),
    Trace("response without data", [IDLE, aw(), b()], "b_after"),
    Trace("response without address", [IDLE, w(), b()], "b_after"),
    Trace("response before the last beat", [IDLE, aw(len=1), w(0), b()], "b_after"),
    Trace("response with the last beat", [IDLE, aw(), w() | b()], "b_after"),
    Trace("response with the address", [IDLE, w(), aw() | b()], "b_after"),
    Trace("response twice", [IDLE, aw(), w(), b(), b()], "b_after"),
    Trace("response to nothing", [IDLE, aw(id=1), w(), b(id=1), b(id=3)], "b_after"),
    Trace("EXOKAY", [IDLE, aw(), w(), b(resp=1)], "b_okay"),
    Trace("another ID", [IDLE, aw(id=1), w(), b(id=3)], "b_id"),
    Trace("ID of the burst after", [IDLE, aw(id=1), aw(id=2), w(), w(), b(id=2)], "b_id"),
]

AR, AW, R, W = _taken("ar"), _taken("aw"), _taken("r"), _taken("w", strb=0b1111)
LITE = [
    *_shakes("aw", AW, "awaddr"),
    *_shakes("w", W, "wdata"),
    *_shakes("b", b(), "bresp", AW, W, also="b_after"),
    *_shakes("ar", AR, "araddr"),
    *_shakes("r", R, "rdata", AR, also="r_asked"),
    Trace("as many as are counted", [IDLE, *[AW | W | AR] * 14, *[b() | R] * 14]),
    Trace("too many writes", [IDLE, *[AW] * 15], "aw_many"),
    Trace("too much data", [IDLE, *[W] * 15], "w_many"),
    Trace("too many reads", [IDLE, *[AR] * 15], "ar_many"),
    Trace("all in step", [IDLE, AW | W | AR, AW | W | AR | b() | R, b() | R]),
    Trace("errors", [IDLE, AW, W | AR, b(resp=2) | R | {"rresp": 3}]),
    Trace("EXOKAY of a write", [IDLE, W, AW, b(resp=1)], "b_okay"),
    Trace("EXOKAY of a read", [IDLE, AR, R | {"rresp": 1}], "r_okay"),
    Trace("response without data", [IDLE, AW, b()], "b_after"),
    Trace("response without address", [IDLE, W, b()], "b_after"),
    Trace("response with the data", [IDLE, AW, W | b()], "b_after"),
    Trace("response with the address", [IDLE, W, AW | b()], "b_after"),
    Trace("response twice", [IDLE, AW | W, b(), b()], "b_after"),
    Trace("data with their address", [IDLE, AR | R], "r_asked"),
    Trace("data twice", [IDLE, AR, R, R], "r_asked"),
]

T = _taken("t", data=1)
STREAM = [*_shakes("t", T, "tdata"), Trace("no pause", [IDLE, T, T | {"tdata": 2}, T])]

TRACES = {"read": READS, "write": WRITES, "lite": LITE, "stream": STREAM}
