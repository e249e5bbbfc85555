"""One list of programs that every runner must do alike: each with its co-processor, and runs."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from onnx import ModelProto

from carrysave.compiler.decoder.caches import POSITION
from carrysave.compiler.decoder.compile import compile_decoder
from carrysave.compiler.decoder.lowering import TOKEN
from carrysave.compiler.decoder.units import VECTOR
from carrysave.compiler.encoder.compile import TOKENS, compiled_for
from carrysave.compiler.front.onnx_model import load
from carrysave.compiler.front.samples import Samples
from carrysave.compiler.front.text import load_text
from carrysave.compiler.graph.graph import Graph
from carrysave.compiler.passes.pipeline import PASSES, lower
from carrysave.compiler.program.head_ways import HeadWays
from carrysave.compiler.program.network import compile_network
from carrysave.compiler.program.program import Program
from carrysave.compiler.target.target import Target
from carrysave.system.boards import design_of, system_board_of
from golden.soc.memory_timing import MemoryTiming
from hw.catalog import Design
from verif.compiler import (
    test_dynamic,
    test_groups,
    test_packed,
    test_recurrent_program,
    test_states,
)
from verif.compiler.networks import attention, feature_maps, gates, greatest_rows, places
from verif.compiler.test_map_jobs import network_of
from verif.compiler.test_program import mixed
from verif.language import test_text
from verif.networks.attending import projected
from verif.networks.encoder.test_simulate import SMALL, small, small_integers
from verif.support.networks import MODELS, quantise
from verif.system.networks import convolutions

__all__ = ["DESIGNS", "PROGRAMS", "Runs", "design"]

Runs = list[tuple[Mapping[str, np.ndarray], Mapping[str, int]]]
"""Inputs and parameters of each run; a run begins with the memory that the one before left."""

_UNIT = ",".join(f"{name}={value}" for name, value in vars(VECTOR).items())
DESIGNS: Mapping[str, Mapping[str, str]] = {
    "plain": {},
    "maps": {
        "vector": "vector_unit(lanes=4,length=256,width=16)", "taps": "3", "requantisers": "4",
        "windows": "true",
    },
    "on chip": {
        "vector": "vector_unit(lanes=4,length=256,width=16)", "taps": "3", "requantisers": "4",
        "windows": "true", "table": "true", "scratch": "4096",
    },
    "sparse": {"sparse": "true", "ring": "false"},
    "lists": {
        "vector": "vector_unit(lanes=4,length=256,width=16)", "lists": "256", "top_k": "8",
    },
    "encoder": {"vector": SMALL, "code_bytes": "2", "transpose": "true", "gather": "true"},
    "one pass": {
        "vector": "vector_unit(width=16,scale_width=8,out_width=16,signed=true,lanes=4,length=64,"
        "operations=add,exps,divide)",
        "code_bytes": "2", "shares": "true", "transpose": "true",
    },
    "one pass on chip": {
        "vector": "vector_unit(width=16,scale_width=8,out_width=16,signed=true,lanes=4,length=64,"
        "operations=add,exps,divide)",
        "code_bytes": "2", "shares": "true", "transpose": "true", "scratch": "4096",
    },
    "decoder": {
        "vector": f"vector_unit({_UNIT})", "requantise": "false", "accumulate": "false",
    },
}  # fmt: skip
"""Parameters of co-processors, beside those of a system's."""


def design(name: str) -> Design:
    """Return a co-processor of a system, so that all runners have the same."""
    board, _ = system_board_of("ulx3s_85f")
    return design_of(board, {"engine": "systolic_os(m=4,n=4,target=ecp5)", **DESIGNS[name]})


@dataclass(frozen=True)
class Case:
    """A program, and what it is run on.

    Members
    -------
    design : name of its co-processor; None: one that no system has.
    make : the program and its runs, from a folder for its files.
    """

    design: str | None
    make: Callable[[Path], tuple[Program, Runs]]


def _network(
    model: ModelProto | Path, count: int = 1, *, on: str = "plain", states: Mapping[str, str] = {}
) -> tuple[Program, Runs]:
    """Compile a network, and draw inputs of some runs."""
    graph, target = load(model) if isinstance(model, Path) else Graph(model), Target(design(on))
    samples = Samples.of(graph, None, states)
    rng = np.random.default_rng(7)
    runs: Runs = []
    for _ in range(count):
        given = {}
        for name, (kind, shape) in graph.inputs.items():
            sizes = [size if isinstance(size, int) else 2 for size in shape]
            floats = kind == np.float32
            drawn = rng.normal(size=sizes) if floats else rng.integers(0, 256, sizes)
            given[name] = drawn.astype(kind)
        runs.append(({name: one for name, one in given.items() if name not in states.values()}, {}))
    lowered = lower(graph, target, until=PASSES[-1].name, attention=HeadWays(target))
    return compile_network(lowered, target, given, samples=samples), runs


