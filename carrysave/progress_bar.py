"""The bar of :mod:`carrysave.progress`, loaded on a terminal only: Rich's takes long to load."""

from collections.abc import Callable, Collection, Iterable, Mapping

from rich.console import Console, RenderableType
from rich.progress import BarColumn, Progress, ProgressColumn, SpinnerColumn, Task, TextColumn
from rich.table import Table
from rich.text import Text

__all__ = ["Bar", "progress_bar"]


class Bar(Progress):
    """A bar of steps, and the table of a list of jobs below it while there is one."""

    _counts: Table | None = None

    def show(self, counts: Mapping[str, str], bad: Collection[str]) -> None:
        """Show counts under their names, the `bad` ones in red; nothing if there are none."""
        self._counts = Table(box=None, padding=(0, 2, 0, 0)) if counts else None
        if self._counts is None:
            return
        for name in counts:
            self._counts.add_column(name, justify="right", no_wrap=True)
        self._counts.add_row(
            *(Text(count, style="red" if name in bad else "") for name, count in counts.items())
        )

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
