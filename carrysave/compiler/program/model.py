"""From the file of a network to its program."""

from pathlib import Path

from carrysave.compiler.front.options import ReadOptions, sized
from carrysave.compiler.graph.names import within_file
from carrysave.compiler.passes.pipeline import PASSES, lower
from carrysave.compiler.program.head_ways import HeadWays
from carrysave.compiler.program.network import compile_network
from carrysave.compiler.program.program import Program
from carrysave.compiler.program.reasons import check_target
from carrysave.errors import needs

__all__ = ["program_of"]


def program_of(
    model: Path, ways: HeadWays, reading: ReadOptions, data: Path | None, batch: int
) -> Program:
    """Compile a network.

    Parameters
    ----------
    model : the file.
    ways : of attention, on a co-processor.
    reading : how it is read.
    data, batch : of :meth:`carrysave.compiler.front.options.ReadOptions.batch`.

    Raises
    ------
    ModuleNotFoundError, FileNotFoundError, FileError, UsageError, ValueError
        A package or file that is missing, or what cannot be compiled.
    """
    needs("onnxruntime")
    target = ways.target
    check_target(target)
    graph, samples = reading.read(model)
    inputs = reading.batch(graph, samples, data, batch)
    graph = sized(graph, inputs)
    with within_file(model):
        lowered = lower(graph, target, until=PASSES[-1].name, program=True, attention=ways)
        return compile_network(lowered, target, inputs, samples=samples)
