"""The command ``carrysave``: what must be there before anything can be interrupted."""

import os
import signal
import sys
import threading
from collections.abc import Callable
from types import FrameType
from typing import NoReturn

__all__ = ["main"]


class _Interruption(KeyboardInterrupt):
    """Python forgets the exit code after a plain KeyboardInterrupt out of `exec`, as imports do."""


def main() -> NoReturn:
    """Run the command line; exit code 0 ok, 1 failed, 2 usage, 128 + n ended by signal n."""
    # Golden's products are of groups, too small for several threads: these wait for each other, and
    # longer than all the rest takes if others use the processor, too. Jobs are processes.
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    ended_by = [signal.SIGINT]
    kill_all: Callable[[], bool] = bool  # of what has not started yet

    def end(number: int, frame: FrameType | None) -> None:
        ended_by[0] = signal.Signals(number)
        # What is cleaned up now shall not be left half done, however often one presses.
        for each in _SIGNALS:
            signal.signal(each, signal.SIG_IGN)
        if not kill_all():
            raise _Interruption

    def unraised(lost: "sys.UnraisableHookArgs") -> None:
        if isinstance(lost.exc_value, _Interruption):
            # It fell into a `__del__`, and Python drops it: the same once more, a moment later.
            signal.signal(ended_by[0], end)
            threading.Timer(0.01, os.kill, (os.getpid(), ended_by[0])).start()
        else:
            sys.__unraisablehook__(lost)

    sys.unraisablehook = unraised
    try:
        for number in _SIGNALS:
            if signal.getsignal(number) != signal.SIG_IGN:  # as under nohup
                signal.signal(number, end)
        from carrysave.cli import main as run
        from hw.emit.tools import kill_all

        run()
    except KeyboardInterrupt:
        print("carrysave: interrupted", file=sys.stderr)
    sys.exit(128 + ended_by[0])


_SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)

if __name__ == "__main__":
    main()
