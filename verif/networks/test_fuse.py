"""Tables in place of operators between codes: the same codes, and fewer operations of the host."""

from collections import Counter
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from carrysave.compiler.graph.graph import Graph
from carrysave.compiler.graph.reference_runtime import session
from carrysave.compiler.lowered.evaluate import evaluate
from carrysave.compiler.lowered.lowered import Lowered
from carrysave.compiler.passes.tables import tables
from verif.networks.comparing import draw, lowered, multiplier
from verif.networks.graphs import Builder

Chain = Callable[[Builder, str], str]
"""Adds nodes that make floats of floats, and returns the name of the last."""


class Network(Builder):
    """Products of codes, and what is between them."""

    def quantised(self, x: str, y: str, kind: Any = np.uint8) -> str:
        """Quantise and dequantise."""
        step = [self.scale(), self.zero(kind)]
        codes = self.node("QuantizeLinear", [x, *step], f"{y}/q")
        return self.node("DequantizeLinear", [codes, *step], y)

    def product(self, x: str, y: str, columns: int = 6, kind: Any = np.uint8) -> str:
        """Multiply codes of 6 columns; the result is floats of codes."""
        step = [self.scale(), self.zero(kind)]
        weights = [self.codes((6, columns), np.int8), self.scale(), self.zero(np.int8)]
        made = [self.constant(30.0), self.zero(kind)]
        inputs = [x, self.scale(), self.zero(np.uint8), *weights, *made]
        codes = self.node("QLinearMatMul", inputs, f"{y}/q")
        return self.node("DequantizeLinear", [codes, *step], y)


def check(network: Builder, shape: Any, counts: dict[str, int]) -> Lowered:
    """Compare all outputs with those of the operators, and count operations."""
    whole = lowered(network, shape, np.uint8, np.uint8)
    found = tables(whole)
    x = draw(np.random.default_rng(1), shape, np.uint8)
    x.reshape(-1)[:256] = np.arange(256)[: x.size]
    host: Counter[str] = Counter()
    multiply = multiplier(True)
    expected = evaluate(whole, {"x": x}, multiply)["y"]
    made = evaluate(found, {"x": x}, multiply, host=host)["y"]
    assert made.dtype == expected.dtype
    np.testing.assert_array_equal(made, expected)
    assert +host == counts
    return found


def hard_swish(network: Network, x: str) -> str:
    """As quantisers write it: a step after each operator."""
    three, six = (network.constant(number) for number in (3, 6))
    moved = network.quantised(network.node("Add", [x, three], "moved"), "a")
    zero = network.constant(0)
    clipped = network.quantised(network.node("Clip", [moved, zero, six], "clipped"), "b")
    scaled = network.quantised(network.node("Mul", [x, clipped], "scaled"), "c")
    return network.node("Div", [scaled, six], "swish")


def tanh(network: Network, x: str) -> str:
    return network.node("Tanh", [x], "tanh")


def doubled(network: Network, x: str) -> str:
    """Multiply by a constant of more axes than x."""
    return network.node("Mul", [x, network.constant(np.full((1, 1, 1), 2))], "doubled")


@pytest.mark.parametrize("kind", [np.uint8, np.int8])
@pytest.mark.parametrize("chain", [hard_swish, tanh, doubled])
def test_chain_is_one_look_up(chain: Chain, kind: Any) -> None:
    network = Network(np.random.default_rng(3))
    made = chain(network, network.product("x", "p", kind=kind))
    network.node("QuantizeLinear", [made, network.scale(), network.zero(np.uint8)], "y")
    found = check(network, (50, 6), {"Table": 300})
    assert len(found.tables) == 1


def test_residual_sum_reads_both() -> None:
    """A sum of codes of two products, and a chain behind it, has an entry for each pair."""
    network = Network(np.random.default_rng(4))
    sides = [
        network.product("x", name, kind=kind) for name, kind in (("p", np.int8), ("r", np.uint8))
    ]
    sums = network.quantised(network.node("Add", sides, "sum"), "s")
    made = network.node("Relu", [sums], "relu")
    network.node("QuantizeLinear", [made, network.scale(), network.zero(np.uint8)], "y")
    check(network, (40, 6), {"Table": 480})


