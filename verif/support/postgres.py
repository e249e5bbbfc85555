"""A PostgreSQL server for tests, where Debian's is installed."""

import contextlib
import os
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from carrysave.errors import installed

__all__ = ["serving"]

ROOT = Path(__file__).parents[2]


@contextlib.contextmanager
def serving() -> Iterator[str]:
    """Start a server by the documented command; yield its URL, or skip."""
    if not installed("psycopg"):
        pytest.skip("needs psycopg: pip install 'carrysave[stores]'")
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    # pytest's own folders are closed to the user that the server runs as, if root starts it.
    folder = Path(tempfile.mkdtemp(prefix="carrysave-store-"))
    program, log = ROOT / "scripts/upkeep/store_server.py", folder / "log"
    with log.open("w") as errors:
        process = subprocess.Popen(
            [sys.executable, program, folder, "--port", str(port)],
            stdout=subprocess.PIPE,
            stderr=errors,
            text=True,
            env={**os.environ, "PYTHONPATH": str(ROOT)},
        )
    try:
        assert process.stdout is not None
        address = process.stdout.readline().strip()
        if not address:
            reason = log.read_text().strip()
            assert "must be installed" in reason
            pytest.skip(reason)
        for _ in range(600):
            with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", port)):
                break
            time.sleep(0.05)
        yield address
    finally:
        process.send_signal(signal.SIGINT)  # which waits for no clients
        process.communicate()
        shutil.rmtree(folder, ignore_errors=True)
