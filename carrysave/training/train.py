"""Trains a network in several formats, beside floats, and compares."""

import json
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np

from carrysave import cache
from carrysave.compiler.program.cost import spent
from carrysave.compiler.program.program import Program
from carrysave.compiler.program.steps import Start
from carrysave.compiler.target.target import Target
from carrysave.data import digits
from carrysave.errors import needs
from carrysave.progress import Steps
from carrysave.training import view
from carrysave.training.compile import Rates
from carrysave.training.encodings import Draws
from carrysave.training.learner import Learner, cross_entropy
from carrysave.training.options import DATA, STOCHASTIC, TrainOptions
from carrysave.training.recipes import BF16, RECIPES, target_of
from carrysave.training.reference import REFERENCES, FloatLearner
from carrysave.training.samples import batches, first_weights
from carrysave.training.simulate import simulated_step

__all__ = ["execute"]

_LAST = 20
"""Steps at the end whose mean is a run's loss."""
_SAID = ("steps", "seed", "seeds", "batch", "rate", "momentum", "random_width")
"""Options that results have."""


def execute(
    data: str,
    options: TrainOptions,
    parameters: Mapping[str, str],
    folder: Path,
    steps: Steps,
    command: str,
) -> dict[str, Any]:
    """Train, and write figures and a table.

    Parameters
    ----------
    data : one of :data:`DATA`.
    parameters : of the co-processor; its engine is that of the format, unless given.
    folder : for files.

    Returns
    -------
    ``data``, ``command``, ``sizes`` (of the network), ``images``, ``test_images``, options;
    ``rows``, of each format ``format``, ``rounding``, ``accuracy`` and ``loss`` (of the last
    steps), means over seeds, ``accuracies`` and ``losses`` of each, ``test_loss``, ``curve`` (the
    mean loss of each step), and of a step's jobs ``design``, ``jobs``, ``macs``, ``cycles`` by the
    model and ``bytes`` on the bus; ``simulated``, of each format that was, its jobs, cycles and
    wrong ones; ``wrong``, formats with wrong jobs; ``seconds``, ``files``.

    Raises
    ------
    RuntimeError
        A loss is no number.
    """
    assert data in DATA
    needs("sklearn")
    began = time.monotonic()
    targets = {name: target_of(RECIPES[name], parameters) for name in options.formats}
    training = _Training(options, steps)
    simulates = options.simulate != "none"
    runs = len(REFERENCES) + len(targets) * len(options.roundings)
    steps.plan(runs * options.seeds + len(targets) * simulates)
    rows = [training.in_floats(name) for name in REFERENCES]
    simulated = []
    for name, target in targets.items():
        if simulates:
            simulated.append(training.simulated(name, target, folder / "train"))
        rows += [training.in_format(name, target, how) for how in options.roundings]
    sizes = training.sizes
    facts = {
        "data": data,
        "model": f"{data}, {' x '.join(map(str, sizes))}",
        "command": command,
        "sizes": list(sizes),
        "images": len(training.x),
        "test_images": len(training.test_x),
        **{name: getattr(options, name) for name in _SAID},
        "rows": rows,
        "simulated": simulated,
        "wrong": [one["format"] for one in simulated if one["wrong"]],
        "seconds": round(time.monotonic() - began, 3),
    }
    return facts | {"files": _write(folder / "train", facts)}


