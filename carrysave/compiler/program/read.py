"""Reads a program's folder, as :mod:`.write` has written it."""

import hashlib
import json
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from onnx import ModelProto, numpy_helper

from carrysave.compiler.front.samples import Samples
from carrysave.compiler.graph.graph import DOMAIN, Graph
from carrysave.compiler.lowered.lowered import Lowered
from carrysave.compiler.program.buffers import Buffer
from carrysave.compiler.program.checked import check_section
from carrysave.compiler.program.decode import decoded
from carrysave.compiler.program.host_model import SECTION
from carrysave.compiler.program.image import Image
from carrysave.compiler.program.manifest import placed
from carrysave.compiler.program.names import HOST, MANIFEST, MEMORY
from carrysave.compiler.program.program import Layer, Program, Section
from carrysave.compiler.program.ring_cost import in_rings
from carrysave.compiler.program.steps import HostStep, State
from carrysave.compiler.program.write import FORMAT
from carrysave.compiler.target.facts import differences, facts_of
from carrysave.compiler.target.memory import timing_of
from carrysave.compiler.target.target import Target
from carrysave.driver.system import Parameter, Tensor
from hw.catalog import Design
from hw.emit import user_files
from hw.emit.user_files import FileError, parsing

__all__ = ["read"]


def read(folder: Path, target: Target | None = None) -> Program:
    """Read a program, which runs without its model's file.

    Parameters
    ----------
    target : the co-processor that it is for; None: the one that it was compiled for.

    Raises
    ------
    FileNotFoundError, FileError
        There is none; another version; files that are no program's, or do not fit together; or a
        co-processor with other facts.
    """
    path = folder / MANIFEST
    given = user_files.read_text(path, user_files.TENSORS)
    with parsing(path):
        manifest = json.loads(given)
    if not isinstance(manifest, dict) or manifest.get("format") != FORMAT:
        other = manifest.get("format") if isinstance(manifest, dict) else None
        raise FileError(path, f"format must be {FORMAT}, not {other!r}")
    memory = _memory(folder, manifest)
    with parsing(path, "target"):
        generator = str(manifest.get("generator", "coprocessor"))
        design = Design.parse(generator, dict(manifest["target"]))
        target_of_file = Target(design)
        needed = dict(manifest["facts"])
    with parsing(path, "memory"):
        memory_of_file = timing_of(manifest["memory"], target_of_file.spec)
        if memory_of_file != target_of_file.memory:
            target_of_file = Target(design, timing=memory_of_file)
    for one, whose in ((target_of_file, "its design"), (target, "the co-processor")):
        if one is not None and (wrong := differences(needed, facts_of(one.info))):
            raise FileError(path, f"the program needs {', '.join(wrong)}, as {whose} has it")
    lowered = _host(folder, manifest)
    with parsing(path):
        program = _program(manifest, memory, target or target_of_file, lowered)
    if target is not None and target.memory != target_of_file.memory:
        return _recounted(program)
    return program


def _recounted(program: Program) -> Program:
    """Return a program whose starts take what they do with the memory of its co-processor."""
    return replace(
        program,
        parts=tuple(
            replace(part, steps=tuple(in_rings(part.steps, program.target)))
            if isinstance(part, Section)
            else part
            for part in program.parts
        ),
    )


def _memory(folder: Path, manifest: Mapping[str, Any]) -> bytes:
    """Return memory before a run."""
    path = folder / MEMORY
    data = user_files.read(path, user_files.TENSORS)
    if len(data) != manifest.get("bytes"):
        raise FileError(path, f"must be of {manifest.get('bytes')} bytes, not {len(data)}")
    if hashlib.sha256(data).hexdigest() != manifest.get("digest"):
        raise FileError(path, f"must be the memory of {MANIFEST} beside it: its digest is another")
    return data


def _host(folder: Path, manifest: Mapping[str, Any]) -> Lowered | None:
    """Return what the host runs, without the nodes that stand for sections."""
    with parsing(folder / MANIFEST, "host"):
        file, lacking = manifest["host"]["file"], list(manifest["host"]["lacking"])
    if lacking:
        raise FileError(
            folder / MANIFEST, f"runs with its model alone: the host has {', '.join(lacking)}"
        )
    if file is None:
        return None
    path = folder / HOST
    data = user_files.read(path, user_files.TENSORS)
    with parsing(path):
        proto = ModelProto.FromString(data)
        nodes = [
            node for node in proto.graph.node if (node.domain, node.op_type) != (DOMAIN, SECTION)
        ]
        del proto.graph.node[:]
        proto.graph.node.extend(nodes)
    return Lowered(Graph(proto), proto)


