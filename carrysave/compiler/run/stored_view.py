"""Output of ``carrysave run`` of a program's folder: a few sentences."""

from collections.abc import Iterator, Mapping
from typing import Any

from rich.console import Console

from hw.emit.user_files import shown

__all__ = ["show"]


def show(console: Console, found: Mapping[str, Any]) -> None:
    """Print the results."""
    for line in _lines(found):
        console.print(shown(line, 4000), highlight=False, markup=False, soft_wrap=True)


def _lines(found: Mapping[str, Any]) -> Iterator[str]:
    yield (
        f"{found['design']}: {found['inputs']:,} inputs, in batches of {found['batch']} of"
        f" {found['cycles']:,} cycles by the cost model"
    )
    yield f"host segments: {found['host_segments']}"
    for one in found["outputs"]:
        right = "" if one["accuracy"] is None else f", right {one['accuracy']:.2%}"
        yield f"{one['name']}: {' x '.join(map(str, one['shape']))} of {one['type']}{right}"
    if found["simulated"]:
        what = found["different"] or "all of memory is golden's"
        yield f"{found['simulated']:,} batches on the simulated block: {what}"
    for file in found["files"]:
        yield f"wrote {file}"
