"""Pipelines of the project, and those for users: their schemas, and the commands in them."""

import copy
import json
import re
import shlex
import subprocess
from collections.abc import Callable, Iterator
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import fastjsonschema
import pytest
import yaml
from cyclopts import CycloptsError

import carrysave

ROOT = Path(carrysave.__file__).parents[1]
GITHUB = (*sorted((ROOT / ".github" / "workflows").glob("*.yml")), ROOT / "docs/ci/github.yml")
GITLAB = (ROOT / ".gitlab-ci.yml", ROOT / "docs/ci/gitlab.yml")
FILES = (*GITHUB, *GITLAB)
TEMPLATES = (GITHUB[-1], GITLAB[-1])


class Loader(yaml.SafeLoader):  # type: ignore[misc]
    """YAML 1.2, as both services read it: of the booleans `on` is none."""


Loader.yaml_implicit_resolvers = {
    letter: [one for one in resolvers if one[0] != "tag:yaml.org,2002:bool"]
    for letter, resolvers in yaml.SafeLoader.yaml_implicit_resolvers.items()
}
Loader.add_implicit_resolver("tag:yaml.org,2002:bool", re.compile("true|false"), ["t", "f"])


def load(path: Path) -> dict[str, Any]:
    return yaml.load(path.read_text(), Loader)


@cache
def validator(name: str) -> Callable[[Any], Any]:
    """Compile a published schema; of the package that has them only files are read."""
    spec = find_spec("check_jsonschema")
    assert spec is not None
    assert spec.origin is not None
    path = Path(spec.origin).parent / "builtin_schemas" / "vendor" / f"{name}.json"
    found: Callable[[Any], Any] = fastjsonschema.compile(
        json.loads(path.read_text()), use_default=False
    )
    return found


def of(path: Path) -> Callable[[Any], Any]:
    return validator("github-workflows" if path in GITHUB else "gitlab-ci")


def name(path: Path) -> str:
    return str(path.relative_to(ROOT))


@pytest.mark.parametrize("path", FILES, ids=name)
def test_pipeline_is_as_published(path: Path) -> None:
    of(path)(load(path))


@pytest.mark.parametrize(
    ("path", "change"),
    [
        (GITHUB[0], lambda found: found.pop("on")),
        (GITHUB[0], lambda found: found["jobs"]["make"].pop("runs-on")),
        (GITHUB[0], lambda found: found["jobs"]["make"].update(step=[])),
        (GITHUB[0], lambda found: found.update(permissions={"contents": "all"})),
        (GITLAB[0], lambda found: found["test"].update(scripts=["make test"])),
        (GITLAB[0], lambda found: found["test"]["artifacts"].update(when="sometimes")),
        (GITLAB[1], lambda found: found["regress"].update(parallel=0)),
    ],
)
def test_broken_pipeline_is_refused(path: Path, change: Callable[[Any], Any]) -> None:
    broken = copy.deepcopy(load(path))
    change(broken)
    with pytest.raises(fastjsonschema.JsonSchemaValueException):
        of(path)(broken)


def lines(path: Path) -> Iterator[str]:
    """Yield the lines of all scripts of a pipeline."""
    found = load(path)
    if path in GITHUB:
        steps = [step for job in found["jobs"].values() for step in job["steps"]]
        scripts = [step["run"] for step in steps if "run" in step]
    else:
        jobs = [found["default"], *(one for one in found.values() if "script" in one)]
        scripts = [
            line for job in jobs for key in ("before_script", "script") for line in job.get(key, ())
        ]
    for script in scripts:
        yield from (line.strip() for line in script.splitlines())


def variables(path: Path) -> dict[str, str]:
    """Return what a template sets, and what its service does."""
    found = load(path)
    return {
        **(found.get("env") or found.get("variables") or {}),
        "CI_NODE_INDEX": "3",
        "CI_NODE_TOTAL": "4",
        "code": "1",
    }


def commands(path: Path) -> list[list[str]]:
    """Return what `carrysave` is called with, as a shell would have it."""
    known = variables(path)
    found = []
    for line in lines(path):
        if not line.startswith("carrysave "):
            continue
        line = line.replace("${{ matrix.shard }}/${{ strategy.job-total }}", "3/4")
        line = re.sub(r"\$(\w+)", lambda match: known[match[1]], line)
        found.append(shlex.split(re.split(r" (?:>|\|\|) ", line)[0])[1:])
    return found


