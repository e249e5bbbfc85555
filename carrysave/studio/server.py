"""The server of the page: one process, one address of this machine, nothing else."""

import asyncio
import signal
import socket
import threading
import webbrowser
from collections.abc import Callable
from pathlib import Path

from tornado.httpserver import HTTPServer

from carrysave.errors import ArgumentError
from carrysave.studio.guard import HOST, Guard
from carrysave.studio.handlers import Studio
from carrysave.studio.work import Worker

__all__ = ["serve"]

_HEAD = 16 << 10
"""Bytes of the lines and the head of a request."""
_BODY = 64 << 10


def serve(
    folder: Path,
    port: int = 0,
    *,
    browser: bool = True,
    ready: Callable[[str], None] = lambda url: None,
) -> None:
    """Serve the page until a signal ends it.

    Parameters
    ----------
    folder : of all files that are written.
    port : to listen on; 0: any that is free.
    browser : open the page.
    ready : called with the address, token and all, as soon as it answers.

    Raises
    ------
    ArgumentError
        The port is out of range.
    OSError
        It is taken.
    """
    if port and not 1024 <= port <= 65535:
        raise ArgumentError("{port} must be 0 or 1024..65535, not {value}", value=port)
    asyncio.run(_serve(folder, port, browser, ready))


async def _serve(folder: Path, port: int, browser: bool, ready: Callable[[str], None]) -> None:
    try:
        listener = socket.create_server((HOST, port))
    except OSError as error:
        raise OSError(f"port {port} of {HOST} cannot be had: {error.strerror}") from None
    listener.setblocking(False)
    guard, worker = Guard(listener.getsockname()[1]), Worker(folder)
    studio = Studio(guard, worker)
    server = HTTPServer(
        studio, max_header_size=_HEAD, max_body_size=_BODY, idle_connection_timeout=60
    )
    ended, loop = asyncio.Event(), asyncio.get_running_loop()
    for number in (signal.SIGINT, signal.SIGTERM):
        loop.add_signal_handler(number, ended.set)
    try:
        server.add_socket(listener)
        ready(guard.url)
        if browser:
            # Some browsers hold whoever opens them until they are closed.
            threading.Thread(target=webbrowser.open, args=(guard.url,), daemon=True).start()
        await ended.wait()
    finally:
        server.stop()
        await server.close_all_connections()
        await loop.run_in_executor(None, worker.close)
        studio.thread.shutdown(wait=False, cancel_futures=True)
