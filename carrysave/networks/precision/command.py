"""``carrysave precision``: its options, checked before anything runs, and its output files."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np

from carrysave import cache
from carrysave.asic.liberty.cells import Library
from carrysave.errors import UsageError, check_choice, needs
from carrysave.networks import energy
from carrysave.networks.floats import with_choices
from carrysave.networks.inputs import batch_of, read_inputs, read_labels
from carrysave.networks.model import load
from carrysave.networks.names import within_file
from carrysave.networks.outputs import folder_name
from carrysave.networks.precision import layers as products
from carrysave.networks.precision import sensitivity, view
from carrysave.networks.precision.assess import Judge, Outcome
from carrysave.networks.precision.choose import choose
from carrysave.networks.precision.sensitivity import Option
from carrysave.networks.target import Target
from carrysave.progress import Steps
from hw.catalog import Design

__all__ = ["BUDGETS", "PAIRS", "PrecisionRequest", "execute"]

BUDGETS = {"bytes": "bytes", "cycles": "cycles", "energy": "energy_uj"}
"""Kinds of budgets, and the option's member that each limits."""

PAIRS = ("same", "all")
"""Both operands in the same format, or in any pair."""

_POINTS = 7
"""Number of budgets, from smallest to largest, whose choices are shown."""

Pair = tuple[str, str]


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
    budgets : such as ``bytes=50%``, ``cycles=20000``, ``energy=1.5``.
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

    def __post_init__(self) -> None:
        """Check the options."""
        check_choice("--pairs", self.pairs, PAIRS)
        if self.batch is not None and self.batch < 1:
            raise UsageError(f"--batch must be 1 or more, not {self.batch}")
        if not self.budgets:
            raise UsageError("--budget must be given, such as bytes=50%")
        kinds = [self._budget(text)[0] for text in self.budgets]
        if len(set(kinds)) < len(kinds):
            raise UsageError("--budget must be given once for each kind")
        if "energy" in kinds and self.library is None:
            raise UsageError("--energy must be osu018 or a Liberty file for a budget of energy")

    def _budget(self, text: str) -> tuple[str, float, bool]:
        """Parse a budget: its kind, its number, and whether that is relative."""
        kind, _, number = text.partition("=")
        relative = number.endswith("%")
        try:
            value = float(number.removesuffix("%"))
        except ValueError:
            value = -1.0
        if kind not in BUDGETS or not 0 <= value < float("inf"):
            legal = ", ".join(f"{one}=NUMBER" for one in BUDGETS)
            raise UsageError(f"--budget must be one of {legal}, or NUMBER%, not {text!r}")
        return kind, value / 100 if relative else value, relative

    def limits(self, wholes: Mapping[str, float]) -> dict[str, float]:
        """Return the limit of each kind; `wholes` are the references of numbers in %."""
        found = {}
        for text in self.budgets:
            kind, value, relative = self._budget(text)
            found[kind] = value * wholes[kind] if relative else value
        return found


