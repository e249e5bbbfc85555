"""The passes in their order: from a model's operators to those of the block."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import partial

from carrysave.compiler.graph.graph import Graph
from carrysave.compiler.lowered.encoded import Choice
from carrysave.compiler.lowered.heads import Choose
from carrysave.compiler.lowered.lowered import Lowered
from carrysave.compiler.passes.affine import affine
from carrysave.compiler.passes.arg_max import arg_max
from carrysave.compiler.passes.arithmetic import arithmetic
from carrysave.compiler.passes.attention import attention as expand_attention
from carrysave.compiler.passes.branches import branches
from carrysave.compiler.passes.concatenate import concatenate
from carrysave.compiler.passes.expand import expand
from carrysave.compiler.passes.experts import experts
from carrysave.compiler.passes.fall_back import without_subgraphs
from carrysave.compiler.passes.floats import read
from carrysave.compiler.passes.fold import fold
from carrysave.compiler.passes.linear import linear
from carrysave.compiler.passes.maps import maps
from carrysave.compiler.passes.products import products
from carrysave.compiler.passes.quantise_recurrent import quantise_recurrent
from carrysave.compiler.passes.setting import Setting
from carrysave.compiler.passes.states import states
from carrysave.compiler.passes.tables import tables
from carrysave.compiler.target.target import Target
from carrysave.errors import check_choice

__all__ = ["PASSES", "Pass", "lower", "passed", "rest", "stop_at"]


@dataclass(frozen=True, kw_only=True)
class Pass:
    """A step from one form of a model to another.

    Members
    -------
    name : of it.
    run : does it.
    exact : outputs and codes are those of before, bit for bit. If not, codes of a product may
        differ by one: sums are rounded once, by a multiplier and a shift, not in floats.
    """

    name: str
    run: Callable[[Lowered, Setting], Lowered]
    exact: bool = True


def _of_graph(change: Callable[[Graph], Graph]) -> Callable[[Lowered, Setting], Lowered]:
    """Make a pass of what changes a graph alone."""

    def run(lowered: Lowered, setting: Setting) -> Lowered:
        made = change(lowered.now)
        return lowered if made is lowered.now else replace(lowered, proto=made.proto)

    return run


PASSES = (
    Pass(name="expand", run=_of_graph(expand)),
    Pass(name="fold", run=_of_graph(fold)),
    Pass(
        name="attention",
        run=lambda lowered, setting: _of_graph(partial(expand_attention, setting=setting))(
            lowered, setting
        ),
        exact=False,
    ),
    Pass(name="experts", run=_of_graph(experts), exact=False),
    Pass(name="states", run=_of_graph(states), exact=False),
    Pass(name="branches", run=_of_graph(branches)),
    Pass(name="recurrent", run=_of_graph(quantise_recurrent), exact=False),
    Pass(
        name="subgraphs",
        run=lambda lowered, setting: without_subgraphs(lowered) if setting.fallback else lowered,
    ),
    Pass(name="arg_max", run=arg_max),
    Pass(name="affine", run=affine, exact=False),
    Pass(name="linear", run=linear, exact=False),
    Pass(name="products", run=products, exact=False),
    Pass(name="concatenate", run=lambda lowered, setting: concatenate(lowered)),
    Pass(
        name="tables",
        run=lambda lowered, setting: tables(lowered, apart=setting.target.spec.taps > 0),
    ),
    Pass(name="maps", run=maps, exact=False),
    Pass(name="arithmetic", run=lambda lowered, setting: arithmetic(lowered), exact=False),
)
"""In their order."""


def passed(
    graph: Graph, setting: Setting, until: str = PASSES[-1].name
) -> Iterator[tuple[Pass, Lowered]]:
    """Run the passes on a model up to one of them; yield each, and what it made."""
    lowered = Lowered(graph, graph.proto)
    for one in PASSES[: stop_at(until) + 1]:
        lowered = one.run(lowered, setting)
        yield one, lowered


def rest(lowered: Lowered, target: Target, after: str = "products") -> Lowered:
    """Run the passes behind one of them on what that one made."""
    setting = Setting(target=target)
    for one in PASSES[stop_at(after) + 1 :]:
        lowered = one.run(lowered, setting)
    return lowered


def stop_at(name: str) -> int:
    """Return the place of a pass.

    Raises
    ------
    ArgumentError
        There is none of this name.
    """
    names = [one.name for one in PASSES]
    check_choice("stop_after", name, names)
    return names.index(name)


def lower(
    graph: Graph,
    target: Target,
    choices: Mapping[str, Choice] | None = None,
    *,
    fallback: bool = False,
    without: Mapping[str, str] | None = None,
    until: str = "products",
    program: bool = False,
    attention: Choose | None = None,
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
        program=program,
        attention=attention,
    )
    *_, (_, lowered) = passed(graph, setting, until)
    return lowered
