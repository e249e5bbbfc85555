"""``carrysave precision``: its options, checked before anything runs, and its output files."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from onnx import ModelProto

from carrysave import cache
from carrysave.compiler.front.inputs import batch_of, read_inputs, read_labels
from carrysave.compiler.graph.names import within_file
from carrysave.compiler.passes.floats import with_choices
from carrysave.compiler.run.outputs import folder_name
from carrysave.compiler.target import energy
from carrysave.compiler.target.target import Target
from carrysave.errors import UsageError, needs, refusal
from carrysave.precision import layers as products
from carrysave.precision import picture, sensitivity, view
from carrysave.precision.assess import Judge
from carrysave.precision.batches import Batches
from carrysave.precision.options import Options, Pair, is_split, name_of
from carrysave.precision.request import PrecisionRequest
from carrysave.precision.sensitivity import Option
from carrysave.precision.splits import SplitFormats, splits_of
from carrysave.progress import Steps

__all__ = ["execute"]


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
    graph, samples = request.reading.read(request.model)
    request.check_samples(samples)
    calibration = read_inputs(request.calibration, graph, "calibration", samples)
    data = calibration if request.data is None else read_inputs(request.data, graph, "x", samples)
    labels = read_labels(request.labels, samples.count(data))
    given, judged = (
        Batches(inputs, batch_of(request.batch, graph, inputs, samples), samples)
        for inputs in (calibration, data)
    )
    target = Target(request.design, golden=True)
    pairs, every, splits = _pairs(request, target)
    with within_file(request.model):
        layers = products.find(graph, given)
    spent = _energy(request, target, every, steps)
    with within_file(request.model):
        more: Any = {"splits": splits, "energy": spent, "steps": steps}
        table = sensitivity.measure(graph, target, layers, every, given, **more)
    options = Options(table)
    limits, taken = _picked(request, options, pairs, splits)
    judge = Judge(graph, target, layers, judged, labels)
    outcomes = _outcomes(judge, options, table, (pairs, every), (limits, taken), steps)
    chosen = [row[pick] for row, pick in zip(table, taken, strict=True)]
    choices = {layer.name: option.choice for layer, option in zip(layers, chosen, strict=True)}
    tuned = None
    if request.fine_tune:
        from carrysave.precision.tuning import tune  # needs jax, which is slow to load

        with within_file(request.model):
            epochs = request.fine_tune
            graph = tune(
                graph, choices, target.formats, calibration, epochs=epochs, steps=steps
            ).graph
        steps.step("judge fine-tuned")
        tuned = judge.assess("fine-tuned", chosen, graph)
    facts = {
        "model": request.model.name,
        "command": command,
        "design": target.design.module,
        "calibration": given.count,
        "judged": judged.count,
        "limits": limits,
        "layers": _layers(layers, chosen, table),
        "chosen": outcomes["chosen"],
        "tuned": asdict(tuned) if tuned else None,
        "uniform": outcomes["uniform"],
        "pareto": outcomes["pareto"],
        "energy": asdict(spent) if spent else None,
    }
    return _written(facts, request.model, with_choices(graph, choices), folder)


def _picked(
    request: PrecisionRequest,
    options: Options,
    pairs: Sequence[Pair],
    splits: Mapping[Pair, SplitFormats],
) -> tuple[dict[str, float], list[Pair]]:
    """Return the limits, and the pair of each layer.

    Without a budget, all that can be is split, by the first share; the rest has the wider format.
    """
    limits = request.limits(options, pairs)
    if not limits:
        return limits, options.first([*splits, *pairs])
    return limits, options.mix(pairs, limits)


def _energy(
    request: PrecisionRequest, target: Target, pairs: Sequence[Pair], steps: Steps
) -> energy.Energy | None:
    """Measure the engine's energy of each pair of formats, if a library is given."""
    if request.library is None:
        return None
    for note in () if isinstance(request.library, str) else request.library.notes:
        steps.remark(note)
    names = [" x ".join(pair) for pair in pairs if not is_split(pair)]
    return energy.measure(target, names, request.library, steps)


