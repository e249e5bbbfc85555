"""The studio's server: who is let in, what is refused, and what it hands out."""

import io
import json
import shlex
import signal
import subprocess
import zipfile
from collections.abc import Callable
from html import unescape
from pathlib import Path
from urllib.parse import urlencode

import pytest

from carrysave.api.design import Design
from hw.catalog import CATALOG
from verif.studio.conftest import Client
from verif.support.command import Run

SMALL = {"a_width": "2", "b_width": "2", "accumulator_width": "6"}
TREE = {"n": "4", "k": "8", "k_max": "1024", "pipeline": "2"}
PAGES = ("/", "/design/mac", "/status", "/studio.js", "/studio.css", "/files/a.svg", "/nothing")


@pytest.mark.parametrize("path", PAGES)
def test_nobody_is_let_in_without_the_token(studio: Client, path: str) -> None:
    name = studio.cookie.partition("=")[0]
    wrong = studio.token[:-1] + ("A" if studio.token[-1] != "A" else "B")
    for cookie in (None, f"{name}=", f"{name}={wrong}", f"{name}={studio.token}x", "a=b"):
        answer = studio.ask(path, cookie=cookie)
        assert answer.code == 403
        assert "open the address" in answer.text
    for token in ("", wrong, studio.token.lower() + "x"):
        assert studio.ask(f"{path}?token={token}", cookie=None).code == 403
    # The token of the address is for the first page alone.
    expected = 302 if path == "/" else 403
    assert studio.ask(f"{path}?token={studio.token}", cookie=None).code == expected


def test_the_address_gives_a_cookie_and_is_left(studio: Client) -> None:
    answer = studio.ask(f"/?token={studio.token}", cookie=None)
    assert (answer.code, answer.headers["Location"]) == (302, "/")
    cookie = answer.headers["Set-Cookie"]
    assert studio.cookie in cookie
    assert "HttpOnly" in cookie
    assert "SameSite=Lax" in cookie
    page = studio.ask("/")
    assert page.code == 200
    assert studio.token not in page.text
    assert len(studio.token) >= 40


@pytest.mark.parametrize("host", ["example.org", "127.0.0.1", "127.0.0.1:1", None, "localhost"])
def test_other_hosts_are_refused(studio: Client, host: str | None) -> None:
    assert studio.ask("/", host=host).code in {400, 403}
    assert studio.ask(f"/?token={studio.token}", host=host).code in {400, 403}


def test_this_machine_by_name_is_the_same(studio: Client) -> None:
    assert studio.ask("/", host=f"localhost:{studio.port}").code == 200


@pytest.mark.parametrize("origin", [None, "null", "http://example.org", "http://127.0.0.1:1"])
def test_forms_of_other_pages_are_refused(studio: Client, origin: str | None) -> None:
    before = studio.status()
    assert studio.ask("/design/mac/blocks", urlencode(SMALL), origin=origin).code == 403
    assert studio.status() == before


def test_every_answer_has_its_policy(studio: Client) -> None:
    for path in PAGES:
        headers = studio.ask(path).headers
        assert "default-src 'none'" in headers["Content-Security-Policy"]
        assert "script-src 'self';" in headers["Content-Security-Policy"]
        assert headers["X-Content-Type-Options"] == "nosniff"
        assert headers["Cache-Control"] == "no-store"


@pytest.mark.parametrize(
    "name",
    [
        "../secret.svg", "..%2fsecret.svg", "%2e%2e/secret.svg", "/etc/passwd", "%2fetc%2fpasswd",
        "mac/../../secret.svg", "progress.txt", "other.svg", "%00", "..\\secret.svg", ".",
    ],
)  # fmt: skip
def test_only_files_that_jobs_made_are_handed_out(studio: Client, name: str) -> None:
    studio.folder.mkdir(exist_ok=True)
    (studio.folder.parent / "secret.svg").write_text("secret")
    (studio.folder / "other.svg").write_text("secret")
    answer = studio.ask(f"/files/{name}")
    assert answer.code in {400, 404}
    assert b"secret" not in answer.body
    assert studio.ask(f"/{name}").code in {400, 404}


def test_sizes_have_limits(studio: Client) -> None:
    """Of too many bytes the connection is closed."""
    for path, body in (
        ("/design/mac?a_width=" + "1" * 20_000, None),
        ("/design/mac/blocks", "a_width=" + "1" * 100_000),
        ("/design/mac/blocks", urlencode({f"x{number}": 1 for number in range(201)})),
    ):
        try:
            code = studio.ask(path, body).code
        except ConnectionError:
            continue
        assert code in {400, 413, 431}
    assert studio.status()["state"] != "running"


def test_a_design_has_what_is_known_at_once(studio: Client) -> None:
    page = unescape(studio.ask(f"/design/adder_tree?{urlencode(TREE)}").text)
    for text in ("o_c.payload.last", "area_um2", "holds for 90% of such designs", "486 that were"):
        assert text in page
    assert "carrysave synth adder_tree -p " in page
    page = unescape(studio.ask("/design/mac").text)
    assert "Nothing is known: design must be one of systolic_os" in page


