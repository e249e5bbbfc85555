"""States of a network in its program: what a run leaves, and the next one takes."""

from collections.abc import Mapping
from dataclasses import replace

import numpy as np

from carrysave.compiler.graph.names import quoted
from carrysave.compiler.lowered.engine_codes import code_offset
from carrysave.compiler.program.arithmetic import Emitter
from carrysave.compiler.program.image import Image
from carrysave.compiler.program.steps import HostStep, State
from carrysave.driver.system import Tensor

__all__ = ["carried", "host_made", "placed"]

_FLOAT = np.dtype(np.float32)
_BYTES = (np.dtype(np.int8), np.dtype(np.uint8))


def placed(image: Image, name: str, first: np.ndarray) -> Tensor:
    """Make room for a state, with what it is before the first run.

    Raises
    ------
    ValueError
        It is neither of floats of 32 bits nor of codes.
    """
    if first.dtype == _FLOAT:
        address, width, offset = image.put(first.astype("<f4").tobytes()), 4, 0
    elif first.dtype in _BYTES:
        offset = code_offset("A", first.dtype, image.target.mode.a)
        codes = (first.astype(np.int64) - offset).astype(np.int8)
        address, width = image.put(codes.tobytes()), 1
    else:
        raise ValueError(
            f"state {quoted(name)} must be of float32, int8 or uint8 in a program, not of"
            f" {first.dtype}"
        )
    places = address + width * np.arange(first.size).reshape(first.shape)
    return Tensor(places, first.dtype, offset)


def carried(
    image: Image, states: Mapping[str, str], tensors: Mapping[str, Tensor]
) -> tuple[State, ...]:
    """Return the states whose outputs are in memory; steps bring these in order, if need be.

    Parameters
    ----------
    states : by output, the input that it is of the next run.
    tensors : what is in memory, with all those inputs.

    Raises
    ------
    ValueError
        An output of another type or shape than the input.
    """
    pairs = []
    for name, to in states.items():
        if name not in tensors or tensors[name] is tensors[to]:
            continue
        made, there = tensors[name], tensors[to]
        if there.kind == _FLOAT:
            made = Emitter(image, name, "State").decoded(made)
        given, wanted = (f"{one.sources.shape} of {one.kind}" for one in (made, there))
        if given != wanted or made.offset != there.offset:
            raise ValueError(
                f"output {quoted(name)} must be {wanted}, as input {quoted(to)}, not {given}"
            )
        places = made.sources.reshape(-1, 1) + np.arange(made.width)
        size = places.size
        first = int(places[0, 0])
        plain = np.array_equal(places.reshape(-1), first + np.arange(size))
        target = int(there.sources.reshape(-1)[0])
        if not plain or abs(first - target) < size:
            first = image.move(
                name, "State", places.reshape(-1, 1), reason="states are rows of bytes"
            )
        pairs.append(State(name=name, output=first, input=target, bytes=size))
    return tuple(pairs)


def host_made(step: HostStep, states: Mapping[str, str], tensors: dict[str, Tensor]) -> HostStep:
    """Return the host's last step, whose states go to where the next run takes them.

    Parameters
    ----------
    states : by output, the input that it is of the next run.
    tensors : what is in memory; gets those outputs.
    """
    made = {name for node in step.nodes for name in node.output}
    names = tuple(name for name in states if name in made)
    if not names:
        return step
    tensors |= {name: tensors[states[name]] for name in names}
    reasons = tuple(f"state {quoted(name)} is made by the host" for name in names)
    return replace(step, writes=names, reasons=reasons)
