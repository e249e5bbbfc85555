"""Every state of a unit of rows, of which what does not matter is unknown.

Registers of many bits, such as a product's, have few values together, which a solver does not see.
Here each state is visited that any rows lead to, under any stalls and resets. After a reset, and
between rows, what memories and registers hold is unknown, so that one state stands for many.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import numpy as np

from carrysave.regress.deciding.circuit import ALL, Circuit, Values

__all__ = [
    "LANES",
    "MOST",
    "Idle",
    "choices",
    "inputs_of",
    "lanes_of",
    "reached",
    "spread",
    "input_choices",
    "words_of",
]

LANES = 1 << 14
"""States at a time, a bit of each in a word."""
MOST = 2_000_000
"""States that are visited."""


@dataclass(frozen=True)
class Idle:
    """What is known of registers after a reset, and between rows.

    Members
    -------
    state : what they can be, packed as states are.
    held : likewise, 1 for ``o_valid``, which is known between rows.
    shown : registers that are outputs, whose values are unknown, but not lost.
    lost : registers whose values nobody reads any more.
    """

    state: np.ndarray
    held: np.ndarray
    shown: np.ndarray
    lost: np.ndarray

    def widened(self, states: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Forget in idle states all but whether a result waits; tell which those are."""
        rest = ~(states & ~self.state & ~self.held).any(axis=1)
        widened = np.where(rest[:, None], (states & self.held) | (self.state & ~self.held), states)
        return np.ascontiguousarray(widened), rest


@cache
def reached(
    path: Path, most: int
) -> tuple[Circuit, Idle, list[tuple[np.ndarray, np.ndarray]]] | None:
    """Visit all states of a circuit; return it, and inputs and states that come together.

    Inputs are what each can be, 2 x inputs; states likewise, bytes of bits, of all registers
    whether they can be 0, then whether they can be 1. None if there are more states than `most`.

    Parameters
    ----------
    path : AIGER file, of a unit with streams `i` and `o` and an output ``beyond``, which is 1
        where a row is longer than it may be.
    """
    circuit = Circuit.read(path)
    idle = _idle(circuit)
    size = idle.state.size
    met: dict[bytes, tuple[np.ndarray, list[np.ndarray]]] = {}
    ahead, later = [idle.state.tobytes()], list[bytes]()
    seen = {*ahead}
    while ahead or later:
        # Such as take values are put off, since they have many inputs: until all are such.
        takes = not ahead
        if takes:
            ahead, later = later, []
        part, ahead = ahead[-LANES:], ahead[:-LANES]
        states = np.frombuffer(b"".join(part), np.uint8).reshape(-1, size)
        ready, empty = input_choices(circuit, states)
        if not takes:
            later += [state for state, put_off in zip(part, ready, strict=True) if put_off]
        new: set[bytes] = set()
        for inputs, lanes in choices(circuit, ready, empty):
            chosen = states[lanes & (ready == takes)]
            if not len(chosen):
                continue
            values = Values.of(circuit, *spread(circuit, inputs, chosen))
            beyond = lanes_of(values.at([circuit.outputs["beyond"]]), len(chosen))
            legal = beyond[:, 0] == 1
            met.setdefault(inputs.tobytes(), (inputs, []))[1].append(chosen[legal])
            after = lanes_of(values.at(circuit.registers), len(chosen))[legal]
            widened, _ = idle.widened(np.packbits(after, axis=1))
            new.update(widened.view(f"V{size}").ravel().tolist())
        new -= seen
        seen |= new
        ahead += new
        if len(seen) > most:
            return None
    return circuit, idle, [(inputs, np.concatenate(parts)) for inputs, parts in met.values()]


