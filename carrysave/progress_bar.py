"""The bar of :mod:`carrysave.progress`, loaded on a terminal only: Rich's takes long to load."""

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING

from rich.console import Console, RenderableType
from rich.progress import BarColumn, Progress, ProgressColumn, SpinnerColumn, Task, TextColumn
from rich.table import Table
from rich.text import Text

if TYPE_CHECKING:
    from carrysave.progress import Tally

__all__ = ["Bar", "progress_bar"]


class Bar(Progress):
    """A bar of steps, and the table of a list of jobs below it while there is one."""

    _counts: Table | None = None

    def show(self, tally: "Tally", left: str) -> None:
        """Show how far a list of jobs is, until all of them have ended."""
        if tally.done + tally.failed == tally.total:
            self._counts = None
            return
        table = Table(box=None, padding=(0, 2, 0, 0))
        counts = {
            "done": tally.done,
            "of": "?" if tally.total is None else tally.total,
            "running": tally.running,
            "failed": tally.failed,
            "known before": tally.cached,
            "time left": left or "?",
        }
        for name in counts:
            table.add_column(name, justify="right", no_wrap=True)
        style = "red" if tally.failed else ""
        table.add_row(
            *(
                Text(str(count), style=style if name == "failed" else "")
                for name, count in counts.items()
            )
        )
        self._counts = table

    def get_renderables(self) -> Iterable[RenderableType]:
        """Return the bar and the table."""
        yield from super().get_renderables()
        if self._counts is not None:
            yield self._counts


def progress_bar(console: Console, times: Callable[[], str]) -> Bar:
    """Make a bar with a description before it, and what `times` says behind it."""
    return Bar(
        SpinnerColumn(),
        TextColumn("{task.description}", markup=False),
        BarColumn(bar_width=30),
        _Times(times),
        console=console,
        transient=True,
    )


class _Times(ProgressColumn):
    """Shows how long it took and will take."""

    def __init__(self, times: Callable[[], str]):
        super().__init__()
        self._times = times

    def render(self, task: Task) -> Text:
        """Render it."""
        return Text(self._times())
