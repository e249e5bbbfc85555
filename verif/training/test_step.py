"""A training step: gradients against JAX, operands, random bits, updates, other runners."""

from typing import Any

import numpy as np
import pytest

from carrysave.training.compile import Rates
from carrysave.training.learner import Learner, cross_entropy
from carrysave.training.recipes import BF16, RECIPES
from golden.formats.placed_bits import placed_bits
from golden.formats.random_bits import RandomBits
from verif.compiler.runners import on_c, on_driver
from verif.soc.driver.conftest import library as library
from verif.training.learning import RATES, batch, blocks_of, learner, operands

EVERY = tuple(RECIPES)


def in_jax(of: dict[str, Any], biases: list[np.ndarray], labels: np.ndarray) -> dict[str, Any]:
    """Return loss and gradients of the network on dequantised operands, by `jax.grad`.

    Written apart from the compiler: forward products have the operands of `y0`, `y1`; what goes
    back through a product is what JAX comes with, rounded as the step has it, which is why that is
    returned, too.
    """
    jax = pytest.importorskip("jax")
    jnp = jax.numpy
    came: dict[str, Any] = {}

    def linear(layer: int) -> Any:
        forward = jnp.asarray(of[f"y{layer}.a"]), jnp.asarray(of[f"y{layer}.b"])

        product = jax.custom_vjp(lambda x, w: jnp.dot(*forward))

        def back(_: None, g: Any) -> tuple[Any, Any]:
            came[f"dy{layer}"] = np.asarray(g)
            of_w = jnp.dot(jnp.asarray(of[f"dw{layer}.a"]), jnp.asarray(of[f"dw{layer}.b"]))
            if not layer:
                return jnp.zeros(forward[0].shape), of_w
            of_x = jnp.dot(jnp.asarray(of[f"dx{layer}.a"]), jnp.asarray(of[f"dx{layer}.b"]))
            return of_x, of_w

        product.defvjp(lambda x, w: (product(x, w), None), back)
        return product

    def loss(weights: list[Any], offsets: list[Any]) -> Any:
        x = jnp.asarray(of["y0.a"])
        for layer, (w, b) in enumerate(zip(weights, offsets, strict=True)):
            y = linear(layer)(x, w) + b
            x = jax.nn.relu(y)
        shares = jax.nn.log_softmax(y)
        return -shares[jnp.arange(len(labels)), labels].mean()

    first = [jnp.asarray(of[f"y{layer}.b"]) for layer in (0, 1)]
    value, (of_weights, of_biases) = jax.value_and_grad(loss, argnums=(0, 1))(
        first, [jnp.asarray(one) for one in biases]
    )
    made = {f"dw{layer}": np.asarray(one) for layer, one in enumerate(of_weights)}
    made |= {f"db{layer}": np.asarray(one) for layer, one in enumerate(of_biases)}
    return {"loss": float(value), **made, **came}


def near(ours: np.ndarray, due: np.ndarray, within: float = 1e-5) -> None:
    assert ours.shape == due.shape
    assert np.abs(ours - due).max() <= within * np.abs(due).max()


def floats(one: Learner, name: str) -> np.ndarray:
    return one.step_program.program.buffers[name].view(one.memory).copy()


@pytest.mark.parametrize("name", EVERY)
def test_gradients_are_those_of_jax_on_the_dequantised_graph(name: str) -> None:
    """In the second step, when biases and momenta are no zeros any more."""
    one, (x, labels) = learner(name), batch()
    one.step(x, labels)
    before = {key: floats(one, key) for key in ("w0", "w1", "b0", "b1")}
    loss = one.step(x, labels)
    of = operands(one)
    due = in_jax(of, [before["b0"][0], before["b1"][0]], labels)
    assert loss == pytest.approx(due["loss"], rel=1e-5)
    for layer in (0, 1):
        near(floats(one, f"dw{layer}"), due[f"dw{layer}"])
        near(floats(one, f"db{layer}")[0], due[f"db{layer}"])
    near(floats(one, "dy"), due["dy1"])
    near(floats(one, "dx1"), due["dy0"])
    # Operands are those floats, but for their rounding.
    rough = {"int8": 0.02, "mxfp8": 0.06}.get(name, 0.3)
    sources = {
        "y0.a": x,
        "y0.b": before["w0"],
        "y1.b": before["w1"],
        "y1.a": floats(one, "x1"),
        "dx1.a": due["dy1"],
        "dx1.b": before["w1"].T,
        "dw1.a": floats(one, "x1").T,
        "dw1.b": due["dy1"],
        "dw0.a": x.T,
        "dw0.b": due["dy0"],
    }
    assert sources.keys() == of.keys()
    for key, source in sources.items():
        assert np.linalg.norm(of[key] - source) < rough * np.linalg.norm(source), key