def _idle(circuit: Circuit) -> Idle:
    """Find out what registers can be after a reset; the first state of all is such a one."""
    wide = len(circuit.registers)
    inputs = inputs_of(circuit, rst=1, i_valid=None, i_data=None, i_last=None, o_ready=None)
    states = np.packbits(np.ones((1, 2 * wide), np.uint8), axis=1)
    values = Values.of(circuit, *spread(circuit, inputs, states))
    can = lanes_of(values.at(circuit.registers), 1).reshape(2, wide)
    assert can[0].all()
    places = {
        name: (literal >> 1) - 1 - len(circuit.inputs) for name, literal in circuit.outputs.items()
    }
    shown, held = np.zeros(wide, bool), np.zeros(wide, np.uint8)
    held[places["o_valid"]] = 1
    shown[[bit for name, bit in places.items() if name.startswith(("o_data", "o_last"))]] = True
    can[:, shown] = 1
    lost = can.all(axis=0) & ~shown
    return Idle(np.packbits(can), np.packbits([held, held]), shown, lost)


def input_choices(circuit: Circuit, states: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return states in which the unit takes a value, and such in which no result waits."""
    inputs = inputs_of(circuit, rst=0, i_valid=None, i_data=None, i_last=None, o_ready=None)
    values = Values.of(circuit, *spread(circuit, inputs, states))
    names = ["i_ready", "o_valid"]
    can = lanes_of(values.at([circuit.outputs[name] for name in names]), len(states))
    assert (can[:, :2] != can[:, 2:]).all()
    return can[:, 2] == 1, can[:, 3] == 0


def choices(
    circuit: Circuit, ready: np.ndarray, empty: np.ndarray
) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    """Yield all inputs, and the states for which they are.

    Values that are not taken are unknown, and so is whether a result is taken if there is none.
    """
    width = sum(name.startswith("i_data") for name in circuit.inputs)
    lost = {"i_data": None, "i_last": None}
    yield inputs_of(circuit, rst=1, i_valid=None, o_ready=None, **lost), ready | True
    for taken, lanes in ((None, empty), (0, ~empty), (1, ~empty)):
        yield inputs_of(circuit, rst=0, i_valid=None, o_ready=taken, **lost), lanes & ~ready
        yield inputs_of(circuit, rst=0, i_valid=0, o_ready=taken, **lost), lanes & ready
        for number in range(2 << width):
            value: dict[str, int | None] = {"i_data": number >> 1, "i_last": number & 1}
            given = inputs_of(circuit, rst=0, i_valid=1, o_ready=taken, **value)
            yield given, lanes & ready


def inputs_of(circuit: Circuit, **given: int | None) -> np.ndarray:
    """Return what inputs can be, 2 x inputs; None is unknown, and what is not given is 0."""
    values = np.ones((2, len(circuit.inputs)), np.uint8)
    for number, name in enumerate(circuit.inputs):
        port, _, bit = name.rstrip("]").partition("[")
        value = given.get(port, 0)
        if value is not None:
            one = value >> int(bit or 0) & 1
            values[:, number] = [1 - one, one]
    return values


def spread(
    circuit: Circuit, inputs: np.ndarray, states: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Put states into words, a bit in each lane, and inputs into all lanes."""
    bits = np.unpackbits(states, axis=1, count=2 * len(circuit.registers))
    words = words_of(bits.T)
    wide = np.where(inputs[:, :, None] == 1, ALL, np.uint64(0))
    return wide, words.reshape(2, -1, words.shape[1])


def lanes_of(values: np.ndarray, count: int) -> np.ndarray:
    """Return the bits of lanes, a row for each; values are 2 x number x words."""
    words = np.ascontiguousarray(values).reshape(-1, values.shape[2])
    bits = np.unpackbits(words.view(np.uint8), axis=1)[:, :count]
    return np.ascontiguousarray(bits.T)


def words_of(bits: np.ndarray) -> np.ndarray:
    """Pack rows of bits into rows of words."""
    packed = np.packbits(np.ascontiguousarray(bits), axis=1)
    room = np.zeros((len(packed), -(-packed.shape[1] // 8) * 8), np.uint8)
    room[:, : packed.shape[1]] = packed
    return room.view(np.uint64)
