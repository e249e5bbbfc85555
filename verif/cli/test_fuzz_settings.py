"""Broken settings files: read, or refused in one line."""

from pathlib import Path

from carrysave.cli.options import Choice
from carrysave.errors import UsageError
from verif.support.fuzz import broken, budgets, fuzz

GOOD = (
    '# \u00e4\ndesign = "mac"\noutput = "out"\n[parameters]\na_width = 4\nb_width = 0x5\n'.encode(),
    b'design = "systolic_os"\nparameters = { m = 2, n = "3", pe = "mac" }\n',
)
WORDS = (
    b"design", b"[parameters]", b"[[parameters]]", b"a_width = ", b'"""', b"'''", b"\\u0000",
    b"\\ud800", b"1979-05-27T07:32:00Z", b"a.a.a.", b" = ", b"true", b"-inf", b"m = 99999999\n",
)  # fmt: skip
KNOWN = (
    b"a = " + b"[" * 100_000,
    b"a = " + b"[" * 4_000,
    b"a = " + b"9" * 100_000,
    b"a." * 50_000 + b"a = 1",
    b"a." * 4_000 + b"a = 1",
    'design = "\u00e4"'.encode("latin-1"),
    b'"\\u001b[2J" = 1',
    b'design = "mac"\noutput = "a\\u0000b"',
    b'design = "mac"\n[parameters]\na_width = { x = { y = [1] } }',
)


@budgets
def test_broken_settings(tmp_path: Path, seconds: float) -> None:
    file = tmp_path / "a.toml"

    def read(data: bytes) -> None:
        file.write_bytes(data)
        Choice(config=file).choose(None)

    fuzz(read, broken(GOOD, WORDS), seconds, KNOWN, (UsageError, ValueError, TypeError))
