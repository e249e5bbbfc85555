"""The same bytes on every processor: results of this one against those of others.

.venv/bin/python scripts/upkeep/portable.py [--only PART ...] [--processors NAME ...]

`baseline` is this processor without the kernels that numpy and BLAS select; others are emulated by
qemu-x86_64, of Debian's qemu-user. Only the process itself is emulated: a simulator that it starts,
which computes integers in C++, runs natively. Each part must print what it prints natively.
"""

import argparse
import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

from verif.support.portable import baseline

ROOT = Path(__file__).resolve().parents[2]
EMULATED = ("Haswell", "Nehalem")
"""AVX2 without VNNI; SSE4.2."""
PROCESSORS = ("baseline", *EMULATED)

_NETWORKS = (
    "verif/networks/test_exact_product.py",
    "verif/networks/test_fallback_codes.py",
    "verif/networks/test_products.py::test_matrix_products",
    "verif/networks/test_products.py::test_sums",
    "verif/networks/test_products.py::test_convolutions[plain-u8s8]",
    "verif/networks/test_products.py::test_convolutions[depthwise-u8s8]",
    "verif/networks/test_dynamic.py::test_as_quantised",
    "verif/networks/test_recurrent.py::test_as_quantised[tensor-forward]",
)
_PYTEST = ("-m", "pytest", "-q", "-n", "0", "-p", "no:cacheprovider")


def _vectors(run: Callable[..., str], folder: Path) -> str:
    """Return the digests of all vectors."""
    run("-m", "carrysave", "vectors", str(folder))
    return (folder / "SHA256SUMS").read_text()


def _selftest(run: Callable[..., str], folder: Path) -> str:
    """Return what each check says, but for seconds."""
    lines = run("-m", "carrysave", "selftest").splitlines()
    return "\n".join(line.rpartition(" (")[0] for line in lines[:-1])


def _tests(run: Callable[..., str], folder: Path) -> str:
    """Return how many networks' tests pass."""
    return run(*_PYTEST, *_NETWORKS).splitlines()[-1].partition(" in ")[0]


PARTS: dict[str, Callable[[Callable[..., str], Path], str]] = {
    "golden": lambda run, folder: run("-m", "verif.support.portable"),
    "vectors": _vectors,
    "selftest": _selftest,
    "networks": _tests,
}


def main() -> None:
    """Run the parts on each processor; the exit code is 1 if one differs."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--only", nargs="+", choices=PARTS, default=[*PARTS], metavar="PART")
    parser.add_argument(
        "--processors", nargs="+", choices=PROCESSORS, default=[*PROCESSORS], metavar="NAME"
    )
    chosen = parser.parse_args()
    if set(chosen.processors) & set(EMULATED) and not shutil.which("qemu-x86_64"):
        raise SystemExit("needs qemu-x86_64: apt-get install qemu-user")
    wrong = 0
    for part in chosen.only:
        right = _show(part, "native")
        if right is None:
            wrong += 1
            continue
        for processor in chosen.processors:
            result = _show(part, processor)
            wrong += result != right
            if result is not None and result != right:
                lines = set(right.splitlines()) ^ set(result.splitlines())
                print(*sorted(lines), sep="\n", flush=True)
    print("the same on every processor" if not wrong else f"FAIL: {wrong} differ")
    raise SystemExit(1 if wrong else 0)


def _show(part: str, processor: str) -> str | None:
    """Return what a part makes on a processor; None if it fails, which is printed."""
    environment, command = dict(os.environ), [sys.executable]
    if processor == "baseline":
        environment |= baseline()
    elif processor != "native":
        command = ["qemu-x86_64", "-cpu", processor, *command]

    def run(*words: str) -> str:
        done = subprocess.run(
            [*command, *words],
            cwd=ROOT,
            env=environment,
            check=False,
            text=True,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
        )
        if done.returncode:
            raise ValueError(done.stdout)
        return done.stdout

    start = time.monotonic()
    with tempfile.TemporaryDirectory() as folder:
        try:
            shown = PARTS[part](run, Path(folder))
        except ValueError as error:
            print(f"{part} on {processor}: FAIL\n{error}", flush=True)
            return None
    lines, seconds = len(shown.splitlines()), time.monotonic() - start
    print(f"{part} on {processor}: {lines} lines in {seconds:.0f} s", flush=True)
    return shown


if __name__ == "__main__":
    main()