def test_scales_of_rows_are_broadcast() -> None:
    """Gates of few numbers: those that are read or made count, whichever are more."""
    network = Network(np.random.default_rng(5))
    gates = network.node("Sigmoid", [network.product("x", "p", columns=1)], "gates")
    made = network.node("Mul", [network.product("x", "r"), network.quantised(gates, "g")], "m")
    network.node("QuantizeLinear", [made, network.scale(), network.zero(np.uint8)], "y")
    check(network, (40, 6), {"Table": 280})  # reads 240 and 40


@pytest.mark.parametrize("same", [True, False])
def test_moves_are_of_codes(same: bool) -> None:
    """Steps commute with what moves numbers, and with maxima: none is left if they are the same."""
    network = Network(np.random.default_rng(6))
    made = network.product("x", "p")
    step = list(network.nodes[-1].input[1:])
    turned = network.node("Transpose", [made], "t", perm=[1, 0])
    shape = network.constant([1, 2, 3, 30], np.int64)
    shaped = network.node("Reshape", [turned, shape], "s")
    made = network.node("MaxPool", [shaped], "m", kernel_shape=[2, 3], strides=[1, 2], pads=[1] * 4)
    step = step if same else [network.scale(), network.zero(np.int8)]
    network.node("QuantizeLinear", [made, *step], "q")
    if same:
        network.node("Identity", ["q"], "y")
    else:
        floats = network.node("DequantizeLinear", ["q", *step], "f")
        network.node("QuantizeLinear", [floats, network.scale(), network.zero(np.uint8)], "y")
    pooled = 2 * 4 * 15
    counts = {"MaxPool": 6 * pooled, **({} if same else {"Table": pooled})}
    check(network, (30, 6), counts)


def test_maximum_of_what_a_table_makes() -> None:
    """Operators before a maximum become a table, since a quantiser keeps the order."""
    network = Network(np.random.default_rng(7))
    made = tanh(network, network.product("x", "p"))
    shape = network.constant([1, 3, 20, 6], np.int64)
    made = network.node("Reshape", [made, shape], "s")
    made = network.node("MaxPool", [made], "m", kernel_shape=[2, 2], strides=[2, 2])
    network.node("QuantizeLinear", [made, network.scale(), network.zero(np.uint8)], "y")
    check(network, (60, 6), {"Table": 360, "MaxPool": 360})


def drawn(network: Network, count: int) -> None:
    """Draw operators between codes; the last ones are read, and others too by chance."""
    rng = network.rng
    floats = [network.product("x", "p"), network.product("x", "r", kind=np.int8)]
    for number in range(count):
        recent = int(rng.integers(max(len(floats) - 3, 0), len(floats)))
        x, other = floats[recent], floats[int(rng.integers(len(floats)))]
        name, constant = f"n{number}", network.constant(rng.normal(0, 2))
        kind = str(rng.choice(
            ["Add", "Mul", "Sub", "Relu", "Sigmoid", "Clip", "Max", "moved", "pool", "step", "step"]
        ))  # fmt: skip
        if kind in ("Add", "Mul", "Sub", "Max"):
            made = network.node(kind, [x, constant if rng.integers(2) else other], name)
        elif kind == "Clip":
            made = network.node(kind, [x, network.constant(-1), network.constant(1)], name)
        elif kind == "step":
            made = network.quantised(x, name, rng.choice(np.array([np.uint8, np.int8])))
        elif kind == "moved":
            turned = network.node("Transpose", [x], f"{name}/t", perm=[1, 0])
            made = network.node("Reshape", [turned, network.constant([8, 6], np.int64)], name)
        elif kind == "pool":
            wide = network.node("Unsqueeze", [x, network.constant([0], np.int64)], f"{name}/w")
            most = network.node(
                "MaxPool", [wide], f"{name}/m", kernel_shape=[3], pads=[1, 1], strides=[1]
            )
            made = network.node("Squeeze", [most, network.constant([0], np.int64)], name)
        else:
            made = network.node(kind, [x], name)
        floats.append(made)
    both = network.node("Add", [network.quantised(one, f"{one}/e") for one in floats[-2:]], "both")
    network.node("QuantizeLinear", [both, network.scale(), network.zero(np.uint8)], "y")


