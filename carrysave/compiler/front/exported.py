"""Programs of torch.export as ONNX models; each operator must make what torch makes of the same."""

import io
import logging
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
from onnx import ModelProto
from onnx.reference import ReferenceEvaluator

from carrysave.compiler.graph.names import label, within_file
from carrysave.errors import needs
from hw.emit.user_files import TENSORS, FileError, read

__all__ = ["SUFFIX", "check", "converted"]

SUFFIX = ".pt2"
"""Of files that ``torch.export.save`` writes."""
_APART = 1e-4
"""Most that floats differ by, of the largest: sums in another order."""


def converted(path: Path, folder: Path) -> Path:
    """Write a program as an ONNX model, and check that.

    The file is torch's own, and read by torch: nothing keeps one of an evil source from harm.

    Parameters
    ----------
    path : of ``torch.export.save``, with the example inputs that it was exported with.
    folder : where the model goes.

    Raises
    ------
    FileError
        It is no program, or has an operator that ONNX has not, or that makes something else there.
    """
    needs("torch", "onnxscript")
    data = read(path, TENSORS)
    import torch  # slow to load

    with _quiet():
        try:
            program = torch.export.load(io.BytesIO(data))
            model: ModelProto = torch.onnx.export(program, dynamo=True, verbose=False).model_proto
        except Exception as error:  # any: as many as torch has
            why = " ".join(str(error).split()) or type(error).__name__
            raise FileError(path, f"no program that becomes an ONNX model: {why[:300]}") from None
        with within_file(path):
            check(program, model)
    made = folder / f"{path.stem}.onnx"
    made.write_bytes(model.SerializeToString())
    return made


def check(program: Any, model: ModelProto) -> int:
    """Compare operators of a model with those of its program, each fed torch's own values.

    Parameters
    ----------
    program : ``torch.export.ExportedProgram``.
    model : made of it; its tensors have the names of the program's nodes.

    Returns
    -------
    How many tensors were compared.

    Raises
    ------
    ValueError
        Names the first operator that makes something else, or what is missing for that.
    """
    if program.example_inputs is None:
        raise ValueError("the program must have the example inputs that it was exported with")
    known, inputs = _values(program)
    evaluator: Any = ReferenceEvaluator(model)
    names = [one.name for one in model.graph.input]
    values = {"": None, **evaluator.rt_inits_, **dict(zip(names, inputs, strict=True))}
    count = 0
    for node in evaluator.rt_nodes_:
        with warnings.catch_warnings(), np.errstate(all="ignore"):
            warnings.simplefilter("ignore")
            made = node.run(*(values[name] for name in node.input))
        for name, value in zip(node.output, made, strict=False):
            wanted = known.get(name)
            values[name] = value if wanted is None else wanted
            if wanted is not None:
                count += 1
                _compare(node.onnx_node, np.asarray(value), wanted)
    if not count:
        raise ValueError("the model must have tensors of the program's names, to be compared")
    return count


def _compare(node: Any, made: np.ndarray, wanted: np.ndarray) -> None:
    if (made.shape, made.dtype) != (wanted.shape, wanted.dtype):
        raise ValueError(
            f"{label(node)}: must make {wanted.dtype} {wanted.shape}, as torch does, not "
            f"{made.dtype} {made.shape}"
        )
    if not made.size:
        return
    apart = float(np.nanmax(np.abs(made.astype(np.float64) - wanted.astype(np.float64))))
    same = np.array_equal(np.isnan(made), np.isnan(wanted)) if made.dtype.kind == "f" else True
    most = float(np.nanmax(np.abs(wanted.astype(np.float64))))
    # Codes at a tie are one apart: torch multiplies by one over the step.
    legal = _APART * most if made.dtype.kind == "f" else float(node.op_type == "QuantizeLinear")
    if not same or not apart <= legal:
        raise ValueError(
            f"{label(node)}: must make what torch makes, within {legal:g}, not {apart:g} from it"
        )


def _values(program: Any) -> tuple[dict[str, np.ndarray], list[np.ndarray]]:
    """Run a program on its example inputs; return all tensors by name, and those inputs."""
    import torch
    from torch.utils import _pytree as trees

    known: dict[str, np.ndarray] = {}

    class Recorder(torch.fx.Interpreter):  # type: ignore[misc]
        def run_node(self, n: Any) -> Any:
            made = super().run_node(n)
            if isinstance(made, torch.Tensor) and n.op == "call_function":
                known[n.name] = made.detach().numpy()
            return made

    arguments, keywords = program.example_inputs
    leaves = trees.tree_leaves((arguments, keywords))
    with torch.no_grad():
        Recorder(program.module()).run(*leaves)
    return known, [np.asarray(one) for one in leaves]


@contextmanager
def _quiet() -> Iterator[None]:
    """Keep torch from telling what it lacks."""
    before = logging.root.manager.disable
    logging.disable(logging.WARNING)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            yield
    finally:
        logging.disable(before)
