"""The handwritten-digits network: exact integers, in range, accurate."""

from fractions import Fraction
from pathlib import Path

import numpy as np
import onnxruntime
import pytest

from carrysave.data.digits import CODES, IntArray, Network, load, matmul, requantise, split
from carrysave.data.digits_model import write_model

HALVED = {0: 0, 1: 0, -1: 0, 2: 1, 3: 2, -3: -2, 5: 2, 252: 126, 253: 126, 255: 127, 999: 127}
HALVED |= {-256: -128, -257: -128, -258: -128, 2**31 - 1: 127, -(2**31): -128}


@pytest.fixture(scope="module")
def digits() -> tuple[Network, IntArray, IntArray]:
    return load()


def logits_by_python_integers(network: Network, image: list[int]) -> list[int]:
    """Compute the network again, from the definition: unbounded integers, no numpy."""
    hidden, output = network.layers
    x = image
    sums = [
        sum(a * int(w) for a, w in zip(x, column, strict=True)) + int(bias)
        for column, bias in zip(hidden.weights.T, hidden.bias, strict=True)
    ]
    scaled = [round(Fraction(s * hidden.multiplier, 2**hidden.shift)) for s in sums]
    x = [max(hidden.zero_point, min(127, s + hidden.zero_point)) for s in scaled]
    return [
        sum(a * int(w) for a, w in zip(x, column, strict=True)) + int(bias)
        for column, bias in zip(output.weights.T, output.bias, strict=True)
    ]


def test_digits_run_matches_python_integers(digits: tuple[Network, IntArray, IntArray]) -> None:
    network, images, _ = digits
    chosen = np.vstack([images[::7], np.zeros((1, 64), np.uint8), np.full((1, 64), 16, np.uint8)])
    expected = [logits_by_python_integers(network, image.tolist()) for image in chosen]
    assert network.run(chosen, matmul).tolist() == expected


def test_digits_accuracy_is_at_least_96_percent(digits: tuple[Network, IntArray, IntArray]) -> None:
    network, images, labels = digits
    assert len(images) == len(labels) == 599
    assert np.mean(network.classify(images, matmul) == labels) >= 0.96


def test_digits_test_images_are_not_training_images() -> None:
    from sklearn.datasets import load_digits

    pixels, _ = load_digits(return_X_y=True)
    test = split(len(pixels))
    _, images, _ = load()
    assert np.array_equal(images, pixels[test])
    assert not {row.tobytes() for row in pixels[test]} & {row.tobytes() for row in pixels[~test]}


def test_digits_parameters_are_int8_and_cannot_overflow(
    digits: tuple[Network, IntArray, IntArray],
) -> None:
    network, _, _ = digits
    largest_input = 16
    for layer in network.layers:
        assert layer.weights.dtype == np.int8
        assert layer.bias.dtype == np.int32
        assert 0 <= layer.multiplier < 2**31
        worst = largest_input * np.abs(layer.weights.astype(np.int64)).sum(0)
        assert (worst + np.abs(layer.bias.astype(np.int64))).max() < 2**31
        largest_input = -CODES[0]
    assert 1 <= network.layers[0].shift <= 62
    assert CODES[0] <= network.layers[0].zero_point <= CODES[1]


def test_digits_products_are_of_int8_codes(digits: tuple[Network, IntArray, IntArray]) -> None:
    network, images, _ = digits
    seen: list[tuple[IntArray, IntArray]] = []

    def multiply(a: IntArray, b: IntArray) -> IntArray:
        seen.append((a, b))
        return matmul(a, b)

    network.run(images, multiply)
    assert [(a.shape, b.shape) for a, b in seen] == [
        ((599, 64), (64, 32)),
        ((599, 32), (32, 10)),
    ]
    assert all(a.dtype == b.dtype == np.int8 for a, b in seen)
    hidden = seen[1][0]
    assert (hidden.min(), hidden.max()) == CODES


