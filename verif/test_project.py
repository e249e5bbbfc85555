"""Files for those who contribute or cite: valid, and of this version."""

import os
import re
import shutil
import subprocess
from pathlib import Path

import yaml

import carrysave

ROOT = Path(carrysave.__file__).parents[1]


def test_citation_is_of_this_version() -> None:
    found = yaml.safe_load((ROOT / "CITATION.cff").read_text())
    assert found["cff-version"] == "1.2.0"
    assert {"message", "title", "authors"} <= set(found)  # what its schema requires
    assert (found["version"], found["license"]) == (carrysave.__version__, "MIT")


def test_hooks_run_what_is_there() -> None:
    (repository,) = yaml.safe_load((ROOT / ".pre-commit-config.yaml").read_text())["repos"]
    assert repository["repo"] == "local"
    for hook in repository["hooks"]:
        assert {"id", "name", "entry", "language"} <= set(hook)
        program, *words = hook["entry"].split()
        assert shutil.which(str(ROOT / program)), program
        assert all((ROOT / word).is_file() for word in words if word.endswith(".py"))


def test_changes_are_kept() -> None:
    text = (ROOT / "CHANGELOG.md").read_text()
    heads = re.findall(r"(?m)^## \[(.+?)\]", text)
    assert heads[0] == "Unreleased"
    kinds = set(re.findall(r"(?m)^### (.+)$", text))
    assert kinds <= {"Added", "Changed", "Deprecated", "Removed", "Fixed", "Security"}


def test_contributing_names_what_make_knows() -> None:
    known = set(re.findall(r"(?m)^(\w+):", (ROOT / "Makefile").read_text()))
    text = (ROOT / "CONTRIBUTING.md").read_text()
    assert set(re.findall(r"`make (\w+)`", text)) <= known
    for name in re.findall(r"`([\w./]+/|[\w/]+\.(?:py|md))`", text):
        assert (ROOT / name).exists(), name


def test_ci_has_no_settings_of_the_machine(tmp_path: Path) -> None:
    """Those of Python and of threads hide faults; what reaches packages stays."""
    (tmp_path / ".ci").mkdir()
    run = tmp_path / ".ci" / "run"
    run.write_bytes((ROOT / ".ci" / "run").read_bytes())
    (tmp_path / "make").write_text('#!/bin/sh\necho "make $1"; ls -A "$HOME"; env\n')
    (tmp_path / "make").chmod(0o755)
    hidden = (
        "PYTHONUNBUFFERED",
        "PYTHONPATH",
        "OPENBLAS_NUM_THREADS",
        "OMP_NUM_THREADS",
        "CARRYSAVE_CACHE",
        "XDG_CACHE_HOME",
    )
    shown = {"PIP_CERT": "a.crt", "PIP_INDEX_URL": "b", "SSL_CERT_FILE": "c.crt", "LANG": "C"}
    home = tmp_path / "home"
    home.mkdir()
    (home / "settings").touch()
    done = subprocess.run(
        ["bash", run],
        capture_output=True,
        text=True,
        check=True,
        env={
            "PATH": f"{tmp_path}{os.pathsep}{os.environ['PATH']}",
            "HOME": str(home),
            **dict.fromkeys(hidden, "1"),
            **shown,
        },
    )
    lines = done.stdout.splitlines()
    assert [line for line in lines if line.startswith("make ")] == [
        f"make {target}" for target in ("setup", "check", "demo", "test")
    ]
    assert "settings" not in lines
    assert not [line for line in lines if line.split("=")[0] in hidden]
    assert lines.count("PIP_CERT=a.crt") == 4
    assert {f"{name}={value}" for name, value in shown.items()} < set(lines)
    own = {line for line in lines if line.startswith("HOME=")}
    assert own != {f"HOME={home}"}
    assert not any(Path(line.partition("=")[2]).exists() for line in own)


def test_issue_templates_have_what_the_site_reads() -> None:
    files = sorted((ROOT / ".github" / "ISSUE_TEMPLATE").glob("*.md"))
    assert len(files) == 3
    for path in files:
        _, front, body = path.read_text().split("---\n", 2)
        assert set(yaml.safe_load(front)) == {"name", "about", "labels"}
        assert "carrysave doctor" in body or path.stem == "request"