def _outcomes(
    judge: Judge,
    options: Options,
    table: Sequence[Mapping[Pair, Option]],
    formats: tuple[Sequence[Pair], Sequence[Pair]],
    choice: tuple[Mapping[str, float], Sequence[Pair]],
    steps: Steps,
) -> dict[str, Any]:
    """Judge what was chosen, one format for all layers, and the front of mixes.

    Parameters
    ----------
    formats : pairs to choose from, and these with those to compare with.
    choice : limits, and the pairs that were chosen.
    """
    (pairs, every), (limits, taken) = formats, choice

    def assess(name: str, picks: Sequence[Pair]) -> dict[str, Any]:
        steps.step(f"judge {name}")
        return asdict(
            judge.assess(name, [row[pick] for row, pick in zip(table, picks, strict=True)])
        )

    alike = {
        f"all {' x '.join(dict.fromkeys(pair))}": options.alike(pair)
        for pair in every
        if pair[0] == pair[1] and options.has(pair)
    }
    fronts = [(kind, options.front(pairs, kind)) for kind in [*limits][:1]]
    return {
        "chosen": assess("chosen", taken),
        "uniform": [assess(name, picks) for name, picks in alike.items()],
        "pareto": [
            assess(f"{kind} {limit:,.{3 if kind == 'energy' else 0}f}", picks)
            for kind, front in fronts
            for limit, picks in front
            if picks not in (taken, *alike.values())
        ],
    }


def _layers(
    layers: Sequence[Any], chosen: Sequence[Option], table: Sequence[Mapping[Pair, Option]]
) -> list[dict[str, Any]]:
    """Return what was chosen for each layer, and its sensitivity to each pair."""
    return [
        {
            "layer": layer.name,
            "operator": layer.node.op_type,
            **_plain(option),
            "sensitivity": {name_of(pair): _plain(other) for pair, other in row.items()},
        }
        for layer, option, row in zip(layers, chosen, table, strict=True)
    ]


def _written(facts: dict[str, Any], path: Path, model: ModelProto, folder: Path) -> dict[str, Any]:
    """Write the model, a picture, tables and figures; return these with the files."""
    folder = folder / "precision" / folder_name(path)
    contents = {
        path.name: model.SerializeToString(),
        "precision.svg": picture.draw(facts),
        "precision.md": view.markdown(facts).encode(),
    }
    files = [cache.write(folder / name, content) for name, content in contents.items()]
    facts["files"] = [str(file) for file in (*files, folder / "precision.json")]
    cache.write(folder / "precision.json", json.dumps(facts, indent=2) + "\n")
    return facts


def _pairs(
    request: PrecisionRequest, target: Target
) -> tuple[list[Pair], list[Pair], dict[Pair, SplitFormats]]:
    """List the pairs of formats to choose from; these with those to compare with; and the splits.

    Without a budget, there are only those that splits have.
    """
    if not target.formats:
        raise UsageError("engine must have several formats, such as npe, to choose from")
    for argument, given in (("formats", request.formats), ("against", request.against)):
        for name in given:
            if name not in target.formats:
                legal = f"of {', '.join(target.formats)}, which the engine has"
                raise refusal(argument, legal, repr(name))
    names = list(dict.fromkeys(request.formats)) or list(target.formats)
    splits = splits_of(request.split_k, target, names)
    if not request.budgets:
        names = list(
            dict.fromkeys(name for one in splits.values() for name in (one.wide, one.narrow))
        )
    if request.pairs == "same":
        pairs = [(name, name) for name in names]
    else:
        pairs = [(a, b) for a in names for b in names]
    pairs += splits
    every = list(dict.fromkeys([*pairs, *((name, name) for name in request.others)]))
    return pairs, every, splits


def _plain(option: Option) -> dict[str, Any]:
    facts = asdict(option)
    return {**option.choice.fields(), **{name: facts[name] for name in facts if name != "choice"}}
