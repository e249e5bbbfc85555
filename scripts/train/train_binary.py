"""Train a binarised network for handwritten digits: scripts/train/train_binary.py FOLDER.

Weights and activations are -1 and 1, pixels too; gradients pass a sign as if it were not there,
where its input is within -1..1 (Courbariaux and others, 2016; the base of BiBench). Writes
digits_binary.onnx, in BipolarQuant of QONNX and MatMul, and pixels.npy and labels.npy of the test
images, for `carrysave run`. Prints the accuracy on these. The seed is fixed.
"""

import argparse
from pathlib import Path

import numpy as np
import onnx
from numpy.typing import NDArray
from onnx import TensorProto, helper, numpy_helper
from sklearn.datasets import load_digits

from carrysave.data.digits import split

Floats = NDArray[np.float64]
_DOMAIN = "qonnx.custom_op.general"
_MIDDLE = 7.5
"""Between dark and bright pixels, of 0..16."""


def signs(values: Floats) -> Floats:
    """Return 1 of what is 0 or more, else -1."""
    return np.where(values >= 0, 1.0, -1.0)


class Perceptron:
    """Two layers of binary weights: what is trained are floats, and shifts of hidden sums.

    Parameters
    ----------
    rng : of the first weights.
    widths : inputs, hidden signs, classes.
    """

    def __init__(self, rng: np.random.Generator, widths: tuple[int, int, int]) -> None:
        inputs, hidden, classes = widths
        self.numbers = [
            rng.uniform(-0.1, 0.1, (inputs, hidden)),
            rng.uniform(-0.1, 0.1, (hidden, classes)),
            np.zeros(hidden),
        ]
        self._moments = [(np.zeros_like(one), np.zeros_like(one)) for one in self.numbers]
        self._steps = 0

    def outputs(self, x: Floats) -> tuple[Floats, Floats]:
        """Return hidden sums, shifted, in units of their spread; and the sums of classes."""
        first, second, shift = self.numbers
        hidden = x @ signs(first) / np.sqrt(len(first)) + shift
        return hidden, signs(hidden) @ signs(second)

    def learn(self, x: Floats, labels: NDArray[np.int64], rate: float) -> None:
        """Make a step of Adam on the cross-entropy of a batch."""
        first, second, _ = self.numbers
        hidden, sums = self.outputs(x)
        scaled = sums / np.sqrt(len(second))
        shares = np.exp(scaled - scaled.max(axis=1, keepdims=True))
        shares /= shares.sum(axis=1, keepdims=True)
        shares[np.arange(len(x)), labels] -= 1
        shares /= len(x) * np.sqrt(len(second))
        back = shares @ signs(second).T * (np.abs(hidden) <= 1)
        gradients = [
            x.T @ back / np.sqrt(len(first)) * (np.abs(first) <= 1),
            signs(hidden).T @ shares * (np.abs(second) <= 1),
            back.sum(axis=0),
        ]
        self._steps += 1
        for number, gradient, (mean, spread) in zip(
            self.numbers, gradients, self._moments, strict=True
        ):
            mean += 0.1 * (gradient - mean)
            spread += 0.001 * (gradient**2 - spread)
            unbiased = np.sqrt(spread / (1 - 0.999**self._steps)) + 1e-8
            number -= rate * mean / (1 - 0.9**self._steps) / unbiased
        for weights in self.numbers[:2]:
            np.clip(weights, -1, 1, out=weights)

    def model(self) -> onnx.ModelProto:
        """Return the network in ONNX; sums of hidden signs have integer thresholds."""
        first, second, shift = self.numbers
        constants = {
            "middle": np.array(_MIDDLE),
            "one": np.array(1.0),
            "first": first,
            "second": second,
            "shift": shift * np.sqrt(len(first)),
        }
        quantise = [("dark", "a"), ("first", "b"), ("moved", "c"), ("second", "d")]
        nodes = [helper.make_node("Sub", ["x", "middle"], ["dark"])]
        quantisers = [
            helper.make_node("BipolarQuant", [x, "one"], [y], domain=_DOMAIN) for x, y in quantise
        ]
        nodes += quantisers[:2]
        nodes += [
            helper.make_node("MatMul", ["a", "b"], ["sums"]),
            helper.make_node("Add", ["sums", "shift"], ["moved"]),
            *quantisers[2:],
            helper.make_node("MatMul", ["c", "d"], ["y"]),
        ]
        x, y = (
            helper.make_tensor_value_info(name, TensorProto.FLOAT, ["batch", width])
            for name, width in (("x", len(first)), ("y", second.shape[1]))
        )
        tensors = [
            numpy_helper.from_array(np.asarray(values, np.float32), name)
            for name, values in constants.items()
        ]
        graph = helper.make_graph(nodes, "digits_binary", [x], [y], tensors)
        opsets = [helper.make_opsetid("", 17), helper.make_opsetid(_DOMAIN, 1)]
        return helper.make_model(graph, opset_imports=opsets, ir_version=9)


def main() -> None:
    """Train, write and print."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("folder", type=Path, help="of the model, its test images and labels")
    parser.add_argument("--hidden", type=int, default=128, help="hidden signs (default: 128)")
    parser.add_argument("--epochs", type=int, default=30, help="(default: 30)")
    parser.add_argument("--seed", type=int, default=0, help="of the training (default: 0)")
    options = parser.parse_args()

    pixels, labels = load_digits(return_X_y=True)
    test = split(len(pixels))
    rng = np.random.default_rng(options.seed)
    network = Perceptron(rng, (pixels.shape[1], options.hidden, 10))
    x, digits = signs(pixels[~test] - _MIDDLE), labels[~test].astype(np.int64)
    for epoch in range(options.epochs):
        rate = 0.01 * (1 - epoch / options.epochs)
        for batch in np.array_split(rng.permutation(len(x)), len(x) // 50):
            network.learn(x[batch], digits[batch], rate)
    _, sums = network.outputs(signs(pixels[test] - _MIDDLE))
    print(f"accuracy  {np.mean(sums.argmax(axis=1) == labels[test]):.2%}")
    options.folder.mkdir(parents=True, exist_ok=True)
    onnx.save(network.model(), options.folder / "digits_binary.onnx")
    np.save(options.folder / "pixels.npy", pixels[test].astype(np.float32))
    np.save(options.folder / "labels.npy", labels[test].astype(np.int64))
    print(f"wrote     {options.folder}")


if __name__ == "__main__":
    main()
