"""Train the handwritten-digits network and write its int8 weights: scripts/train/train_digits.py.

Prints the accuracy of the float network and of the int8 one on the test images. The seed is fixed;
the same versions of numpy and scikit-learn on the same kind of machine give the same file.
"""

import argparse
import math
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from sklearn.neural_network import MLPClassifier

from carrysave.data.digits import (
    CODES,
    Dense,
    IntArray,
    Network,
    all_images,
    matmul,
    split,
    train,
)

Floats = NDArray[np.float64]
OUT = Path(__file__).parents[2] / "carrysave" / "data" / "digits.npz"


def quantise(weights: Floats) -> tuple[IntArray, float]:
    """Return int8 codes -127..127 of weights and the value of one step."""
    step = float(np.abs(weights).max()) / CODES[1]
    return np.rint(weights / step).astype(np.int8), step


def fixed_point(factor: float) -> tuple[int, int]:
    """Return the 31-bit multiplier and the shift that stand for a factor below 1."""
    fraction, exponent = math.frexp(factor)
    return min(round(fraction * 2**31), 2**31 - 1), 31 - exponent


def integers(network: MLPClassifier, pixels: Floats) -> Network:
    """Return the int8 network nearest to a float one; `pixels` show what ranges occur."""
    (hidden_weights, output_weights), (hidden_bias, output_bias) = (
        network.coefs_,
        network.intercepts_,
    )
    pixel_step = 1 / 16
    w0, w0_step = quantise(hidden_weights)
    w1, w1_step = quantise(output_weights)

    # ReLU outputs use all 256 codes: the lowest code stands for 0.
    sums = pixels / 16 @ hidden_weights + hidden_bias
    hidden_step = float(sums.max()) / (CODES[1] - CODES[0])
    zero_point = CODES[0]
    multiplier, shift = fixed_point(pixel_step * w0_step / hidden_step)
    b0 = np.rint(hidden_bias / (pixel_step * w0_step))
    b1 = np.rint(output_bias / (hidden_step * w1_step)) - zero_point * w1.sum(0, dtype=np.int64)
    return Network((
        Dense(
            weights=w0,
            bias=b0.astype(np.int32),
            multiplier=multiplier,
            shift=shift,
            zero_point=zero_point,
        ),
        Dense(weights=w1, bias=b1.astype(np.int32)),
    ))


def write(network: Network, images: IntArray, labels: IntArray, path: Path) -> None:
    """Write a network and its test images as ``carrysave.data.digits.load`` reads them."""
    hidden, output = network.layers
    temporary = path.with_name("." + path.name)
    np.savez_compressed(
        temporary,
        hidden_weights=hidden.weights,
        hidden_bias=hidden.bias,
        hidden_multiplier=np.int64(hidden.multiplier),
        hidden_shift=np.int64(hidden.shift),
        hidden_zero_point=np.int64(hidden.zero_point),
        output_weights=output.weights,
        output_bias=output.bias,
        images=images,
        labels=labels,
    )
    temporary.replace(path)


def main() -> None:
    """Train, quantise, report, write."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--seed", type=int, default=0, help="of the training (default: 0)")
    parser.add_argument("-o", "--output", type=Path, default=OUT, help="(default: %(default)s)")
    options = parser.parse_args()

    pixels, labels = all_images()
    test = split(len(pixels))
    network = train(pixels[~test], labels[~test], options.seed)
    exact = integers(network, pixels[~test])
    images, digits = pixels[test].astype(np.uint8), labels[test].astype(np.uint8)
    right = exact.classify(images, matmul) == digits
    print(f"training images  {np.count_nonzero(~test)}")
    print(f"test images      {np.count_nonzero(test)}")
    print(f"float accuracy   {network.score(pixels[test] / 16, labels[test]):.2%}")
    print(f"int8 accuracy    {right.mean():.2%}")
    write(exact, images, digits, options.output)
    print(f"wrote            {options.output}")


if __name__ == "__main__":
    main()
