"""``carrysave precision``: its options, checked before anything runs, and its output files."""

import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from carrysave import cache
from carrysave.asic.liberty.cells import Library
from carrysave.compiler.front.inputs import batch_of, read_inputs, read_labels
from carrysave.compiler.front.onnx_model import load
from carrysave.compiler.graph.names import within_file
from carrysave.compiler.passes.floats import with_choices
from carrysave.compiler.run.outputs import folder_name
from carrysave.compiler.target import energy
from carrysave.compiler.target.target import Target
from carrysave.errors import UsageError, check_choice, needs
from carrysave.precision import layers as products
from carrysave.precision import sensitivity, view
from carrysave.precision.assess import Judge, Outcome
from carrysave.precision.options import BUDGETS, Options, Pair
from carrysave.precision.sensitivity import Option
from carrysave.progress import Steps
from hw.catalog import Design

__all__ = ["BUDGETS", "PAIRS", "PrecisionRequest", "execute"]

PAIRS = ("same", "all")
"""Both operands in the same format, or in any pair."""
_EPOCHS = 1000
"""Most of fine-tuning."""


@dataclass(frozen=True, kw_only=True)
class PrecisionRequest:
    """A request for a choice of formats.

    Parameters
    ----------
    model, calibration : files.
    data, labels : files for the evaluation; None: the calibration inputs.
    design : a co-processor around an engine of several formats.
    formats : names; empty: all of the engine's.
    pairs : one of :data:`PAIRS`.
    budgets : such as ``bytes=50%``, ``bytes=int8``, ``cycles=20000``, ``energy=1.5``.
    against : names of formats to compare with, each for all layers.
    fine_tune : epochs in which weights are fitted to the chosen formats, on the calibration inputs.
    batch : batch size; None: the model's, or 8.
    library : for energy; None: none.
    """

    model: Path
    calibration: Path
    data: Path | None
    labels: Path | None
    design: Design
    formats: Sequence[str]
    pairs: str
    budgets: Sequence[str]
    batch: int | None
    library: "str | Library | None"
    against: Sequence[str] = ()
    fine_tune: int = 0

    def __post_init__(self) -> None:
        """Check the options."""
        check_choice("--pairs", self.pairs, PAIRS)
        if self.batch is not None and self.batch < 1:
            raise UsageError(f"--batch must be 1 or more, not {self.batch}")
        if not 0 <= self.fine_tune <= _EPOCHS:
            raise UsageError(f"--fine-tune must be 0..{_EPOCHS} epochs, not {self.fine_tune}")
        if not self.budgets:
            raise UsageError("--budget must be given, such as bytes=50%")
        kinds = [self._budget(text)[0] for text in self.budgets]
        if len(set(kinds)) < len(kinds):
            raise UsageError("--budget must be given once for each kind")
        if "energy" in kinds and self.library is None:
            raise UsageError("--energy must be osu018 or a Liberty file for a budget of energy")

    def _budget(self, text: str) -> tuple[str, float | str, bool]:
        """Parse a budget: its kind, its number or format, and whether a number is relative."""
        kind, _, number = text.partition("=")
        relative = number.endswith("%")
        if kind in BUDGETS and number in Target(self.design, golden=True).formats:
            return kind, number, False
        try:
            value = float(number.removesuffix("%"))
        except ValueError:
            value = -1.0
        if kind not in BUDGETS or not 0 <= value < float("inf"):
            legal = ", ".join(f"{one}=NUMBER" for one in BUDGETS)
            raise UsageError(
                f"--budget must be one of {legal}, NUMBER%, or a format of the engine, not {text!r}"
            )
        return kind, value / 100 if relative else value, relative

    @property
    def others(self) -> list[str]:
        """Formats that are not chosen from, but compared with, or budgets."""
        numbers = [self._budget(text)[1] for text in self.budgets]
        return [*self.against, *(one for one in numbers if isinstance(one, str))]

    def limits(self, options: Options, pairs: Sequence[Pair]) -> dict[str, float]:
        """Return the limit of each kind; numbers in % are of the costliest of these pairs.

        Raises
        ------
        UsageError
            A format that a layer cannot have.
        """
        limits = {}
        for text in self.budgets:
            kind, value, relative = self._budget(text)
            if isinstance(value, str):
                if not options.has((value, value)):
                    raise UsageError(f"--budget must be a format that all layers take, not {text}")
                limits[kind] = options.cost(options.alike((value, value)), kind)
            else:
                limits[kind] = value * options.most(pairs, kind) if relative else value
        return limits


