"""Room of a program's memory: what shares it, and what has its own."""

from typing import Any

import numpy as np
import pytest
from onnx import ModelProto

from carrysave.compiler.graph.graph import Graph
from carrysave.compiler.passes.pipeline import PASSES, lower
from carrysave.compiler.program.network import compile_network
from carrysave.compiler.program.pool import Pool
from carrysave.compiler.program.program import Program
from verif.compiler import runners
from verif.compiler.random_graphs import random_model
from verif.compiler.test_program import WIDE, compiled, mixed
from verif.networks.graphs import Builder
from verif.system.networks import convolutions

LAYERS = 10
SIZE = (1, 8, 6, 6)


def chain(skip: bool) -> ModelProto:
    """Return convolutions one after the other; the first one's codes go to the last one, too."""
    builder = Builder(np.random.default_rng(2))
    step, zero = builder.constant(0.02), builder.constant(120, np.uint8)
    x = "x"
    for number in range(LAYERS):
        if skip and number == LAYERS - 1:
            given = ["c0", step, zero, x, step, zero]
            x = builder.node("QLinearAdd", [*given, step, zero], "a", domain="com.microsoft")
        weights = builder.codes((8, 8, 3, 3), np.int8)
        kernel = [weights, builder.constant(0.005), builder.constant(0, np.int8)]
        name = "y" if number == LAYERS - 1 else f"c{number}"
        given = [x, step, zero, *kernel, step, zero]
        x = builder.node("QLinearConv", given, name, pads=[1, 1, 1, 1])
    return builder.model(SIZE, np.uint8, np.uint8)


def program_of(model: ModelProto, x: np.ndarray) -> Program:
    lowered = lower(Graph(model), WIDE, until=PASSES[-1].name)
    return compile_network(lowered, WIDE, {"x": x})


@pytest.mark.parametrize("skip", [False, True])
def test_layers_take_turns(skip: bool) -> None:
    """Two rooms serve all codes of a chain, and one all windows; a third what is read later."""
    x = np.random.default_rng(3).integers(0, 256, SIZE).astype(np.uint8)
    program = program_of(chain(skip), x)
    runners.check(program, {"x": x})
    made = [one for one in program.buffers.values() if one.address not in program.image.parts]
    assert len(made) == 2 * LAYERS + skip
    assert len({one.address for one in made if one.rows * one.columns == 288}) <= 3 + 2 * skip
    rest = program.image.end - sum(map(len, program.image.parts.values()))
    assert rest < sum(one.rows * one.stride for one in made) / 3.5


@pytest.mark.parametrize("make", [lambda: compiled(convolutions()), lambda: compiled(mixed(3))])
def test_what_stays_has_its_own_room(make: Any) -> None:
    """Weights, tables, steps and inputs overlap nothing that a step makes."""
    program = make()
    own, shared = np.zeros((2, program.image.end), int)
    for address, data in program.image.parts.items():
        own[address : address + len(data)] += 1
    for name in program.inputs:
        np.add.at(own, program.tensors[name].sources.ravel(), 1)
    assert own.max() == 1
    for one in program.buffers.values():
        if one.address not in program.image.parts:
            shared[one.address : one.address + one.rows * one.stride] = 1
    for layer in program.layers:
        shared[layer.y.sources.ravel()] = 1
    assert not (own & shared).any()


@pytest.mark.parametrize("seed", range(4))
def test_random_networks(seed: int) -> None:
    """Memory that nobody wrote is random, so that what is given back too early is wrong."""
    model, x = random_model(seed)
    program = program_of(model, x)
    runners.check(program, {"x": x})


def test_a_pool_gives_the_smallest_room_that_fits() -> None:
    ends = [0]

    def room(size: int) -> int:
        ends.append(ends[-1] + -(-size // 16) * 16)
        return ends[-2]

    pool = Pool(room)
    one, other, last = pool.take(64), pool.take(33), pool.take(16)
    assert (one, other, last) == (0, 64, 112)
    pool.give(one)
    pool.give(last)
    assert pool.take(10) == last
    assert pool.take(60) == one
    assert pool.holding(np.array([5, 61, 200])) == {one}
    assert pool.holding(np.array([-3, 70])) == {other}
    pool.give(one)
    pool.give(other)
    assert pool.take(112) == one
