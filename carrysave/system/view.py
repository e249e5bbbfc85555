"""Output of ``carrysave soc``: a table and a few sentences."""

from collections.abc import Iterator, Mapping
from typing import Any

from rich.console import Console
from rich.table import Table

from carrysave.report import tables
from hw.emit.user_files import shown

__all__ = ["show"]


def show(console: Console, facts: Mapping[str, Any]) -> None:
    """Print the results."""
    title = (
        f"{facts['title']}: {facts['cpu']}, {facts['bus']}, {facts['memory']}, {facts['design']}"
    )
    if (ran := facts["simulation"] or facts["attached"]) is not None:
        console.print(_layers(title, ran["layers"]) if ran["layers"] else title)
        lines = _of_run(facts, ran)
    else:
        console.print(_parts(title, facts["bitstream"]))
        lines = _of_bitstream(facts, facts["bitstream"])
    tables.say(console, lines)


def _layers(title: str, layers: list[dict[str, Any]]) -> Table:
    table = Table(title=title, title_justify="left")
    for head in ("layer", "M x K x N", "cycles", "by the model", "apart", "differing codes"):
        table.add_column(head, justify="left" if head == "layer" else "right")
    for layer in layers:
        sizes = {" x ".join(map(str, shape)) for shape in layer["shapes"]}
        table.add_row(
            shown(layer["layer"], 40),
            ", ".join(sorted(sizes)),
            f"{layer['cycles']:,.0f}",
            f"{layer['cycles_by_model']:,}",
            f"{layer['deviation']:+.1%}",
            f"{layer['differ']:,} of {layer['codes']:,}" if layer["codes"] else "not in memory",
        )
    return table


def _of_run(facts: Mapping[str, Any], ran: Mapping[str, Any]) -> Iterator[str]:
    inputs, batch = ran["inputs"], ran["batch"]
    if ran["answer"] is not None:
        yield f"answer: {shown(ran['answer'], 200)}"
    unit = "inputs" if ran["answer"] is None else "tokens, the prompt's too"
    of_runs = f", {batch} in a run, as layers are counted" if batch > 1 else ""
    yield (
        f"{inputs} {unit}{of_runs}: {ran['cycles']:,.0f} cycles each, "
        f"{ran['frames_per_second']:,.0f} a second at {facts['clock_mhz']:g} MHz"
    )
    of = ran["cycles_of"]
    yield (
        f"of these {of['jobs']:,.0f} are jobs, {of['moves']:,.0f} moves by the processor,"
        f" {of['set_up']:,.0f} set-up"
    )
    if ran["right"] is not None:
        yield f"classes: {ran['right']} of {inputs} right"
    if ran.get("bytes"):
        memory = ran["difference"] or "as golden leaves them"
        yield f"all {ran['bytes']:,} bytes of memory: {memory}"
    wrong = ", ".join(ran["wrong"])
    yield f"NOT equal to the golden model: {wrong}" if wrong else "equal to the golden model"


def _parts(title: str, bitstream: Mapping[str, Any]) -> Table:
    table = Table(title=title, title_justify="left")
    table.add_column("")
    for head in ("used", "there", "share"):
        table.add_column(head, justify="right")
    for part, limit in bitstream["capacity"].items():
        used = bitstream[part]
        table.add_row(part, f"{used:,}", f"{limit:,}", f"{used / limit:.0%}")
    return table


def _of_bitstream(facts: Mapping[str, Any], bitstream: Mapping[str, Any]) -> Iterator[str]:
    verdict = "fast enough" if bitstream["ok"] else "TOO SLOW"
    yield f"up to {bitstream['fmax_mhz']:.1f} MHz, for {facts['clock_mhz']:g} MHz: {verdict}"