def test_errors_are_at_once_with_the_legal_range(studio: Client) -> None:
    page = unescape(studio.ask("/design/mac?a_width=99").text)
    legal = Design("mac").entry.parameters["a_width"].legal
    assert f"a_width must be {legal}, not 99" in page
    assert 'aria-invalid="true"' in page
    assert "carrysave generate" not in page
    hostile = studio.ask("/design/mac?" + urlencode({"a_width": "<script>alert(1)</script>"})).text
    assert "<script>alert" not in hostile
    assert studio.ask("/design/nothing").code == 404


@pytest.mark.parametrize("kind", ["blocks", "waves", "verilog"])
def test_no_value_out_of_range_reaches_the_generator(studio: Client, kind: str) -> None:
    before = studio.status()
    answer = studio.ask(f"/design/mac/{kind}", urlencode({**SMALL, "a_width": "99"}))
    assert answer.code == 400
    assert "Nothing was begun" in answer.text
    assert studio.status() == before
    assert studio.ask("/design/mac/remove", urlencode(SMALL)).code == 404


def test_archive_has_what_generate_writes(studio: Client, run: Run, tmp_path: Path) -> None:
    status = studio.job("mac", "verilog", **SMALL)
    assert status["state"] == "done", status
    page = studio.ask(f"/design/mac?{urlencode(SMALL)}").text
    module = Design.parse("mac", SMALL).module
    assert f'href="/files/{module}.zip"' in page
    answer = studio.ask(f"/files/{module}.zip")
    assert answer.headers["Content-Disposition"].startswith("attachment")
    words = [word for key, value in SMALL.items() for word in ("-p", f"{key}={value}")]
    files = json.loads(run("generate", "mac", *words, "-o", tmp_path, "--json").out)["files"]
    with zipfile.ZipFile(io.BytesIO(answer.body)) as archive:
        assert {name: archive.read(name) for name in archive.namelist()} == {
            Path(file).relative_to(tmp_path).as_posix(): Path(file).read_bytes() for file in files
        }
    # Of another design it says nothing.
    assert ".zip" not in studio.ask("/design/mac").text


def test_blocks_and_waves_are_drawn(studio: Client) -> None:
    values = {"m": "2", "n": "2"}
    assert studio.job("systolic_os", "blocks", **values)["state"] == "done"
    assert studio.job("systolic_os", "waves", **values)["state"] == "done"
    page = unescape(studio.ask(f"/design/systolic_os?{urlencode(values)}").text)
    module = Design.parse("systolic_os", values).module
    assert "column" in studio.ask(f"/files/{module}.blocks.svg").text
    assert '<svg xmlns="http://www.w3.org/2000/svg" class="page-colours"' in page
    assert "test_matches_golden/traffic=0 passed" in page
    assert "--transactions 4 --waves --seed 1" in page
    waves = page.partition('href="/files/runs/')[2].partition('"')[0]
    assert b"$enddefinitions" in studio.ask(f"/files/runs/{waves}").body


@pytest.mark.prove
@pytest.mark.parametrize("name", [one for one, entry in CATALOG.items() if entry.engine is None])
def test_every_design_has_waves_by_the_line_of_the_page(
    studio: Client, run: Run, tmp_path: Path, name: str
) -> None:
    assert studio.job(name, "waves")["state"] == "done"
    page = unescape(studio.ask(f"/design/{name}").text)
    (line,) = [one for one in page.splitlines() if "--transactions" in one]
    outcome = run(*shlex.split(line)[1:], "-o", tmp_path)
    assert (outcome.code, " passed: the first cycles" in page) == (0, True)


@pytest.mark.parametrize(
    "number", [signal.SIGINT, pytest.param(signal.SIGTERM, marks=pytest.mark.prove)]
)
def test_a_signal_ends_it_and_its_job(
    starts: Callable[[Path], tuple[subprocess.Popen[str], Client]],
    tmp_path: Path,
    number: signal.Signals,
) -> None:
    process, client = starts(tmp_path)
    assert client.ask("/design/coprocessor/blocks", "").code == 303
    process.send_signal(number)
    out, complaints = process.communicate(timeout=60)
    assert (process.returncode, out, complaints) == (0, "", "")


@pytest.mark.parametrize("port", ["-1", "80", "65536"])
def test_ports_have_a_range(run: Run, port: str) -> None:
    outcome = run("studio", "--no-browser", "--port", port)
    assert outcome.code == 2
    assert f"--port must be 0 or 1024..65535, not {port}" in outcome.err


def test_a_port_that_is_taken_is_named(studio: Client, run: Run, tmp_path: Path) -> None:
    outcome = run("studio", "--no-browser", "--port", str(studio.port), "-o", tmp_path)
    assert outcome.code == 1
    assert f"port {studio.port} of 127.0.0.1 cannot be had" in outcome.err
