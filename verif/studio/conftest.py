"""A studio that runs, as a user starts it, and what talks to it."""

import http.client
import json
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlencode, urlsplit

import pytest


@dataclass
class Answer:
    code: int
    headers: http.client.HTTPMessage
    body: bytes

    @property
    def text(self) -> str:
        return self.body.decode()


class Client:
    """A browser's requests, and those of others.

    Parameters
    ----------
    url : that the studio prints.
    folder : of its files.
    """

    def __init__(self, url: str, folder: Path):
        parts = urlsplit(url)
        assert parts.hostname == "127.0.0.1"
        assert parts.port
        self.url, self.folder, self.port = url, folder, parts.port
        (self.token,) = parse_qs(parts.query)["token"]
        self.cookie = f"carrysave_studio_{self.port}={self.token}"

    def ask(self, path: str, body: str | None = None, **headers: str | None) -> Answer:
        """Ask as a page of the studio does, but for some headers; None leaves one out."""
        ours: dict[str, str | None] = {
            "host": f"127.0.0.1:{self.port}",
            "cookie": self.cookie,
            "origin": f"http://127.0.0.1:{self.port}" if body is not None else None,
            "content-type": "application/x-www-form-urlencoded" if body is not None else None,
        }
        wanted = {**ours, **{name.replace("_", "-"): text for name, text in headers.items()}}
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=60)
        try:
            connection.putrequest(
                "GET" if body is None else "POST", path, skip_host=True, skip_accept_encoding=True
            )
            for name, text in wanted.items():
                if text is not None:
                    connection.putheader(name, text)
            if body is not None:
                connection.putheader("content-length", str(len(body)))
            connection.endheaders(None if body is None else body.encode())
            answer = connection.getresponse()
            return Answer(answer.status, answer.headers, answer.read())
        finally:
            connection.close()

    def status(self) -> dict[str, Any]:
        return json.loads(self.ask("/status").body)

    def job(self, design: str, kind: str, **values: str) -> dict[str, Any]:
        """Have a job done; return what became of it."""
        answer = self.ask(f"/design/{design}/{kind}", urlencode(values))
        assert answer.code == 303, answer.text
        deadline = time.monotonic() + 120
        while (status := self.status())["state"] == "running":
            assert time.monotonic() < deadline, status
            time.sleep(0.05)
        return status


def start(folder: Path) -> tuple[subprocess.Popen[str], Client]:
    """Start a studio."""
    words = ["studio", "--no-browser", "--json", "-o", str(folder)]
    process = subprocess.Popen(
        [sys.executable, "-m", "carrysave", *words],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    assert process.stdout is not None
    said = json.loads(process.stdout.readline())
    return process, Client(said["url"], Path(said["folder"]))


@pytest.fixture(scope="session")
def studio(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Client]:
    process, client = start(tmp_path_factory.mktemp("studio"))
    yield client
    process.terminate()
    _, complaints = process.communicate(timeout=60)
    assert (process.returncode, complaints) == (0, "")


@pytest.fixture(scope="session")
def starts() -> Any:
    return start