class _Training:
    """Trains networks on the same samples, from the same weights.

    Members
    -------
    sizes : of networks.
    x, labels, test_x, test_labels : images of 0..1 and their classes.
    """

    def __init__(self, options: TrainOptions, steps: Steps) -> None:
        self._options, self._steps = options, steps
        x, labels = digits.all_images()
        test = digits.split(len(x))
        self.x, self.labels = x[~test] / 16, labels[~test]
        self.test_x, self.test_labels = x[test] / 16, labels[test]
        self.sizes = x.shape[1], options.hidden, int(labels.max()) + 1
        self._rates = Rates(rate=options.rate, momentum=options.momentum, steps=options.steps)

    def in_floats(self, name: str) -> dict[str, Any]:
        """Return the figures of a reference."""

        def make(seed: int) -> FloatLearner:
            first = first_weights(self.sizes, seed)
            return FloatLearner(first, rates=self._rates, operand=REFERENCES[name])

        none = dict.fromkeys(("design", "jobs", "macs", "cycles", "bytes"))
        return {"format": name, "rounding": None, **self._learnt(name, make), **none}

    def in_format(self, name: str, target: Target, how: str) -> dict[str, Any]:
        """Return the figures of a recipe, with one kind of rounding."""
        programs = list[Program]()

        def make(seed: int) -> Learner:
            learner = self._learner(name, target, seed, how)
            programs.append(learner.step_program.program)
            return learner

        made = self._learnt(f"{name}, {how}", make)
        return {"format": name, "rounding": how, **made, **_used(programs[-1])}

    def simulated(self, name: str, target: Target, folder: Path) -> dict[str, Any]:
        """Simulate the first step of the first seed."""
        options = self._options
        self._steps.step(f"simulate a step in {name}")
        learner = self._learner(name, target, options.seed, STOCHASTIC)
        (chosen,) = batches(len(self.x), options.batch, 1, options.seed)
        made = simulated_step(learner, self.x[chosen], self.labels[chosen], folder)
        return {"format": name, **made}

    def _learner(self, name: str, target: Target, seed: int, how: str) -> Learner:
        options = self._options
        return Learner(
            RECIPES[name],
            target,
            first_weights(self.sizes, seed),
            batch=options.batch,
            rates=self._rates,
            draws=Draws(seed, options.random_width) if how == STOCHASTIC else None,
            stored=BF16,
        )

    def _learnt(self, what: str, make: Callable[[int], Learner | FloatLearner]) -> dict[str, Any]:
        """Train with each seed."""
        curves, right, test = list[list[float]](), list[float](), list[float]()
        for seed in self._options.every_seed:
            self._steps.step(f"{what}, seed {seed}")
            learner = make(seed)
            curves.append(self._curve(f"{what}, seed {seed}", learner, seed))
            y = learner.logits(self.test_x)
            right.append(float((y.argmax(axis=1) == self.test_labels).mean()))
            test.append(cross_entropy(y, self.test_labels))
        ends = [float(np.mean(one[-_LAST:])) for one in curves]
        return {
            "accuracy": float(np.mean(right)),
            "accuracies": right,
            "loss": float(np.mean(ends)),
            "losses": ends,
            "test_loss": float(np.mean(test)),
            "curve": np.mean(curves, axis=0).tolist(),
        }

    def _curve(self, what: str, learner: Learner | FloatLearner, seed: int) -> list[float]:
        """Return the loss of each step."""
        losses, options = list[float](), self._options
        for chosen in batches(len(self.x), options.batch, options.steps, seed):
            losses.append(learner.step(self.x[chosen], self.labels[chosen]))
            if not np.isfinite(losses[-1]):
                raise RuntimeError(
                    f"{what}: the loss of step {len(losses)} is no number; take a lower rate than"
                    f" {options.rate:g}"
                )
            self._steps.advance(len(losses), options.steps)
        return losses


def _used(program: Program) -> dict[str, Any]:
    """Return what the jobs of a step take, by the cost model."""
    starts = [step for step in program.steps if isinstance(step, Start)]
    jobs = [job for start in starts for job in start.jobs]
    return {
        "design": program.target.design.module,
        "jobs": len(jobs),
        "macs": sum(start.macs for start in starts),
        "cycles": sum(start.cycles for start in starts),
        "bytes": sum(spent(job, program.target).moved for job in jobs),
    }


def _write(folder: Path, facts: dict[str, Any]) -> list[str]:
    """Write a table and JSON; return the names of the files."""
    text, plain = folder / f"{facts['data']}.md", folder / f"{facts['data']}.json"
    names = [str(cache.write(text, view.markdown(facts).encode())), str(plain)]
    cache.write(plain, json.dumps(facts | {"files": names}, indent=2) + "\n")
    return names
