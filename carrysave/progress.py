"""Progress of long work, on stderr: a bar on a terminal, else a line for each step."""

from types import TracebackType

from rich.console import Console
from rich.progress import BarColumn, Progress, SpinnerColumn, TextColumn, TimeElapsedColumn

__all__ = ["Steps"]


class Steps:
    """Shows the current step and, if its length is known, its progress."""

    def __init__(self, console: Console):
        self._console = console
        self._bar: Progress | None = None
        if console.is_terminal:
            self._bar = Progress(
                SpinnerColumn(),
                TextColumn("{task.description}"),
                BarColumn(bar_width=30),
                TimeElapsedColumn(),
                console=console,
                transient=True,
            )
            self._task = self._bar.add_task("", total=None)

    def __enter__(self) -> "Steps":
        if self._bar:
            self._bar.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if self._bar:
            self._bar.stop()

    def step(self, text: str) -> None:
        """Set the current step."""
        if self._bar:
            self._bar.update(self._task, description=text, completed=0, total=None)
        else:
            self._console.print(f"... {text}", highlight=False, markup=False, soft_wrap=True)

    def advance(self, done: int, total: int) -> None:
        """Set the progress of the step."""
        if self._bar:
            self._bar.update(self._task, completed=done, total=total)
