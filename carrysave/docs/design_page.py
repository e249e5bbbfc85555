"""A page for a design of the catalogue: all that the code knows of it."""

import inspect
import textwrap
from collections.abc import Iterator
from pathlib import Path

from carrysave.docs.evidence import tests_of
from carrysave.docs.figures import figures_of
from carrysave.docs.markdown import autodoc, code, table
from carrysave.docs.origins import origins_of
from carrysave.docs.samples import command_of, sample
from carrysave.drawings import block_diagram
from carrysave.drawings.structure import structure_of
from carrysave.drawings.timing import bench_tests, diagram
from carrysave.report import loop_nest
from hw.catalog import CATALOG, Design
from hw.emit.flat_ports import clock_and_reset, flat_ports

__all__ = ["write"]


def write(name: str, folder: Path, figures: Path) -> None:
    """Write the page of a design, and its pictures.

    Parameters
    ----------
    name : of the catalogue.
    folder : where.
    figures : the folder with the pages of figures.
    """
    small = sample(name)
    (folder / f"{name}.block.svg").write_text(block_diagram.draw(structure_of(small)))
    timing = diagram(small)
    if timing is not None:
        (folder / f"{name}.timing.svg").write_text(_coloured(timing[1]))
    parts = [
        *_head(name, small),
        *_parameters(name),
        *_ports(small),
        *_timing(small, timing),
        *_nest(name),
        *_figures(name, figures),
        *_evidence(name),
        *_python(name),
    ]
    (folder / f"{name}.md").write_text("\n\n".join(parts) + "\n")


def _head(name: str, small: Design) -> Iterator[str]:
    entry = CATALOG[name]
    yield f"# {name}"
    yield f"{entry.summary[:1].upper()}{entry.summary[1:]}."
    yield from origins_of(name)
    yield f"![submodules and streams of {name}]({name}.block.svg)"
    yield (
        f"`{command_of(small)}`, drawn from its netlist: boxes are submodules, lines are data with"
        " their bits, dashed lines control. Registers and memories are those of one submodule."
    )
    yield code(
        f"carrysave generate {name}\ncarrysave verify {name}\ncarrysave synth {name}", "console"
    )


def _parameters(name: str) -> Iterator[str]:
    entry = CATALOG[name]
    yield "## Parameters"
    yield (
        "Given by `-p NAME=VALUE`. Those of *what* change results; those of *how* change only how"
        " they are computed."
    )
    rows = [
        (
            f"`{key}`",
            "how" if key in entry.build else "what",
            f"`{_default(kind.default)}`",
            kind.legal,
            kind.doc,
        )
        for key, kind in entry.parameters.items()
    ]
    yield table(("parameter", "kind", "default", "legal", "meaning"), rows)
    if entry.engine is not None:
        yield "Parameters that it does not know go to the engine."


def _default(value: object) -> str:
    return str(getattr(value, "name", value)).lower() if isinstance(value, bool) else str(value)


def _ports(small: Design) -> Iterator[str]:
    component = small.component()
    clock, reset = clock_and_reset(component)
    yield "## Ports"
    yield f"Of `{command_of(small)}`. Element 0 of a row or column is in the lowest bits."
    level = "low" if reset.endswith("n") else "high"
    rows = [
        (f"`{clock}`", "input", 1, "clock, rising edge"),
        (f"`{reset}`", "input", 1, f"synchronous reset, {level}"),
        *(
            (
                f"`{port.name}`",
                "input" if port.inward else "output",
                len(port.value),
                f"`{port.path}`",
            )
            for port in flat_ports(component)
        ),
    ]
    yield table(("port", "direction", "bits", "is"), rows)


def _timing(small: Design, timing: tuple[str, str] | None) -> Iterator[str]:
    yield "## Timing"
    rows = []
    for design in (small, *_larger(small)):
        component = design.component()
        rows.append((
            f"`{command_of(design)}`",
            component.latency,
            f"{component.operations_per_cycle:,.4g}",
        ))
    yield table(("design", "latency, cycles", "operations per cycle"), rows)
    yield "A multiplication and an addition are two operations. The latency, as the code has it:"
    component = CATALOG[small.name].component
    owners = [one for one in component.__mro__ if isinstance(vars(one).get("latency"), property)]
    yield code(
        "\n".join(textwrap.dedent(inspect.getsource(vars(one)["latency"].fget)) for one in owners),
        "python",
    )
    if timing is not None:
        yield f"![streams of {small.name}]({small.name}.timing.svg)"
        yield (
            f"`{command_of(small)}` in simulation: how `{timing[0]}` of its bench begins, in reset."
        )


def _larger(small: Design) -> Iterator[Design]:
    """Yield a design with each side doubled, and with one more pipeline register."""
    kinds = small.entry.parameters
    for key in ("m", "n", "k", "pipeline"):
        if key in kinds:
            value = small.parameters[key]
            try:
                yield Design(
                    small.name,
                    {**small.parameters, key: value + 1 if key == "pipeline" else 2 * value},
                )
            except ValueError:
                continue


def _nest(name: str) -> Iterator[str]:
    try:
        text = loop_nest.describe(Design(name))
    except ValueError:
        return
    yield "## Loop nest"
    yield f"As `carrysave show {name}` prints it."
    yield code(text)


def _figures(name: str, folder: Path) -> Iterator[str]:
    tables = figures_of(name, folder)
    if not tables:
        return
    yield "## Figures"
    for one in tables:
        yield f"Tier: {one.tier} ([{one.section}](../../figures/{one.page}.md))."
        yield table(one.heads, [[cell.replace("\\|", "|") for cell in row] for row in one.rows])


def _evidence(name: str) -> Iterator[str]:
    entry = CATALOG[name]
    yield "## How it is verified"
    yield "\n".join(f"- {one[:1].upper()}{one[1:]}." for one in entry.evidence)
    yield f"Tests of its bench, `{entry.bench}`:"
    tests = [(f"`{test}`", said) for test, said in bench_tests(Design(name)).items()]
    yield table(("test", "what it does"), tests)
    files = [f"`{path}`" for path in tests_of(name)]
    if files:
        yield f"Named by {', '.join(files)}."


def _python(name: str) -> Iterator[str]:
    entry = CATALOG[name]
    component = entry.component
    yield "## In Python"
    yield autodoc("class", f"{component.__module__}.{component.__qualname__}", "noindex")
    yield autodoc("class", f"{entry.spec.__module__}.{entry.spec.__qualname__}", "noindex")
    yield autodoc("function", f"{entry.golden.__name__}.{name}", "noindex")


def _coloured(svg: str) -> str:
    """Give a picture a background, as it is shown on its own."""
    head, close, rest = svg.partition(">")
    return f'{head}{close}<rect width="100%" height="100%" fill="white"/>{rest}'
