"""Handwritten digits: a small int8 network in which the matrix product is a parameter.

The network sees images of 8 x 8 pixels and computes in integers alone, so a product by numpy and a
product by hardware give the same logits, bit for bit. Its weights and the test images are in
``carrysave/data/digits.npz``, which ``python scripts/train/train_digits.py`` writes.

The images are a third of those in scikit-learn's ``load_digits``: part of "Optical Recognition of
Handwritten Digits" by E. Alpaydin and C. Kaynak, UCI Machine Learning Repository, CC BY 4.0.
"""

from collections.abc import Callable
from dataclasses import dataclass
from importlib.resources import as_file, files
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    from sklearn.neural_network import MLPClassifier

__all__ = [
    "CODES",
    "Dense",
    "Multiply",
    "Network",
    "all_images",
    "load",
    "matmul",
    "requantise",
    "split",
    "train",
]

IntArray = NDArray[np.integer[Any]]
Multiply = Callable[[IntArray, IntArray], IntArray]

CODES = (-128, 127)  # the range of int8 activations and weights
_SUMS = (-(1 << 31), (1 << 31) - 1)


@dataclass(frozen=True, kw_only=True)
class Dense:
    """One fully connected layer: weights, bias and, if hidden, what makes int8 of its sums.

    Parameters
    ----------
    weights : int8 array of shape (inputs, outputs)
        Two's complement codes.
    bias : int32 array of shape (outputs,)
        Added to the sums. It also takes the inputs' zero point back out.
    multiplier : int
        31-bit factor of the requantiser; 0 in the last layer, whose sums are the logits.
    shift : int
        Right shift of the requantiser, 1..62 bits; 0 in the last layer.
    zero_point : int
        Code that stands for 0 in this layer's outputs; as the lower clamp it is the ReLU.
    """

    weights: IntArray
    bias: IntArray
    multiplier: int = 0
    shift: int = 0
    zero_point: int = 0


@dataclass(frozen=True)
class Network:
    """Classifies images of handwritten digits, in integers.

    Parameters
    ----------
    layers : tuple of Layer
        In the order in which an image meets them.
    """

    layers: tuple[Dense, ...]

    def run(self, images: IntArray, multiply: Multiply) -> IntArray:
        """Return the logits of images, one row per image.

        Parameters
        ----------
        images : integer array of shape (count, 64)
            Pixels 0..16, row by row.
        multiply : callable
            ``multiply(a, b) -> c``: the exact matrix product of int8 codes, shapes (count, k),
            (k, n) and (count, n). It is called once per layer.

        Returns
        -------
        int32 array of shape (count, 10)

        Raises
        ------
        TypeError
            Images, or a product, are no array of integers.
        ValueError
            Images, or a product, have a wrong shape or values out of range.
        """
        inputs = self.layers[0].weights.shape[0]
        _check("images", images, (None, inputs), (0, 16))
        x: IntArray = images.astype(np.int8)
        for layer in self.layers[:-1]:
            sums = _sums(layer, x, multiply)
            zero, high = layer.zero_point, CODES[1]
            x = requantise(sums, layer.multiplier, layer.shift, zero, low=zero, high=high)
        return _sums(self.layers[-1], x, multiply)

    def classify(self, images: IntArray, multiply: Multiply) -> IntArray:
        """Return the digit 0..9 seen in each image, shape (count,); the arguments of `run`."""
        return self.run(images, multiply).argmax(axis=1)


def matmul(a: IntArray, b: IntArray) -> IntArray:
    """Return the exact product of two int8 matrices by numpy, as int32."""
    return a.astype(np.int32) @ b.astype(np.int32)


def requantise(
    sums: IntArray, multiplier: int, shift: int, zero_point: int, low: int, high: int
) -> IntArray:
    """Scale int32 sums to int8 codes: clamp(round(sum * multiplier / 2^shift) + zero).

    One rounding, to nearest, halves to even. `multiplier` has 31 bits, `shift` is 1..62.
    """
    # 32 by 31 bits is below 2^62, so the product cannot overflow.
    product = sums.astype(np.int64) * multiplier
    floor = product >> shift
    rest, half = product - (floor << shift), 1 << shift - 1
    up = (rest > half) | ((rest == half) & (floor & 1 == 1))
    return np.clip(floor + up + zero_point, low, high).astype(np.int8)


def all_images() -> tuple[NDArray[np.float64], NDArray[np.integer[Any]]]:
    """Return all images of scikit-learn's data, count x 64 of 0..16, and their labels."""
    from sklearn.datasets import load_digits

    data = load_digits()
    return data.data, data.target


def split(count: int) -> NDArray[np.bool_]:
    """Return which of `count` images test the network: every third. Training never sees those."""
    return np.arange(count) % 3 == 0


def train(
    pixels: NDArray[np.floating[Any]], labels: NDArray[np.integer[Any]], seed: int
) -> "MLPClassifier":
    """Return a float network, 64 inputs of 0..1, one hidden ReLU layer, 10 outputs.

    Parameters
    ----------
    pixels : of 0..16, count x 64.
    labels : digits.
    seed : of the first weights.
    """
    # Not needed to run a network that is trained.
    from sklearn.neural_network import MLPClassifier

    # alpha: the best of 0.001, 0.01, 0.1, 1 in five-fold cross-validation on the training images
    network = MLPClassifier((32,), alpha=0.1, max_iter=1000, random_state=seed)
    return network.fit(pixels / 16, labels)


def load() -> tuple[Network, IntArray, IntArray]:
    """Return the trained network, the test images and their labels.

    Returns
    -------
    network : Network
        64 inputs, 32 hidden, 10 outputs.
    images : uint8 array of shape (599, 64)
        Pixels 0..16.
    labels : uint8 array of shape (599,)
        The digit in each image, 0..9.
    """
    with as_file(files("carrysave") / "data" / "digits.npz") as path, np.load(path) as data:
        network = Network((
            Dense(
                weights=data["hidden_weights"],
                bias=data["hidden_bias"],
                multiplier=int(data["hidden_multiplier"]),
                shift=int(data["hidden_shift"]),
                zero_point=int(data["hidden_zero_point"]),
            ),
            Dense(weights=data["output_weights"], bias=data["output_bias"]),
        ))
        return network, data["images"], data["labels"]


def _sums(layer: Dense, x: IntArray, multiply: Multiply) -> IntArray:
    product = multiply(x, layer.weights)
    _check("product", product, (len(x), layer.weights.shape[1]), _SUMS)
    # The trainer keeps |product| + |bias| far below 2^31 for every input.
    return product.astype(np.int32) + layer.bias


def _check(
    name: str, array: IntArray, shape: tuple[int | None, int], bounds: tuple[int, int]
) -> None:
    if not isinstance(array, np.ndarray) or array.dtype.kind not in "iu":
        kind = f"{array.dtype} array" if isinstance(array, np.ndarray) else repr(array)
        raise TypeError(f"{name} must be an array of integers, not {kind}")
    rows, columns = shape
    if array.ndim != 2 or array.shape[1] != columns or rows not in (None, len(array)):
        legal = f"({'count' if rows is None else rows}, {columns})"
        raise ValueError(f"{name} must be of shape {legal}, not {array.shape}")
    if array.size and not bounds[0] <= array.min() <= array.max() <= bounds[1]:
        outside = array.min() if array.min() < bounds[0] else array.max()
        raise ValueError(f"{name} must be {bounds[0]}..{bounds[1]}, not {outside}")