def _program(
    manifest: Mapping[str, Any], memory: bytes, target: Target, lowered: Lowered | None
) -> Program:
    size = len(memory)
    image = Image(target)
    image.end = size
    image.parts = {at: memory[at : at + count] for at, count in manifest["filled"]}
    if not all(0 <= at <= at + count <= size for at, count in manifest["filled"]):
        raise ValueError(f"filled must be within the {size:,} bytes of memory")
    image.buffers = {one["name"]: Buffer(**one) for one in manifest["buffers"]}
    chip = target.spec.scratch
    every = [placed(one, size, chip) for one in manifest["tensors"]]
    names = [str(one["name"]) for one in manifest["tensors"]]
    tensors = {name: one for name, one in zip(names, every, strict=True) if isinstance(one, Tensor)}
    outputs = {str(one["name"]): placed(one, size, chip) for one in manifest["outputs"]}
    results = {name: one for name, one in outputs.items() if isinstance(one, Buffer) and one.format}
    inputs = tuple(str(one["name"]) for one in manifest["inputs"])
    for name in inputs:
        if name not in tensors and name not in image.buffers:
            raise ValueError(f"input {name!r} must be a tensor or a buffer")
    constants = {}
    if lowered is not None:
        for one in lowered.proto.graph.initializer:
            constants[one.name] = numpy_helper.to_array(one)
    words = np.frombuffer(memory, np.uint8)
    parameters = tuple(_parameter(one, size) for one in manifest["parameters"])
    return Program(
        target=target, image=image, ring=int(manifest["ring"]), tensors=tensors, results=results,
        parts=tuple(
            _part(one, words, lowered, tensors, parameters, target)
            for one in manifest["parts"]
        ),
        constants=constants, lowered=lowered,
        inputs=inputs,
        outputs=tuple(manifest["results"]),
        layers=tuple(_layer(one, tensors) for one in manifest["layers"]),
        scores=int(manifest["scores"][0]), classes=int(manifest["scores"][1]),
        parameters=parameters,
        samples=Samples(**manifest["samples"]) if manifest["samples"] else None,
        states=tuple(State(**one) for one in manifest["states"]),
        takes={
            name: (np.dtype(kind), tuple(shape))
            for name, (kind, shape) in manifest["takes"].items()
        },
        more=manifest,
    )  # fmt: skip


def _part(
    one: Mapping[str, Any],
    words: np.ndarray,
    lowered: Lowered | None,
    tensors: Mapping[str, Any],
    parameters: tuple[Parameter, ...],
    target: Target,
) -> Section | HostStep:
    if "section" in one:
        start = int(one["section"])
        section = decoded(words, start, one["steps"], parameters, target.info.memory_end)
        check_section(section, words, target.spec)
        return section
    proto = [] if lowered is None else lowered.proto.graph.node
    makers = {tuple(node.output): node for node in proto}
    for name in (*one["reads"], *one["writes"]):
        if name not in tensors:
            raise ValueError(f"a step of the host has tensor {name!r}, which is not in memory")
    return HostStep(
        nodes=tuple(makers[tuple(outputs)] for outputs in one["nodes"]),
        reads=tuple(one["reads"]),
        writes=tuple(one["writes"]),
        reasons=tuple(one["reasons"]),
    )


def _layer(one: Mapping[str, Any], tensors: Mapping[str, Tensor]) -> Layer:
    shapes = [(int(m), int(k), int(n)) for m, k, n in one["shapes"]]
    return Layer(
        str(one["node"]),
        str(one["operator"]),
        shapes,
        str(one["y"]),
        tensors[one["y"]],
        [int(at) for at in one["counters"]],
    )


def _parameter(one: Mapping[str, Any], size: int) -> Parameter:
    words = tuple((int(at), int(factor)) for at, factor in one["words"])
    for address in (int(one["address"]), *(at for at, _ in words)):
        if address % 4 or not 0 <= address <= size - 4:
            raise ValueError(f"parameter {one['name']!r} must be of words of memory, not {address}")
    return Parameter(
        name=str(one["name"]),
        low=int(one["low"]),
        high=int(one["high"]),
        address=int(one["address"]),
        words=words,
    )
