"""Build wheel and sdist: `make dist`, or .venv/bin/python scripts/upkeep/dist.py [--output FOLDER].

Both are of the last commit, not of what lies beside it. They are built twice, in folders of other
names, with another time, umask and order of sets; if a byte differs, nothing is written. Beside
them is SHA256SUMS.
"""

import argparse
import hashlib
import os
import subprocess
import sys
from pathlib import Path
from tempfile import TemporaryDirectory

ROOT = Path(__file__).resolve().parents[2]
SURROUNDINGS = (("one", "UTC", 0o022, "1"), ("another folder", "Asia/Tokyo", 0o077, "2"))
"""Of each build: folder, time zone, umask, seed of hashes."""


def main() -> int:
    """Build twice, compare, write; return the exit code: 0, or 1 if it cannot be done."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--output", type=Path, default=ROOT / "dist", help="folder")
    output = parser.parse_args().output
    try:
        if _git("status", "--porcelain"):
            print("dist: what is in no commit is left out", file=sys.stderr)
        with TemporaryDirectory() as folder:
            first, second = (_build(Path(folder), *around) for around in SURROUNDINGS)
    except subprocess.CalledProcessError as error:
        print(f"dist: {error.stderr.decode(errors='replace').strip()}", file=sys.stderr)
        return 1
    if first != second:
        wrong = sorted(name for name in first | second if first.get(name) != second.get(name))
        print(f"dist: two builds differ in {', '.join(wrong)}", file=sys.stderr)
        return 1
    output.mkdir(parents=True, exist_ok=True)
    digests = [f"{hashlib.sha256(data).hexdigest()}  {name}\n" for name, data in first.items()]
    for name, data in {**first, "SHA256SUMS": "".join(digests).encode()}.items():
        (output / name).write_bytes(data)
        print(output / name)
    return 0


def _build(folder: Path, name: str, zone: str, umask: int, seed: str) -> dict[str, bytes]:
    """Build both from the last commit, in a folder of its own; return them by name."""
    source = folder / name / f"source {seed}"
    source.mkdir(parents=True)
    archive = folder / f"{seed}.tar"
    _git("archive", "-o", str(archive), "HEAD")
    made = folder / name / "dist"
    surroundings = {
        **os.environ,
        "TZ": zone,
        "PYTHONHASHSEED": seed,
        "SOURCE_DATE_EPOCH": _git("show", "-s", "--format=%ct", "HEAD"),
    }
    # With the time of now, unlike the other build's: a second is the least that archives tell.
    unpack = ["tar", "-x", "--touch", "-f", str(archive), "-C", str(source)]
    build = [sys.executable, "-m", "hatchling", "build", "-d", str(made)]
    for command in (unpack, build):
        subprocess.run(
            command, cwd=source, env=surroundings, umask=umask, check=True, capture_output=True
        )
    return {path.name: path.read_bytes() for path in sorted(made.iterdir())}


def _git(*arguments: str) -> str:
    """Ask git of this checkout."""
    done = subprocess.run(["git", *arguments], cwd=ROOT, check=True, capture_output=True)
    return done.stdout.decode().strip()


if __name__ == "__main__":
    sys.exit(main())