def _of(make: Callable[[], ModelProto], count: int = 1, **more: Any) -> Case:
    on = more.get("on", "plain")
    return Case(on, lambda folder: _network(make(), count, **more))


def _packed() -> tuple[Program, Runs]:
    """Compile products of many zeros, for a memory that is slow."""
    program, given = test_packed.compiled(
        Target(design("sparse"), timing=MemoryTiming(latency=20, bytes=1))
    )
    return program, [(given, {})]


def _encoder(folder: Path) -> tuple[Program, Runs]:
    """Compile an encoder of sentences of any length; take two."""
    target = Target(design("encoder"))
    encoder, sentences = small_integers(folder / "model", target)
    runs: Runs = []
    for tokens in (sentences[1], sentences[0]):
        rows = np.zeros((20, 1), np.int64)
        rows[: len(tokens), 0] = tokens
        runs.append(({"words.rows": rows}, {TOKENS: len(tokens)}))
    return compiled_for(encoder, 20, target), runs


def _decoder(folder: Path, form: str, *, position: bool) -> tuple[Program, Runs]:
    """Compile a decoder; give it two tokens, one after the other."""
    sizes = {"layers": 1, "width": 32, "hidden": 32, "heads": 1}
    model, _ = load_text(test_text.write(folder / "m.npz", form, "w1.58a8", **sizes))
    program = compile_decoder(
        model, Target(design("decoder")), cache=4, bits=8 if position else None
    )
    tokens = [(3, {POSITION: 0}), (1, {POSITION: 1})]
    return program, [({}, {TOKEN: token, **(at if position else {})}) for token, at in tokens]


def _attention(on: str, folder: Path) -> tuple[Program, Runs]:
    """Compile attention between products."""
    return _network(projected(1)[0], on=on)


def _digits(folder: Path, on: str) -> tuple[Program, Runs]:
    """Compile a trained network; take a picture."""
    task = MODELS["digits_conv"](folder)
    path = quantise(task, folder / "codes" / "digits_conv.onnx")
    return _network(path, on=on)


_LSTM = test_recurrent_program.MORE
PROGRAMS: Mapping[str, Case] = {
    "depthwise": _of(lambda: convolutions(5)),
    "mixed": _of(lambda: mixed(5)),
    "feature maps": _of(lambda: feature_maps(4)),
    "attention": _of(lambda: attention(4)),
    "groups": Case("plain", lambda folder: _network(test_groups.convolution(12, 96)[0])),
    "heads": Case("plain", lambda folder: _network(test_groups.heads(5)[0])),
    "dynamic": Case("plain", lambda folder: _network(test_dynamic.model(folder))),
    "LSTM": _of(lambda: test_recurrent_program.network(_LSTM["both"])),
    "GRU": _of(lambda: test_recurrent_program.network(_LSTM["both 1"])),
    "states": _of(lambda: test_states.lstm(5), 2, states=test_states.LSTM),
    "windows and maps": _of(lambda: convolutions(5, "HardSigmoid"), on="maps"),
    "windows and maps on chip": _of(lambda: convolutions(5, "HardSigmoid"), on="on chip"),
    "gates of a batch": _of(lambda: gates(1), on="maps"),
    "maps put together": _of(lambda: feature_maps(4), on="maps"),
    **{
        name: _of(partial(network_of, 1, operator, 7, np.uint8), on="maps")
        for name, operator in (
            ("sums of maps", "Add"),
            ("products of maps", "Mul"),
            ("greater of maps", "LeakyRelu"),
            ("maps in other steps", ""),
        )
    },
    "packed": Case("sparse", lambda folder: _packed()),
    "greatest codes": _of(lambda: places((1, 4, 3, 5), product=True, axis=1), on="maps"),
    "greatest rows": _of(lambda: greatest_rows((3, 40), 5), 2, on="lists"),
    "encoder": Case("encoder", _encoder),
    "encoder on chip": Case(
        None, lambda folder: (small(folder / "model", 4, scratch="4096"), [({}, {})])
    ),
    **{
        f"attention in {name}": Case(name, partial(_attention, name))
        for name in ("one pass", "one pass on chip")
    },
    "decoder": Case("decoder", partial(_decoder, form="attention", position=True)),
    "recurrent decoder": Case("decoder", partial(_decoder, form="recurrent", position=False)),
    "digits_conv": Case("plain", partial(_digits, on="plain")),
    "digits_conv in windows and maps": Case("maps", partial(_digits, on="maps")),
    "digits_conv on chip": Case("on chip", partial(_digits, on="on chip")),
}
