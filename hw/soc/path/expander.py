"""Numbers of B out of the codes in a word of memory."""

from typing import Any

from amaranth import C, Cat, Module, Mux, Signal, Value

from golden.lut.expander import ExpanderSpec
from hw.soc.path.trits import unpack_trits

__all__ = ["expand", "registered", "table_of"]


def expand(
    m: Module, word: Value, spec: ExpanderSpec, width: int, table: Value, name: str
) -> Value:
    """Return the numbers of a word's codes, the first one lowest.

    As :func:`golden.lut.expander.expand_words`. A constant table of 16 bytes takes 8 LUTs of six
    inputs a code, as numbers of a byte; one of a job a tree of multiplexers. What is beyond K is
    masked behind this, as any entry may be other than 0. Where the table is mirrored, the highest
    bit of a code is the number's sign, and inverts what the others choose: half the multiplexers.

    Parameters
    ----------
    m : gets the logic.
    word : as it is in memory.
    spec : the kind.
    width : bits of a number; where words have masks, of a code with its share of one.
    table : numbers of the job's table, by their codes, without signs if it is mirrored; of no
        bits, if it is constant.
    name : of the signals.
    """
    if spec.name == "trits":
        return unpack_trits(m, word, name)
    if spec.group:
        return _with_masks(word, spec, width)
    each = width - spec.mirrored
    entries: list[Value] = (
        [table.word_select(code, each) for code in range(spec.table_bytes)]
        if spec.table is None
        else [C(number & (1 << width) - 1, width) for number in spec.table]
    )
    numbers = Signal(spec.deep * width, name=name)
    for step in range(spec.deep):
        code = Signal(spec.width, name=f"{name}_code{step}")
        m.d.comb += code.eq(word.word_select(step, spec.width))
        number = _mirrored(entries, code) if spec.mirrored else _entry(entries, code)
        m.d.comb += numbers.word_select(step, width).eq(number)
    return numbers


def _with_masks(word: Value, spec: ExpanderSpec, width: int) -> Value:
    """Put above each code its share of its group's mask, the lowest with the first code: wires."""
    share = spec.group // spec.count
    code = width - share
    return Cat(
        Cat(word[at : at + code], word[share * number : share * (number + 1)])
        for number, at in enumerate(range(spec.first, spec.bits, spec.width))
    )


def _mirrored(entries: list[Value], code: Value) -> Value:
    """Choose one of the entries, which have no sign, and invert it for codes of the upper half."""
    sign = code[-1]
    return Cat(_entry(entries, code[:-1]) ^ sign.replicate(len(entries[0])), sign)


def _entry(entries: list[Value], code: Value) -> Value:
    """Choose one of the entries, by the code's bits from the highest one on."""
    if len(entries) == 1:
        return entries[0]
    half = len(entries) // 2
    low, high = _entry(entries[:half], code[:-1]), _entry(entries[half:], code[:-1])
    return Mux(code[-1], high, low)


def table_of(m: Module, feed: Any, choice: Any) -> Value:
    """Return the table of the job that words are of; that before may be multiplied still.

    Parameters
    ----------
    feed : :class:`~hw.soc.path.operand_feed.OperandFeed`.
    choice : what it chooses of the words that the store has read, and of which job they are.
    """
    if not feed.side.expander.table_bytes:
        return C(0, 0)
    m.d.comb += feed.o_turn.eq(choice.turn)
    table: Value = feed.i_table
    return table


def registered(m: Module, table: Value, en: Value) -> Value:
    """Register a table with the words of its job."""
    late_table = Signal(len(table), reset_less=True)
    with m.If(en):
        m.d.sync += late_table.eq(table)
    return late_table
