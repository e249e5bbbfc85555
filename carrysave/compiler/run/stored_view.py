"""Output of ``carrysave run`` of a program's folder: a few sentences."""

from collections.abc import Iterator, Mapping
from typing import Any

from rich.console import Console

from hw.emit.user_files import shown

__all__ = ["show"]


def show(console: Console, facts: Mapping[str, Any]) -> None:
    """Print the results."""
    for line in _lines(facts):
        console.print(shown(line, 4000), highlight=False, markup=False, soft_wrap=True)


def _lines(facts: Mapping[str, Any]) -> Iterator[str]:
    yield (
        f"{facts['design']}: {facts['inputs']:,} inputs, in batches of {facts['batch']} of"
        f" {facts['cycles']:,} cycles by the cost model"
    )
    yield f"host segments: {facts['host_segments']}"
    for one in facts["outputs"]:
        right = "" if one["accuracy"] is None else f", right {one['accuracy']:.2%}"
        yield f"{one['name']}: {' x '.join(map(str, one['shape']))} of {one['type']}{right}"
    if facts["simulated"]:
        what = facts["different"] or "all of memory is golden's"
        where = "the simulated block" if facts["port"] is None else f"the board at {facts['port']}"
        yield f"batches on {where}: {facts['simulated']:,}; {what}"