def execute(request: PrecisionRequest, folder: Path, steps: Steps, command: str) -> dict[str, Any]:
    """Choose formats, and write the model with them, figures, tables and a picture.

    Returns
    -------
    A dict of plain values: ``model``, ``design``, ``command``, ``layers`` with what was chosen and
    the ``sensitivity`` to each pair, ``limits``, ``chosen``, ``tuned``, ``uniform`` and ``pareto``
    outcomes, ``energy``, ``files``.
    """
    needs("onnxruntime", "scipy", "matplotlib", *(["jax"] if request.fine_tune else []))
    steps.step(f"read {request.model.name}")
    graph = load(request.model)
    calibration = read_inputs(request.calibration, graph, "--calibration")
    data = calibration if request.data is None else read_inputs(request.data, graph, "--input")
    labels = read_labels(request.labels, len(next(iter(data.values()))))
    sizes = [batch_of(request.batch, graph, inputs) for inputs in (calibration, data)]
    target = Target(request.design, golden=True)
    pairs, every = _pairs(request, target)
    with within_file(request.model):
        layers = products.find(graph, calibration, sizes[0])
    spent = None
    if request.library is not None:
        names = [" x ".join(pair) for pair in every]
        for note in () if isinstance(request.library, str) else request.library.notes:
            steps.remark(note)
        spent = energy.measure(target, names, request.library, steps)
    with within_file(request.model):
        table = sensitivity.measure(
            graph, target, layers, every, calibration, batch=sizes[0], energy=spent, steps=steps
        )
    options = Options(table)
    limits = request.limits(options, pairs)
    taken = options.mix(pairs, limits)

    judge = Judge(graph, target, layers, data, labels, sizes[1])

    def assess(name: str, picks: Sequence[Pair]) -> Outcome:
        steps.step(f"judge {name}")
        return judge.assess(
            name, [options[pick] for options, pick in zip(table, picks, strict=True)]
        )

    chosen = assess("chosen", taken)
    alike = {
        f"all {' x '.join(dict.fromkeys(pair))}": options.alike(pair)
        for pair in every
        if pair[0] == pair[1] and options.has(pair)
    }
    uniform = [assess(name, picks) for name, picks in alike.items()]
    kind = next(iter(limits))
    pareto = [
        assess(f"{kind} {limit:,.{3 if kind == 'energy' else 0}f}", picks)
        for limit, picks in options.front(pairs, kind)
        if picks not in (taken, *alike.values())
    ]
    chosen_options = [own[pick] for own, pick in zip(table, taken, strict=True)]
    choices = {
        layer.name: option.choice for layer, option in zip(layers, chosen_options, strict=True)
    }
    tuned = None
    if request.fine_tune:
        from carrysave.precision.tuning import tune  # needs jax, which is slow to load

        with within_file(request.model):
            graph = tune(
                graph, choices, target.formats, calibration, epochs=request.fine_tune, steps=steps
            ).graph
        steps.step("judge fine-tuned")
        tuned = judge.assess("fine-tuned", chosen_options, graph)
    facts = {
        "model": request.model.name,
        "command": command,
        "design": target.design.module,
        "calibration": len(next(iter(calibration.values()))),
        "judged": len(next(iter(data.values()))),
        "limits": limits,
        "layers": [
            {
                "layer": layer.name,
                "operator": layer.node.op_type,
                **_plain(option),
                "sensitivity": {" x ".join(pair): _plain(other) for pair, other in own.items()},
            }
            for layer, option, own in zip(layers, chosen_options, table, strict=True)
        ],
        "chosen": asdict(chosen),
        "tuned": asdict(tuned) if tuned else None,
        "uniform": [asdict(one) for one in uniform],
        "pareto": [asdict(one) for one in pareto],
        "energy": asdict(spent) if spent else None,
    }
    own = folder / "precision" / folder_name(request.model)
    model = with_choices(graph, choices)
    contents = {
        request.model.name: model.SerializeToString(),
        "precision.svg": view.draw(facts),
        "precision.md": view.markdown(facts).encode(),
    }
    files = [cache.write(own / name, content) for name, content in contents.items()]
    facts["files"] = [str(path) for path in (*files, own / "precision.json")]
    cache.write(own / "precision.json", json.dumps(facts, indent=2) + "\n")
    return facts


def _pairs(request: PrecisionRequest, target: Target) -> tuple[list[Pair], list[Pair]]:
    """List the pairs of formats to choose from, and these with those to compare with."""
    if not target.formats:
        raise UsageError("engine must have several formats, such as npe, to choose from")
    for option, given in (("--formats", request.formats), ("--against", request.against)):
        for name in given:
            if name not in target.formats:
                has = ", ".join(target.formats)
                raise UsageError(f"{option} must be of {has}, which the engine has, not {name!r}")
    names = list(dict.fromkeys(request.formats)) or list(target.formats)
    if request.pairs == "same":
        pairs = [(name, name) for name in names]
    else:
        pairs = [(a, b) for a in names for b in names]
    return pairs, list(dict.fromkeys([*pairs, *((name, name) for name in request.others)]))


def _plain(option: Option) -> dict[str, Any]:
    facts = asdict(option)
    return {**facts.pop("choice"), **facts}