@pytest.mark.parametrize("seed", range(16))
def test_drawn_operators(seed: int) -> None:
    """The same codes, by no more operations of the host."""
    network = Network(np.random.default_rng(seed))
    drawn(network, 4 + seed)
    whole = lowered(network, (8, 6), np.uint8, np.uint8)
    x = draw(np.random.default_rng(seed), (8, 6), np.uint8)
    before, after = Counter[str](), Counter[str]()
    expected = evaluate(whole, {"x": x}, multiplier(True), host=before)["y"]
    found = tables(whole)
    made = evaluate(found, {"x": x}, multiplier(True), host=after)["y"]
    np.testing.assert_array_equal(made, expected)
    assert after.total() <= before.total()
    assert found.tables


def by_columns(network: Network, x: str) -> str:
    return network.node("Mul", [x, network.constant(np.arange(6))], "m")


def of_three(network: Network, x: str) -> str:
    for name in "rs":
        x = network.node("Add", [x, network.product("x", name)], f"{name}/sum")
    return x


def below_zero(network: Network, x: str) -> str:
    return network.node("Log", [x], "log")


def of_wide_codes(network: Network, x: str) -> str:
    """Add floats of 16-bit codes."""
    other = network.quantised(network.node("Cast", ["x"], "floats", to=1), "w", np.int16)
    return network.node("Add", [x, other], "sum")


def with_steps_by_columns(network: Network, x: str) -> str:
    step = [network.scale(6), network.zero(np.uint8, 6)]
    codes = network.node("QuantizeLinear", [x, *step], "c/q", axis=1)
    return network.node("DequantizeLinear", [codes, *step], "c", axis=1)


def read_as_floats(network: Network, x: str) -> str:
    """Take maxima that something else reads, too, after an operator."""
    made = network.node(
        "Reshape", [tanh(network, x), network.constant([1, 3, 8, 2], np.int64)], "s"
    )
    made = network.node("MaxPool", [made], "m", kernel_shape=[2, 2])
    mean = network.node("ReduceMean", [made], "mean")
    return network.node("Add", [network.quantised(made, "k"), mean], "both")


@pytest.mark.parametrize(
    "chain",
    [by_columns, of_three, below_zero, of_wide_codes, with_steps_by_columns, read_as_floats],
)
def test_what_is_no_table(chain: Chain) -> None:
    network = Network(np.random.default_rng(8))
    made = chain(network, network.product("x", "p"))
    network.node("QuantizeLinear", [made, network.scale(), network.zero(np.uint8)], "y")
    whole = lowered(network, (8, 6), np.uint8, np.uint8)
    found = tables(whole)
    assert not found.tables
    assert found.host == whole.host


@pytest.mark.parametrize("axes", [1, 2, 3])
@pytest.mark.parametrize("kind", [np.float32, np.uint8, np.int8])
def test_maxima_of_windows_are_onnxruntimes(axes: int, kind: Any) -> None:
    rng = np.random.default_rng(axes)
    for _ in range(6):
        kernel = [int(one) for one in rng.integers(1, 4, axes)]
        dilations = [int(one) for one in rng.integers(1, 3, axes)]
        pads = [int(rng.integers(0, one)) for one in kernel] * 2
        strides = [int(rng.integers(1, one + 1)) for one in kernel]
        more: dict[str, Any] = {"pads": pads, "dilations": dilations}
        if rng.integers(2):
            more = {"auto_pad": ["SAME_UPPER", "SAME_LOWER", "VALID"][int(rng.integers(3))]}
        shape = (2, 3, *(9, 8, 7)[:axes])
        network = Builder(rng)
        codes = network.node("MaxPool", ["x"], "m", kernel_shape=kernel, strides=strides, **more)
        network.node("Identity", [codes], "y")
        proto = network.model(shape, kind, kind)
        x = draw(rng, shape, np.int8 if kind == np.float32 else kind).astype(kind)
        (expected,) = session(proto.SerializeToString()).run(["y"], {"x": x})
        found = evaluate(Lowered(Graph(proto), proto), {"x": x}, multiplier(True))["y"]
        np.testing.assert_array_equal(found, expected)
