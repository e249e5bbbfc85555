"""One file of JUnit's format for all runs, as GitLab and GitHub's actions show it."""

from collections.abc import Iterable, Mapping
from typing import Any
from xml.etree import ElementTree

from hw.emit.user_files import shown

__all__ = ["junit"]

_COUNTS = {"tests": "testcase", "failures": "failure", "errors": "error", "skipped": "skipped"}
_MUTANTS = {"alive": "failed", "undecided": "skipped"}
"""What becomes of a test of a mutant."""
_WHY = 4000
"""Characters of what is said of a failure."""


def junit(runs: Iterable[Mapping[str, Any]]) -> bytes:
    """Return a suite for each run, with the tests of its bench.

    A mutant is a test of its own that passes if it is killed, equivalent or unreachable, fails if
    it is alive, and is skipped, with the reason, if that is not decided.

    Parameters
    ----------
    runs : see :func:`carrysave.regress.execution.execute`, each with its ``cases``.
    """
    root = ElementTree.Element("testsuites", name="carrysave regress")
    for run in runs:
        suite = ElementTree.SubElement(root, "testsuite", name=_text(run["label"]))
        for case in run["cases"]:
            _test(suite, run, case["name"], case["seconds"], case["outcome"], case["why"])
        if run["outcome"] not in ("passed", "failed"):
            kind = _MUTANTS.get(run["outcome"], run["outcome"])
            _test(suite, run, run["mutant"] or "simulation", run["seconds"], kind, run["why"])
        suite.set("time", f"{run['seconds']:.3f}")
    for element in (*root, root):
        for count, tag in _COUNTS.items():
            element.set(count, str(sum(1 for _ in element.iter(tag))))
    root.set("time", f"{sum(float(suite.get('time', 0)) for suite in root):.3f}")
    ElementTree.indent(root)
    return ElementTree.tostring(root, encoding="utf-8", xml_declaration=True)


def _test(
    suite: ElementTree.Element,
    run: Mapping[str, Any],
    name: str,
    seconds: float,
    outcome: str,
    why: str,
) -> None:
    """Add a test. GitLab tells tests apart by class and name alone, so that these say all."""
    case = ElementTree.SubElement(
        suite, "testcase", classname=_text(run["label"]), name=_text(name), time=f"{seconds:.3f}"
    )
    tag = {"failed": "failure", "error": "error", "skipped": "skipped"}.get(outcome)
    if tag is not None:
        said = ElementTree.SubElement(case, tag, message=_text(why))
        if tag != "skipped":
            said.text = _text(f"{why}\n{run['log']}\nrepeat it: {run['command']}")


def _text(text: str) -> str:
    """Return a text without what XML cannot hold."""
    return "\n".join(shown(line, _WHY) for line in text.splitlines()[-200:])
