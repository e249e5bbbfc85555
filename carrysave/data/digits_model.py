"""The digits network as quantisers write one, in ONNX, with the images that it is tested on."""

from pathlib import Path
from typing import Any

import numpy as np

from carrysave import cache
from carrysave.data import digits

__all__ = ["write_model"]

_DOMAIN = "com.microsoft"


def write_model(folder: Path) -> tuple[Path, Path, Path]:
    """Write the network of :mod:`carrysave.data.digits` as a model, its test images and labels.

    Layers are QGemm, with zero points and biases as onnxruntime's quantisers have them; logits are
    codes of 8 bits, at the least scale, a power of two, that holds all of them.

    Returns
    -------
    Paths of ``digits.onnx``, of inputs, int8 of count x 64, and of labels, as ``carrysave run``
    takes them.
    """
    import onnx
    from onnx import TensorProto, helper, numpy_helper

    network, images, labels = digits.load()
    constants: list[Any] = []

    def constant(name: str, value: Any) -> str:
        constants.append(numpy_helper.from_array(np.asarray(value), name))
        return name

    most = int(np.abs(network.run(images, digits.matmul)).max())
    nodes, now, scale, zero = [], "pixels", 1.0, 0
    for number, layer in enumerate(network.layers):
        last = not layer.multiplier
        # The layer's bias takes the zero point of its inputs out, which QGemm does by itself.
        bias = layer.bias + zero * layer.weights.astype(np.int32).sum(axis=0)
        inputs = [
            now,
            constant(f"scale_in{number}", np.float32(scale)),
            constant(f"zero_in{number}", np.int8(zero)),
            constant(f"weights{number}", layer.weights.astype(np.int8)),
            constant(f"scale_of_weights{number}", np.float32(1)),
            constant(f"zero_of_weights{number}", np.int8(0)),
            constant(f"bias{number}", bias.astype(np.int32)),
        ]
        step = 1 << (most // digits.CODES[1]).bit_length() if last else _step(layer)
        scale, zero = scale * step, 0 if last else layer.zero_point
        inputs += [
            constant(f"scale_out{number}", np.float32(scale)),
            constant(f"zero_out{number}", np.int8(zero)),
        ]
        now = "logits" if last else f"codes{number}"
        nodes.append(helper.make_node("QGemm", inputs, [now], now, domain=_DOMAIN))
    graph = helper.make_graph(
        nodes,
        "digits",
        [helper.make_tensor_value_info("pixels", TensorProto.INT8, ["count", images.shape[1]])],
        [helper.make_tensor_value_info("logits", TensorProto.INT8, ["count", 10])],
        constants,
    )
    opsets = [helper.make_opsetid("", 17), helper.make_opsetid(_DOMAIN, 1)]
    model = helper.make_model(graph, opset_imports=opsets, ir_version=9)
    onnx.checker.check_model(model)
    paths = folder / "digits.onnx", folder / "images.npy", folder / "labels.npy"
    folder.mkdir(parents=True, exist_ok=True)
    cache.write(paths[0], model.SerializeToString())
    np.save(paths[1], images.astype(np.int8))
    np.save(paths[2], labels)
    return paths


def _step(layer: digits.Dense) -> float:
    """Return how many sums' units a code of a hidden layer has."""
    return float(2.0**layer.shift / layer.multiplier)
