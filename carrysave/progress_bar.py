"""The bar of :mod:`carrysave.progress`, loaded on a terminal only: Rich's takes long to load."""

from collections.abc import Callable

from rich.console import Console
from rich.progress import BarColumn, Progress, ProgressColumn, SpinnerColumn, Task, TextColumn
from rich.text import Text

__all__ = ["progress_bar"]


def progress_bar(console: Console, times: Callable[[], str]) -> Progress:
    """Make a bar with a description before it, and what `times` says behind it."""
    return Progress(
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
