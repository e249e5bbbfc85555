"""Writes tables of formats as a package: CSV files, a manifest, digests, and what they mean."""

import hashlib
import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import fields
from pathlib import Path
from typing import Any

import carrysave
from carrysave import cache
from carrysave.vectors.tables import MEANINGS, tables
from golden.formats.block import BlockFormat
from golden.formats.element import ElementFormat
from golden.formats.minifloat import MinifloatFormat
from golden.formats.names import parse
from golden.formats.posit import PositFormat

__all__ = ["FORMATS", "SUMS", "files_of", "formats_of", "published", "write"]

FORMATS = (
    *("int4", "uint4", "int8", "uint8", "int16"),
    *("e2m1", "e1m2", "e3m0", "e2m3", "e3m2", "e4m3", "e5m2", "e3m4", "e4m3fnuz", "e5m2fnuz"),
    *("fp16", "bf16", "tf32", "fp32"),
    *("posit4e0", "posit4e1", "posit8e0", "posit8e1", "posit8e2", "posit16e1", "posit16e2"),
    *("posit32e2", "mx_e4m3", "mx_e5m2", "mx_e2m3", "mx_e3m2", "mx_e2m1", "mx_int8f6", "nvfp4"),
)
"""Formats whose digests are in the package."""
SUMS = "SHA256SUMS"

_README = """\
# Test vectors of number formats

Made by carrysave {version}. A folder for each format has tables as CSV files, with one line of
heads. `manifest.json` says what each format is, and how many rows each file has. `sha256sum -c
SHA256SUMS` checks that the files are whole.

{tables}

- **Codes** are bit patterns in hexadecimal; integers are in two's complement.
- **Values** are exact, in hexadecimal as C's `%a` and Python's `float.hex` write them; or `nan`,
  `inf`, `-inf`.
- **Exact results** are `significand` times 2 to the `exponent`. The significand is odd, or zero.
  `nan`, `inf` and `-inf` have no exponent. Zero has no sign there, and a product of zero rounds to
  +0.
- **rne** rounds to the nearest, ties to the even code; **rtz** rounds toward zero. Posits are
  rounded on the bit string, and NaR is `nan`.
- **saturate**: overflow and infinities become the largest number. Without, they become infinity;
  where there is none, NaN; where there is none either, the largest number. Integers wrap around
  without; posits always saturate.
- NaN becomes the code of the quiet NaN, or 0 where there is none.
- `product` rounds to nearest and saturates. `dot` is summed exactly and rounded once, to nearest,
  without saturation.
- `quantise` has blocks, each with its scale. Scales of MX are chosen by OCP's rule; that of NVFP4
  is at least the least normal number of E4M3, and each row is a tensor of its own.
"""


def formats_of(names: Sequence[str]) -> list[ElementFormat | BlockFormat]:
    """Return formats by their names, each once; refuse those that doubles do not hold."""
    by_name = {fmt.name: fmt for fmt in map(parse, names)}
    for name, fmt in by_name.items():
        element = fmt.element if isinstance(fmt, BlockFormat) else fmt
        if element.significand_width > 53 or element.width < 2:
            raise ValueError(f"formats must be of 2..53 bits, not {name}")
        if isinstance(fmt, BlockFormat) and fmt.block > 1024:
            raise ValueError(f"blocks must be of 1024 elements at most, not as in {name}")
    return [*by_name.values()]


def files_of(fmt: ElementFormat | BlockFormat) -> Iterator[tuple[str, str, bytes]]:
    """Yield table, name of the file, and contents."""
    for name, lines in tables(fmt):
        yield name, f"{fmt.name}/{name}.csv", "".join(f"{line}\n" for line in lines).encode()


def published() -> dict[str, str]:
    """Return the digests of this version, by names of files."""
    text = Path(__file__).with_name(SUMS).read_text()
    return {name: sha for sha, _, name in (line.partition("  ") for line in text.splitlines())}


def write(
    folder: Path, names: Sequence[str], say: Callable[[str], None] = lambda text: None
) -> dict[str, Any]:
    """Write the package of some formats.

    Returns
    -------
    ``version formats wrong files``: of each format what it is and its tables; the files whose
    digests are others than those of this version.
    """
    chosen = formats_of(names)
    known = published()
    sums: dict[str, str] = {}
    rows = []
    for fmt in chosen:
        say(fmt.name)
        table_files: dict[str, Any] = {}
        for table, name, data in files_of(fmt):
            sums[name] = hashlib.sha256(data).hexdigest()
            cache.write(folder / name, data)
            table_files[table] = {"file": name, "rows": data.count(b"\n") - 1, "sha256": sums[name]}
        rows.append({**_described(fmt), "tables": table_files})
    wrong = [name for name, sha in sums.items() if known.get(name, sha) != sha]
    facts = {"version": carrysave.__version__, "formats": rows}
    meanings = "\n".join(f"- `{name}.csv`: {text}." for name, text in MEANINGS.items())
    texts = {
        "README.md": _README.format(version=carrysave.__version__, tables=meanings),
        "manifest.json": json.dumps(facts, indent=2) + "\n",
        SUMS: "".join(f"{sha}  {name}\n" for name, sha in sums.items()),
    }
    files = [str(cache.write(folder / name, text)) for name, text in texts.items()]
    return {**facts, "wrong": wrong, "files": files}


def _described(fmt: ElementFormat | BlockFormat) -> dict[str, Any]:
    """Say what a format is, in plain values."""
    parameters = {
        one.name: getattr(fmt, one.name)
        for one in fields(fmt)  # type: ignore[arg-type]
    }
    plain = {
        name: value.name if isinstance(value, ElementFormat) else value
        for name, value in parameters.items()
    }
    element = fmt.element if isinstance(fmt, BlockFormat) else fmt
    described = {
        "name": fmt.name,
        "kind": type(fmt).__name__.removesuffix("Format").lower(),
        "width": element.width,
        "parameters": plain,
        "element": element.name,
    }
    return described | {"codes": _codes(element)}


def _codes(fmt: ElementFormat) -> Mapping[str, int | None]:
    """Return the codes with a name of their own."""
    if isinstance(fmt, MinifloatFormat):
        return {"largest": fmt.max_code, "infinity": fmt.infinity_code, "nan": fmt.nan_code}
    if isinstance(fmt, PositFormat):
        return {"largest": fmt.max_code, "infinity": None, "nan": fmt.nan_code}
    return {"largest": fmt.high, "infinity": None, "nan": None}