@pytest.mark.parametrize("path", TEMPLATES, ids=name)
def test_templates_call_commands_that_there_are(path: Path) -> None:
    from carrysave.cli import command_line  # slow to load

    called = commands(path)
    assert [words[0] for words in called] == ["generate", "regress", "synth", "changes"]
    for words in called:
        _, bound, _ = command_line(words).parse_args(words, exit_on_error=False, print_error=False)
        if words[0] == "regress":
            assert bound.arguments["flags"].shard == "3/4"
    words = ["regress", "--shards", "1/2"]
    with pytest.raises(CycloptsError, match="--shards"):
        command_line(words).parse_args(words, exit_on_error=False, print_error=False)


def installing(path: Path) -> list[tuple[list[dict[str, Any]], str]]:
    """Return the scripts that install, and the steps before them."""
    found = load(path)
    if path in GITLAB:  # it checks out by itself
        return [([{"uses": "actions/checkout@v4"}], "\n".join(found["default"]["before_script"]))]
    scripts = []
    for job in found["jobs"].values():
        for place, step in enumerate(job["steps"]):
            if step.get("name") == "Install":
                scripts.append((job["steps"][:place], step["run"]))
    return scripts


@pytest.mark.parametrize("path", TEMPLATES, ids=name)
def test_templates_install_a_wheel_of_a_folder_or_an_address(path: Path, tmp_path: Path) -> None:
    """A script's own words, with stand-ins for what it calls, in a repository with a wheel."""
    wheel = "wheels/carrysave-0.1.0-py3-none-any.whl"
    for program in ("bin/apt-get", "bin/python3", "opt/carrysave/bin/pip", wheel):
        file = tmp_path / program
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(f'#!/bin/sh\necho {file.name} "$@" >> calls\n')
        file.chmod(0o755)
    known = {"PATH": f"{tmp_path}/bin:/usr/bin:/bin", "GITHUB_PATH": str(tmp_path / "path")}
    scripts = installing(path)
    assert len(scripts) == (1 if path in GITLAB else 3)
    for before, script in scripts:
        assert {"uses": "actions/checkout@v4"} in before
        for given in ({}, {"CARRYSAVE": "git+https://host/carrysave.git"}):
            (tmp_path / "calls").unlink(missing_ok=True)
            subprocess.run(
                ["sh", "-e", "-c", script.replace("/opt/", f"{tmp_path}/opt/")],
                env=known | variables(path) | given,
                cwd=tmp_path,
                check=True,
            )
            calls = (tmp_path / "calls").read_text().splitlines()
            assert f"pip install -q {given.get('CARRYSAVE', wheel)}" in calls
            (packages,) = (call.split()[5:] for call in calls if " install -y" in call)
            assert {"ca-certificates", "git", "g++", "make"} <= set(packages)


@pytest.mark.parametrize("path", TEMPLATES, ids=name)
def test_caches_have_keys_of_wheel_and_pipeline(path: Path) -> None:
    job = load(path)["jobs" if path in GITHUB else "regress"]
    if path in GITHUB:
        (step,) = (one for one in job["regress"]["steps"] if one.get("uses") == "actions/cache@v4")
        kept, key = [step["with"]["path"]], step["with"]["key"]
        assert "," not in re.sub(r"\$\{\{.*?\}\}", "", key), "GitHub refuses it"
        assert "matrix.shard" in key
        used = next(
            one["env"] for one in job["regress"]["steps"] if one.get("name") == "Run a shard"
        )
    else:
        kept, key, used = job["cache"]["paths"], str(job["cache"]["key"]), job["variables"]
        assert "$CI_NODE_INDEX" in key
    assert kept == [used["CARRYSAVE_CACHE"]]
    assert "wheels/*.whl" in key
    assert ".yml" in key


@pytest.mark.parametrize("path", TEMPLATES, ids=name)
def test_designs_of_templates_are_legal(path: Path) -> None:
    from carrysave.api.design import Design
    from carrysave.cli.options import settings
    from hw.catalog import CATALOG

    known = variables(path)
    design, *rest = known["DESIGN"].split()
    assert Design.parse(design, settings(rest[1::2])).module
    assert set(known["DESIGNS"].split(",")) <= set(CATALOG)


@pytest.mark.parametrize("path", [GITHUB[0], GITLAB[0]], ids=name)
def test_own_pipelines_make_what_there_is(path: Path) -> None:
    targets = set(re.findall(r"^([a-z]+):", (ROOT / "Makefile").read_text(), re.M))
    matrix = load(path)["jobs"]["make"]["strategy"]["matrix"] if path in GITHUB else {}
    text = "\n".join(lines(path))
    made = {*re.findall(r"^make (\w+)", text, re.M), *matrix.get("target", ())}
    assert {"setup", "check", "test"} <= made <= targets
