"""Functions of codes of one tensor, and of where they are: one look-up for all of them."""

from collections import Counter, defaultdict
from collections.abc import Callable
from typing import Any

import numpy as np
import onnx
import pytest

from carrysave.compiler.graph.graph import Graph
from carrysave.compiler.passes.pipeline import PASSES, lower
from carrysave.compiler.program.decode import Words, step_of
from carrysave.compiler.program.floats import Floats, Format, Operation
from carrysave.compiler.program.network import compile_network
from carrysave.compiler.program.program import Program
from carrysave.compiler.target.target import Target
from hw.catalog import Design
from verif.compiler import runners
from verif.compiler.networks import Coded
from verif.soc.driver.conftest import library as library

TARGET = Target(Design.parse("coprocessor", {"engine": "systolic_os(m=4,n=4)"}))
CHANNELS = 4
Tail = Callable[[Coded, str], str]


def gelu(b: Coded, x: str, y: str) -> str:
    """Add a number of each channel, and make x (1 + tanh x) of that."""
    added = b.node("Add", [x, b.floats(CHANNELS, 1, 1)], f"{y}_a")
    more = b.node("Add", [b.node("Tanh", [added], f"{y}_t"), b.constant(1.0)], f"{y}_m")
    return b.node("Mul", [added, more], y)


def normed(b: Coded, x: str) -> str:
    """Take the mean of each channel from it."""
    g = gelu(b, x, "g")
    return b.node("Sub", [g, b.node("ReduceMean", [g], "m", axes=[2, 3])], "d")


def turned(b: Coded, x: str) -> str:
    """Move floats that depend on the channel, and reduce what was the channel's axis."""
    moved = b.node("Transpose", [gelu(b, x, "g")], "u", perm=[0, 2, 3, 1])
    most = b.node("ReduceMax", [moved], "m", axes=[3])
    back = b.node("Transpose", [b.node("Sub", [moved, most], "d")], "v", perm=[0, 3, 1, 2])
    return b.node("Mul", [back, b.constant(0.5)], "h")


def alike(b: Coded, x: str) -> str:
    """Move floats that are the same wherever codes are, and pad them."""
    moved = b.node("Transpose", [b.node("Exp", [x], "e")], "u", perm=[0, 1, 3, 2])
    total = b.node("ReduceSum", [moved, b.whole(1)], "m", keepdims=1)
    small = b.node("Div", [moved, total], "d")
    other = b.node("Pad", [b.node("Abs", [x], "o"), b.whole(0, 0, 1, 0, 0, 0, 0, 0)], "p")
    cut = b.node("Slice", [other, b.whole(0), b.whole(24), b.whole(2)], "s")
    return b.node("Add", [small, cut], "j")


def flat(b: Coded, x: str) -> str:
    """Go on with fewer axes than codes have."""
    merged = b.node("Flatten", [b.node("Exp", [x], "e")], "r")
    whole = b.node("Add", [b.node("Tanh", [merged], "t"), b.constant(0.5)], "w")
    most = b.node("Sub", [whole, b.node("ReduceMax", [whole], "m", axes=[1])], "d")
    return b.node("Reshape", [most, b.whole(1, CHANNELS, -1, SIDES[flat])], "s")


def joined(b: Coded, x: str) -> str:
    """Join two functions of a code."""
    both = b.node(
        "Concat", [gelu(b, x, "g"), b.node("Sqrt", [b.node("Abs", [x], "o")], "q")], "j", axis=1
    )
    most = b.node("ReduceMean", [both], "m", axes=[1])
    return b.node("Sub", [both, most], "d")


def two(b: Coded, x: str) -> str:
    """Add functions of codes of two tensors."""
    other = b.weighted("Conv", "f", (CHANNELS, 6, 1, 1), "o")
    return b.node("Add", [gelu(b, x, "g"), gelu(b, other, "k")], "s")


def rounded(b: Coded, x: str) -> str:
    """Nothing but a function of a code and of the channel."""
    return gelu(b, x, "g")


def network(tail: Tail, seed: int) -> onnx.ModelProto:
    """Return a product, floats, and another product."""
    b = Coded(np.random.default_rng(seed), 13)
    x = b.weighted("Conv", b.started(), (CHANNELS, 6, 1, 1), "c")
    made = tail(b, x)
    channels = 2 * CHANNELS if tail is joined else CHANNELS
    sizes = SIDES[tail], SIDES[tail]
    last = b.weighted("Conv", b.coded(made, 0.02), (5, channels, 1, 1), "z")
    return b.ended(last, [1, 5, *sizes], (1, 6, *sizes))