def test_operands_are_rounded_along_the_axis_that_is_summed() -> None:
    """Each from the floats: a transposed operand has other codes than the one that it turns."""
    one, (x, labels) = learner("nvfp4", stochastic=False), batch()
    weights = floats(one, "w1")
    one.step(x, labels)
    made = {
        encoding.to.codes.name: blocks_of(encoding, one.memory)
        for section in one.step_program.encodings
        for encoding in section
    }
    fmt = RECIPES["nvfp4"].operands
    for name, source, axis in (
        ("y1.b.codes", weights, 0),
        ("dx1.b.codes", weights.T, 0),
        ("y0.a.codes", x, 1),
        ("dw0.a.codes", x.T, 1),
        ("dw1.b.codes", floats(one, "dy"), 0),
        ("dx1.a.codes", floats(one, "dy"), 1),
    ):
        due = fmt.quantise(source.astype(np.float64), axis=axis)
        assert np.array_equal(made[name].codes, due.codes), name
        assert np.array_equal(made[name].scales, due.scales), name
        assert made[name].tensor_scale == due.tensor_scale
    assert not np.array_equal(made["y1.b.codes"].codes.T, made["dx1.b.codes"].codes)


def test_gradients_and_updates_are_rounded_by_the_bits_that_are_drawn() -> None:
    """In the order of sections, then weights, and nothing else takes any."""
    one, (x, labels) = learner("nvfp4", 3), batch()
    weights = [floats(one, name) for name in ("w0", "w1")]
    one.step(x, labels)
    fmt, row = RECIPES["nvfp4"].operands, 0

    def drawn(shape: tuple[int, ...]) -> RandomBits:
        nonlocal row
        bits = placed_bits(3, np.arange(row, row + shape[0])[:, None], np.arange(shape[1]), 8)
        row += shape[0]
        return bits

    for name, source, axis in (("dx1.a", "dy", 1), ("dw1.b", "dy", 0), ("dw0.b", "dx1", 0)):
        values = floats(one, source).astype(np.float64)
        bits = drawn(values.shape)
        due = fmt.quantise(values, axis=axis, rounding="stochastic", random=bits)
        (made,) = (
            blocks_of(encoding, one.memory)
            for section in one.step_program.encodings
            for encoding in section
            if encoding.to.codes.name == f"{name}.codes"
        )
        assert np.array_equal(made.codes, due.codes), name
        assert not np.array_equal(made.codes, fmt.quantise(values, axis=axis).codes), name
    for number, before in enumerate(weights):
        change = np.float32(RATES.rate) * floats(one, f"dw{number}")
        updated = (before - change).astype(np.float32)
        bits = drawn(updated.shape)
        due_weights = BF16.to_float(BF16.encode(updated, rounding="stochastic", random=bits))
        assert np.array_equal(floats(one, f"w{number}"), due_weights)


def test_a_seed_says_all() -> None:
    """The same seed leaves the same bytes; without random bits, others."""

    def memory(seed: int, stochastic: bool = True) -> bytes:
        one, (x, labels) = learner("mxfp8", seed, stochastic=stochastic), batch()
        one.step(x, labels)
        return one.memory.tobytes()

    assert memory(1) == memory(1)
    assert len({memory(1), memory(2), memory(1, stochastic=False)}) == 3


def test_momentum_and_the_sign_of_updates() -> None:
    one, (x, labels) = learner("int8", stochastic=False), batch()
    losses, velocity = [one.step(x, labels)], floats(one, "dw1")
    for number in range(1, 9):
        before, rate = (floats(one, "w1"), floats(one, "b1")), np.float32(RATES.at(number))
        losses.append(one.step(x, labels))
        velocity = (np.float32(RATES.momentum) * velocity + floats(one, "dw1")).astype(np.float32)
        near(floats(one, "w1.velocity"), velocity, 1e-6)
        updated = before[0] - rate * floats(one, "w1.velocity")
        near(floats(one, "w1"), BF16.to_float(BF16.encode(updated)), 2**-8)
        change = rate * floats(one, "b1.velocity")
        near(floats(one, "b1"), before[1] - change, 1e-6)
    assert losses[-1] < 0.8 * losses[0]
    due = cross_entropy(one.logits(x), labels)
    assert one.step(x, labels) == pytest.approx(due, rel=1e-12)


def test_updates_that_are_less_than_a_place_are_lost_to_nearest() -> None:
    """Not those that are rounded by chance: what rounding to nearest costs."""
    rates, (x, labels) = Rates(rate=2.0**-12, momentum=0.0, steps=40), batch()
    moved = {}
    for stochastic in (True, False):
        one = learner("mxfp8", stochastic=stochastic, rates=rates)
        before = floats(one, "w1")
        for _ in range(20):
            one.step(x, labels)
        moved[stochastic] = np.count_nonzero(floats(one, "w1") != before)
    assert moved[False] < 0.2 * moved[True]


@pytest.mark.parametrize("name", ["nvfp4", "int8"])
@pytest.mark.parametrize("language", ["python", "c"])
def test_drivers_leave_golden_bytes(library: Any, name: str, language: str) -> None:
    """Where the device's memory begins elsewhere, so that scales have other addresses, too."""
    golden, ours, (x, labels) = learner(name), learner(name), batch()
    program = ours.step_program.program
    memory, runner = (on_driver if language == "python" else on_c(library))(program)
    memory[:] = ours.memory
    ours.memory = memory
    for _ in range(2):
        assert golden.step(x, labels) == ours.step(x, labels, runner)
    for buffer in program.buffers.values():
        assert np.array_equal(buffer.view(golden.memory), buffer.view(memory)), buffer.name
