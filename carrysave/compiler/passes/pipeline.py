"""The passes in their order: from a model's operators to those of the block."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace

from carrysave.compiler.graph.graph import Graph
from carrysave.compiler.lowered.encoded import Choice
from carrysave.compiler.lowered.lowered import Lowered
from carrysave.compiler.passes.arithmetic import arithmetic
from carrysave.compiler.passes.branches import branches
from carrysave.compiler.passes.concatenate import concatenate
from carrysave.compiler.passes.expand import expand
from carrysave.compiler.passes.fall_back import without_subgraphs
from carrysave.compiler.passes.floats import read
from carrysave.compiler.passes.fold import fold
from carrysave.compiler.passes.maps import maps
from carrysave.compiler.passes.products import products
from carrysave.compiler.passes.quantise_recurrent import quantise_recurrent
from carrysave.compiler.passes.setting import Setting
from carrysave.compiler.passes.tables import tables
from carrysave.compiler.target.target import Target
from carrysave.errors import UsageError

__all__ = ["PASSES", "Pass", "lower", "passed", "stop_at"]


@dataclass(frozen=True, kw_only=True)
class Pass:
    """A step from one form of a model to another.

    Members
    -------
    name : of it.
    about : what it does, in a sentence.
    run : does it.
    exact : outputs and codes are those of before, bit for bit. If not, codes of a product may
        differ by one: sums are rounded once, by a multiplier and a shift, not in floats.
    """

    name: str
    about: str
    run: Callable[[Lowered, Setting], Lowered]
    exact: bool = True


def _of_graph(change: Callable[[Graph], Graph]) -> Callable[[Lowered, Setting], Lowered]:
    """Make a pass of what changes a graph alone."""

    def run(lowered: Lowered, setting: Setting) -> Lowered:
        made = change(lowered.now)
        return lowered if made is lowered.now else replace(lowered, proto=made.proto)

    return run


PASSES = (
    Pass(
        name="expand",
        about="operators of onnxruntime become ONNX's, between quantisers",
        run=_of_graph(expand),
    ),
    Pass(
        name="fold",
        about="what constants compute becomes a constant",
        run=_of_graph(fold),
    ),
    Pass(
        name="branches",
        about="an If that constants decide becomes the branch that is taken",
        run=_of_graph(branches),
    ),
    Pass(
        name="recurrent",
        about="LSTMs and GRUs in floats get weights of codes, where a program is made",
        run=lambda lowered, setting: (
            _of_graph(quantise_recurrent)(lowered, setting) if setting.recurrent else lowered
        ),
        exact=False,
    ),
    Pass(
        name="subgraphs",
        about="nodes with subgraphs go to onnxruntime, where that is allowed",
        run=lambda lowered, setting: without_subgraphs(lowered) if setting.fallback else lowered,
    ),
    Pass(
        name="products",
        about="products, with their quantisers, limits and biases, become nodes of the block",
        run=products,
        exact=False,
    ),
    Pass(
        name="concatenate",
        about="parts are quantised before they are put together, each by itself",
        run=lambda lowered, setting: concatenate(lowered),
    ),
    Pass(
        name="tables",
        about="operators between codes become tables, and codes move in place of floats",
        run=lambda lowered, setting: tables(lowered),
    ),
    Pass(
        name="maps",
        about="tables that are sums, products or the greater of two become jobs on maps",
        run=maps,
        exact=False,
    ),
    Pass(
        name="arithmetic",
        about="floats between products become those of a processor beside the block",
        run=lambda lowered, setting: arithmetic(lowered),
        exact=False,
    ),
)
"""In their order."""


def passed(
    graph: Graph, setting: Setting, until: str = PASSES[-1].name
) -> Iterator[tuple[Pass, Lowered]]:
    """Run the passes on a model up to one of them; yield each, and what it made."""
    lowered = Lowered(graph, graph.proto, [], {})
    for one in PASSES[: stop_at(until) + 1]:
        lowered = one.run(lowered, setting)
        yield one, lowered


def stop_at(name: str) -> int:
    """Return the place of a pass.

    Raises
    ------
    UsageError
        There is none of this name.
    """
    names = [one.name for one in PASSES]
    if name not in names:
        raise UsageError(f"pass must be one of {', '.join(names)}, not {name!r}")
    return names.index(name)


def lower(
    graph: Graph,
    target: Target,
    choices: Mapping[str, Choice] | None = None,
    *,
    fallback: bool = False,
    without: Mapping[str, str] | None = None,
    until: str = "products",
) -> Lowered:
    """Run the passes up to one of them; see :class:`.setting.Setting`.

    Parameters
    ----------
    choices : None: those in the model.
    until : name of the pass.

    Raises
    ------
    RefusedError
        Nodes that cannot run, each with its reason; a model without quantised products.
    """
    setting = Setting(
        target=target,
        choices=read(graph) if choices is None else choices,
        fallback=fallback,
        without=without or {},
        recurrent=until == PASSES[-1].name,
    )
    *_, (_, lowered) = passed(graph, setting, until)
    return lowered