def execute(request: PrecisionRequest, folder: Path, steps: Steps, command: str) -> dict[str, Any]:
    """Choose formats, and write the model with them, figures, tables and a picture.

    Returns
    -------
    A dict of plain values: ``model``, ``design``, ``command``, ``layers`` with what was chosen and
    the ``sensitivity`` to each pair, ``limits``, ``chosen``, ``uniform`` and ``pareto`` outcomes,
    ``energy``, ``files``.
    """
    needs("onnxruntime", "scipy", "matplotlib")
    steps.step(f"read {request.model.name}")
    graph = load(request.model)
    calibration = read_inputs(request.calibration, graph, "--calibration")
    data = calibration if request.data is None else read_inputs(request.data, graph, "--input")
    labels = read_labels(request.labels, len(next(iter(data.values()))))
    sizes = [batch_of(request.batch, graph, inputs) for inputs in (calibration, data)]
    target = Target(request.design)
    pairs = _pairs(request, target)
    with within_file(request.model):
        layers = products.find(graph, calibration, sizes[0])
    spent = None
    if request.library is not None:
        names = [" x ".join(pair) for pair in pairs]
        spent = energy.measure(target, names, request.library, steps)
    with within_file(request.model):
        table = sensitivity.measure(
            graph, target, layers, pairs, calibration, batch=sizes[0], energy=spent, steps=steps
        )
    noise = _matrix(table, pairs, "noise")
    kinds = [kind for kind in BUDGETS if kind != "energy" or spent]
    costs = {kind: _matrix(table, pairs, BUDGETS[kind]) for kind in kinds}
    whole = {kind: _most(values) for kind, values in costs.items()}
    limits = request.limits(whole)
    taken = choose(noise, costs, limits)

    judge = Judge(graph, target, layers, data, labels, sizes[1])

    def assess(name: str, picks: np.ndarray) -> Outcome:
        steps.step(f"judge {name}")
        options = [own[pairs[pick]] for own, pick in zip(table, picks, strict=True)]
        return judge.assess(name, options)

    chosen = assess("chosen", taken)
    alike = {
        f"all {' x '.join(dict.fromkeys(pair))}": np.full(len(layers), number)
        for number, pair in enumerate(pairs)
        if pair[0] == pair[1] and all(pair in own for own in table)
    }
    uniform = [assess(name, picks) for name, picks in alike.items()]
    kind = next(iter(limits))
    pareto = [
        assess(f"{kind} {limit:,.{3 if kind == 'energy' else 0}f}", picks)
        for limit, picks in _front(noise, costs[kind], kind)
        if not any(np.array_equal(picks, other) for other in (taken, *alike.values()))
    ]
    options = [own[pairs[pick]] for own, pick in zip(table, taken, strict=True)]
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
            for layer, option, own in zip(layers, options, table, strict=True)
        ],
        "chosen": asdict(chosen),
        "uniform": [asdict(one) for one in uniform],
        "pareto": [asdict(one) for one in pareto],
        "energy": asdict(spent) if spent else None,
    }
    own = folder / "precision" / folder_name(request.model)
    model = with_choices(
        graph, {layer.name: option.choice for layer, option in zip(layers, options, strict=True)}
    )
    contents = {
        request.model.name: model.SerializeToString(),
        "precision.svg": view.draw(facts),
        "precision.md": view.markdown(facts).encode(),
    }
    files = [cache.write(own / name, content) for name, content in contents.items()]
    facts["files"] = [str(path) for path in (*files, own / "precision.json")]
    cache.write(own / "precision.json", json.dumps(facts, indent=2) + "\n")
    return facts


def _pairs(request: PrecisionRequest, target: Target) -> list[Pair]:
    """List the pairs of formats to choose from."""
    if not target.formats:
        raise UsageError("engine must have several formats, such as npe, to choose from")
    for name in request.formats:
        if name not in target.formats:
            has = ", ".join(target.formats)
            raise UsageError(f"--formats must be of {has}, which the engine has, not {name!r}")
    names = list(dict.fromkeys(request.formats)) or list(target.formats)
    if request.pairs == "same":
        return [(name, name) for name in names]
    return [(a, b) for a in names for b in names]


def _matrix(table: Sequence[Mapping[Pair, Option]], pairs: Sequence[Pair], name: str) -> np.ndarray:
    """Put a member of options into a matrix, layers x pairs; infinite where there is none."""
    return np.array([
        [getattr(own[pair], name) if pair in own else np.inf for pair in pairs] for own in table
    ])  # fmt: skip


def _most(costs: np.ndarray) -> float:
    """Sum the cost of each layer in its costliest format."""
    return float(np.where(np.isfinite(costs), costs, 0.0).max(axis=1).sum())


def _front(noise: np.ndarray, costs: np.ndarray, kind: str) -> list[tuple[float, np.ndarray]]:
    """Choose under budgets from smallest to largest; each choice once."""
    least = costs.min(axis=1).sum()
    most = _most(costs)
    found: list[tuple[float, np.ndarray]] = []
    for limit in np.linspace(least, most, _POINTS):
        picks = choose(noise, {kind: costs}, {kind: float(limit) * (1 + 1e-9)})
        if not any(np.array_equal(picks, other) for _, other in found):
            found.append((float(limit), picks))
    return found


def _plain(option: Option) -> dict[str, Any]:
    found = asdict(option)
    return {**found.pop("choice"), **found}