def compiled(model: onnx.ModelProto) -> Program:
    onnx.checker.check_model(model)
    lowered = lower(Graph(model), TARGET, until=PASSES[-1].name)
    return compile_network(lowered, TARGET, inputs(model))


def inputs(model: onnx.ModelProto) -> dict[str, np.ndarray]:
    shape = [axis.dim_value for axis in model.graph.input[0].type.tensor_type.shape.dim]
    return {"x": np.random.default_rng(1).integers(0, 256, shape).astype(np.uint8)}


def small(b: Coded, x: str) -> str:
    """Do that to a small tensor: a table would be larger."""
    return gelu(b, x, "g")


def outside(b: Coded, x: str) -> str:
    """Do what neither the block nor its processor has, with a function of a code."""
    g = gelu(b, x, "g")
    return b.node("Add", [b.node("Sinh", [g], "h"), g], "s")


def refused(b: Coded, x: str) -> str:
    """Have a rule refuse what it would have looked up."""
    g = gelu(b, x, "g")
    share = b.node("Resize", [g, "", b.constant([1, 1, 1.5, 1])], "r", mode="cubic")
    few = b.node("Slice", [share, b.whole(0), b.whole(24), b.whole(2)], "s")
    return b.node("Add", [few, g], "a")


SIDES: dict[Tail, int] = defaultdict(lambda: 24, {small: 12, flat: 14})
"""Of the map: by what is between the products."""
EXPECTED: dict[Tail, dict[str, int]] = {
    normed: {"LOOK_UP": 1, "SUM": 2, "QUOTIENT": 1, "SUBTRACT": 1, "ENCODE": 1},
    turned: {"LOOK_UP": 1, "GREATEST": 1, "SUBTRACT": 1, "MULTIPLY": 1, "ENCODE": 1},
    alike: {"LOOK_UP": 2, "SUM": 1, "QUOTIENT": 1, "ADD": 1, "ENCODE": 1},
    joined: {"LOOK_UP": 2, "SUM": 1, "QUOTIENT": 1, "SUBTRACT": 1, "ENCODE": 1},
    flat: {"LOOK_UP": 1, "GREATEST": 1, "SUBTRACT": 1, "ENCODE": 1},
    two: {"LOOK_UP": 2, "ADD": 1, "ENCODE": 1},
    rounded: {"LOOK_UP": 1},
    small: {
        "DECODE": 1,
        "ADD": 2,
        "TANH": 1,
        "MULTIPLY": 1,
        "ENCODE": 1,
    },
}
"""Steps on floats, by what they do."""


@pytest.mark.parametrize("tail", EXPECTED)
def test_what_depends_on_one_code_is_looked_up(tail: Tail, library: Any) -> None:
    """Codes are those of the evaluator; both drivers leave the same bytes."""
    model = network(tail, 1)
    program, given = compiled(model), inputs(model)
    floats = [one for one in program.steps if isinstance(one, Floats)]
    assert Counter(one.operation.name for one in floats) == EXPECTED[tail]
    assert not program.host
    runners.check(program, given)
    expected = runners.memory_of(program, runners.on_driver, given)
    made = runners.memory_of(program, runners.on_c(library), given)
    np.testing.assert_array_equal(made, expected)


def test_codes_of_codes_are_bytes() -> None:
    """A function of a code that is rounded to a code has a table of bytes, one for each channel."""
    (step,) = (one for one in compiled(network(rounded, 1)).steps if isinstance(one, Floats))
    assert step.operation == Operation.LOOK_UP
    assert {one.format for one in step.operands.values()} == {Format.I8}


@pytest.mark.parametrize("tail", [outside, refused])
def test_the_host_has_floats_of_them(tail: Tail) -> None:
    model = network(tail, 1)
    program = compiled(model)
    assert program.host
    runners.check(program, inputs(model))


@pytest.mark.parametrize("kinds", [("F32", "I8", "I8"), ("I8", "I16", "I8"), ("I8", "I8", "F64")])
def test_a_look_up_of_others_is_refused(kinds: tuple[str, str, str]) -> None:
    words = [3, Operation.LOOK_UP, 1, 1, 0, 0, 0, 0, 0]
    for kind in kinds:
        words += [64, Format[kind], 0, 0]
    with pytest.raises(ValueError, match="a look-up must be of codes of 8 bits"):
        step_of(Words(np.array(words, np.int32).view(np.uint8), 0))
