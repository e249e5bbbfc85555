"""Processes that heed signals, whatever the one that starts them ignores."""

import sys

__all__ = ["heeding"]

_START = (
    "import os, signal, sys\n"
    "for one in (signal.SIGINT, signal.SIGHUP, signal.SIGTERM):\n"
    "    signal.signal(one, signal.SIG_DFL)\n"
    "os.execv(sys.executable, [sys.executable, *sys.argv[1:]])\n"
)


def heeding(*arguments: str) -> list[str]:
    """Return a command that runs Python with arguments, and with signals as they are at first.

    A shell's background job ignores Ctrl-C. It is undone in the new process and not between fork
    and exec, where threads of other libraries may hold locks.
    """
    return [sys.executable, "-I", "-S", "-c", _START, *arguments]