def test_digits_see_one_wrong_bit(digits: tuple[Network, IntArray, IntArray]) -> None:
    network, images, _ = digits

    def wrong(a: IntArray, b: IntArray) -> IntArray:
        product = matmul(a, b)
        product[-1, -1] ^= 1
        return product

    assert not np.array_equal(network.run(images, wrong), network.run(images, matmul))


def test_digits_any_number_of_images(digits: tuple[Network, IntArray, IntArray]) -> None:
    network, images, _ = digits
    whole = network.run(images, matmul)
    assert network.run(images[:0], matmul).shape == (0, 10)
    assert np.array_equal(network.run(images[4:5], matmul), whole[4:5])


@pytest.mark.parametrize(("total", "code"), HALVED.items())
def test_digits_requantise_rounds_halves_to_even_and_saturates(total: int, code: int) -> None:
    sums = np.array([total], np.int32)
    assert requantise(sums, 2**30, 31, 0, *CODES).tolist() == [code]


def test_digits_requantise_is_exact_at_the_widest() -> None:
    sums = np.array([2**31 - 1, -(2**31)], np.int32)
    multiplier, shift = 2**31 - 1, 62
    expected = [round(Fraction(s * multiplier, 2**shift)) - 3 for s in sums.tolist()]
    assert requantise(sums, multiplier, shift, -3, *CODES).tolist() == expected


@pytest.mark.parametrize("shape", [(64,), (3, 63), (3, 8, 8)])
def test_digits_rejects_wrong_shape(
    digits: tuple[Network, IntArray, IntArray], shape: tuple[int, ...]
) -> None:
    with pytest.raises(
        ValueError, match=r"^images must be of shape \(count, 64\), not \("
    ) as error:
        digits[0].run(np.zeros(shape, np.uint8), matmul)
    assert str(shape) in str(error.value)


@pytest.mark.parametrize("pixel", [-1, 17])
def test_digits_rejects_out_of_range(
    digits: tuple[Network, IntArray, IntArray], pixel: int
) -> None:
    with pytest.raises(ValueError, match=rf"^images must be 0\.\.16, not {pixel}$"):
        digits[0].run(np.full((2, 64), pixel), matmul)


@pytest.mark.parametrize("images", [np.zeros((2, 64)), [[0] * 64]])
def test_digits_rejects_wrong_kind(
    digits: tuple[Network, IntArray, IntArray], images: IntArray
) -> None:
    with pytest.raises(TypeError, match=r"^images must be an array of integers, not "):
        digits[0].run(images, matmul)


def test_digits_rejects_wrong_products(digits: tuple[Network, IntArray, IntArray]) -> None:
    network, images, _ = digits
    with pytest.raises(ValueError, match=r"^product must be of shape \(599, 32\), not \(598, 32\)"):
        network.run(images, lambda a, b: matmul(a, b)[1:])
    with pytest.raises(ValueError, match=r"^product must be -2147483648\.\.2147483647, not "):
        network.run(images, lambda a, b: matmul(a, b).astype(np.int64) + 2**31)
    with pytest.raises(
        TypeError, match=r"^product must be an array of integers, not float64 array"
    ):
        network.run(images, lambda a, b: matmul(a, b).astype(float))


def test_model_is_the_network_as_onnxruntime_runs_it(
    digits: tuple[Network, IntArray, IntArray], tmp_path: Path
) -> None:
    """Logits are the network's, rounded once, halves to even, at a scale that holds all of them."""
    model, inputs, classes = write_model(tmp_path)
    network, images, labels = digits
    assert np.array_equal(np.load(inputs), images)
    assert np.array_equal(np.load(classes), labels)
    session = onnxruntime.InferenceSession(str(model))
    (codes,) = session.run(None, {"pixels": images.astype(np.int8)})
    logits = network.run(images, matmul)
    step = 1 << int(np.abs(logits).max() // 127).bit_length()
    assert np.array_equal(codes, np.rint(logits / step))
    assert np.abs(codes).max() >= 64
