"""Tables and sentences of a report, on a terminal and as Markdown."""

import io

from rich.console import Console

from carrysave.report.tables import Section, document, say


def test_a_document_has_each_part_once() -> None:
    sections = [Section("one", ("a", ("b", "{:.1f}")), [("x|y", 1.0)]), Section("", ("c",), [])]
    facts = {"model": "m", "command": "carrysave `x`"}
    assert document(facts, sections, ["first", "last"]).splitlines() == [
        "# m", "", "`carrysave 'x'`", "", "## one", "", "| a | b |", "| --- | --- |",
        r"| x\|y | 1.0 |", "", "| c |", "| --- |", "", "- first", "- last",
    ]  # fmt: skip


def test_lines_are_said_as_they_are() -> None:
    """Neither markup nor control characters, and no end of a line within one."""
    printed = io.StringIO()
    say(Console(file=printed, width=20), ["[bold]x[/bold] " + 20 * "y", "a\x1b[2Jb"])
    first, second = printed.getvalue().splitlines()
    assert first == "[bold]x[/bold] " + 20 * "y"
    assert second.startswith("a")
    assert "\x1b" not in second
