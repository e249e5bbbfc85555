"""What the pages show: HTML of forms, ports, estimates and pictures."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from jinja2 import ChoiceLoader, FileSystemLoader
from markupsafe import Markup

from carrysave.api.design import Design
from carrysave.api.estimate import estimate
from carrysave.asic.libraries import TARGETS
from carrysave.errors import UsageError, remedy
from carrysave.exploration.estimate import shipped
from carrysave.report.page import TEMPLATES
from carrysave.studio.forms import Form, command_lines
from carrysave.studio.work import Worker
from hw.catalog import CATALOG, STAGES
from hw.emit.flat_ports import clock_and_reset, flat_ports

__all__ = ["ASSETS", "Estimated", "design_page", "index_page"]

_FOLDER = Path(__file__).parent / "page"
_THEIRS = TEMPLATES.loader
assert _THEIRS is not None
_OURS = TEMPLATES.overlay(loader=ChoiceLoader([FileSystemLoader(_FOLDER), _THEIRS]))
_STAGES = {
    "pe": "Elements",
    "tpe": "Integer engines",
    "npe": "Mixed precision, floats, scales",
    "soc": "Co-processors",
    "user": "Of other packages",
}
_PORTS = 400
"""Rows of ports at most."""
_WAVES = 1 << 20
"""Bytes of a picture that is a part of the page."""
_GROUPS = {
    "what": "What is computed",
    "how": "How it is built: no result changes",
    "engine": "The engine inside",
}
_TASKS = {
    "blocks": ("Draw its blocks", "Blocks"),
    "waves": ("Run a few transactions", "Waves"),
    "verilog": ("Make the Verilog", "Verilog"),
}
"""What may be asked for: the text of the button, and the title of what it makes."""


@dataclass(frozen=True)
class Estimated:
    """What is estimated of a design for a target.

    Members
    -------
    rows : figure, estimate, low, high; none if nothing is known.
    lines : what to know of them, or why there are none.
    """

    target: str
    rows: list[tuple[str, ...]]
    lines: list[str]


def _style() -> str:
    texts = (_OURS.get_template(name).render() for name in ("page.css", "studio.css"))
    return "\n".join(texts)


ASSETS = {
    "studio.css": ("text/css", _style),
    "studio.js": ("text/javascript", (_FOLDER / "studio.js").read_text),
}
"""Files of all pages: their types, and what reads them."""


def index_page() -> str:
    """Return the page with all designs."""
    return _OURS.get_template("index.html.j2").render(stages=_by_stage(), status=None, name="")


def design_page(form: Form, worker: Worker, *, problem: str = "") -> str:
    """Return the page of a design, with what is known of it at once and what jobs have made.

    Parameters
    ----------
    problem : why something that was asked for is refused.
    """
    design = form.design
    facts: dict[str, Any] = {"ports": [], "estimates": [], "commands": [], "pictures": []}
    if design is not None:
        facts = {
            "ports": list(_ports(design)),
            "estimates": [_estimated(design, target) for target in TARGETS if shipped(target)],
            "commands": command_lines(design),
            "pictures": [_picture(kind, design, worker) for kind in _TASKS],
        }
    return _OURS.get_template("design.html.j2").render(
        stages=_by_stage(),
        status=worker.status(),
        name=form.name,
        form=form,
        groups=[
            (title, [field for field in form.fields if field.group == group])
            for group, title in _GROUPS.items()
        ],
        tasks=_TASKS,
        most=_PORTS,
        problem=problem,
        **facts,
    )


def _by_stage() -> list[tuple[str, list[tuple[str, str]]]]:
    names: dict[str, list[tuple[str, str]]] = {stage: [] for stage in STAGES}
    for name, entry in CATALOG.items():
        names.setdefault(entry.stage, []).append((name, entry.summary))
    return [(_STAGES.get(stage, stage), designs) for stage, designs in names.items()]


def _ports(design: Design) -> Iterator[tuple[str, str, int, str]]:
    """Yield name, direction, bits and meaning of each port, as the manifest has them."""
    component = design.component()
    clock, reset = clock_and_reset(component)
    yield clock, "input", 1, "clock, rising edge"
    level = "low" if reset.endswith("n") else "high"
    yield reset, "input", 1, f"synchronous reset, {level}"
    for port in flat_ports(component):
        yield port.name, "input" if port.inward else "output", len(port.value), port.path


def _estimated(design: Design, target: str) -> Estimated:
    """Return the figures of a design, or why there are none."""
    try:
        result = estimate(design, target)
    except (UsageError, ValueError) as error:
        return Estimated(target, [], [f"Nothing is known: {error}."])
    except ModuleNotFoundError as error:
        return Estimated(target, [], [f"Estimates need {remedy(error.name) or error.name}."])
    rows = [
        (name, *(f"{one[part]:,.4g}" for part in ("estimate", "low", "high")))
        for name, one in result.figures.items()
    ]
    lines = [
        f"The interval holds for {result.level:.0%} of such designs,"
        f" from {result.measured} that were measured.",
        *(f"{note[:1].upper()}{note[1:]}." for note in result.notes),
    ]
    return Estimated(target, rows, lines)


def _picture(kind: str, design: Design, worker: Worker) -> Mapping[str, Any]:
    """Return what a job has made of a design, for the page."""
    made = worker.made(kind, design)
    path = None if made is None else worker.path(made.file)
    inside = None
    if kind == "waves" and path is not None and path.stat().st_size <= _WAVES:
        text = path.read_text()
        inside = Markup(text[text.index("<svg") :])  # drawn here: names are escaped
    return {"kind": kind, "title": _TASKS[kind][1], "made": made, "inside": inside}
