"""Files for those who contribute or cite: valid, and of this version."""

import re
import shutil
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


def test_issue_templates_have_what_the_site_reads() -> None:
    files = sorted((ROOT / ".github" / "ISSUE_TEMPLATE").glob("*.md"))
    assert len(files) == 3
    for path in files:
        _, front, body = path.read_text().split("---\n", 2)
        assert set(yaml.safe_load(front)) == {"name", "about", "labels"}
        assert "carrysave doctor" in body or path.stem == "request"
